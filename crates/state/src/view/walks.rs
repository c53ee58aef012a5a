//! Results of walks over groups, and walks that are not done when their slice ends. The next slice
//! repeats the work that the last one was doing (the request, or the entry being tested) and finds
//! the results here.

use super::climb::Climb;
use super::descent::Descent;
use super::dynamic::DynamicGroups;
use super::membership::{Followed, Group, Reach};
use super::plain::PlainView;
use super::served::Room;
use crate::done;
use crate::progress::Progress;
use crate::stop::Stop;
use roaring::RoaringTreemap;
use schema::Truth;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use store::{EntryId, SetId};

/// Walks between two slices. They hold no reference to a snapshot.
#[derive(Debug, Default)]
pub struct Walks {
    /// Number of the current slice.
    slice: u32,
    /// Whether the slice ended inside the entry (or request) named by `entry`.
    unfinished: bool,
    entry: EntryId,
    groups: HashMap<(EntryId, Reach), KnownGroups>,
    climb: Option<((EntryId, Reach), Climb)>,
    entries: Vec<(Goal, Arc<RoaringTreemap>)>,
    /// Memory of `entries` in bytes; `memory` is its share of the budget.
    entries_bytes: u64,
    memory: Option<Box<dyn Room>>,
    chain: Option<(Goal, Climb)>,
    descent: Option<(Goal, Box<Descent>)>,
    dynamic: DynamicGroups,
    pub(super) values: Values,
    pub(super) evaluation: Evaluation,
}

/// Groups of an entry, and the slice that found them.
#[derive(Debug)]
struct KnownGroups {
    slice: u32,
    groups: Rc<[Group]>,
}

/// Goal of a walk whose result holds for all entries of a search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Goal {
    /// The members of the group with this normalised name.
    Members(Box<[u8]>, Reach),
    /// The entries from which links of these attributes lead to this normalised name.
    Chain(Box<[u8]>, Followed),
}

/// Walks through the values of one entry's sets, in the order in which the filter tests them.
#[derive(Debug, Default)]
pub(super) struct Values {
    entry: EntryId,
    /// Index of the next walk.
    next: usize,
    done: Vec<bool>,
    /// The set being walked, and the last member done.
    at: Option<(SetId, EntryId)>,
}

/// Evaluation of a filter on one entry, between two slices.
#[derive(Debug, Default)]
pub(super) struct Evaluation {
    pub entry: EntryId,
    /// Log position of the entry's last change; if the entry changes, evaluation starts again.
    pub position: u64,
    /// The truth of each finished assertion, in order of evaluation.
    pub known: Vec<Truth>,
    /// Number of values that the next assertion has tested.
    pub tested: usize,
}

impl Walks {
    /// Begins the next slice.
    pub(super) fn begin_slice(&mut self) {
        self.slice = self.slice.wrapping_add(1);
        self.unfinished = false;
        self.values.next = 0;
    }

    /// Records that the slice ended before this entry was done; the root stands for the request.
    pub(super) fn leave_unfinished(&mut self, entry: EntryId) {
        if self.entry != entry {
            // Results of earlier slices belong to entries that are done.
            let slice = self.slice;
            self.groups.retain(|_, it| it.slice == slice);
            self.entry = entry;
        }
        self.unfinished = true;
    }

    /// Drops the results that the next slice does not need.
    pub(super) fn end_slice(&mut self) {
        if !self.unfinished {
            self.groups.clear();
            (self.climb, self.values) = (None, Values::default());
            self.evaluation = Evaluation::default();
        }
    }

    /// The groups of an entry, kept until the entry is done.
    pub(super) fn groups_of(
        &mut self,
        view: &PlainView<'_>,
        key: (EntryId, Reach),
    ) -> Result<Progress<Rc<[Group]>>, Stop> {
        let (id, reach) = key;
        if !view.pace.is_divided() {
            let mut climb = view.climb_from(id, reach)?;
            done!(view.climb(&mut climb, &mut self.dynamic)?);
            return Ok(Progress::Done(climb.into_groups()));
        }
        if let Some(known) = self.groups.get(&key) {
            return Ok(Progress::Done(Rc::clone(&known.groups)));
        }
        let mut climb = match self.climb.take_if(|(of, _)| *of == key) {
            Some((_, climb)) => climb,
            None => view.climb_from(id, reach)?,
        };
        if let Progress::Yield = view.climb(&mut climb, &mut self.dynamic)? {
            self.climb = Some((key, climb));
            return Ok(Progress::Yield);
        }
        let groups = climb.into_groups();
        let known = KnownGroups {
            slice: self.slice,
            groups: Rc::clone(&groups),
        };
        self.groups.insert(key, known);
        Ok(Progress::Done(groups))
    }

    /// The entries that a walk up finds for a goal, computed once per operation.
    pub(super) fn chain(
        &mut self,
        view: &PlainView<'_>,
        goal: Goal,
        begin: impl FnOnce() -> Climb,
    ) -> Result<Progress<Arc<RoaringTreemap>>, Stop> {
        if let Some(known) = self.known_entries(&goal) {
            return Ok(Progress::Done(known));
        }
        let kept = self.chain.take_if(|(of, _)| *of == goal);
        let mut climb = kept.map_or_else(begin, |(_, climb)| climb);
        match view.climb(&mut climb, &mut self.dynamic)? {
            Progress::Done(()) => {
                let ids = self.keep_entries(view, goal, climb.ids())?;
                Ok(Progress::Done(ids))
            }
            Progress::Yield => {
                self.chain = Some((goal, climb));
                Ok(Progress::Yield)
            }
        }
    }

    /// The members that a walk down finds for a goal, computed once per operation.
    pub(super) fn members(
        &mut self,
        view: &PlainView<'_>,
        goal: Goal,
        begin: impl FnOnce() -> Descent,
    ) -> Result<Progress<Arc<RoaringTreemap>>, Stop> {
        if let Some(known) = self.known_entries(&goal) {
            return Ok(Progress::Done(known));
        }
        let kept = self.descent.take_if(|(of, _)| *of == goal);
        let mut descent = kept.map_or_else(|| Box::new(begin()), |(_, descent)| descent);
        match view.descend(&mut descent)? {
            Progress::Done(()) => {
                let ids = self.keep_entries(view, goal, descent.found())?;
                Ok(Progress::Done(ids))
            }
            Progress::Yield => {
                self.descent = Some((goal, descent));
                Ok(Progress::Yield)
            }
        }
    }

    fn known_entries(&self, goal: &Goal) -> Option<Arc<RoaringTreemap>> {
        let known = self.entries.iter().find(|(of, _)| of == goal);
        known.map(|(_, ids)| Arc::clone(ids))
    }

    /// Keeps the result for a goal until the operation ends, within the memory budget.
    fn keep_entries(
        &mut self,
        view: &PlainView<'_>,
        goal: Goal,
        ids: RoaringTreemap,
    ) -> Result<Arc<RoaringTreemap>, Stop> {
        let bytes = self.entries_bytes + ids.serialized_size() as u64;
        if let Some(served) = view.pace.served {
            let memory = self.memory.get_or_insert_with(|| served.room());
            memory.grow(bytes)?;
        }
        self.entries_bytes = bytes;
        let ids = Arc::new(ids);
        self.entries.push((goal, Arc::clone(&ids)));
        Ok(ids)
    }
}

impl Values {
    /// The member after which a walk continues, or (as `Err`) the result of a finished one.
    pub fn so_far(&mut self, entry: EntryId, set: SetId) -> Result<EntryId, bool> {
        if self.entry != entry {
            *self = Values {
                entry,
                ..Values::default()
            };
        }
        if let Some(found) = self.done.get(self.next).copied() {
            self.next += 1;
            return Err(found);
        }
        let at = self.at.filter(|(of, _)| *of == set);
        Ok(at.map_or(EntryId::ROOT, |(_, last)| last))
    }

    /// Keeps the result of a walk.
    pub fn finish(&mut self, found: bool) {
        self.done.push(found);
        self.next += 1;
        self.at = None;
    }

    /// Keeps the progress of a walk.
    pub fn pause(&mut self, set: SetId, last: EntryId) {
        self.at = Some((set, last));
    }

    /// Drops the results of finished walks: their assertion is done and will not be asked again.
    pub fn forget(&mut self) {
        self.done.clear();
        self.next = 0;
    }
}
