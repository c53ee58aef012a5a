//! Tests the server on real sockets, with a small service behind it.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use protocol::{MessageId, oid};

use super::*;
use crate::fake::{Done, Fake, complete_all, heard, say, word};
use crate::settings::{Overrides, TlsFiles};

/// Deadline for a loaded machine; no test waits for it if it succeeds.
const PATIENCE: Duration = Duration::from_secs(30);

struct World {
    server: Server,
    entries: Arc<AtomicUsize>,
    sleeps: Arc<AtomicUsize>,
    _folder: tempfile::TempDir,
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
        World::with_writer(change, |writes, inbox| complete_all(&writes, &inbox))
    }

    /// `writer` runs on a thread of its own for each serving thread.
    fn with_writer(
        change: impl FnOnce(&mut Config),
        writer: impl Fn(Receiver<Done>, Arc<Inbox<Done>>) + Send + Clone + 'static,
    ) -> World {
        let folder = tempfile::tempdir().unwrap();
        let mut config = config(folder.path());
        change(&mut config);
        let (entries, sleeps) = (Arc::default(), Arc::default());
        let (counted, slept) = (Arc::clone(&entries), Arc::clone(&sleeps));
        let service = move |inbox| {
            let (writes, written): (Sender<Done>, _) = channel();
            let writer = writer.clone();
            std::thread::spawn(move || writer(written, inbox));
            Ok(Fake {
                writer: Some(writes),
                entries: Arc::clone(&counted),
                sleeps: Arc::clone(&slept),
                ..Fake::default()
            })
        };
        let server = start_service(config, service, |_| {}, || {}).unwrap();
        World {
            server,
            entries,
            sleeps,
            _folder: folder,
        }
    }

    fn connect(&self) -> Client<TcpStream> {
        self.connect_to(0)
    }

    fn connect_to(&self, at: usize) -> Client<TcpStream> {
        let stream = TcpStream::connect(self.server.addresses()[at].tcp().unwrap()).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_nodelay(true).unwrap();
        Client {
            stream,
            bytes: Vec::new(),
        }
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
    let world = World::new(|_| {});
    let mut client = world.connect();
    client.send(&(1..=1000).map(say::compare).collect::<Vec<_>>());
    for id in 1..=1000 {
        assert_eq!(client.next().unwrap(), format!("compare {id} compareTrue"));
    }
    assert!(
        world.sleeps.load(Ordering::SeqCst) > 0,
        "the service is told before each wait"
    );
}

#[test]
fn bundles_arrive_whole_and_wrong_ones_after_their_time() {
    let world = World::new(|_| {});
    let mut client = world.connect();
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
        say::delete(302),
        say::delete(303),
    ]);
    client.send(&[say::delete(304), say::announce(305, 2, None)]);
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
    let mut client = world.connect();
    let messages = (1..=300).map(say::delete).chain([say::compare(301)]);
    client.send(&messages.collect::<Vec<_>>());
    for id in 1..=300 {
        assert_eq!(client.next().unwrap(), format!("delete {id} success"));
    }
    assert_eq!(client.next().unwrap(), "compare 301 compareTrue");
    for id in 302..400 {
        assert_eq!(client.ask(say::delete(id)), format!("delete {id} success"));
    }
}

#[test]
fn many_clients_share_few_threads() {
    let world = World::new(|_| {});
    let mut clients: Vec<_> = (0..50).map(|_| world.connect()).collect();
    for round in 1..=3 {
        for client in &mut clients {
            client.send(&[say::search(round, "3 10 1"), say::delete(100 + round)]);
        }
        for client in &mut clients {
            let answers: Vec<String> = (0..5).map(|_| client.next().unwrap()).collect();
            assert_eq!(answers[3], format!("done {round} success"));
            assert_eq!(answers[4], format!("delete {} success", 100 + round));
        }
    }
    assert_eq!(world.server.connections(), 50);
    drop(clients);
    world.wait_until(|it| it.server.connections() == 0);
}

#[test]
fn what_comes_at_once_on_many_connections_does_not_mix() {
    let world = World::new(|it| it.threads = 1);
    let mut clients: Vec<_> = (0..200).map(|_| world.connect()).collect();
    // Responses of all kinds and lengths, one longer than is sent at once. A connection that shares
    // a round with malformed input, with a parked search or with a client that has ended is served
    // like any other.
    let mut junk = world.connect();
    let mut ended = world.connect();
    let mut long = world.connect();
    long.send(&[say::search(1, "100000 100 1")]);
    for id in 1..=20 {
        for (at, client) in clients.iter_mut().enumerate() {
            let id = id * 1000 + at as MessageId;
            match at % 4 {
                0 => client.send(&[say::search(id, "1 100000 1")]),
                1 => client.send(&[say::delete(id)]),
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
                1 => assert_eq!(next(), format!("delete {id} success")),
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
    let world = World::new(|_| {});
    let mut slow = world.connect();
    // 400 MB in slices of 100 kB: far more than sockets hold.
    slow.send(&[say::search(1, "4000 100000 1")]);
    world.wait_until(|it| it.entries.load(Ordering::SeqCst) > 0);
    let mut others: Vec<_> = (0..4).map(|_| world.connect()).collect();
    for id in 2..200 {
        for other in &mut others {
            assert_eq!(
                other.ask(say::compare(id)),
                format!("compare {id} compareTrue")
            );
        }
    }
    let written = world.entries.load(Ordering::SeqCst);
    assert!(
        written < 400,
        "{written} entries were made for a client that reads none"
    );
    // An Abandon reaches the server while its output is blocked.
    slow.send(&[say::abandon(2, 1), say::compare(3)]);
    let answers = std::iter::from_fn(|| slow.next()).take_while(|it| it.starts_with("entry"));
    assert!(answers.count() < 400);
    assert_eq!(slow.ask(say::compare(4)), "compare 4 compareTrue");
}

#[test]
fn a_client_that_never_reads_is_dropped() {
    let world = World::new(|it| it.connections.write_timeout = Duration::from_millis(500));
    let mut never = world.connect();
    never.send(&[say::search(1, "4000 100000 1")]);
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
    let world = World::new(|_| {});
    let mut client = world.connect();
    client.send(&[
        say::delete(1),
        say::search(2, "3 100000 1"),
        say::compare(3),
    ]);
    client.stream.shutdown(Shutdown::Write).unwrap();
    assert_eq!(
        client.rest(),
        [
            "delete 1 success",
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
    let (release, gate) = channel::<()>();
    let gate = Arc::new(Mutex::new(gate));
    let (arrived, arrivals) = channel::<()>();
    let writer = move |writes: Receiver<Done>, inbox: Arc<Inbox<Done>>| {
        while let Ok(done) = writes.recv() {
            arrived.send(()).unwrap();
            gate.lock().unwrap().recv().unwrap();
            inbox.completions(vec![done]);
        }
    };
    let world = World::with_writer(|_| {}, writer);
    let (mut idle, mut busy) = (world.connect(), world.connect());
    assert_eq!(idle.ask(say::compare(1)), "compare 1 compareTrue");
    busy.send(&[say::delete(1)]);
    arrivals.recv().unwrap();
    let server = world.server;
    let stopping = std::thread::spawn(move || {
        server.stop();
        server
    });
    assert_eq!(idle.rest(), ["notice unavailable the server is stopping"]);
    release.send(()).unwrap();
    assert_eq!(
        busy.rest(),
        [
            "delete 1 success",
            "notice unavailable the server is stopping"
        ]
    );
    let server = stopping.join().unwrap();
    assert_eq!(server.connections(), 0);
    assert!(TcpStream::connect(server.addresses()[0].tcp().unwrap()).is_err());
}

#[test]
fn stopping_does_not_wait_for_ever() {
    let (arrived, arrivals) = channel();
    let writer =
        move |writes: Receiver<Done>, _| writes.iter().for_each(|it| arrived.send(it).unwrap());
    let change = |it: &mut Config| it.connections.stop_timeout = Duration::from_millis(200);
    let world = World::with_writer(change, writer);
    let mut client = world.connect();
    client.send(&[say::delete(1)]);
    arrivals.recv().unwrap();
    world.server.stop();
    assert_eq!(client.rest(), Vec::<String>::new());
}

#[test]
fn unix_sockets_tell_who_connects() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ldapi");
    // A file left by a killed process.
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    let world = World::new(|it| it.listen = vec![Listen::Unix(path.clone())]);
    let stream = UnixStream::connect(&path).unwrap();
    let mut client = Client {
        stream,
        bytes: Vec::new(),
    };
    assert_eq!(
        client.ask(say::bind(1, "cn=a", b"secret")),
        "bind 1 success"
    );
    client.send(&[say::extended(2, oid::WHO_AM_I)]);
    let mut buffer = [0; 1000];
    let count = client.stream.read(&mut buffer).unwrap();
    let peer = String::from_utf8_lossy(&buffer[..count]).into_owned();
    let uid = rustix::process::getuid().as_raw();
    assert!(peer.contains(&format!("unix_uid: Some({uid})")), "{peer}");
    assert!(
        peer.contains("secure: true") && peer.contains("local: true"),
        "{peer}"
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
    let error = start_service(config, |_| Ok(Fake::default()), |_| {}, || {}).unwrap_err();
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
mod tls;

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
