//! Opens the store of a data folder, closed or not: log records after the last checkpoint are
//! executed again, as they were the first time.

use crate::audit_files::AuditKeeper;
use crate::changes::{Keeper, Outcome};
use crate::membership;
use crate::parts::Partial;
use state::apply::{Occasion, apply};
use state::bounds::Bounds;
use state::catalog::Catalog;
use state::config;
use state::lanes::Lanes;
use state::record;
use state::stop::Failure;
use state::trail::{Audited, head_of_audit};
use state::write::Record;
use std::path::Path;
use std::time::Instant;
use store::{IndexSet, IndexState, Recovery, SliceLimits, Store};

/// Result of a recovery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recovered {
    /// Position of the checkpoint.
    pub checkpoint: u64,
    /// Position of the last record.
    pub position: u64,
    /// Number of records executed again.
    pub records: u64,
    /// Number of writes in them.
    pub writes: u64,
}

/// Number of records between two log lines about the progress.
const PROGRESS_EVERY: u64 = 10_000;

/// Opens the store of a folder that no process has open.
///
/// # Errors
/// There is no database, another process has it open, or log and database do not belong together.
pub fn open_store(data: &Path) -> Result<(Store, Option<Recovered>), Failure> {
    open_store_within(data, Bounds::default())
}

/// Like [`open_store`], for a directory whose records were executed with other bounds.
///
/// # Errors
/// The errors of [`open_store`].
pub(crate) fn open_store_within(
    data: &Path,
    bounds: Bounds,
) -> Result<(Store, Option<Recovered>), Failure> {
    // A node of a cluster does not wait for its disk: its peers have what a power failure takes.
    if membership::of_folder(data).is_none() {
        Store::refuse_lost_records(data, record::position_of)?;
    }
    recover(data, bounds)
}

/// Like [`open_store`], dropping acknowledged writes whose records are damaged.
///
/// # Errors
/// The errors of [`open_store`].
pub fn open_store_without_lost(data: &Path) -> Result<(Store, Option<Recovered>), Failure> {
    recover(data, Bounds::default())
}

fn recover(data: &Path, bounds: Bounds) -> Result<(Store, Option<Recovered>), Failure> {
    let (store, recovery) = Store::recover(data)?;
    let Some(recovery) = recovery else {
        return Ok((store, None));
    };
    let begun = Instant::now();
    let recovered = replay(&store, recovery, bounds)?;
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

/// Like [`open_store`], for reading only. With `beside` another process may serve the database; it
/// has executed its log, so no acknowledged write is missing.
///
/// # Errors
/// The errors of [`open_store`]; with `beside`, another process may have the database open.
pub fn open_to_read(data: &Path, beside: bool) -> Result<Store, Failure> {
    match open_store(data) {
        Ok(_) => {}
        Err(Failure::Store(store::Error::Locked { .. })) if beside => {}
        Err(failure) => return Err(failure),
    }
    Ok(Store::read_only(data, beside)?)
}

fn replay(store: &Store, mut recovery: Recovery, bounds: Bounds) -> Result<Recovered, Failure> {
    let mut replayer = Replayer::new(store)?;
    replayer.catalog.bounds = bounds;
    if replayer.is_member {
        recovery.accept_loss();
    }
    let checkpoint = replayer.position;
    let mut keeper = Keeper::open_at_checkpoint(store.folder(), checkpoint)?;
    let head = head_of_audit(&store.reader()?.snapshot()?)?.unwrap_or_default();
    let mut audit = AuditKeeper::open_at_checkpoint(store.folder(), head, checkpoint)?;
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
            if let (Some(keeper), Some(audited)) = (&mut audit, replayer.audited.take()) {
                kept.extend(keeper.keep(audited));
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
            .map_err(|error| Failure::file("the kept changes and the audit".to_owned(), error))?;
    }
    recovery.finish()?;
    Ok(recovered)
}

/// Executes recorded records again, on a copy of the state they were executed on first.
#[derive(Debug)]
pub struct Replayer {
    pub(crate) catalog: Catalog,
    /// Position of the last record that changed the state.
    pub position: u64,
    /// Lines of the audit about the last record that has some.
    pub(crate) audited: Option<Audited>,
    /// How far the copy has followed the log of a cluster.
    lanes: Lanes,
    /// Lanes with stored parts in the copy.
    partial: Partial,
    /// Whether the copy belongs to a cluster.
    is_member: bool,
}

impl Replayer {
    /// A replayer of the newest state of a store.
    pub fn new(store: &Store) -> Result<Replayer, Failure> {
        let mut reader = store.reader()?;
        let snapshot = reader.snapshot()?;
        let dictionary = config::stored_dictionary(&snapshot)?;
        let catalog = config::load(&snapshot, &dictionary)?;
        Ok(Replayer {
            catalog,
            position: snapshot.position()?,
            audited: None,
            lanes: Lanes::load(&snapshot)?,
            partial: Partial::load(&snapshot)?,
            is_member: membership::of(&snapshot)?.is_some(),
        })
    }

    /// Builds incomplete indexes and removes dropped ones, for one slice of entries. Returns
    /// whether all is done.
    ///
    /// # Errors
    /// Reading or writing the store failed.
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

    /// Whether a rule needs an index that is incomplete on this copy. Records are executed
    /// correctly without it, but each may read all entries, so the caller may build the index
    /// first.
    pub fn waits(&self) -> bool {
        self.catalog.rules.wait_for(&self.catalog.indexes)
    }

    /// The present indexes.
    pub fn indexes(&self) -> &IndexSet {
        &self.catalog.indexes
    }

    /// Executes and commits one record. Returns the number of its writes and their outcome.
    ///
    /// # Errors
    /// The record cannot be decoded, or belongs to another state.
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
            units: decoded.writes.units(),
        };
        let applied = apply(&mut batch, &self.catalog, &record, Occasion::Again)?;
        let outcome = Outcome::of(&record, &applied, bytes.len());
        let changed = applied.changed > 0;
        if !changed && decoded.logged.is_some() {
            // A refused change of the configuration may have left rows in this transaction.
            drop(batch);
            batch = store.begin(&self.catalog.indexes)?;
        }
        if let Some(logged) = &decoded.logged {
            if changed && applied.configuration {
                self.lanes.configuration = decoded.position;
            }
            let origin = &logged.origin;
            match &decoded.part {
                Some(part) => {
                    let partial = &mut self.partial;
                    partial.put(&mut batch, origin, part.index, &part.bytes)?;
                }
                None => self.partial.drop_all(&mut batch, origin)?,
            }
            self.lanes.note(origin, logged.place);
            self.lanes.store(&mut batch)?;
        }
        if changed || decoded.logged.is_some() {
            batch.commit()?;
        }
        if changed {
            self.position = decoded.position;
            self.audited = applied.audited;
        }
        if let Some(next) = applied.catalog {
            self.catalog = next;
        }
        Ok((decoded.writes.all.len() as u64, outcome))
    }
}

fn unusable(position: u64, error: &str) -> Failure {
    Failure::Store(store::Error::CorruptLog {
        detail: format!("record {position} cannot be executed: {error}"),
    })
}

#[cfg(test)]
mod tests;
