//! The client in the directory's process: answers of each operation, transactions, searches that
//! follow the directory, and the end of its patience.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod kit;

use directory::{Clock, Directory, Followed, Options, Peer};
use kit::gate::Gate;
use kit::{ADMIN, Client, PASSWORD, options};
use local::{Answer, LocalClient, LocalError, Watch};
use policy::PasswordSettings;
use policy::password::Scheme;
use protocol::control::{ChangeType, EntryChangeNotification, PersistentSearch, ReadEntryRequest};
use protocol::{
    AddRequest, Change, ChangeOperation, CompareRequest, DeleteRequest, ExtendedRequest, Filter,
    ModifyDnRequest, ModifyRequest, OwnedAttribute, OwnedControl, Request, ResultCode, Scope,
    SearchRequest, oid,
};
use std::sync::Arc;
use std::time::Duration;

const BASE: &str = "dc=example,dc=com";
const ADA: &str = "cn=ada,dc=example,dc=com";
const BOB: &str = "cn=bob,dc=example,dc=com";
const PATIENCE: Duration = Duration::from_secs(60);

fn owner(directory: &Directory) -> LocalClient {
    LocalClient::as_owner(directory, PATIENCE).unwrap()
}

fn add(client: &mut LocalClient, entry: &str, surname: &str) -> Result<Answer, LocalError> {
    let attributes = [("objectClass", "person"), ("sn", surname)];
    let attributes = attributes.map(|(name, value)| OwnedAttribute::new(name, [value]));
    let attributes = attributes.iter().map(OwnedAttribute::as_partial).collect();
    client.add(AddRequest { entry, attributes }, &[])
}

/// Calls back with a request that replaces the value of an attribute.
fn replacing<T>(
    object: &str,
    description: &str,
    value: &str,
    send: impl FnOnce(ModifyRequest<'_>) -> T,
) -> T {
    let attribute = OwnedAttribute::new(description, [value]);
    let change = Change {
        operation: ChangeOperation::Replace,
        attribute: attribute.as_partial(),
    };
    send(ModifyRequest {
        object,
        changes: vec![change],
    })
}

fn subtree(size_limit: u32) -> SearchRequest<'static> {
    SearchRequest {
        size_limit,
        attributes: vec!["cn", "sn"],
        ..SearchRequest::new(BASE, Scope::WholeSubtree, Filter::Present("sn"))
    }
}

fn names(answer: &Answer) -> Vec<&str> {
    answer.entries.iter().map(|it| it.dn.as_str()).collect()
}

/// Result code of a refusal.
#[track_caller]
fn refusal<T>(answer: Result<T, LocalError>) -> ResultCode {
    match answer.err().expect("a refusal") {
        LocalError::Refused(result) => result.code,
        other => panic!("expected a refusal, got {other:?}"),
    }
}

#[test]
fn each_operation_has_a_typed_answer() {
    let directory = &Client::new().directory;
    let mut client = owner(directory);
    add(&mut client, ADA, "Lovelace").unwrap();
    replacing(ADA, "sn", "Byron", |it| client.modify(it, &[])).unwrap();
    let ada = client.read(ADA, &["sn"]).unwrap().unwrap();
    assert_eq!(
        (ada.dn.as_str(), ada.values("SN")),
        (ADA, &[b"Byron".to_vec()][..])
    );
    assert_eq!(ada.values("cn"), &[] as &[Vec<u8>]);
    for (value, expected) in [("byron", true), ("Lovelace", false)] {
        let request = CompareRequest {
            entry: ADA,
            attribute: "sn",
            value: value.as_bytes(),
        };
        assert_eq!(client.compare(request, &[]).unwrap(), expected);
    }
    let rename = ModifyDnRequest {
        entry: ADA,
        new_rdn: "cn=bob",
        delete_old_rdn: true,
        new_superior: None,
    };
    client.modify_dn(rename, &[]).unwrap();
    assert_eq!(client.read(ADA, &[]).unwrap(), None);
    let found = client.search(subtree(0), &[]).unwrap();
    assert_eq!(
        (names(&found), found.result.code),
        (vec![BOB], ResultCode::SUCCESS)
    );
    let who = ExtendedRequest {
        name: oid::WHO_AM_I,
        value: None,
    };
    let who = client.extended(who, &[]).unwrap().value.unwrap();
    assert!(who.starts_with(b"dn:"), "{who:?}");
    client.delete(DeleteRequest { entry: BOB }, &[]).unwrap();
    let again = client.delete(DeleteRequest { entry: BOB }, &[]);
    assert_eq!(refusal(again), ResultCode::NO_SUCH_OBJECT);
}

#[test]
fn a_search_beyond_a_limit_keeps_its_entries() {
    let mut kit = Client::admin();
    kit.add_person("ada");
    kit.add_person("bob");
    let found = owner(&kit.directory).search(subtree(1), &[]).unwrap();
    assert_eq!(found.entries.len(), 1);
    assert_eq!(found.result.code, ResultCode::SIZE_LIMIT_EXCEEDED);
}

#[test]
fn a_client_has_the_rights_of_its_subject() {
    let kit = Client::new();
    let mut client = LocalClient::open(&kit.directory, Peer::default(), PATIENCE).unwrap();
    assert!(add(&mut client, ADA, "Lovelace").is_err());
    assert_eq!(
        refusal(client.bind(ADMIN, b"wrong")),
        ResultCode::INVALID_CREDENTIALS
    );
    client.bind(ADMIN, PASSWORD.as_bytes()).unwrap();
    add(&mut client, ADA, "Lovelace").unwrap();
}

#[test]
fn a_request_without_a_response_has_no_answer() {
    let kit = Client::new();
    let mut client = owner(&kit.directory);
    let abandoned = client.request(&Request::Abandon(1), &[]);
    assert!(matches!(abandoned, Err(LocalError::NoResponse)));
    let unbound = client.request(&Request::Unbind, &[]);
    assert!(matches!(unbound, Err(LocalError::NoResponse)));
    let after = client.read(BASE, &[]);
    assert!(matches!(after, Err(LocalError::Closed)), "{after:?}");
}

#[test]
fn calls_are_finished_in_any_order() {
    let kit = Client::new();
    let kit = kit.reopen_with(&Options {
        passwords: PasswordSettings {
            scheme: Scheme::Argon2id,
            ..PasswordSettings::default()
        },
        ..options()
    });
    let mut client = owner(&kit.directory);
    add(&mut client, ADA, "Lovelace").unwrap();
    // The second write is held back until the password of the first is hashed.
    let mut begin = |description, value| {
        replacing(ADA, description, value, |it| {
            client.begin(&Request::Modify(it), &[]).unwrap()
        })
    };
    let (mut first, mut second) = (begin("userPassword", "new"), begin("sn", "Byron"));
    assert!(first.waits() && second.waits());
    assert_ne!(first.id(), second.id());
    for call in [&mut second, &mut first] {
        client.finish(call).unwrap();
        let answer = Answer::decode(call.responses()).unwrap();
        assert_eq!(answer.result.code, ResultCode::SUCCESS);
    }
    let ada = client.read(ADA, &["sn"]).unwrap().unwrap();
    assert_eq!(ada.values("sn"), [b"Byron"]);
    client.bind(ADA, b"new").unwrap();
}

#[test]
fn encoded_messages_are_executed_to_their_end() {
    let kit = Client::new();
    let mut client = owner(&kit.directory);
    let mut message = Vec::new();
    let request = Request::Delete(DeleteRequest { entry: ADA });
    protocol::write_request(&mut message, 7, &request, &[]);
    let mut responses = Vec::new();
    client.execute(&message, &mut responses).unwrap();
    let response = protocol::ResponseMessage::decode(&responses).unwrap();
    assert_eq!(response.id, 7);
    assert_eq!(
        response.response.result().map(|it| it.code),
        Some(ResultCode::NO_SUCH_OBJECT)
    );
    let broken = client.execute(b"0", &mut responses);
    assert!(matches!(broken, Err(LocalError::Request(_))), "{broken:?}");
}

#[test]
fn a_transaction_is_executed_as_a_whole() {
    let mut kit = Client::admin();
    kit.add_person("ada");
    let mut client = owner(&kit.directory);
    let read = ReadEntryRequest {
        attributes: vec!["sn"],
    };
    let post_read = OwnedControl::with_value(oid::POST_READ, true, |out| read.encode(out));
    let controls = client.transaction(|it| {
        let read = std::slice::from_ref(&post_read);
        replacing(ADA, "sn", "Byron", |request| {
            it.update(&Request::Modify(request), &[])
        })?;
        replacing(ADA, "sn", "Lovelace", |request| {
            it.update(&Request::Modify(request), read)
        })
    });
    let controls = controls.unwrap();
    assert_eq!(controls.iter().map(Vec::len).collect::<Vec<_>>(), [0, 1]);
    assert_eq!(controls[1][0].oid, oid::POST_READ);
}

#[test]
fn a_transaction_that_is_not_committed_names_the_refused_update() {
    let mut kit = Client::admin();
    kit.add_person("ada");
    let mut client = owner(&kit.directory);
    // There is no entry bob when the updates are executed.
    let refused = client.transaction(|it| {
        it.update(&Request::Delete(DeleteRequest { entry: ADA }), &[])?;
        it.update(&Request::Delete(DeleteRequest { entry: ADA }), &[])
    });
    match refused {
        Err(LocalError::NotCommitted { result, update }) => {
            assert_eq!((result.code, update), (ResultCode::NO_SUCH_OBJECT, Some(1)));
        }
        other => panic!("{other:?}"),
    }
    assert!(client.read(ADA, &[]).unwrap().is_some());
    // An update that is refused at once aborts the transaction.
    let refused = client.transaction(|it| {
        it.update(&Request::Delete(DeleteRequest { entry: ADA }), &[])?;
        it.update(&Request::Delete(DeleteRequest { entry: "nothing" }), &[])
    });
    assert_eq!(refusal(refused), ResultCode::INVALID_DN_SYNTAX);
    assert!(client.read(ADA, &[]).unwrap().is_some());
}

/// Follows the whole directory with a persistent search for changes from now on.
fn follow(client: &mut LocalClient) -> Watch {
    let value = PersistentSearch {
        change_types: 15,
        changes_only: true,
        return_entry_changes: true,
    };
    let control = OwnedControl::with_value(oid::PERSISTENT_SEARCH, true, |out| value.encode(out));
    let (watch, content) = client.follow(subtree(0), &[control]).unwrap();
    assert_eq!(names(&content), Vec::<&str>::new());
    watch.expect("the search goes on")
}

#[test]
fn news_of_others_arrive_while_a_client_waits() {
    let kit = Client::new();
    let mut client = owner(&kit.directory);
    let mut watch = follow(&mut client);
    let silent = client.news(&mut watch, Duration::ZERO).unwrap();
    assert_eq!(silent.answer, Answer::default());
    assert_eq!(silent.followed, Followed::CaughtUp);
    let directory = kit.directory.clone();
    std::thread::scope(|scope| {
        scope.spawn(move || add(&mut owner(&directory), ADA, "Lovelace").unwrap());
        let news = client.news(&mut watch, PATIENCE).unwrap();
        assert_eq!(names(&news.answer), [ADA]);
        assert_eq!(news.followed, Followed::CaughtUp);
        let control = &news.answer.entries[0].controls[0];
        let value = EntryChangeNotification::decode(control.value.as_deref().unwrap()).unwrap();
        assert_eq!(value.change_type, ChangeType::Add);
    });
    // A client hears of its own changes, too, and executes other requests meanwhile.
    replacing(ADA, "sn", "Byron", |it| client.modify(it, &[])).unwrap();
    let news = client.news(&mut watch, PATIENCE).unwrap();
    assert_eq!(news.answer.entries[0].values("sn"), [b"Byron"]);
}

#[test]
fn a_search_that_does_not_follow_has_no_watch() {
    let mut kit = Client::admin();
    kit.add_person("ada");
    let (watch, answer) = owner(&kit.directory).follow(subtree(0), &[]).unwrap();
    assert!(watch.is_none());
    assert_eq!(
        (names(&answer), answer.result.code),
        (vec![ADA], ResultCode::SUCCESS)
    );
}

#[test]
fn a_client_without_patience_is_closed() {
    let gate = Arc::new(Gate::default());
    let kit = Client::new().reopen_with(&Options {
        clock: Arc::clone(&gate) as Arc<dyn Clock>,
        ..options()
    });
    let mut hasty = LocalClient::as_owner(&kit.directory, Duration::from_millis(1)).unwrap();
    gate.set(true);
    let late = add(&mut hasty, ADA, "Lovelace");
    gate.set(false);
    assert!(matches!(late, Err(LocalError::NotInTime)), "{late:?}");
    let after = hasty.read(BASE, &[]);
    assert!(matches!(after, Err(LocalError::Closed)), "{after:?}");
    // The write was executed nevertheless.
    let mut client = owner(&kit.directory);
    let again = add(&mut client, ADA, "Lovelace");
    assert_eq!(refusal(again), ResultCode::ENTRY_ALREADY_EXISTS);
}
