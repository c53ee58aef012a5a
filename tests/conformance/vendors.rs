//! Controls of vendors, which other servers support, too: Sun's and Netscape's, Ping Identity's,
//! session tracking, OpenDJ's etag, and Pando's own.

use protocol::ber::{self, Reader};
use protocol::control::{EntryCount, MatchingEntryCountResponse};

use crate::draft_behera::{PASSWORD, WARNING, account, age};
use crate::prelude::*;
use crate::rfc4511_search::people;

pub(crate) fn clauses(book: &mut Book) {
    account_usability(book);
    effective_rights(book);
    expiry(book);
    entry_count(book);
    unindexed(book);
    session_tracking(book);
    etag(book);
    position(book);
    position_of_transactions(book);
    position_mistakes(book);
    assured_replication(book);
    queue_length(book);
    access_explanation(book);
    explain(book);
}

/// Searches one entry with this control, and returns it with the controls of its response.
fn with_entry(
    it: &mut Case<'_>,
    name: &str,
    select: &[&str],
    asked: OwnedControl,
) -> Result<(Entry, crate::Controls), Finding> {
    let admin = it.admin()?;
    let scope = Scope::BaseObject;
    let id = admin.send_search(name, scope, EVERYTHING, select, &[asked], |_| {})?;
    let mut found = None;
    loop {
        match admin.receive()? {
            (of, Event::Entry(entry, controls)) if of == id => found = Some((entry, controls)),
            (of, Event::Done(outcome)) if of == id => {
                let outcome = outcome.ok()?;
                return match found {
                    Some(found) => Ok(found),
                    None => Finding::wrong("an entry", outcome),
                };
            }
            _ => {}
        }
    }
}

fn account_usability(book: &mut Book) {
    const OID: &str = oid::ACCOUNT_USABILITY;
    let mut section = book.section_needing("sun-usability", "1", &[Need::Control(OID)]);
    section
        .clause(
            "an-account-that-can-be-used",
            "The entry of an account that can be used comes with how long yet: a [0] INTEGER.",
            |it| {
                let ada = it.person("ada", &[("userPassword", "ada")])?;
                let (_, controls) = with_entry(it, &ada, &["1.1"], bare(OID, true))?;
                let value = controls.iter().find(|(oid, _)| oid == OID);
                let tag = value.and_then(|it| it.1.as_ref()?.first().copied());
                equal(tag, Some(0x80), "the choice")
            },
        )
        .slapd("slapd tells it of accounts with a policy only");
    section.clause(
        "a-value-is-refused",
        "The control has no value: protocolError.",
        |it| {
            let controls = [control(OID, true, vec![1])];
            let found = it.search_home(EVERYTHING, &["1.1"], &controls)?;
            found.is(ResultCode::PROTOCOL_ERROR).map(|_| ())
        },
    );
}

fn effective_rights(book: &mut Book) {
    const OID: &str = oid::GET_EFFECTIVE_RIGHTS;
    let mut section = book.section_needing("sun-rights", "1", &[Need::Control(OID)]);
    section.clause(
        "rights-of-an-entry",
        "An entry comes with what the identity may do with it: a user may read and not delete.",
        |it| {
            let ada = it.person("ada", &[("userPassword", "ada")])?;
            let asked = control(OID, true, sequence(&[octets(format!("dn:{ada}"))]));
            let select = ["cn", "entryLevelRights", "aclRights"];
            let (entry, _) = with_entry(it, &ada, &select, asked)?;
            let plain = entry.texts("entryLevelRights").join("");
            let levels = entry.texts("aclRights;entryLevel").join("");
            let told = !plain.is_empty() || !levels.is_empty();
            ensure(told, "entryLevelRights or aclRights;entryLevel", &entry)?;
            let deletes = plain.contains('d') || levels.contains("delete:1");
            ensure(!deletes, "no right to delete", (plain, levels))
        },
    );
    section.clause(
        "junk-is-refused",
        "A value that names nobody is refused.",
        |it| {
            let controls = [control(OID, true, sequence(&[octets("nobody")]))];
            let found = it.search_home(EVERYTHING, &["1.1"], &controls)?;
            found.outcome.refused().map(|_| ())
        },
    );
}

/// Adds an account under a policy with these settings, whose password was set long ago.
fn aged(it: &mut Case<'_>, settings: &[(&str, &str)]) -> Result<String, Finding> {
    let ada = account(it, settings)?;
    age(it, &ada)?;
    Ok(ada)
}

fn expiry(book: &mut Book) {
    const EXPIRED: &str = oid::PASSWORD_EXPIRED;
    const EXPIRING: &str = oid::PASSWORD_EXPIRING;
    let needs = [
        Need::Control(EXPIRED),
        Need::Control(EXPIRING),
        Need::Control(oid::RELAX_RULES),
    ];
    let mut section = book.section_needing("draft-vchu", "2", &needs);
    section
        .clause(
            "an-expired-password",
            "A bind with an expired password is refused, with the expired control, unasked.",
            |it| {
                let ada = aged(it, &[("pwdMaxAge", "1000")])?;
                let outcome = it.session()?.bind(&ada, PASSWORD)?;
                let outcome = outcome.is(ResultCode::INVALID_CREDENTIALS)?;
                equal(outcome.control_value(EXPIRED)?, b"0", "its value")
            },
        )
        .slapd("slapd sends it where ppolicy_send_netscape_controls is set");
    section
        .clause(
            "a-password-that-expires-soon",
            "A bind with a password that expires soon says in how many seconds, as text.",
            |it| {
                let ada = aged(it, &WARNING)?;
                let outcome = it.session()?.bind(&ada, PASSWORD)?.ok()?;
                let value = outcome.control_value(EXPIRING)?;
                let seconds = std::str::from_utf8(value).ok();
                let seconds = seconds.and_then(|it| it.parse::<u64>().ok());
                ensure(seconds.is_some_and(|it| it > 0), "seconds", seconds)
            },
        )
        .slapd("slapd sends it where ppolicy_send_netscape_controls is set");
}

fn entry_count(book: &mut Book) {
    const OID: &str = oid::MATCHING_ENTRY_COUNT_REQUEST;
    let mut section = book.section_needing("ping-count", "1", &[Need::Control(OID)]);
    let counted = |it: &mut Case<'_>, filter: &str| -> Result<(EntryCount, usize), Finding> {
        people(it)?;
        // The control asks to examine at most 100 candidates, in any case.
        let mut most = Vec::new();
        ber::put_integer(&mut most, 0x80, 100);
        let asked = sequence(&[most, tagged(0x81, [0xff])]);
        let found = it.search_home(filter, &["1.1"], &[control(OID, true, asked)])?;
        let found = found.ok()?;
        let value = found
            .outcome
            .control_value(oid::MATCHING_ENTRY_COUNT_RESPONSE)?;
        match MatchingEntryCountResponse::decode(value) {
            Ok(it) => Ok((it.count, found.entries.len())),
            Err(error) => Finding::wrong("a count", error),
        }
    };
    section.clause(
        "an-exact-count",
        "Candidates that are looked at give an exact count, and no entries.",
        move |it| {
            let expected = (EntryCount::Examined(3), 0);
            equal(counted(it, "(uid=*)")?, expected, "count and entries")
        },
    );
    section.clause(
        "a-count-of-nothing",
        "What matches nothing is counted as nothing.",
        move |it| match counted(it, "(uid=nobody)")? {
            (EntryCount::Examined(0) | EntryCount::Unexamined(0), 0) => Ok(()),
            other => Finding::wrong("0 and no entries", format_args!("{other:?}")),
        },
    );
    section.clause(
        "junk-is-refused",
        "A value that is no request is refused.",
        |it| {
            let controls = [control(OID, true, vec![4, 1, 1])];
            let found = it.search_home(EVERYTHING, &["1.1"], &controls)?;
            found.outcome.refused().map(|_| ())
        },
    );
}

fn unindexed(book: &mut Book) {
    let (reject, permit) = (oid::REJECT_UNINDEXED_SEARCH, oid::PERMIT_UNINDEXED_SEARCH);
    let needs = [Need::Control(reject), Need::Control(permit)];
    let mut section = book.section_needing("ping-unindexed", "1", &needs);
    section.clause(
        "rejected",
        "A search of the whole server that no index helps is refused when asked to be.",
        move |it| {
            let controls = [bare(reject, true)];
            let (scope, filter) = (Scope::WholeSubtree, "(carLicense=none)");
            let found = it
                .admin()?
                .search_with("", scope, filter, &["1.1"], &controls, |_| {})?;
            found.outcome.refused().map(|_| ())
        },
    );
    section.clause(
        "one-entry-is-no-scan",
        "A search of one entry is answered with either control.",
        move |it| {
            let ada = it.person("ada", &[])?;
            for oid in [reject, permit] {
                let (scope, filter) = (Scope::BaseObject, "(!(carLicense=none))");
                let found = it.admin()?.search_with(
                    &ada,
                    scope,
                    filter,
                    &["1.1"],
                    &[bare(oid, true)],
                    |_| {},
                )?;
                found.one()?;
            }
            Ok(())
        },
    );
}

fn session_tracking(book: &mut Book) {
    const OID: &str = oid::SESSION_TRACKING;
    let mut section = book.section_needing("draft-session", "2.2", &[Need::Control(OID)]);
    let parts = |format: &str| {
        let texts = ["192.0.2.1", "app.example.com", format, "ada"];
        sequence(&texts.map(octets))
    };
    section.clause(
        "goes-with-any-operation",
        "The control changes no answer, given once or twice.",
        move |it| {
            let ada = it.person("ada", &[])?;
            let format = "1.3.6.1.4.1.21008.108.63.1.3";
            let controls = [
                control(OID, true, parts(format)),
                control(OID, false, parts(format)),
            ];
            let outcome = it.admin()?.compare(&ada, "sn", b"ada", &controls)?;
            outcome.is(ResultCode::COMPARE_TRUE).map(|_| ())
        },
    );
    section.clause(
        "junk-is-a-protocol-error",
        "A format that is no OID is protocolError.",
        move |it| {
            let ada = it.person("ada", &[])?;
            let controls = [control(OID, true, parts("radius"))];
            let outcome = it.admin()?.compare(&ada, "sn", b"ada", &controls)?;
            outcome.is(ResultCode::PROTOCOL_ERROR).map(|_| ())
        },
    );
}

fn etag(book: &mut Book) {
    let mut section = book.section_needing("opendj-etag", "1", &[Need::Type("etag")]);
    section.clause(
        "changes-with-the-entry",
        "Each change of an entry gives it another etag.",
        |it| {
            let ada = it.person("ada", &[])?;
            let first = it.get(&ada, &["etag"])?.value("etag")?;
            let again = it.get(&ada, &["etag"])?.value("etag")?;
            equal(&first, &again, "the etag of what did not change")?;
            it.modify(&ada, &[Modification::add("title", &["x"])])?
                .ok()?;
            let changed = it.get(&ada, &["etag"])?.value("etag")?;
            ensure(changed != first, "another etag", changed)
        },
    );
    section
        .clause(
            "guards-a-change",
            "An assertion of the etag lets a change through only if nobody was faster.",
            |it| {
                let ada = it.person("ada", &[])?;
                let etag = it.get(&ada, &["etag"])?.value("etag")?;
                let filter = protocol::parse_filter(&format!("(etag={etag})"));
                let filter = filter.expect("an etag is plain text");
                let controls = [control(oid::ASSERTION, true, filter)];
                let change = |title| [Modification::replace("title", &[title])];
                let admin = it.admin()?;
                admin.modify(&ada, &change("one"), &controls)?.ok()?;
                let late = admin.modify(&ada, &change("two"), &controls)?;
                late.is(ResultCode::ASSERTION_FAILED).map(|_| ())
            },
        )
        .needs(Need::Control(oid::ASSERTION));
}

/// Returns log and place of a position.
fn place(value: &[u8]) -> Result<(Vec<u8>, i64), Finding> {
    let read = Reader::new(value).nested(ber::SEQUENCE).and_then(|mut it| {
        let log = it.expect(ber::OCTET_STRING)?.to_vec();
        Ok((log, it.integer(ber::INTEGER)?))
    });
    read.or_else(|error| Finding::wrong("a position", error))
}

/// Changes `title`, after `after` if that is given, and returns the position of the change.
fn written(
    it: &mut Case<'_>,
    name: &str,
    title: &str,
    after: Option<Vec<u8>>,
) -> Result<Vec<u8>, Finding> {
    let asked = OwnedControl {
        value: after,
        ..bare(oid::POSITION, true)
    };
    let change = [Modification::replace("title", &[title])];
    let outcome = it.admin()?.modify(name, &change, &[asked])?.ok()?;
    Ok(outcome.control_value(oid::POSITION)?.to_vec())
}

fn position(book: &mut Book) {
    let mut section = book.section_needing("pando-position", "1", &[Need::Control(oid::POSITION)]);
    section.clause(
        "of-writes-goes-up",
        "Each write is answered with its position in one log, behind the one before.",
        |it| {
            let ada = it.person("ada", &[])?;
            let first = written(it, &ada, "one", None)?;
            let second = written(it, &ada, "two", Some(first.clone()))?;
            let (first, second) = (place(&first)?, place(&second)?);
            equal(&first.0, &second.0, "the log")?;
            ensure(first.1 < second.1, "a later place", (first.1, second.1))
        },
    );
    section.clause(
        "reads-see-it-on-any-connection",
        "A search, and a compare, after a position sees the write, and is answered with a position \
         that is not before it.",
        |it| {
            let ada = it.person("ada", &[])?;
            let after = written(it, &ada, "one", None)?;
            let asked = [control(oid::POSITION, true, after.clone())];
            let soon = std::time::Instant::now() + std::time::Duration::from_secs(20);
            let mut reader = it.site.admin(soon)?;
            let (scope, filter) = (Scope::BaseObject, "(title=one)");
            let found = reader
                .search_with(&ada, scope, filter, &["1.1"], &asked, |_| {})?
                .ok()?
                .count(1)?;
            let seen = place(found.outcome.control_value(oid::POSITION)?)?.1;
            let written = place(&after)?.1;
            ensure(seen >= written, format_args!("{written} or later"), seen)?;
            let outcome = reader.compare(&ada, "title", b"one", &asked)?;
            let outcome = outcome.is(ResultCode::COMPARE_TRUE)?;
            outcome.control_value(oid::POSITION).map(|_| ())
        },
    );
    section.clause(
        "refused-writes-have-none",
        "A write that is refused has no position.",
        |it| {
            let ada = it.person("ada", &[])?;
            let change = [Modification::delete("title", &[])];
            let asked = [bare(oid::POSITION, true)];
            let outcome = it.admin()?.modify(&ada, &change, &asked)?.refused()?;
            ensure(!outcome.has_control(oid::POSITION), "no position", outcome)
        },
    );
}

fn position_of_transactions(book: &mut Book) {
    let mut section = book.section_needing("pando-position", "1", &[Need::Control(oid::POSITION)]);
    section
        .clause(
            "of-a-transaction-comes-with-its-end",
            "The end of a transaction is answered with its position; its updates cannot be.",
            |it| {
                let ada = it.person("ada", &[])?;
                let started = it.extended(oid::START_TRANSACTION, None)?.ok()?;
                let identifier = started.value.unwrap_or_default();
                let of = control(oid::TRANSACTION_SPECIFICATION, true, identifier.clone());
                let change = [Modification::add("title", &["x"])];
                let asked = [bare(oid::POSITION, false), of];
                let outcome = it.admin()?.modify(&ada, &change, &asked)?.ok()?;
                ensure(!outcome.has_control(oid::POSITION), "no position", &outcome)?;
                let end = sequence(&[octets(identifier)]);
                let asked = [bare(oid::POSITION, true)];
                let outcome = it
                    .admin()?
                    .extended(oid::END_TRANSACTION, Some(&end), &asked)?
                    .ok()?;
                place(outcome.control_value(oid::POSITION)?).map(|_| ())
            },
        )
        .needs(Need::Extension(oid::START_TRANSACTION));
}

fn position_mistakes(book: &mut Book) {
    let mut section = book.section_needing("pando-position", "2", &[Need::Control(oid::POSITION)]);
    type Spoilt = fn(Vec<u8>, i64) -> Vec<u8>;
    let rows: [(&str, &str, Spoilt, ResultCode); 3] = [
        (
            "that-is-not-reached",
            "A read after a position that the server has not reached is unavailable.",
            |log, at| sequence(&[octets(log), integer(at + 1_000_000)]),
            ResultCode::UNAVAILABLE,
        ),
        (
            "of-another-directory",
            "A position of another directory is refused: unwillingToPerform.",
            |mut log, at| {
                log[0] ^= 1;
                sequence(&[octets(log), integer(at)])
            },
            ResultCode::UNWILLING_TO_PERFORM,
        ),
        (
            "that-is-junk",
            "A value that is no position is protocolError.",
            |_, at| sequence(&[integer(at)]),
            ResultCode::PROTOCOL_ERROR,
        ),
    ];
    for (words, text, change, code) in rows {
        section.clause(words, text, move |it| {
            let ada = it.person("ada", &[])?;
            let (log, at) = place(&written(it, &ada, "one", None)?)?;
            let asked = [control(oid::POSITION, true, change(log, at))];
            let found = it.search_home(EVERYTHING, &["1.1"], &asked)?;
            found.is(code)?.count(0)?;
            let change = [Modification::replace("title", &["two"])];
            it.admin()?.modify(&ada, &change, &asked)?.is(code)?;
            it.finds("(title=two)", "")
        });
    }
}

fn assured_replication(book: &mut Book) {
    let (request, response) = (
        oid::ASSURED_REPLICATION_REQUEST,
        oid::ASSURED_REPLICATION_RESPONSE,
    );
    let mut section = book.section_needing("ping-assured", "1", &[Need::Control(request)]);
    section.clause(
        "a-write-tells-where-it-is",
        "A write is answered with whether the levels are met; without other servers asked for, \
         they are.",
        move |it| {
            let ada = it.person("ada", &[])?;
            // No other server is required, at this location (tag 0x80) or elsewhere (tag 0x82).
            let value = sequence(&[tagged(0x80, [0]), tagged(0x82, [0])]);
            let change = [Modification::add("title", &["x"])];
            let asked = [control(request, true, value)];
            let outcome = it.admin()?.modify(&ada, &change, &asked)?.ok()?;
            let value = outcome.control_value(response)?;
            let satisfied = Reader::new(value).nested(ber::SEQUENCE).map(|mut it| {
                let mut found = Vec::new();
                while let Ok((tag, content)) = it.element() {
                    if matches!(tag, 0x81 | 0x84) {
                        found.push((tag, content != [0]));
                    }
                }
                found
            });
            equal(satisfied, Ok(vec![(0x81, true), (0x84, true)]), "satisfied")
        },
    );
    section.clause(
        "junk-is-refused",
        "A level that there is not is refused, and nothing changes.",
        move |it| {
            let ada = it.person("ada", &[])?;
            let value = sequence(&[tagged(0x80, [9])]);
            let change = [Modification::add("title", &["x"])];
            let asked = [control(request, true, value)];
            it.admin()?.modify(&ada, &change, &asked)?.refused()?;
            it.finds("(title=x)", "")
        },
    );
}

fn queue_length(book: &mut Book) {
    const OID: &str = oid::QUEUE_LENGTH;
    let mut section = book.section_needing("pando-queue", "1", &[Need::Control(OID)]);
    section.clause(
        "changes-no-answer",
        "Requests under a queue length are answered, in their order, with what they would be.",
        |it| {
            let ada = it.person("ada", &[])?;
            let announced = control(OID, true, sequence(&[integer(3)]));
            let admin = it.admin()?;
            let mut ids = Vec::new();
            for controls in [&[announced][..], &[], &[]] {
                let request = protocol::CompareRequest {
                    entry: &ada,
                    attribute: "sn",
                    value: b"ada",
                };
                ids.push(admin.send(&Request::Compare(request), controls)?);
            }
            for id in ids {
                let outcome = admin.finish(id)?.outcome;
                outcome.is(ResultCode::COMPARE_TRUE)?;
            }
            Ok(())
        },
    );
    section.clause(
        "junk-is-a-protocol-error",
        "A negative length is protocolError.",
        |it| {
            let controls = [control(OID, true, sequence(&[integer(-1)]))];
            let found = it.search_home(EVERYTHING, &["1.1"], &controls)?;
            found.is(ResultCode::PROTOCOL_ERROR).map(|_| ())
        },
    );
}

fn access_explanation(book: &mut Book) {
    const OID: &str = oid::ACCESS_EXPLANATION;
    let mut section = book.section_needing("pando-access-explanation", "1", &[Need::Control(OID)]);
    section.clause(
        "a-question-is-answered",
        "A search with a question about access has the decision in place of entries.",
        |it| {
            let ada = it.person("ada", &[])?;
            let subject = octets(format!("dn:{ada}"));
            let asked = sequence(&[subject, octets("read"), octets("cn")]);
            let found = it.search_home(EVERYTHING, &["1.1"], &[control(OID, true, asked)])?;
            let found = found.ok()?.count(0)?;
            let value = found.outcome.control_value(OID)?;
            let read = Reader::new(value)
                .nested(ber::SEQUENCE)
                .and_then(|mut it| it.boolean(ber::BOOLEAN));
            ensure(read.is_ok(), "a decision", read)
        },
    );
    section.clause(
        "a-word-that-is-no-right",
        "An unknown right is refused with protocolError.",
        |it| {
            let asked = sequence(&[octets(""), octets("raed"), octets("cn")]);
            let found = it.search_home(EVERYTHING, &["1.1"], &[control(OID, true, asked)])?;
            found.is(ResultCode::PROTOCOL_ERROR).map(|_| ())
        },
    );
}

fn explain(book: &mut Book) {
    const OID: &str = oid::EXPLAIN;
    let mut section = book.section_needing("pando-explain", "1", &[Need::Control(OID)]);
    section.clause(
        "instead-of-entries",
        "A search is explained instead of answered: its result tells how much was looked at.",
        |it| {
            people(it)?;
            let found = it.search_home("(uid=ada)", &["1.1"], &[bare(OID, true)])?;
            let found = found.ok()?.count(0)?;
            let value = found.outcome.control_value(OID)?;
            let read = Reader::new(value).nested(ber::SEQUENCE).and_then(|mut it| {
                it.integer(ber::INTEGER)?;
                it.integer(ber::INTEGER)?;
                it.integer(ber::INTEGER)
            });
            equal(read.ok(), Some(1), "entries that match")
        },
    );
}
