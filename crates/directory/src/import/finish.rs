//! What a bulk load cannot write: entries that replace others, and the list of naming contexts.

use super::Imported;
use super::contexts::Context;
use super::pipeline::Outcome;
use super::plan::Plan;
use crate::catalog::CONFIG_NAME;
use crate::commit::Record;
use crate::config;
use crate::execute::Execution;
use crate::grant::Grant;
use crate::open::unusable;
use crate::stop::Failure;
use crate::write::{Change, Given, Modification, Write};
use protocol::ChangeOperation;
use schema::Description;
use store::{DATABASE_FILE, Store};

/// Completes the new database, and closes it. Should the rest of the import fail, it can go on from
/// its checkpoint: the loader holds what that needs until then.
pub(super) fn finish(plan: &Plan<'_>, outcome: Outcome) -> Result<Imported, Failure> {
    let loaded = outcome.finished.loaded;
    let store = outcome.finished.store();
    let mut digest = loaded.digest;
    if !outcome.replacements.is_empty() || !outcome.contexts.is_empty() {
        write(plan, &outcome, store)?;
        store.sync()?;
        digest = store.reader()?.snapshot()?.digest()?;
    }
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
        total: loaded.entries,
        digest: format!("{digest:032x}"),
        bytes: length.unwrap_or(loaded.bytes),
    })
}

fn write(plan: &Plan<'_>, outcome: &Outcome, store: &Store) -> Result<(), Failure> {
    let mut batch = store.begin(&plan.indexes(&outcome.schema))?;
    for replacement in &outcome.replacements {
        batch.update(replacement.id, &replacement.row)?;
    }
    if !outcome.contexts.is_empty() {
        let catalog = config::load(&batch.snapshot(), &outcome.schema)?;
        let write = add_contexts(plan, &outcome.contexts)?;
        let record = Record {
            position: plan.position,
            time_us: outcome.time_us,
            units: vec![std::slice::from_ref(&write)],
        };
        let mut execution = Execution::new(&mut batch, &catalog, &record);
        execution
            .execute(&write)
            .map_err(|stop| unusable(CONFIG_NAME, stop))?;
        execution.finish()?;
    }
    Ok(batch.commit()?)
}

/// The change that adds naming contexts to the configuration.
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
    Ok(Write {
        grant: Grant::of_server(plan.by.clone(), catalog.config.clone()),
        spelled: CONFIG_NAME.to_owned(),
        manage_dsa_it: true,
        options: None,
        change: Change::Modify(vec![modification]),
    })
}
