//! Walks over groups and their values, in slices. A walk that is not done when its slice is over
//! stops the operation as unfinished, and stays here with everything that others have found. The
//! next slice does once more what this one was doing, the request if nothing had been done, or the
//! entry that was looked at, and goes on from here.

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

/// Looks that all walks of one slice take together. One costs about a microsecond: two
/// milliseconds.
const LOOKS: u32 = 2_048;
/// What it costs to find the holders of a name, in looks.
pub(super) const LOOKS_PER_NAME: u32 = 4;
/// Looks of one walk for a client where it cannot be divided: less than a tenth of a second.
const UNDIVIDED_MAX: u64 = 65_536;
/// The same where no client is served: in the order of writes, and beside the server. It must not
/// become less: a log may hold writes that were executed under it.
const UNSERVED_MAX: u64 = 4 << 20;

/// What one operation knows of its walks, and what it has met.
#[derive(Default)]
pub(super) struct Pace {
    walks: RefCell<Option<Box<Walks>>>,
    /// Looks taken in this slice.
    looks: Cell<u32>,
    /// Walks may go on in another slice.
    divided: Cell<bool>,
    /// There is a reason why the filter cannot be evaluated.
    stopped: Cell<bool>,
    /// When this slice's first look at the clock was (microseconds); `None` before it.
    pub(super) began_us: Cell<Option<u64>>,
}

/// Walks between two slices. They own nothing of a snapshot.
#[derive(Debug, Default)]
pub struct Walks {
    /// The request, where it has to begin once more.
    pub request: Option<Box<[u8]>>,
    /// When that began (microseconds).
    pub began_us: Option<u64>,
    stop: Option<Stop>,
    /// Counts slices.
    slice: u32,
    /// The slice was over before what it was doing was done, with this entry.
    unfinished: bool,
    entry: EntryId,
    groups: HashMap<(EntryId, Reach), Found>,
    climb: Option<((EntryId, Reach), Climb)>,
    entries: Vec<(Goal, Arc<RoaringTreemap>)>,
    /// The memory of these, in bytes, and what is counted of it.
    entries_bytes: u64,
    memory: Option<Box<dyn Room>>,
    chain: Option<(Goal, Climb)>,
    descent: Option<(Goal, Box<Descent>)>,
    dynamic: Option<Rc<[DynamicGroup]>>,
    reading: Option<Reading>,
    values: Values,
    pub(super) evaluation: Evaluation,
}

/// Groups of an entry, and the slice in which they were found.
#[derive(Debug)]
struct Found {
    slice: u32,
    groups: Rc<[Group]>,
}

/// What a walk for all entries looks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Goal {
    /// The members of the group of this name.
    Members(Box<[u8]>, Reach),
    /// The entries from which links of these attributes lead to this name.
    Chain(Box<[u8]>, Followed),
}

/// Walks through the values of one entry's sets, in the order in which its filter asks for them.
#[derive(Debug, Default)]
struct Values {
    entry: EntryId,
    /// Which of them comes next.
    next: usize,
    done: Vec<bool>,
    /// The set that is being walked through, and the last member.
    at: Option<(SetId, EntryId)>,
}

impl View<'_> {
    /// Lets walks go on in another slice, or no more. Whoever allows it must go on where an
    /// operation stops as [unfinished](Stop::is_unfinished).
    #[inline]
    pub fn divide_walks(&self, divided: bool) {
        self.pace.divided.set(divided);
    }

    /// Whether walks may go on in another slice.
    pub(super) fn divides_walks(&self) -> bool {
        self.pace.divided.get()
    }

    /// Whether walks have taken a slice's worth.
    #[inline]
    pub fn is_tired(&self) -> bool {
        self.pace.looks.get() >= LOOKS
    }

    /// Enough was done otherwise: the slice is over.
    pub(super) fn tire(&self) {
        self.pace.looks.set(LOOKS);
    }

    /// Goes on with the walks of the slice before.
    pub fn take_up(&self, walks: Option<Box<Walks>>) {
        if let Some(mut walks) = walks {
            walks.slice = walks.slice.wrapping_add(1);
            walks.unfinished = false;
            walks.values.next = 0;
            *self.pace.walks.borrow_mut() = Some(walks);
        }
    }

    /// Notes that the slice is over before this entry is done; the root stands for the request.
    #[cold]
    pub fn leave_unfinished(&self, entry: EntryId) {
        let mut walks = self.walks();
        if walks.entry != entry {
            // What earlier slices have found was for others.
            let slice = walks.slice;
            walks.groups.retain(|_, it| it.slice == slice);
            walks.entry = entry;
        }
        walks.unfinished = true;
    }

    /// What the next slice needs.
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

    /// Takes looks, if the slice has some left.
    pub fn look(&self, looks: u32) -> Result<(), Stop> {
        let taken = self.pace.looks.get();
        if taken >= LOOKS && self.pace.divided.get() {
            return Err(Stop::unfinished());
        }
        self.pace.looks.set(taken.saturating_add(looks));
        Ok(())
    }

    /// Counts a look of something that is short, so that the slice is over in time.
    #[inline]
    pub(super) fn note_look(&self) {
        let taken = self.pace.looks.get();
        self.pace.looks.set(taken.saturating_add(1));
    }

    /// How many looks one walk may take.
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

    /// Refuses a walk that has taken so many looks where it is not divided.
    pub(super) fn require_short(&self, looked: u64) -> Result<(), Stop> {
        match self.pace.divided.get() {
            true => Ok(()),
            false => self.require_whole(looked),
        }
    }

    /// Refuses a walk in one piece that has taken so many looks.
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

    /// Keeps the first reason why an assertion can be neither true nor false.
    #[cold]
    pub(super) fn stop_filter(&self, stop: Stop) {
        if !self.pace.stopped.replace(true) {
            self.walks().stop = Some(stop);
        }
    }

    /// Whether the filter that is being evaluated has not been stopped. If it has, its other
    /// assertions need no walks, and must not take the place of the one that goes on.
    fn require_going(&self) -> Result<(), Stop> {
        match self.pace.stopped.get() {
            false => Ok(()),
            true => Err(Stop::unfinished()),
        }
    }

    /// The result of a filter that was evaluated, unless something kept it from being so.
    #[inline]
    pub fn evaluated<T>(&self, result: T) -> Result<T, Stop> {
        match self.pace.stopped.get() {
            false => Ok(result),
            true => Err(self.take_stop()),
        }
    }

    /// Whether there is a reason why the filter that is being evaluated cannot be.
    #[inline]
    pub(super) fn is_stopped(&self) -> bool {
        self.pace.stopped.get()
    }

    /// The assertion whose values were walked through is done, and will not be asked again.
    pub(super) fn forget_values(&self) {
        if let Some(walks) = self.pace.walks.borrow_mut().as_deref_mut() {
            walks.values.done.clear();
            walks.values.next = 0;
        }
    }

    /// Refuses the evaluation of a filter for a client that takes more units of work than this.
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

    /// The groups of an entry: those that are known, or what `climb` finds.
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

    /// The entries that a goal is about, worked out once for an operation.
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

    /// The same for members.
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

    /// Keeps the entries that a goal is about for the operation, within the budget of memory.
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

    /// Every dynamic group, read once for an operation.
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

    /// Walks through the values of an entry's set, of which its filter asks `each`, until that is
    /// true of one.
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

    /// Behind which member a walk goes on, or what it has found.
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
    /// The slice is over: what stands in [`Walks`] goes on in the next one.
    #[cold]
    pub fn unfinished() -> Stop {
        Stop::Failed(Failure::Unfinished)
    }

    /// Whether the next slice goes on.
    pub fn is_unfinished(&self) -> bool {
        matches!(self, Stop::Failed(Failure::Unfinished))
    }
}
