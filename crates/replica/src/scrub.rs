//! The scrub: a thread of low priority and limited rate reads the whole database periodically, to
//! find damage before a client needs the damaged entry.
//!
//! Invariant: the scrub waits without a snapshot, so it never prevents the reuse of pages, however
//! slow it is. Damage is confirmed in a second snapshot before it is reported.

use crate::clock::Clock;
use crate::failure;
use arc_swap::ArcSwap;
use state::catalog::Catalog;
use state::stop::Failure;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use store::{EntryId, Scrub, Store, private};

/// File in the data folder that holds the end of the last complete round, in microseconds since
/// 1970.
const FILE: &str = "scrubbed";
/// Maximum rate in bytes per second: an eighth of the rate of a rotating disk.
const RATE: u64 = 16 << 20;
/// Maximum number of damages of one round that are logged singly.
const TOLD_MAX: u64 = 20;
/// Maximum sleep before the next round, because clocks may be set.
const NAP_MAX: Duration = Duration::from_secs(600);
/// Nice value of the thread.
const NICENESS: i32 = 19;

/// Schedule of the scrub.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scrubbing {
    /// Time from the end of a round to the beginning of the next.
    pub every: Duration,
    /// Minimum time from opening the directory to the first round, because other work has priority
    /// then.
    pub delay: Duration,
}

/// Progress, for the monitor.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Standing {
    /// Part being read, of four, and id of the last entry read in the first part; `None` between
    /// rounds.
    pub place: Option<(u8, u64)>,
    /// End of the last round in microseconds since 1970; `None` if there was none.
    pub ended_us: Option<u64>,
    /// Number of damages found in the current round, or else in the last one since the start.
    pub damages: u64,
}

/// Handle of the thread.
pub struct Scrubber {
    shared: Arc<ScrubState>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct ScrubState {
    state: Mutex<State>,
    called: Condvar,
}

#[derive(Default)]
struct State {
    standing: Standing,
    stopped: bool,
}

impl ScrubState {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits; returns `false` if the directory is being closed.
    fn wait(&self, time: Duration) -> bool {
        let waited = self
            .called
            .wait_timeout_while(self.lock(), time, |it| !it.stopped);
        !waited.unwrap_or_else(PoisonError::into_inner).0.stopped
    }
}

impl Scrubber {
    /// Starts the thread; does nothing if no reading is `wanted`.
    pub fn start(
        wanted: Option<Scrubbing>,
        store: &Store,
        catalog: &Arc<ArcSwap<Catalog>>,
        clock: &Arc<dyn Clock>,
    ) -> Result<Scrubber, Failure> {
        let shared = Arc::new(ScrubState::default());
        let file = store.folder().join(FILE);
        shared.lock().standing.ended_us = last_end(&file);
        let mut thread = None;
        if let Some(scrubbing) = wanted {
            let work = Work {
                store: store.clone(),
                scrubbing,
                file,
                catalog: Arc::clone(catalog),
                clock: Arc::clone(clock),
                shared: Arc::clone(&shared),
            };
            let named = std::thread::Builder::new().name("scrub".to_owned());
            let spawned = named.spawn(move || work.run());
            thread = Some(spawned.map_err(|it| Failure::file("starting a thread", it))?);
        }
        Ok(Scrubber { shared, thread })
    }

    /// Whether reading is scheduled.
    pub fn is_on(&self) -> bool {
        self.thread.is_some()
    }

    pub fn standing(&self) -> Standing {
        self.shared.lock().standing
    }

    /// Ends the thread after its current step.
    pub fn stop(&self) {
        self.shared.lock().stopped = true;
        self.shared.called.notify_all();
    }
}

impl Drop for Scrubber {
    fn drop(&mut self) {
        self.stop();
        if self.thread.take().is_some_and(|it| it.join().is_err()) {
            tracing::error!("the thread that reads everything panicked");
        }
    }
}

/// End of the last round in the file; `None` if the file is missing or unreadable.
fn last_end(file: &Path) -> Option<u64> {
    std::fs::read_to_string(file).ok()?.trim().parse().ok()
}

/// State of the thread.
struct Work {
    store: Store,
    scrubbing: Scrubbing,
    file: PathBuf,
    catalog: Arc<ArcSwap<Catalog>>,
    clock: Arc<dyn Clock>,
    shared: Arc<ScrubState>,
}

impl Work {
    fn run(self) {
        // If the kernel refuses, the limited rate still applies.
        let _ = rustix::process::nice(NICENESS);
        if !self.shared.wait(self.scrubbing.delay) {
            return;
        }
        loop {
            let ended_us = self.shared.lock().standing.ended_us;
            let since_us = ended_us.map(|it| self.clock.now_us().saturating_sub(it));
            let since = since_us.map_or(Duration::MAX, Duration::from_micros);
            let left = self.scrubbing.every.saturating_sub(since);
            let goes_on = match left.is_zero() {
                true => self.round(),
                false => self.shared.wait(left.min(NAP_MAX)),
            };
            if !goes_on {
                return;
            }
        }
    }

    /// Reads the whole database once; returns `false` if the directory is being closed.
    fn round(&self) -> bool {
        let mut scrub = Scrub::default();
        self.shared.lock().standing.damages = 0;
        while !scrub.is_done() {
            self.shared.lock().standing.place = Some(scrub.place());
            let (bytes, damages) = self.step(&mut scrub);
            for (entry, text) in damages {
                self.tell(entry, &text);
            }
            if !self
                .shared
                .wait(Duration::from_micros(bytes * 1_000_000 / RATE))
            {
                return false;
            }
        }
        let ended_us = self.clock.now_us();
        if let Err(error) = private::write(&self.file, format!("{ended_us}\n")) {
            let file = self.file.display();
            tracing::warn!(%error, %file, "the end of the reading could not be noted");
        }
        let mut state = self.shared.lock();
        let damages = state.standing.damages;
        (state.standing.place, state.standing.ended_us) = (None, Some(ended_us));
        drop(state);
        match damages {
            0 => tracing::info!("everything was read: no damage was found"),
            _ => tracing::error!(
                damages,
                "everything was read, and damage was found: `pando check` finds all of it, `pando \
                 restore` brings a backup back, `pando export --salvage` saves the rest"
            ),
        }
        true
    }

    /// Runs one step. Returns the bytes read and the damages found in both of two snapshots.
    fn step(&self, scrub: &mut Scrub) -> (u64, Vec<Damage>) {
        let again = scrub.clone();
        let (bytes, first) = self.look(scrub);
        if first.is_empty() {
            return (bytes, first);
        }
        // Repeats the step with another snapshot and its schema.
        *scrub = again;
        let (more_bytes, mut damages) = self.look(scrub);
        damages.retain(|it| first.contains(it));
        (bytes + more_bytes, damages)
    }

    fn look(&self, scrub: &mut Scrub) -> (u64, Vec<Damage>) {
        let mut damages = Vec::new();
        let read = self.try_look(scrub, &mut damages);
        let bytes = read.unwrap_or_else(|error| {
            damages.push((None, error.to_string()));
            0
        });
        (bytes, damages)
    }

    /// Runs one step with a new reader. A reader kept open would hold a database file that a
    /// compacted copy has replaced.
    fn try_look(&self, scrub: &mut Scrub, damages: &mut Vec<Damage>) -> Result<u64, store::Error> {
        let mut reader = self.store.reader()?;
        let snapshot = reader.snapshot()?;
        let schema = &self.catalog.load().schema;
        scrub.step(&snapshot, schema, &mut |entry, text| {
            damages.push((entry, text))
        })
    }

    fn tell(&self, entry: Option<EntryId>, text: &str) {
        let mut state = self.shared.lock();
        state.standing.damages += 1;
        let number = state.standing.damages;
        drop(state);
        let is_new = entry.is_none_or(failure::note_damage);
        if is_new && number <= TOLD_MAX {
            tracing::error!("{text}");
        }
    }
}

/// A damage: the unreadable entry, if it is one, and a text.
type Damage = (Option<EntryId>, String);
