//! The small standards around the core: paging, passwords, increment, selection, cancel.

use kit::client::{Event, Modification};
use kit::{Client, people};
use protocol::ber::{self, Reader};
use protocol::{ExtendedRequest, Request, ResultCode, Scope};

use crate::{ADA, EDSGER, GRACE, PEOPLE, control, with_people};

const PAGED_RESULTS: &str = "1.2.840.113556.1.4.319";
const PASSWORD_MODIFY: &str = "1.3.6.1.4.1.4203.1.11.1";
const CANCEL: &str = "1.3.6.1.1.8";

/// One page: names found and the cookie for the next.
fn page(client: &mut Client, size: i64, cookie: &[u8]) -> (Vec<String>, Vec<u8>) {
    let mut value = Vec::new();
    ber::put_nested(&mut value, ber::SEQUENCE, |out| {
        ber::put_integer(out, ber::INTEGER, size);
        ber::put_octets(out, ber::OCTET_STRING, cookie);
    });
    let paged = [control(PAGED_RESULTS, true, Some(&value))];
    let scope = Scope::SingleLevel;
    let found = client.search_with(PEOPLE, scope, "(uid=*)", &["1.1"], &paged, |_| {});
    let outcome = found.outcome.clone().expect_success();
    let answer = outcome
        .control(PAGED_RESULTS)
        .expect("a paged search answers with the control");
    let mut answer = Reader::new(answer)
        .nested(ber::SEQUENCE)
        .expect("a SEQUENCE");
    answer.integer(ber::INTEGER).expect("the estimate");
    let cookie = answer
        .expect(ber::OCTET_STRING)
        .expect("the cookie")
        .to_vec();
    (found.names(), cookie)
}

/// RFC 2696 §3: pages together are the whole, the last has an empty cookie.
#[test]
fn rfc2696_s3_pages() {
    let (_subject, mut client) = with_people();
    for number in 0..20 {
        client
            .add(&people::person(&format!("p{number}")))
            .expect_success();
    }
    let mut all = Vec::new();
    let mut cookie = Vec::new();
    let mut pages = 0;
    loop {
        let (names, next) = page(&mut client, 5, &cookie);
        assert!(names.len() <= 5);
        all.extend(names);
        pages += 1;
        if next.is_empty() {
            break;
        }
        cookie = next;
    }
    assert!(pages >= 5);
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 23);
}

/// RFC 3062 §2: the old password is checked, the new one works, a missing one is generated.
#[test]
fn rfc3062_s2_password_modify() {
    let (subject, mut admin) = with_people();
    let request = |identity: Option<&str>, old: Option<&str>, new: Option<&str>| {
        let mut value = Vec::new();
        ber::put_nested(&mut value, ber::SEQUENCE, |out| {
            for (tag, part) in [(0x80, identity), (0x81, old), (0x82, new)] {
                if let Some(part) = part {
                    ber::put_octets(out, tag, part.as_bytes());
                }
            }
        });
        value
    };
    let mut ada = subject.client();
    ada.bind(ADA, "ada").expect_success();
    let wrong = ada.extended(
        PASSWORD_MODIFY,
        Some(&request(None, Some("x"), Some("new"))),
    );
    assert!(wrong.code != ResultCode::SUCCESS, "{wrong:?}");
    ada.extended(
        PASSWORD_MODIFY,
        Some(&request(None, Some("ada"), Some("new"))),
    )
    .expect_success();
    ada.bind(ADA, "ada").expect(ResultCode::INVALID_CREDENTIALS);
    ada.bind(ADA, "new").expect_success();
    let answer = admin.extended(PASSWORD_MODIFY, Some(&request(Some(EDSGER), None, None)));
    let value = answer
        .expect_success()
        .value
        .expect("a generated password is returned");
    let mut value = Reader::new(&value)
        .nested(ber::SEQUENCE)
        .expect("a SEQUENCE");
    let password = value.text(0x80).expect("genPasswd").to_owned();
    ada.bind(EDSGER, &password).expect_success();
}

/// RFC 3909 §2: there is nothing to cancel.
#[test]
fn rfc3909_s2_no_such_operation() {
    let (_subject, mut client) = with_people();
    let mut value = Vec::new();
    ber::put_nested(&mut value, ber::SEQUENCE, |out| {
        ber::put_integer(out, ber::INTEGER, 4711)
    });
    client
        .extended(CANCEL, Some(&value))
        .expect(ResultCode::NO_SUCH_OPERATION);
}

/// RFC 3909 §2: a canceled search ends with `canceled`; one that has ended cannot be canceled.
#[test]
fn rfc3909_s2_cancel_a_search() {
    let (_subject, mut client) = with_people();
    for number in 0..100 {
        let mut person = people::person(&format!("p{number}"));
        person.push("description", vec![b'x'; 60_000]);
        client.add(&person).expect_success();
    }
    // More than fits into the sockets' buffers, so that the search must still be on its way.
    let scope = Scope::WholeSubtree;
    let search = client.send_search(PEOPLE, scope, "(objectClass=*)", &["*"], &[], |_| {});
    let mut value = Vec::new();
    let id = i64::from(search);
    ber::put_nested(&mut value, ber::SEQUENCE, |out| {
        ber::put_integer(out, ber::INTEGER, id)
    });
    let request = ExtendedRequest {
        name: CANCEL,
        value: Some(&value),
    };
    let cancel = client.send(&Request::Extended(request), &[]);
    let mut codes = std::collections::BTreeMap::new();
    while codes.len() < 2 {
        if let (id, Event::Done(outcome)) = client.receive() {
            codes.insert(id, outcome.code);
        }
    }
    let ends = (codes[&search], codes[&cancel]);
    let canceled = (ResultCode::CANCELED, ResultCode::SUCCESS);
    // Too late is a matter of luck, but then the search has to be whole.
    let too_late = [
        ResultCode::TOO_LATE,
        ResultCode::NO_SUCH_OPERATION,
        ResultCode::CANNOT_CANCEL,
    ];
    assert!(
        ends == canceled || (ends.0 == ResultCode::SUCCESS && too_late.contains(&ends.1)),
        "{ends:?}"
    );
}

/// RFC 4525: increment by a value, on one or many values, as one change.
#[test]
fn rfc4525_increment() {
    let (_subject, mut client) = with_people();
    let mut account = people::person("account");
    account.push("objectClass", b"posixAccount".to_vec());
    account.push("uidNumber", b"1000".to_vec());
    account.push("gidNumber", b"100".to_vec());
    account.push("homeDirectory", b"/home/account".to_vec());
    client.add(&account).expect_success();
    client
        .modify(
            &account.name,
            &[Modification::increment("uidNumber", "-1001")],
        )
        .expect_success();
    assert_eq!(
        client.read(&account.name).expect("there").text("uidNumber"),
        "-1"
    );
    let outcome = client.modify(GRACE, &[Modification::increment("uidNumber", "1")]);
    assert!(outcome.code != ResultCode::SUCCESS);
}

/// RFC 4529 §2: `@class` selects the attributes of an object class.
#[test]
fn rfc4529_s2_attributes_of_a_class() {
    let (_subject, mut client) = with_people();
    let found = client.search(ADA, Scope::BaseObject, "(objectClass=*)", &["@person"]);
    let entry = found.only();
    assert!(
        entry.has("cn") && entry.has("sn") && !entry.has("mail"),
        "{entry:?}"
    );
}

/// RFC 3673 §2: `+` selects all operational attributes.
#[test]
fn rfc3673_s2_all_operational_attributes() {
    let (_subject, mut client) = with_people();
    let found = client.search(ADA, Scope::BaseObject, "(objectClass=*)", &["+"]);
    let entry = found.only();
    assert!(entry.has("createTimestamp") && entry.has("entryUUID") && !entry.has("mail"));
}

/// RFC 5020: entryDN can be read and matched.
#[test]
fn rfc5020_entry_dn() {
    let (_subject, mut client) = with_people();
    let filter = format!("(entryDN={})", ADA.to_uppercase());
    let found = client.search(kit::SUFFIX, Scope::WholeSubtree, &filter, &["entryDN"]);
    assert_eq!(
        found.only().text("entryDN").to_lowercase(),
        ADA.to_lowercase()
    );
}
