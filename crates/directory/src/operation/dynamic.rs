//! Dynamic entries (RFC 2589): entries that disappear unless they are refreshed.
//!
//! The entry stores the time at which it ends, so that nothing is written while it lives;
//! `entryTtl` is computed when it is read. The end is part of the write that adds or refreshes the
//! entry, because execution reads no clock.

use crate::context::Context;
use crate::reply::Reply;
use policy::{Limit, Right, TimeToLive};
use protocol::extended::{RefreshRequest, RefreshResponse};
use protocol::{LdapResult, MessageId, ResultCode, oid, response};
use replica::Clock;
use state::entry_end::{end, replace_end};
use state::grant::Grant;
use state::stop::{Refusal, Stop};
use state::write::{Change, Given, Write};

/// The longest time a client may ask for: one year (RFC 2589 §4.1).
const TTL_S_MAX: u32 = 31_557_600;
/// The server may shorten a longer request to no less than a day, in seconds (RFC 2589 §4.2).
const SHORTENED_S_MIN: u32 = 86_400;

/// The time to live that an add asks for.
pub(crate) fn asked(given: &Given) -> Result<u32, Stop> {
    let text = match given.values.as_slice() {
        [one] => std::str::from_utf8(one).ok(),
        _ => None,
    };
    match text.and_then(|it| it.parse().ok()) {
        Some(seconds) => Ok(seconds),
        None => Err(out_of_range("entryTtl")),
    }
}

/// Adds the end to a new dynamic entry.
pub(crate) fn complete(
    context: &Context<'_>,
    attributes: &mut Vec<Given>,
    asked: Option<u32>,
    clock: &dyn Clock,
) -> Result<(), Stop> {
    let object_class = context.catalog.known.object_class.type_id;
    let end_type = context.catalog.computed.entry_end;
    let given_end = attributes
        .iter()
        .any(|it| it.description.type_id == end_type);
    let mut classes = attributes
        .iter()
        .filter(|it| it.description.type_id == object_class);
    let classes = classes.next().map_or(&[][..], |it| it.values.as_slice());
    if !state::execute::is_dynamic(classes.iter().map(Vec::as_slice)) {
        if asked.is_none() && !given_end {
            return Ok(());
        }
        return Stop::refuse(
            ResultCode::OBJECT_CLASS_VIOLATION,
            "a time to live is of entries with the class dynamicObject",
        );
    }
    // A client with relaxed rules has given the end itself.
    if given_end {
        return Ok(());
    }
    let rules = &context.catalog.limits.time_to_live;
    let seconds = match asked {
        Some(asked) => granted(rules, asked, "entryTtl")?,
        None => rules.default_s,
    };
    attributes.push(end(context.catalog, clock.now_us(), seconds));
    Ok(())
}

/// Resolves a refresh into the write that moves the entry's end and the time to live that is
/// reported.
pub(crate) fn refresh(
    context: &Context<'_>,
    request: &RefreshRequest<'_>,
    clock: &dyn Clock,
) -> Result<(Write, Reply), Stop> {
    let catalog = context.catalog;
    let name = super::resolve_name(&catalog.schema, request.entry)?;
    if name.depth() == 0 {
        return Stop::refuse(
            ResultCode::UNWILLING_TO_PERFORM,
            "the root DSE is no dynamic entry",
        );
    }
    let attribute = Some(catalog.computed.entry_ttl);
    let grant = Grant::decide(context, Right::Write, name, attribute)?;
    let rules = &catalog.limits.time_to_live;
    let ttl_s = granted(rules, request.ttl_s, "the time to live")?;
    let write = Write {
        grant,
        spelled: request.entry.to_owned(),
        manage_dsa_it: false,
        options: None,
        change: Change::Modify(vec![replace_end(catalog, clock.now_us(), ttl_s)]),
    };
    let reply = Reply {
        value: Some(encoded(ttl_s)),
        name: Some(oid::REFRESH),
        refused: Some(encoded(0)),
        ..Reply::default()
    };
    Ok((write, reply))
}

/// Writes the response to a refused refresh, with a time to live of 0 (RFC 2589 §4.2).
pub(crate) fn write_refused(out: &mut Vec<u8>, id: MessageId, result: &LdapResult) {
    let (name, value) = (Some(oid::REFRESH), encoded(0));
    response::write_extended_result(out, id, result, name, Some(&value), &[]);
}

/// The time to live granted for a requested one, in seconds.
fn granted(rules: &TimeToLive, asked: u32, what: &str) -> Result<u32, Stop> {
    if asked == 0 {
        return Err(out_of_range(what));
    }
    if asked > rules.max_s {
        Limit::TimeToLive.count();
    }
    if asked > TTL_S_MAX || (asked > rules.max_s && rules.max_s < SHORTENED_S_MIN) {
        let max = rules.max_s.min(TTL_S_MAX);
        return Stop::refuse(
            ResultCode::SIZE_LIMIT_EXCEEDED,
            format!("{what}: expected at most {max} seconds, got {asked}"),
        );
    }
    Ok(asked.min(rules.max_s).max(rules.min_s))
}

fn out_of_range(what: &str) -> Stop {
    let text = format!("{what}: expected one number of seconds from 1 to {TTL_S_MAX}");
    Refusal::new(ResultCode::CONSTRAINT_VIOLATION, text).into()
}

fn encoded(ttl_s: u32) -> Vec<u8> {
    let mut value = Vec::new();
    RefreshResponse { ttl_s }.encode(&mut value);
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wishes_are_kept_within_the_limits() {
        let code = |result: Result<u32, Stop>| match result {
            Err(Stop::Refused(refusal)) => refusal.code,
            other => panic!("expected a refusal, got {other:?}"),
        };
        let rules = TimeToLive {
            default_s: 600,
            min_s: 60,
            max_s: 3_600,
        };
        assert_eq!(granted(&rules, 1, "it").ok(), Some(60));
        assert_eq!(granted(&rules, 3_600, "it").ok(), Some(3_600));
        let refused = code(granted(&rules, 3_601, "it"));
        assert_eq!(refused, ResultCode::SIZE_LIMIT_EXCEEDED);
        let refused = code(granted(&rules, 0, "it"));
        assert_eq!(refused, ResultCode::CONSTRAINT_VIOLATION);
        let days = TimeToLive {
            max_s: 2 * SHORTENED_S_MIN,
            ..rules
        };
        assert_eq!(granted(&days, TTL_S_MAX, "it").ok(), Some(days.max_s));
        let refused = code(granted(&days, TTL_S_MAX + 1, "it"));
        assert_eq!(refused, ResultCode::SIZE_LIMIT_EXCEEDED);
    }
}
