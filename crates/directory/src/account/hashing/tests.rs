//! Tests the treatment of waiting work, with a pool without threads.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use crate::account::check::BindCheck;
use crate::account::hashing::*;
use crate::account::verdict::Asked;
use policy::{Guesses, Subject, Tag};
use replica::{SystemClock, failure};
use std::sync::mpsc::{Receiver, Sender, channel};

struct Inbox(Mutex<Sender<Completion>>);

impl Mailbox for Inbox {
    fn deliver(&self, completions: Vec<Completion>) {
        let sender = self.0.lock().unwrap();
        completions
            .into_iter()
            .for_each(|it| sender.send(it).unwrap());
    }
}

struct World {
    pool: HashPool,
    mailbox: Arc<dyn Mailbox>,
    completions: Receiver<Completion>,
    tag: Tag,
}

impl World {
    fn new(threads: usize, waiting_max: usize, wait_max: Duration) -> World {
        let verified = Arc::new(VerifiedCache::new(16, 1_000).unwrap());
        let tag = verified.tag(0, b"", b"");
        let schema = schema::Schema::standard();
        let settings = HashSettings {
            verified,
            clock: Arc::new(SystemClock),
            password_type: schema.describe("userPassword").unwrap().type_id,
            lists: Arc::new(policy::quality::NoLists),
            outside: Arc::new(policy::outside::NoOutsidePasswords),
            in_vain: Mutex::default(),
        };
        let (sender, completions) = channel();
        World {
            pool: HashPool::start_with(threads, settings, waiting_max, wait_max).unwrap(),
            mailbox: Arc::new(Inbox(Mutex::new(sender))),
            completions,
            tag,
        }
    }

    fn check(&self, session: u64, lane: u8) -> Result<(), Stop> {
        self.submit(
            session,
            lane,
            CheckPurpose::Bind(Box::new(BindCheck {
                subject: Box::new(Subject::anonymous(None, true)),
                asked: Asked::default(),
                guess: self.tag,
                trial: Guesses::new(0).trial(b"", None, 0).expect("no limit"),
                proof: Vec::new().into(),
            })),
        )
    }

    fn submit(&self, session: u64, lane: u8, purpose: CheckPurpose) -> Result<(), Stop> {
        self.pool.submit(Task {
            lane: lane_of(lane),
            session,
            id: 1,
            mailbox: Arc::clone(&self.mailbox),
            scheme: Scheme::Ssha,
            verifiers: None,
            work: Work::Verify(PasswordJob {
                entry: 1,
                stored: vec![b"one".to_vec(), b"two".to_vec()],
                given: b"two".to_vec().into(),
                purpose,
            }),
        })
    }

    /// Submits a write whose password is to be hashed.
    fn write(&self, session: u64, lane: u8) {
        let writes = Vec::new();
        let writes = RequestWrites::Transaction {
            writes,
            ids: Vec::new(),
        };
        let task = Task {
            lane: lane_of(lane),
            session,
            id: 1,
            mailbox: Arc::clone(&self.mailbox),
            scheme: Scheme::Ssha,
            verifiers: None,
            work: Work::Hash {
                writes: Box::new(writes),
                kind: ResultKind::Modify,
                reply: Reply::default(),
            },
        };
        self.pool.submit(task).unwrap();
    }

    /// The sessions whose work was refused so far, with the result codes.
    fn refused(&self) -> Vec<(u64, ResultCode)> {
        let refused = |it: Completion| match it.what {
            Finished::NotChecked { stop, .. } | Finished::NotHashed { stop, .. } => {
                (it.session, failure::result_of(stop).code)
            }
            other => panic!("{other:?}"),
        };
        self.completions.try_iter().map(refused).collect()
    }
}

fn lane_of(number: u8) -> Lane {
    Lane::Address(std::net::IpAddr::from([192, 0, 2, number]))
}

const LONG: Duration = Duration::from_secs(3_600);

#[test]
fn work_is_done_and_says_which_value_is_right() {
    let world = World::new(2, 100, LONG);
    for session in 0..20 {
        world.check(session, session as u8).unwrap();
    }
    for _ in 0..20 {
        match world.completions.recv().unwrap().what {
            Finished::Password(it) => assert_eq!(it.matched, Some(b"two".to_vec())),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn what_waits_too_long_is_not_begun() {
    let world = World::new(1, 100, Duration::ZERO);
    world.check(7, 1).unwrap();
    let said = world.completions.recv().unwrap();
    match said.what {
        Finished::NotChecked { stop, .. } => {
            assert_eq!(failure::result_of(stop).code, ResultCode::BUSY);
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_crowd_makes_room_for_others() {
    let world = World::new(0, 2, LONG);
    world.check(1, 1).unwrap();
    world.check(2, 1).unwrap();
    let stop = world.check(3, 1).unwrap_err();
    assert_eq!(failure::result_of(stop).code, ResultCode::BUSY);
    assert_eq!(world.refused(), []);
    world.check(4, 2).unwrap();
    assert_eq!(world.refused(), [(2, ResultCode::BUSY)]);
}

#[test]
fn a_session_that_is_gone_takes_its_work_along() {
    let world = World::new(0, 100, LONG);
    for session in [1, 2] {
        world.check(session, 1).unwrap();
        world.write(session, 1);
    }
    world.pool.forget_checks(&world.mailbox, 1, lane_of(1));
    assert_eq!(world.refused(), [(1, ResultCode::BUSY)]);
    world.pool.forget(&world.mailbox, 1, lane_of(1));
    assert_eq!(world.refused(), [(1, ResultCode::BUSY)]);
    world.pool.forget(&world.mailbox, 2, lane_of(2));
    assert_eq!(world.refused(), [], "another lane is another client's");
    // Session numbers are unique within one serving thread only.
    let other: Arc<dyn Mailbox> = Arc::new(Inbox(Mutex::new(channel().0)));
    world.pool.forget(&other, 2, lane_of(1));
    assert_eq!(world.refused(), []);
    // A bind cannot be abandoned.
    world.pool.abandon(&world.mailbox, 2, lane_of(1), 1);
    assert_eq!(world.refused(), []);
}

#[test]
fn a_stop_does_not_wait_for_the_queue() {
    let world = World::new(0, 100, LONG);
    world.check(1, 1).unwrap();
    world.write(2, 2);
    world.pool.stop();
    let mut refused = world.refused();
    refused.sort_by_key(|it| it.0);
    let code = ResultCode::UNAVAILABLE;
    assert_eq!(refused, [(1, code), (2, code)]);
    let stop = world.check(3, 1).unwrap_err();
    assert_eq!(failure::result_of(stop).code, code);
}
