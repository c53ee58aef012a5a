//! Walks over groups and their values, in slices. A walk that is not done when its slice ends stops
//! the operation with [`Stop::unfinished`]; its state stays here with the results of finished
//! walks. The next slice repeats what the last one was doing (the request, or the entry being
//! tested) and finds those results here.

use super::View;
use super::climb::Climb;
use super::descent::Descent;
use super::dynamic::{DynamicGroup, Reading};
use super::membership::{Followed, Group, MET_MAX, Reach};
use super::paced::Evaluation;
use super::served::Room;
use crate::stop::{Failure, Stop};
use protocol::ResultCode;
use roaring::RoaringTreemap;
use std::cell::{Cell, RefCell, RefMut};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use store::{EntryId, SetId};

/// Maximum looks of all walks in one slice. One look takes about a microsecond, a slice two
/// milliseconds.
const LOOKS: u32 = 2_048;
/// Looks that finding the holders of one name costs.
pub(super) const LOOKS_PER_NAME: u32 = 4;
/// Maximum looks of one undivided walk for a client: less than a tenth of a second.
const UNDIVIDED_MAX: u64 = 65_536;
/// Maximum looks of one undivided walk without a client: during execution, import and check. It
/// must never be lowered: a log may hold writes that were executed under it.
const UNSERVED_MAX: u64 = 4 << 20;

/// State of the walks of one operation.
#[derive(Default)]
pub(super) struct Pace {
    walks: RefCell<Option<Box<Walks>>>,
    /// Looks taken in this slice.
    looks: Cell<u32>,
    /// Whether walks may continue in another slice.
    divided: Cell<bool>,
    /// Whether something keeps the current filter from being evaluated.
    stopped: Cell<bool>,
    /// Time of the first look at the clock in this slice; `None` before it.
    pub(super) began_us: Cell<Option<u64>>,
}

/// Walks between two slices. They hold no reference to a snapshot.
#[derive(Debug, Default)]
pub struct Walks {
    /// The encoded request, if it must be repeated from its beginning.
    pub request: Option<Box<[u8]>>,
    /// Start of the repeated request, in microseconds of Unix time.
    pub began_us: Option<u64>,
    stop: Option<Stop>,
    /// Number of the current slice.
    slice: u32,
    /// Whether the slice ended inside the entry (or request) named by `entry`.
    unfinished: bool,
    entry: EntryId,
    groups: HashMap<(EntryId, Reach), Found>,
    climb: Option<((EntryId, Reach), Climb)>,
    entries: Vec<(Goal, Arc<RoaringTreemap>)>,
    /// Memory of `entries` in bytes; `memory` is its share of the budget.
    entries_bytes: u64,
    memory: Option<Box<dyn Room>>,
    chain: Option<(Goal, Climb)>,
    descent: Option<(Goal, Box<Descent>)>,
    dynamic: Option<Rc<[DynamicGroup]>>,
    reading: Option<Reading>,
    values: Values,
    pub(super) evaluation: Evaluation,
}

/// Groups of an entry, and the slice that found them.
#[derive(Debug)]
struct Found {
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
struct Values {
    entry: EntryId,
    /// Index of the next walk.
    next: usize,
    done: Vec<bool>,
    /// The set being walked, and the last member done.
    at: Option<(SetId, EntryId)>,
}

impl View<'_> {
    /// Allows or forbids walks to continue in another slice. A caller that allows it must repeat
    /// operations that stop as [unfinished](Stop::is_unfinished).
    #[inline]
    pub fn divide_walks(&self, divided: bool) {
        self.pace.divided.set(divided);
    }

    /// Whether walks may continue in another slice.
    pub(super) fn divides_walks(&self) -> bool {
        self.pace.divided.get()
    }

    /// Whether walks have used up this slice.
    #[inline]
    pub fn is_tired(&self) -> bool {
        self.pace.looks.get() >= LOOKS
    }

    /// Ends the slice for walks, because other work has used it up.
    pub(super) fn tire(&self) {
        self.pace.looks.set(LOOKS);
    }

    /// Continues with the walks of the last slice.
    pub fn take_up(&self, walks: Option<Box<Walks>>) {
        if let Some(mut walks) = walks {
            walks.slice = walks.slice.wrapping_add(1);
            walks.unfinished = false;
            walks.values.next = 0;
            *self.pace.walks.borrow_mut() = Some(walks);
        }
    }

    /// Records that the slice ended before this entry was done; the root stands for the request.
    #[cold]
    pub fn leave_unfinished(&self, entry: EntryId) {
        let mut walks = self.walks();
        if walks.entry != entry {
            // Results of earlier slices belong to entries that are done.
            let slice = walks.slice;
            walks.groups.retain(|_, it| it.slice == slice);
            walks.entry = entry;
        }
        walks.unfinished = true;
    }

    /// The state that the next slice needs; `None` if there are no walks.
    pub fn walks_for_later(&self) -> Option<Box<Walks>> {
        let mut walks = self.pace.walks.borrow_mut().take()?;
        if !walks.unfinished {
            walks.groups.clear();
            (walks.climb, walks.values) = (None, Values::default());
            walks.evaluation = Evaluation::default();
        }
        Some(walks)
    }

    pub(super) fn walks(&self) -> RefMut<'_, Walks> {
        let walks = self.pace.walks.borrow_mut();
        RefMut::map(walks, |it| &mut **it.get_or_insert_default())
    }

    /// Takes `looks` from the slice; [`Stop::unfinished`] if none are left and walks are divided.
    pub fn look(&self, looks: u32) -> Result<(), Stop> {
        let taken = self.pace.looks.get();
        if taken >= LOOKS && self.pace.divided.get() {
            return Err(Stop::unfinished());
        }
        self.pace.looks.set(taken.saturating_add(looks));
        Ok(())
    }

    /// Takes one look without stopping, for short work.
    #[inline]
    pub(super) fn note_look(&self) {
        let taken = self.pace.looks.get();
        self.pace.looks.set(taken.saturating_add(1));
    }

    /// Maximum looks of one walk.
    pub(super) fn looks_max(&self) -> u64 {
        match self.pace.divided.get() {
            true => MET_MAX,
            false => self.undivided_max(),
        }
    }

    fn undivided_max(&self) -> u64 {
        match self.is_served() {
            true => UNDIVIDED_MAX,
            false => UNSERVED_MAX,
        }
    }

    /// Refuses an undivided walk that has taken too many looks.
    pub(super) fn require_short(&self, looked: u64) -> Result<(), Stop> {
        match self.pace.divided.get() {
            true => Ok(()),
            false => self.require_whole(looked),
        }
    }

    /// Refuses a walk in one piece that has taken too many looks.
    pub(super) fn require_whole(&self, looked: u64) -> Result<(), Stop> {
        let most = self.undivided_max();
        if looked <= most {
            return Ok(());
        }
        Stop::refuse(
            ResultCode::ADMIN_LIMIT_EXCEEDED,
            format!(
                "what is asked about groups leads to more than {most} entries: only a search that \
                 is not followed goes through so many, in slices"
            ),
        )
    }

    /// Records the first reason why an assertion is neither true nor false.
    #[cold]
    pub(super) fn stop_filter(&self, stop: Stop) {
        if !self.pace.stopped.replace(true) {
            self.walks().stop = Some(stop);
        }
    }

    /// Stops if the current filter was stopped. Its other assertions then need no walks, and must
    /// not overwrite the state of the unfinished one.
    fn require_going(&self) -> Result<(), Stop> {
        match self.pace.stopped.get() {
            false => Ok(()),
            true => Err(Stop::unfinished()),
        }
    }

    /// Returns `result`, or the reason why the filter could not be evaluated.
    #[inline]
    pub fn evaluated<T>(&self, result: T) -> Result<T, Stop> {
        match self.pace.stopped.get() {
            false => Ok(result),
            true => Err(self.take_stop()),
        }
    }

    /// Whether a reason is recorded why the current filter cannot be evaluated.
    #[inline]
    pub(super) fn is_stopped(&self) -> bool {
        self.pace.stopped.get()
    }

    /// Clears the finished value walks: their assertion is done and will not be asked again.
    pub(super) fn forget_values(&self) {
        if let Some(walks) = self.pace.walks.borrow_mut().as_deref_mut() {
            walks.values.done.clear();
            walks.values.next = 0;
        }
    }

    /// Refuses, for clients, the evaluation of a filter that takes more than `most` units of work.
    pub(super) fn require_light(&self, units: u32, most: u32) -> Result<(), Stop> {
        if units <= most || !self.is_served() {
            return Ok(());
        }
        Stop::refuse(
            ResultCode::ADMIN_LIMIT_EXCEEDED,
            "the filter tests too many values of one entry to be evaluated at once: ask for less, \
             or search with it, which goes on in slices",
        )
    }

    #[cold]
    fn take_stop(&self) -> Stop {
        self.pace.stopped.set(false);
        let stop = self.walks().stop.take();
        stop.unwrap_or_else(Stop::unfinished)
    }

    /// The groups of an entry: kept ones, or those that the walk from `begin` finds.
    pub(super) fn groups_once(
        &self,
        key: (EntryId, Reach),
        begin: impl FnOnce() -> Result<Climb, Stop>,
    ) -> Result<Rc<[Group]>, Stop> {
        self.require_going()?;
        if !self.pace.divided.get() {
            let mut climb = begin()?;
            self.climb(&mut climb)?;
            return Ok(climb.into_groups());
        }
        if let Some(found) = self.walks().groups.get(&key) {
            return Ok(Rc::clone(&found.groups));
        }
        let kept = self.walks().climb.take_if(|(of, _)| *of == key);
        let mut climb = match kept {
            Some((_, climb)) => climb,
            None => begin()?,
        };
        if let Err(stop) = self.climb(&mut climb) {
            self.walks().climb = Some((key, climb));
            return Err(stop);
        }
        let groups = climb.into_groups();
        let mut walks = self.walks();
        let found = Found {
            slice: walks.slice,
            groups: Rc::clone(&groups),
        };
        walks.groups.insert(key, found);
        Ok(groups)
    }

    /// The entries that a walk up finds for a goal, computed once per operation.
    pub(super) fn chain_once(
        &self,
        goal: Goal,
        begin: impl FnOnce() -> Climb,
    ) -> Result<Arc<RoaringTreemap>, Stop> {
        self.require_going()?;
        if let Some(known) = self.known_entries(&goal) {
            return Ok(known);
        }
        let kept = self.walks().chain.take_if(|(of, _)| *of == goal);
        let mut climb = kept.map_or_else(begin, |(_, climb)| climb);
        match self.climb(&mut climb) {
            Ok(()) => self.keep_entries(goal, climb.ids()),
            Err(stop) => {
                self.walks().chain = Some((goal, climb));
                Err(stop)
            }
        }
    }

    /// The members that a walk down finds for a goal, computed once per operation.
    pub(super) fn members_once(
        &self,
        goal: Goal,
        begin: impl FnOnce() -> Descent,
    ) -> Result<Arc<RoaringTreemap>, Stop> {
        self.require_going()?;
        if let Some(known) = self.known_entries(&goal) {
            return Ok(known);
        }
        let kept = self.walks().descent.take_if(|(of, _)| *of == goal);
        let mut descent = kept.map_or_else(|| Box::new(begin()), |(_, descent)| descent);
        match self.descend(&mut descent) {
            Ok(()) => self.keep_entries(goal, descent.found()),
            Err(stop) => {
                self.walks().descent = Some((goal, descent));
                Err(stop)
            }
        }
    }

    fn known_entries(&self, goal: &Goal) -> Option<Arc<RoaringTreemap>> {
        let walks = self.walks();
        let known = walks.entries.iter().find(|(of, _)| of == goal);
        known.map(|(_, ids)| Arc::clone(ids))
    }

    /// Keeps the result for a goal until the operation ends, within the memory budget.
    fn keep_entries(&self, goal: Goal, ids: RoaringTreemap) -> Result<Arc<RoaringTreemap>, Stop> {
        let mut walks = self.walks();
        let bytes = walks.entries_bytes + ids.serialized_size() as u64;
        if let Some(served) = self.served {
            let memory = walks.memory.get_or_insert_with(|| served.room());
            memory.grow(bytes)?;
        }
        walks.entries_bytes = bytes;
        let ids = Arc::new(ids);
        walks.entries.push((goal, Arc::clone(&ids)));
        Ok(ids)
    }

    /// All dynamic groups, read once per operation.
    pub(super) fn dynamic_once(&self) -> Result<Rc<[DynamicGroup]>, Stop> {
        if let Some(groups) = &self.walks().dynamic {
            return Ok(Rc::clone(groups));
        }
        let mut reading = self.walks().reading.take().unwrap_or_default();
        if let Err(stop) = self.read_dynamic_groups(&mut reading) {
            self.walks().reading = Some(reading);
            return Err(stop);
        }
        let groups: Rc<[DynamicGroup]> = reading.into_groups().into();
        self.walks().dynamic = Some(Rc::clone(&groups));
        Ok(groups)
    }

    /// Calls `each` for the values of one of an entry's sets until it returns true. Returns whether
    /// it did.
    pub(super) fn values_once(
        &self,
        entry: EntryId,
        set: SetId,
        each: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Result<bool, Stop> {
        self.require_going()?;
        let divided = self.pace.divided.get();
        let after = match divided {
            false => EntryId::ROOT,
            true => match self.values_so_far(entry, set) {
                Ok(after) => after,
                Err(found) => return Ok(found),
            },
        };
        let mut last = after;
        let walked = self.walk_values(set, &mut last, each);
        if !divided {
            return walked;
        }
        let mut walks = self.walks();
        match walked {
            Ok(found) => {
                walks.values.done.push(found);
                walks.values.next += 1;
                walks.values.at = None;
                Ok(found)
            }
            Err(stop) => {
                walks.values.at = Some((set, last));
                Err(stop)
            }
        }
    }

    /// The member after which a walk continues, or (as `Err`) the result of a finished one.
    fn values_so_far(&self, entry: EntryId, set: SetId) -> Result<EntryId, bool> {
        let mut walks = self.walks();
        let values = &mut walks.values;
        if values.entry != entry {
            *values = Values {
                entry,
                ..Values::default()
            };
        }
        if let Some(found) = values.done.get(values.next).copied() {
            values.next += 1;
            return Err(found);
        }
        let at = values.at.filter(|(of, _)| *of == set);
        Ok(at.map_or(EntryId::ROOT, |(_, last)| last))
    }
}

impl Stop {
    /// The slice is over; the state in [`Walks`] continues in the next one.
    #[cold]
    pub fn unfinished() -> Stop {
        Stop::Failed(Failure::Unfinished)
    }

    /// Whether the operation continues in the next slice.
    pub fn is_unfinished(&self) -> bool {
        matches!(self, Stop::Failed(Failure::Unfinished))
    }
}
