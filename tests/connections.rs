//! Many connections: the cost of each, their admission, and the refusal beyond the limits.

use std::fs;
use std::io::Read;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use kit::client::{Event, Modification};
use kit::process::until;
use kit::{ADMIN, Client, PASSWORD, PATIENCE, Pando, SUFFIX, people};
use protocol::{ExtendedRequest, Request, ResultCode, Scope, oid};

/// Number of connections that fit where a process may open 1,024 files: a client here uses two.
const MANY: usize = 200;
/// Memory of the server in bytes, beside the kernel's, that an idle connection may take at most.
const BYTES_MAX: usize = 4096;

fn node(settings: &str) -> Pando {
    let mut pando = Pando::init();
    let text = format!("listen = [\"ldap://127.0.0.1:0\"]\n[connections]\n{settings}\n");
    fs::write(pando.node().join("pando.toml"), text).expect("our own folder");
    pando.serve_as_configured();
    pando
}

/// Returns the memory of a process that is not backed by files.
fn anonymous_bytes(pid: u32) -> usize {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("the process runs");
    let line = status.lines().find_map(|it| it.strip_prefix("RssAnon:"));
    let kilobytes = line.and_then(|it| it.split_whitespace().next()?.parse::<usize>().ok());
    kilobytes.expect("RssAnon in kB") * 1024
}

/// Opens connections that have bound and searched once.
fn used_connections(pando: &Pando, count: usize) -> Vec<Client> {
    let each = |_| {
        let mut client = Client::connect(pando.address());
        client.bind(ADMIN, PASSWORD).expect_success();
        let found = client.search(SUFFIX, Scope::BaseObject, "(objectClass=*)", &["*"]);
        assert_eq!(found.entries.len(), 1);
        client
    };
    (0..count).map(each).collect()
}

#[test]
fn an_idle_connection_costs_little() {
    let mut pando = node("");
    // The first connections also grow shared memory: buffers, caches, the allocator's pages.
    let first = used_connections(&pando, 50);
    let pid = pando.process().pid();
    let before = anonymous_bytes(pid);
    let mut many = used_connections(&pando, MANY);
    let each = anonymous_bytes(pid).saturating_sub(before) / MANY;
    assert!(each <= BYTES_MAX, "{each} bytes for each connection");
    for client in many.iter_mut().rev() {
        assert_eq!(client.who_am_i(), format!("dn:{ADMIN}"));
    }
    drop((first, many));
}

#[test]
fn connections_that_come_at_once_are_all_taken_in() {
    let pando = node("");
    // All connections are opened before the first answer is read.
    let streams: Vec<TcpStream> = (0..MANY)
        .map(|_| TcpStream::connect(pando.address()).expect("the queue is longer than this"))
        .collect();
    for stream in streams {
        let mut client = Client::over(stream).expect("a socket");
        assert_eq!(client.who_am_i(), "");
    }
}

#[test]
fn beyond_the_limit_clients_hear_why_and_the_log_hears_it_once() {
    let mut pando = node("total_max = 12\nper_address_max = 10");
    let log = pando.process().log();
    let said = "up to 12 connections at a time (connections.total_max); 10 of them from \
                one address";
    assert!(log.contains(said), "{log}");
    let first = used_connections(&pando, 10);
    for _ in 0..20 {
        let mut client = Client::connect(pando.address());
        let Ok((0, Event::Done(outcome))) = client.try_receive() else {
            panic!("expected a Notice of Disconnection");
        };
        assert_eq!(outcome.code, ResultCode::UNAVAILABLE);
        let why = "limit of 10 connections at a time from one address is reached: close one first";
        assert_eq!(outcome.diagnostic, why);
        assert!(client.is_closed_by_server());
    }
    let process = pando.process();
    process.wait_for("connections refused", |line| {
        line.contains("connections refused").then_some(())
    });
    // There is one line for an interval, and the test has not taken many of them.
    let lines = process.log().matches("connections refused").count();
    assert!(lines < 5, "{}", process.log());
    drop(first);
    // The server notices free room with a delay.
    let deadline = Instant::now() + PATIENCE;
    let taken_in = || {
        let request = Request::Extended(ExtendedRequest {
            name: oid::WHO_AM_I,
            value: None,
        });
        let mut client = Client::connect(pando.address());
        let sent = client.try_send(&request, &[]);
        sent.is_ok_and(|id| client.try_receive().is_ok_and(|it| it.0 == id))
    };
    while !taken_in() {
        assert!(Instant::now() < deadline, "there is no room again");
    }
}

#[test]
fn a_client_that_asks_before_it_hears_still_hears_why() {
    let pando = node("total_max = 1");
    let first = used_connections(&pando, 1);
    let mut second = Client::connect(pando.address());
    // The write may fail: the server has closed its side already.
    second
        .send_raw(b"\x30\x0c\x02\x01\x01\x60\x07\x02\x01\x03\x04\x00\x80\x00")
        .ok();
    let stream = second.stream();
    stream
        .set_read_timeout(Some(Duration::from_secs(30)))
        .expect("a timeout");
    let mut heard = Vec::new();
    stream.read_to_end(&mut heard).ok();
    let text = String::from_utf8_lossy(&heard);
    assert!(
        text.contains("limit of 1 connections at a time is reached"),
        "{text:?}"
    );
    drop(first);
}

#[test]
fn a_client_that_is_gone_leaves_nothing_under_way() {
    let pando = node("");
    let mut admin = pando.admin();
    let mut person = people::person("ada");
    person.name = format!("uid=ada,{SUFFIX}");
    admin.add(&person).expect_success();
    let mut gone = pando.admin();
    // The answer stays unread, so that closing resets the connection.
    let request = Request::Extended(ExtendedRequest {
        name: oid::WHO_AM_I,
        value: None,
    });
    gone.send(&request, &[]);
    // Other requests wait until the password is hashed.
    let password = Modification::replace("userPassword", &["a new one"]);
    gone.try_send_modify(&person.name, &[password], &[])
        .expect("sent");
    for number in 0..5 {
        let change = Modification::replace("sn", &[&format!("Name {number}")]);
        gone.try_send_modify(&person.name, &[change], &[])
            .expect("sent");
    }
    let mut counts = || {
        let shown = admin.read("cn=Modify,cn=Operations,cn=monitor");
        let shown = shown.expect("the administrator sees it");
        ["monitorOpInitiated", "monitorOpCompleted"].map(|it| shown.text(it))
    };
    until("they have begun", || (counts()[0] == "6").then_some(()));
    drop(gone);
    until("they have ended", || {
        let [begun, ended] = counts();
        (begun == ended).then_some(())
    });
}
