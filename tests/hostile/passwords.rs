//! Clients that keep the hashing threads busy, from one address and from several, and that
//! disconnect.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Instant;

use kit::client::Modification;
use kit::{Client, PATIENCE, Pando, SUFFIX, people};
use protocol::proxy::Header;
use protocol::{Authentication, BindRequest, Request, ResultCode, write_request};

/// Stored form of the password `hostile`: it takes some tenths of a second to verify, so that fewer
/// than ten binds are refused in a second, the number of lines that the log allows.
const SLOW: &str = "{CRYPT}$6$rounds=600000$saltsalt$x";
/// Number of checks of one client that wait at once.
const CROWD: usize = 40;

struct World {
    pando: Pando,
    /// The place of a client's address in the PROXY header.
    proxied: SocketAddr,
    dn: String,
}

impl World {
    fn new() -> World {
        let mut pando = Pando::init();
        let settings = "listen = [\"ldap://127.0.0.1:0\", \"pldap://127.0.0.1:0\"]\n\
                        proxies = [\"127.0.0.1\"]\nallow_cleartext_binds = true
";
        std::fs::write(pando.node().join("pando.toml"), settings).expect("our own folder");
        pando.serve_as_configured();
        let proxied = pando.process().wait_for("listening on pldap://…", |line| {
            let (_, address) = line.split_once("listening on pldap://")?;
            let address = address.split_whitespace().next()?;
            address.trim_end_matches('/').parse().ok()
        });
        let mut admin = pando.admin();
        let person = people::sample().remove(1);
        let dn = person.name.clone();
        for entry in people::sample() {
            admin.add(&entry).expect_success();
        }
        let slow = Modification::replace("userPassword", &[SLOW]);
        admin.modify(&dn, &[slow]).expect_success();
        World { pando, proxied, dn }
    }

    /// Opens a connection of a client with this address, and sends a bind.
    fn binding(&self, address: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.proxied).expect("the server listens");
        let source = Some(format!("{address}:50000").parse().expect("an address"));
        let mut bytes = Vec::new();
        Header { source }.encode(&mut bytes);
        let bind = BindRequest {
            version: 3,
            name: &self.dn,
            authentication: Authentication::Simple(b"wrong"),
        };
        write_request(&mut bytes, 1, &Request::Bind(bind), &[]);
        stream.write_all(&bytes).expect("the server takes it");
        stream
    }
}

/// Offset of the result code in a short bind response.
const CODE_AT: usize = 9;

/// Waits for the answer of a bind and returns its result code.
fn answered(stream: &mut TcpStream) -> u8 {
    stream.set_read_timeout(Some(PATIENCE)).expect("a socket");
    let mut response = [0; CODE_AT + 1];
    stream
        .read_exact(&mut response)
        .expect("the bind is answered");
    response[CODE_AT]
}

#[test]
fn a_crowd_at_one_address_does_not_hold_up_another() {
    let mut world = World::new();
    let _crowd: Vec<TcpStream> = (0..CROWD).map(|_| world.binding("192.0.2.1")).collect();
    assert_eq!(answered(&mut world.binding("192.0.2.2")), 49);
    // The log has the order of the answers; this test may read its sockets late.
    let is_of = |line: &str, address: &str| {
        line.contains("bind failed") && line.contains(&format!("address={address} "))
    };
    let log = world.pando.process();
    log.wait_for("the refused bind of the other", |line| {
        is_of(line, "192.0.2.2").then_some(())
    });
    let log = log.log();
    let before = log.lines().take_while(|line| !is_of(line, "192.0.2.2"));
    let checked = before.filter(|line| is_of(line, "192.0.2.1")).count();
    assert!(checked < CROWD / 2, "{checked} of {CROWD} came first");
}

#[test]
fn checks_of_clients_that_left_are_not_made() {
    let world = World::new();
    let began = Instant::now();
    answered(&mut world.binding("192.0.2.1"));
    let one = began.elapsed();
    for _ in 0..CROWD {
        drop(world.binding("192.0.2.1"));
    }
    let began = Instant::now();
    answered(&mut world.binding("192.0.2.1"));
    let took = began.elapsed();
    let all = one * CROWD as u32;
    assert!(
        took < all / 2,
        "{took:?}, where one takes {one:?} and {CROWD} would {all:?}"
    );
}

#[test]
fn a_stop_does_not_wait_for_what_waits() {
    let mut world = World::new();
    let began = Instant::now();
    answered(&mut world.binding("192.0.2.1"));
    let one = began.elapsed();
    let mut crowd: Vec<TcpStream> = (0..CROWD).map(|_| world.binding("192.0.2.1")).collect();
    answered(&mut crowd[0]);
    let began = Instant::now();
    assert!(world.pando.stop().success());
    let took = began.elapsed();
    let all = one * CROWD as u32;
    assert!(took < all / 2, "{took:?}, where one check takes {one:?}");
}

#[test]
fn a_password_that_others_can_read_is_refused() {
    let mut pando = Pando::init();
    let settings = "listen = [\"ldap://127.0.0.1:0\", \"pldap://127.0.0.1:0\"]\n\
                    proxies = [\"127.0.0.1\"]\n";
    std::fs::write(pando.node().join("pando.toml"), settings).expect("our own folder");
    pando.serve_as_configured();
    let proxied: SocketAddr = pando.process().wait_for("listening on pldap://…", |line| {
        let (_, address) = line.split_once("listening on pldap://")?;
        let address = address.split_whitespace().next()?;
        address.trim_end_matches('/').parse().ok()
    });
    let mut stream = TcpStream::connect(proxied).expect("the server listens");
    let source = Some("192.0.2.1:50000".parse().expect("an address"));
    let mut bytes = Vec::new();
    Header { source }.encode(&mut bytes);
    stream.write_all(&bytes).expect("the server takes it");
    let mut client = Client::over(stream).expect("a socket");
    let refused = ResultCode::CONFIDENTIALITY_REQUIRED;
    client.bind(kit::ADMIN, kit::PASSWORD).expect(refused);
    client
        .compare(SUFFIX, "userPassword", "guess")
        .expect(refused);
    let outcome = client.extended(protocol::oid::PASSWORD_MODIFY, None);
    outcome.expect(refused);
}
