//! Executing one record inside one transaction, the same way for the writer and after a crash.

use crate::catalog::Catalog;
use crate::commit::Record;
use crate::config;
use crate::execute::{Done, Execution, Noticed};
use crate::schema_change;
use crate::stop::{Failure, Refusal, Stop};
use protocol::ResultCode;
use schema::Schema;
use store::{Batch, EntryId};

/// What a record did inside a transaction that is not committed yet.
pub(crate) struct Applied {
    /// One for each unit.
    pub results: Vec<Done>,
    /// Writes that changed something; with none the transaction is to be dropped.
    pub changed: u32,
    /// What readers of the new state must know, if it differs: to be published before the commit.
    pub catalog: Option<Catalog>,
    /// Dynamic entries that were written, and when they end.
    pub ending: Vec<(u64, EntryId)>,
    /// A subtree was detached.
    pub detaches: bool,
    /// Entries of detached subtrees that were removed.
    pub reclaimed: u32,
}

/// Executes a record. A failure leaves a transaction that can only be dropped.
pub(crate) fn apply(
    batch: &mut Batch<'_>,
    before: &Catalog,
    record: &Record<'_>,
) -> Result<Applied, Failure> {
    let mut results = Vec::with_capacity(record.units.len());
    let mut execution = Execution::new(batch, before, record);
    for unit in &record.units {
        results.push(match execution.execute_unit(unit) {
            Ok(done) => done,
            Err(broken) => match broken.stop {
                Stop::Refused(refusal) => Done {
                    at: Some(broken.at),
                    ..Done::from(refusal.into_result())
                },
                Stop::Failed(failure) => return Err(failure),
            },
        });
    }
    let mut noticed = execution.finish()?;
    let ending = std::mem::take(&mut noticed.ending);
    let (changed, detaches, reclaimed) = (noticed.changed, noticed.detaches, noticed.reclaimed);
    if changed == 0 {
        return Ok(Applied {
            results,
            changed,
            catalog: None,
            ending,
            detaches,
            reclaimed,
        });
    }
    match next_catalog(batch, before, noticed) {
        Ok(catalog) => Ok(Applied {
            results,
            changed,
            catalog,
            ending,
            detaches,
            reclaimed,
        }),
        // A configuration that cannot be used is the client's mistake, and taken back whole.
        Err(Failure::Configuration(text)) => {
            let refusal = Refusal::new(ResultCode::CONSTRAINT_VIOLATION, text);
            Ok(Applied {
                results: vec![Done::from(refusal.into_result()); record.units.len()],
                changed: 0,
                catalog: None,
                ending: Vec::new(),
                detaches: false,
                reclaimed: 0,
            })
        }
        Err(failure) => Err(failure),
    }
}

fn next_catalog(
    batch: &mut Batch<'_>,
    before: &Catalog,
    noticed: Noticed,
) -> Result<Option<Catalog>, Failure> {
    if noticed.configuration {
        let mut next = reconfigure(batch, before, &noticed.schema)?;
        next.limits = before.limits.clone();
        next.least_version = before.least_version;
        return Ok(Some(next));
    }
    if !noticed.new_knowledge {
        return Ok(None);
    }
    let mut next = before.clone();
    next.indexes.schema = noticed.schema.clone();
    next.schema = noticed.schema;
    next.has_aliases |= noticed.aliases;
    next.has_referrals |= noticed.referrals;
    next.has_dynamic_groups |= noticed.dynamic_groups;
    next.has_collective |= noticed.collective;
    next.has_subentries |= noticed.subentries;
    Ok(Some(next))
}

/// Reads the changed configuration and makes the indexes those that it asks for.
fn reconfigure(
    batch: &mut Batch<'_>,
    before: &Catalog,
    schema: &Schema,
) -> Result<Catalog, Failure> {
    let next = config::load(&batch.snapshot(), schema)?;
    schema_change::check(&batch.snapshot(), before, &next.schema)?;
    config::apply_indexes(batch, &next)?;
    config::rebuild_indexes(batch, before, &next)?;
    config::load(&batch.snapshot(), schema)
}
