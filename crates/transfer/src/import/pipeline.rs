//! The threads of an import: workers take tasks, the calling thread puts their results in order.

use super::checkpoint::Saved;
use super::contexts::{Context, MissingContext};
use super::holders::Holders;
use super::import_state::ImportState;
use super::intake::Intake;
use super::plan::Plan;
use super::rulebook::Rulebook;
use super::sequencer::{Replacement, Sequencer};
use super::source::Source;
use super::target::{Target, Written};
use super::work::{Item, Pause, Task};
use super::worker::TaskReader;
use crate::line::Line;
use crate::meter::Meter;
use schema::Schema;
use state::meta::META_COOKIE_KEY;
use state::meta::{META_ALIASES, META_LEVEL, META_REFERRALS, META_SUBENTRIES, META_TIME};
use state::stop::Failure;
use std::path::Path;
use store::{BulkLoader, Reader, Store};

/// Location of a new database.
pub(super) struct Site<'s> {
    /// Folder of the new database.
    pub folder: &'s Path,
    /// Another folder for sorted files and for entries that wait for their superiors; `None` for
    /// `folder`.
    pub temporary: Option<&'s Path>,
    /// Description of the import for its checkpoints; `None` if it makes none.
    pub about: Option<&'s str>,
    /// Whether entries are added to the old database, so that there is no new one.
    pub keeps_old: bool,
}

/// Result of the load, for the rest of the import.
pub(super) struct Outcome {
    pub entries: u64,
    pub rejected: u64,
    pub created: u64,
    pub schema: Schema,
    pub contexts: Vec<Context>,
    pub missing_contexts: Vec<MissingContext>,
    pub replacements: Vec<Replacement>,
    pub broken: Vec<String>,
    /// A time later than that of every entry, in microseconds since 1970.
    pub time_us: u64,
}

/// Guard that stops the line if a worker panics, so that no thread waits for it.
struct Guard<'l>(&'l Line<Item>);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.stop(None);
        }
    }
}

/// Builds the new database, or adds to the old one.
pub(super) fn run<'o>(
    plan: &Plan<'_>,
    old: &'o Store,
    source: Box<dyn Source>,
    site: &Site<'_>,
    saved: Option<&Saved>,
    meter: &Meter,
) -> Result<(Outcome, Written<'o>), Failure> {
    let shared = ImportState::new(plan, site.keeps_old, saved, meter)?;
    let interval = plan.options.checkpoint.filter(|_| site.about.is_some());
    let intake = Intake::new(&shared, source, interval, saved.map(|it| it.pieces));
    let target = target(plan, old, site, saved)?;
    let initial = match site.keeps_old {
        true => shared.open_contexts(old)?,
        false => Vec::new(),
    };
    let readers = old.readers(plan.threads)?;
    let holders = {
        let mut reader = old.reader()?;
        let snapshot = reader.snapshot()?;
        Holders::new(Rulebook::new(plan), &plan.catalog.schema, &snapshot)?
    };
    let sequencer = std::thread::scope(|scope| {
        for reader in readers {
            let (shared, intake) = (&shared, &intake);
            scope.spawn(move || work(shared, intake, reader));
        }
        let folder = site.temporary.unwrap_or(site.folder);
        let mut sequencer = Sequencer::new(&shared, target, holders, folder, site.about.is_some());
        let resumed = saved.map_or(Ok(()), |it| sequencer.resume(&it.sequencer));
        for (name, id) in initial {
            sequencer.add_initial(name, id);
        }
        let done = resumed.and_then(|()| sequence(&shared, &mut sequencer, site));
        // Wakes workers that wait for their turn or for room.
        shared.line.stop(None);
        done.map(|()| sequencer)
    })?;
    meter.finish();
    finish(&shared, sequencer, intake.stamps())
}

/// The database to write to.
fn target<'o>(
    plan: &Plan<'_>,
    old: &'o Store,
    site: &Site<'_>,
    saved: Option<&Saved>,
) -> Result<Target<'o>, Failure> {
    let indexes = plan.indexes(&plan.catalog.schema);
    if site.keeps_old {
        return Ok(Target::Old(Box::new(old.begin(&indexes)?)));
    }
    let mut loader = match saved {
        Some(saved) => BulkLoader::resume(site.folder, &saved.loader)?,
        None => BulkLoader::create(site.folder, &indexes)?,
    };
    loader.limit_memory(plan.options.memory, site.temporary);
    Ok(Target::New(Box::new(loader)))
}

/// The thread of a worker: takes tasks and passes their results on until there are no more.
fn work(shared: &ImportState<'_>, intake: &Intake<'_>, reader: Reader) {
    let _guard = Guard(&shared.line);
    let mut worker = TaskReader::new(shared, reader);
    loop {
        let done = intake.take().and_then(|taken| match taken {
            None => Ok(false),
            Some((number, task)) => work_on(shared, &mut worker, number, task),
        });
        match done {
            Ok(true) => {}
            Ok(false) => return,
            Err(failure) => return shared.line.stop(Some(failure)),
        }
    }
}

/// Works on one task, and puts its results on the line at this place. False if the import was
/// stopped.
fn work_on(
    shared: &ImportState<'_>,
    worker: &mut TaskReader<'_>,
    number: u64,
    task: Task,
) -> Result<bool, Failure> {
    let mut next = Some(task);
    while let Some(task) = next {
        let Some((work, rest)) = worker.work(number, task)? else {
            return Ok(false);
        };
        let (bytes, item) = (work.bytes(), Item::Work(Box::new(work)));
        let put = match &rest {
            Some(_) => shared.line.put_part(number, item, bytes),
            None => shared.line.put(number, item, bytes),
        };
        if put.is_err() {
            return Ok(false);
        }
        next = rest;
    }
    Ok(true)
}

/// Passes the results of all tasks to the sequencer, and writes checkpoints between them.
fn sequence(
    shared: &ImportState<'_>,
    sequencer: &mut Sequencer<'_, '_>,
    site: &Site<'_>,
) -> Result<(), Failure> {
    shared.meter.add_entries(sequencer.tally().imported);
    while let Some(item) = shared.line.take()? {
        shared.check()?;
        let work = match item {
            Item::Work(work) => *work,
            Item::Checkpoint(pause) => {
                checkpoint(shared, &pause, sequencer, site)?;
                // The waiting thread may have ended.
                let _ = pause.written.send(());
                continue;
            }
        };
        let kept = work.entries.iter().filter(|it| it.kind.is_kept()).count();
        shared.meter.add_kept(kept as u64);
        let count = sequencer.append(work)?;
        shared.meter.add_entries(count);
    }
    sequencer.end()
}

/// Writes a checkpoint of all completed work.
fn checkpoint(
    shared: &ImportState<'_>,
    pause: &Pause,
    sequencer: &mut Sequencer<'_, '_>,
    site: &Site<'_>,
) -> Result<(), Failure> {
    let (state, loader) = sequencer.checkpoint()?;
    let saved = Saved {
        about: site.about.unwrap_or_default().to_owned(),
        time_us: shared.plan.time_us,
        temporary: site.temporary.map(Path::to_owned),
        pieces: pause.pieces,
        stamps: pause.stamps,
        dictionary: shared.schema.newest().dictionary_rows(),
        contexts: shared.contexts.save(),
        flags: shared.flags(),
        sequencer: state,
        loader,
    };
    saved.write(site.folder)?;
    sequencer.checkpoint_kept();
    Ok(())
}

/// Writes the rows of the whole database, and all collected rows that have to be sorted. `stamps`
/// is the number of stamps used.
fn finish<'o>(
    shared: &ImportState<'_>,
    mut sequencer: Sequencer<'_, 'o>,
    stamps: u64,
) -> Result<(Outcome, Written<'o>), Failure> {
    let schema = shared.schema.newest();
    let tally = sequencer.tally();
    let counters = sequencer.counters();
    let (mut target, replacements, broken) = sequencer.into_parts(&schema)?;
    target.put_dictionary(&schema.dictionary_rows())?;
    // Ids are new and paging cookies contain ids of the old database: a new key invalidates them.
    let mut key = [0; 32];
    getrandom::fill(&mut key).expect("the operating system always has random bytes");
    target.put_meta(META_COOKIE_KEY, &key)?;
    let time_us = shared.plan.time_us + stamps;
    target.put_meta(META_TIME, &time_us.to_be_bytes())?;
    let level = shared.plan.catalog.level;
    target.put_meta(META_LEVEL, &level.to_be_bytes())?;
    let metas = [META_ALIASES, META_REFERRALS, META_SUBENTRIES];
    for (flag, meta) in shared.flags().into_iter().zip(metas) {
        if flag {
            target.put_meta(meta, &[1])?;
        }
    }
    for (key, last) in counters {
        target.put_meta(&key, &last.to_be_bytes())?;
    }
    // Last chance to cancel: the rest takes no time.
    let written = target.end(shared.plan.position, shared.meter.cancelled())?;
    let outcome = Outcome {
        entries: tally.imported,
        rejected: tally.rejected,
        created: tally.created,
        schema,
        contexts: shared.contexts.new_ones(),
        missing_contexts: shared.contexts.missing_ones(),
        replacements,
        broken,
        time_us,
    };
    Ok((outcome, written))
}
