//! Hostile clients: the server answers with protocolError or a Notice of Disconnection, its memory
//! stays bounded, and other clients notice nothing.

mod accounts;
mod bytes;
mod crowds;
mod doors;
mod passwords;
mod requests;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use kit::{Client, Pando, SUFFIX};
use protocol::Scope;

/// A good client that goes on asking while others misbehave.
struct Bystander {
    done: Arc<AtomicBool>,
    thread: JoinHandle<Waits>,
}

/// How long a good client waited.
#[derive(Debug, Default)]
struct Waits {
    searches: u64,
    /// Searches that took longer than [`NOTICEABLE`].
    slow: u64,
    longest: Duration,
}

/// A wait that a person begins to notice; a search takes a thousandth of it.
const NOTICEABLE: Duration = Duration::from_millis(250);
/// A machine that compiles beside the tests stands still for seconds now and then, a server that
/// hangs for longer.
const LONGEST: Duration = Duration::from_secs(30);

impl Bystander {
    fn of(address: SocketAddr) -> Self {
        let done = Arc::new(AtomicBool::new(false));
        let stop = Arc::clone(&done);
        let thread = thread::spawn(move || {
            let mut client = Client::connect(address);
            let mut waits = Waits::default();
            // Once at least, however late the thread has its turn.
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

    /// Panics when it was ever answered wrongly, often late, or not at all.
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

/// A served node with a hundred people.
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
