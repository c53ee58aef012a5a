//! Too many, too slow, or unread connections, which cost the server resources.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;

use kit::client::Modification;
use kit::process::until;
use kit::{Client, Pando, SUFFIX};
use protocol::{Filter, Request, Scope, SearchRequest};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::{Bystander, served};

/// Raises the limit of open files for this process, and returns the number of sockets to use.
pub fn sockets_max(wanted: usize) -> usize {
    let limit = getrlimit(Resource::Nofile);
    setrlimit(
        Resource::Nofile,
        Rlimit {
            current: limit.maximum,
            maximum: limit.maximum,
        },
    )
    .ok();
    let now = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    wanted.min(
        usize::try_from(now)
            .unwrap_or(usize::MAX)
            .saturating_sub(200),
    )
}

#[test]
fn thousands_of_half_open_connections() {
    let mut pando = served();
    let bystander = Bystander::of(pando.address());
    let before = pando.process().anonymous_memory_kib();
    let count = sockets_max(8_000);
    let mut crowd = Vec::with_capacity(count);
    for number in 0..count {
        let mut stream = TcpStream::connect(pando.address()).expect("the server accepts");
        // Half of the clients send the beginning of a bind and never the rest.
        if number % 2 == 0 {
            stream
                .write_all(b"\x30\x0c\x02\x01")
                .expect("the connection is fresh");
        }
        crowd.push(stream);
    }
    until("the server has them all", || {
        (pando.process().open_files() >= count).then_some(())
    });
    let mut client = Client::connect(pando.address());
    assert_eq!(
        client
            .search(SUFFIX, Scope::BaseObject, "(dc=*)", &["dc"])
            .entries
            .len(),
        1
    );
    let during = pando.process().anonymous_memory_kib();
    let each = (during.saturating_sub(before)) * 1024 / count as u64;
    eprintln!("{count} connections, {each} bytes each");
    assert!(
        each < 16 * 1024,
        "{each} bytes for a connection that does nothing"
    );
    drop(crowd);
    until("the server lets them go", || {
        (pando.process().open_files() < 200).then_some(())
    });
    bystander.noticed_nothing();
}

#[test]
fn clients_that_never_read() {
    let mut pando = served();
    let bystander = Bystander::of(pando.address());
    let before = pando.process().anonymous_memory_kib();
    let mut deaf = Vec::new();
    for _ in 0..50 {
        let mut client = pando.client();
        let timeout = std::time::Duration::from_millis(200);
        client
            .stream()
            .set_write_timeout(Some(timeout))
            .expect("a positive timeout");
        // Each client requests 400 KB a thousand times: 20 GB in all, if the server kept them.
        for _ in 0..1_000 {
            let sent = send_large_search(&mut client);
            if sent.is_err() {
                break;
            }
        }
        deaf.push(client);
    }
    let during = pando.process().anonymous_memory_kib();
    eprintln!("50 deaf clients: {before} KiB before, {during} KiB during");
    assert!(
        during < before + 256 * 1024,
        "{before} KiB before, {during} KiB during"
    );
    bystander.noticed_nothing();
    drop(deaf);
}

fn send_large_search(client: &mut Client) -> std::io::Result<()> {
    let filter = protocol::Filter::Present("objectClass");
    let request = protocol::SearchRequest {
        base: SUFFIX,
        scope: Scope::WholeSubtree,
        deref_aliases: protocol::DerefAliases::Never,
        size_limit: 0,
        time_limit_s: 0,
        types_only: false,
        filter,
        attributes: vec!["*"],
    };
    client
        .try_send(&protocol::Request::Search(request), &[])
        .map(|_| ())
}

#[test]
fn clients_that_dribble() {
    let pando = served();
    let bystander = Bystander::of(pando.address());
    let mut message = Vec::new();
    let request = protocol::Request::Extended(protocol::ExtendedRequest {
        name: "1.3.6.1.4.1.4203.1.11.3",
        value: None,
    });
    protocol::write_request(&mut message, 1, &request, &[]);
    let mut crowd: Vec<Client> = (0..200).map(|_| pando.client()).collect();
    for byte in message.chunks(1) {
        for client in &mut crowd {
            client.send_raw(byte).expect("slow is not wrong");
        }
    }
    for client in &mut crowd {
        let (id, _) = client.receive();
        assert_eq!(id, 1);
    }
    bystander.noticed_nothing();
}

#[test]
fn endless_pipelines_share_time_fairly() {
    let mut pando = served();
    let bystander = Bystander::of(pando.address());
    let before = pando.process().anonymous_memory_kib();
    let address = pando.address();
    let greedy: Vec<_> = (0..4)
        .map(|_| {
            std::thread::spawn(move || {
                let mut client = Client::connect(address);
                for _ in 0..200 {
                    let scope = Scope::WholeSubtree;
                    let ids: Vec<_> = (0..20)
                        .map(|_| client.send_search(SUFFIX, scope, "(cn=*x*)", &[], &[], |_| {}))
                        .collect();
                    for id in ids {
                        client.try_finish(id).expect("answered in order");
                    }
                }
            })
        })
        .collect();
    for thread in greedy {
        thread.join().expect("every request is answered");
    }
    let after = pando.process().anonymous_memory_kib();
    assert!(
        after < before + 64 * 1024,
        "{before} KiB before, {after} KiB after"
    );
    bystander.noticed_nothing();
}

/// Encodes a search that reads all people and finds none, with an id of two bytes.
fn fruitless_search(id: i32) -> Vec<u8> {
    let request = Request::Search(SearchRequest {
        attributes: vec!["1.1"],
        ..SearchRequest::new(
            SUFFIX,
            Scope::WholeSubtree,
            Filter::Equality {
                attribute: "description",
                value: b"nothing",
            },
        )
    });
    let mut message = Vec::new();
    protocol::write_request(&mut message, 1_000 + id, &request, &[]);
    message
}

/// Serves a node with people, few enough that none of these searches needs a place.
pub fn with_people() -> Pando {
    let pando = Pando::init();
    let person = |n: u32| {
        format!(
            "dn: cn=p{n},{SUFFIX}\nobjectClass: person\ncn: p{n}\nsn: p{n}\n\
             description: somebody else, number {n}\n\n"
        )
    };
    let people: String = (0..1_900).map(person).collect();
    let file = pando.folder.write("people.ldif", people);
    let file = file.to_string_lossy().into_owned();
    pando.run_on_node(&["import"], &[&file]).expect(0);
    pando
}

/// Returns the number of bytes received.
pub fn come(stream: &mut TcpStream) -> usize {
    stream.set_nonblocking(true).expect("a socket");
    let (mut buffer, mut bytes) = ([0; 4096], 0);
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => panic!("the server is there"),
            Ok(count) => bytes += count,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return bytes,
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn hundreds_of_requests_at_once_leave_others_their_turn() {
    const SEARCHES: i32 = 600;
    let mut pando = with_people();
    let settings = "listen = [\"ldap://127.0.0.1:0\"]\n[threads]\nserving = 1\n";
    std::fs::write(pando.node().join("pando.toml"), settings).expect("our own folder");
    pando.serve_as_configured();
    let (mut greedy, mut other) = (pando.client(), pando.client());
    assert_eq!(other.who_am_i(), "");
    // The first search gives the length of an answer.
    let stream = greedy.stream();
    stream.write_all(&fruitless_search(-1)).expect("sent");
    let mut first = [0; 2];
    stream.read_exact(&mut first).expect("answered");
    let mut rest = vec![0; usize::from(first[1])];
    stream.read_exact(&mut rest).expect("answered");
    let answer = first.len() + rest.len();

    let all: Vec<u8> = (0..SEARCHES).flat_map(fruitless_search).collect();
    stream.write_all(&all).expect("sent");
    stream.read_exact(&mut [0]).expect("answered");
    assert_eq!(other.who_am_i(), "");
    let answered = (1 + come(greedy.stream())) / answer;
    eprintln!("{answered} of {SEARCHES} searches were answered before");
    assert!(
        answered < SEARCHES as usize / 2,
        "{answered} of {SEARCHES} searches went before"
    );
}

/// Serves a node like [`with_people`], with two serving threads.
fn with_two_threads() -> Pando {
    let mut pando = with_people();
    let settings = "listen = [\"ldap://127.0.0.1:0\"]\n[threads]\nserving = 2\n";
    std::fs::write(pando.node().join("pando.toml"), settings).expect("our own folder");
    pando.serve_as_configured();
    pando
}

#[test]
fn threads_that_never_rest_see_what_others_write() {
    let pando = with_two_threads();
    // Connections go to the thread with the fewest: each of both threads gets one of each kind.
    let mut greedy = [pando.client(), pando.client()];
    let mut looking = [pando.client(), pando.client()];
    let mut admin = pando.admin();
    let name = format!("cn=p7,{SUFFIX}");
    let all: Vec<u8> = (0..900).flat_map(fruitless_search).collect();
    for client in &mut greedy {
        client.stream().write_all(&all).expect("sent");
        client.stream().read_exact(&mut [0]).expect("answered");
    }
    for round in 0..20 {
        let text = format!("written {round}");
        let change = Modification::replace("description", &[&text]);
        admin.modify(&name, &[change]).expect_success();
        for client in &mut looking {
            let found = client.search(&name, Scope::BaseObject, "(objectClass=*)", &["*"]);
            assert_eq!(found.only().text("description"), text);
        }
    }
}
