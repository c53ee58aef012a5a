//! Building and removing indexes in slices, between other writes.
//!
//! From the moment an index is wanted every write maintains it, and the slices add the keys of all
//! entries in the order of ids. Both happen in write transactions, adding twice is adding once, and
//! removing what is not there is nothing: so after the last slice the index is complete, whatever
//! was written meanwhile and wherever a crash came.

use crate::batch::Batch;
use crate::error::Error;
use crate::id::EntryId;
use crate::index::keys::Keys;
use crate::index_set::{IndexKind, IndexKinds, IndexState};
use crate::lmdb::{Table, WriteTransaction};

/// How far the work on indexes has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// The attribute type being worked on; `None` when nothing is left.
    pub attribute: Option<String>,
    /// Whether rows are being removed rather than added.
    pub removing: bool,
    /// Ids worked on, of `total`; 0 while removing.
    pub done: u64,
    /// The greatest id.
    pub total: u64,
}

impl Progress {
    /// Whether nothing is left to do.
    pub fn is_finished(&self) -> bool {
        self.attribute.is_none()
    }
}

/// Does one slice.
pub(crate) fn slice(batch: &mut Batch<'_>, entries_max: usize) -> Result<Progress, Error> {
    let total = batch.pending.state.next_id.saturating_sub(1);
    let states = batch.snapshot().index_states()?;
    let open = |it: &IndexState| !it.dropping.is_empty() || !it.building.is_empty();
    let Some(mut state) = states.into_iter().find(open) else {
        return Ok(Progress {
            attribute: None,
            removing: false,
            done: total,
            total,
        });
    };
    let removing = !state.dropping.is_empty();
    if removing {
        remove(batch, &mut state, entries_max)?;
    } else {
        add(batch, &mut state, entries_max)?;
    }
    batch.put_index_state(&state)?;
    let done = if removing {
        0
    } else {
        state.next.0.saturating_sub(1).min(total)
    };
    Ok(Progress {
        attribute: Some(state.attribute),
        removing,
        done,
        total,
    })
}

/// Adds the keys of the next entries.
fn add(batch: &mut Batch<'_>, state: &mut IndexState, entries_max: usize) -> Result<(), Error> {
    let schema = batch.indexes.schema.clone();
    let number = number_of(&schema, &state.attribute);
    let plan = batch
        .plan
        .only(number.unwrap_or(schema::AttributeNumber(0)), state.building);
    let (mut none, mut value) = (Keys::default(), Vec::new());
    none.clear();
    let mut rows = Vec::with_capacity(entries_max);
    let mut next = None;
    for entry in batch
        .snapshot()
        .stored_entries_from(EntryId(state.next.0.max(1)))
    {
        let (id, view) = entry?;
        // Without a number no entry has the attribute: the first one that gets it has both.
        if rows.len() == entries_max || number.is_none() {
            next = number.map(|_| id);
            break;
        }
        let mut keys = Keys::default();
        keys.of_entry(&schema, &plan, &view, &mut value);
        rows.push((id, keys));
    }
    for (id, keys) in &rows {
        batch.write_keys(*id, &none, keys)?;
    }
    match next {
        Some(next) => state.next = next,
        None => {
            state.ready = state.ready | state.building;
            state.building = IndexKinds::NONE;
            state.next = EntryId(1);
        }
    }
    Ok(())
}

/// Removes some rows of the kinds that are no longer wanted.
fn remove(batch: &mut Batch<'_>, state: &mut IndexState, rows_max: usize) -> Result<(), Error> {
    // What the batch holds in memory would come back after its rows are gone.
    batch
        .pending
        .postings
        .flush(&mut batch.transaction, batch.tables.posting)?;
    let mut budget = rows_max.max(1);
    if let Some(number) = number_of(&batch.indexes.schema, &state.attribute) {
        for kind in state.dropping.iter() {
            let [high, low] = number.0.to_be_bytes();
            let prefix = [kind as u8, high, low];
            let tables: &[Table] = match kind {
                IndexKind::Ordering => &[batch.tables.order],
                _ => &[batch.tables.index, batch.tables.posting],
            };
            for table in tables {
                remove_rows(&mut batch.transaction, *table, &prefix, &mut budget)?;
            }
            if budget == 0 {
                return Ok(());
            }
            state.dropping = state.dropping - IndexKinds::of(&[kind]);
        }
    }
    state.dropping = IndexKinds::NONE;
    state.building = state.building | state.pending;
    state.pending = IndexKinds::NONE;
    state.next = EntryId(1);
    Ok(())
}

/// Removes keys with a prefix, with all their values, as many as the budget allows.
fn remove_rows(
    transaction: &mut WriteTransaction,
    table: Table,
    prefix: &[u8],
    budget: &mut usize,
) -> Result<(), Error> {
    while *budget > 0 {
        let key = {
            let mut cursor = transaction.cursor(table)?;
            match cursor.seek(prefix)? {
                Some((key, _)) if key.starts_with(prefix) => key.to_vec(),
                _ => return Ok(()),
            }
        };
        transaction.delete(table, &key)?;
        *budget -= 1;
    }
    Ok(())
}

/// The number of an attribute type without options, if it has one.
fn number_of(schema: &schema::Schema, attribute: &str) -> Option<schema::AttributeNumber> {
    let type_id = schema.attribute_type(attribute)?;
    schema.number(&schema::Description::of_type(type_id))
}
