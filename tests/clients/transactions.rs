//! Transactions (RFC 5805) over the wire: message by message, with and without waiting.

use std::collections::BTreeMap;

use kit::client::{Entry, Event, Modification, Outcome};
use kit::{Client, Pando, people};
use protocol::control::{ReadEntryRequest, ReadEntryResponse};
use protocol::extended::{EndTransactionRequest, EndTransactionResponse};
use protocol::{
    AddRequest, ExtendedRequest, MessageId, OwnedAttribute, OwnedControl, Request, ResultCode, oid,
    write_request,
};

mod competing;
mod refusals;

/// Feature by which a client may choose identifiers.
const CHOSEN_IDENTIFIERS: &str = "2.25.264386329193173027935752912657775087103.5.1";

fn served() -> (Pando, Client) {
    let pando = Pando::start();
    let mut admin = pando.admin();
    admin
        .add(&Entry::of(
            "ou=People,dc=example,dc=com",
            &[("objectClass", &["organizationalUnit"])],
        ))
        .expect_success();
    (pando, admin)
}

pub(super) fn start(client: &mut Client) -> Vec<u8> {
    let outcome = client.extended(oid::START_TRANSACTION, None);
    let outcome = outcome.expect_success();
    outcome.value.expect("an identifier")
}

pub(super) fn end(client: &mut Client, identifier: &[u8], commit: bool) -> Outcome {
    client.extended(oid::END_TRANSACTION, Some(&end_value(identifier, commit)))
}

fn end_value(identifier: &[u8], commit: bool) -> Vec<u8> {
    let mut value = Vec::new();
    EndTransactionRequest { commit, identifier }.encode(&mut value);
    value
}

pub(super) fn part_of(identifier: &[u8]) -> OwnedControl {
    OwnedControl {
        oid: oid::TRANSACTION_SPECIFICATION.into(),
        critical: true,
        value: Some(identifier.to_vec()),
    }
}

fn failed(outcome: &Outcome) -> Option<MessageId> {
    let value = outcome.value.as_deref()?;
    EndTransactionResponse::decode(value)
        .expect("the value decodes")
        .message_id
}

fn is_there(client: &mut Client, name: &str) -> bool {
    client.read(name).is_some()
}

fn person(uid: &str) -> Entry {
    people::person(uid)
}

fn name(uid: &str) -> String {
    person(uid).name
}

/// Receives messages up to the answer of `last`: results by message id, and the notices.
fn answers(client: &mut Client, last: MessageId) -> (BTreeMap<MessageId, Outcome>, Vec<Outcome>) {
    let (mut results, mut notices) = (BTreeMap::new(), Vec::new());
    while !results.contains_key(&last) {
        match client.receive() {
            (0, Event::Done(notice)) => notices.push(notice),
            (id, Event::Done(outcome)) => {
                results.insert(id, outcome);
            }
            (_, Event::Entry(..) | Event::Reference(_) | Event::Intermediate(..)) => {}
        }
    }
    (results, notices)
}

#[test]
fn updates_are_applied_together_and_not_before() {
    let (pando, mut admin) = served();
    let mut other = pando.admin();
    let transaction = start(&mut admin);
    let control = [part_of(&transaction)];
    admin.add_with(&person("a"), &control).expect_success();
    admin.add_with(&person("b"), &control).expect_success();
    let change = [Modification::replace("sn", &["Changed"])];
    admin
        .modify_with(&name("a"), &change, &control)
        .expect_success();
    // Only committed updates are visible, also to the client itself.
    assert!(!is_there(&mut admin, &name("a")));
    assert!(!is_there(&mut other, &name("b")));
    let outcome = end(&mut admin, &transaction, true).expect_success();
    assert_eq!(outcome.value, None, "nothing to say beside success");
    let a = other.read(&name("a")).expect("it is committed");
    assert_eq!(a.text("sn"), "Changed");
    assert!(is_there(&mut other, &name("b")));
    // The identifier is no longer valid.
    end(&mut admin, &transaction, true).expect(ResultCode::UNWILLING_TO_PERFORM);
    admin
        .add_with(&person("c"), &control)
        .expect(ResultCode::UNWILLING_TO_PERFORM);
}

#[test]
fn one_refusal_takes_back_all_and_is_named() {
    let (_pando, mut admin) = served();
    admin.add(&person("taken")).expect_success();
    let transaction = start(&mut admin);
    let control = [part_of(&transaction)];
    admin.add_with(&person("a"), &control).expect_success();
    let entry = person("taken");
    let id = admin
        .try_send_add(&entry, &control)
        .expect("the server takes it");
    admin
        .try_finish(id)
        .expect("an answer")
        .outcome
        .expect_success();
    admin.add_with(&person("b"), &control).expect_success();
    let outcome = end(&mut admin, &transaction, true);
    let outcome = outcome.expect(ResultCode::ENTRY_ALREADY_EXISTS);
    assert_eq!(failed(&outcome), Some(id));
    assert!(!is_there(&mut admin, &name("a")));
    assert!(!is_there(&mut admin, &name("b")));
}

#[test]
fn transactions_side_by_side_do_not_touch_each_other() {
    let (_pando, mut admin) = served();
    let all: Vec<Vec<u8>> = (0..20).map(|_| start(&mut admin)).collect();
    for round in 0..3 {
        for (number, transaction) in all.iter().enumerate() {
            // Every third transaction adds a name twice, which fails.
            let number = number.to_string();
            let uid = match round {
                2 if number.ends_with('3') => format!("t{number}r0"),
                _ => format!("t{number}r{round}"),
            };
            admin
                .add_with(&person(&uid), &[part_of(transaction)])
                .expect_success();
        }
    }
    // All end requests are in one segment, so that they are likely to share a commit.
    let mut last = 0;
    for (number, transaction) in all.iter().enumerate() {
        let value = end_value(transaction, number != 7);
        let request = ExtendedRequest {
            name: oid::END_TRANSACTION,
            value: Some(&value),
        };
        last = admin.send(&Request::Extended(request), &[]);
    }
    let (results, notices) = answers(&mut admin, last);
    assert!(notices.is_empty());
    let refused = results
        .values()
        .filter(|it| it.code == ResultCode::ENTRY_ALREADY_EXISTS);
    assert_eq!(refused.count(), 2, "{results:?}");
    for number in 0..20 {
        let applied = ![3, 7, 13].contains(&number);
        for round in 0..2 {
            let name = name(&format!("t{number}r{round}"));
            assert_eq!(is_there(&mut admin, &name), applied, "{name}");
        }
    }
}

#[test]
fn abort_bind_and_close_forget_a_transaction() {
    let (pando, mut admin) = served();
    let transaction = start(&mut admin);
    let control = [part_of(&transaction)];
    admin.add_with(&person("a"), &control).expect_success();
    end(&mut admin, &transaction, false).expect_success();
    assert!(!is_there(&mut admin, &name("a")));

    let transaction = start(&mut admin);
    let control = [part_of(&transaction)];
    admin.add_with(&person("a"), &control).expect_success();
    admin.bind(kit::ADMIN, kit::PASSWORD).expect_success();
    end(&mut admin, &transaction, true).expect(ResultCode::UNWILLING_TO_PERFORM);
    assert!(!is_there(&mut admin, &name("a")));

    let transaction = start(&mut admin);
    let control = [part_of(&transaction)];
    admin.add_with(&person("a"), &control).expect_success();
    drop(admin);
    let mut other = pando.admin();
    end(&mut other, &transaction, true).expect(ResultCode::UNWILLING_TO_PERFORM);
    assert!(!is_there(&mut other, &name("a")));
}

#[test]
fn an_update_that_waits_cannot_be_cancelled() {
    let (_pando, mut admin) = served();
    let transaction = start(&mut admin);
    let id = admin
        .try_send_add(&person("a"), &[part_of(&transaction)])
        .expect("the server takes it");
    let added = admin.try_finish(id).expect("an answer");
    added.outcome.expect_success();
    admin.send(&Request::Abandon(id), &[]);
    let mut value = Vec::new();
    protocol::extended::CancelRequest { cancel_id: id }.encode(&mut value);
    admin
        .extended(oid::CANCEL, Some(&value))
        .expect(ResultCode::CANNOT_CANCEL);
    end(&mut admin, &transaction, true).expect_success();
    assert!(is_there(&mut admin, &name("a")));
}

#[test]
fn read_entry_controls_answer_with_the_end() {
    let (_pando, mut admin) = served();
    admin.add(&person("a")).expect_success();
    let transaction = start(&mut admin);
    let select = |oid: &'static str| {
        OwnedControl::with_value(oid, true, |out| {
            let attributes = vec!["sn"];
            ReadEntryRequest { attributes }.encode(out);
        })
    };
    let controls = [part_of(&transaction), select(oid::POST_READ)];
    let ids = ["One", "Two"].map(|sn| {
        let change = [Modification::replace("sn", &[sn])];
        let id = admin
            .try_send_modify(&name("a"), &change, &controls)
            .expect("the server takes it");
        let outcome = admin.try_finish(id).expect("an answer").outcome;
        assert_eq!(outcome.expect_success().controls, []);
        id
    });
    admin
        .add_with(&person("b"), &controls[..1])
        .expect_success();
    let outcome = end(&mut admin, &transaction, true).expect_success();
    let value = outcome.value.expect("controls");
    let response = EndTransactionResponse::decode(&value).expect("the value decodes");
    assert_eq!(response.message_id, None);
    let seen: Vec<(MessageId, Vec<u8>)> = response
        .updates_controls
        .iter()
        .map(|update| {
            let control = &update.controls[0];
            assert_eq!(control.oid, oid::POST_READ);
            let entry = ReadEntryResponse::decode(control.value.expect("an entry"));
            let entry = entry.expect("the entry decodes");
            let values = entry.attributes[0].values.into_iter();
            (update.message_id, values.flatten().copied().collect())
        })
        .collect();
    assert_eq!(seen, [(ids[0], b"One".to_vec()), (ids[1], b"Two".to_vec())]);
}

#[test]
fn passwords_in_a_transaction_are_hashed_and_kept_in_order() {
    let (pando, mut admin) = served();
    let transaction = start(&mut admin);
    let control = [part_of(&transaction)];
    let mut entry = person("p");
    entry.attributes.retain(|(name, _)| name != "userPassword");
    entry.push("userPassword", b"first".to_vec());
    admin.add_with(&entry, &control).expect_success();
    let change = [Modification::replace("userPassword", &["second"])];
    admin
        .modify_with(&name("p"), &change, &control)
        .expect_success();
    end(&mut admin, &transaction, true).expect_success();
    let stored = admin.read(&name("p")).expect("it is there");
    assert!(
        stored
            .text("userPassword")
            .starts_with("{ARGON2ID}$argon2id$")
    );
    let mut own = pando.client();
    own.bind(&name("p"), "second").expect_success();
    // Password Modify is an update too, and its answer has the generated password.
    let transaction = start(&mut admin);
    let mut value = Vec::new();
    protocol::extended::PasswordModifyRequest {
        user_identity: Some(&name("p")),
        old_password: Some(b"second"),
        new_password: Some(b"third"),
    }
    .encode(&mut value);
    let request = Request::Extended(ExtendedRequest {
        name: oid::PASSWORD_MODIFY,
        value: Some(&value),
    });
    // The client does not wait: the end comes while the old password is verified.
    admin.send(&request, &[part_of(&transaction)]);
    let ending = end_value(&transaction, true);
    let ending = ExtendedRequest {
        name: oid::END_TRANSACTION,
        value: Some(&ending),
    };
    let last = admin.send(&Request::Extended(ending), &[]);
    let (results, notices) = answers(&mut admin, last);
    assert!(notices.is_empty());
    for outcome in results.into_values() {
        outcome.expect_success();
    }
    // The connection that was bound with the former password ends.
    let mut own = pando.client();
    own.bind(&name("p"), "second")
        .expect(ResultCode::INVALID_CREDENTIALS);
    own.bind(&name("p"), "third").expect_success();
}

#[test]
fn identifiers_of_the_client_need_no_round_trip() {
    let (_pando, mut admin) = served();
    let root = admin.read("").expect("the root DSE");
    assert!(
        root.texts("supportedFeatures")
            .contains(&CHOSEN_IDENTIFIERS.to_owned())
    );
    let attributes = [
        encoded("objectClass", "person"),
        encoded("sn", "S"),
        encoded("cn", "c"),
    ];
    // Two transactions are in one segment; the first update of the second is refused.
    let mut bytes = Vec::new();
    let mut id = 1_000;
    let mut put = |request: &Request<'_>, controls: &[OwnedControl]| {
        id += 1;
        write_request(&mut bytes, id, request, controls);
        id
    };
    let started = Request::Extended(ExtendedRequest {
        name: oid::START_TRANSACTION,
        value: Some(b"\0one"),
    });
    put(&started, &[]);
    for entry in [
        "cn=a,ou=People,dc=example,dc=com",
        "cn=b,ou=People,dc=example,dc=com",
    ] {
        put(&add(entry, &attributes), &[part_of(b"\0one")]);
    }
    let (first_end, second_end) = (end_value(b"\0one", true), end_value(b"\0two", true));
    let ending = |value| {
        Request::Extended(ExtendedRequest {
            name: oid::END_TRANSACTION,
            value: Some(value),
        })
    };
    let committed = put(&ending(&first_end), &[]);
    let wrong = put(&add("nothing", &attributes), &[part_of(b"\0two")]);
    let after = put(
        &add("cn=c,ou=People,dc=example,dc=com", &attributes),
        &[part_of(b"\0two")],
    );
    let doomed = put(&ending(&second_end), &[]);
    let again = put(&ending(&second_end), &[]);
    admin.send_raw(&bytes).expect("the server takes it");
    let (mut results, _) = answers(&mut admin, again);
    while !results.contains_key(&committed) {
        results.extend(answers(&mut admin, committed).0);
    }
    for (id, outcome) in results {
        let expected = match id {
            _ if [wrong, after, doomed].contains(&id) => ResultCode::INVALID_DN_SYNTAX,
            _ if id == again => ResultCode::UNWILLING_TO_PERFORM,
            _ => ResultCode::SUCCESS,
        };
        outcome.expect(expected);
    }
    assert!(is_there(&mut admin, "cn=a,ou=People,dc=example,dc=com"));
    assert!(is_there(&mut admin, "cn=b,ou=People,dc=example,dc=com"));
    assert!(!is_there(&mut admin, "cn=c,ou=People,dc=example,dc=com"));
}

fn encoded(name: &str, value: &str) -> OwnedAttribute {
    OwnedAttribute::new(name, [value])
}

fn add<'a>(entry: &'a str, attributes: &'a [OwnedAttribute]) -> Request<'a> {
    let attributes = attributes.iter().map(OwnedAttribute::as_partial).collect();
    Request::Add(AddRequest { entry, attributes })
}

#[test]
fn what_was_committed_survives_and_what_was_open_does_not() {
    let (mut pando, mut admin) = served();
    let (committed, open) = (start(&mut admin), start(&mut admin));
    for (uid, transaction) in [("a", &committed), ("b", &committed), ("c", &open)] {
        admin
            .add_with(&person(uid), &[part_of(transaction)])
            .expect_success();
    }
    end(&mut admin, &committed, true).expect_success();
    pando.kill();
    pando.assert_clean();
    pando.serve();
    let mut admin = pando.admin();
    for (uid, there) in [("a", true), ("b", true), ("c", false)] {
        assert_eq!(is_there(&mut admin, &name(uid)), there, "{uid}");
    }
}
