//! The assertion control (RFC 4528): an operation goes on only if its target matches a filter.

use crate::catalog::Catalog;
use crate::context::Context;
use crate::stop::{Refusal, Stop};
use protocol::{ResultCode, control};
use schema::{Truth, ValueSource};
use store::EntryId;

/// Refuses with `assertionFailed` unless the entry matches the filter, a control value. `now_s` is
/// asked only when the filter is about the present time.
pub(crate) fn require(
    context: &Context<'_>,
    id: EntryId,
    condition: &[u8],
    now_s: &dyn Fn() -> i64,
) -> Result<(), Stop> {
    match context.entry(id)? {
        Some(entry) => {
            let holds = require_of(context.catalog, &entry, condition, now_s);
            context.evaluated(())?;
            holds
        }
        None => Err(failed()),
    }
}

/// The same for an entry at hand. What the subject may not see looks absent, as in the
/// filter of a search (RFC 4528 §4).
pub(crate) fn require_of(
    catalog: &Catalog,
    entry: &impl ValueSource,
    condition: &[u8],
    now_s: &dyn Fn() -> i64,
) -> Result<(), Stop> {
    let decoded = match control::Assertion::decode(condition) {
        Ok(decoded) => decoded,
        Err(error) => {
            let text = format!("assertion control: expected a filter: {error}");
            return Stop::refuse(ResultCode::PROTOCOL_ERROR, text);
        }
    };
    let schema = &catalog.schema;
    let filter = schema.resolve_filter_with(&decoded.filter, now_s);
    let mut scratch = Vec::new();
    match filter.evaluate(schema, entry, &mut scratch) {
        Truth::True => Ok(()),
        Truth::False | Truth::Undefined => Err(failed()),
    }
}

fn failed() -> Stop {
    // One text for "false" and "nobody can say": a filter on what is hidden tells nothing.
    let text = "the entry does not match the assertion";
    Refusal::new(ResultCode::ASSERTION_FAILED, text).into()
}
