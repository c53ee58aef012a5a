//! The areas of a search: its base, and the regions given by its scope and by aliases.

use crate::context::{Context, Place};
use crate::operation::resolve_name;
use crate::search::alias::WorkDone;
use crate::search::area::{Area, AreaKind, Areas};
use crate::search::call::{Query, SearchCall};
use crate::search::monitor::Node;
use crate::search::uses;
use crate::search::{alias, virtual_search};
use policy::Right;
use protocol::{DerefAliases, Scope};
use smallvec::{SmallVec, smallvec};
use state::progress::Progress;
use state::stop::Stop;
use state::{assertion, done, referral};
use store::{EntryId, Region, RegionScope};

/// The base of a search.
pub(crate) enum Base {
    Areas(Areas),
    /// Entries that are not stored.
    Virtual(Vec<Node>),
}

/// Finds the base. The root DSE is not part of the tree below it (RFC 4512 §5.1); other entries
/// that are not stored are tried last, so that they cost no other search anything.
#[inline(always)]
pub(crate) fn areas_or_virtual(
    context: &Context<'_>,
    call: &SearchCall<'_>,
    query: Query<'_>,
    work: &mut WorkDone,
) -> Result<Progress<Base>, Stop> {
    let request = query.request;
    let is_root = request.base.trim_start_matches(' ').is_empty();
    if is_root && request.scope == Scope::BaseObject {
        let root = virtual_search::nodes(context, call, request)?;
        let root = root.expect("the root DSE is always there");
        return Ok(Progress::Done(Base::Virtual(root)));
    }
    match areas(context, call, query, work) {
        Ok(areas) => Ok(areas.map(Base::Areas)),
        Err(stop) if is_root => Err(stop),
        Err(stop) => match virtual_search::nodes(context, call, request)? {
            Some(nodes) => Ok(Progress::Done(Base::Virtual(nodes))),
            None => Err(stop),
        },
    }
}

/// Resolves base and scope of a search with a single region. Yields when the assertion control is
/// about groups and the slice is over.
pub(crate) fn region(
    context: &Context<'_>,
    call: &SearchCall<'_>,
    query: Query<'_>,
) -> Result<Progress<Region>, Stop> {
    let scope = region_scope(query.request.scope);
    let base = resolve_base(context, call, query)?;
    Ok(base.map(|base| Region { base, scope }))
}

fn region_scope(scope: Scope) -> RegionScope {
    match scope {
        Scope::BaseObject => RegionScope::Base,
        Scope::SingleLevel => RegionScope::OneLevel,
        Scope::WholeSubtree => RegionScope::Subtree,
        Scope::Subordinate => RegionScope::Subordinates,
    }
}

/// Resolves the base and lists the regions to search.
#[inline(always)]
fn areas(
    context: &Context<'_>,
    call: &SearchCall<'_>,
    query: Query<'_>,
    work: &mut WorkDone,
) -> Result<Progress<Areas>, Stop> {
    let Query {
        request, controls, ..
    } = query;
    let scope = region_scope(request.scope);
    let base = done!(resolve_base(context, call, query)?);
    let references = context.catalog.has_referrals
        && !controls.manage_dsa_it
        && request.scope != Scope::BaseObject;
    let region = Region { base, scope };
    let mut areas = Areas::new();
    let derefs = derefs_searching(request.deref_aliases) && context.catalog.has_aliases;
    // One of the naming contexts is `cn=config`.
    let many_contexts = context.catalog.contexts.len() > 2;
    if derefs || (many_contexts && !base.is_root() && scope != RegionScope::Base) {
        let mut regions: SmallVec<[Region; 2]> = smallvec![region];
        add_contexts_below(context, &mut regions)?;
        if derefs {
            regions = alias::regions(context, call, &regions, work)?;
        }
        for region in regions {
            put_region(&mut areas, region, references);
        }
    } else {
        put_region(&mut areas, region, references);
    }
    Ok(Progress::Done(areas))
}

/// Adds the naming contexts below the base, which are no children of the entries above them.
fn add_contexts_below(
    context: &Context<'_>,
    regions: &mut SmallVec<[Region; 2]>,
) -> Result<(), Stop> {
    let Some(&Region { base, scope }) = regions.first() else {
        return Ok(());
    };
    if base.is_root() || scope == RegionScope::Base {
        return Ok(());
    }
    let catalog = context.catalog;
    let name = resolve_name(&catalog.schema, &context.spelled_name(base)?)?;
    for below in &catalog.contexts {
        if below.name == name || !below.name.is_within(&name) {
            continue;
        }
        let scope = match scope {
            RegionScope::OneLevel if below.name.depth() > name.depth() + 1 => continue,
            RegionScope::OneLevel => RegionScope::Base,
            _ => RegionScope::Subtree,
        };
        if let Place::Found(base) = context.find(&below.name)? {
            regions.push(Region { base, scope });
        }
    }
    Ok(())
}

/// Adds a region for entries, and one for references if the directory has any.
#[inline]
fn put_region(areas: &mut Areas, region: Region, references: bool) {
    let kind = AreaKind::Entries;
    areas.push(Area { region, kind });
    if references {
        let kind = AreaKind::References;
        areas.push(Area { region, kind });
    }
}

fn resolve_base(
    context: &Context<'_>,
    call: &SearchCall<'_>,
    query: Query<'_>,
) -> Result<Progress<EntryId>, Stop> {
    let Query {
        request, controls, ..
    } = query;
    let catalog = context.catalog;
    let mut last_name = call.last_name.borrow_mut();
    let name = last_name.resolve(catalog, request.base)?;
    uses::require(context, controls, name)?;
    if name.depth() == 0 {
        return Ok(Progress::Done(EntryId(0)));
    }
    let derefs = matches!(
        request.deref_aliases,
        DerefAliases::FindingBaseObject | DerefAliases::Always
    );
    let place = if derefs && catalog.has_aliases {
        alias::find(context, name)?
    } else {
        context.find(name)?
    };
    match place {
        Place::Found(base) => {
            context.require(Right::Search, name, None)?;
            if catalog.has_referrals && !controls.manage_dsa_it {
                referral::refuse_if_referral(
                    context,
                    base,
                    request.base,
                    None,
                    Some(request.scope),
                )?;
            }
            if let Some(condition) = controls.assertion {
                let now_s = || call.now_s();
                done!(assertion::require_sliced(context, base, condition, &now_s)?);
            }
            Ok(Progress::Done(base))
        }
        Place::Missing { matched, depth } => {
            let scope = Some(request.scope);
            if let Some(above) = matched
                && catalog.has_referrals
                && !controls.manage_dsa_it
            {
                referral::refuse_if_referral(context, above, request.base, Some(depth), scope)?;
            }
            referral::refer_upwards(catalog, name, request.base, scope)?;
            Err(context.no_such_object(matched)?.into())
        }
    }
}

pub(crate) fn derefs_searching(deref: DerefAliases) -> bool {
    matches!(deref, DerefAliases::InSearching | DerefAliases::Always)
}
