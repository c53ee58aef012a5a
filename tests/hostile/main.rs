//! Hostile clients: the server answers with protocolError or a Notice of Disconnection, its memory
//! stays bounded, and other clients are not affected.

mod access_rules;
mod accounts;
mod bytes;
mod crowds;
mod delegation;
mod doors;
mod explained;
mod guessing;
mod limits;
mod memory;
mod overload;
mod passwords;
mod requests;
mod room;
mod slow;
mod tried_rules;
mod two_worlds;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use kit::{Client, Pando, SUFFIX};
use protocol::Scope;

/// A well-behaved client that keeps sending requests while others misbehave.
struct Bystander {
    done: Arc<AtomicBool>,
    thread: JoinHandle<Waits>,
}

/// Times for which a well-behaved client waited.
#[derive(Debug, Default)]
struct Waits {
    searches: u64,
    /// Number of searches that took longer than [`NOTICEABLE`].
    slow: u64,
    longest: Duration,
}

/// A noticeable wait; a search takes a thousandth of it.
const NOTICEABLE: Duration = Duration::from_millis(250);
/// Greatest accepted wait: a machine that compiles beside the tests stalls for seconds, a hanging
/// server for longer.
const LONGEST: Duration = Duration::from_secs(30);

impl Bystander {
    fn of(address: SocketAddr) -> Self {
        let done = Arc::new(AtomicBool::new(false));
        let stop = Arc::clone(&done);
        let thread = thread::spawn(move || {
            let mut client = Client::connect(address);
            let mut waits = Waits::default();
            // The client searches at least once, however late the thread runs.
            loop {
                let started = Instant::now();
                let found = client.search(SUFFIX, Scope::BaseObject, "(objectClass=*)", &["dc"]);
                found.outcome.clone().expect_success();
                assert_eq!(found.only().text("dc"), "example");
                let waited = started.elapsed();
                waits.searches += 1;
                waits.slow += u64::from(waited > NOTICEABLE);
                waits.longest = waits.longest.max(waited);
                if stop.load(Ordering::Relaxed) {
                    break waits;
                }
            }
        });
        Bystander { done, thread }
    }

    /// Panics when an answer was wrong, often late, or missing.
    fn noticed_nothing(self) {
        self.done.store(true, Ordering::Relaxed);
        let waits = self
            .thread
            .join()
            .expect("the bystander was answered wrongly");
        eprintln!("bystander: {waits:?}");
        assert!(waits.searches > 0 && waits.longest < LONGEST, "{waits:?}");
        assert!(waits.slow <= 2 + waits.searches / 500, "{waits:?}");
    }
}

/// Serves a node with a hundred people.
fn served() -> Pando {
    let pando = Pando::start();
    let mut admin = pando.admin();
    for number in 0..100 {
        let mut person = kit::people::person(&format!("p{number}"));
        person.name = format!("uid=p{number},{SUFFIX}");
        person.push("description", vec![b'x'; 4000]);
        admin.add(&person).expect_success();
    }
    pando
}
