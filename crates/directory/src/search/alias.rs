//! Alias dereferencing (RFC 4511 §4.5.1.3, RFC 4512 §2.6).

mod regions;

pub(crate) use regions::{WorkDone, regions};

use crate::context::{Context, Place, VisibleEntry};
use protocol::ResultCode;
use schema::Name;
use state::stop::Stop;

/// Maximum number of aliases on the way of one name; more are taken for a loop.
const HOPS_MAX: usize = 32;

/// Looks a name up, following the aliases on its way.
pub(crate) fn find(context: &Context<'_>, name: &Name) -> Result<Place, Stop> {
    match lead(context, name)? {
        Led::To(place) => Ok(place),
        Led::Nowhere(problem) => Stop::refuse(ResultCode::ALIAS_PROBLEM, problem),
    }
}

/// Result of following the aliases on the way of a name.
enum Led {
    To(Place),
    /// An alias on the way cannot be followed; the text says why.
    Nowhere(String),
}

fn lead(context: &Context<'_>, name: &Name) -> Result<Led, Stop> {
    let wanted_depth = name.depth();
    let mut name = name.clone();
    for _ in 0..HOPS_MAX {
        let place = context.find(&name)?;
        let (at, depth) = match place {
            Place::Found(id) => (id, name.depth()),
            Place::Missing {
                matched: Some(id),
                depth,
            } => (id, depth),
            Place::Missing { matched: None, .. } => return Ok(Led::To(place)),
        };
        let target = match context.reached(at)? {
            Some(entry) => aliased(&entry),
            None => Aliased::Nothing,
        };
        let mut next = match target {
            Aliased::Name(next) => next,
            Aliased::Unusable => {
                return Ok(Led::Nowhere("the alias names nothing usable".to_owned()));
            }
            Aliased::Nothing => {
                // As many RDNs are missing at the end as were before the aliases were followed.
                return Ok(Led::To(match place {
                    Place::Missing { matched, depth } => Place::Missing {
                        matched,
                        depth: wanted_depth.saturating_sub(name.depth() - depth),
                    },
                    found => found,
                }));
            }
        };
        for level in depth..name.depth() {
            next = next.child(name.rdn(level));
        }
        name = next;
    }
    Ok(Led::Nowhere(format!(
        "more than {HOPS_MAX} aliases lead to the base: is there a loop?"
    )))
}

/// The entry that an alias stands for.
enum Aliased {
    /// The entry is no alias.
    Nothing,
    Name(Name),
    /// The entry is an alias without a usable name.
    Unusable,
}

fn aliased(entry: &VisibleEntry<'_, '_>) -> Aliased {
    if !entry.has_class("alias") {
        return Aliased::Nothing;
    }
    let catalog = entry.catalog();
    let name = entry
        .internal(catalog.known.aliased_object_name.number)
        .and_then(|it| it.values().into_iter().next())
        .and_then(|value| std::str::from_utf8(value).ok())
        .and_then(|text| catalog.schema.resolve_name(text).ok());
    name.map_or(Aliased::Unusable, Aliased::Name)
}
