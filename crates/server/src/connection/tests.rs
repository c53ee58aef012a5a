//! The connection on bytes, in front of a real directory.

use std::cell::RefCell;

use directory::{Options, Peer};
use policy::LimitSettings;
use proptest::prelude::*;
use protocol::request::tag;
use protocol::{Request, decode_header, oid};

use super::*;
use crate::kit::{Home, Mail, SLICE_BYTES, heard, say};
use crate::settings::Origin;

mod bundles;
mod following;
mod held_reads;
mod look_ahead;
mod parts;
mod room;

struct World {
    connection: Connection,
    worker: Worker,
    rules: Rules,
    out: Vec<u8>,
    mail: Mail,
    session: u64,
    home: Home,
}

/// A client on this machine.
fn local() -> Peer {
    Peer {
        local: true,
        ..Peer::default()
    }
}

impl World {
    /// A connection of a client that has not authenticated.
    fn new() -> World {
        World::with(&Options::default())
    }

    fn with(options: &Options) -> World {
        let home = Home::new(options);
        let (mut worker, mail) = home.worker();
        worker.offer_tls(true);
        let rules = Rules {
            limits: DecodeLimits {
                message_bytes_max: 4096,
                ..DecodeLimits::DEFAULT
            },
            anonymous_message_bytes_max: 1024,
            allow_cleartext_binds: false,
            administrator_from: [Origin::Local].into_iter().collect(),
            trust_local: true,
            turn_time_max: Duration::from_secs(3600),
        };
        let session = worker.open_session(7, local());
        World {
            connection: Connection::new(session, false),
            worker,
            rules,
            out: Vec::new(),
            mail,
            session: 7,
            home,
        }
    }

    /// A connection of the administrator.
    fn admin() -> World {
        let mut world = World::new();
        world.bind();
        world
    }

    /// Binds as the administrator, past the refusal of passwords in the clear.
    fn bind(&mut self) {
        let allowed = std::mem::replace(&mut self.rules.allow_cleartext_binds, true);
        assert_eq!(self.receive(&[say::bind_admin(999)]), ["bind 999 success"]);
        self.rules.allow_cleartext_binds = allowed;
    }

    /// Closes the connection and begins another one of the administrator.
    fn renew(&mut self) {
        self.connection.abort(&mut self.worker);
        self.session += 1;
        let session = self.worker.open_session(self.session, local());
        self.connection = Connection::new(session, false);
        self.bind();
    }

    fn receive(&mut self, messages: &[Vec<u8>]) -> Vec<String> {
        self.receive_bytes(&messages.concat())
    }

    fn receive_bytes(&mut self, bytes: &[u8]) -> Vec<String> {
        self.receive_part(bytes);
        self.heard()
    }

    /// Receives bytes whose output may end inside a message.
    fn receive_part(&mut self, bytes: &[u8]) {
        self.worker.release_snapshot();
        self.connection
            .receive(&mut self.worker, &self.rules, bytes, &mut self.out);
    }

    fn proceed(&mut self) -> Vec<String> {
        self.proceed_part();
        self.heard()
    }

    /// Proceeds with output that may end inside a message.
    fn proceed_part(&mut self) {
        assert!(self.connection.can_proceed());
        self.connection
            .proceed(&mut self.worker, &self.rules, &mut self.out);
    }

    /// Proceeds while there is something to do.
    fn settle(&mut self) -> Vec<String> {
        while self.connection.can_proceed() {
            self.proceed_part();
        }
        self.heard()
    }

    /// The output so far, which is taken.
    fn heard(&mut self) -> Vec<String> {
        heard(&std::mem::take(&mut self.out))
    }

    /// Hands over the news that `cn=watched` has changed, for the following search `id`.
    fn news(&mut self, id: MessageId) -> Vec<String> {
        self.home.owner.touch("cn=watched");
        let news = self.mail.news(id);
        self.arrive(news);
        self.heard()
    }

    /// Hands over the end of a write, which may have been executed long before.
    fn complete(&mut self, id: MessageId) -> Vec<String> {
        let end = self.mail.end(id);
        self.arrive(end);
        self.heard()
    }

    fn arrive(&mut self, completion: Completion) {
        self.connection
            .complete(&mut self.worker, completion, &mut self.out);
    }
}

#[test]
fn all_whole_messages_are_executed_in_order_into_one_output() {
    let mut world = World::new();
    world.home.owner.people("two", 2, 1);
    let messages = [say::search(1, "cn=a"), say::compare(2), say::list(3, "two")];
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
    let bytes = [say::search(1, "cn=a"), say::compare(2)].concat();
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
fn writes_beyond_the_limit_are_answered_busy() {
    let mut limits = LimitSettings::default();
    limits.administrator.pending_operations_max = 2;
    let mut world = World::with(&Options {
        limits,
        ..Options::default()
    });
    world.bind();
    let messages = [say::modify(1), say::modify(2), say::modify(3)];
    assert_eq!(world.receive(&messages), ["modify 3 busy"]);
    world.complete(1);
    assert!(world.receive(&[say::modify(4)]).is_empty());
}

#[test]
fn a_long_search_is_parked_and_resumed_and_what_follows_waits() {
    let mut world = World::new();
    world.home.owner.people("long", 3, SLICE_BYTES);
    let messages = [say::list(1, "long"), say::compare(2)];
    assert_eq!(world.receive(&messages), ["entry 1"]);
    assert_eq!(world.proceed(), ["entry 1"]);
    let said = world.settle();
    assert_eq!(said, ["entry 1", "done 1 success", "compare 2 compareTrue"]);
    assert!(!world.connection.can_proceed());
}

#[test]
fn a_full_output_stops_execution_until_it_is_sent() {
    let mut world = World::new();
    world.home.owner.person("cn=long", 100_000);
    let messages: Vec<Vec<u8>> = (1..=40).map(|id| say::search(id, "cn=long")).collect();
    let mut answers = Vec::new();
    let mut rounds = 0;
    world.receive_part(&messages.concat());
    loop {
        assert!(world.out.len() < OUTPUT_BYTES_MAX + 200_000);
        answers.extend(world.heard());
        rounds += 1;
        if !world.connection.can_proceed() {
            break;
        }
        assert!(
            !world.connection.wants_input(true),
            "no more input while there is some"
        );
        world.proceed_part();
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
    world.rules.turn_time_max = Duration::ZERO;
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
    world.receive_part(&messages.concat());
    world.connection.end_of_input(&mut world.worker);
    assert_eq!(world.settle().len(), 40);
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
    let long = "cn=".to_owned() + &"x".repeat(2000);
    let mut world = World::admin();
    assert_eq!(
        world.receive(&[say::search(2, &long)]),
        ["done 2 noSuchObject"]
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
    let bind = [say::bind_admin(1)];
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
    world.connection.secured();
    assert!(world.connection.wants_input(true));
    assert_eq!(world.receive(&[say::bind_admin(2)]), ["bind 2 success"]);
}

#[test]
fn requests_behind_start_tls_end_the_connection() {
    let mut world = World::new();
    let messages = [say::extended(1, oid::START_TLS), say::bind_admin(2)];
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
    let mut world = World::admin();
    world.home.owner.people("long", 2, SLICE_BYTES);
    world.receive(&[say::modify(1), say::compare(2)]);
    world.connection.end_of_input(&mut world.worker);
    assert!(!world.connection.is_closed());
    assert_eq!(world.complete(1), ["modify 1 success"]);
    assert_eq!(world.proceed(), ["compare 2 compareTrue"]);
    assert!(world.connection.is_closed());
    world.renew();
    assert_eq!(world.receive(&[say::list(1, "long")]), ["entry 1"]);
    world.connection.end_of_input(&mut world.worker);
    assert_eq!(world.settle(), ["entry 1", "done 1 success"]);
    assert!(world.connection.is_closed());
    world.renew();
    world.receive_bytes(&[0x30]);
    world.connection.end_of_input(&mut world.worker);
    assert!(world.connection.is_closed());
}

#[test]
fn a_stopping_server_answers_what_was_begun_and_says_goodbye() {
    let mut world = World::admin();
    world.receive(&[say::modify(1), say::compare(2)]);
    world.connection.stop_executing();
    assert!(!world.connection.is_quiet() && !world.connection.wants_input(true));
    assert_eq!(world.complete(1), ["modify 1 success"]);
    assert!(world.connection.is_quiet() && !world.connection.can_proceed());
    world
        .connection
        .farewell(&mut world.worker, "the server is stopping", &mut world.out);
    assert_eq!(
        world.heard(),
        ["notice unavailable the server is stopping"],
        "the compare behind the write is not executed"
    );
    assert!(world.connection.is_closed());
}

fn any_message() -> impl Strategy<Value = Vec<u8>> {
    let id = 1..50i32;
    prop_oneof![
        (id.clone(), 1..4usize).prop_map(|(id, list)| say::list(id, &format!("parked{list}"))),
        id.clone().prop_map(|id| say::list(id, "short")),
        id.clone().prop_map(say::compare),
        id.clone().prop_map(say::modify),
        (id.clone(), 1..50i32).prop_map(|(id, target)| say::abandon(id + 100, target)),
        (id, 1..50u8).prop_map(|(id, target)| say::cancel(id + 200, target)),
    ]
}

/// A directory with entries for [`any_message`].
fn any_world() -> World {
    let mut world = World::admin();
    world.home.owner.people("short", 3, 1);
    for count in 1..4 {
        world.home.owner.computed(&format!("parked{count}"), count);
    }
    world
}

/// Everything that comes out of a new connection when `bytes` come in pieces of these sizes, each
/// answered in full before the next comes.
fn answers(world: &mut World, bytes: &[u8], sizes: &[usize]) -> (Vec<String>, bool) {
    world.renew();
    let mut answers = Vec::new();
    let mut rest = bytes;
    let mut sizes = sizes.iter().cycle();
    loop {
        if world.connection.wants_input(true) && !rest.is_empty() {
            let size = rest.len().min(*sizes.next().unwrap());
            answers.extend(world.receive_bytes(&rest[..size]));
            rest = &rest[size..];
        } else if world.connection.can_proceed() {
            answers.extend(world.proceed());
        } else if !world.connection.unfinished.is_empty() {
            let completion = world.mail.next();
            // An earlier connection may have been closed before the end of its writes.
            if completion.session == world.session {
                world.arrive(completion);
                answers.extend(world.heard());
            }
        } else {
            assert!(
                rest.is_empty() || world.connection.is_closed(),
                "it is stuck"
            );
            return (answers, world.connection.is_closed());
        }
    }
}

fn cases() -> ProptestConfig {
    ProptestConfig::with_cases(200)
}

#[test]
fn every_request_is_answered_however_it_comes() {
    let world = RefCell::new(any_world());
    proptest!(cases(), |(
        messages in prop::collection::vec(any_message(), 1..20),
        sizes in prop::collection::vec(1usize..60, 1..8),
    )| {
        let (answers, closed) = answers(&mut world.borrow_mut(), &messages.concat(), &sizes);
        prop_assert!(!closed);
        let ended = answers.iter().filter(|it| !it.starts_with("entry")).count();
        let asked = messages.iter().filter(|it| {
            decode_header(it).is_some_and(|(_, tag)| tag != tag::ABANDON)
        });
        // An abandoned search is not answered; there are at most as many as abandons.
        let abandons = messages.len() - asked.clone().count();
        prop_assert!(ended <= asked.clone().count());
        prop_assert!(ended + abandons >= asked.count());
    });
}

#[test]
fn no_bytes_make_it_panic_or_hang() {
    let world = RefCell::new(any_world());
    proptest!(cases(), |(
        bytes in prop::collection::vec(any::<u8>(), 0..300),
        head in any_message(),
        sizes in prop::collection::vec(1usize..60, 1..8),
    )| {
        let world = &mut world.borrow_mut();
        answers(world, &bytes, &sizes);
        answers(world, &[head, bytes].concat(), &sizes);
    });
}

#[test]
fn damaged_messages_do_not_make_it_panic_or_hang() {
    let world = RefCell::new(any_world());
    proptest!(cases(), |(
        messages in prop::collection::vec(any_message(), 1..8),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    )| {
        let mut bytes = messages.concat();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        answers(&mut world.borrow_mut(), &bytes, &[64]);
    });
}
