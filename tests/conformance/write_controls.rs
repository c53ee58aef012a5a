//! Controls of updates: RFC 4525, 4527, 4528 and 4370.

use protocol::ber::Reader;

use crate::prelude::*;

pub(crate) fn clauses(book: &mut Book) {
    increment(book);
    increment_large(book);
    assertion(book);
    assertion_operations(book);
    read_entry(book);
    pre_read_limits(book);
    read_entry_operations(book);
    post_read_limits(book);
    proxied(book);
}

/// Rows of words, statement, change, result, and the numbers afterwards.
type Increment = (
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    ResultCode,
    &'static str,
);

const INCREMENTS: &[Increment] = &[
    (
        "by-one",
        "increment adds to the value.",
        "uidNumber",
        "1",
        ResultCode::SUCCESS,
        "1001",
    ),
    (
        "by-many",
        "increment adds any number.",
        "uidNumber",
        "500",
        ResultCode::SUCCESS,
        "1500",
    ),
    (
        "by-a-negative-number",
        "increment may subtract, below zero too.",
        "uidNumber",
        "-1001",
        ResultCode::SUCCESS,
        "-1",
    ),
    (
        "by-zero",
        "increment by zero leaves the value.",
        "uidNumber",
        "0",
        ResultCode::SUCCESS,
        "1000",
    ),
    (
        "by-no-number",
        "increment by what is no number is refused.",
        "uidNumber",
        "ten",
        ResultCode::INVALID_ATTRIBUTE_SYNTAX,
        "1000",
    ),
];

fn increment(book: &mut Book) {
    let needs = [
        Need::Feature(oid::MODIFY_INCREMENT),
        Need::Type("uidNumber"),
    ];
    let mut section = book.section_needing("rfc4525", "2", &needs);
    for (words, text, attribute, by, code, after) in INCREMENTS {
        section.clause(words, text, move |it| {
            let name = account(it)?;
            let outcome = it.modify(&name, &[Modification::increment(attribute, by)])?;
            match *code {
                ResultCode::SUCCESS => outcome.ok()?,
                _ => outcome.refused()?,
            };
            equal(
                it.get(&name, &["uidNumber"])?.value("uidNumber")?.as_str(),
                *after,
                "uidNumber",
            )
        });
    }
    section.clause(
        "of-a-missing-attribute",
        "increment of an attribute that is not there is refused.",
        |it| {
            let ada = it.person("ada", &[])?;
            it.modify(&ada, &[Modification::increment("uidNumber", "1")])?
                .refused()
                .map(|_| ())
        },
    );
    section.clause(
        "of-what-is-no-integer",
        "increment of an attribute that is no integer is refused.",
        |it| {
            let ada = it.person("ada", &[("title", "1")])?;
            it.modify(&ada, &[Modification::increment("title", "1")])?
                .refused()
                .map(|_| ())
        },
    );
    section.clause(
        "by-two-values",
        "increment takes exactly one value.",
        |it| {
            let name = account(it)?;
            let mut change = Modification::increment("uidNumber", "1");
            change.values.push(b"2".to_vec());
            it.modify(&name, &[change])?.refused().map(|_| ())
        },
    );
}

/// Rows of words, a value, an increment, and the sum.
const LARGE: &[(&str, &str, &str, &str)] = &[
    ("31-bits", "2147483647", "1", "2147483648"),
    ("63-bits", "9223372036854775807", "1", "9223372036854775808"),
    (
        "63-bits-below",
        "-9223372036854775808",
        "-1",
        "-9223372036854775809",
    ),
    (
        "127-bits",
        "170141183460469231731687303715884105727",
        "1",
        "170141183460469231731687303715884105728",
    ),
    (
        "128-bits",
        "340282366920938463463374607431768211456",
        "1",
        "340282366920938463463374607431768211457",
    ),
    (
        "127-bits-by-as-much",
        "1",
        "170141183460469231731687303715884105727",
        "170141183460469231731687303715884105728",
    ),
];

fn increment_large(book: &mut Book) {
    let needs = [
        Need::Feature(oid::MODIFY_INCREMENT),
        Need::Type("uidNumber"),
    ];
    let mut section = book.section_needing("rfc4525", "2", &needs);
    for (words, value, by, sum) in LARGE {
        let clause = section.clause(
            format_args!("beyond-{words}"),
            "Integers have no largest value: an increment is exact, or refused without a trace.",
            move |it| {
                let name = account(it)?;
                let large = [Modification::replace("uidNumber", &[value])];
                let taken = it.modify(&name, &large)?;
                if taken.code != ResultCode::SUCCESS {
                    let what = format!("the integer {value}");
                    return Err(Finding::NotOffered(what));
                }
                let change = [Modification::increment("uidNumber", by)];
                let right = match it.modify(&name, &change)?.code {
                    ResultCode::SUCCESS => sum,
                    _ => value,
                };
                let came = it.get(&name, &["uidNumber"])?.value("uidNumber")?;
                equal(came.as_str(), *right, "uidNumber")
            },
        );
        if words.starts_with("63-bits") {
            clause.slapd("slapd counts in 64 bits, and wraps around");
        }
    }
}

fn account(it: &mut Case<'_>) -> Result<String, Finding> {
    let more = [
        ("objectClass", "device"),
        ("objectClass", "extensibleObject"),
        ("uidNumber", "1000"),
    ];
    it.put("cn=account", &more)
}

fn asserting(filter: &str) -> OwnedControl {
    let filter = protocol::parse_filter(filter).expect("a clause's filter is correct");
    control(oid::ASSERTION, true, filter)
}

fn assertion(book: &mut Book) {
    let mut section = book.section_needing("rfc4528", "3", &[Need::Control(oid::ASSERTION)]);
    let rows = [
        (
            "true",
            "An assertion that is True lets the operation go on.",
            "(sn=ada)",
            ResultCode::SUCCESS,
        ),
        (
            "false",
            "An assertion that is False stops it: assertionFailed.",
            "(sn=grace)",
            ResultCode::ASSERTION_FAILED,
        ),
        (
            "undefined",
            "An assertion that is Undefined stops it.",
            "(noSuchType=x)",
            ResultCode::ASSERTION_FAILED,
        ),
        (
            "compound",
            "An assertion may be any filter.",
            "(&(sn=ada)(!(title=*)))",
            ResultCode::SUCCESS,
        ),
        (
            "operational",
            "An assertion may be about operational attributes.",
            "(createTimestamp>=20200101000000Z)",
            ResultCode::SUCCESS,
        ),
    ];
    for (words, text, filter, code) in rows {
        section.clause(format_args!("modify-{words}"), text, move |it| {
            let ada = it.person("ada", &[])?;
            let change = [Modification::add("title", &["x"])];
            it.admin()?
                .modify(&ada, &change, &[asserting(filter)])?
                .is(code)?;
            equal(
                it.get(&ada, &["title"])?.has("title"),
                code == ResultCode::SUCCESS,
                "a title",
            )
        });
    }
    section
        .clause(
            "value-that-is-no-filter",
            "A control whose value is no filter is protocolError, and nothing changes.",
            |it| {
                let ada = it.person("ada", &[])?;
                let junk = [control(oid::ASSERTION, true, vec![1, 2, 3])];
                let change = [Modification::add("title", &["x"])];
                it.admin()?
                    .modify(&ada, &change, &junk)?
                    .is(ResultCode::PROTOCOL_ERROR)?;
                ensure(!it.get(&ada, &["title"])?.has("title"), "no title", "one")
            },
        )
        .slapd("slapd ends the session");
}

fn assertion_operations(book: &mut Book) {
    let mut section = book.section_needing("rfc4528", "3", &[Need::Control(oid::ASSERTION)]);
    for operation in ["delete", "modify-dn", "compare", "search"] {
        for (words, filter, holds) in [("true", "(sn=ada)", true), ("false", "(sn=x)", false)] {
            section.clause(
                format_args!("{operation}-{words}"),
                format_args!("The control works with {operation}: {filter} on sn=ada."),
                move |it| {
                    let ada = it.person("ada", &[])?;
                    let controls = [asserting(filter)];
                    let admin = it.admin()?;
                    let outcome = match operation {
                        "delete" => admin.delete(&ada, &controls)?,
                        "modify-dn" => admin.rename(&ada, "uid=x", true, None, &controls)?,
                        "compare" => admin.compare(&ada, "sn", b"ada", &controls)?,
                        _ => {
                            let scope = Scope::BaseObject;
                            admin
                                .search_with(&ada, scope, EVERYTHING, &[], &controls, |_| {})?
                                .outcome
                        }
                    };
                    let right = match (holds, operation) {
                        (false, _) => ResultCode::ASSERTION_FAILED,
                        (true, "compare") => ResultCode::COMPARE_TRUE,
                        _ => ResultCode::SUCCESS,
                    };
                    outcome.is(right).map(|_| ())
                },
            );
        }
    }
}

fn read_control(oid: &'static str, select: &[&str]) -> OwnedControl {
    let names: Vec<Vec<u8>> = select.iter().map(octets).collect();
    control(oid, true, sequence(&names))
}

/// Returns the attribute's values in the entry of a response control.
fn read_values(outcome: &Outcome, oid: &str, attribute: &str) -> Result<String, Finding> {
    let value = outcome.control_value(oid)?;
    let wrong = |_| Finding::Wrong {
        expected: "a SearchResultEntry".to_owned(),
        came: format!("{value:02x?}"),
    };
    let mut reader = Reader::new(value);
    // The tag is [APPLICATION 4], or a plain SEQUENCE as written by some servers.
    let (_, content) = reader.element().map_err(wrong)?;
    let mut entry = Reader::new(content);
    entry.element().map_err(wrong)?;
    let mut attributes = entry.nested(protocol::ber::SEQUENCE).map_err(wrong)?;
    let mut found = Vec::new();
    while !attributes.is_empty() {
        let it = protocol::PartialAttribute::decode(&mut attributes).map_err(wrong)?;
        if it.description.eq_ignore_ascii_case(attribute) {
            found.extend(
                it.values
                    .iter()
                    .map(|it| String::from_utf8_lossy(it).into_owned()),
            );
        }
    }
    Ok(found.join(" "))
}

fn read_entry(book: &mut Book) {
    let pre = [Need::Control(oid::PRE_READ)];
    let mut section = book.section_needing("rfc4527", "3.1", &pre);
    section.clause(
        "pre-read-of-modify",
        "Pre-read returns the entry as it was before a modify.",
        |it| {
            let ada = it.person("ada", &[("title", "old")])?;
            let change = [Modification::replace("title", &["new"])];
            let controls = [read_control(oid::PRE_READ, &["title"])];
            let outcome = it.admin()?.modify(&ada, &change, &controls)?.ok()?;
            equal(
                read_values(&outcome, oid::PRE_READ, "title")?.as_str(),
                "old",
                "title",
            )
        },
    );
    section.clause(
        "pre-read-of-delete",
        "Pre-read returns the entry that was deleted.",
        |it| {
            let ada = it.person("ada", &[("title", "old")])?;
            let controls = [read_control(oid::PRE_READ, &["title"])];
            let outcome = it.admin()?.delete(&ada, &controls)?.ok()?;
            equal(
                read_values(&outcome, oid::PRE_READ, "title")?.as_str(),
                "old",
                "title",
            )
        },
    );
    section.clause(
        "pre-read-of-modify-dn",
        "Pre-read returns the entry as it was before a rename.",
        |it| {
            let ada = it.person("ada", &[])?;
            let controls = [read_control(oid::PRE_READ, &["uid"])];
            let outcome = it
                .admin()?
                .rename(&ada, "uid=x", true, None, &controls)?
                .ok()?;
            equal(
                read_values(&outcome, oid::PRE_READ, "uid")?.as_str(),
                "ada",
                "uid",
            )
        },
    );
}

fn pre_read_limits(book: &mut Book) {
    let pre = [Need::Control(oid::PRE_READ)];
    let mut section = book.section_needing("rfc4527", "3.1", &pre);
    section.clause(
        "pre-read-selects-only-what-is-asked",
        "Pre-read returns the selected attributes only.",
        |it| {
            let ada = it.person("ada", &[("title", "old")])?;
            let controls = [read_control(oid::PRE_READ, &["sn"])];
            let outcome = it.admin()?.delete(&ada, &controls)?.ok()?;
            equal(
                read_values(&outcome, oid::PRE_READ, "title")?.as_str(),
                "",
                "title",
            )
        },
    );
    section.clause(
        "pre-read-of-a-refused-modify",
        "A refused update returns no pre-read.",
        |it| {
            let ada = it.person("ada", &[])?;
            let change = [Modification::delete("title", &[])];
            let controls = [read_control(oid::PRE_READ, &["sn"])];
            let outcome = it.admin()?.modify(&ada, &change, &controls)?.refused()?;
            ensure(
                !outcome.has_control(oid::PRE_READ),
                "no response control",
                "one",
            )
        },
    );
}

fn read_entry_operations(book: &mut Book) {
    let post = [Need::Control(oid::POST_READ)];
    let mut section = book.section_needing("rfc4527", "3.2", &post);
    section.clause(
        "post-read-of-modify",
        "Post-read returns the entry as it is after a modify.",
        |it| {
            let ada = it.person("ada", &[("title", "old")])?;
            let change = [Modification::replace("title", &["new"])];
            let controls = [read_control(oid::POST_READ, &["title"])];
            let outcome = it.admin()?.modify(&ada, &change, &controls)?.ok()?;
            equal(
                read_values(&outcome, oid::POST_READ, "title")?.as_str(),
                "new",
                "title",
            )
        },
    );
    section.clause(
        "post-read-of-add",
        "Post-read returns the entry that was added.",
        |it| {
            let ada = it.draft("uid=ada", &person("ada", &[("title", "new")]))?;
            let controls = [read_control(oid::POST_READ, &["title"])];
            let outcome = it.admin()?.add(&ada, &controls)?.ok()?;
            equal(
                read_values(&outcome, oid::POST_READ, "title")?.as_str(),
                "new",
                "title",
            )
        },
    );
    section.clause(
        "post-read-of-modify-dn",
        "Post-read returns the entry as it is after a rename.",
        |it| {
            let ada = it.person("ada", &[])?;
            let controls = [read_control(oid::POST_READ, &["uid"])];
            let outcome = it
                .admin()?
                .rename(&ada, "uid=x", true, None, &controls)?
                .ok()?;
            equal(
                read_values(&outcome, oid::POST_READ, "uid")?.as_str(),
                "x",
                "uid",
            )
        },
    );
}

fn post_read_limits(book: &mut Book) {
    let post = [Need::Control(oid::POST_READ)];
    let mut section = book.section_needing("rfc4527", "3.2", &post);
    section.clause(
        "post-read-of-operational-attributes",
        "Post-read returns operational attributes that are asked for.",
        |it| {
            let ada = it.draft("uid=ada", &person("ada", &[]))?;
            let controls = [read_control(oid::POST_READ, &["createTimestamp"])];
            let outcome = it.admin()?.add(&ada, &controls)?.ok()?;
            let came = read_values(&outcome, oid::POST_READ, "createTimestamp")?;
            equal(
                it.get(&ada.name, &["createTimestamp"])?
                    .value("createTimestamp")?,
                came,
                "time",
            )
        },
    );
    section.clause(
        "post-read-with-junk",
        "A value that is no selection is protocolError, and nothing changes.",
        |it| {
            let ada = it.person("ada", &[])?;
            let junk = [control(oid::POST_READ, true, vec![2, 1, 1])];
            let change = [Modification::add("title", &["x"])];
            it.admin()?
                .modify(&ada, &change, &junk)?
                .is(ResultCode::PROTOCOL_ERROR)?;
            ensure(!it.get(&ada, &["title"])?.has("title"), "no title", "one")
        },
    );
}

fn proxied(book: &mut Book) {
    let needs = [
        Need::Control(oid::PROXIED_AUTHORIZATION),
        Need::Extension(oid::WHO_AM_I),
    ];
    let mut section = book.section_needing("rfc4370", "3", &needs);
    section.clause(
        "who-am-i-as-another",
        "With the control, who am I? answers the other identity.",
        |it| {
            let ada = it.person("ada", &[])?;
            let controls = [control(
                oid::PROXIED_AUTHORIZATION,
                true,
                format!("dn:{ada}").into_bytes(),
            )];
            let outcome = it.admin()?.extended(oid::WHO_AM_I, None, &controls)?;
            if outcome.code == ResultCode::AUTHORIZATION_DENIED {
                return Err(Finding::NotOffered("the right to act as others".into()));
            }
            let value = outcome.ok()?.value.unwrap_or_default();
            equal_name(&String::from_utf8_lossy(&value), &format!("dn:{ada}"))
        },
    );
    section.clause(
        "others-may-not",
        "Who has no right to act as others is authorizationDenied.",
        |it| {
            let ada = it.person("ada", &[("userPassword", "ada")])?;
            let grace = it.person("grace", &[])?;
            let controls = [control(
                oid::PROXIED_AUTHORIZATION,
                true,
                format!("dn:{grace}").into_bytes(),
            )];
            let mut session = it.bound(&ada, "ada")?;
            let outcome = session.extended(oid::WHO_AM_I, None, &controls)?;
            outcome.is(ResultCode::AUTHORIZATION_DENIED).map(|_| ())
        },
    );
    section
        .clause(
            "not-critical-is-refused",
            "The control must be critical: protocolError otherwise.",
            |it| {
                let ada = it.person("ada", &[])?;
                let value = format!("dn:{ada}").into_bytes();
                let controls = [control(oid::PROXIED_AUTHORIZATION, false, value)];
                let outcome = it.admin()?.extended(oid::WHO_AM_I, None, &controls)?;
                outcome.is(ResultCode::PROTOCOL_ERROR).map(|_| ())
            },
        )
        .slapd("slapd takes the control all the same");
}
