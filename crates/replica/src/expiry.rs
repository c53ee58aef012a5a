//! Removes dynamic entries (RFC 2589) at their end: the schedule, and the writes.
//!
//! A removal is a write like any other: it gets a place in the order, and execution removes the
//! entry only if its end is not after the time in the write. The clock is read here, before the
//! order, and nowhere else. The schedule is in memory and is rebuilt from the class index when the
//! directory is opened, and when a node of a cluster becomes its steward. The old time of an entry
//! that was refreshed or deleted remains in the schedule and is skipped.

use crate::clock::Clock;
use protocol::Filter;
use state::catalog::{CONFIG_NAME, Catalog};
use state::entry_end::replace_end;
use state::grant::Grant;
use state::knowledge::class_filter;
use state::stop::Failure;
use state::time;
use state::write::{Change, Write, WriteOptions};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;
use store::{EntryId, EntryView, Region, RegionScope, Snapshot};

/// Maximum number of entries removed by one record.
const DUE_MAX: usize = 1_000;
/// Delay in seconds before an entry is tried again that could not be removed because of entries
/// below it.
const RETRY_S: u64 = 10;
/// Maximum time between two looks at the clock while there are dynamic entries, because the clock
/// may be set.
const LOOK_MAX: Duration = Duration::from_secs(30);

/// Ends of dynamic entries, in seconds since 1970. Only a node that removes entries has them: a
/// node alone, or the steward of a cluster.
#[derive(Debug, Default)]
pub(crate) struct Schedule {
    ends: BinaryHeap<Reverse<(u64, EntryId)>>,
    /// Whether all ends are there.
    loaded: bool,
}

/// The writes of removals, and the entry of each.
#[derive(Debug, Default)]
pub(crate) struct Due {
    pub writes: Vec<Write>,
    ids: Vec<EntryId>,
}

impl Schedule {
    /// Adds entries that were written, with their ends, if the others are there.
    pub fn note(&mut self, ending: Vec<(u64, EntryId)>) {
        if self.loaded {
            self.ends.extend(ending.into_iter().map(Reverse));
        }
    }

    /// Whether all ends are there.
    pub fn is_loaded(&self) -> bool {
        self.loaded
    }

    /// Drops all ends, because another node removes entries now.
    pub fn forget(&mut self) {
        *self = Schedule::default();
    }

    /// Time until the next end; `None` without dynamic entries, for which the clock is not read.
    pub fn wait(&self, clock: &dyn Clock) -> Option<Duration> {
        let Reverse((end_s, _)) = self.ends.peek()?;
        let us = end_s
            .saturating_mul(1_000_000)
            .saturating_sub(clock.now_us());
        Some(Duration::from_micros(us).min(LOOK_MAX))
    }

    /// Schedules all dynamic entries of the directory. Returns writes that give an end to imported
    /// entries without one.
    pub fn load(
        &mut self,
        snapshot: &Snapshot<'_>,
        catalog: &Catalog,
        now_us: u64,
    ) -> Result<Due, Failure> {
        self.loaded = true;
        let filter = class_filter(&catalog.schema, state::execute::DYNAMIC_CLASS);
        let everywhere = Region {
            base: EntryId::ROOT,
            scope: RegionScope::Subtree,
        };
        let plan = store::plan(snapshot, &catalog.indexes, &filter, &everywhere)?;
        let mut due = Due::default();
        if plan.estimate() == 0 {
            return Ok(due);
        }
        let candidates = snapshot.candidates(&plan, EntryId::ROOT)?;
        for found in candidates.entries_after(*snapshot, EntryId::ROOT) {
            let (id, view) = found?;
            let classes = view.attribute(catalog.known.object_class.number);
            if !classes.is_some_and(|it| state::execute::is_dynamic(it.values().into_iter())) {
                continue;
            }
            match end_of(catalog, &view) {
                Some(end_s) => self.ends.push(Reverse((end_s, id))),
                None => {
                    let ttl_s = catalog.limits.time_to_live.default_s;
                    let end = replace_end(catalog, now_us, ttl_s);
                    let change = Change::Modify(vec![end]);
                    if let Some(write) = write_to(snapshot, catalog, &view, change)? {
                        due.push(id, write);
                    }
                }
            }
        }
        Ok(due)
    }

    /// The writes that remove entries past their end, deepest entries first.
    pub fn due(
        &mut self,
        snapshot: &Snapshot<'_>,
        catalog: &Catalog,
        now_us: u64,
    ) -> Result<Due, Failure> {
        let now_s = now_us / 1_000_000;
        let mut ids = Vec::new();
        while let Some(Reverse((end_s, id))) = self.ends.peek().copied()
            && end_s <= now_s
            && ids.len() < DUE_MAX
        {
            self.ends.pop();
            ids.push(id);
        }
        ids.sort_unstable();
        ids.dedup();
        let mut due = Due::default();
        for id in ids {
            let Some(view) = snapshot.entry(id)? else {
                continue;
            };
            if end_of(catalog, &view).is_none_or(|it| it > now_s) {
                continue;
            }
            let options = WriteOptions {
                administrator: true,
                assertion: Some(ended_by(now_us)),
                ..WriteOptions::default()
            };
            if let Some(mut write) = write_to(snapshot, catalog, &view, Change::Delete)? {
                write.options = Some(Box::new(options));
                due.push(id, write);
            }
        }
        due.deepest_first();
        Ok(due)
    }

    /// Schedules entries again whose removal was refused.
    pub fn settle(&mut self, due: &Due, succeeded: &[bool], now_us: u64) {
        let again = now_us / 1_000_000 + RETRY_S;
        for (id, _) in due.ids.iter().zip(succeeded).filter(|(_, it)| !**it) {
            self.ends.push(Reverse((again, *id)));
        }
    }
}

impl Due {
    fn push(&mut self, id: EntryId, write: Write) {
        self.ids.push(id);
        self.writes.push(write);
    }

    /// Sorts deepest entries first, because an entry can be removed only when it has no children.
    fn deepest_first(&mut self) {
        let mut both: Vec<_> = self.writes.drain(..).zip(self.ids.drain(..)).collect();
        both.sort_by_key(|(write, _)| Reverse(write.name().depth()));
        (self.writes, self.ids) = both.into_iter().unzip();
    }
}

/// The server's write that makes a change to a dynamic entry; `None` if the entry's name cannot be
/// resolved.
fn write_to(
    snapshot: &Snapshot<'_>,
    catalog: &Catalog,
    view: &EntryView<'_>,
    change: Change,
) -> Result<Option<Write>, Failure> {
    let mut spelled = Vec::new();
    snapshot.write_name(view, &mut spelled)?;
    let spelled = String::from_utf8_lossy(&spelled).into_owned();
    let Ok(name) = catalog.schema.resolve_name(&spelled) else {
        tracing::error!(%spelled, "a dynamic entry has a name that cannot be resolved");
        return Ok(None);
    };
    let grant = Grant::of_server(CONFIG_NAME.to_owned(), name);
    Ok(Some(Write::of_server(grant, spelled, change)))
}

/// End of a stored entry in seconds since 1970; `None` if it is not dynamic.
fn end_of(catalog: &Catalog, view: &EntryView<'_>) -> Option<u64> {
    let numbers = catalog.schema.numbers_of(catalog.computed.entry_end);
    let attribute = view.attribute(*numbers.first()?)?;
    time::seconds_of(attribute.values().into_iter().next()?)
}

/// The assertion of a removal: the entry was not refreshed meanwhile.
fn ended_by(now_us: u64) -> Vec<u8> {
    let mut out = Vec::new();
    Filter::LessOrEqual {
        attribute: "entryExpireTimestamp",
        value: time::generalized_time(now_us).as_bytes(),
    }
    .encode(&mut out);
    out
}
