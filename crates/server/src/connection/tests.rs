//! The connection on bytes, with a service of few lines.

use proptest::prelude::*;
use protocol::request::tag;

use super::*;
use crate::fake::{Done, Fake, heard, say};

mod bundles;
mod following;
mod look_ahead;
mod parts;

struct World {
    connection: Connection<Fake>,
    service: Fake,
    rules: Rules,
    out: Vec<u8>,
}

impl World {
    fn new() -> World {
        let mut service = Fake::default();
        let session = service.open_session(7, directory::Peer::default());
        let rules = Rules {
            limits: DecodeLimits {
                message_bytes_max: 4096,
                ..DecodeLimits::DEFAULT
            },
            anonymous_message_bytes_max: 1024,
            allow_cleartext_binds: false,
        };
        World {
            connection: Connection::new(session, false),
            service,
            rules,
            out: Vec::new(),
        }
    }

    fn receive(&mut self, messages: &[Vec<u8>]) -> Vec<String> {
        self.receive_bytes(&messages.concat())
    }

    fn receive_bytes(&mut self, bytes: &[u8]) -> Vec<String> {
        self.connection
            .receive(&mut self.service, &self.rules, bytes, &mut self.out);
        heard(&std::mem::take(&mut self.out))
    }

    fn proceed(&mut self) -> Vec<String> {
        assert!(self.connection.can_proceed());
        self.connection
            .proceed(&mut self.service, &self.rules, &mut self.out);
        heard(&std::mem::take(&mut self.out))
    }

    fn news(&mut self, id: MessageId) -> Vec<String> {
        let kind = ResultKind::SearchDone;
        let news = Done {
            session: 7,
            id,
            kind,
        };
        self.connection
            .complete(&mut self.service, news, &mut self.out);
        heard(&std::mem::take(&mut self.out))
    }

    fn complete(&mut self, id: MessageId) -> Vec<String> {
        let done = Done {
            session: 7,
            id,
            kind: ResultKind::Delete,
        };
        self.connection
            .complete(&mut self.service, done, &mut self.out);
        heard(&std::mem::take(&mut self.out))
    }
}

#[test]
fn all_whole_messages_are_executed_in_order_into_one_output() {
    let mut world = World::new();
    let messages = [say::search(1, ""), say::compare(2), say::search(3, "2 1 9")];
    assert_eq!(
        world.receive(&messages),
        [
            "entry 1",
            "done 1 success",
            "compare 2 compareTrue",
            "entry 3",
            "entry 3",
            "done 3 success"
        ]
    );
    assert!(world.connection.wants_input(true) && !world.connection.can_proceed());
    assert_eq!(
        world.connection.input.capacity(),
        0,
        "an idle connection owns no buffer"
    );
}

#[test]
fn messages_may_come_in_any_pieces() {
    let mut world = World::new();
    let bytes = [say::search(1, ""), say::compare(2)].concat();
    let mut answers = Vec::new();
    for byte in &bytes {
        answers.extend(world.receive_bytes(std::slice::from_ref(byte)));
    }
    assert_eq!(
        answers,
        ["entry 1", "done 1 success", "compare 2 compareTrue"]
    );
    assert!(!world.connection.owes_rest());
    world.receive_bytes(&bytes[..3]);
    assert!(world.connection.owes_rest());
}

#[test]
fn writes_overlap_and_reads_wait_for_them() {
    let mut world = World::new();
    let messages = [
        say::delete(1),
        say::delete(2),
        say::compare(3),
        say::delete(4),
    ];
    assert!(world.receive(&messages).is_empty());
    assert_eq!(world.service.log, ["delete 1", "delete 2"]);
    assert!(!world.connection.wants_input(true) && !world.connection.can_proceed());
    assert_eq!(world.complete(1), ["delete 1 success"]);
    assert!(!world.connection.can_proceed());
    assert_eq!(world.complete(2), ["delete 2 success"]);
    assert_eq!(world.proceed(), ["compare 3 compareTrue"]);
    assert_eq!(world.complete(4), ["delete 4 success"]);
    assert!(world.connection.wants_input(true));
}

#[test]
fn writes_beyond_the_limit_are_answered_busy() {
    let mut world = World::new();
    world.service.pending_max = 2;
    let messages = [say::delete(1), say::delete(2), say::delete(3)];
    assert_eq!(world.receive(&messages), ["delete 3 busy"]);
    world.complete(1);
    assert!(world.receive(&[say::delete(4)]).is_empty());
}

#[test]
fn a_long_search_is_parked_and_resumed_and_what_follows_waits() {
    let mut world = World::new();
    let messages = [say::search(1, "3 1 1"), say::compare(2)];
    assert_eq!(world.receive(&messages), ["entry 1"]);
    assert_eq!(world.proceed(), ["entry 1"]);
    assert_eq!(
        world.proceed(),
        ["entry 1", "done 1 success", "compare 2 compareTrue"]
    );
    assert!(!world.connection.can_proceed());
}

#[test]
fn a_full_output_stops_execution_until_it_is_sent() {
    let mut world = World::new();
    let messages: Vec<Vec<u8>> = (1..=40).map(|id| say::search(id, "1 100000 1")).collect();
    let mut answers = Vec::new();
    let mut rounds = 0;
    let bytes = messages.concat();
    world
        .connection
        .receive(&mut world.service, &world.rules, &bytes, &mut world.out);
    loop {
        assert!(world.out.len() < OUTPUT_BYTES_MAX + 200_000);
        answers.extend(heard(&std::mem::take(&mut world.out)));
        rounds += 1;
        if !world.connection.can_proceed() {
            break;
        }
        assert!(
            !world.connection.wants_input(true),
            "no more input while there is some"
        );
        world
            .connection
            .proceed(&mut world.service, &world.rules, &mut world.out);
    }
    assert_eq!((answers.len(), rounds), (80, 4));
    assert!(world.connection.wants_input(true));
    assert!(
        !world.connection.wants_input(false),
        "no reading while output waits"
    );
}

#[test]
fn many_requests_at_once_leave_others_their_turn() {
    let mut world = World::new();
    world.service.hurried = true;
    let messages: Vec<Vec<u8>> = (1..=40).map(say::compare).collect();
    // The first look begins the turn, the second one ends it.
    assert_eq!(world.receive(&messages).len(), 4);
    assert!(!world.connection.wants_input(true), "what came goes first");
    assert!(!world.connection.is_closed());
    for _ in 0..9 {
        assert_eq!(world.proceed().len(), 4);
    }
    assert!(!world.connection.can_proceed() && world.connection.wants_input(true));
    assert_eq!(world.connection.input.capacity(), 0);
    // Also while the client has said its last word.
    world.connection.receive(
        &mut world.service,
        &world.rules,
        &messages.concat(),
        &mut world.out,
    );
    world.connection.end_of_input(&mut world.service);
    while world.connection.can_proceed() {
        world
            .connection
            .proceed(&mut world.service, &world.rules, &mut world.out);
    }
    assert_eq!(heard(&std::mem::take(&mut world.out)).len(), 40);
    assert!(world.connection.is_closed());
}

#[test]
fn junk_gets_a_notice_and_the_connection_closes() {
    for (junk, diagnostic) in [
        (&b"GET / HTTP/1.1\r\n\r\n"[..], ""),
        (b"\x30\x80\x02\x01\x01", ""),
        (b"\x30\x84\xff\xff\xff\xff", ""),
        (b"\x30\x82\x04\x01", ""),
        (b"\x30\x05\x02\x01\x01\x42\x01", ""),
        (b"\x30\x03\x04\x01\x01", ""),
    ] {
        let mut world = World::new();
        let answers = world.receive_bytes(junk);
        let [answer] = &answers[..] else {
            panic!("{junk:x?}: {answers:?}")
        };
        assert!(
            answer.starts_with("notice protocolError "),
            "{junk:x?}: {answer}{diagnostic}"
        );
        assert!(world.connection.is_closed());
        assert!(world.receive(&[say::compare(1)]).is_empty());
    }
}

#[test]
fn a_malformed_request_is_refused_and_the_next_is_served() {
    let mut world = World::new();
    let mut broken = say::compare(5);
    // The entry's identifier octet.
    broken[7] = 0x02;
    assert_eq!(
        world.receive(&[broken, say::compare(6)]),
        ["compare 5 protocolError", "compare 6 compareTrue"]
    );
}

#[test]
fn a_wrong_length_inside_a_request_ends_the_session() {
    let mut world = World::new();
    let mut broken = say::compare(5);
    // The entry's length octet.
    broken[8] = 0x70;
    let answers = world.receive(&[broken, say::compare(6)]);
    assert!(
        answers[0].starts_with("notice protocolError"),
        "{answers:?}"
    );
    assert_eq!(answers.len(), 1);
}

#[test]
fn the_limit_on_messages_rises_with_authentication() {
    let long = "1 1 1 ".to_owned() + &"x".repeat(2000);
    let mut world = World::new();
    world.rules.allow_cleartext_binds = true;
    world.receive(&[say::bind(1, "cn=a", b"secret")]);
    assert_eq!(
        world.receive(&[say::search(2, &long)]),
        ["entry 2", "done 2 success"]
    );
    let mut world = World::new();
    let answers = world.receive(&[say::search(2, &long)]);
    assert!(
        answers[0].starts_with("notice protocolError"),
        "{answers:?}"
    );
}

#[test]
fn passwords_in_the_clear_are_refused_unless_allowed() {
    let bind = [say::bind(1, "cn=a", b"secret")];
    let mut world = World::new();
    assert_eq!(world.receive(&bind), ["bind 1 confidentialityRequired"]);
    assert_eq!(world.receive(&[say::bind(2, "", b"")]), ["bind 2 success"]);
    world.rules.allow_cleartext_binds = true;
    assert_eq!(world.receive(&bind), ["bind 1 success"]);
    let mut world = World::new();
    world.connection.confidential = true;
    assert_eq!(world.receive(&bind), ["bind 1 success"]);
}

#[test]
fn start_tls_makes_the_connection_confidential() {
    let mut world = World::new();
    assert_eq!(
        world.receive(&[say::extended(1, oid::START_TLS)]),
        ["extended 1 success"]
    );
    assert!(world.connection.starts_tls() && !world.connection.wants_input(true));
    world.connection.secured(&mut world.service);
    assert!(world.connection.wants_input(true));
    assert_eq!(
        world.receive(&[say::bind(2, "cn=a", b"secret")]),
        ["bind 2 success"]
    );
}

#[test]
fn requests_behind_start_tls_end_the_connection() {
    let mut world = World::new();
    let messages = [
        say::extended(1, oid::START_TLS),
        say::bind(2, "cn=a", b"secret"),
    ];
    assert_eq!(
        world.receive(&messages),
        [
            "extended 1 success",
            "notice protocolError requests behind StartTLS"
        ]
    );
    assert!(world.connection.is_closed());
}

#[test]
fn the_end_of_input_lets_what_was_begun_finish() {
    let mut world = World::new();
    world.receive(&[say::delete(1), say::compare(2)]);
    world.connection.end_of_input(&mut world.service);
    assert!(!world.connection.is_closed());
    assert_eq!(world.complete(1), ["delete 1 success"]);
    assert_eq!(world.proceed(), ["compare 2 compareTrue"]);
    assert!(world.connection.is_closed());
    let mut world = World::new();
    world.receive(&[say::search(1, "2 1 1")]);
    world.connection.end_of_input(&mut world.service);
    assert_eq!(world.proceed(), ["entry 1", "done 1 success"]);
    assert!(world.connection.is_closed());
    let mut world = World::new();
    world.receive_bytes(&[0x30]);
    world.connection.end_of_input(&mut world.service);
    assert!(world.connection.is_closed());
}

#[test]
fn a_stopping_server_answers_what_was_begun_and_says_goodbye() {
    let mut world = World::new();
    world.receive(&[say::delete(1), say::compare(2)]);
    world.connection.stop_executing();
    assert!(!world.connection.is_quiet() && !world.connection.wants_input(true));
    assert_eq!(world.complete(1), ["delete 1 success"]);
    assert!(world.connection.is_quiet());
    world
        .connection
        .farewell(&mut world.service, "the server is stopping", &mut world.out);
    assert_eq!(
        heard(&world.out),
        ["notice unavailable the server is stopping"]
    );
    assert!(world.connection.is_closed());
    assert_eq!(world.service.log, ["delete 1"]);
}

fn any_message() -> impl Strategy<Value = Vec<u8>> {
    let id = 1..50i32;
    prop_oneof![
        (id.clone(), 1..6usize, 1..4usize)
            .prop_map(|(id, entries, slice)| say::search(id, &format!("{entries} 3 {slice}"))),
        id.clone().prop_map(say::compare),
        id.clone().prop_map(say::delete),
        (id.clone(), 1..50i32).prop_map(|(id, target)| say::abandon(id + 100, target)),
        (id, 1..50u8).prop_map(|(id, target)| say::cancel(id + 200, target)),
    ]
}

/// Everything that comes out when `bytes` come in pieces of these sizes, each answered in full
/// before the next comes.
fn settle(bytes: &[u8], sizes: &[usize]) -> (Vec<String>, bool) {
    let mut world = World::new();
    let (writes, done) = std::sync::mpsc::channel();
    world.service.writer = Some(writes);
    let mut answers = Vec::new();
    let mut rest = bytes;
    let mut sizes = sizes.iter().cycle();
    loop {
        if world.connection.wants_input(true) && !rest.is_empty() {
            let size = rest.len().min(*sizes.next().unwrap());
            answers.extend(world.receive_bytes(&rest[..size]));
            rest = &rest[size..];
        } else if let Ok(done) = done.try_recv() {
            answers.extend(world.complete(done.id));
        } else if world.connection.can_proceed() {
            answers.extend(world.proceed());
        } else {
            assert!(
                rest.is_empty() || world.connection.is_closed(),
                "it is stuck"
            );
            return (answers, world.connection.is_closed());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn every_request_is_answered_however_it_comes(
        messages in prop::collection::vec(any_message(), 1..20),
        sizes in prop::collection::vec(1usize..60, 1..8),
    ) {
        let bytes = messages.concat();
        let (answers, closed) = settle(&bytes, &sizes);
        prop_assert!(!closed);
        let ended = answers.iter().filter(|it| !it.starts_with("entry")).count();
        let asked = messages.iter().filter(|it| {
            decode_header(it).is_some_and(|(_, tag)| tag != tag::ABANDON)
        });
        // An abandoned search is not answered; there are at most as many as abandons.
        let abandons = messages.len() - asked.clone().count();
        prop_assert!(ended <= asked.clone().count());
        prop_assert!(ended + abandons >= asked.count());
    }

    #[test]
    fn no_bytes_make_it_panic_or_hang(
        bytes in prop::collection::vec(any::<u8>(), 0..300),
        head in any_message(),
        sizes in prop::collection::vec(1usize..60, 1..8),
    ) {
        settle(&bytes, &sizes);
        settle(&[head, bytes].concat(), &sizes);
    }

    #[test]
    fn damaged_messages_do_not_make_it_panic_or_hang(
        messages in prop::collection::vec(any_message(), 1..8),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let mut bytes = messages.concat();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        settle(&bytes, &[64]);
    }
}
