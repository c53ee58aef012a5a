//! Bulk update (LBURP, RFC 4373) over the wire.

use kit::client::{Entry, Event, Outcome};
use kit::{Client, Pando, people};
use protocol::extended::{
    BulkOperation, BulkUpdateRequest, BulkUpdateResponse, EndBulkUpdateRequest,
    StartBulkUpdateRequest, StartBulkUpdateResponse,
};
use protocol::{
    AddRequest, DeleteRequest, ExtendedRequest, LdapResult, ModifyDnRequest, PartialAttribute,
    Request, ResultCode, Scope, oid, put_partial_attribute,
};

const PEOPLE: &str = "ou=People,dc=example,dc=com";

fn served() -> (Pando, Client) {
    let pando = Pando::start();
    let mut admin = pando.admin();
    let people = Entry::of(PEOPLE, &[("objectClass", &["organizationalUnit"])]);
    admin.add(&people).expect_success();
    (pando, admin)
}

fn start(client: &mut Client, style: &str) -> Outcome {
    let mut value = Vec::new();
    StartBulkUpdateRequest { style }.encode(&mut value);
    client.extended(oid::START_BULK_UPDATE, Some(&value))
}

fn end(client: &mut Client, sequence_number: u32) -> Outcome {
    let mut value = Vec::new();
    EndBulkUpdateRequest { sequence_number }.encode(&mut value);
    client.extended(oid::END_BULK_UPDATE, Some(&value))
}

fn update_value(sequence_number: u32, requests: Vec<Request<'_>>) -> Vec<u8> {
    let operations = requests.into_iter().map(|request| BulkOperation {
        request,
        controls: Vec::new(),
    });
    let mut value = Vec::new();
    BulkUpdateRequest {
        sequence_number,
        operations: operations.collect(),
    }
    .encode(&mut value);
    value
}

fn update(client: &mut Client, sequence_number: u32, requests: Vec<Request<'_>>) -> Outcome {
    let value = update_value(sequence_number, requests);
    client.extended(oid::BULK_UPDATE, Some(&value))
}

/// Returns the failed updates of a response.
fn failures(outcome: Outcome) -> Vec<(u32, LdapResult)> {
    let outcome = outcome.expect(ResultCode::OTHER);
    assert_eq!(outcome.name.as_deref(), Some(oid::BULK_UPDATE_RESPONSE));
    let value = outcome.value.expect("the failures");
    let response = BulkUpdateResponse::decode(&value);
    response.expect("the value decodes").results
}

/// Name and encoded attributes of an entry.
struct Person {
    name: String,
    attributes: Vec<Vec<u8>>,
}

impl Person {
    fn new(uid: &str) -> Person {
        Person::of(&people::person(uid))
    }

    fn of(entry: &Entry) -> Person {
        let encoded = entry.attributes.iter().map(|(name, values)| {
            let mut out = Vec::new();
            put_partial_attribute(&mut out, name, values.iter().map(Vec::as_slice));
            out
        });
        Person {
            name: entry.name.clone(),
            attributes: encoded.collect(),
        }
    }

    fn add(&self) -> Request<'_> {
        let attributes = self.attributes.iter();
        let attributes = attributes.map(|it| PartialAttribute::from_checked(it).expect("encoded"));
        Request::Add(AddRequest {
            entry: &self.name,
            attributes: attributes.collect(),
        })
    }
}

#[test]
fn updates_are_applied_in_their_order_each_for_itself() {
    let (_pando, mut admin) = served();
    let outcome = start(&mut admin, oid::INCREMENTAL_UPDATE_STYLE).expect_success();
    assert_eq!(
        outcome.name.as_deref(),
        Some(oid::START_BULK_UPDATE_RESPONSE)
    );
    let limit = StartBulkUpdateResponse::decode(&outcome.value.expect("maxOperations"));
    assert_eq!(limit.expect("it decodes").operations_max, 1_000);
    let (a, b) = (Person::new("a"), Person::new("b"));
    let rename = Request::ModifyDn(ModifyDnRequest {
        entry: &a.name,
        new_rdn: "uid=c",
        delete_old_rdn: true,
        new_superior: None,
    });
    let outcome = update(&mut admin, 1, vec![a.add(), b.add(), rename, a.add()]);
    let outcome = outcome.expect_success();
    assert_eq!(outcome.name.as_deref(), Some(oid::BULK_UPDATE_RESPONSE));
    assert_eq!(outcome.value, None);
    // The second update fails before it is ordered, the third when it is executed.
    let delete = |entry| Request::Delete(DeleteRequest { entry });
    let outcome = update(
        &mut admin,
        2,
        vec![delete(&b.name), delete("nothing"), a.add(), delete(&a.name)],
    );
    let failed: Vec<(u32, ResultCode)> = failures(outcome)
        .into_iter()
        .map(|(number, result)| (number, result.code))
        .collect();
    assert_eq!(
        failed,
        [
            (2, ResultCode::INVALID_DN_SYNTAX),
            (3, ResultCode::ENTRY_ALREADY_EXISTS)
        ]
    );
    update(&mut admin, 3, Vec::new()).expect_success();
    let outcome = end(&mut admin, 4).expect_success();
    assert_eq!(outcome.name.as_deref(), Some(oid::END_BULK_UPDATE_RESPONSE));
    assert_eq!(outcome.value, None);
    let found = admin.search(PEOPLE, Scope::SingleLevel, "(uid=*)", &["1.1"]);
    assert_eq!(found.names(), ["uid=c,ou=people,dc=example,dc=com"]);
}

#[test]
fn requests_need_not_wait_for_answers() {
    let (mut pando, mut admin) = served();
    start(&mut admin, oid::INCREMENTAL_UPDATE_STYLE).expect_success();
    let mut ids = Vec::new();
    for number in 1..=60 {
        let people: Vec<Person> = (0..50)
            .map(|it| Person::new(&format!("u{number}x{it}")))
            .collect();
        let value = update_value(number, people.iter().map(Person::add).collect());
        let request = ExtendedRequest {
            name: oid::BULK_UPDATE,
            value: Some(&value),
        };
        ids.push(admin.send(&Request::Extended(request), &[]));
    }
    let mut value = Vec::new();
    EndBulkUpdateRequest {
        sequence_number: 61,
    }
    .encode(&mut value);
    let request = ExtendedRequest {
        name: oid::END_BULK_UPDATE,
        value: Some(&value),
    };
    ids.push(admin.send(&Request::Extended(request), &[]));
    for expected in ids {
        let (id, Event::Done(outcome)) = admin.receive() else {
            panic!("expected a result");
        };
        assert_eq!(id, expected, "responses come in the order of the stream");
        outcome.expect_success();
    }
    let root = admin.read(PEOPLE).expect("the base");
    assert_eq!(root.text("numSubordinates"), "3000");
    pando.stop();
    pando.assert_clean();
}

#[test]
fn passwords_are_hashed_before_they_are_ordered() {
    let (pando, mut admin) = served();
    start(&mut admin, oid::INCREMENTAL_UPDATE_STYLE).expect_success();
    let mut entry = people::person("p");
    entry.push("userPassword", b"secret".to_vec());
    let (with, without) = (Person::of(&entry), Person::new("q"));
    let rename = Request::ModifyDn(ModifyDnRequest {
        entry: &with.name,
        new_rdn: "uid=r",
        delete_old_rdn: true,
        new_superior: None,
    });
    update(&mut admin, 1, vec![with.add(), without.add(), rename]).expect_success();
    end(&mut admin, 2).expect_success();
    let name = "uid=r,ou=People,dc=example,dc=com";
    let stored = admin.read(name).expect("it is there").text("userPassword");
    assert!(stored.starts_with("{ARGON2ID}$argon2id$"), "{stored}");
    pando.client().bind(name, "secret").expect_success();
}

#[test]
fn what_is_out_of_order_or_malformed_changes_nothing() {
    let (_pando, mut admin) = served();
    let (a, b) = (Person::new("a"), Person::new("b"));
    update(&mut admin, 1, vec![a.add()]).expect(ResultCode::OPERATIONS_ERROR);
    end(&mut admin, 1).expect(ResultCode::OPERATIONS_ERROR);
    start(&mut admin, "1.2.3").expect(ResultCode::UNWILLING_TO_PERFORM);
    start(&mut admin, oid::INCREMENTAL_UPDATE_STYLE).expect_success();
    start(&mut admin, oid::INCREMENTAL_UPDATE_STYLE).expect(ResultCode::OPERATIONS_ERROR);
    let early = update(&mut admin, 2, vec![a.add()]).expect(ResultCode::PROTOCOL_ERROR);
    assert!(
        early.diagnostic.contains("sequence number 1, got 2"),
        "{early:?}"
    );
    // One of two updates cannot be decoded: none is applied, and the sequence number is used up.
    let mut junk = update_value(1, vec![a.add(), b.add()]);
    let at = junk
        .windows(6)
        .rposition(|it| it == b"uid=b,")
        .expect("its name");
    junk[at - 2] = 0x01;
    admin
        .extended(oid::BULK_UPDATE, Some(&junk))
        .expect(ResultCode::PROTOCOL_ERROR);
    admin
        .extended(oid::BULK_UPDATE, Some(b"junk"))
        .expect(ResultCode::PROTOCOL_ERROR);
    admin
        .extended(oid::BULK_UPDATE, None)
        .expect(ResultCode::PROTOCOL_ERROR);
    let many = (0..1_001).map(|_| Request::Delete(DeleteRequest { entry: &a.name }));
    update(&mut admin, 2, many.collect()).expect(ResultCode::PROTOCOL_ERROR);
    end(&mut admin, 9).expect(ResultCode::PROTOCOL_ERROR);
    let config = Request::Delete(DeleteRequest {
        entry: "cn=uid,cn=indexes,cn=config",
    });
    let failed = failures(update(&mut admin, 3, vec![config]));
    assert_eq!(failed[0].1.code, ResultCode::UNWILLING_TO_PERFORM);
    end(&mut admin, 4).expect_success();
    end(&mut admin, 4).expect(ResultCode::OPERATIONS_ERROR);
    let found = admin.search(PEOPLE, Scope::SingleLevel, "(uid=*)", &["1.1"]);
    assert!(found.entries.is_empty());
    // A Bind ends the stream.
    start(&mut admin, oid::INCREMENTAL_UPDATE_STYLE).expect_success();
    admin.bind(kit::ADMIN, kit::PASSWORD).expect_success();
    update(&mut admin, 1, vec![a.add()]).expect(ResultCode::OPERATIONS_ERROR);
}

#[test]
fn only_the_administrator_may() {
    let (pando, mut admin) = served();
    let mut entry = people::person("ada");
    entry.push("userPassword", b"ada".to_vec());
    admin.add(&entry).expect_success();
    let mut ada = pando.client();
    start(&mut ada, oid::INCREMENTAL_UPDATE_STYLE).expect(ResultCode::INSUFFICIENT_ACCESS_RIGHTS);
    ada.bind(&entry.name, "ada").expect_success();
    start(&mut ada, oid::INCREMENTAL_UPDATE_STYLE).expect(ResultCode::INSUFFICIENT_ACCESS_RIGHTS);
}
