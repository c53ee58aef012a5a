//! Opening the store of a data folder, whether it was closed or not: what the log holds beyond the
//! last checkpoint is executed again, as it was executed the first time.

use crate::changes::{Keeper, Outcome};
use crate::open::bounds;
use state::apply::{Occasion, apply};
use state::catalog::Catalog;
use state::config;
use state::record;
use state::stop::Failure;
use state::write::Record;
use std::path::Path;
use std::time::Instant;
use store::{IndexSet, IndexState, Recovery, SliceLimits, Store};

/// What a recovery found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recovered {
    /// The position in the order that the checkpoint stood at.
    pub checkpoint: u64,
    /// The position of the last record.
    pub position: u64,
    /// Records executed again.
    pub records: u64,
    /// Writes in them.
    pub writes: u64,
}

/// Records between two lines about the progress.
const PROGRESS_EVERY: u64 = 10_000;

/// Opens the store in a folder nobody has open.
///
/// # Errors
/// There is none, another process has it open, or log and database do not fit together.
pub(crate) fn open_store(data: &Path) -> Result<(Store, Option<Recovered>), Failure> {
    Store::refuse_lost_records(data, record::position_of)?;
    open_store_without_lost(data)
}

/// The same, going on without writes that were acknowledged and whose records are damaged.
///
/// # Errors
/// As [`open_store`].
pub(crate) fn open_store_without_lost(data: &Path) -> Result<(Store, Option<Recovered>), Failure> {
    let (store, recovery) = Store::recover(data)?;
    let Some(recovery) = recovery else {
        return Ok((store, None));
    };
    let begun = Instant::now();
    let recovered = replay(&store, recovery)?;
    tracing::info!(
        records = recovered.records,
        writes = recovered.writes,
        from = recovered.checkpoint,
        to = recovered.position,
        seconds = begun.elapsed().as_secs_f64(),
        "the server was not stopped: executed the log again from the last checkpoint"
    );
    Ok((store, Some(recovered)))
}

/// The same for who reads everything and writes nothing. With `beside` the database may be one
/// that another process serves; that one has executed its log, so nothing acknowledged is missing.
///
/// # Errors
/// As [`open_store`]; a process that has it open is an error only without `beside`.
pub(crate) fn open_to_read(data: &Path, beside: bool) -> Result<Store, Failure> {
    match open_store(data) {
        Ok(_) => {}
        Err(Failure::Store(store::Error::Locked { .. })) if beside => {}
        Err(failure) => return Err(failure),
    }
    Ok(Store::read_only(data, beside)?)
}

fn replay(store: &Store, mut recovery: Recovery) -> Result<Recovered, Failure> {
    let mut replayer = Replayer::new(store)?;
    let checkpoint = replayer.position;
    let mut keeper = Keeper::open_at_checkpoint(store.folder(), checkpoint)?;
    let mut kept = Vec::new();
    let mut recovered = Recovered {
        checkpoint,
        position: checkpoint,
        records: 0,
        writes: 0,
    };
    while let Some(bytes) = recovery.next_record()? {
        let (writes, outcome) = replayer.execute(store, &bytes)?;
        if replayer.position > recovered.position {
            recovered.position = replayer.position;
            if let Some(keeper) = &mut keeper {
                kept.extend(keeper.keep(replayer.position, &bytes, &outcome));
            }
        }
        recovered.records += 1;
        recovered.writes += writes;
        if recovered.records.is_multiple_of(PROGRESS_EVERY) {
            tracing::info!(records = recovered.records, "executing the log again");
        }
    }
    for file in kept {
        file.sync_data()
            .map_err(|error| Failure::file("the kept changes".to_owned(), error))?;
    }
    recovery.finish()?;
    Ok(recovered)
}

/// Executes records that were executed before, on a copy of the state that they were executed on.
#[derive(Debug)]
pub(crate) struct Replayer {
    catalog: Catalog,
    /// The position of the last record that changed something.
    pub position: u64,
}

impl Replayer {
    /// Begins with the newest state of a store.
    pub fn new(store: &Store) -> Result<Replayer, Failure> {
        let mut reader = store.reader()?;
        let snapshot = reader.snapshot()?;
        let dictionary = config::stored_dictionary(&snapshot)?;
        let mut catalog = config::load(&snapshot, &dictionary)?;
        catalog.bounds = bounds();
        Ok(Replayer {
            catalog,
            position: snapshot.position()?,
        })
    }

    /// Builds the indexes that are not complete and removes those that are to go, one slice of
    /// entries; returns whether none is left.
    ///
    /// # Errors
    /// What the store says.
    pub fn build_indexes(&mut self, store: &Store, entries: usize) -> Result<bool, Failure> {
        let states = store.reader()?.snapshot()?.index_states()?;
        let open = |it: &IndexState| !(it.building | it.dropping | it.pending).is_empty();
        if !states.iter().any(open) {
            return Ok(true);
        }
        let mut batch = store.begin(&self.catalog.indexes)?;
        let progress = batch.build_indexes(SliceLimits::entries(entries))?;
        let states = batch.snapshot().index_states()?;
        batch.commit()?;
        self.catalog.indexes = IndexSet::from_states(self.catalog.schema.clone(), &states);
        Ok(progress.is_finished())
    }

    /// Whether a rule needs an index that is not complete on this copy. Records are executed
    /// rightly all the same, but each may look at all entries then: who has the time builds first.
    pub fn waits(&self) -> bool {
        self.catalog.rules.wait_for(&self.catalog.indexes)
    }

    /// The indexes as they stand.
    pub fn indexes(&self) -> &IndexSet {
        &self.catalog.indexes
    }

    /// Executes and commits one record; returns how many writes it has and what came of them.
    ///
    /// # Errors
    /// It cannot be read, or belongs to another state.
    pub fn execute(&mut self, store: &Store, bytes: &[u8]) -> Result<(u64, Outcome), Failure> {
        let place = record::position_of(bytes).unwrap_or(self.position + 1);
        let decoded = record::decode(bytes, &self.catalog.schema);
        let decoded = decoded.map_err(|error| unusable(place, &error))?;
        let mut batch = store.begin(&self.catalog.indexes)?;
        let snapshot = batch.snapshot();
        if decoded.position != snapshot.position()? + 1 || decoded.digest != snapshot.digest()? {
            return Err(unusable(
                place,
                "it belongs to another state of the database",
            ));
        }
        let record = Record {
            position: decoded.position,
            time_us: decoded.time_us,
            units: decoded.units(),
        };
        let applied = apply(&mut batch, &self.catalog, &record, Occasion::Again)?;
        let outcome = Outcome::of(&record, &applied, bytes.len());
        if applied.changed > 0 {
            batch.commit()?;
            self.position = decoded.position;
        }
        if let Some(next) = applied.catalog {
            self.catalog = next;
        }
        Ok((decoded.writes.len() as u64, outcome))
    }
}

fn unusable(position: u64, error: &str) -> Failure {
    Failure::Store(store::Error::CorruptLog {
        detail: format!("record {position} cannot be executed: {error}"),
    })
}

#[cfg(test)]
mod tests;
