//! Compacting a database that is served: the work of a thread beside the writer.
//!
//! ```text
//! thread:  copy ─► compare ─► execute what was logged meanwhile ─► ready ──────────► give back
//! writer:  ── goes on ─────────────────────────────────────────────── replaces ─► ── goes on ──
//! ```
//!
//! The copy is made of a snapshot, compared with it, and brought up to date by executing the log's
//! records, exactly as after a crash. When it is nearly even the writer takes it over
//! (`writer/compaction.rs`).

use super::standing::{Compaction, Stage, Verdict};
use super::{FOLDER, remove_leftovers, wrong};
use crate::recover::Replayer;
use protocol::ResultCode;
use state::record;
use state::stop::{Failure, Refusal};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use store::private;
use store::{DATABASE_FILE, LogTail, Paused, Reader, Retired, Store};

/// Bytes copied in a second at most: searches and the log need the disk as well.
const RATE: u64 = 128 << 20;
/// Bytes that are handed over to the disk at a time, so that the log's syncs do not wait for more.
const SYNC_BYTES: u64 = 16 << 20;
/// Bytes read from the pipe at a time: what it holds.
const STEP_BYTES: usize = 64 << 10;
/// Room that must be left beside the copy, for the log that is kept meanwhile.
const SPARE_BYTES: u64 = 64 << 20;
/// The copy is synced when it is so many bytes of records behind, which takes about a second.
const NEAR_BYTES: u64 = 4 << 20;
/// And offered to the writer when there are so many left, some hundredths of a second.
const EVEN_BYTES: u64 = 256 << 10;
/// Rounds in which the copy has to come near; then writes are slowed down to its pace.
const ROUNDS_MAX: u32 = 8;
/// Entries indexed at a time, should an index not be complete.
const INDEX_SLICE: usize = 1_000;
/// Between two looks whether the old file is still read.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// What the thread works with.
pub(crate) struct Work {
    pub store: Store,
    /// The log from before the copy is begun.
    pub tail: LogTail,
    pub compaction: Arc<Compaction>,
    /// Calls the writer.
    pub call: Box<dyn Fn() + Send>,
}

/// A copy that is even with the database but for a few records.
#[derive(Debug)]
pub(crate) struct Ready {
    pub copy: Store,
    pub replayer: Replayer,
    tail: LogTail,
}

impl Ready {
    /// Executes the log up to a record.
    ///
    /// # Errors
    /// It cannot be read or executed; [`Failure::Cancelled`].
    pub fn advance(&mut self, end: u64, compaction: &Compaction) -> Result<(), Failure> {
        while let Some(bytes) = self.tail.next_before(end)? {
            compaction.go_on()?;
            // The copy was begun after the log was held: it has the first records already.
            if record::position_of(&bytes).is_none_or(|it| it > self.replayer.position) {
                self.build_for_rules(compaction)?;
                self.replayer.execute(&self.copy, &bytes)?;
            }
            compaction.executed(bytes.len() as u64);
        }
        Ok(())
    }

    /// The database had the index that a rule needs when it took the writes that come now.
    fn build_for_rules(&mut self, compaction: &Compaction) -> Result<(), Failure> {
        while self.replayer.waits() && !self.replayer.build_indexes(&self.copy, INDEX_SLICE)? {
            compaction.go_on()?;
        }
        Ok(())
    }
}

/// Refuses when there is no room for the copy; returns the bytes of the file.
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

/// Asks for a compaction, which the caller has the writer begin.
pub(crate) fn ask(store: &Store, compaction: &Compaction) -> Result<(), Refusal> {
    let refuse =
        |failure: Failure| Refusal::new(ResultCode::UNWILLING_TO_PERFORM, failure.to_string());
    let before = require_room(store).map_err(refuse)?;
    compaction.ask(before)
}

/// Does the work, on a thread of its own.
pub(crate) fn start(work: Work) -> Result<(), Failure> {
    let thread = std::thread::Builder::new().name("compact".to_owned());
    let spawned = thread.spawn(move || run(work));
    spawned
        .map(drop)
        .map_err(|error| Failure::file("starting a thread", error))
}

/// However the thread ends, the compaction has ended then, and the writer is told.
struct Ending {
    compaction: Arc<Compaction>,
    call: Box<dyn Fn() + Send>,
    stage: Stage,
}

impl Drop for Ending {
    fn drop(&mut self) {
        self.compaction.ended(self.stage.clone());
        // It holds the log no longer than needed.
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
    let replaced = replace(&store, work.tail, &compaction, &ending.call);
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

/// Makes a copy and has it put in the place of the database.
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
        // What is on the disk by now need not get there while writes wait.
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

/// The newest state, without free pages, into a file. Returns a reader that holds that state.
fn copy(store: &Store, path: &Path, compaction: &Compaction) -> Result<Reader, Failure> {
    let usage = store.usage()?;
    compaction.show(|shown| {
        shown.stage = Stage::Copies;
        shown.total = usage.bytes - usage.free_bytes.min(usage.bytes);
    });
    let file = private::create(path).map_err(wrong(path))?;
    let (from, into) = io::pipe().map_err(wrong(path))?;
    // LMDB takes a snapshot of its own for the copy. Until its first bytes come nothing is
    // committed, so that it is the same one.
    let paused = store.pause()?;
    let mut original = store.reader()?;
    original.snapshot()?;
    std::thread::scope(|scope| {
        let copying = scope.spawn(move || store.copy_to(into.as_fd()));
        let written = pump(from, &file, paused, compaction).and_then(|()| {
            let synced = file.sync_all();
            synced.map_err(|error| wrong(path)(error))
        });
        // The pipe's end is closed by now, so the copying ends too.
        let copied = copying.join().unwrap_or_else(|_| {
            let detail = "the copying thread ended early".to_owned();
            Err(store::Error::Conflict { detail })
        });
        // A broken pipe is only the echo of what was wrong at the other end.
        written.and_then(|()| Ok(copied?))
    })?;
    Ok(original)
}

/// From the pipe to the file. Writes go on when the first bytes have come.
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
        let mut to = file;
        to.write_all(&buffer[..count]).map_err(failed)?;
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

/// How fast the disk is used beside its other work.
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

    /// Waits if it was too fast so far. Woken early it is a little faster.
    fn keep(&self) {
        let due = Duration::from_secs_f64(self.done as f64 / RATE as f64);
        std::thread::park_timeout(due.saturating_sub(self.started.elapsed()));
    }
}

/// The copy must have the same rows as the snapshot it was made of.
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

/// Executes the log on the copy until it is behind by no more than so many bytes and has the
/// indexes that the database has.
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

/// Returns when the last one has left the old file, or somebody wants to wait no more: what is open
/// goes with the process at the latest.
fn wait_for_readers(retired: &Retired, compaction: &Compaction) {
    while retired.has_readers() && compaction.go_on().is_ok() {
        std::thread::park_timeout(LOOK_EVERY);
    }
}
