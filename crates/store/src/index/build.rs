//! Building and removing indexes in slices, between other writes.
//!
//! Once an index is set every write maintains it, and the slices add the keys of all entries in the
//! order of ids. Both happen in write transactions, and adding a present row or removing a missing
//! one changes nothing: so after the last slice the index is complete, whatever was written
//! meanwhile and wherever a crash came. For the same reason a complete index can be built anew
//! while it is in use.

use std::time::{Duration, Instant};

use crate::batch::Batch;
use crate::error::Error;
use crate::id::EntryId;
use crate::index::keys::Keys;
use crate::index_set::{IndexKind, IndexKinds, IndexState, WritePlan};
use crate::lmdb::{Table, WriteTransaction};

/// Progress of the work on indexes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// Attribute type being worked on; `None` when all work is done.
    pub attribute: Option<String>,
    /// Whether rows are being removed rather than added.
    pub removing: bool,
    /// Number of ids worked on, of `total`; 0 while removing.
    pub done: u64,
    /// The greatest id.
    pub total: u64,
    /// Number of entries or rows that this slice took.
    pub taken: usize,
}

/// Limits of one slice, which ends at whichever comes first. It always does a little, so that a
/// build comes to an end.
#[derive(Debug, Clone, Copy)]
pub struct SliceLimits {
    /// Entries whose keys are added, or rows that are removed.
    pub entries: usize,
    /// Duration of the slice, exceeded by a few entries at most.
    pub time: Duration,
}

impl SliceLimits {
    /// Limits a slice by the number of entries alone.
    pub fn entries(entries: usize) -> SliceLimits {
        SliceLimits {
            entries,
            time: Duration::MAX,
        }
    }
}

/// Entries between two readings of the clock: a fraction of a millisecond when their pages are in
/// memory, some dozens of disk reads when not.
const PIECE: usize = 16;

/// The rest of a slice.
struct Budget {
    begun: Instant,
    limits: SliceLimits,
    taken: usize,
}

impl Budget {
    fn new(limits: SliceLimits) -> Budget {
        Budget {
            begun: Instant::now(),
            limits,
            taken: 0,
        }
    }

    /// Number of entries to do before the next reading of the clock; 0 at the end of the slice.
    fn piece(&self) -> usize {
        if self.taken > 0 && self.begun.elapsed() >= self.limits.time {
            return 0;
        }
        let left = self.limits.entries.max(1).saturating_sub(self.taken);
        left.min(PIECE)
    }
}

impl Progress {
    /// Returns whether all work is done.
    pub fn is_finished(&self) -> bool {
        self.attribute.is_none()
    }
}

impl Batch<'_> {
    /// Does a slice of the work that index changes left: removes rows, or adds the keys of entries.
    /// Call it between other batches until nothing is left.
    ///
    /// # Errors
    /// [`Error::Full`] or an error of LMDB.
    pub fn build_indexes(&mut self, limits: SliceLimits) -> Result<Progress, Error> {
        slice(self, limits)
    }
}

/// Does one slice. Its size and time concern this database alone: neither the digest nor the log
/// depends on them.
fn slice(batch: &mut Batch<'_>, limits: SliceLimits) -> Result<Progress, Error> {
    let total = batch.pending.state.next_id.saturating_sub(1);
    let states = batch.snapshot().index_states()?;
    let open = |it: &IndexState| !it.dropping.is_empty() || !it.building.is_empty();
    let Some(mut state) = states.into_iter().find(open) else {
        return Ok(Progress {
            attribute: None,
            removing: false,
            done: total,
            total,
            taken: 0,
        });
    };
    let removing = !state.dropping.is_empty();
    let mut budget = Budget::new(limits);
    if removing {
        remove(batch, &mut state, &mut budget)?;
    } else {
        add(batch, &mut state, &mut budget)?;
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
        taken: budget.taken,
    })
}

/// Adds the keys of the next entries.
fn add(batch: &mut Batch<'_>, state: &mut IndexState, budget: &mut Budget) -> Result<(), Error> {
    let schema = batch.indexes.schema.clone();
    // Without a number no entry has the attribute; the first entry with it is indexed when written.
    let mut next = None;
    if let Some(number) = number_of(&schema, &state.attribute) {
        let plan = batch.plan().only(number, state.building);
        next = Some(EntryId(state.next.0.max(1)));
        while let (Some(from), most @ 1..) = (next, budget.piece()) {
            next = add_piece(batch, &plan, from, most)?;
            budget.taken += most;
        }
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

/// Adds the keys of at most `count` entries; returns the next id, if there is one.
fn add_piece(
    batch: &mut Batch<'_>,
    plan: &WritePlan,
    from: EntryId,
    most: usize,
) -> Result<Option<EntryId>, Error> {
    let schema = batch.indexes.schema.clone();
    let mut value = Vec::new();
    let mut rows = Vec::with_capacity(most);
    let mut next = None;
    for entry in batch.snapshot().stored_entries_from(from) {
        let (id, view) = entry?;
        if rows.len() == most {
            next = Some(id);
            break;
        }
        let mut keys = Keys::default();
        keys.of_entry(&schema, plan, &view, &mut value);
        rows.push((id, keys));
    }
    let none = Keys::default();
    for (id, keys) in &rows {
        batch.write_keys(*id, &none, keys)?;
    }
    Ok(next)
}

/// Removes some rows of the kinds that are no longer wanted.
fn remove(batch: &mut Batch<'_>, state: &mut IndexState, budget: &mut Budget) -> Result<(), Error> {
    // Pending postings of the batch would come back after their rows are removed.
    batch
        .pending
        .postings
        .flush(&mut batch.transaction, batch.tables.posting)?;
    if let Some(number) = number_of(&batch.indexes.schema, &state.attribute) {
        for kind in state.dropping.iter() {
            let [high, low] = number.0.to_be_bytes();
            let prefix = [kind as u8, high, low];
            let tables: &[Table] = match kind {
                IndexKind::Ordering => &[batch.tables.order],
                _ => &[batch.tables.index, batch.tables.posting],
            };
            for table in tables {
                if !remove_rows(&mut batch.transaction, *table, &prefix, budget)? {
                    return Ok(());
                }
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

/// Removes keys with a prefix, with all their values, as many as the budget allows. Returns whether
/// none is left.
fn remove_rows(
    transaction: &mut WriteTransaction,
    table: Table,
    prefix: &[u8],
    budget: &mut Budget,
) -> Result<bool, Error> {
    loop {
        let most = budget.piece();
        for _ in 0..most {
            let key = {
                let mut cursor = transaction.cursor(table)?;
                match cursor.seek(prefix)? {
                    Some((key, _)) if key.starts_with(prefix) => key.to_vec(),
                    _ => return Ok(true),
                }
            };
            transaction.delete(table, &key)?;
            budget.taken += 1;
        }
        if most == 0 {
            return Ok(false);
        }
    }
}

/// Number of an attribute type without options; `None` if the dictionary has none.
fn number_of(schema: &schema::Schema, attribute: &str) -> Option<schema::AttributeNumber> {
    let type_id = schema.attribute_type(attribute)?;
    schema.number(&schema::Description::of_type(type_id))
}
