//! The assertion control (RFC 4528): an operation is carried out only if its target matches a
//! filter.

use crate::progress::Progress;
use crate::stop::{Refusal, Stop};
use crate::view::{View, VisibleEntry};
use crate::virtual_entry::VirtualEntry;
use crate::write::Write;
use crate::{heavy, links};
use protocol::{DecodeError, ResultCode, control};
use schema::{Filter, Truth};
use store::EntryId;

/// Refuses with `assertionFailed` unless the entry matches the filter in the control value
/// `condition`, which is tested in one piece. `now_s` is called only if the filter is about the
/// present time.
pub fn require(
    view: &View<'_>,
    id: EntryId,
    condition: &[u8],
    now_s: &dyn Fn() -> i64,
) -> Result<(), Stop> {
    view.whole(|| require_sliced(view, id, condition, now_s))
}

/// Like [`require`], in slices: yields when walks over groups use up the slice.
pub fn require_sliced(
    view: &View<'_>,
    id: EntryId,
    condition: &[u8],
    now_s: &dyn Fn() -> i64,
) -> Result<Progress<()>, Stop> {
    if view.is_served() {
        require_light(condition)?;
    }
    let Some(entry) = view.entry(id)? else {
        return Err(failed());
    };
    let filter = filter(view, condition, now_s)?;
    match entry.evaluate_sliced(&filter, &mut Vec::new())? {
        Progress::Done(truth) => require_true(truth).map(Progress::Done),
        Progress::Yield => Ok(Progress::Yield),
    }
}

/// Refuses a filter with too many assertions. Execution does not check this: it must decide as it
/// did before.
pub fn require_light(condition: &[u8]) -> Result<(), Stop> {
    match control::Assertion::decode(condition) {
        Ok(decoded) => heavy::refuse_undivided(&decoded.filter),
        Err(error) => Err(malformed(&error)),
    }
}

/// Refuses a write whose assertion is too heavy, or about groups that no index leads to. This is
/// checked before the write has its place in the order; execution looks at all entries instead,
/// because it must not depend on the progress of index builds.
pub fn require_indexes(view: &View<'_>, write: &Write) -> Result<(), Stop> {
    let condition = write.options.as_deref();
    let Some(condition) = condition.and_then(|it| it.assertion.as_deref()) else {
        return Ok(());
    };
    require_light(condition)?;
    links::require(view, &filter(view, condition, &|| 0)?)
}

/// Like [`require`], for an entry already read. Hidden attributes count as absent, as in the filter
/// of a search (RFC 4528 §4).
pub fn require_of(
    view: &View<'_>,
    entry: &VisibleEntry<'_, '_>,
    condition: &[u8],
    now_s: &dyn Fn() -> i64,
) -> Result<(), Stop> {
    let filter = filter(view, condition, now_s)?;
    require_true(entry.evaluate(&filter, &mut Vec::new())?)
}

/// Like [`require`], for an entry that is not stored.
pub fn require_of_virtual(
    view: &View<'_>,
    entry: &VirtualEntry,
    condition: &[u8],
    now_s: &dyn Fn() -> i64,
) -> Result<(), Stop> {
    let decoded = control::Assertion::decode(condition).map_err(|error| malformed(&error))?;
    heavy::refuse_virtual(&decoded.filter)?;
    let filter = filter(view, condition, now_s)?;
    require_true(filter.evaluate(&view.catalog.schema, entry, &mut Vec::new()))
}

fn require_true(truth: Truth) -> Result<(), Stop> {
    match truth {
        Truth::True => Ok(()),
        Truth::False | Truth::Undefined => Err(failed()),
    }
}

/// Returns the filter in a control value, resolved and narrowed to what the subject may search.
fn filter(view: &View<'_>, condition: &[u8], now_s: &dyn Fn() -> i64) -> Result<Filter, Stop> {
    match control::Assertion::decode(condition) {
        Ok(decoded) => {
            let schema = &view.catalog.schema;
            let mut filter = schema.resolve_filter_with(&decoded.filter, now_s);
            view.narrow(&mut filter);
            Ok(filter)
        }
        Err(error) => Err(malformed(&error)),
    }
}

fn malformed(error: &DecodeError) -> Stop {
    let text = format!("assertion control: expected a filter: {error}");
    Refusal::new(ResultCode::PROTOCOL_ERROR, text).into()
}

fn failed() -> Stop {
    // "False" and "undefined" have one text, so that a filter on hidden attributes reveals nothing.
    let text = "the entry does not match the assertion";
    Refusal::new(ResultCode::ASSERTION_FAILED, text).into()
}
