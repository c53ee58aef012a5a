//! The threads of an import and their shared state.

use super::Meter;
use super::checkpoint::Saved;
use super::contexts::{Context, Contexts, MissingContext};
use super::holders::Holders;
use super::names;
use super::plan::Plan;
use super::rejects::Rejects;
use super::rulebook::Rulebook;
use super::schema_in_use::SchemaInUse;
use super::sequencer::{Replacement, Sequencer};
use super::source::Source;
use super::target::{Target, Written};
use super::work::{Item, Pause, Task};
use super::worker::Worker;
use crate::line::Line;
use schema::Schema;
use state::meta::META_COOKIE_KEY;
use state::meta::{META_ALIASES, META_REFERRALS, META_SUBENTRIES, META_TIME};
use state::stop::Failure;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use store::{BulkLoader, EntryId, Store};

/// Number of entries of the old database in one piece.
const STORED_ENTRIES: u64 = 512;

/// Position of the entries made by `pando init`.
pub(super) const INITIAL_POSITION: u64 = 1;

/// State shared by the workers.
pub(super) struct Shared<'p> {
    pub plan: &'p Plan<'p>,
    pub line: Line<Item>,
    pub schema: SchemaInUse,
    pub contexts: Contexts,
    pub aliases: AtomicBool,
    pub referrals: AtomicBool,
    pub subentries: AtomicBool,
    /// Number added to a piece's number for its stamps.
    pub first_stamp: u64,
    /// Whether the import adds to the old database, whose entries are not read.
    pub keeps_old: bool,
    meter: &'p Meter,
    intake: Mutex<Intake>,
}

/// Location of a new database.
pub(super) struct Site<'s> {
    /// Folder of the new database.
    pub folder: &'s Path,
    /// Another folder for sorting; `None` for the first.
    pub temporary: Option<&'s Path>,
    /// Description of the import, if it makes checkpoints.
    pub about: Option<&'s str>,
    /// Whether entries are added to the old database, so that there is no new one.
    pub keeps_old: bool,
}

impl Site<'_> {
    fn aside(&self) -> &Path {
        self.temporary.unwrap_or(self.folder)
    }
}

/// Source of pieces, and counters of those taken.
struct Intake {
    /// First id of the old database that is not read yet.
    next_stored: u64,
    source: Box<dyn Source>,
    /// Number of pieces taken, and number done by an interrupted import.
    pieces: u64,
    done: u64,
    /// Number of places taken on the line.
    numbers: u64,
    /// Time between checkpoints; `None` for no checkpoints.
    interval: Option<Duration>,
    last: Instant,
    has_checkpoint: bool,
    ended: bool,
}

impl Intake {
    fn is_due(&self) -> bool {
        let has_more = self.pieces > self.done;
        has_more && self.interval.is_some_and(|it| self.last.elapsed() >= it)
    }

    /// The next piece; `None` at the end.
    fn next(&mut self, last_id: u64, meter: &Meter) -> Result<Option<Task>, Failure> {
        if self.next_stored <= last_id {
            let from = self.next_stored;
            let to = (from + STORED_ENTRIES - 1).min(last_id);
            self.next_stored = to + 1;
            return Ok(Some(Task::Stored { from, to }));
        }
        let given = self.source.next(meter);
        // After a failure another worker could get the end of the source, and end the line as
        // complete before this one reports.
        self.ended |= given.is_err();
        Ok(given?.map(Task::Given))
    }
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
    let shared = shared(plan, source, site, saved, meter)?;
    let target = target(plan, old, site, saved)?;
    let initial = match site.keeps_old {
        true => open_contexts(&shared, old)?,
        false => Vec::new(),
    };
    let readers = old.readers(plan.threads)?;
    let rejects = Rejects::new(&plan.options.rejects);
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
        let place = (site.aside(), site.about.is_some());
        let mut sequencer = Sequencer::new(&shared, target, (rejects, holders), place);
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
    finish(plan, &shared, sequencer)
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

/// Opens the naming contexts of the old database. Returns the base entries made by `pando init`,
/// with the hashes of their names.
fn open_contexts(shared: &Shared<'_>, old: &Store) -> Result<Vec<(u128, EntryId)>, Failure> {
    let mut initial = Vec::new();
    let mut reader = old.reader()?;
    let snapshot = reader.snapshot()?;
    for id in snapshot.children(EntryId::ROOT) {
        let id = id?;
        let Some(view) = snapshot.entry(id)? else {
            continue;
        };
        let mut dn = Vec::new();
        snapshot.write_name(&view, &mut dn)?;
        let dn = String::from_utf8_lossy(&dn);
        let (catalog, schema) = (&shared.plan.catalog, &shared.plan.catalog.schema);
        let name = schema.resolve_name(&dn).map_err(|error| {
            Failure::Configuration(format!("entry {} of the old database: {error}", id.0))
        })?;
        shared.contexts.open(schema, &name, &dn, false);
        if view.position() == INITIAL_POSITION && !name.is_within(&catalog.config) {
            initial.push((names::hash(&name), id));
        }
    }
    Ok(initial)
}

/// The workers' shared state, restored from a checkpoint if there is one.
fn shared<'p>(
    plan: &'p Plan<'_>,
    source: Box<dyn Source>,
    site: &Site<'_>,
    saved: Option<&Saved>,
    meter: &'p Meter,
) -> Result<Shared<'p>, Failure> {
    let intake = Intake {
        next_stored: match site.keeps_old {
            true => plan.last_id + 1,
            false => 1,
        },
        source,
        pieces: 0,
        done: saved.map_or(0, |it| it.pieces),
        numbers: 0,
        interval: plan.options.checkpoint.filter(|_| site.about.is_some()),
        last: Instant::now(),
        has_checkpoint: saved.is_some(),
        ended: false,
    };
    let catalog = &plan.catalog;
    let [aliases, referrals, subentries] = match saved {
        Some(saved) => saved.flags,
        None => [
            catalog.has_aliases,
            catalog.has_referrals,
            catalog.has_subentries,
        ],
    };
    let schema = match saved {
        Some(saved) => catalog
            .schema
            .with_dictionary(&saved.dictionary)
            .map_err(|error| Failure::Configuration(error.to_string()))?,
        None => catalog.schema.clone(),
    };
    Ok(Shared {
        plan,
        line: Line::new(),
        contexts: match saved {
            Some(saved) => Contexts::resume(&schema, &saved.contexts)?,
            None => Contexts::new(&catalog.contexts),
        },
        schema: SchemaInUse::new(schema),
        aliases: AtomicBool::new(aliases),
        referrals: AtomicBool::new(referrals),
        subentries: AtomicBool::new(subentries),
        first_stamp: saved.map_or(0, |it| it.stamps),
        keeps_old: site.keeps_old,
        meter,
        intake: Mutex::new(intake),
    })
}

fn sequence(
    shared: &Shared<'_>,
    sequencer: &mut Sequencer<'_, '_>,
    site: &Site<'_>,
) -> Result<(), Failure> {
    shared.meter.add_entries(sequencer.tally().imported);
    while let Some(item) = shared.line.take()? {
        shared.meter.check()?;
        let work = match item {
            Item::Work(work) => *work,
            Item::Checkpoint(pause) => {
                shared.checkpoint(&pause, sequencer, site)?;
                // The waiting thread may have ended.
                let _ = pause.kept.send(());
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

impl Shared<'_> {
    /// Fails after cancellation.
    pub fn check(&self) -> Result<(), Failure> {
        self.meter.check()
    }

    /// Takes a piece, works on it and passes the result on; false if there are no more.
    fn step(&self, worker: &mut Worker<'_>) -> bool {
        let done = self.take().and_then(|taken| match taken {
            None => Ok(false),
            Some((number, task)) => self.work_on(worker, number, task),
        });
        done.unwrap_or_else(|failure| {
            self.line.stop(Some(failure));
            false
        })
    }

    fn work_on(&self, worker: &mut Worker<'_>, number: u64, task: Task) -> Result<bool, Failure> {
        let mut next = Some(task);
        while let Some(task) = next {
            let Some((work, rest)) = worker.work(number, task)? else {
                return Ok(false);
            };
            let (bytes, item) = (work.bytes(), Item::Work(Box::new(work)));
            let put = match &rest {
                Some(_) => self.line.put_part(number, item, bytes),
                None => self.line.put(number, item, bytes),
            };
            if put.is_err() {
                return Ok(false);
            }
            next = rest;
        }
        Ok(true)
    }

    fn take(&self) -> Result<Option<(u64, Task)>, Failure> {
        let mut intake = self.intake.lock().unwrap_or_else(PoisonError::into_inner);
        if intake.ended {
            return Ok(None);
        }
        self.meter.check()?;
        while intake.pieces < intake.done {
            self.meter.check()?;
            if intake.next(self.plan.last_id, self.meter)?.is_none() {
                intake.ended = true;
                let text = "the input is shorter than before the interrupt";
                return Err(Failure::Input(text.to_owned()));
            }
            intake.pieces += 1;
        }
        if intake.is_due() && !self.pause(&mut intake) {
            return Ok(None);
        }
        if let Some(task) = intake.next(self.plan.last_id, self.meter)? {
            let number = intake.numbers;
            intake.numbers += 1;
            intake.pieces += 1;
            return Ok(Some((number, task)));
        }
        intake.ended = true;
        // If there is a checkpoint already, makes another at the end, so that an interrupted end
        // resumes there.
        if intake.has_checkpoint && !self.pause(&mut intake) {
            return Ok(None);
        }
        self.line.end(intake.numbers);
        Ok(None)
    }

    /// Waits until all pieces given out are done and stored, giving out none meanwhile. False if
    /// the import was stopped.
    fn pause(&self, intake: &mut Intake) -> bool {
        let (kept, is_kept) = channel();
        let number = intake.numbers;
        intake.numbers += 1;
        let pause = Pause {
            pieces: intake.pieces,
            stamps: self.first_stamp + intake.numbers,
            kept,
        };
        let put = self.line.put(number, Item::Checkpoint(pause), 0);
        let is_kept = put.is_ok() && is_kept.recv().is_ok();
        intake.has_checkpoint |= is_kept;
        intake.last = Instant::now();
        is_kept
    }

    /// Writes a checkpoint of everything done.
    fn checkpoint(
        &self,
        pause: &Pause,
        sequencer: &mut Sequencer<'_, '_>,
        site: &Site<'_>,
    ) -> Result<(), Failure> {
        let (kept, loader) = sequencer.keep()?;
        let flag = |it: &AtomicBool| it.load(Ordering::Relaxed);
        let saved = Saved {
            about: site.about.unwrap_or_default().to_owned(),
            time_us: self.plan.time_us,
            temporary: site.temporary.map(Path::to_owned),
            pieces: pause.pieces,
            stamps: pause.stamps,
            dictionary: self.schema.newest().dictionary_rows(),
            contexts: self.contexts.keep(),
            flags: [
                flag(&self.aliases),
                flag(&self.referrals),
                flag(&self.subentries),
            ],
            sequencer: kept,
            loader,
        };
        saved.write(site.folder)?;
        sequencer.kept();
        Ok(())
    }
}

/// Writes the rows of the whole database, and everything that has to be sorted.
fn finish<'o>(
    plan: &Plan<'_>,
    shared: &Shared<'_>,
    mut sequencer: Sequencer<'_, 'o>,
) -> Result<(Outcome, Written<'o>), Failure> {
    let stamps = shared
        .intake
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .numbers;
    let schema = shared.schema.newest();
    let tally = sequencer.tally();
    let counters = sequencer.counters();
    let (mut target, replacements, broken) = sequencer.into_parts(&schema)?;
    target.put_dictionary(&schema.dictionary_rows())?;
    // Ids are new and paging cookies contain ids of the old database: a new key invalidates them.
    let mut key = [0; 32];
    getrandom::fill(&mut key).expect("the operating system always has random bytes");
    target.put_meta(META_COOKIE_KEY, &key)?;
    let time_us = plan.time_us + shared.first_stamp + stamps;
    target.put_meta(META_TIME, &time_us.to_be_bytes())?;
    for (flag, meta) in [
        (&shared.aliases, META_ALIASES),
        (&shared.referrals, META_REFERRALS),
        (&shared.subentries, META_SUBENTRIES),
    ] {
        if flag.load(Ordering::Relaxed) {
            target.put_meta(meta, &[1])?;
        }
    }
    for (key, last) in counters {
        target.put_meta(&key, &last.to_be_bytes())?;
    }
    // Last chance to cancel: the rest takes no time.
    let written = target.end(plan.position, shared.meter.cancelled())?;
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
