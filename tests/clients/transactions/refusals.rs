//! Refused updates in a transaction, and the effect of a refusal on the rest of it.

use super::*;
use kit::SUFFIX;
use protocol::{Change, ChangeOperation, DeleteRequest, ModifyRequest, Scope};

#[test]
fn a_refused_update_aborts_its_transaction_with_a_notice() {
    let (_pando, mut admin) = served();
    let (lost, kept) = (start(&mut admin), start(&mut admin));
    admin
        .add_with(&person("a"), &[part_of(&lost)])
        .expect_success();
    admin
        .add_with(&person("b"), &[part_of(&kept)])
        .expect_success();
    let wrong = Entry::of("no name", &[("objectClass", &["person"])]);
    admin
        .add_with(&wrong, &[part_of(&lost)])
        .expect(ResultCode::INVALID_DN_SYNTAX);
    let (id, event) = admin.receive();
    let Event::Done(notice) = event else {
        panic!("expected a notice, got {event:?}");
    };
    assert_eq!(id, 0);
    assert_eq!(notice.name.as_deref(), Some(oid::ABORTED_TRANSACTION));
    assert_eq!(notice.value.as_deref(), Some(lost.as_slice()));
    assert_eq!(notice.code, ResultCode::INVALID_DN_SYNTAX);
    end(&mut admin, &lost, true).expect(ResultCode::UNWILLING_TO_PERFORM);
    end(&mut admin, &kept, true).expect_success();
    assert!(!is_there(&mut admin, &name("a")));
    assert!(is_there(&mut admin, &name("b")));
}

#[test]
fn a_malformed_update_aborts_what_it_names() {
    let (_pando, mut admin) = served();
    let transaction = start(&mut admin);
    admin
        .add_with(&person("a"), &[part_of(&transaction)])
        .expect_success();
    // The transaction has a modify request with an unknown operation.
    let mut bytes = Vec::new();
    let attribute = encoded("sn", "x");
    let change = Change {
        operation: ChangeOperation::Replace,
        attribute: attribute.as_partial(),
    };
    let modify = Request::Modify(ModifyRequest {
        object: "cn=x",
        changes: vec![change],
    });
    write_request(&mut bytes, 99, &modify, &[part_of(&transaction)]);
    let at = bytes.windows(3).position(|it| it == [0x0a, 1, 2]);
    bytes[at.expect("replace") + 2] = 9;
    admin.send_raw(&bytes).expect("the server takes it");
    let (results, _) = answers(&mut admin, 99);
    assert_eq!(results[&99].code, ResultCode::PROTOCOL_ERROR);
    let (id, Event::Done(notice)) = admin.receive() else {
        panic!("expected a notice");
    };
    assert_eq!(
        (id, notice.value.as_deref()),
        (0, Some(transaction.as_slice()))
    );
    end(&mut admin, &transaction, true).expect(ResultCode::UNWILLING_TO_PERFORM);
    assert!(!is_there(&mut admin, &name("a")));
}

#[test]
fn the_control_must_be_critical_and_of_an_update() {
    let (_pando, mut admin) = served();
    let transaction = start(&mut admin);
    let mut control = part_of(&transaction);
    control.critical = false;
    admin
        .add_with(&person("a"), &[control])
        .expect(ResultCode::PROTOCOL_ERROR);
    let (0, Event::Done(_)) = admin.receive() else {
        panic!("expected a notice");
    };
    let control = [part_of(b"unknown")];
    admin
        .add_with(&person("a"), &control)
        .expect(ResultCode::UNWILLING_TO_PERFORM);
    let found = admin.search_with(
        SUFFIX,
        Scope::BaseObject,
        "(objectClass=*)",
        &[],
        &control,
        |_| {},
    );
    found
        .outcome
        .expect(ResultCode::UNAVAILABLE_CRITICAL_EXTENSION);
    admin
        .extended(oid::END_TRANSACTION, Some(b"junk"))
        .expect(ResultCode::PROTOCOL_ERROR);
    admin
        .extended(oid::END_TRANSACTION, None)
        .expect(ResultCode::PROTOCOL_ERROR);
    admin
        .extended(oid::START_TRANSACTION, Some(b"mine"))
        .expect(ResultCode::PROTOCOL_ERROR);
}

#[test]
fn the_start_says_on_whose_behalf() {
    let (_pando, mut admin) = served();
    admin.add(&person("ada")).expect_success();
    let proxied = OwnedControl {
        oid: oid::PROXIED_AUTHORIZATION.into(),
        critical: true,
        value: Some(format!("dn:{}", name("ada")).into_bytes()),
    };
    let request = Request::Extended(ExtendedRequest {
        name: oid::START_TRANSACTION,
        value: None,
    });
    let started = admin.call(&request, std::slice::from_ref(&proxied));
    let transaction = started.outcome.expect_success().value.expect("an id");
    // Ada may not add entries as the administrator may.
    admin
        .add_with(&person("a"), &[part_of(&transaction)])
        .expect(ResultCode::INSUFFICIENT_ACCESS_RIGHTS);
    let (0, Event::Done(_)) = admin.receive() else {
        panic!("expected a notice");
    };
    // RFC 5805 §4.4: the control on an update or the end is a protocol error.
    let transaction = start(&mut admin);
    let both = [part_of(&transaction), proxied.clone()];
    admin
        .add_with(&person("a"), &both)
        .expect(ResultCode::PROTOCOL_ERROR);
    let (0, Event::Done(_)) = admin.receive() else {
        panic!("expected a notice");
    };
    let transaction = start(&mut admin);
    let value = end_value(&transaction, true);
    let request = Request::Extended(ExtendedRequest {
        name: oid::END_TRANSACTION,
        value: Some(&value),
    });
    let ended = admin.call(&request, &[proxied]);
    ended.outcome.expect(ResultCode::PROTOCOL_ERROR);
    // A no-op update cannot be part of a transaction.
    let tried = OwnedControl::new(oid::NO_OPERATION, true);
    admin
        .add_with(&person("a"), &[part_of(&transaction), tried])
        .expect(ResultCode::UNWILLING_TO_PERFORM);
    let (0, Event::Done(_)) = admin.receive() else {
        panic!("expected a notice");
    };
    assert!(!is_there(&mut admin, &name("a")));
}

#[test]
fn limits_say_which_they_are() {
    let folder = kit::Folder::new();
    let mut pando = Pando::init_in(folder, &["--suffix", SUFFIX]);
    let settings = "listen = [\"ldap://127.0.0.1:0\"]\n\
                    [administrator_limits]\n\
                    transactions_open_max = 2\n\
                    transaction_updates_max = 3\n\
                    transaction_bytes_max = 4000\n";
    std::fs::write(pando.node().join("pando.toml"), settings).expect("the node's folder");
    pando.serve_as_configured();
    let mut admin = pando.admin();
    let (one, _two) = (start(&mut admin), start(&mut admin));
    let third = admin.extended(oid::START_TRANSACTION, None);
    let third = third.expect(ResultCode::ADMIN_LIMIT_EXCEEDED);
    assert!(
        third.diagnostic.contains("transactions_open_max"),
        "{third:?}"
    );
    let delete = |client: &mut Client, identifier: &[u8], dn: &str| {
        let request = Request::Delete(DeleteRequest { entry: dn });
        client.call(&request, &[part_of(identifier)]).outcome
    };
    for _ in 0..3 {
        delete(&mut admin, &one, "cn=x,dc=example,dc=com").expect_success();
    }
    let fourth = delete(&mut admin, &one, "cn=x,dc=example,dc=com");
    let fourth = fourth.expect(ResultCode::ADMIN_LIMIT_EXCEEDED);
    assert!(
        fourth.diagnostic.contains("transaction_updates_max"),
        "{fourth:?}"
    );
    let (0, Event::Done(_)) = admin.receive() else {
        panic!("expected a notice");
    };
    let three = start(&mut admin);
    let mut long = person("long");
    long.push("description", vec![b'x'; 5_000]);
    let long = admin.add_with(&long, &[part_of(&three)]);
    let long = long.expect(ResultCode::ADMIN_LIMIT_EXCEEDED);
    assert!(
        long.diagnostic.contains("transaction_bytes_max"),
        "{long:?}"
    );
}
