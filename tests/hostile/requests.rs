//! Single requests of great cost: memory and time of the server stay bounded.

use std::io::{ErrorKind, Read};

use conformance::Controls;
use kit::client::{Event, Modification};
use kit::process::until;
use kit::{Client, Entry, Pando, SUFFIX};
use protocol::control::{DereferenceRequest, DereferenceResponse, DereferenceSpecification};
use protocol::{OwnedControl, Scope, oid};

use crate::crowds::{come, with_people};
use crate::{Bystander, served};

/// Memory that one request may add to the server's peak at most: buffers of a slice, its output,
/// and pages that the allocator keeps.
const MEMORY_KIB_MAX: u64 = 32 * 1024;

/// Adds a group of the first people.
fn add_group(pando: &Pando, name: &str, members: usize) {
    let class = ["groupOfNames"];
    let mut group = Entry::of(&format!("cn={name},{SUFFIX}"), &[("objectClass", &class)]);
    group.push("cn", name.into());
    for number in 0..members {
        group.push("member", format!("uid=p{number},{SUFFIX}").into());
    }
    pando.admin().add(&group).expect_success();
}

/// Returns the control that follows `member` to these attributes.
fn dereference(wanted: &[&str]) -> OwnedControl {
    let request = DereferenceRequest {
        specifications: vec![DereferenceSpecification {
            attribute: "member",
            wanted: wanted.to_vec(),
        }],
    };
    OwnedControl::with_value(oid::DEREFERENCE, true, |out| request.encode(out))
}

/// Returns one entry, with its controls.
fn ask(
    client: &mut Client,
    name: &str,
    select: &[&str],
    controls: &[OwnedControl],
) -> (Entry, Controls) {
    let (name, scope) = (format!("{name},{SUFFIX}"), Scope::BaseObject);
    let id = client.send_search(&name, scope, "(objectClass=*)", select, controls, |_| {});
    let (_, event) = client.receive();
    let Event::Entry(entry, controls) = event else {
        panic!("expected an entry, got {event:?}");
    };
    client
        .try_finish(id)
        .expect("answered")
        .outcome
        .expect_success();
    (entry, controls)
}

/// Runs `requests`, and returns by how many KiB they raised the server's peak memory.
fn raised_by(pando: &mut Pando, requests: impl FnOnce(&mut Client)) -> u64 {
    let bystander = Bystander::of(pando.address());
    let mut client = pando.client();
    let before = pando.process().peak_memory_kib();
    requests(&mut client);
    let after = pando.process().peak_memory_kib();
    bystander.noticed_nothing();
    eprintln!("{before} KiB at most before, {after} KiB at most after");
    after - before
}

#[test]
fn dereference_returns_an_attribute_once_however_often_it_is_named() {
    let mut pando = served();
    add_group(&pando, "few", 100);
    let raised = raised_by(&mut pando, |client| {
        let control = dereference(&["description"; 1_000]);
        let (_, controls) = ask(client, "cn=few", &["cn"], &[control]);
        let value = controls[0].1.as_deref().expect("a value");
        let response = DereferenceResponse::decode(value).expect("a response");
        assert_eq!(response.results.len(), 100);
        for result in &response.results {
            assert_eq!(result.attributes.len(), 1, "{}", result.name);
        }
    });
    assert!(raised < MEMORY_KIB_MAX, "{raised} KiB");
}

#[test]
fn an_entry_whose_dereferenced_values_take_too_much_comes_without_them() {
    let pando = served();
    let mut admin = pando.admin();
    let mut photo = Modification::add("jpegPhoto", &[]);
    photo.values = vec![[&b"\xff\xd8\xff\xe0"[..], &[7; 30_000]].concat()];
    for number in 0..50 {
        let name = format!("uid=p{number},{SUFFIX}");
        admin
            .modify(&name, std::slice::from_ref(&photo))
            .expect_success();
    }
    add_group(&pando, "few", 10);
    add_group(&pando, "all", 50);
    let control = [dereference(&["jpegPhoto"])];
    let mut client = pando.client();
    assert_eq!(ask(&mut client, "cn=few", &["cn"], &control).1.len(), 1);
    let (entry, controls) = ask(&mut client, "cn=all", &["cn"], &control);
    assert_eq!(entry.text("cn"), "all");
    assert!(controls.is_empty(), "1.5 MB of photos in one control");
}

#[test]
fn one_range_of_an_attribute_is_returned_however_many_are_named() {
    let mut pando = served();
    add_group(&pando, "few", 100);
    let ranges: Vec<String> = (50..4_000)
        .map(|it| format!("member;range=0-{it}"))
        .collect();
    let raised = raised_by(&mut pando, |client| {
        let select: Vec<&str> = ranges.iter().map(String::as_str).collect();
        let (entry, _) = ask(client, "cn=few", &select, &[]);
        assert_eq!(entry.attributes.len(), 1);
        assert_eq!(entry.values("member;range=0-50").len(), 51);
        let (entry, _) = ask(client, "uid=p1", &["description;range=0-*"; 4_000], &[]);
        assert_eq!(entry.attributes.len(), 1);
    });
    assert!(raised < MEMORY_KIB_MAX, "{raised} KiB");
}

#[test]
fn more_attributes_than_a_search_may_name_are_refused() {
    let pando = served();
    let mut client = pando.client();
    let select = ["@person"; 4_097];
    let found = client.search(SUFFIX, Scope::BaseObject, "(objectClass=*)", &select);
    assert!(
        found.outcome.diagnostic.contains("4096"),
        "{:?}",
        found.outcome
    );
    let found = client.search(SUFFIX, Scope::BaseObject, "(objectClass=*)", &select[1..]);
    found.outcome.expect_success();
}

/// Returns the bytes that the monitor reports as kept for clients.
pub fn kept(pando: &Pando) -> u64 {
    let name = "cn=Request Memory,cn=Statistics,cn=monitor";
    let found = pando
        .admin()
        .search(name, Scope::BaseObject, "(objectClass=*)", &["+"]);
    let text = found.only().text("monitorCounter").to_owned();
    text.parse().expect("a number")
}

#[test]
fn parts_of_messages_take_no_more_memory_than_they_may() {
    const MIB: u64 = 1 << 20;
    let mut pando = Pando::init();
    let settings = "listen = [\"ldap://127.0.0.1:0\"]\n[connections]\nmemory_mib_max = 8\n";
    std::fs::write(pando.node().join("pando.toml"), settings).expect("our own folder");
    pando.serve_as_configured();
    let begun = [&b"\x30\x83\x0f\x42\x40"[..], &[0; 900_000]].concat();
    let mut crowd: Vec<Client> = (0..30).map(|_| pando.client()).collect();
    for client in &mut crowd {
        // The server may close a refused connection while the client sends.
        let _ = client.send_raw(&begun);
    }
    let mut closed = 0;
    until("most of them are closed", || {
        closed = crowd.iter_mut().map(|it| usize::from(is_closed(it))).sum();
        (closed >= 20).then_some(())
    });
    assert!(closed < 30, "eight megabytes are there for some of them");
    assert!(kept(&pando) <= 8 * MIB, "{} bytes are kept", kept(&pando));
    drop(crowd);
    until("all is given back", || (kept(&pando) == 0).then_some(()));
}

/// Returns whether the server has closed the connection, without waiting.
fn is_closed(client: &mut Client) -> bool {
    let stream = client.stream();
    stream.set_nonblocking(true).expect("a socket");
    loop {
        match stream.read(&mut [0; 4_096]) {
            Ok(0) => return true,
            Ok(_) => {}
            Err(error) => return error.kind() != ErrorKind::WouldBlock,
        }
    }
}

/// Serves people on one thread, so that a request that blocks it blocks all.
fn with_one_thread() -> Pando {
    let mut pando = with_people();
    let settings = "listen = [\"ldap://127.0.0.1:0\"]\n[threads]\nserving = 1\n";
    std::fs::write(pando.node().join("pando.toml"), settings).expect("our own folder");
    pando.serve_as_configured();
    pando
}

/// Returns `(|(description=*0nothing*)…)` with so many parts, none of which is true.
fn fruitless(parts: usize) -> String {
    let parts: String = (0..parts)
        .map(|it| format!("(description=*{it}nothing*)"))
        .collect();
    format!("(|{parts})")
}

/// Number of parts of a filter that takes long, also for a server that has a processor for itself
/// while its clients wait for one.
const LONG: usize = 1_000;

/// A client with short requests gets its answers during another client's long search.
fn leaves_others_their_turn(pando: &Pando, base: &str, filter: &str) {
    let (mut greedy, mut other) = (pando.client(), pando.client());
    assert_eq!(other.who_am_i(), "");
    let id = greedy.send_search(base, Scope::WholeSubtree, filter, &["1.1"], &[], |_| {});
    // Each request waits for a slice; the long search takes many, also in an optimised build.
    for _ in 0..3 {
        assert_eq!(other.who_am_i(), "");
    }
    assert_eq!(come(greedy.stream()), 0, "the long search went before");
    greedy.stream().set_nonblocking(false).expect("a socket");
    greedy
        .try_finish(id)
        .expect("answered")
        .outcome
        .expect_success();
}

#[test]
fn a_long_filter_on_many_entries_leaves_others_their_turn() {
    let pando = with_one_thread();
    leaves_others_their_turn(&pando, SUFFIX, &fruitless(LONG));
}

#[test]
fn a_long_filter_on_one_entry_leaves_others_their_turn() {
    let pando = with_one_thread();
    let name = format!("cn=many,{SUFFIX}");
    let values: Vec<String> = (0..4_000).map(|it| format!("value {it}")).collect();
    let values: Vec<&str> = values.iter().map(String::as_str).collect();
    let attributes: [(&str, &[&str]); 4] = [
        ("objectClass", &["person"]),
        ("cn", &["many"]),
        ("sn", &["many"]),
        ("description", &values),
    ];
    pando
        .admin()
        .add(&Entry::of(&name, &attributes))
        .expect_success();
    leaves_others_their_turn(&pando, &name, &fruitless(LONG));
    // Filters evaluated in slices give the right result.
    for (filter, matches) in [
        (format!("(&(cn=many)(!{}))", fruitless(300)), 1),
        (format!("(|{}(description=value 999))", fruitless(300)), 1),
        (format!("(&(description=value 7){})", fruitless(300)), 0),
    ] {
        let found = pando
            .client()
            .search(&name, Scope::BaseObject, &filter, &["1.1"]);
        assert_eq!(found.entries.len(), matches, "{}…", &filter[..30]);
    }
}

#[test]
fn a_filter_that_is_too_heavy_is_refused() {
    let pando = served();
    let mut client = pando.client();
    let rules: String = (0..65)
        .map(|it| format!("(:caseIgnoreMatch:={it})"))
        .collect();
    for filter in [fruitless(1_025), format!("(|{rules})")] {
        let found = client.search(SUFFIX, Scope::WholeSubtree, &filter, &["1.1"]);
        assert_eq!(
            found.outcome.code,
            protocol::ResultCode::ADMIN_LIMIT_EXCEEDED
        );
    }
    let names: String = (0..10_000).map(|it| format!("(uid={it})")).collect();
    let found = client.search(
        SUFFIX,
        Scope::WholeSubtree,
        &format!("(|{names})"),
        &["1.1"],
    );
    found.outcome.expect_success();
}
