//! RFC 4511 §4.5.1.4 to §4.5.1.6: limits, and types without values.

use crate::prelude::*;
use crate::rfc4511_search::adjusted;

pub(crate) fn clauses(book: &mut Book) {
    limits(book);
    types_only(book);
}

fn limits(book: &mut Book) {
    let mut section = book.section("rfc4511", "4.5.1.4");
    for (words, limit, count, code) in [
        ("stops-at-the-limit", 2, 2, ResultCode::SIZE_LIMIT_EXCEEDED),
        ("of-one", 1, 1, ResultCode::SIZE_LIMIT_EXCEEDED),
        ("that-is-just-enough", 3, 3, ResultCode::SUCCESS),
        ("that-is-more-than-enough", 4, 3, ResultCode::SUCCESS),
        ("of-zero-is-none", 0, 3, ResultCode::SUCCESS),
    ] {
        section.clause(
            format_args!("size-limit-{words}"),
            format_args!(
                "3 entries and a size limit of {limit}: {count} come, {}.",
                code.name()
            ),
            move |it| {
                let found = adjusted(it, EVERYTHING, &["1.1"], |request| {
                    request.size_limit = limit
                })?;
                found.is(code)?.count(count).map(|_| ())
            },
        );
    }
    section.clause(
        "size-limit-counts-what-matches",
        "The size limit counts entries returned, not entries looked at.",
        |it| {
            let found = adjusted(it, "(uid=grace)", &["1.1"], |request| {
                request.size_limit = 1
            })?;
            found.ok()?.count(1).map(|_| ())
        },
    );
    let mut section = book.section("rfc4511", "4.5.1.5");
    for (words, limit) in [("of-zero-is-none", 0), ("that-is-long-enough", 60)] {
        section.clause(
            format_args!("time-limit-{words}"),
            format_args!("A time limit of {limit} does not stop a short search."),
            move |it| {
                let found = adjusted(it, EVERYTHING, &["1.1"], |request| {
                    request.time_limit_s = limit
                })?;
                found.ok()?.count(3).map(|_| ())
            },
        );
    }
}

fn types_only(book: &mut Book) {
    let mut section = book.section("rfc4511", "4.5.1.6");
    section.clause(
        "types-only-has-no-values",
        "typesOnly returns attribute descriptions without values.",
        |it| {
            let select = ["givenName", "sn"];
            let found = adjusted(it, "(uid=ada)", &select, |request| {
                request.types_only = true
            })?;
            let entry = found.one()?;
            ensure(
                entry.has("givenName") && entry.has("sn"),
                "givenName and sn",
                &entry,
            )?;
            let values: usize = entry.attributes.iter().map(|it| it.1.len()).sum();
            equal(values, 0, "values")
        },
    );
    section.clause(
        "types-only-names-what-is-there",
        "typesOnly names an attribute only where the entry has it.",
        |it| {
            let select = ["description"];
            let found = adjusted(it, "(uid=grace)", &select, |request| {
                request.types_only = true
            })?;
            ensure(found.one()?.attributes.is_empty(), "no attributes", "some")
        },
    );
    section.clause(
        "types-only-false-has-values",
        "Without typesOnly, all values come.",
        |it| {
            let found = adjusted(it, "(uid=edsger)", &["description"], |_| {})?;
            equal(found.one()?.values("description").len(), 2, "values")
        },
    );
}
