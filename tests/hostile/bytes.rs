//! Malformed bytes: truncated, nested, oversized, mutated messages.

use std::io;

use kit::client::Event;
use kit::{Client, Random, SUFFIX};
use protocol::ber;
use protocol::{
    Authentication, BindRequest, CompareRequest, DeleteRequest, ExtendedRequest, Filter,
    ModifyDnRequest, Request, ResultCode, Scope, SearchRequest, write_request,
};

use crate::{Bystander, served};

const NOTICE_OF_DISCONNECTION: &str = "1.3.6.1.4.1.1466.20036";

/// Returns one well-formed message of most kinds.
fn good_messages() -> Vec<Vec<u8>> {
    let filter = Filter::And(vec![
        Filter::Equality {
            attribute: "uid",
            value: b"p1",
        },
        Filter::Not(Box::new(Filter::Present("cn"))),
        Filter::Substrings {
            attribute: "sn",
            initial: Some(b"a"),
            any: vec![b"b"],
            last: None,
        },
    ]);
    let search = SearchRequest {
        size_limit: 10,
        time_limit_s: 10,
        attributes: vec!["cn", "mail"],
        ..SearchRequest::new(SUFFIX, Scope::WholeSubtree, filter)
    };
    let name = "uid=p1,dc=example,dc=com";
    let authentication = Authentication::Simple(b"secret");
    let requests = [
        Request::Bind(BindRequest {
            version: 3,
            name,
            authentication,
        }),
        Request::Search(search),
        Request::Compare(CompareRequest {
            entry: name,
            attribute: "cn",
            value: b"p1",
        }),
        Request::Delete(DeleteRequest {
            entry: "uid=nobody,dc=example,dc=com",
        }),
        Request::ModifyDn(ModifyDnRequest {
            entry: "uid=nobody,dc=example,dc=com",
            new_rdn: "uid=x",
            delete_old_rdn: true,
            new_superior: Some(SUFFIX),
        }),
        Request::Extended(ExtendedRequest {
            name: "1.3.6.1.4.1.4203.1.11.3",
            value: None,
        }),
        Request::Abandon(7),
    ];
    requests.iter().map(|request| encoded(request)).collect()
}

fn encoded(request: &Request<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_request(&mut bytes, 1, request, &[]);
    bytes
}

/// Receives messages until the server closes the connection, which it must do.
fn last_words(client: &mut Client) -> Vec<Event> {
    let mut events = Vec::new();
    loop {
        match client.try_receive() {
            Ok((_, event)) => events.push(event),
            Err(error) => {
                assert!(
                    !matches!(
                        error.kind(),
                        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
                    ),
                    "the connection stays open and silent: {events:?}"
                );
                return events;
            }
        }
    }
}

fn is_protocol_error(event: &Event) -> bool {
    matches!(event, Event::Done(outcome) if outcome.code == ResultCode::PROTOCOL_ERROR)
}

#[test]
fn truncated_messages() {
    let pando = served();
    let bystander = Bystander::of(pando.address());
    for message in good_messages() {
        for length in 0..message.len() {
            let mut client = pando.client();
            client
                .send_raw(&message[..length])
                .expect("the connection is fresh");
            // The rest of the message never comes, and the client disconnects.
        }
    }
    bystander.noticed_nothing();
}

#[test]
fn elements_cut_short_inside_a_whole_message() {
    let pando = served();
    let bystander = Bystander::of(pando.address());
    for message in good_messages() {
        for length in 5..message.len() - 1 {
            // The outer length is right again; an inner element reaches beyond it.
            let mut cut = Vec::new();
            ber::put_nested(&mut cut, ber::SEQUENCE, |out| {
                out.extend_from_slice(&message[2..length]);
            });
            let mut client = pando.client();
            client.send_raw(&cut).expect("the connection is fresh");
            client.stream().shutdown(std::net::Shutdown::Write).ok();
            last_words(&mut client);
        }
    }
    bystander.noticed_nothing();
}

/// Returns a search whose filter is `depth` times `(!…)`.
fn nested_search(depth: usize) -> Vec<u8> {
    let mut filter = Vec::new();
    ber::put_octets(&mut filter, 0x87, b"cn");
    for _ in 0..depth {
        let mut outer = Vec::with_capacity(filter.len() + 6);
        ber::put_header(&mut outer, 0xA2, filter.len());
        outer.extend_from_slice(&filter);
        filter = outer;
    }
    let mut message = Vec::new();
    ber::put_nested(&mut message, ber::SEQUENCE, |out| {
        ber::put_integer(out, ber::INTEGER, 1);
        ber::put_nested(out, 0x63, |out| {
            ber::put_octets(out, ber::OCTET_STRING, SUFFIX.as_bytes());
            for number in [2, 0] {
                ber::put_integer(out, ber::ENUMERATED, number);
            }
            for number in [0, 0] {
                ber::put_integer(out, ber::INTEGER, number);
            }
            ber::put_boolean(out, ber::BOOLEAN, false);
            out.extend_from_slice(&filter);
            ber::put_nested(out, ber::SEQUENCE, |_| {});
        });
    });
    message
}

#[test]
fn filters_nested_too_deep() {
    let pando = served();
    let bystander = Bystander::of(pando.address());
    for depth in [33, 100, 1_000, 10_000] {
        let mut client = pando.client();
        client
            .send_raw(&nested_search(depth))
            .expect("the server reads it");
        client.stream().shutdown(std::net::Shutdown::Write).ok();
        let words = last_words(&mut client);
        let refused = words.iter().any(is_protocol_error);
        assert!(refused, "depth {depth}: {words:?}");
    }
    let mut client = pando.client();
    client
        .send_raw(&nested_search(20))
        .expect("the server reads it");
    let (_, event) = client.receive();
    assert!(!is_protocol_error(&event), "{event:?}");
    bystander.noticed_nothing();
}

#[test]
fn lengths_beyond_the_limit() {
    let mut pando = served();
    let bystander = Bystander::of(pando.address());
    for header in [
        &b"\x30\x84\x7f\xff\xff\xff"[..],
        &b"\x30\x84\xff\xff\xff\xff"[..],
        &b"\x30\x88\xff\xff\xff\xff\xff\xff\xff\xff"[..],
        &b"\x30\x84\x10\x00\x00\x00"[..],
        &b"\x30\xff"[..],
    ] {
        let mut client = pando.client();
        client.send_raw(header).expect("the connection is fresh");
        let words = last_words(&mut client);
        let notice = words.iter().any(|event| {
            matches!(event, Event::Done(it) if it.name.as_deref() == Some(NOTICE_OF_DISCONNECTION))
        });
        assert!(notice || words.is_empty(), "{header:x?}: {words:?}");
    }
    // The length is announced but the bytes are not sent: no memory is taken for them.
    let before = pando.process().anonymous_memory_kib();
    let mut announced = Vec::new();
    for _ in 0..500 {
        let mut client = pando.client();
        client
            .send_raw(b"\x30\x83\x0f\xff\xff\x02")
            .expect("within the limit of authenticated");
        announced.push(client);
    }
    bystander.noticed_nothing();
    let after = pando.process().anonymous_memory_kib();
    assert!(
        after < before + 64 * 1024,
        "{before} KiB before, {after} KiB after"
    );
}

#[test]
fn mutated_messages() {
    let mut random = Random::announced("mutated_messages");
    let mut pando = served();
    let bystander = Bystander::of(pando.address());
    let good = good_messages();
    for _ in 0..5_000 {
        let mut message = random.pick(&good).clone();
        for _ in 0..1 + random.below(4) {
            let at = random.below(message.len() as u64) as usize;
            message[at] = random.number() as u8;
        }
        let mut client = pando.client();
        client.send_raw(&message).expect("the connection is fresh");
        client.stream().shutdown(std::net::Shutdown::Write).ok();
        last_words(&mut client);
    }
    bystander.noticed_nothing();
    assert!(pando.process().is_alive());
    pando.stop();
    pando.assert_clean();
}

#[test]
fn noise() {
    let mut random = Random::announced("noise");
    let pando = served();
    let bystander = Bystander::of(pando.address());
    for _ in 0..1_000 {
        let length = 1 + random.below(2_000) as usize;
        let mut client = pando.client();
        // The server may close while the client still sends.
        client.send_raw(&random.bytes(length)).ok();
        client.stream().shutdown(std::net::Shutdown::Write).ok();
        last_words(&mut client);
    }
    bystander.noticed_nothing();
}
