//! Extended operations: RFC 3062, 3909, 4532, 5805 and 2589; also RFC 3829 and 4522.

use protocol::ber::{self, Reader};

use crate::prelude::*;

pub(crate) fn clauses(book: &mut Book) {
    passwords(book);
    password_refusals(book);
    generated_passwords(book);
    cancel(book);
    cancel_of_a_search(book);
    who_am_i(book);
    transactions(book);
    transaction_mistakes(book);
    dynamic(book);
    authorization_identity(book);
}

/// Encodes a password modify request with the given fields.
fn change(identity: Option<&str>, old: Option<&str>, new: Option<&str>) -> Vec<u8> {
    let parts = [(0x80, identity), (0x81, old), (0x82, new)];
    let parts = parts
        .into_iter()
        .filter_map(|(tag, it)| Some(tagged(tag, it?)));
    sequence(&parts.collect::<Vec<_>>())
}

fn ada(it: &mut Case<'_>) -> Result<String, Finding> {
    it.person("ada", &[("userPassword", "ada")])
}

fn passwords(book: &mut Book) {
    let needs = [Need::Extension(oid::PASSWORD_MODIFY)];
    let mut section = book.section_needing("rfc3062", "2", &needs);
    section.clause(
        "own-password-with-the-old-one",
        "Who knows the old password may set a new one, which then binds.",
        |it| {
            let ada = ada(it)?;
            let mut session = it.bound(&ada, "ada")?;
            let value = change(None, Some("ada"), Some("new"));
            session
                .extended(oid::PASSWORD_MODIFY, Some(&value), &[])?
                .ok()?;
            it.bound(&ada, "new").map(|_| ())
        },
    );
    section.clause(
        "old-password-binds-no-more",
        "After the change the old password does not bind.",
        |it| {
            let ada = ada(it)?;
            let value = change(Some(&ada), None, Some("new"));
            it.extended(oid::PASSWORD_MODIFY, Some(&value))?.ok()?;
            let outcome = it.session()?.bind(&ada, "ada")?;
            outcome.is(ResultCode::INVALID_CREDENTIALS).map(|_| ())
        },
    );
    section.clause(
        "wrong-old-password-is-refused",
        "A wrong old password is refused, and nothing changes.",
        |it| {
            let ada = ada(it)?;
            let mut session = it.bound(&ada, "ada")?;
            let value = change(None, Some("x"), Some("new"));
            session
                .extended(oid::PASSWORD_MODIFY, Some(&value), &[])?
                .refused()?;
            it.bound(&ada, "ada").map(|_| ())
        },
    );
    section.clause(
        "anonymous-without-identity-is-refused",
        "An anonymous session without an identity is refused.",
        |it| {
            let value = change(None, None, Some("new"));
            let outcome = it
                .session()?
                .extended(oid::PASSWORD_MODIFY, Some(&value), &[])?;
            outcome.refused().map(|_| ())
        },
    );
}

fn password_refusals(book: &mut Book) {
    let needs = [Need::Extension(oid::PASSWORD_MODIFY)];
    let mut section = book.section_needing("rfc3062", "2", &needs);
    section.clause(
        "others-need-the-right",
        "The password of another needs the right to change it.",
        |it| {
            let ada = ada(it)?;
            let grace = it.person("grace", &[("userPassword", "grace")])?;
            let mut session = it.bound(&ada, "ada")?;
            let value = change(Some(&grace), None, Some("new"));
            session
                .extended(oid::PASSWORD_MODIFY, Some(&value), &[])?
                .refused()?;
            it.bound(&grace, "grace").map(|_| ())
        },
    );
    section.clause(
        "junk-is-a-protocol-error",
        "A value that is no request is protocolError.",
        |it| {
            let outcome = it.extended(oid::PASSWORD_MODIFY, Some(&[2, 1, 1]))?;
            outcome.is(ResultCode::PROTOCOL_ERROR).map(|_| ())
        },
    );
}

fn generated_passwords(book: &mut Book) {
    let needs = [Need::Extension(oid::PASSWORD_MODIFY)];
    let mut section = book.section_needing("rfc3062", "2.2", &needs);
    section.clause(
        "missing-new-password-is-generated",
        "Without a new password the server makes one and returns it; it binds.",
        |it| {
            let ada = ada(it)?;
            let value = change(Some(&ada), None, None);
            let outcome = it.extended(oid::PASSWORD_MODIFY, Some(&value))?.ok()?;
            let value = outcome.value.unwrap_or_default();
            let generated = Reader::new(&value)
                .nested(ber::SEQUENCE)
                .and_then(|mut it| Ok(it.text(0x80)?.to_owned()));
            match generated {
                Ok(password) => it.bound(&ada, &password).map(|_| ()),
                Err(error) => Finding::wrong("a generated password", error),
            }
        },
    );
    section.clause(
        "given-password-is-not-returned",
        "With a new password the response has no value.",
        |it| {
            let ada = ada(it)?;
            let value = change(Some(&ada), None, Some("new"));
            let outcome = it.extended(oid::PASSWORD_MODIFY, Some(&value))?.ok()?;
            ensure(outcome.value.is_none(), "no value", "a value")
        },
    );
}

fn cancel(book: &mut Book) {
    let mut section = book.section_needing("rfc3909", "2", &[Need::Extension(oid::CANCEL)]);
    section.clause(
        "no-such-operation",
        "Cancel of an id that is not outstanding is noSuchOperation.",
        |it| {
            let outcome = it.extended(oid::CANCEL, Some(&sequence(&[integer(4711)])))?;
            outcome.is(ResultCode::NO_SUCH_OPERATION).map(|_| ())
        },
    );
    section.clause(
        "junk-is-a-protocol-error",
        "A value that is no id is protocolError.",
        |it| {
            let outcome = it.extended(oid::CANCEL, Some(&[4, 1, 1]))?;
            outcome.is(ResultCode::PROTOCOL_ERROR).map(|_| ())
        },
    );
    section.clause(
        "missing-value-is-a-protocol-error",
        "Cancel without a value is protocolError.",
        |it| {
            it.extended(oid::CANCEL, None)?
                .is(ResultCode::PROTOCOL_ERROR)
                .map(|_| ())
        },
    );
}

fn cancel_of_a_search(book: &mut Book) {
    let mut section = book.section_needing("rfc3909", "2", &[Need::Extension(oid::CANCEL)]);
    section.clause(
        "canceled-search-ends-with-canceled",
        "A canceled search ends with canceled; one that had ended is whole.",
        |it| {
            let long = "x".repeat(60_000);
            for number in 0..60 {
                it.person(&format!("p{number}"), &[("description", &long)])?;
            }
            let home = it.home()?;
            let admin = it.admin()?;
            let scope = Scope::WholeSubtree;
            let search = admin.send_search(&home, scope, EVERYTHING, &["*"], &[], |_| {})?;
            let value = sequence(&[integer(search.into())]);
            let request = protocol::ExtendedRequest {
                name: oid::CANCEL,
                value: Some(&value),
            };
            let cancel = admin.send(&Request::Extended(request), &[])?;
            let (mut of_search, mut of_cancel) = (None, None);
            while of_search.is_none() || of_cancel.is_none() {
                if let (id, Event::Done(outcome)) = admin.receive()? {
                    let place = if id == cancel {
                        &mut of_cancel
                    } else {
                        &mut of_search
                    };
                    *place = Some(outcome.code);
                }
            }
            let late = [
                Some(ResultCode::TOO_LATE),
                Some(ResultCode::NO_SUCH_OPERATION),
                Some(ResultCode::CANNOT_CANCEL),
            ];
            let canceled =
                (of_search, of_cancel) == (Some(ResultCode::CANCELED), Some(ResultCode::SUCCESS));
            let whole = of_search == Some(ResultCode::SUCCESS) && late.contains(&of_cancel);
            ensure(
                canceled || whole,
                "canceled and success",
                (of_search, of_cancel),
            )
        },
    );
}

fn who_am_i(book: &mut Book) {
    let mut section = book.section_needing("rfc4532", "2.2", &[Need::Extension(oid::WHO_AM_I)]);
    section.clause(
        "anonymous-is-empty",
        "An anonymous session gets an empty identity.",
        |it| equal(it.session()?.who_am_i()?.as_str(), "", "the identity"),
    );
    section.clause(
        "name-is-a-dn-identity",
        "A session bound with a name gets dn: and the name.",
        |it| {
            let ada = ada(it)?;
            let mut session = it.bound(&ada, "ada")?;
            equal_name(&session.who_am_i()?, &format!("dn:{ada}"))
        },
    );
    section.clause(
        "response-has-no-name",
        "The response carries no responseName.",
        |it| {
            let outcome = it.session()?.extended(oid::WHO_AM_I, None, &[])?.ok()?;
            equal(outcome.name, None, "responseName")
        },
    );
}

const TRANSACTIONS: [Need; 1] = [Need::Extension(oid::START_TRANSACTION)];

fn begin(it: &mut Case<'_>) -> Result<OwnedControl, Finding> {
    let outcome = it.extended(oid::START_TRANSACTION, None)?.ok()?;
    let identifier = outcome.value.unwrap_or_default();
    Ok(control(oid::TRANSACTION_SPECIFICATION, true, identifier))
}

fn end(it: &mut Case<'_>, transaction: &OwnedControl, commit: bool) -> Result<Outcome, Finding> {
    let identifier = octets(transaction.value.clone().unwrap_or_default());
    let parts = match commit {
        true => vec![identifier],
        false => vec![boolean(false), identifier],
    };
    it.extended(oid::END_TRANSACTION, Some(&sequence(&parts)))
}

fn transactions(book: &mut Book) {
    let mut section = book.section_needing("rfc5805", "3", &TRANSACTIONS);
    section.clause(
        "committed-updates-are-made",
        "Updates of a transaction are made when it is committed.",
        |it| {
            let ada = it.person("ada", &[])?;
            let grace = it.draft("uid=grace", &person("grace", &[]))?;
            let transaction = begin(it)?;
            let controls = [transaction.clone()];
            let title = [Modification::add("title", &["x"])];
            it.admin()?.modify(&ada, &title, &controls)?.ok()?;
            it.admin()?.add(&grace, &controls)?.ok()?;
            end(it, &transaction, true)?.ok()?;
            it.finds("(title=x)", "ada")?;
            it.exists(&grace.name)
        },
    );
    section.clause(
        "updates-are-unseen-before",
        "Before the end, nobody sees the updates.",
        |it| {
            let ada = it.person("ada", &[])?;
            let transaction = begin(it)?;
            let title = [Modification::add("title", &["x"])];
            it.admin()?
                .modify(&ada, &title, std::slice::from_ref(&transaction))?
                .ok()?;
            let found = it
                .site
                .admin(std::time::Instant::now() + std::time::Duration::from_secs(20))?
                .search(&ada, Scope::BaseObject, "(title=x)", &[])?;
            found.ok()?.count(0)?;
            end(it, &transaction, false)?.ok().map(|_| ())
        },
    );
    section.clause(
        "aborted-updates-are-not-made",
        "A transaction ended without commit leaves nothing.",
        |it| {
            let ada = it.person("ada", &[])?;
            let transaction = begin(it)?;
            it.admin()?
                .delete(&ada, std::slice::from_ref(&transaction))?
                .ok()?;
            end(it, &transaction, false)?.ok()?;
            it.exists(&ada)
        },
    );
    section.clause(
        "one-refusal-undoes-all",
        "When one update is refused, none is made.",
        |it| {
            let ada = it.person("ada", &[])?;
            let transaction = begin(it)?;
            let controls = [transaction.clone()];
            let title = [Modification::add("title", &["x"])];
            it.admin()?.modify(&ada, &title, &controls)?.ok()?;
            let wrong = [Modification::delete("pager", &[])];
            it.admin()?.modify(&ada, &wrong, &controls)?;
            end(it, &transaction, true)?.refused()?;
            it.finds("(title=x)", "")
        },
    );
}

fn transaction_mistakes(book: &mut Book) {
    let mut section = book.section_needing("rfc5805", "3", &TRANSACTIONS);
    section.clause(
        "unknown-identifier-is-refused",
        "An update of a transaction that does not exist is refused.",
        |it| {
            let ada = it.person("ada", &[])?;
            let controls = [control(
                oid::TRANSACTION_SPECIFICATION,
                true,
                b"no such one".to_vec(),
            )];
            it.admin()?.delete(&ada, &controls)?.refused()?;
            it.exists(&ada)
        },
    );
    section.clause(
        "end-of-an-unknown-transaction-is-refused",
        "The end of a transaction that does not exist is refused.",
        |it| {
            let transaction = control(oid::TRANSACTION_SPECIFICATION, true, b"nobody".to_vec());
            end(it, &transaction, true)?.refused().map(|_| ())
        },
    );
    section.clause(
        "transaction-ends-once",
        "A transaction that has ended cannot end again.",
        |it| {
            let ada = it.person("ada", &[])?;
            let transaction = begin(it)?;
            let title = [Modification::add("title", &["x"])];
            it.admin()?
                .modify(&ada, &title, std::slice::from_ref(&transaction))?
                .ok()?;
            end(it, &transaction, true)?.ok()?;
            end(it, &transaction, true)?.refused().map(|_| ())
        },
    );
    section.clause(
        "start-has-no-value",
        "A start with a value is protocolError.",
        |it| {
            let outcome = it.extended(oid::START_TRANSACTION, Some(b"x"))?;
            outcome.is(ResultCode::PROTOCOL_ERROR).map(|_| ())
        },
    );
}

fn dynamic(book: &mut Book) {
    let needs = [Need::Extension("1.3.6.1.4.1.1466.101.119.1")];
    let mut section = book.section_needing("rfc2589", "4", &needs);
    const REFRESH: &str = "1.3.6.1.4.1.1466.101.119.1";
    let refresh = |name: &str, seconds: i64| {
        let mut ttl = Vec::new();
        ber::put_integer(&mut ttl, 0x81, seconds);
        sequence(&[tagged(0x80, name), ttl])
    };
    section.clause(
        "refresh-answers-a-time-to-live",
        "A refresh of a dynamic entry answers the time it will live.",
        move |it| {
            let classes = [("objectClass", "device"), ("objectClass", "dynamicObject")];
            let name = it.put("cn=meeting", &classes)?;
            let outcome = it.extended(REFRESH, Some(&refresh(&name, 3600)))?.ok()?;
            ensure(outcome.value.is_some(), "a responseTtl", outcome.value)
        },
    );
    section.clause(
        "refresh-of-a-static-entry-is-refused",
        "A refresh of an entry that is not dynamic is refused.",
        move |it| {
            let ada = it.person("ada", &[])?;
            it.extended(REFRESH, Some(&refresh(&ada, 3600)))?
                .refused()
                .map(|_| ())
        },
    );
    section.clause(
        "entry-ttl-is-there",
        "A dynamic entry has an entryTtl.",
        |it| {
            let classes = [("objectClass", "device"), ("objectClass", "dynamicObject")];
            let name = it.put("cn=meeting", &classes)?;
            let entry = it.get(&name, &["entryTtl"])?;
            entry.value("entryTtl").map(|_| ())
        },
    );
}

fn authorization_identity(book: &mut Book) {
    let needs = [Need::Control(oid::AUTHORIZATION_IDENTITY_REQUEST)];
    let mut section = book.section_needing("rfc3829", "3", &needs);
    section.clause(
        "bind-answers-the-identity",
        "A bind with the control answers dn: and the name.",
        |it| {
            let ada = ada(it)?;
            let controls = [bare(oid::AUTHORIZATION_IDENTITY_REQUEST, true)];
            let password = protocol::Authentication::Simple(b"ada");
            let outcome = it
                .session()?
                .bind_with(3, &ada, password, &controls)?
                .ok()?;
            let value = outcome.control_value(oid::AUTHORIZATION_IDENTITY_RESPONSE)?;
            equal_name(&String::from_utf8_lossy(value), &format!("dn:{ada}"))
        },
    );
    section.clause(
        "refused-bind-answers-none",
        "A bind that is refused carries no identity.",
        |it| {
            let ada = ada(it)?;
            let controls = [bare(oid::AUTHORIZATION_IDENTITY_REQUEST, true)];
            let password = protocol::Authentication::Simple(b"x");
            let outcome = it.session()?.bind_with(3, &ada, password, &controls)?;
            let outcome = outcome.is(ResultCode::INVALID_CREDENTIALS)?;
            let none = !outcome.has_control(oid::AUTHORIZATION_IDENTITY_RESPONSE);
            ensure(none, "no response control", "one")
        },
    );
}
