//! Executes one record inside one transaction, for the writer and for recovery after a crash.

use crate::catalog::Catalog;
use crate::concerned::Concerned;
use crate::config;
use crate::execute::{Broken, Done, Execution, Noticed};
use crate::rules::ready;
use crate::schema_change;
use crate::stop::{Failure, Refusal, Stop};
use crate::trail::Audited;
use crate::write::Record;
use policy::rehash::Rehashed;
use protocol::ResultCode;
use schema::Schema;
use store::{Batch, EntryId};

/// Result of executing a record in a transaction that is not committed yet.
pub struct Applied {
    /// Results, one for each unit.
    pub results: Vec<Done>,
    /// Number of writes that changed the state; if 0, the transaction is to be aborted.
    pub changed: u32,
    /// The new catalog, if it differs; it must be published before the commit.
    pub catalog: Option<Catalog>,
    /// Dynamic entries that were written, with their ends in seconds since 1970.
    pub ending: Vec<(u64, EntryId)>,
    /// Whether execution left work to later writes.
    pub left_work: bool,
    /// Accounts whose connections are to be judged again.
    pub concerned: Concerned,
    /// Passwords that were stored in another form, which ends no connection.
    pub rehashed: Vec<Rehashed>,
    /// Whether the configuration changed: an entry at or below `cn=config`.
    pub configuration: bool,
    /// Number of entries of detached subtrees that were removed.
    pub reclaimed: u32,
    /// Lines of the audit; `None` if there are none.
    pub audited: Option<Audited>,
}

/// Whether the change of configuration in a record has its final place in the order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Occasion {
    /// The place is not final: the change is refused if this node would have to wait for an index,
    /// or to read very many entries.
    First,
    /// The place is final: the record was executed before, on this or another copy, so it is
    /// executed at any cost.
    Again,
}

/// Executes a record. After a failure the transaction can only be aborted.
pub fn apply(
    batch: &mut Batch<'_>,
    before: &Catalog,
    record: &Record<'_>,
    occasion: Occasion,
) -> Result<Applied, Failure> {
    let mut results = Vec::with_capacity(record.units.len());
    let mut execution = Execution::new(batch, before, record);
    for (at, unit) in record.units.iter().enumerate() {
        if at % Batch::ANNOUNCED == 0 {
            execution.announce(&record.units[at..]);
        }
        results.push(execution.execute_unit(unit).or_else(refused)?);
    }
    let mut noticed = execution.finish()?;
    let mut applied = Applied {
        results,
        changed: noticed.changed,
        catalog: None,
        ending: std::mem::take(&mut noticed.ending),
        left_work: noticed.left_work,
        concerned: std::mem::take(&mut noticed.concerned),
        rehashed: std::mem::take(&mut noticed.rehashed),
        configuration: noticed.configuration,
        reclaimed: noticed.reclaimed,
        audited: None,
    };
    applied.concerned.everybody |= applied.configuration;
    if applied.changed == 0 {
        return Ok(applied);
    }
    applied.audited = noticed.audited.take();
    match next_catalog(batch, before, noticed, occasion) {
        Ok(catalog) => {
            if let (Occasion::First, Some(next)) = (occasion, &catalog)
                && let Err(refusal) = ready::require_indexes_of(before, next)
            {
                return Ok(taken_back(record, refusal));
            }
            applied.catalog = catalog;
            Ok(applied)
        }
        // An unusable configuration is the client's error; the whole change is undone.
        Err(Failure::Configuration(text)) => {
            let refusal = Refusal::new(ResultCode::CONSTRAINT_VIOLATION, text);
            Ok(taken_back(record, refusal))
        }
        Err(failure) => Err(failure),
    }
}

/// Returns the result of a unit that was refused.
fn refused(broken: Broken) -> Result<Done, Failure> {
    match broken.stop {
        Stop::Refused(refusal) => Ok(Done {
            at: Some(broken.at),
            ..Done::from(refusal.into_result())
        }),
        Stop::Failed(failure) => Err(failure),
    }
}

/// Returns the result of a record that was undone completely, for this reason.
fn taken_back(record: &Record<'_>, refusal: Refusal) -> Applied {
    Applied {
        results: vec![Done::from(refusal.into_result()); record.units.len()],
        changed: 0,
        catalog: None,
        ending: Vec::new(),
        left_work: false,
        concerned: Concerned::default(),
        rehashed: Vec::new(),
        configuration: false,
        reclaimed: 0,
        audited: None,
    }
}

fn next_catalog(
    batch: &mut Batch<'_>,
    before: &Catalog,
    noticed: Noticed,
    occasion: Occasion,
) -> Result<Option<Catalog>, Failure> {
    if noticed.configuration {
        let mut next = reconfigure(batch, before, &noticed.schema, occasion)?;
        next.keep_settings_of(before);
        next.bounds = before.bounds;
        next.least_version = before.least_version;
        return Ok(Some(next));
    }
    if !noticed.new_knowledge {
        return Ok(None);
    }
    let mut next = before.clone().with_schema(noticed.schema);
    next.has_aliases |= noticed.aliases;
    next.has_referrals |= noticed.referrals;
    next.has_dynamic_groups |= noticed.dynamic_groups;
    next.has_collective |= noticed.collective;
    next.has_subentries |= noticed.subentries;
    Ok(Some(next))
}

/// Reads the changed configuration and adapts the indexes to it.
fn reconfigure(
    batch: &mut Batch<'_>,
    before: &Catalog,
    schema: &Schema,
    occasion: Occasion,
) -> Result<Catalog, Failure> {
    let next = config::load(&batch.snapshot(), schema)?;
    let new_conflict = |it: &&String| !before.schema_conflicts.contains(it);
    if let Some(conflict) = next.schema_conflicts.iter().find(new_conflict) {
        return Err(Failure::Configuration(conflict.clone()));
    }
    schema_change::check(&batch.snapshot(), before, &next, occasion)?;
    config::apply_indexes(batch, &next)?;
    config::rebuild_indexes(batch, before, &next)?;
    config::load(&batch.snapshot(), schema)
}
