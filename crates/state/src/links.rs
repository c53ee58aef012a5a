//! Assertions about links between entries, in the filter of a search: `memberOf`, `isMemberOf`, and
//! the in-chain rule (1.2.840.113556.1.4.1941).
//!
//! Each assertion can be answered for one entry, by a walk up from it, or for all entries at once,
//! by a walk down from the group. A search with few candidates walks up from each; in other
//! searches the assertion is replaced by the set of entries for which it is true, which becomes the
//! candidate set. The direct members of a very large group are not listed: the search reads its
//! links as it goes. Listing may take millions of entries, so walks run in slices, and the request
//! is repeated until they are done (`View::divide_walks`).

use crate::stop::Stop;
use crate::view::{Reach, View};
use schema::matching::Family;
use schema::{Among, Filter, Membership, Name, Selector};
use store::Region;

/// Maximum number of candidates tested one by one. Each costs a few lookups; listing a group costs
/// all its members.
const ASKED_ONE_BY_ONE_MAX: u64 = 64;

/// Replaces assertions about links where that makes the search cheaper.
pub fn follow<'f>(
    view: &View<'_>,
    filter: &mut Filter,
    regions: impl Iterator<Item = &'f Region>,
) -> Result<(), Stop> {
    if !mentions_links(view, filter) {
        return Ok(());
    }
    replace(view, filter, Which::Stored)?;
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

fn replace(view: &View<'_>, filter: &mut Filter, which: Which) -> Result<(), Stop> {
    if which == Which::Computed
        && let Some(member) = membership(view, filter)?
    {
        *filter = Filter::Member(member);
        return Ok(());
    }
    let ids = match filter {
        Filter::And(parts) => {
            let mut parts = parts.iter_mut();
            return parts.try_for_each(|it| replace(view, it, which));
        }
        Filter::Or(parts) => return parts.try_change(|it| replace(view, it, which)),
        Filter::Not(part) => return replace(view, part, which),
        Filter::Present(it) if view.reach_of(it.type_id).is_some() => {
            require_groups(view, it)?;
            None
        }
        Filter::Equality(it) => match view.reach_of(it.selector.type_id) {
            None => None,
            Some(reach) => {
                require_groups(view, &it.selector)?;
                let group = Name::from_bytes(&it.normal);
                (which == Which::Computed)
                    .then(|| view.members_of(&group, reach))
                    .transpose()?
            }
        },
        Filter::Extensible(it) if it.rule.family == Family::InChain => {
            let target = Name::from_bytes(&it.normal);
            match it.selectors.first().map(|it| view.reach_of(it.type_id)) {
                Some(Some(reach)) => {
                    require_groups(view, &it.selectors[0])?;
                    let reach = match reach {
                        Reach::Everything => Reach::Everything,
                        _ => Reach::Nested,
                    };
                    (which == Which::Computed)
                        .then(|| view.members_of(&target, reach))
                        .transpose()?
                }
                _ => {
                    view.require_follow(&it.selectors, "a search in chain")?;
                    (which == Which::Stored)
                        .then(|| view.chain_to(&it.selectors, &target))
                        .transpose()?
                }
            }
        }
        _ => None,
    };
    if let Some(ids) = ids {
        let asserted = std::mem::replace(filter, Filter::False);
        *filter = Filter::Among(Among::new(ids, asserted));
    }
    Ok(())
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
