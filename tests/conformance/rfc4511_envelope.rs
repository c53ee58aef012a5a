//! RFC 4511 §3 to §4.1 and §5.1: messages, results, controls, encoding.

use kit::client::Event;
use kit::{Client, SUFFIX, Subject};
use protocol::{ResultCode, Scope};

use crate::{ADA, control, with_people};

/// §3.1: several operations may be outstanding; each response carries its request's id.
#[test]
fn s3_1_requests_may_be_sent_ahead() {
    let (_subject, mut client) = with_people();
    let ids: Vec<i32> = (0..20)
        .map(|_| client.send_search(ADA, Scope::BaseObject, "(cn=*)", &["1.1"], &[], |_| {}))
        .collect();
    let mut finished = Vec::new();
    while finished.len() < ids.len() {
        if let (id, Event::Done(outcome)) = client.receive() {
            outcome.expect_success();
            finished.push(id);
        }
    }
    finished.sort_unstable();
    assert_eq!(finished, ids);
}

/// §4.1.1: what is no LDAPMessage ends the session.
#[test]
fn s4_1_1_garbage_ends_the_session() {
    let subject = Subject::from_env();
    let mut client = subject.client();
    // Long enough for a server that reads a whole element before it looks at the tag.
    let garbage = b"GET / HTTP/1.1\r\n".repeat(20);
    client.send_raw(&garbage).expect("the connection is fresh");
    assert!(client.is_closed_by_server());
}

/// §4.1.1.1: the id of a response is the id of its request, up to the largest.
#[test]
fn s4_1_1_1_largest_message_id() {
    let subject = Subject::from_env();
    let mut client = subject.client();
    // An anonymous bind with message id 2147483647.
    let bind = b"\x30\x0f\x02\x04\x7f\xff\xff\xff\x60\x07\x02\x01\x03\x04\x00\x80\x00";
    client.send_raw(bind).expect("the connection is fresh");
    let (id, event) = client.receive();
    assert_eq!(id, i32::MAX);
    let Event::Done(outcome) = event else {
        panic!("{event:?}")
    };
    outcome.expect_success();
}

/// §4.1.5, §2.5 of RFC 4512: attribute descriptions know no case.
#[test]
fn s4_1_5_attribute_descriptions_know_no_case() {
    let (_subject, mut client) = with_people();
    let found = client.search(ADA, Scope::BaseObject, "(OBJECTCLASS=*)", &["MaIl"]);
    assert_eq!(found.only().text("mail"), "ada@example.com");
}

/// §4.1.9: matchedDN names the lowest entry that exists.
#[test]
fn s4_1_9_matched_name() {
    let (_subject, mut client) = with_people();
    let missing = "cn=x,uid=nobody,ou=People,dc=example,dc=com";
    let scope = Scope::BaseObject;
    let outcome = client
        .search(missing, scope, "(objectClass=*)", &[])
        .outcome;
    let outcome = outcome.expect(ResultCode::NO_SUCH_OBJECT);
    assert_eq!(
        outcome.matched.to_lowercase(),
        "ou=people,dc=example,dc=com"
    );
    let outcome = client.delete(missing).expect(ResultCode::NO_SUCH_OBJECT);
    assert_eq!(
        outcome.matched.to_lowercase(),
        "ou=people,dc=example,dc=com"
    );
}

/// §4.1.11: a control that is not recognised and not critical is ignored.
#[test]
fn s4_1_11_unknown_control_is_ignored() {
    let (_subject, mut client) = with_people();
    let unknown = [control("1.2.3.4.5.6.7", false, Some(b"x"))];
    let scope = Scope::BaseObject;
    let found = client.search_with(ADA, scope, "(cn=*)", &["uid"], &unknown, |_| {});
    found.outcome.clone().expect_success();
    assert_eq!(found.only().text("uid"), "ada");
}

/// §4.1.11: one that is critical stops the operation, whichever it is.
#[test]
fn s4_1_11_unknown_critical_control_stops_the_operation() {
    let (_subject, mut client) = with_people();
    let unknown = [control("1.2.3.4.5.6.7", true, None)];
    let scope = Scope::BaseObject;
    let found = client.search_with(ADA, scope, "(cn=*)", &[], &unknown, |_| {});
    assert!(found.entries.is_empty());
    found
        .outcome
        .expect(ResultCode::UNAVAILABLE_CRITICAL_EXTENSION);
    let change = kit::client::Modification::add("title", &["x"]);
    let outcome = client.modify_with(ADA, &[change], &unknown);
    outcome.expect(ResultCode::UNAVAILABLE_CRITICAL_EXTENSION);
    assert!(!client.read(ADA).expect("ada is there").has("title"));
}

/// §5.1: only the definite form of lengths is used.
#[test]
fn s5_1_indefinite_lengths_are_refused() {
    let subject = Subject::from_env();
    let mut client = subject.client();
    let bind = b"\x30\x80\x02\x01\x01\x60\x07\x02\x01\x03\x04\x00\x80\x00\x00\x00";
    client.send_raw(bind).expect("the connection is fresh");
    assert!(client.is_closed_by_server());
}

/// §5.1 with X.690 §8.1.3.5: the long form may encode a short length.
#[test]
fn s5_1_lengths_need_not_be_minimal() {
    let subject = Subject::from_env();
    let mut client = subject.client();
    let bind = b"\x30\x84\x00\x00\x00\x0d\x02\x01\x01\x60\x81\x07\x02\x01\x03\x04\x00\x80\x00";
    let bind = [&bind[..5], b"\x0d", &bind[6..]].concat();
    client.send_raw(&bind).expect("the connection is fresh");
    let (_, event) = client.receive();
    let Event::Done(outcome) = event else {
        panic!("{event:?}")
    };
    outcome.expect_success();
}

/// §5.2: messages may be cut into any pieces on their way.
#[test]
fn s5_2_messages_arrive_in_pieces() {
    let subject = Subject::from_env();
    let mut client = subject.client();
    let bind = b"\x30\x0c\x02\x01\x01\x60\x07\x02\x01\x03\x04\x00\x80\x00";
    for byte in bind.chunks(1) {
        client.send_raw(byte).expect("the server waits for more");
    }
    let (_, event) = client.receive();
    let Event::Done(outcome) = event else {
        panic!("{event:?}")
    };
    outcome.expect_success();
}

/// §4.4.1 and §5.3: a request that cannot be parsed ends the session, for this client only.
#[test]
fn s5_3_others_notice_nothing() {
    let subject = Subject::from_env();
    let mut good = subject.client();
    let mut bad: Client = subject.client();
    bad.send_raw(b"\x30\x05\x02\x01\x01\xff\x00")
        .expect("the connection is fresh");
    assert!(bad.is_closed_by_server());
    good.search(SUFFIX, Scope::BaseObject, "(objectClass=*)", &[])
        .outcome
        .expect_success();
}
