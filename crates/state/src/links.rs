//! Assertions about links between entries, in the filter of a search: `memberOf`, `isMemberOf`, and
//! the in-chain rule (1.2.840.113556.1.4.1941).
//!
//! Each assertion can be answered for one entry, by a walk up from it, or for all entries at once,
//! by a walk down from the group. A search with few candidates walks up from each; in other
//! searches the assertion is replaced by the set of entries for which it is true, which becomes the
//! candidate set. The direct members of a very large group are not listed: the search reads its
//! links as it goes. Listing may take millions of entries, so walks run in slices, and the request
//! is repeated until they are done (`View::divide_walks`).

use crate::done;
use crate::progress::Progress;
use crate::stop::Stop;
use crate::view::{Reach, View};
use roaring::RoaringTreemap;
use schema::matching::Family;
use schema::{Among, Filter, Membership, Name, Selector};
use std::sync::Arc;
use store::Region;

/// Maximum number of candidates tested one by one. Each costs a few lookups; listing a group costs
/// all its members.
const ASKED_ONE_BY_ONE_MAX: u64 = 64;

/// Replaces assertions about links where that makes the search cheaper. Yields when the slice is
/// over; the next slice begins with the filter as it was.
pub fn follow<'f>(
    view: &View<'_>,
    filter: &mut Filter,
    regions: impl Iterator<Item = &'f Region>,
) -> Result<Progress<()>, Stop> {
    if !mentions_links(view, filter) {
        return Ok(Progress::Done(()));
    }
    done!(replace(view, filter, Which::Stored)?);
    let mut candidates = 0;
    for region in regions {
        candidates += view.plan(filter, region)?.estimate();
    }
    let which = match candidates <= ASKED_ONE_BY_ONE_MAX {
        true => Which::Nothing,
        false => Which::Computed,
    };
    replace(view, filter, which)
}

/// Refuses a filter with an assertion about links for which there is no complete index.
pub fn require(view: &View<'_>, filter: &Filter) -> Result<(), Stop> {
    let asserted = match filter {
        Filter::And(parts) => return parts.iter().try_for_each(|it| require(view, it)),
        Filter::Or(parts) => return parts.iter().try_for_each(|it| require(view, it)),
        Filter::Not(part) => return require(view, part),
        Filter::Equality(it)
        | Filter::GreaterOrEqual(it)
        | Filter::LessOrEqual(it)
        | Filter::Approx(it) => &it.selector,
        Filter::Substrings(it) => &it.selector,
        Filter::Present(it) => it,
        Filter::Extensible(it) => match it.selectors.first() {
            Some(first) if it.attribute_named && view.reach_of(first.type_id).is_some() => first,
            _ if it.rule.family == Family::InChain => {
                return view.require_follow(&it.selectors, "an assertion in chain");
            }
            _ => return Ok(()),
        },
        _ => return Ok(()),
    };
    match view.reach_of(asserted.type_id) {
        Some(_) => require_groups(view, asserted),
        None => Ok(()),
    }
}

/// The assertions to replace; all of them are checked.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Which {
    Nothing,
    /// In-chain assertions on stored attributes, which few entries satisfy.
    Stored,
    /// Assertions about the groups of an entry.
    Computed,
}

/// Returns whether the filter has assertions about links, which is rare.
fn mentions_links(view: &View<'_>, filter: &Filter) -> bool {
    match filter {
        Filter::And(parts) => parts.iter().any(|it| mentions_links(view, it)),
        Filter::Or(parts) => parts.iter().any(|it| mentions_links(view, it)),
        Filter::Not(part) => mentions_links(view, part),
        Filter::Equality(it) => view.reach_of(it.selector.type_id).is_some(),
        Filter::Present(it) => view.reach_of(it.type_id).is_some(),
        Filter::Extensible(it) => {
            it.rule.family == Family::InChain
                || it.attribute_named && view.reach_of(it.selectors[0].type_id).is_some()
        }
        _ => false,
    }
}

fn replace(view: &View<'_>, filter: &mut Filter, which: Which) -> Result<Progress<()>, Stop> {
    if which == Which::Computed
        && let Some(member) = membership(view, filter)?
    {
        *filter = Filter::Member(member);
        return Ok(Progress::Done(()));
    }
    match filter {
        Filter::And(parts) => {
            for part in parts {
                done!(replace(view, part, which)?);
            }
            return Ok(Progress::Done(()));
        }
        Filter::Or(parts) => {
            let mut replaced = Progress::Done(());
            parts.try_change(|it| {
                if let Progress::Done(()) = replaced {
                    replaced = replace(view, it, which)?;
                }
                Ok::<(), Stop>(())
            })?;
            return Ok(replaced);
        }
        Filter::Not(part) => return replace(view, part, which),
        _ => {}
    }
    if let Some(ids) = done!(entries_of(view, filter, which)?) {
        let asserted = std::mem::replace(filter, Filter::False);
        *filter = Filter::Among(Among::new(ids, asserted));
    }
    Ok(Progress::Done(()))
}

/// The entries for which an assertion about links is true; `None` for other assertions, and for
/// those that are not to be replaced.
fn entries_of(
    view: &View<'_>,
    filter: &Filter,
    which: Which,
) -> Result<Progress<Option<Arc<RoaringTreemap>>>, Stop> {
    let entries = match filter {
        Filter::Present(it) if view.reach_of(it.type_id).is_some() => {
            require_groups(view, it)?;
            return Ok(Progress::Done(None));
        }
        Filter::Equality(it) => {
            let Some(reach) = view.reach_of(it.selector.type_id) else {
                return Ok(Progress::Done(None));
            };
            require_groups(view, &it.selector)?;
            if which != Which::Computed {
                return Ok(Progress::Done(None));
            }
            view.members_of(&Name::from_bytes(&it.normal), reach)?
        }
        Filter::Extensible(it) if it.rule.family == Family::InChain => {
            let target = Name::from_bytes(&it.normal);
            match it.selectors.first().map(|it| view.reach_of(it.type_id)) {
                Some(Some(reach)) => {
                    require_groups(view, &it.selectors[0])?;
                    let reach = match reach {
                        Reach::Everything => Reach::Everything,
                        _ => Reach::Nested,
                    };
                    if which != Which::Computed {
                        return Ok(Progress::Done(None));
                    }
                    view.members_of(&target, reach)?
                }
                _ => {
                    view.require_follow(&it.selectors, "a search in chain")?;
                    if which != Which::Stored {
                        return Ok(Progress::Done(None));
                    }
                    view.chain_to(&it.selectors, &target)?
                }
            }
        }
        _ => return Ok(Progress::Done(None)),
    };
    Ok(entries.map(Some))
}

/// Direct membership in one very large group as an assertion on its links; `None` for other
/// assertions.
fn membership(view: &View<'_>, filter: &Filter) -> Result<Option<Membership>, Stop> {
    let Filter::Equality(it) = filter else {
        return Ok(None);
    };
    if view.reach_of(it.selector.type_id) != Some(Reach::Direct) {
        return Ok(None);
    }
    require_groups(view, &it.selector)?;
    let group = view.large_group(&Name::from_bytes(&it.normal))?;
    Ok(group.map(|(id, set)| Membership {
        group: id.0,
        number: set.number,
        count: set.count,
        asserted: Box::new(filter.clone()),
    }))
}

fn require_groups(view: &View<'_>, asserted: &Selector) -> Result<(), Stop> {
    view.require_groups(asserted.attribute())
}
