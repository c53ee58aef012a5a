//! Hostile clients: the server answers with protocolError or a Notice of Disconnection, its memory
//! stays bounded, and other clients notice nothing.

mod bytes;
mod crowds;

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
    thread: JoinHandle<(u64, Duration)>,
}

/// Longest wait a good client may notice: far above what a loaded machine needs for one search,
/// far below what a hung server would cause.
const WAIT_MAX: Duration = Duration::from_secs(5);

impl Bystander {
    fn of(address: SocketAddr) -> Self {
        let done = Arc::new(AtomicBool::new(false));
        let stop = Arc::clone(&done);
        let thread = thread::spawn(move || {
            let mut client = Client::connect(address);
            let (mut count, mut longest) = (0, Duration::ZERO);
            while !stop.load(Ordering::Relaxed) {
                let started = Instant::now();
                let found = client.search(SUFFIX, Scope::BaseObject, "(objectClass=*)", &["dc"]);
                found.outcome.clone().expect_success();
                assert_eq!(found.only().text("dc"), "example");
                longest = longest.max(started.elapsed());
                count += 1;
            }
            (count, longest)
        });
        Bystander { done, thread }
    }

    /// Panics when it was ever answered wrongly, late, or not at all.
    fn noticed_nothing(self) {
        self.done.store(true, Ordering::Relaxed);
        let (count, longest) = self
            .thread
            .join()
            .expect("the bystander was answered wrongly");
        eprintln!("bystander: {count} searches, longest {longest:?}");
        assert!(
            count > 0 && longest < WAIT_MAX,
            "{count} searches, longest {longest:?}"
        );
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
