//! Tests clients behind a proxy that sends their address.

use std::net::SocketAddr;

use protocol::proxy::Header;

use super::*;

fn world(change: impl FnOnce(&mut Config)) -> World {
    World::new(|it| {
        it.listen = vec!["pldap://127.0.0.1:0".parse().unwrap()];
        it.proxies = vec!["127.0.0.0/8".parse().unwrap()];
        change(it);
    })
}

fn header(source: Option<&str>) -> Vec<u8> {
    let source = source.map(|it| it.parse::<SocketAddr>().unwrap());
    let mut out = Vec::new();
    Header { source }.encode(&mut out);
    out
}

/// The address by which the server knows the client.
fn peer(client: &mut Client<TcpStream>) -> String {
    client.send(&[say::extended(1, oid::WHO_AM_I)]);
    let mut buffer = [0; 1000];
    let count = client.stream.read(&mut buffer).unwrap();
    String::from_utf8_lossy(&buffer[..count]).into_owned()
}

#[test]
fn the_address_is_the_clients() {
    let world = world(|_| {});
    let line = b"PROXY TCP4 192.0.2.7 198.51.100.1 50123 389\r\n".to_vec();
    for header in [header(Some("192.0.2.7:50123")), line] {
        let mut client = world.connect();
        // In pieces, as over a slow network.
        for byte in &header {
            client.stream.write_all(&[*byte]).unwrap();
        }
        let peer = peer(&mut client);
        assert!(peer.contains("Some(192.0.2.7)"), "{peer}");
        assert!(peer.contains("local: false"), "{peer}");
        client.send(&[say::compare(2)]);
        assert_eq!(client.next().unwrap(), "compare 2 compareTrue");
    }
    // A remote client does not become local because its proxy is.
    let mut client = world.connect();
    let mut bytes = header(Some("192.0.2.7:50123"));
    bytes.extend(say::bind(1, "cn=a", b"secret"));
    client.stream.write_all(&bytes).unwrap();
    assert_eq!(client.next().unwrap(), "bind 1 confidentialityRequired");
    let mut client = world.connect();
    client.stream.write_all(&header(None)).unwrap();
    let peer = peer(&mut client);
    assert!(
        peer.contains("Some(127.0.0.1)") && peer.contains("local: true"),
        "{peer}"
    );
}

#[test]
fn limits_are_for_the_clients_address() {
    let world = world(|it| it.connections.per_address_max = 1);
    let client = |source| {
        let mut client = world.connect();
        client.stream.write_all(&header(Some(source))).unwrap();
        client.stream.write_all(&say::compare(1)).unwrap();
        let said = client.next();
        (client, said)
    };
    let (_first, said) = client("192.0.2.7:1");
    assert_eq!(said.unwrap(), "compare 1 compareTrue");
    let (_second, said) = client("192.0.2.8:1");
    assert_eq!(said.unwrap(), "compare 1 compareTrue");
    let (_third, said) = client("192.0.2.7:2");
    assert!(
        said.unwrap()
            .starts_with("notice unavailable limit of 1 connections")
    );
}

#[test]
fn who_is_no_proxy_or_says_nothing_sensible_is_sent_away() {
    let world = world(|_| {});
    let mut client = world.connect();
    client.send(&[say::compare(1), say::compare(2)]);
    assert_eq!(client.rest(), Vec::<String>::new());
    world.wait_until(|it| it.server.connections() == 0);
    let stranger = |it: &mut Config| it.proxies = vec!["192.0.2.1".parse().unwrap()];
    let world = self::world(stranger);
    let notice = "notice unavailable this address is for proxies: use another port";
    assert_eq!(world.connect().rest(), [notice]);
    let short = |it: &mut Config| it.connections.message_timeout = Duration::from_millis(300);
    let world = self::world(short);
    let mut client = world.connect();
    client.stream.write_all(b"PROXY TCP4 192.0.2.7").unwrap();
    assert_eq!(client.rest(), Vec::<String>::new());
}
