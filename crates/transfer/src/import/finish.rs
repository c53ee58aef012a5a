//! Completes an import after the bulk load: replaces entries, and adds naming contexts to the
//! configuration.

use super::contexts::{Context, MissingContext};
use super::pipeline::Outcome;
use super::plan::Plan;
use super::target::Written;
use protocol::ChangeOperation;
use replica::create::unusable;
use replica::membership;
use schema::Description;
use state::catalog::CONFIG_NAME;
use state::config;
use state::execute::Execution;
use state::grant::Grant;
use state::stop::Failure;
use state::write::Record;
use state::write::{Change, Given, Modification, Write};
use store::{Batch, DATABASE_FILE, Store};

/// Result of an import.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Imported {
    /// Number of entries of the input that were imported.
    pub entries: u64,
    /// Number of entries of the input that were rejected, and are in the rejects file.
    pub rejected: u64,
    /// Number of entries created above the imported ones.
    pub created: u64,
    /// Streams of add requests that could not be read to the end: the place and reason of each.
    pub broken: Vec<String>,
    /// Naming contexts added to the configuration.
    pub contexts: Vec<String>,
    /// Naming contexts of rejected entries that the configuration lacks; a limited number of them.
    pub missing_contexts: Vec<MissingContext>,
    /// Names of attribute types of the database that look like secrets and are not marked as such.
    pub look_alikes: Vec<String>,
    /// Number of entries in the database, configuration included.
    pub total: u64,
    /// Digest of the state, as 32 hexadecimal digits.
    pub digest: String,
    /// Size of the database file in bytes.
    pub bytes: u64,
}

/// Completes the database: closes a new one, or commits the transaction on the old one. The files
/// of a checkpoint remain until then, so that the import can resume if a step fails.
pub(super) fn finish(
    plan: &Plan<'_>,
    old: &Store,
    outcome: Outcome,
    written: Written<'_>,
) -> Result<Imported, Failure> {
    match written {
        Written::Old(mut batch) => {
            write(plan, &outcome, &mut batch)?;
            batch.commit()?;
            imported(plan, outcome, old)
        }
        Written::New(finished) => {
            let store = finished.store();
            let adds = !outcome.replacements.is_empty() || !outcome.contexts.is_empty();
            if adds || plan.begins().is_some() {
                let mut batch = store.begin(&plan.indexes(&outcome.schema))?;
                write(plan, &outcome, &mut batch)?;
                batch.commit()?;
                store.sync()?;
            }
            imported(plan, outcome, store)
        }
    }
}

/// The result of the import and the state of the database.
fn imported(plan: &Plan<'_>, outcome: Outcome, store: &Store) -> Result<Imported, Failure> {
    let mut reader = store.reader()?;
    let snapshot = reader.snapshot()?;
    let length = std::fs::metadata(store.folder().join(DATABASE_FILE)).map(|it| it.len());
    let secrets = plan.catalog.access.secrets();
    Ok(Imported {
        look_alikes: secrets.look_alikes(&outcome.schema),
        entries: outcome.entries,
        rejected: outcome.rejected,
        created: outcome.created,
        broken: outcome.broken,
        missing_contexts: outcome.missing_contexts,
        contexts: outcome.contexts.into_iter().map(|it| it.spelled).collect(),
        total: snapshot.entry_count()?,
        digest: format!("{:032x}", snapshot.digest()?),
        bytes: length.unwrap_or(0),
    })
}

fn write(plan: &Plan<'_>, outcome: &Outcome, batch: &mut Batch<'_>) -> Result<(), Failure> {
    batch.set_schema(outcome.schema.clone());
    for replacement in &outcome.replacements {
        batch.update(replacement.id, &replacement.row)?;
    }
    if let Some(mark) = plan.begins() {
        membership::put_into(batch, mark)?;
    }
    if outcome.contexts.is_empty() {
        return Ok(());
    }
    let catalog = config::load(&batch.snapshot(), &outcome.schema)?;
    let write = add_contexts(plan, &outcome.contexts)?;
    let record = Record {
        position: plan.position,
        time_us: outcome.time_us,
        units: vec![std::slice::from_ref(&write)],
    };
    let mut execution = Execution::new(batch, &catalog, &record);
    execution
        .execute(&write)
        .map_err(|stop| unusable(CONFIG_NAME, stop))?;
    execution.finish()?;
    Ok(())
}

/// The write that adds naming contexts to the configuration.
fn add_contexts(plan: &Plan<'_>, contexts: &[Context]) -> Result<Write, Failure> {
    let catalog = &plan.catalog;
    let description = Description::of_type(catalog.known.naming_context.type_id);
    let values = contexts
        .iter()
        .map(|it| it.spelled.clone().into_bytes())
        .collect();
    let given = Given {
        description,
        values,
    };
    let modification = Modification {
        operation: ChangeOperation::Add,
        given,
    };
    Ok(Write::of_server(
        Grant::of_server(plan.by.clone(), catalog.config.clone()),
        CONFIG_NAME.to_owned(),
        Change::Modify(vec![modification]),
    ))
}
