//! A client of the cluster that goes on through faults, and writes down what it hears.

use super::history::{Fate, History, Read, Set, Span};
use kit::client::Modification;
use kit::random::Random;
use kit::{ADMIN, Client, PASSWORD, SUFFIX, people};
use protocol::control::Position;
use protocol::{OwnedControl, ResultCode, Scope, oid};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Number of registers.
pub const REGISTERS: usize = 3;
/// Name of the entry with the counter, its attribute `uidNumber`.
pub const COUNTER: &str = "cn=counter,dc=example,dc=com";
/// Time after which a client gives an operation up.
const PATIENCE: Duration = Duration::from_secs(8);

/// Name of the entry whose `description` is a register.
pub fn register(number: usize) -> String {
    format!("cn=register{number},{SUFFIX}")
}

/// What clients share with the test.
pub struct Grove {
    /// Addresses of the nodes, the last ones while a node is stopped.
    pub addresses: Mutex<Vec<SocketAddr>>,
    /// Whether the clients are to end.
    pub ends: AtomicBool,
}

impl Grove {
    /// Notes the address of a node that was started anew.
    pub fn moved(&self, node: usize, address: SocketAddr) {
        self.addresses
            .lock()
            .unwrap_or_else(PoisonError::into_inner)[node] = address;
    }

    fn address(&self, node: usize) -> SocketAddr {
        self.addresses
            .lock()
            .unwrap_or_else(PoisonError::into_inner)[node]
    }
}

/// One client.
pub struct Wanderer<'g> {
    grove: &'g Grove,
    number: usize,
    random: Random,
    nodes: usize,
    client: Option<Client>,
    history: History,
}

impl<'g> Wanderer<'g> {
    /// A client with a number of its own.
    pub fn new(grove: &'g Grove, number: usize, random: Random, nodes: usize) -> Wanderer<'g> {
        Wanderer {
            grove,
            number,
            random,
            nodes,
            client: None,
            history: History::default(),
        }
    }

    /// Works until the clients are to end; returns what was done and heard.
    pub fn run(mut self) -> History {
        let mut serial = 0;
        while !self.grove.ends.load(Ordering::Acquire) {
            if self.client.is_none() || self.random.below(20) == 0 {
                self.client = self.connect();
            }
            if self.client.is_none() {
                std::thread::park_timeout(Duration::from_millis(20));
                continue;
            }
            serial += 1;
            match self.random.below(10) {
                0..4 => self.set(serial),
                4..7 => self.read(),
                7..9 => self.add(serial),
                _ => self.increment(),
            }
        }
        self.history
    }

    fn connect(&mut self) -> Option<Client> {
        let node = self.random.below(self.nodes as u64) as usize;
        let address = self.grove.address(node);
        let mut client = Client::try_connect(address).ok()?;
        let session = client.session();
        session.set_deadline(Instant::now() + PATIENCE);
        let bound = session.bind(ADMIN, PASSWORD).ok()?;
        (bound.code == ResultCode::SUCCESS).then_some(client)
    }

    /// Modifies an entry; drops the connection unless there is a result.
    fn modify(&mut self, name: &str, change: Modification) -> (Span, Fate) {
        let asked = [OwnedControl::new(oid::POSITION, true)];
        let (begun, session) = self.session();
        let answer = session.modify(name, &[change], &asked);
        let fate = fate(answer);
        (self.end(begun, fate == Fate::Unknown), fate)
    }

    fn set(&mut self, serial: u64) {
        let register = self.random.below(REGISTERS as u64) as usize;
        let value = format!("client {} write {serial}", self.number);
        let change = Modification::replace("description", &[&value]);
        let (span, fate) = self.modify(&super::client::register(register), change);
        self.history.sets.push(Set {
            register,
            value,
            span,
            fate,
        });
    }

    fn increment(&mut self) {
        let (_, fate) = self.modify(COUNTER, Modification::increment("uidNumber", "1"));
        self.history.increments.push(fate);
    }

    fn read(&mut self) {
        let register = self.random.below(REGISTERS as u64) as usize;
        let name = super::client::register(register);
        let insists = [OwnedControl::new(oid::DONT_USE_COPY, true)];
        let (begun, session) = self.session();
        let scope = Scope::BaseObject;
        let filter = "(objectClass=*)";
        let found = session.search_with(&name, scope, filter, &["description"], &insists, |_| {});
        let is_lost = found.is_err();
        let span = self.end(begun, is_lost);
        let entry = found
            .ok()
            .and_then(|it| it.ok().ok())
            .and_then(|it| it.one().ok());
        if let Some(entry) = entry {
            self.history.reads.push(Read {
                register,
                value: entry.texts("description").first().cloned(),
                span,
            });
        }
    }

    fn add(&mut self, serial: u64) {
        let uid = format!("c{}n{serial}", self.number);
        let mut person = people::person(&uid);
        person.name = format!("uid={uid},{SUFFIX}");
        let asked = [OwnedControl::new(oid::POSITION, true)];
        let (begun, session) = self.session();
        let answer = session.add(&person, &asked);
        let fate = fate(answer);
        self.end(begun, fate == Fate::Unknown);
        self.history.added.push((person.name, fate));
    }

    fn session(&mut self) -> (Instant, &mut conformance::Session) {
        let begun = Instant::now();
        let session = self.client.as_mut().expect("connected").session();
        session.set_deadline(begun + PATIENCE);
        (begun, session)
    }

    fn end(&mut self, begun: Instant, is_lost: bool) -> Span {
        if is_lost {
            self.client = None;
        }
        Span {
            begun,
            ended: Instant::now(),
        }
    }
}

/// What an answer to a write says. Panics on a result that no fault explains.
fn fate(answer: Result<kit::Outcome, conformance::Finding>) -> Fate {
    let Ok(outcome) = answer else {
        return Fate::Unknown;
    };
    match outcome.code {
        ResultCode::SUCCESS => {
            let value = outcome
                .control(oid::POSITION)
                .expect("a position was asked for");
            Fate::Done(Position::decode(value).expect("decodable").position)
        }
        ResultCode::UNAVAILABLE | ResultCode::BUSY => Fate::Refused,
        _ => panic!("no fault explains {outcome}"),
    }
}
