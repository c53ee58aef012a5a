//! Clients that send or read slowly: those below the least rate are cut, others are served.

use std::io::{ErrorKind, Read, Write};
use std::iter::repeat;
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use kit::client::Event;
use kit::pando::listened_at;
use kit::process::until;
use kit::{Client, Entry, Pando, SUFFIX, Secure};
use protocol::{Filter, Request, Scope, SearchRequest};
use rustix::net;

use crate::LONGEST;

/// Pause between two bytes of a slow sender.
const PAUSE: Duration = Duration::from_millis(20);

/// Returns the first bytes of a message of `length` bytes: its head and `sent` bytes of content.
pub fn beginning(length: u32, sent: usize) -> Vec<u8> {
    let mut bytes = vec![0x30, 0x84];
    bytes.extend_from_slice(&length.to_be_bytes());
    bytes.resize(bytes.len() + sent, 0);
    bytes
}

/// Connects with a receive buffer so small that little is read ahead for a client that reads
/// slowly.
pub fn with_small_buffer(address: SocketAddr) -> Client {
    let family = net::AddressFamily::INET;
    let socket = net::socket(family, net::SocketType::STREAM, None).expect("a socket");
    net::sockopt::set_socket_recv_buffer_size(&socket, 16 << 10).expect("a size");
    net::connect(&socket, &address).expect("the server listens");
    Client::over(socket.into()).expect("connected")
}

/// Sends bytes with pauses until the server closes the connection, or for a time. Returns the text
/// that has come before the end; `None` if the connection is open.
fn dribble(
    stream: &mut TcpStream,
    bytes: &mut impl Iterator<Item = u8>,
    time: Duration,
) -> Option<String> {
    stream.set_read_timeout(Some(PAUSE)).expect("a timeout");
    let (mut read, mut buffer, begun) = (Vec::new(), [0; 4_096], Instant::now());
    while begun.elapsed() < time {
        let byte = bytes.next().expect("there are more bytes");
        let sent = stream.write_all(&[byte]);
        match stream.read(&mut buffer) {
            Ok(count @ 1..) => read.extend_from_slice(&buffer[..count]),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                sent.expect("the connection is open");
            }
            Ok(0) | Err(_) => return Some(String::from_utf8_lossy(&read).into_owned()),
        }
    }
    None
}

/// Sends bytes of a message with pauses until the server closes the connection. Returns the text of
/// its notice.
pub fn send_until_closed(client: &mut Client) -> String {
    let closed = dribble(client.stream(), &mut repeat(0), LONGEST);
    closed.expect("the server does not wait for ever")
}

/// How often a limit was reached, by its counter.
pub fn reached(admin: &mut Client, limit: &str) -> u64 {
    let name = format!("cn={limit},cn=Limits,cn=monitor");
    let found = admin.search(&name, Scope::BaseObject, "(cn=*)", &["monitorCounter"]);
    let text = found.only().text("monitorCounter").to_owned();
    text.parse().expect("a number")
}

/// Serves a node with these settings of connections.
fn served(connections: &str) -> Pando {
    let mut pando = Pando::init();
    let settings = format!("listen = [\"ldap://127.0.0.1:0\"]\n[connections]\n{connections}\n");
    std::fs::write(pando.node().join("pando.toml"), settings).expect("our own folder");
    pando.serve_as_configured();
    pando
}

#[test]
fn a_message_that_comes_too_slowly_is_cut() {
    let mut pando = served("message_timeout_s = 1\nreceive_bytes_per_s_min = 1000000");
    let limit = "connections.receive_bytes_per_s_min";
    // A test that the machine keeps waiting for a second is cut for another reason.
    until("the notice names the rate", || {
        let mut slow = pando.admin();
        slow.send_raw(&beginning(9_000_000, 100))
            .expect("it begins");
        send_until_closed(&mut slow).contains(limit).then_some(())
    });
    assert!(reached(&mut pando.admin(), limit) > 0);
    pando.process().wait_for("slow clients", |line| {
        (line.contains("slow clients:") && line.contains("127.0.0.1")).then_some(())
    });
}

/// Reads slowly for a time, then the rest. Returns the number of bytes.
fn read_slowly(mut reader: Client, time: Duration) -> usize {
    let stream = reader.stream();
    let (mut bytes, mut buffer, begun) = (0, [0; 512], Instant::now());
    until("the time is over", || {
        bytes += stream.read(&mut buffer).expect("the server goes on");
        (begun.elapsed() > time).then_some(())
    });
    // The server answers all, then closes.
    stream.shutdown(Shutdown::Write).expect("it is open");
    bytes
        + stream
            .read_to_end(&mut Vec::new())
            .expect("the server goes on")
}

#[test]
fn slow_but_steady_clients_are_served() {
    const WINDOW_S: u64 = 3;
    const ENTRIES: usize = 40;
    const ENTRY_BYTES: usize = 300_000;
    let time = Duration::from_secs(2 * WINDOW_S + 1);
    let mut pando = served(&format!(
        "message_timeout_s = {WINDOW_S}\nwrite_timeout_s = {WINDOW_S}\n\
         receive_bytes_per_s_min = 1\nsend_bytes_per_s_min = 1"
    ));
    let mut admin = pando.admin();
    let long = "x".repeat(ENTRY_BYTES);
    for at in 0..ENTRIES {
        let attributes: &[(&str, &[&str])] = &[
            ("objectClass", &["person"]),
            ("sn", &["p"]),
            ("description", &[&long]),
        ];
        let person = Entry::of(&format!("cn=p{at},{SUFFIX}"), attributes);
        admin.add(&person).expect_success();
    }
    let mut reader = with_small_buffer(pando.address());
    reader.send_search(SUFFIX, Scope::WholeSubtree, "(sn=p)", &[], &[], |_| {});
    let reader = thread::spawn(move || read_slowly(reader, time));
    let mut sender = pando.admin();
    let (request, mut message) = (
        SearchRequest {
            attributes: vec!["description"; 300],
            ..SearchRequest::new(SUFFIX, Scope::BaseObject, Filter::Present("dc"))
        },
        Vec::new(),
    );
    protocol::write_request(&mut message, 7, &Request::Search(request), &[]);
    let mut message = message.into_iter();
    assert_eq!(
        dribble(sender.stream(), &mut message, time),
        None,
        "it is served"
    );
    sender
        .send_raw(&Vec::from_iter(message))
        .expect("it is open");
    assert!(matches!(sender.receive(), (7, Event::Entry(..))));
    assert!(reader.join().expect("it is served") > ENTRIES * ENTRY_BYTES);
    assert!(pando.stop().success());
}

#[test]
fn handshakes_end_in_time_however_busily_their_clients_send() {
    let limit = "connections.message_timeout_s";
    let more = "[connections]\nmessage_timeout_s = 1\n";
    let secure = Secure::start_with(more);
    let address = secure
        .url
        .trim_start_matches("ldaps://")
        .trim_end_matches('/');
    let mut stream = TcpStream::connect(address).expect("the server listens");
    // The head of a TLS record with a ClientHello of 508 bytes.
    let hello = [0x16, 3, 1, 2, 0, 1, 0, 1, 0xFC, 3, 3];
    let mut hello = hello.into_iter().chain(repeat(0));
    assert_eq!(
        dribble(&mut stream, &mut hello, LONGEST),
        Some(String::new())
    );
    assert_eq!(reached(&mut secure.pando.admin(), limit), 1);

    let mut pando = Pando::init();
    let settings = format!(
        "listen = [\"ldap://127.0.0.1:0\", \"pldap://127.0.0.1:0\"]\n\
         proxies = [\"127.0.0.1\"]\n{more}"
    );
    std::fs::write(pando.node().join("pando.toml"), settings).expect("our own folder");
    pando.serve_as_configured();
    let address: SocketAddr = pando.process().wait_for("listening on pldap://…", |line| {
        listened_at(line, "pldap")
    });
    let mut stream = TcpStream::connect(address).expect("the server listens");
    // The head of a PROXY header of version 2 with 512 bytes.
    let header = b"\r\n\r\n\0\r\nQUIT\n\x21\x11\x02\0";
    let mut header = header.iter().copied().chain(repeat(0));
    assert_eq!(
        dribble(&mut stream, &mut header, LONGEST),
        Some(String::new())
    );
    assert_eq!(reached(&mut pando.admin(), limit), 1);
}
