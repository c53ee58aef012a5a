//! `cn=monitor`: what is counted, who may see it, and how it is searched.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod kit;

use directory::{Connections, Front, ListenerState};
use kit::{ADMIN, Answer, Client, PASSWORD};
use protocol::{CompareRequest, Request, ResultCode, Scope};
use std::sync::Arc;

const MONITOR: &str = "cn=monitor";

/// One entry of the monitor with everything it shows.
fn read(client: &mut Client, rdns: &str) -> Answer {
    let name = format!("{rdns}{MONITOR}");
    let answer = client.search(&name, Scope::BaseObject, "(objectClass=*)", &["*", "+"]);
    assert_eq!(answer.names(), [name.as_str()], "{:?}", answer.result);
    answer
}

/// A number that an entry of the monitor shows.
fn number(client: &mut Client, rdns: &str, attribute: &str) -> u64 {
    let answer = read(client, rdns);
    let values = answer.values(attribute);
    assert_eq!(values.len(), 1, "{rdns}: {attribute} {values:?}");
    values[0].parse().unwrap()
}

fn operations(client: &mut Client, name: &str) -> (u64, u64) {
    let rdns = format!("cn={name},cn=Operations,");
    (
        number(client, &rdns, "monitorOpInitiated"),
        number(client, &rdns, "monitorOpCompleted"),
    )
}

#[test]
fn operations_are_counted_by_kind() {
    let mut client = Client::admin();
    let mut other = client.another();
    assert_eq!(operations(&mut client, "Bind"), (1, 1));
    assert_eq!(operations(&mut client, "Add"), (0, 0));
    for name in ["ada", "bob"] {
        client.add_person(name);
    }
    let refused = client.add("cn=ada,dc=example,dc=com", &[("objectClass", &["person"])]);
    assert_ne!(refused.code, ResultCode::SUCCESS);
    assert_eq!(operations(&mut client, "Add"), (3, 3));
    assert_eq!(
        other.bind(ADMIN, "wrong").code,
        ResultCode::INVALID_CREDENTIALS
    );
    assert_eq!(operations(&mut client, "Bind"), (2, 2));
    let before = number(&mut client, "cn=Entries,cn=Statistics,", "monitorCounter");
    let people = other.search("dc=example,dc=com", Scope::SingleLevel, "(sn=*)", &["1.1"]);
    assert_eq!(people.entries.len(), 2);
    let after = number(&mut client, "cn=Entries,cn=Statistics,", "monitorCounter");
    // The two, and the entry of the monitor that told the number before.
    assert_eq!(after - before, 3);
    let (initiated, completed) = operations(&mut client, "Search");
    // The one that asks for the first number has begun and not ended.
    assert!(
        initiated >= 8 && completed + 1 >= initiated,
        "{completed} of {initiated}"
    );
    let all = number(&mut client, "cn=Operations,", "monitorOpInitiated");
    assert!(all > initiated, "{all} of all kinds");
}

#[test]
fn only_the_administrator_sees_the_monitor() {
    let mut client = Client::admin();
    client.add_person("ada");
    let mut nobody = client.another();
    for scope in [Scope::BaseObject, Scope::WholeSubtree] {
        let answer = nobody.search(MONITOR, scope, "(objectClass=*)", &["+"]);
        assert_eq!(answer.result.code, ResultCode::NO_SUCH_OBJECT);
        assert!(answer.entries.is_empty());
    }
    let compare = |client: &mut Client| {
        let request = CompareRequest {
            entry: "cn=Total,cn=Connections,cn=monitor",
            attribute: "cn",
            value: b"total",
        };
        client.call(&Request::Compare(request), &[]).result.code
    };
    assert_eq!(compare(&mut nobody), ResultCode::NO_SUCH_OBJECT);
    client.directory.set_front(Arc::new(Door));
    assert_eq!(compare(&mut client), ResultCode::COMPARE_TRUE);
    assert_eq!(nobody.bind(ADMIN, PASSWORD).code, ResultCode::SUCCESS);
    assert_eq!(compare(&mut nobody), ResultCode::COMPARE_TRUE);
    // The monitor is where the root DSE says, and no part of the data.
    let root = client.search(
        "",
        Scope::BaseObject,
        "(objectClass=*)",
        &["monitorContext"],
    );
    assert_eq!(root.values("monitorContext"), [MONITOR]);
    let everything = client.search("", Scope::WholeSubtree, "(cn=monitor)", &["1.1"]);
    assert!(everything.entries.is_empty());
    let refused = client.add("cn=x,cn=monitor", &[("objectClass", &["device"])]);
    assert_eq!(refused.code, ResultCode::NO_SUCH_OBJECT);
}

#[test]
fn the_monitor_is_searched_like_other_entries() {
    let mut client = Client::admin();
    let all = client.search(MONITOR, Scope::WholeSubtree, "(objectClass=*)", &["1.1"]);
    let below = client.search(MONITOR, Scope::Subordinate, "(objectClass=*)", &["1.1"]);
    assert_eq!(all.entries.len(), below.entries.len() + 1);
    let kinds = client.search(
        "cn=Operations,cn=monitor",
        Scope::SingleLevel,
        "(&(objectClass=monitorOperation)(monitorOpInitiated>=1))",
        &["monitorCounter"],
    );
    assert_eq!(
        kinds.names(),
        [
            "cn=Bind,cn=Operations,cn=monitor",
            "cn=Search,cn=Operations,cn=monitor"
        ]
    );
    // Both are subtypes of what was asked for.
    assert_eq!(kinds.entries[0].1.len(), 2);
    let missing = client.search(
        "cn=none,cn=Operations,cn=monitor",
        Scope::BaseObject,
        "(objectClass=*)",
        &[],
    );
    assert_eq!(missing.result.code, ResultCode::NO_SUCH_OBJECT);
    assert_eq!(missing.result.matched, MONITOR);
    let change = |request: &mut protocol::SearchRequest<'_>| request.size_limit = 3;
    let base = (MONITOR, Scope::WholeSubtree, "(objectClass=*)");
    let some = client.search_with(base.0, base.1, base.2, &["1.1"], change, &[]);
    assert_eq!(some.result.code, ResultCode::SIZE_LIMIT_EXCEEDED);
    assert_eq!(some.entries.len(), 3);
}

#[test]
fn database_and_writes_are_shown() {
    let mut client = Client::admin();
    for n in 0..20 {
        client.add_person(&format!("p{n}"));
    }
    let database = read(&mut client, "cn=Database,");
    let of = |attribute: &str| -> u64 { database.values(attribute)[0].parse().unwrap() };
    assert!(of("pandoFileBytes") > 100_000, "{}", of("pandoFileBytes"));
    assert!(of("pandoFileBytesFree") < of("pandoFileBytes"));
    assert!(of("pandoEntries") > 20);
    // The checkpoint's pin at least, and the search that asks.
    assert!(of("pandoReaders") >= 2);
    assert_eq!(database.values("pandoStateDigest")[0].len(), 32);
    let writes = read(&mut client, "cn=Writes,");
    assert_eq!(writes.values("pandoCommits"), ["20"]);
    assert_eq!(writes.values("pandoCommittedWrites"), ["20"]);
    assert_eq!(writes.values("pandoCommitSizes"), ["1: 20"]);
    assert_eq!(writes.values("pandoWritesWaiting"), ["0"]);
    assert!(writes.values("pandoLogBytes")[0].parse::<u64>().unwrap() >= 1 << 20);
    assert!(
        writes.values("pandoCheckpointAge")[0]
            .parse::<u64>()
            .unwrap()
            < 600
    );
    let index = read(&mut client, "cn=mail,cn=Indexes,");
    assert_eq!(index.values("pandoIndexKind"), ["equality"]);
    assert_eq!(index.values("pandoIndexState"), ["ready"]);
}

struct Door;

impl Front for Door {
    fn connections(&self) -> Connections {
        Connections {
            current: 2,
            accepted: 9,
            refused: 1,
            max: 100,
            listeners: vec![ListenerState {
                url: "ldap://127.0.0.1:389".to_owned(),
                current: 2,
                accepted: 9,
            }],
        }
    }

    fn reload(&self, _: directory::SetLimits<'_>) -> Result<String, String> {
        Err("a door has no settings".to_owned())
    }
}

#[test]
fn connections_are_those_of_who_listens() {
    let mut client = Client::admin();
    let connections = "cn=Connections,cn=monitor";
    let none = client.search(connections, Scope::BaseObject, "(objectClass=*)", &[]);
    assert_eq!(none.result.code, ResultCode::NO_SUCH_OBJECT);
    client.directory.set_front(Arc::new(Door));
    for (name, value) in [("Current", 2), ("Total", 9), ("Refused", 1), ("Max", 100)] {
        let rdns = format!("cn={name},cn=Connections,");
        assert_eq!(number(&mut client, &rdns, "monitorCounter"), value);
    }
    let listener = read(&mut client, "cn=Listener 0,cn=Listeners,");
    assert_eq!(listener.values("labeledURI"), ["ldap://127.0.0.1:389"]);
    assert_eq!(listener.values("monitorTotalListenerConnections"), ["9"]);
}

#[test]
fn an_index_that_is_dropped_is_cleared_away_and_may_come_again() {
    let mut client = Client::admin();
    for n in 0..300 {
        client.add_person(&format!("p{n}"));
    }
    let dn = "cn=sn,cn=indexes,cn=config";
    let index = [
        ("objectClass", &["pandoIndex"][..]),
        ("pandoIndexAttribute", &["sn"]),
        ("pandoIndexKind", &["equality", "substring"]),
    ];
    let state = |client: &mut Client| {
        let name = format!("cn=sn,cn=Indexes,{MONITOR}");
        let answer = client.search(&name, Scope::BaseObject, "(objectClass=*)", &["+"]);
        match answer.entries.is_empty() {
            true => None,
            false => answer
                .values("pandoIndexState")
                .first()
                .map(|it| (*it).to_owned()),
        }
    };
    for again_at_once in [true, false] {
        assert_eq!(client.add(dn, &index).code, ResultCode::SUCCESS);
        while state(&mut client).as_deref() != Some("ready") {
            std::thread::yield_now();
        }
        assert_eq!(client.delete_with(dn, &[]).result.code, ResultCode::SUCCESS);
        if again_at_once {
            continue;
        }
        // Without any other write.
        while state(&mut client).is_some() {
            std::thread::yield_now();
        }
    }
    let data = client.folder.path().to_owned();
    let folder = Arc::clone(&client.folder);
    client.close();
    let report = replica::check::check(&data).expect("checked");
    assert_eq!(report.problems, Vec::<String>::new());
    drop(folder);
}
