//! Refuses filters that cost too much before the first entry is looked at, or on one entry.
//!
//! Resolving and planning a search is not divided into slices, and looks up each assertion of the
//! filter in indexes. So a filter may have thousands of assertions that cost one lookup each, such
//! as `(|(uid=a)(uid=b)…)`, and fewer that cost more.

use crate::stop::Stop;
use protocol::{Filter, ResultCode};

/// Maximum weight of a search's filter. An assertion of weight 1 is planned in at most a
/// microsecond.
const WEIGHT_MAX: usize = 16_384;
/// Maximum number of assertions tested on one entry in one piece: the assertions of an assertion
/// control or of a search that stays.
const TESTED_MAX: usize = 256;
/// Maximum number of assertions tested on entries that are not stored: the subschema subentry has
/// thousands of values.
const VIRTUAL_MAX: usize = 16;

/// Weight of a substring assertion, and of others that read several places of an index.
const SEVERAL: usize = 16;
/// Weight of an assertion whose cost is sampled on entries, or that tests all attributes of a
/// syntax.
const SAMPLED: usize = 256;

/// Refuses a search whose filter is too heavy.
#[inline]
pub fn refuse(filter: &Filter<'_>) -> Result<(), Stop> {
    match filter {
        Filter::And(_) | Filter::Or(_) | Filter::Not(_) => refuse_heavier(filter),
        _ => Ok(()),
    }
}

fn refuse_heavier(filter: &Filter<'_>) -> Result<(), Stop> {
    let weight = sum(filter, &weight_of);
    if weight <= WEIGHT_MAX {
        return Ok(());
    }
    Stop::refuse(
        ResultCode::ADMIN_LIMIT_EXCEEDED,
        format!(
            "the filter weighs {weight}, {WEIGHT_MAX} at most: an equality 1, a substring or one \
             of objectClass {SEVERAL}, an order or a rule without an attribute {SAMPLED}; ask \
             several times"
        ),
    )
}

/// Refuses a filter with too many assertions to be tested on one entry in one piece.
pub fn refuse_undivided(filter: &Filter<'_>) -> Result<(), Stop> {
    refuse_more(filter, TESTED_MAX)
}

/// Refuses a filter with too many assertions to be tested on entries that are not stored.
pub fn refuse_virtual(filter: &Filter<'_>) -> Result<(), Stop> {
    refuse_more(filter, VIRTUAL_MAX)
}

fn refuse_more(filter: &Filter<'_>, most: usize) -> Result<(), Stop> {
    let count = sum(filter, &|_| 1);
    if count <= most {
        return Ok(());
    }
    let text = format!("expected at most {most} assertions in this filter, got {count}");
    Stop::refuse(ResultCode::ADMIN_LIMIT_EXCEEDED, text)
}

/// The sum of `of` over the assertions of a filter. The decoder of filters limits the depth of the
/// recursion.
fn sum(filter: &Filter<'_>, of: &dyn Fn(&Filter<'_>) -> usize) -> usize {
    match filter {
        Filter::And(parts) | Filter::Or(parts) => parts.iter().map(|it| sum(it, of)).sum(),
        Filter::Not(part) => sum(part, of),
        assertion => of(assertion),
    }
}

fn weight_of(assertion: &Filter<'_>) -> usize {
    match assertion {
        Filter::Equality { attribute, .. } => match is_object_class(attribute) {
            true => SEVERAL,
            false => 1,
        },
        Filter::GreaterOrEqual { .. } | Filter::LessOrEqual { .. } => SAMPLED,
        Filter::Extensible {
            attribute: None, ..
        } => SAMPLED,
        Filter::Substrings { .. } | Filter::Approx { .. } | Filter::Extensible { .. } => SEVERAL,
        _ => 1,
    }
}

/// An object class matches its subclasses too, so it is planned as several assertions.
fn is_object_class(attribute: &str) -> bool {
    attribute.eq_ignore_ascii_case("objectClass") || attribute == "2.5.4.0"
}
