//! Filters that cost too much before the first entry is looked at, or on one entry.
//!
//! A search is resolved and planned in one piece, and asks indexes about each assertion of its
//! filter; only then it goes on in slices. So there may be thousands of assertions that cost one
//! look each, `(|(uid=a)(uid=b)…)`, and fewer of those that cost more.

use crate::stop::Stop;
use protocol::{Filter, ResultCode};

/// The most that the assertions of a search may weigh together. One that weighs 1 is planned in
/// a microsecond or less.
const WEIGHT_MAX: usize = 16_384;
/// Assertions that are tested on one entry before others have their turn: those of an assertion
/// control, or of a search that stays.
const TESTED_MAX: usize = 256;
/// The same for entries that are not stored: the subschema subentry has thousands of values.
const VIRTUAL_MAX: usize = 16;

/// What a substring or another look at several places of an index weighs.
const SEVERAL: usize = 16;
/// What is sampled on entries, or is about all attributes of a syntax.
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

/// The sum of what the assertions of a filter are. Recursion is bounded by the depth that the
/// decoder of filters allows.
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

/// Equality of object classes stands for all subclasses.
fn is_object_class(attribute: &str) -> bool {
    attribute.eq_ignore_ascii_case("objectClass") || attribute == "2.5.4.0"
}
