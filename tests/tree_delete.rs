//! Tree delete of 60,000 entries beside other clients: it is answered at once, every client sees
//! all or nothing, writes go on, followers hear of every entry, and a crash during reclaiming
//! changes nothing of that.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use kit::client::{Client, Event, Modification};
use kit::{EnoughAtEnd, Pando, SUFFIX, people};
use protocol::control::{
    ChangeType, EntryChangeNotification, PersistentSearch, SyncInfo, SyncMode, SyncRequest,
    SyncStateValue,
};
use protocol::{DeleteRequest, MessageId, OwnedControl, Request, ResultCode, Scope, oid};

const TOP: &str = "ou=Old,dc=example,dc=com";
const UNITS: usize = 60;
const PEOPLE: usize = 60_000;
/// Number of entries of the subtree, with the units and the top.
const SUBTREE: usize = PEOPLE + UNITS + 1;
/// Number of other entries: the suffix and a person that is written to.
const OTHERS: usize = 2;
/// Longest time that a write may wait while the subtree is reclaimed, in a build without
/// optimisation on a loaded machine.
const WRITE_TAKES_MAX: Duration = Duration::from_secs(5);
/// The log line that ends the removal.
const REMOVED: &str = "the entries of deleted subtrees are removed";

/// Makes a node with the subtree, not served.
fn node() -> Pando {
    let pando = Pando::init();
    let mut ldif = String::from("version: 1\n");
    let mut put = |name: &str, rest: &str| write!(ldif, "\ndn: {name}\n{rest}\n").is_ok();
    put(TOP, "objectClass: organizationalUnit\nou: Old");
    for unit in 0..UNITS {
        let name = format!("ou=u{unit},{TOP}");
        put(
            &name,
            &format!("objectClass: organizationalUnit\nou: u{unit}"),
        );
    }
    for number in 0..PEOPLE {
        let name = format!("uid=p{number},ou=u{},{TOP}", number % UNITS);
        let rest = format!(
            "objectClass: inetOrgPerson\nuid: p{number}\ncn: Person {number}\nsn: Person\n\
             mail: p{number}@example.com\ndescription: one of very many people here"
        );
        put(&name, &rest);
    }
    put(
        &format!("cn=beside,{SUFFIX}"),
        "objectClass: person\ncn: beside\nsn: beside",
    );
    let file = pando.folder.join("old.ldif");
    std::fs::write(&file, ldif).expect("our own file");
    let file = file.to_string_lossy().into_owned();
    pando.run_on_node(&["import"], &[&file]).expect(0);
    let settings = "listen = [\"ldap://127.0.0.1:0\"]\n\n[log]\nlevel = \"info\"\n";
    std::fs::write(pando.node().join("pando.toml"), settings).expect("our own file");
    pando
}

fn tree_delete(client: &mut Client) -> Duration {
    let begun = Instant::now();
    let controls = [OwnedControl::new(oid::TREE_DELETE, true)];
    let request = Request::Delete(DeleteRequest { entry: TOP });
    client.call(&request, &controls).outcome.expect_success();
    begun.elapsed()
}

/// Returns how many exist of three people far apart and of the top.
fn seen(client: &mut Client) -> (usize, bool) {
    let filter = "(|(uid=p0)(uid=p30000)(uid=p59999))";
    let found = client.search(SUFFIX, Scope::WholeSubtree, filter, &["1.1"]);
    let top = client.search(TOP, Scope::BaseObject, "(objectClass=*)", &["1.1"]);
    (found.entries.len(), top.outcome.code == ResultCode::SUCCESS)
}

/// Checks that everything or nothing is there, and that deleted entries do not return.
fn watch(mut client: Client, done: &AtomicBool) -> usize {
    let (mut gone, mut looks) = (false, 0);
    while !done.load(Ordering::SeqCst) {
        // The state is read by two searches: the subtree may be deleted between them.
        let (people, top) = seen(&mut client);
        assert!(people == 3 || people == 0 && !top, "{people} {top}");
        assert!(!gone || people == 0, "{people} came back");
        if people == 0 {
            gone = true;
            let everything = client.search(SUFFIX, Scope::WholeSubtree, "(!(cn=x))", &["1.1"]);
            assert_eq!(everything.entries.len(), OTHERS);
            let base = client.read(SUFFIX).expect("it is there");
            assert_eq!(base.values("numSubordinates"), [b"1"]);
        }
        looks += 1;
    }
    assert!(gone);
    looks
}

/// Writes one after another; returns the number of writes, and the time of the slowest.
fn write_on(mut client: Client, done: &AtomicBool) -> (usize, Duration) {
    let (mut writes, mut slowest) = (0, Duration::ZERO);
    while !done.load(Ordering::SeqCst) {
        let begun = Instant::now();
        let change = Modification::replace("description", &[&format!("write {writes}")]);
        let name = format!("cn=beside,{SUFFIX}");
        client.modify(&name, &[change]).expect_success();
        slowest = slowest.max(begun.elapsed());
        writes += 1;
    }
    (writes, slowest)
}

fn sync(client: &mut Client, mode: SyncMode, cookie: Option<&str>) -> MessageId {
    let reload_hint = false;
    let cookie = cookie.map(str::as_bytes);
    let request = SyncRequest {
        mode,
        cookie,
        reload_hint,
    };
    let control = OwnedControl::with_value(oid::SYNC_REQUEST, true, |out| request.encode(out));
    let filter = "(!(cn=beside))";
    let select = ["1.1"];
    client.send_search(
        SUFFIX,
        Scope::WholeSubtree,
        filter,
        &select,
        &[control],
        |_| {},
    )
}

type Ids = BTreeSet<[u8; 16]>;

/// Receives a provider's messages: present entries, deleted entries, and the final cookie.
fn take(client: &mut Client, id: MessageId, there: &mut Ids, gone: &mut Ids) -> Option<String> {
    let (of, event) = client.receive();
    assert_eq!(of, id);
    match event {
        Event::Entry(_, controls) => {
            let state = controls.iter().find(|(it, _)| it == oid::SYNC_STATE);
            let value = state.and_then(|(_, value)| value.clone()).expect("a state");
            let value = SyncStateValue::decode(&value).expect("it decodes");
            match value.state {
                protocol::control::SyncState::Delete => gone.insert(value.entry_uuid),
                _ => there.insert(value.entry_uuid),
            };
            None
        }
        Event::Intermediate(_, value) => {
            let value = value.expect("a value");
            match SyncInfo::decode(&value).expect("it decodes") {
                SyncInfo::IdSet {
                    refresh_deletes,
                    entry_uuids,
                    ..
                } => {
                    assert!(refresh_deletes, "nothing is named that is unchanged");
                    gone.extend(entry_uuids);
                    None
                }
                SyncInfo::NewCookie(it) => Some(String::from_utf8_lossy(it).into_owned()),
                SyncInfo::RefreshDelete { cookie, .. }
                | SyncInfo::RefreshPresent { cookie, .. } => {
                    Some(String::from_utf8_lossy(cookie.expect("a cookie")).into_owned())
                }
            }
        }
        Event::Done(outcome) => {
            let value = outcome
                .control(oid::SYNC_DONE)
                .expect("the end of a refresh");
            let done = protocol::control::SyncDone::decode(value).expect("it decodes");
            let cookie = done.cookie.expect("a cookie");
            Some(String::from_utf8_lossy(cookie).into_owned())
        }
        Event::Reference(urls) => panic!("{urls:?}"),
    }
}

/// Returns the UUIDs present and deleted that a provider reports up to the next cookie, and that
/// cookie.
fn until_cookie(client: &mut Client, id: MessageId) -> (Ids, Ids, String) {
    let (mut there, mut gone) = (Ids::new(), Ids::new());
    loop {
        if let Some(cookie) = take(client, id, &mut there, &mut gone) {
            return (there, gone, cookie);
        }
    }
}

fn deletions(client: &mut Client) -> MessageId {
    let asked = PersistentSearch {
        change_types: ChangeType::Delete as u8,
        changes_only: true,
        return_entry_changes: true,
    };
    let oid = oid::PERSISTENT_SEARCH;
    let control = OwnedControl::with_value(oid, true, |out| asked.encode(out));
    let select = ["1.1"];
    client.send_search(
        SUFFIX,
        Scope::WholeSubtree,
        "(uid=*)",
        &select,
        &[control],
        |_| {},
    )
}

fn bytes_of_database(pando: &Pando) -> u64 {
    let file = pando.node().join("data/pando.mdb");
    std::fs::metadata(file).expect("it is there").len()
}

#[test]
fn sixty_thousand_entries_go_at_once() {
    let mut pando = node();
    pando.serve_as_configured();
    let mut follower = pando.admin();
    let sync_id = sync(&mut follower, SyncMode::RefreshAndPersist, None);
    let (mut there, _, _) = until_cookie(&mut follower, sync_id);
    assert_eq!(there.len(), SUBTREE + OTHERS - 1);
    let mut listener = pando.admin();
    let psearch_id = deletions(&mut listener);
    let done = AtomicBool::new(false);
    let mut admin = pando.admin();
    let clients = (pando.admin(), pando.admin());
    let process = pando.process();
    let (took, writes, slowest) = thread::scope(|scope| {
        let watcher = scope.spawn(|| watch(clients.0, &done));
        let writer = scope.spawn(|| write_on(clients.1, &done));
        let finally = EnoughAtEnd(&done);
        let took = tree_delete(&mut admin);
        assert_eq!(seen(&mut admin), (0, false));
        process.wait_for(REMOVED, |line| line.contains(REMOVED).then_some(()));
        drop(finally);
        watcher.join().expect("all or nothing");
        let (writes, slowest) = writer.join().expect("writes go on");
        (took, writes, slowest)
    });
    println!("deleted in {took:?}; {writes} writes meanwhile, the slowest took {slowest:?}");
    assert!(took < WRITE_TAKES_MAX && slowest < WRITE_TAKES_MAX);
    assert!(writes > 20, "{writes} writes");

    // The followers heard of each entry, by its UUID and by its name.
    let (_, gone, _) = until_cookie(&mut follower, sync_id);
    assert_eq!(gone.len(), SUBTREE);
    there.retain(|it| !gone.contains(it));
    assert_eq!(there.len(), OTHERS - 1);
    let mut names = BTreeSet::new();
    while names.len() < PEOPLE {
        let (of, event) = listener.receive();
        assert_eq!(of, psearch_id);
        let Event::Entry(entry, controls) = event else {
            panic!("{event:?}");
        };
        let (_, value) = &controls[0];
        let notice = EntryChangeNotification::decode(value.as_deref().expect("a value"));
        assert_eq!(notice.expect("it decodes").change_type, ChangeType::Delete);
        assert!(entry.name.ends_with(TOP), "{}", entry.name);
        assert!(names.insert(entry.name), "told twice");
    }

    // Freed pages are reused once a checkpoint has released them, as stopping does. Each add
    // replaces some 20 pages, which the next checkpoint frees.
    assert!(pando.stop().success());
    pando.serve();
    let mut admin = pando.admin();
    let before = bytes_of_database(&pando);
    let pages_before = before / 4096;
    for number in 0..500 {
        let mut entry = people::person(&format!("new{number}"));
        entry.name = format!("uid=new{number},{SUFFIX}");
        admin.add(&entry).expect_success();
    }
    assert!(pando.stop().success());
    let grown = (bytes_of_database(&pando) / 4096).saturating_sub(pages_before);
    assert!(
        grown < 500,
        "the file grew by {grown} pages from {pages_before}"
    );
    pando.assert_clean();
}

#[test]
fn crashes_change_nothing_of_it() {
    let mut pando = node();
    pando.serve_as_configured();
    let mut client = pando.admin();
    let id = sync(&mut client, SyncMode::RefreshOnly, None);
    let (there, _, cookie) = until_cookie(&mut client, id);
    assert_eq!(there.len(), SUBTREE + OTHERS - 1);
    tree_delete(&mut client);
    pando.kill();
    for crash in [true, false] {
        pando.serve_as_configured();
        let mut client = pando.admin();
        assert_eq!(seen(&mut client), (0, !crash));
        if crash {
            // The name is used again while most of the old entries are still stored.
            client.add(&people::unit("Old")).expect_success();
            assert_eq!(
                client.read(TOP).expect("new").values("numSubordinates"),
                [b"0"]
            );
            pando.kill();
            pando.assert_clean();
        } else {
            // A client that was away hears of each entry, before or after it is removed for good.
            let id = sync(&mut client, SyncMode::RefreshOnly, Some(&cookie));
            let (added, gone, _) = until_cookie(&mut client, id);
            assert_eq!((added.len(), gone.len()), (1, SUBTREE));
            assert!(gone.is_subset(&there));
            let process = pando.process();
            let line = process.wait_for(REMOVED, |it| it.contains(REMOVED).then(|| it.to_owned()));
            println!("{line}");
            let found = client.search(SUFFIX, Scope::WholeSubtree, "(!(cn=x))", &["1.1"]);
            assert_eq!(found.entries.len(), OTHERS + 1);
        }
    }
    assert!(pando.stop().success());
    pando.assert_clean();
}
