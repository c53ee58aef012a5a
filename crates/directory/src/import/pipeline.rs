//! The threads of an import and what they share.

use super::Meter;
use super::contexts::{Context, Contexts};
use super::holders::Holders;
use super::line::Line;
use super::plan::Plan;
use super::rejects::Rejects;
use super::rulebook::Rulebook;
use super::schema_in_use::SchemaInUse;
use super::sequencer::{Replacement, Sequencer};
use super::source::Source;
use super::work::{Task, Work};
use super::worker::Worker;
use crate::execute::{META_ALIASES, META_REFERRALS, META_SUBENTRIES, META_TIME};
use crate::open::META_COOKIE_KEY;
use crate::stop::Failure;
use schema::Schema;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use store::{BulkLoader, Store};

/// Entries of the old database in one piece.
const STORED_ENTRIES: u64 = 512;

/// What the workers share.
pub(super) struct Shared<'p> {
    pub plan: &'p Plan<'p>,
    pub line: Line<Work>,
    pub schema: SchemaInUse,
    pub contexts: Contexts,
    pub aliases: AtomicBool,
    pub referrals: AtomicBool,
    pub subentries: AtomicBool,
    meter: &'p Meter,
    intake: Mutex<Intake>,
}

/// Where pieces come from, and how many have come.
struct Intake {
    /// The first id of the old database that is still to be read.
    next_stored: u64,
    source: Box<dyn Source>,
    pieces: u64,
    ended: bool,
}

/// What the load has left to do.
pub(super) struct Outcome {
    pub entries: u64,
    pub rejected: u64,
    pub created: u64,
    pub schema: Schema,
    pub contexts: Vec<Context>,
    pub replacements: Vec<Replacement>,
    pub broken: Vec<String>,
    /// Later than the time of every entry.
    pub time_us: u64,
    pub digest: u128,
    pub total: u64,
    pub bytes: u64,
}

/// Stops the line when a worker ends by a panic, so that nobody waits for it.
struct Guard<'l>(&'l Line<Work>);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.stop(None);
        }
    }
}

/// Builds the new database in `folder`.
pub(super) fn run(
    plan: &Plan<'_>,
    old: &Store,
    source: Box<dyn Source>,
    (folder, temporary): (&Path, Option<&Path>),
    meter: &Meter,
) -> Result<Outcome, Failure> {
    let intake = Intake {
        next_stored: 1,
        source,
        pieces: 0,
        ended: false,
    };
    let shared = Shared {
        plan,
        line: Line::new(),
        schema: SchemaInUse::new(plan.catalog.schema.clone()),
        contexts: Contexts::new(&plan.catalog.contexts),
        aliases: AtomicBool::new(plan.catalog.has_aliases),
        referrals: AtomicBool::new(plan.catalog.has_referrals),
        subentries: AtomicBool::new(plan.catalog.has_subentries),
        meter,
        intake: Mutex::new(intake),
    };
    let mut loader = BulkLoader::create(folder, &plan.indexes(&plan.catalog.schema))?;
    loader.limit_memory(plan.options.memory, temporary);
    let readers = old.readers(plan.threads)?;
    let rejects = Rejects::new(&plan.options.rejects)?;
    let holders = {
        let mut reader = old.reader()?;
        let snapshot = reader.snapshot()?;
        Holders::new(Rulebook::new(plan), &plan.catalog.schema, &snapshot)?
    };
    let sequencer = std::thread::scope(|scope| {
        for reader in readers {
            let shared = &shared;
            scope.spawn(move || {
                let _guard = Guard(&shared.line);
                let mut worker = Worker::new(shared, reader);
                while shared.step(&mut worker) {}
            });
        }
        let aside = temporary.unwrap_or(folder);
        let mut sequencer = Sequencer::new(&shared, loader, (rejects, holders), aside);
        let done = sequence(&shared, &mut sequencer);
        // Workers that wait, for their turn or for room, must not wait for ever.
        shared.line.stop(None);
        done.map(|()| sequencer)
    })?;
    meter.finish();
    finish(plan, &shared, sequencer)
}

fn sequence(shared: &Shared<'_>, sequencer: &mut Sequencer<'_>) -> Result<(), Failure> {
    while let Some(work) = shared.line.take()? {
        shared.meter.check()?;
        let kept = work.entries.iter().filter(|it| it.kind.is_kept()).count();
        shared.meter.add_kept(kept as u64);
        let count = sequencer.append(work)?;
        shared.meter.add_entries(count);
    }
    sequencer.end()
}

impl Shared<'_> {
    /// An error when the import has been cancelled.
    pub fn check(&self) -> Result<(), Failure> {
        self.meter.check()
    }

    /// Takes a piece, works on it and hands it on. False: there is no more to do.
    fn step(&self, worker: &mut Worker<'_>) -> bool {
        let done = self.take().and_then(|taken| match taken {
            None => Ok(false),
            Some((number, task)) => Ok(match worker.work(number, task)? {
                Some(work) => self.line.put(number, work).is_ok(),
                None => false,
            }),
        });
        done.unwrap_or_else(|failure| {
            self.line.stop(Some(failure));
            false
        })
    }

    fn take(&self) -> Result<Option<(u64, Task)>, Failure> {
        let mut intake = self.intake.lock().unwrap_or_else(PoisonError::into_inner);
        if intake.ended {
            return Ok(None);
        }
        self.meter.check()?;
        let task = if intake.next_stored <= self.plan.last_id {
            let from = intake.next_stored;
            let to = (from + STORED_ENTRIES - 1).min(self.plan.last_id);
            intake.next_stored = to + 1;
            Some(Task::Stored { from, to })
        } else {
            let given = intake.source.next(self.meter);
            // After a failure another worker would be told that the source has no more, and could
            // end the line as if it were complete before this one reports.
            intake.ended |= given.is_err();
            given?.map(Task::Given)
        };
        let number = intake.pieces;
        match task {
            Some(task) => {
                intake.pieces += 1;
                Ok(Some((number, task)))
            }
            None => {
                intake.ended = true;
                self.line.end(number);
                Ok(None)
            }
        }
    }
}

/// Writes what belongs to the database as a whole, and everything that has to be sorted.
fn finish(
    plan: &Plan<'_>,
    shared: &Shared<'_>,
    sequencer: Sequencer<'_>,
) -> Result<Outcome, Failure> {
    let pieces = shared
        .intake
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .pieces;
    let schema = shared.schema.newest();
    let tally = sequencer.tally();
    let counters = sequencer.counters();
    let (mut loader, replacements, broken) = sequencer.into_parts();
    loader.put_dictionary(&schema.dictionary_rows())?;
    // Ids are new, and paging cookies of the old database hold old ones: a new key voids them.
    let mut key = [0; 32];
    getrandom::fill(&mut key).expect("the operating system always has random bytes");
    loader.put_meta(META_COOKIE_KEY, &key)?;
    let time_us = plan.time_us + pieces;
    loader.put_meta(META_TIME, &time_us.to_be_bytes())?;
    for (flag, meta) in [
        (&shared.aliases, META_ALIASES),
        (&shared.referrals, META_REFERRALS),
        (&shared.subentries, META_SUBENTRIES),
    ] {
        if flag.load(Ordering::Relaxed) {
            loader.put_meta(meta, &[1])?;
        }
    }
    for (key, last) in counters {
        loader.put_meta(&key, &last.to_be_bytes())?;
    }
    loader.set_position(plan.position);
    let loaded = loader.finish()?;
    Ok(Outcome {
        entries: tally.imported,
        rejected: tally.rejected,
        created: tally.created,
        schema,
        contexts: shared.contexts.new_ones(),
        replacements,
        broken,
        time_us,
        digest: loaded.digest,
        total: loaded.entries,
        bytes: loaded.bytes,
    })
}
