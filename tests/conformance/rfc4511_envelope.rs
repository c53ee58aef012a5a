//! RFC 4511 §3 to §4.1 and §5: messages, results, controls, encoding.

use crate::prelude::*;

const UNKNOWN: &str = "1.2.3.4.5.6.7";

pub(crate) fn clauses(book: &mut Book) {
    outstanding(book);
    broken_envelopes(book);
    notices(book);
    extensibility(book);
    matched_names(book);
    unknown_controls(book);
    critical_controls(book);
    encoding(book);
    malformed_searches(book);
    transfer(book);
}

/// Encodes a message with an already encoded operation.
fn message(id: i64, operation: &[u8]) -> Vec<u8> {
    sequence(&[integer(id), operation.to_vec()])
}

/// Encodes an anonymous bind request.
fn anonymous() -> Vec<u8> {
    constructed(0x60, &[integer(3), octets(""), tagged(0x80, "")])
}

fn answers_bind(session: &mut Session, bytes: &[u8], id: i32) -> Examined {
    session.send_raw(bytes)?;
    let (of, event) = session.receive()?;
    equal(of, id, "the message id")?;
    let Event::Done(outcome) = event else {
        return Finding::wrong("a bind response", format_args!("{event:?}"));
    };
    outcome.ok().map(|_| ())
}

fn outstanding(book: &mut Book) {
    let mut section = book.section("rfc4511", "3.1");
    section.clause(
        "requests-may-be-sent-ahead",
        "Several operations may be outstanding; each response carries the id of its request.",
        |it| {
            let home = it.home()?;
            let admin = it.admin()?;
            let mut ids = Vec::new();
            for _ in 0..20 {
                let scope = Scope::BaseObject;
                ids.push(admin.send_search(&home, scope, EVERYTHING, &["1.1"], &[], |_| {})?);
            }
            let mut ended = Vec::new();
            while ended.len() < ids.len() {
                if let (id, Event::Done(outcome)) = admin.receive()? {
                    outcome.ok()?;
                    ended.push(id);
                }
            }
            ended.sort_unstable();
            equal(ended, ids, "ids of the responses")
        },
    );
    let mut section = book.section("rfc4511", "4.1.1.1");
    for (words, id) in [("smallest", 1), ("two-octets", 128), ("largest", i32::MAX)] {
        section.clause(
            format_args!("message-id-{words}"),
            format_args!("A response to message {id} carries {id}."),
            move |it| {
                let mut session = it.session()?;
                answers_bind(&mut session, &message(id.into(), &anonymous()), id)
            },
        );
    }
    section.clause(
        "message-ids-may-be-used-again",
        "An id may be used again once its operation has ended.",
        |it| {
            let mut session = it.session()?;
            let bind = message(7, &anonymous());
            answers_bind(&mut session, &bind, 7)?;
            answers_bind(&mut session, &bind, 7)
        },
    );
}

/// Rows of clause, text and bytes of inputs that are no message: the session must end after them.
fn broken() -> [(&'static str, &'static str, Vec<u8>); 9] {
    [
        (
            "text-of-another-protocol",
            "bytes that are no BER",
            b"GET / HTTP/1.1\r\n".repeat(20),
        ),
        ("set-instead-of-sequence", "an envelope with another tag", {
            constructed(0x31, &[integer(1), anonymous()])
        }),
        (
            "message-id-is-no-integer",
            "a message id that is an OCTET STRING",
            { sequence(&[octets("1"), anonymous()]) },
        ),
        ("message-id-is-empty", "a message id without octets", {
            sequence(&[vec![2, 0], anonymous()])
        }),
        (
            "unknown-operation",
            "an operation with a tag nobody defined",
            { message(1, &tagged(0x5E, "")) },
        ),
        ("response-as-request", "a response sent by a client", {
            message(
                1,
                &constructed(0x61, &[enumerated(0), octets(""), octets("")]),
            )
        }),
        (
            "no-operation",
            "a message without an operation",
            sequence(&[integer(1)]),
        ),
        (
            "inner-length-too-long",
            "a field longer than its message",
            { vec![0x30, 0x0C, 2, 1, 1, 0x60, 0x70, 2, 1, 3, 4, 0, 0x80, 0] },
        ),
        (
            "negative-message-id",
            "a message id below zero",
            message(-5, &anonymous()),
        ),
    ]
}

fn broken_envelopes(book: &mut Book) {
    let mut section = book.section("rfc4511", "4.1.1");
    for (words, what, bytes) in broken() {
        let clause = section.clause(
            format_args!("ends-the-session-after-{words}"),
            format_args!("The server terminates the session after {what}."),
            move |it| {
                let mut session = it.session()?;
                session.send_raw(&bytes)?;
                ensure(
                    session.is_closed_by_server(),
                    "an end of the session",
                    "none",
                )
            },
        );
        if ["negative-message-id", "message-id-is-empty"].contains(&words) {
            clause.slapd("slapd answers it: it looks no closer at the id than it must");
        }
    }
    section.clause(
        "ends-one-session-only",
        "Ending one session leaves the others alone.",
        |it| {
            let mut good = it.session()?;
            let mut bad = it.session()?;
            bad.send_raw(&message(1, &tagged(0x5E, "")))?;
            ensure(bad.is_closed_by_server(), "an end of the session", "none")?;
            good.search("", Scope::BaseObject, EVERYTHING, &["1.1"])?
                .ok()?;
            Ok(())
        },
    );
}

fn notices(book: &mut Book) {
    let mut section = book.section("rfc4511", "4.4.1");
    for (words, what, bytes) in broken() {
        // A server may take an unreadable envelope for any kind of error.
        if ["text-of-another-protocol", "negative-message-id"].contains(&words) {
            continue;
        }
        let clause = section.clause(
            format_args!("notice-of-disconnection-after-{words}"),
            format_args!("A Notice of Disconnection with protocolError, id 0, follows {what}."),
            move |it| {
                let mut session = it.session()?;
                session.send_raw(&bytes)?;
                let (id, event) = session.receive()?;
                let Event::Done(outcome) = event else {
                    return Finding::wrong("an extended response", format_args!("{event:?}"));
                };
                equal(id, 0, "the message id")?;
                equal(
                    outcome.name.as_deref(),
                    Some(oid::NOTICE_OF_DISCONNECTION),
                    "its name",
                )?;
                outcome.is(ResultCode::PROTOCOL_ERROR).map(|_| ())
            },
        );
        if !["unknown-operation", "response-as-request"].contains(&words) {
            clause.slapd("slapd closes without the notice that §4.1.1 says it should send");
        }
    }
}

fn extensibility(book: &mut Book) {
    let mut section = book.section("rfc4511", "4");
    section.clause(
        "trailing-elements-are-ignored",
        "Elements of unknown tags at the end of a request's SEQUENCE are ignored.",
        |it| {
            let mut session = it.session()?;
            let parts = [
                integer(3),
                octets(""),
                tagged(0x80, ""),
                tagged(0x9E, "later"),
            ];
            let bind = constructed(0x60, &parts);
            answers_bind(&mut session, &message(1, &bind), 1)
        },
    );
    let mut section = book.section("rfc4511", "4.1.5");
    section.clause(
        "attribute-descriptions-know-no-case",
        "Attribute descriptions are compared without case, in filters and selections.",
        |it| {
            let ada = it.person("ada", &[("mail", "ada@example.com")])?;
            let scope = Scope::BaseObject;
            let entry = it
                .search(&ada, scope, "(OBJECTCLASS=*)", &["MaIl"])?
                .one()?;
            equal(entry.value("mail")?, "ada@example.com", "mail")
        },
    );
    section.clause(
        "types-may-be-given-by-oid",
        "An attribute type may be named by its OID, in filters and selections.",
        |it| {
            let ada = it.person("ada", &[])?;
            let scope = Scope::BaseObject;
            let entry = it
                .search(&ada, scope, "(2.5.4.4=ada)", &["2.5.4.3"])?
                .one()?;
            ensure(entry.attributes.len() == 1, "one attribute", &entry)
        },
    );
    let mut section = book.section("rfc4511", "4.1.8");
    section.clause(
        "referral-of-a-result-is-absent-otherwise",
        "The referral field is absent when the result is not referral.",
        |it| {
            let home = it.home()?;
            let found = it.search(&home, Scope::BaseObject, EVERYTHING, &["1.1"])?;
            ensure(
                found.outcome.referrals.is_empty(),
                "no referrals",
                &found.outcome.referrals,
            )
        },
    );
}

/// Returns the result of an operation on an entry that does not exist.
fn missing(it: &mut Case<'_>, operation: &str, name: &str) -> Result<Outcome, Finding> {
    let admin = it.admin()?;
    match operation {
        "search" => Ok(admin
            .search(name, Scope::BaseObject, EVERYTHING, &[])?
            .outcome),
        "modify" => admin.modify(name, &[Modification::replace("description", &["x"])], &[]),
        "delete" => admin.delete(name, &[]),
        "modify-dn" => admin.rename(name, "cn=y", true, None, &[]),
        "compare" => admin.compare(name, "cn", b"x", &[]),
        _ => {
            let classes = ["device"];
            let entry = Entry::of(name, &[("objectClass", &classes), ("cn", &["x"])]);
            admin.add(&entry, &[])
        }
    }
}

fn matched_names(book: &mut Book) {
    let mut section = book.section("rfc4511", "4.1.9");
    for operation in ["search", "modify", "add", "delete", "modify-dn", "compare"] {
        let clause = section.clause(
            format_args!("matched-name-of-{operation}"),
            format_args!("noSuchObject of a {operation} names the last entry that matched."),
            move |it| {
                let home = it.home()?;
                let name = format!("cn=x,ou=missing,{home}");
                let outcome = missing(it, operation, &name)?.is(ResultCode::NO_SUCH_OBJECT)?;
                equal_name(&outcome.matched, &home)
            },
        );
        if operation == "modify-dn" {
            clause.slapd("slapd 2.5 leaves matchedDN of modify DN empty");
        }
    }
    section.clause(
        "matched-name-is-empty-on-success",
        "matchedDN is empty when the operation succeeded.",
        |it| {
            let home = it.home()?;
            let found = it.search(&home, Scope::BaseObject, EVERYTHING, &["1.1"])?;
            equal(found.outcome.matched.as_str(), "", "matchedDN")
        },
    );
    section.clause(
        "no-such-object-outside-all-contexts",
        "A name outside every naming context is noSuchObject with nothing matched, or a referral.",
        |it| {
            let name = "cn=x,o=there is no such context";
            let outcome = it
                .admin()?
                .search(name, Scope::BaseObject, EVERYTHING, &[])?
                .outcome;
            let outcome = outcome.is_one_of(&[ResultCode::NO_SUCH_OBJECT, ResultCode::REFERRAL])?;
            equal(outcome.matched.as_str(), "", "matchedDN")
        },
    );
}

/// Sends one operation with a control, and returns whether it changed the entry.
fn with_control(
    it: &mut Case<'_>,
    operation: &str,
    control: OwnedControl,
) -> Result<(Outcome, bool), Finding> {
    let ada = it.person("ada", &[])?;
    let home = it.home()?;
    let grace = it.draft("uid=grace", &person("grace", &[]))?;
    let controls = [control];
    let admin = it.admin()?;
    let outcome = match operation {
        "search" => {
            admin
                .search_with(
                    &ada,
                    Scope::BaseObject,
                    EVERYTHING,
                    &["1.1"],
                    &controls,
                    |_| {},
                )?
                .outcome
        }
        "modify" => admin.modify(&ada, &[Modification::replace("title", &["x"])], &controls)?,
        "add" => admin.add(&grace, &controls)?,
        "delete" => admin.delete(&ada, &controls)?,
        "modify-dn" => admin.rename(&ada, "uid=countess", true, None, &controls)?,
        "compare" => admin.compare(&ada, "sn", b"ada", &controls)?,
        "bind" => {
            let mut session = it.session()?;
            let nothing = protocol::Authentication::Simple(b"");
            session.bind_with(3, "", nothing, &controls)?
        }
        _ => admin.extended(oid::WHO_AM_I, None, &controls)?,
    };
    let scope = Scope::SingleLevel;
    let below = it.search(&home, scope, EVERYTHING, &["title"])?.ok()?;
    let untouched = below.entries.len() == 1
        && rdn_value(&below.entries[0].name) == "ada"
        && !below.entries[0].has("title");
    Ok((outcome, !untouched))
}

const OPERATIONS: [&str; 8] = [
    "search",
    "modify",
    "add",
    "delete",
    "modify-dn",
    "compare",
    "bind",
    "extended",
];

fn unknown_controls(book: &mut Book) {
    let mut section = book.section("rfc4511", "4.1.11");
    for operation in OPERATIONS {
        let clause = section.clause(
            format_args!("unknown-control-is-ignored-by-{operation}"),
            format_args!("A control that is unknown and not critical is ignored by {operation}."),
            move |it| {
                let (outcome, changed) =
                    with_control(it, operation, control(UNKNOWN, false, vec![1]))?;
                outcome.is_one_of(&[ResultCode::SUCCESS, ResultCode::COMPARE_TRUE])?;
                let writes = ["modify", "add", "delete", "modify-dn"].contains(&operation);
                equal(changed, writes, "whether something changed")
            },
        );
        if operation == "extended" {
            clause.needs(Need::Extension(oid::WHO_AM_I));
        }
    }
    section.clause(
        "criticality-is-false-when-absent",
        "A control without the criticality field is not critical.",
        |it| {
            let mut session = it.session()?;
            let controls = constructed(0xA0, &[sequence(&[octets(UNKNOWN)])]);
            let bytes = sequence(&[integer(1), anonymous(), controls]);
            answers_bind(&mut session, &bytes, 1)
        },
    );
}

fn critical_controls(book: &mut Book) {
    let mut section = book.section("rfc4511", "4.1.11");
    for operation in OPERATIONS {
        let clause = section.clause(
            format_args!("unknown-critical-control-stops-{operation}"),
            format_args!(
                "{operation} with an unknown critical control is not done: \
                 unavailableCriticalExtension."
            ),
            move |it| {
                let (outcome, changed) = with_control(it, operation, bare(UNKNOWN, true))?;
                outcome.is(ResultCode::UNAVAILABLE_CRITICAL_EXTENSION)?;
                ensure(!changed, "nothing changed", changed)
            },
        );
        if operation == "extended" {
            clause.needs(Need::Extension(oid::WHO_AM_I));
        }
    }
    section.clause(
        "known-control-for-another-operation-is-not-critical",
        "A known control that is critical where it does not apply stops the operation.",
        |it| {
            let paged = sequence(&[integer(5), octets("")]);
            let (outcome, changed) =
                with_control(it, "delete", control(oid::PAGED_RESULTS, true, paged))?;
            outcome.is(ResultCode::UNAVAILABLE_CRITICAL_EXTENSION)?;
            ensure(!changed, "nothing changed", changed)
        },
    );
    section.clause(
        "criticality-of-unbind-is-ignored",
        "Unbind ends the session whatever controls come with it.",
        |it| {
            let mut session = it.session()?;
            session.send(&Request::Unbind, &[bare(UNKNOWN, true)])?;
            ensure(
                session.is_closed_by_server(),
                "an end of the session",
                "none",
            )
        },
    );
}

fn encoding(book: &mut Book) {
    let mut section = book.section("rfc4511", "5.1");
    section.clause(
        "indefinite-lengths-are-refused",
        "Only the definite form of lengths is used.",
        |it| {
            let mut session = it.session()?;
            let bind = [&[0x30, 0x80][..], &integer(1), &anonymous(), &[0, 0]].concat();
            session.send_raw(&bind)?;
            ensure(
                session.is_closed_by_server(),
                "an end of the session",
                "none",
            )
        },
    );
    for (words, head) in [
        ("two", &[0x82, 0, 0x0C][..]),
        ("four", &[0x84, 0, 0, 0, 0x0C][..]),
    ] {
        section.clause(
            format_args!("long-form-of-{words}-octets-for-a-short-length"),
            "The long form of a length may carry a short one (X.690 §8.1.3.5).",
            move |it| {
                let mut session = it.session()?;
                let content = [integer(1), anonymous()].concat();
                answers_bind(&mut session, &[&[0x30], head, &content].concat(), 1)
            },
        );
    }
    section
        .clause(
            "constructed-octet-strings-are-refused",
            "OCTET STRINGs are encoded in the primitive form only.",
            move |it| {
                let name = constructed(0x24, &[octets("")]);
                let bind = constructed(0x60, &[integer(3), name, tagged(0x80, "")]);
                refuses(&mut it.session()?, &message(1, &bind))
            },
        )
        .slapd("slapd reads the content of the constructed form as the value");
}

fn malformed_searches(book: &mut Book) {
    let mut section = book.section("rfc4511", "5.1");
    section.clause(
        "search-without-its-end-is-refused",
        "A search request that stops before its filter is a protocol error.",
        move |it| {
            let parts = [
                octets(""),
                enumerated(0),
                enumerated(0),
                integer(0),
                integer(0),
            ];
            refuses(&mut it.session()?, &message(1, &constructed(0x63, &parts)))
        },
    );
    for (words, scope, deref) in [("scope", 9, 0), ("deref-aliases", 0, 9)] {
        section.clause(
            format_args!("unknown-{words}-is-refused"),
            format_args!("A search with a {words} that nobody defined is a protocol error."),
            move |it| {
                let mut parts = vec![octets(""), enumerated(scope), enumerated(deref)];
                parts.extend([integer(0), integer(0), boolean(false)]);
                parts.extend([tagged(0x87, "objectClass"), sequence(&[])]);
                refuses(&mut it.session()?, &message(1, &constructed(0x63, &parts)))
            },
        );
    }
}

/// Checks that the request is a protocol error, or ends the session.
fn refuses(session: &mut Session, bytes: &[u8]) -> Examined {
    session.send_raw(bytes)?;
    match session.receive() {
        Ok((_, Event::Done(outcome))) => outcome.is(ResultCode::PROTOCOL_ERROR).map(|_| ()),
        Ok((_, event)) => Finding::wrong("a refusal", format_args!("{event:?}")),
        Err(_) => ensure(
            session.is_closed_by_server(),
            "an end of the session",
            "none",
        ),
    }
}

fn transfer(book: &mut Book) {
    let mut section = book.section("rfc4511", "5.2");
    section.clause(
        "messages-arrive-in-pieces",
        "A message may be cut into any pieces on its way.",
        |it| {
            let mut session = it.session()?;
            let bytes = message(1, &anonymous());
            let (last, first) = bytes.split_last().expect("it is not empty");
            for byte in first {
                session.send_raw(&[*byte])?;
            }
            answers_bind(&mut session, &[*last], 1)
        },
    );
    section.clause(
        "messages-arrive-together",
        "Several messages may arrive at once; each is answered.",
        |it| {
            let mut session = it.session()?;
            let who = |id| {
                let mut parts = vec![octets(""), enumerated(0), enumerated(0)];
                parts.extend([integer(0), integer(0), boolean(false)]);
                parts.extend([tagged(0x87, "objectClass"), sequence(&[octets("1.1")])]);
                message(id, &constructed(0x63, &parts))
            };
            session.send_raw(&[who(1), who(2), who(3)].concat())?;
            let mut ended = Vec::new();
            while ended.len() < 3 {
                if let (id, Event::Done(outcome)) = session.receive()? {
                    outcome.ok()?;
                    ended.push(id);
                }
            }
            ended.sort_unstable();
            equal(ended, vec![1, 2, 3], "ids")
        },
    );
}
