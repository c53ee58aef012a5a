//! Tests the server on real sockets, in front of a real directory.

use std::cell::RefCell;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant};

use directory::Options;
use protocol::{MessageId, oid};

use super::*;
use crate::kit::{ADMIN, Gate, Home, Owner, PATIENCE, SLICE_BYTES, heard, say, word};
use crate::settings::{Overrides, TlsFiles};

struct World {
    server: Server,
    home: RefCell<Home>,
    /// Stops the writer.
    gate: Arc<Gate>,
}

fn config(folder: &Path) -> Config {
    let overrides = Overrides {
        listen: vec!["ldap://127.0.0.1:0".to_owned()],
        threads: Some(2),
        ..Overrides::default()
    };
    Config::parse(folder, "[threads]\npinned = false\n", &overrides).unwrap()
}

impl World {
    fn new(change: impl FnOnce(&mut Config)) -> World {
        World::filled(change, |_| {})
    }

    fn filled(change: impl FnOnce(&mut Config), fill: impl FnOnce(&mut Owner)) -> World {
        let folder = tempfile::tempdir().unwrap();
        let mut config = config(folder.path());
        change(&mut config);
        let gate = Arc::new(Gate::default());
        let clock = Arc::clone(&gate);
        let options = Options {
            clock,
            ..config.directory_options()
        };
        let mut home = Home::at(folder, "data", &options);
        fill(&mut home.owner);
        let server = start_directory(config, home.directory.clone()).unwrap();
        World {
            server,
            home: RefCell::new(home),
            gate,
        }
    }

    /// Number of entries that were put into outputs for clients.
    fn entries_sent(&self) -> u64 {
        self.home.borrow_mut().owner.entries_sent()
    }

    /// Number of modify requests that were begun.
    fn writes_begun(&self) -> u64 {
        let (entry, attribute) = ("cn=Modify,cn=Operations", "monitorOpInitiated");
        self.home.borrow_mut().owner.monitored(entry, attribute)
    }

    /// Number of snapshots that are held, with that of the request which asks for it.
    fn readers(&self) -> u64 {
        let (entry, attribute) = ("cn=Database", "pandoReaders");
        self.home.borrow_mut().owner.monitored(entry, attribute)
    }

    /// A connection of the administrator.
    fn admin(&self) -> Client<TcpStream> {
        let mut client = self.connect();
        assert_eq!(client.ask(say::bind_admin(999)), "bind 999 success");
        client
    }

    /// A connection with a small buffer for received bytes, so that the server's output stays in
    /// the server's own buffers.
    fn connect_slowly(&self) -> Client<TcpStream> {
        let address: SocketAddr = self.server.addresses()[0].tcp().unwrap();
        let socket = socket2::Socket::new(
            socket2::Domain::for_address(address),
            socket2::Type::STREAM,
            None,
        )
        .unwrap();
        socket.set_recv_buffer_size(32 << 10).unwrap();
        socket.connect(&address.into()).unwrap();
        Client::of(socket.into())
    }

    fn connect(&self) -> Client<TcpStream> {
        self.connect_to(0)
    }

    fn connect_to(&self, at: usize) -> Client<TcpStream> {
        Client::of(TcpStream::connect(self.server.addresses()[at].tcp().unwrap()).unwrap())
    }

    fn wait_until(&self, condition: impl Fn(&World) -> bool) {
        let begun = Instant::now();
        while !condition(self) {
            assert!(begun.elapsed() < PATIENCE, "waited in vain");
            std::thread::yield_now();
        }
    }
}

struct Client<S> {
    stream: S,
    bytes: Vec<u8>,
}

impl Client<TcpStream> {
    fn of(stream: TcpStream) -> Client<TcpStream> {
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_nodelay(true).unwrap();
        Client {
            stream,
            bytes: Vec::new(),
        }
    }
}

impl<S: Read + Write> Client<S> {
    fn send(&mut self, messages: &[Vec<u8>]) {
        self.stream.write_all(&messages.concat()).unwrap();
    }

    /// The next message, in words; `None` at the end of the stream.
    fn next(&mut self) -> Option<String> {
        loop {
            if let Some(length) = protocol::frame(&self.bytes, usize::MAX).unwrap() {
                let word = word(&self.bytes[..length]);
                self.bytes.drain(..length);
                return Some(word);
            }
            let mut buffer = [0; 16 << 10];
            match self.stream.read(&mut buffer) {
                Ok(0) => return None,
                Ok(count) => self.bytes.extend_from_slice(&buffer[..count]),
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return None,
                Err(error) => panic!("{error}"),
            }
        }
    }

    fn ask(&mut self, message: Vec<u8>) -> String {
        self.send(&[message]);
        self.next().unwrap()
    }

    fn rest(&mut self) -> Vec<String> {
        std::iter::from_fn(|| self.next()).collect()
    }
}

#[test]
fn a_thousand_pipelined_requests_are_answered_in_order() {
    let world = World::new(|it| it.settings.database.warm_up = false);
    let idle = world.readers();
    let mut client = world.connect();
    client.send(&(1..=1000).map(say::compare).collect::<Vec<_>>());
    for id in 1..=1000 {
        assert_eq!(client.next().unwrap(), format!("compare {id} compareTrue"));
    }
    // A thread that waits holds no snapshot.
    world.wait_until(|it| it.readers() <= idle);
}

#[test]
fn bundles_arrive_whole_and_wrong_ones_after_their_time() {
    let world = World::new(|_| {});
    let mut client = world.admin();
    let bundle = |first: i32, announced| {
        let rest = (first + 1..first + 100).map(say::compare);
        let all = std::iter::once(say::announce(first, announced, Some(u32::MAX >> 1)));
        all.chain(rest).collect::<Vec<_>>()
    };
    let mut check = |messages: &[Vec<u8>], first: i32| {
        // One by one, so that each has a turn of its own.
        for message in messages {
            client.send(std::slice::from_ref(message));
        }
        for id in first..first + messages.len() as i32 {
            assert_eq!(client.next().unwrap(), format!("compare {id} compareTrue"));
        }
    };
    check(&bundle(1, 100), 1);
    check(&bundle(101, 7), 101);
    // More responses announced than sent: those present arrive when their time is over.
    check(&bundle(201, 5_000), 201);
    // Writes are answered from another thread.
    client.send(&[
        say::announce(301, 4, None),
        say::modify(302),
        say::modify(303),
    ]);
    client.send(&[say::modify(304), say::announce(305, 2, None)]);
    for id in 301..=305 {
        let word = client.next().unwrap();
        assert!(word.contains(&format!(" {id} ")), "{word}");
    }
    client.stream.shutdown(Shutdown::Write).unwrap();
    assert_eq!(client.rest(), Vec::<String>::new());
}

#[test]
fn writes_are_answered_from_the_writers_thread_and_reads_see_them() {
    let world = World::new(|_| {});
    let mut client = world.admin();
    let messages = (1..=300).map(say::modify).chain([say::compare(301)]);
    client.send(&messages.collect::<Vec<_>>());
    for id in 1..=300 {
        assert_eq!(client.next().unwrap(), format!("modify {id} success"));
    }
    assert_eq!(client.next().unwrap(), "compare 301 compareTrue");
    for id in 302..400 {
        assert_eq!(client.ask(say::modify(id)), format!("modify {id} success"));
    }
}

#[test]
fn many_clients_share_few_threads() {
    let world = World::filled(|_| {}, |it| it.computed("parked", 3));
    let mut clients: Vec<_> = (0..50).map(|_| world.admin()).collect();
    for round in 1..=3 {
        for client in &mut clients {
            client.send(&[say::list(round, "parked"), say::modify(100 + round)]);
        }
        for client in &mut clients {
            let answers: Vec<String> = (0..5).map(|_| client.next().unwrap()).collect();
            assert_eq!(answers[3], format!("done {round} success"));
            assert_eq!(answers[4], format!("modify {} success", 100 + round));
        }
    }
    assert_eq!(world.server.connections(), 50);
    drop(clients);
    world.wait_until(|it| it.server.connections() == 0);
}

#[test]
fn what_comes_at_once_on_many_connections_does_not_mix() {
    let world = World::filled(
        |it| it.threads = 1,
        |it| {
            it.person("cn=long", 100_000);
            it.people("long", 40, SLICE_BYTES);
        },
    );
    let mut clients: Vec<_> = (0..200).map(|_| world.admin()).collect();
    // Responses of all kinds and lengths, one longer than is sent at once. A connection that shares
    // a round with malformed input, with a parked search or with a client that has ended is served
    // like any other.
    let mut junk = world.connect();
    let mut ended = world.connect();
    let mut long = world.connect();
    long.send(&[say::list(1, "long")]);
    for id in 1..=20 {
        for (at, client) in clients.iter_mut().enumerate() {
            let id = id * 1000 + at as MessageId;
            match at % 4 {
                0 => client.send(&[say::search(id, "cn=long")]),
                1 => client.send(&[say::modify(id)]),
                2 => client.send(&[say::compare(id), say::compare(id + 1_000_000)]),
                _ => client.send(&[say::compare(id)]),
            }
        }
        if id == 10 {
            junk.send(&[vec![0x30, 0x03, 0x02, 0x01]]);
            junk.send(&[vec![0x00, 0x42, 0x00]]);
            ended.send(&[say::compare(7)]);
            ended.stream.shutdown(Shutdown::Write).unwrap();
        }
        for (at, client) in clients.iter_mut().enumerate() {
            let id = id * 1000 + at as MessageId;
            let mut next = || client.next().unwrap();
            match at % 4 {
                0 => {
                    assert_eq!(next(), format!("entry {id}"));
                    assert_eq!(next(), format!("done {id} success"));
                }
                1 => assert_eq!(next(), format!("modify {id} success")),
                2 => {
                    assert_eq!(next(), format!("compare {id} compareTrue"));
                    assert_eq!(next(), format!("compare {} compareTrue", id + 1_000_000));
                }
                _ => assert_eq!(next(), format!("compare {id} compareTrue")),
            }
        }
    }
    assert_eq!(ended.rest(), ["compare 7 compareTrue"]);
    assert_eq!(junk.rest().len(), 1, "a Notice of Disconnection");
}

#[test]
fn a_slow_reader_holds_little_and_others_do_not_notice() {
    // 12 MB in slices of 300 kB: more than sockets hold.
    let world = World::filled(|_| {}, |it| it.people("long", 40, SLICE_BYTES));
    let mut slow = world.connect_slowly();
    slow.send(&[say::list(1, "long")]);
    world.wait_until(|it| it.entries_sent() > 0);
    let mut others: Vec<_> = (0..4).map(|_| world.connect()).collect();
    for id in 2..200 {
        for other in &mut others {
            assert_eq!(
                other.ask(say::compare(id)),
                format!("compare {id} compareTrue")
            );
        }
    }
    let written = world.entries_sent();
    assert!(
        written < 25,
        "{written} entries were made for a client that reads none"
    );
    // An Abandon reaches the server while its output is blocked.
    slow.send(&[say::abandon(2, 1), say::compare(3)]);
    let answers = std::iter::from_fn(|| slow.next()).take_while(|it| it.starts_with("entry"));
    assert!(answers.count() < 25);
    assert_eq!(slow.ask(say::compare(4)), "compare 4 compareTrue");
}

#[test]
fn a_client_that_never_reads_is_dropped() {
    let world = World::filled(
        |it| it.connections.write_timeout = Duration::from_millis(500),
        |it| it.people("long", 40, SLICE_BYTES),
    );
    let mut never = world.connect_slowly();
    never.send(&[say::list(1, "long")]);
    world.wait_until(|it| it.server.connections() == 1);
    world.wait_until(|it| it.server.connections() == 0);
}

#[test]
fn hundreds_of_half_open_connections_hurt_nobody_and_are_closed() {
    let world = World::new(|it| it.connections.message_timeout = Duration::from_millis(1500));
    let mut served = world.connect();
    assert_eq!(served.ask(say::compare(1)), "compare 1 compareTrue");
    let half: Vec<_> = (0..400)
        .map(|at| {
            let mut client = world.connect();
            client.stream.write_all(&say::compare(1)[..at % 8]).unwrap();
            client
        })
        .collect();
    world.wait_until(|it| it.server.connections() == 401);
    for id in 2..100 {
        assert_eq!(
            served.ask(say::compare(id)),
            format!("compare {id} compareTrue")
        );
    }
    world.wait_until(|it| it.server.connections() == 1);
    assert_eq!(served.ask(say::compare(100)), "compare 100 compareTrue");
    drop(half);
}

#[test]
fn a_silent_connection_is_closed_when_a_timeout_says_so() {
    let world = World::new(|it| it.connections.idle_timeout = Duration::from_millis(500));
    let mut client = world.connect();
    assert_eq!(client.ask(say::compare(1)), "compare 1 compareTrue");
    assert_eq!(client.rest(), ["notice unavailable idle for too long"]);
}

#[test]
fn a_strangers_message_comes_in_time_not_byte_by_byte() {
    let world = World::new(|it| it.connections.message_timeout = Duration::from_millis(1000));
    let mut client = world.connect();
    assert_eq!(client.ask(say::compare(1)), "compare 1 compareTrue");
    // The beginning of a message of 256 KiB, then single bytes.
    client.stream.write_all(&[0x30, 0x83, 4, 0, 0]).unwrap();
    let now_and_then = Some(Duration::from_millis(50));
    client.stream.set_read_timeout(now_and_then).unwrap();
    let begun = Instant::now();
    let is_silence = |it: &std::io::Error| {
        use std::io::ErrorKind::{TimedOut, WouldBlock};
        matches!(it.kind(), WouldBlock | TimedOut)
    };
    while client
        .stream
        .read(&mut [0; 100])
        .is_err_and(|it| is_silence(&it))
    {
        assert!(begun.elapsed() < PATIENCE, "it goes on for ever");
        if client.stream.write_all(&[0]).is_err() {
            break;
        }
    }
}

#[test]
fn junk_gets_a_notice() {
    let world = World::new(|_| {});
    for junk in [
        &b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"[..],
        &[0xFF; 100_000],
        &[0x30, 0x80, 0, 0],
    ] {
        let mut client = world.connect();
        let _ = client.stream.write_all(junk);
        let answers = client.rest();
        assert!(
            answers[0].starts_with("notice protocolError "),
            "{answers:?}"
        );
        assert_eq!(answers.len(), 1);
    }
}

#[test]
fn a_client_that_stops_sending_still_hears_its_answers() {
    let world = World::filled(|_| {}, |it| it.people("long", 3, SLICE_BYTES));
    let mut client = world.admin();
    client.send(&[say::modify(1), say::list(2, "long"), say::compare(3)]);
    client.stream.shutdown(Shutdown::Write).unwrap();
    assert_eq!(
        client.rest(),
        [
            "modify 1 success",
            "entry 2",
            "entry 2",
            "entry 2",
            "done 2 success",
            "compare 3 compareTrue"
        ]
    );
}

#[test]
fn connections_beyond_the_limits_are_told_why() {
    let world = World::new(|it| it.connections.total_max = 2);
    let mut first = world.connect();
    let mut second = world.connect();
    assert_eq!(first.ask(say::compare(1)), "compare 1 compareTrue");
    assert_eq!(second.ask(say::compare(1)), "compare 1 compareTrue");
    assert_eq!(
        world.connect().rest(),
        ["notice unavailable limit of 2 connections at a time is reached: try again later"]
    );
    drop(first);
    world.wait_until(|it| it.server.connections() == 1);
    assert_eq!(
        world.connect().ask(say::compare(1)),
        "compare 1 compareTrue"
    );
    let world = World::new(|it| it.connections.per_address_max = 1);
    let mut first = world.connect();
    assert_eq!(first.ask(say::compare(1)), "compare 1 compareTrue");
    let refused = world.connect().rest();
    assert_eq!(
        refused,
        [
            "notice unavailable limit of 1 connections at a time from one address is reached: \
             close one first"
        ]
    );
}

#[test]
fn stopping_finishes_what_was_begun_and_tells_everybody() {
    let world = World::new(|_| {});
    let (mut idle, mut busy) = (world.connect(), world.admin());
    assert_eq!(idle.ask(say::compare(1)), "compare 1 compareTrue");
    let begun = world.writes_begun();
    world.gate.set(true);
    busy.send(&[say::modify(1)]);
    world.wait_until(|it| it.writes_begun() > begun);
    let server = world.server;
    let stopping = std::thread::spawn(move || {
        server.stop();
        server
    });
    assert_eq!(idle.rest(), ["notice unavailable the server is stopping"]);
    world.gate.set(false);
    assert_eq!(
        busy.rest(),
        [
            "modify 1 success",
            "notice unavailable the server is stopping"
        ]
    );
    let server = stopping.join().unwrap();
    assert_eq!(server.connections(), 0);
    assert!(TcpStream::connect(server.addresses()[0].tcp().unwrap()).is_err());
}

#[test]
fn stopping_does_not_wait_for_ever() {
    let world = World::new(|it| it.connections.stop_timeout = Duration::from_millis(200));
    let mut client = world.admin();
    let begun = world.writes_begun();
    world.gate.set(true);
    client.send(&[say::modify(1)]);
    world.wait_until(|it| it.writes_begun() > begun);
    let server = world.server;
    let stopping = std::thread::spawn(move || server.stop());
    // The connection is closed while its write still waits.
    assert_eq!(client.rest(), Vec::<String>::new());
    world.gate.set(false);
    stopping.join().unwrap();
}

#[test]
fn unix_sockets_tell_who_connects() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ldapi");
    // A file left by a killed process.
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    let world = World::new(|it| {
        it.listen = vec![Listen::Unix(path.clone())];
        it.tls = Some(certificate(&it.folder).0.into());
    });
    let stream = UnixStream::connect(&path).unwrap();
    let mut client = Client {
        stream,
        bytes: Vec::new(),
    };
    // A local connection takes passwords in the clear.
    assert_eq!(client.ask(say::bind_admin(1)), "bind 1 success");
    // The system tells whose process is at the other end: that of the server's owner.
    assert_eq!(client.ask(say::bind_external(2)), "bind 2 success");
    assert_eq!(
        client.ask(say::extended(3, oid::WHO_AM_I)),
        format!("extended 3 success dn:{ADMIN}")
    );
    // A connection that cannot leave the machine is as good as one under TLS.
    assert_eq!(
        client.ask(say::extended(4, oid::START_TLS)),
        "extended 4 operationsError"
    );
    let again = Listener::bind(&Listen::Unix(path.clone()));
    assert_eq!(again.unwrap_err().kind(), io::ErrorKind::AddrInUse);
    drop(world);
    assert!(!path.exists());
}

#[test]
fn an_address_in_use_is_said_so() {
    let world = World::new(|_| {});
    let folder = tempfile::tempdir().unwrap();
    let mut config = config(folder.path());
    config.listen = world.server.addresses().to_vec();
    let other = Home::at(folder, "data", &config.directory_options());
    let error = start_directory(config, other.directory.clone()).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("cannot listen on ldap://127.0.0.1:"),
        "{error}"
    );
}

#[test]
fn what_helps_fits_the_address() {
    let said = |listen: &str, kind: io::ErrorKind| {
        let (listen, error) = (listen.parse().unwrap(), kind.into());
        StartError::Listen { listen, error }.to_string()
    };
    let forbidden = io::ErrorKind::PermissionDenied;
    let low = said("ldap://127.0.0.1:389", forbidden);
    assert!(low.ends_with("need CAP_NET_BIND_SERVICE"), "{low}");
    let high = said("ldap://127.0.0.1:1389", forbidden);
    assert!(!high.contains("CAP_NET_BIND_SERVICE"), "{high}");
    for kind in [forbidden, io::ErrorKind::NotFound] {
        let socket = said("ldapi://%2Frun%2Fx%2Fldapi", kind);
        assert!(!socket.contains("CAP_NET_BIND_SERVICE"), "{socket}");
        assert!(socket.ends_with(" /run/x/ldapi"), "{socket}");
    }
}

mod farewell;
mod proxied;
pub(crate) mod tls;

use tls::certificate;

#[test]
fn accepted_sockets_inherit_what_the_listener_was_given() {
    let listener = Listener::bind(&"ldap://127.0.0.1:0".parse().unwrap()).unwrap();
    let _client = TcpStream::connect(listener.listen.tcp().unwrap()).unwrap();
    let wait = rustix::event::PollFlags::IN;
    let mut waited = [rustix::event::PollFd::new(listener.socket(), wait)];
    rustix::event::poll(&mut waited, None).unwrap();
    let (socket, peer) = listener.accept().unwrap();
    let socket = socket2::Socket::from(socket);
    assert!(socket.tcp_nodelay().unwrap() && socket.keepalive().unwrap());
    assert!(peer.local && !peer.secure);
    assert_eq!(peer.address, Some(std::net::IpAddr::from([127, 0, 0, 1])));
    assert!(heard(&[]).is_empty());
}
