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

#[test]
fn the_address_is_the_clients() {
    // Anonymous clients are told apart by their address.
    let world = world(|it| it.limits.anonymous.followers_max = 1);
    let follows = |header: &[u8]| {
        let mut client = world.connect();
        // In pieces, as over a slow network.
        for byte in header {
            client.stream.write_all(&[*byte]).unwrap();
        }
        let said = client.ask(say::follow(1, "cn=a"));
        client.send(&[say::compare(2)]);
        assert_eq!(client.next().unwrap(), "compare 2 compareTrue");
        (client, said)
    };
    let line = b"PROXY TCP4 192.0.2.7 198.51.100.1 50123 389\r\n";
    let (_first, said) = follows(&header(Some("192.0.2.7:50123")));
    assert_eq!(said, "entry 1");
    let (_second, said) = follows(line);
    assert_eq!(said, "done 1 adminLimitExceeded");
    let (_third, said) = follows(&header(Some("192.0.2.8:50123")));
    assert_eq!(said, "entry 1");
    // Without a source address the proxy is the client.
    let (_fourth, said) = follows(&header(None));
    assert_eq!(said, "entry 1");
    let (_fifth, said) = follows(b"PROXY TCP4 127.0.0.1 198.51.100.1 50123 389\r\n");
    assert_eq!(said, "done 1 adminLimitExceeded");
    // A remote client does not become local because its proxy is.
    let binds = |header: Vec<u8>| {
        let mut client = world.connect();
        client.stream.write_all(&header).unwrap();
        client.ask(say::bind_admin(1))
    };
    let said = binds(header(Some("192.0.2.7:50123")));
    assert_eq!(said, "bind 1 confidentialityRequired");
    assert_eq!(binds(line.to_vec()), "bind 1 confidentialityRequired");
    // Whom a proxy passes on without an address is unknown, so nobody is local.
    assert_eq!(binds(header(None)), "bind 1 confidentialityRequired");
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
