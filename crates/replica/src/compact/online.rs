//! Compacts a database that is served, on a thread beside the writer.
//!
//! ```text
//! thread:  copy ─► compare ─► execute what was logged meanwhile ─► ready ──────────► give back
//! writer:  ── goes on ─────────────────────────────────────────────── replaces ─► ── goes on ──
//! ```
//!
//! The thread copies a snapshot, compares the copy with it, and brings it up to date by executing
//! log records, as recovery does. When few records are left, the writer puts the copy in use
//! (`executor/compaction.rs`).

use super::standing::{Compaction, Stage, Verdict};
use super::{FOLDER, remove_leftovers, wrong};
use crate::recover::Replayer;
use protocol::ResultCode;
use state::record;
use state::stop::{Failure, Refusal};
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use store::private;
use store::{DATABASE_FILE, LogTail, Paused, Reader, Retired, Store};

/// Maximum rate of copying in bytes per second: searches and the log need the disk as well.
const RATE: u64 = 128 << 20;
/// Bytes written to the disk at a time, so that syncs of the log wait for no more.
const SYNC_BYTES: u64 = 16 << 20;
/// Bytes read from the pipe at a time, which is its capacity.
const STEP_BYTES: usize = 64 << 10;
/// Bytes that must stay free beside the copy, for the log that is kept meanwhile.
const SPARE_BYTES: u64 = 64 << 20;
/// Bytes of records behind at which the copy is synced, which takes about a second.
const NEAR_BYTES: u64 = 4 << 20;
/// Bytes of records behind at which the copy is offered to the writer: some hundredths of a second.
const EVEN_BYTES: u64 = 256 << 10;
/// Number of rounds after which writes are slowed down, if the copy is not near by then.
const ROUNDS_MAX: u32 = 8;
/// Number of entries indexed in one slice, if an index is incomplete.
const INDEX_SLICE: usize = 1_000;
/// Time between two checks whether the old file is still read.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// State of the thread.
pub(crate) struct Work {
    pub store: Store,
    /// Reader of the log, held since before the copy.
    pub tail: LogTail,
    pub compaction: Arc<Compaction>,
    /// Wakes the writer.
    pub call: Arc<dyn Fn() + Send + Sync>,
}

/// A copy that lacks only a few records of the database.
#[derive(Debug)]
pub(crate) struct Ready {
    pub copy: Store,
    pub replayer: Replayer,
    tail: LogTail,
}

impl Ready {
    /// Executes log records up to an offset.
    ///
    /// # Errors
    /// The log cannot be read or executed; [`Failure::Cancelled`].
    pub fn advance(&mut self, end: u64, compaction: &Compaction) -> Result<(), Failure> {
        while let Some(bytes) = self.tail.next_before(end)? {
            compaction.go_on()?;
            // The copy was begun after the log was held, so it includes the first records.
            if record::position_of(&bytes).is_none_or(|it| it > self.replayer.position) {
                self.build_for_rules(compaction)?;
                self.replayer.execute(&self.copy, &bytes)?;
            }
            compaction.executed(bytes.len() as u64);
        }
        Ok(())
    }

    /// Builds indexes that rules need, which the database had when it executed the following
    /// records.
    fn build_for_rules(&mut self, compaction: &Compaction) -> Result<(), Failure> {
        while self.replayer.waits() && !self.replayer.build_indexes(&self.copy, INDEX_SLICE)? {
            compaction.go_on()?;
        }
        Ok(())
    }
}

/// Refuses if there is no room for the copy; returns the size of the database file in bytes.
pub(crate) fn require_room(store: &Store) -> Result<u64, Failure> {
    let (usage, folder) = (store.usage()?, store.folder());
    let found = rustix::fs::statvfs(folder).map_err(io::Error::from);
    let found = found.map_err(wrong(folder))?;
    let room = found.f_bavail * found.f_frsize;
    let needed = usage.bytes - usage.free_bytes.min(usage.bytes) + SPARE_BYTES;
    if room < needed {
        return Err(Failure::Input(format!(
            "not enough space for the compacted copy: it and the log meanwhile need up to {} MiB; \
             {} MiB free",
            needed >> 20,
            room >> 20
        )));
    }
    Ok(usage.bytes)
}

/// Requests a compaction; the caller then wakes the writer, which begins it.
pub(crate) fn ask(store: &Store, compaction: &Compaction) -> Result<(), Refusal> {
    let refuse =
        |failure: Failure| Refusal::new(ResultCode::UNWILLING_TO_PERFORM, failure.to_string());
    let before = require_room(store).map_err(refuse)?;
    compaction.ask(before)
}

/// Starts the thread.
pub(crate) fn start(work: Work) -> Result<(), Failure> {
    let thread = std::thread::Builder::new().name("compact".to_owned());
    let spawned = thread.spawn(move || run(work));
    spawned
        .map(drop)
        .map_err(|error| Failure::file("starting a thread", error))
}

/// Guard that reports the end of the compaction to the writer wherever the thread returns.
struct Ending {
    compaction: Arc<Compaction>,
    call: Arc<dyn Fn() + Send + Sync>,
    stage: Stage,
}

impl Drop for Ending {
    fn drop(&mut self) {
        self.compaction.ended(self.stage.clone());
        // Wakes the writer, so that it holds the log no longer than needed.
        (self.call)();
    }
}

fn run(work: Work) {
    let started = Instant::now();
    let mut ending = Ending {
        compaction: Arc::clone(&work.compaction),
        call: work.call,
        stage: Stage::Failed("its thread ended early".to_owned()),
    };
    let (store, compaction) = (work.store, work.compaction);
    let data = store.folder().to_path_buf();
    let replaced = replace(&store, work.tail, &compaction, &*ending.call);
    drop(store);
    let length = fs::metadata(data.join(DATABASE_FILE)).map_or(0, |it| it.len());
    if let Err(error) = remove_leftovers(&data) {
        tracing::warn!(%error, "the folder of the copy is removed at the next start");
    }
    ending.stage = match replaced {
        Ok(retired) => {
            compaction.show(|shown| {
                shown.stage = Stage::GivesBack;
                shown.after = length;
            });
            wait_for_readers(&retired, &compaction);
            drop(retired);
            log_success(&compaction, started);
            Stage::Done
        }
        Err(Failure::Cancelled) => {
            tracing::info!("the compaction was cancelled");
            Stage::Cancelled
        }
        Err(failure) => {
            tracing::error!(%failure, "the database could not be compacted");
            Stage::Failed(failure.to_string())
        }
    };
}

fn log_success(compaction: &Compaction, started: Instant) {
    if let Some(shown) = compaction.shown() {
        tracing::info!(
            before = shown.before,
            after = shown.after,
            seconds = started.elapsed().as_secs_f64(),
            pause_ms = shown.pause_us / 1_000,
            "the database was compacted"
        );
    }
}

/// Makes a copy and has the writer replace the database by it.
fn replace(
    store: &Store,
    tail: LogTail,
    compaction: &Compaction,
    call: &dyn Fn(),
) -> Result<Retired, Failure> {
    let data = store.folder();
    let folder = data.join(FOLDER);
    remove_leftovers(data)?;
    private::create_folders(&folder).map_err(wrong(&folder))?;
    let original = copy(store, &folder.join(DATABASE_FILE), compaction)?;
    compare(original, &folder, compaction)?;
    let copy = Store::open(&folder)?;
    copy.sync_later();
    let replayer = Replayer::new(&copy)?;
    let mut ready = Box::new(Ready {
        copy,
        replayer,
        tail,
    });
    compaction.show(|shown| {
        shown.stage = Stage::CatchesUp;
        (shown.done, shown.total) = (0, 0);
    });
    loop {
        approach(&mut ready, compaction, NEAR_BYTES)?;
        // Pages synced now need not be synced while writes wait.
        ready.copy.sync()?;
        store.sync()?;
        approach(&mut ready, compaction, EVEN_BYTES)?;
        match compaction.offer(ready, call)? {
            Verdict::Replaced(retired) => return Ok(retired),
            Verdict::Again(back) => ready = back,
            Verdict::Failed(failure) => return Err(failure),
        }
    }
}

/// Copies the newest state without free pages into a file. Returns a reader that holds that state.
fn copy(store: &Store, path: &Path, compaction: &Compaction) -> Result<Reader, Failure> {
    let usage = store.usage()?;
    compaction.show(|shown| {
        shown.stage = Stage::Copies;
        shown.total = usage.bytes - usage.free_bytes.min(usage.bytes);
    });
    let file = private::create(path).map_err(wrong(path))?;
    let (from, into) = io::pipe().map_err(wrong(path))?;
    // LMDB takes a snapshot of its own for the copy. Commits pause until its first bytes arrive, so
    // that both are of one state.
    let paused = store.pause()?;
    let mut original = store.reader()?;
    original.snapshot()?;
    std::thread::scope(|scope| {
        let copying = scope.spawn(move || store.copy_to(into.as_fd()));
        let written = pump(from, &file, paused, compaction).and_then(|()| {
            let synced = file.sync_all();
            synced.map_err(|error| wrong(path)(error))
        });
        // This end of the pipe is closed by now, so the copying thread ends too.
        let copied = copying.join().unwrap_or_else(|_| {
            let detail = "the copying thread ended early".to_owned();
            Err(store::Error::Conflict { detail })
        });
        // A broken pipe only follows from an error at the other end.
        written.and_then(|()| Ok(copied?))
    })?;
    Ok(original)
}

/// Writes the pipe's bytes to the file. Commits continue after the first bytes.
fn pump(
    mut from: impl Read,
    file: &File,
    paused: Paused,
    compaction: &Compaction,
) -> Result<(), Failure> {
    let failed = |error| Failure::file("the compacted copy", error);
    let mut buffer = vec![0; STEP_BYTES];
    let (mut paused, mut pace) = (Some(paused), Pace::begin());
    let mut unsynced = 0;
    loop {
        compaction.go_on()?;
        let count = match from.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(failed(error)),
        };
        drop(paused.take());
        store::write_pages(file, &buffer[..count], pace.done).map_err(failed)?;
        pace.done += count as u64;
        unsynced += count as u64;
        if unsynced >= SYNC_BYTES {
            file.sync_data().map_err(failed)?;
            unsynced = 0;
            compaction.show(|shown| shown.done = pace.done);
            pace.keep();
        }
    }
}

/// Limits the rate of copying.
struct Pace {
    started: Instant,
    done: u64,
}

impl Pace {
    fn begin() -> Pace {
        Pace {
            started: Instant::now(),
            done: 0,
        }
    }

    /// Waits if copying was too fast so far; a wake-up before the time only raises the rate a
    /// little.
    fn keep(&self) {
        let due = Duration::from_secs_f64(self.done as f64 / RATE as f64);
        std::thread::park_timeout(due.saturating_sub(self.started.elapsed()));
    }
}

/// Checks that the copy and the snapshot it was made from have equal rows.
fn compare(mut original: Reader, folder: &Path, compaction: &Compaction) -> Result<(), Failure> {
    compaction.show(|shown| {
        shown.stage = Stage::Compares;
        shown.done = 0;
    });
    let copy = Store::read_only(folder, false)?;
    let mut copied = copy.reader()?;
    let mut pace = Pace::begin();
    store::compare(&original.snapshot()?, &copied.snapshot()?, &mut |bytes| {
        compaction.show(|shown| shown.done = bytes);
        pace.done = bytes;
        pace.keep();
        compaction.go_on()
    })
}

/// Executes log records on the copy until it lacks at most `near` bytes of them and has all indexes
/// of the database.
fn approach(ready: &mut Ready, compaction: &Compaction, near: u64) -> Result<(), Failure> {
    for round in 0_u32.. {
        ready.advance(compaction.end(), compaction)?;
        compaction.go_on()?;
        let built = ready.replayer.build_indexes(&ready.copy, INDEX_SLICE)?;
        let behind = compaction.behind();
        if built && behind <= near {
            break;
        }
        if built && round >= ROUNDS_MAX {
            compaction.hold_writer((behind / 4 * 3).max(near));
        }
    }
    Ok(())
}

/// Returns when the last reader has left the old file, or on cancellation; the file is closed with
/// the process at the latest.
fn wait_for_readers(retired: &Retired, compaction: &Compaction) {
    while retired.has_readers() && compaction.go_on().is_ok() {
        std::thread::park_timeout(LOOK_EVERY);
    }
}
