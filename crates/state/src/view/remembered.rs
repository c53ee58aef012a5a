//! Rules judged for subjects, kept by a serving thread from one operation to the next.
//!
//! What is kept is what judging anew would come to. What follows from the rules and the subject
//! alone lasts as long as both; what follows from entries belongs to one version of the directory
//! and is forgotten with it. The view decides which of it still holds.

use super::below::Below;
use super::sights::{Sight, Sights};
use crate::catalog::Catalog;
use policy::Subject;
use policy::access::compile::RuleSet;
use policy::access::decide::{Ruling, SubjectRules};
use policy::access::facts::EntryFacts;
use policy::access::objects::Object;
use policy::access::outlook::{Outlook, Seen};
use policy::access::right::Right;
use policy::access::steps::Trail;
use protocol::Scope;
use schema::{Name, Schema};
use smallvec::SmallVec;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::rc::Rc;
use store::EntryId;

/// Bytes, roughly, that one thread keeps at most. When there are more, all are forgotten.
const BYTES_MAX: usize = 16 << 20;
/// Bytes, roughly, of one condition judged for a subject.
const CONDITION_BYTES: usize = 160;
/// Bytes, roughly, of decisions about a region, of a sight, and of a subject.
const REGION_BYTES: usize = 2048;
/// Bytes, roughly, of a name that a rule has in its target.
const NAME_BYTES: usize = 160;
/// Bytes, roughly, of one step of a walk that is kept.
const STEP_BYTES: usize = 32;
/// Superiors whose subordinates were judged, and entries judged alone, that one version keeps.
const SUPERIORS_MAX: usize = 4096;
/// Entries whose sights are kept for one version.
const RECENT: usize = 8;
/// Decisions about entries that are kept for one version.
const DECIDED: usize = 16;

/// The rules for the subjects that a thread has served lately.
#[derive(Default)]
pub struct JudgedSubjects {
    kept: RefCell<Kept>,
    /// Bytes that all of them take, roughly.
    bytes: Rc<Cell<usize>>,
}

#[derive(Default)]
struct Kept {
    /// The one used last.
    last: Option<Rc<Ruled>>,
    all: HashMap<u64, Rc<Ruled>>,
    hasher: RandomState,
}

/// The rules for one subject, with what was found out by them.
pub(super) struct Ruled {
    pub rules: SubjectRules,
    subject: Subject,
    /// Minutes since 1970 when the subject was judged; `None` if no rule tells the time.
    minute: Option<u64>,
    /// Bytes of the thread's, of which this takes `own`; `None` if it is for one operation.
    shared: Option<Rc<Cell<usize>>>,
    own: Cell<usize>,
    sights: Sights,
    /// Decisions about the entries directly below a name.
    below: RefCell<HashMap<Name, Rc<Below>>>,
    /// Decisions about the entry with a name.
    alone: RefCell<HashMap<Name, Rc<Outlook>>>,
    moment: Cell<Version>,
    at_moment: RefCell<AtMoment>,
}

/// A version of the directory under a catalog.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Version {
    /// Version of the snapshot.
    pub snapshot: u64,
    /// The version from which on the indexes of the catalog are complete.
    pub indexes: u64,
}

/// Facts that hold in one version only.
#[derive(Default)]
struct AtMoment {
    /// Superior and decisions about its subordinates, used last.
    last: Option<(EntryId, Rc<Below>)>,
    /// Decisions for all superiors; `None` where each entry has to be judged by itself.
    superiors: HashMap<EntryId, Option<Rc<Below>>>,
    /// Decisions about entries that do not belong to those of their superior.
    alone: HashMap<EntryId, Option<Rc<Outlook>>>,
    /// Entries with the numbers of their sights.
    recent: [Option<(EntryId, u32)>; RECENT],
    /// Decisions about entries, each at a place that follows from its question.
    decided: [Option<Decided>; DECIDED],
    /// The entries of names: those of the subject.
    named: SmallVec<[(Name, Option<EntryId>); 2]>,
}

/// A decision about an entry.
#[derive(Clone, Copy)]
struct Decided {
    id: EntryId,
    object: Object,
    right: Right,
    ruling: Ruling,
}

/// The place of a decision among those that are kept.
fn place_of(id: EntryId, right: Right) -> usize {
    (id.0 as usize).wrapping_add(right as usize) % DECIDED
}

impl JudgedSubjects {
    /// The rules that were judged for the subject, which may hold no more.
    pub(super) fn find(&self, set: &RuleSet, subject: &Subject) -> Option<Rc<Ruled>> {
        let mut kept = self.kept.borrow_mut();
        if self.bytes.get() > BYTES_MAX {
            // Also decisions about ever more places, for one subject, come to an end.
            kept.last = None;
            kept.all.clear();
            return None;
        }
        let fits = |it: &&Rc<Ruled>| it.rules.set().is_copy_of(set) && it.subject == *subject;
        if let Some(last) = kept.last.as_ref().filter(fits) {
            return Some(Rc::clone(last));
        }
        let known = kept.all.get(&kept.key(subject)).filter(fits).cloned()?;
        kept.last = Some(Rc::clone(&known));
        Some(known)
    }

    /// Keeps rules judged for a subject, in place of earlier ones.
    pub(super) fn keep(&self, mut ruled: Ruled) -> Rc<Ruled> {
        let mut kept = self.kept.borrow_mut();
        ruled.shared = Some(Rc::clone(&self.bytes));
        let clauses = ruled.rules.set().clause_count();
        ruled.takes(REGION_BYTES + clauses * CONDITION_BYTES);
        let (key, ruled) = (kept.key(&ruled.subject), Rc::new(ruled));
        kept.all.insert(key, Rc::clone(&ruled));
        kept.last = Some(Rc::clone(&ruled));
        ruled
    }
}

impl Kept {
    fn key(&self, subject: &Subject) -> u64 {
        let name = subject.name.as_ref().map(Name::bytes);
        self.hasher.hash_one((name, subject.address))
    }
}

impl Ruled {
    /// Rules judged for one operation, at this minute since 1970 if a rule tells the time.
    pub fn new(rules: SubjectRules, subject: &Subject, minute: Option<u64>) -> Ruled {
        Ruled {
            rules,
            subject: subject.clone(),
            minute,
            shared: None,
            own: Cell::new(0),
            sights: Sights::default(),
            below: RefCell::default(),
            alone: RefCell::default(),
            moment: Cell::default(),
            at_moment: RefCell::default(),
        }
    }

    /// Whether it may hold at a later operation: what it finds out is worth keeping.
    pub fn is_kept(&self) -> bool {
        self.shared.is_some()
    }

    /// Whether no time in the rules has come or gone between the judging and this minute since
    /// 1970.
    pub fn holds_at(&self, minute: Option<u64>) -> bool {
        match (self.minute, minute) {
            (None, None) => true,
            (Some(judged), Some(now)) => now
                .checked_sub(judged)
                .is_some_and(|it| it < u64::from(self.rules.steady_minutes())),
            _ => false,
        }
    }

    /// Whether it is known to hold in a version.
    #[inline]
    pub fn is_at(&self, version: Version) -> bool {
        self.moment.get() == version
    }

    /// Notes that it holds in a version, and forgets what belongs to another one.
    pub fn begin(&self, version: Version) {
        if self.is_at(version) && version != Version::default() {
            return;
        }
        self.moment.set(version);
        *self.at_moment.borrow_mut() = AtMoment::default();
    }

    /// The sight with this number.
    #[inline]
    pub fn sight(&self, number: u32) -> Option<&Sight> {
        self.sights.get(number)
    }

    /// The number of the sight with these rights.
    pub fn sight_of(&self, catalog: &Catalog, seen: Seen) -> u32 {
        let (number, is_new) = self.sights.number_of(catalog, seen);
        if is_new {
            self.takes(REGION_BYTES);
        }
        number
    }

    /// The sight of an entry in the present version, if it is remembered.
    #[inline]
    pub fn recent(&self, id: EntryId) -> Option<u32> {
        let recent = self.at_moment.borrow().recent[id.0 as usize % RECENT];
        recent.filter(|it| it.0 == id).map(|it| it.1)
    }

    /// Remembers the sight of an entry for the present version.
    pub fn remember(&self, id: EntryId, sight: u32) {
        self.at_moment.borrow_mut().recent[id.0 as usize % RECENT] = Some((id, sight));
    }

    /// The decisions about the subordinates of an entry; `None` if they were not asked for in this
    /// version, `Some(None)` where each has to be judged by itself.
    #[inline]
    pub fn below(&self, superior: EntryId) -> Option<Option<Rc<Below>>> {
        let mut at = self.at_moment.borrow_mut();
        if let Some((last, below)) = &at.last
            && *last == superior
        {
            return Some(Some(Rc::clone(below)));
        }
        let known = at.superiors.get(&superior)?.clone();
        at.last = known.clone().map(|it| (superior, it));
        Some(known)
    }

    /// Remembers for the present version which name an entry has, and returns the decisions about
    /// its subordinates. `None` for the name means that they have to be judged one by one.
    pub fn learn_superior(
        &self,
        superior: EntryId,
        name: Option<&Name>,
        schema: &Schema,
    ) -> Option<Rc<Below>> {
        let below = name.map(|name| {
            let known = self.below.borrow().get(name).cloned();
            known.unwrap_or_else(|| {
                let below = Rc::new(Below::of(&self.rules, name, schema));
                self.takes(self.region_bytes() + below.names() * NAME_BYTES);
                let mut all = self.below.borrow_mut();
                all.insert(name.clone(), Rc::clone(&below));
                below
            })
        });
        let mut at = self.at_moment.borrow_mut();
        if at.superiors.len() >= SUPERIORS_MAX {
            at.superiors.clear();
        }
        at.superiors.insert(superior, below.clone());
        below
    }

    /// The decisions about one entry; `None` if they were not asked for in this version,
    /// `Some(None)` where nothing is kept about it.
    #[inline]
    pub fn alone(&self, id: EntryId) -> Option<Option<Rc<Outlook>>> {
        self.at_moment.borrow().alone.get(&id).cloned()
    }

    /// Remembers for the present version which name an entry has, and returns the decisions about
    /// it. `None` for the name means that nothing is kept about it.
    pub fn learn_alone(&self, id: EntryId, name: Option<Name>) -> Option<Rc<Outlook>> {
        let outlook = name.map(|name| {
            let known = self.alone.borrow().get(&name).cloned();
            known.unwrap_or_else(|| {
                self.takes(self.region_bytes());
                let region = self.rules.region(name.clone(), Scope::BaseObject);
                let outlook = Rc::new(region.outlook());
                let mut all = self.alone.borrow_mut();
                all.insert(name, Rc::clone(&outlook));
                outlook
            })
        });
        let mut at = self.at_moment.borrow_mut();
        if at.alone.len() >= SUPERIORS_MAX {
            at.alone.clear();
        }
        at.alone.insert(id, outlook.clone());
        outlook
    }

    /// Bytes, roughly, of the decisions about a region.
    fn region_bytes(&self) -> usize {
        REGION_BYTES + self.rules.set().rules().len()
    }

    /// Keeps a walk over the rules that led to a sight.
    pub fn learn_walk(&self, outlook: &Outlook, trail: &Trail, sight: u32) {
        self.takes(trail.len() * STEP_BYTES);
        outlook.learn(trail, sight);
    }

    /// Decides by the decisions about a region, and keeps how.
    pub fn decide_by(
        &self,
        outlook: &Outlook,
        entry: &dyn EntryFacts,
        object: Object,
        right: Right,
    ) -> Ruling {
        let before = outlook.places();
        let ruling = outlook.decide(entry, object, right);
        if outlook.places() > before {
            self.takes((outlook.places() - before) * STEP_BYTES);
        }
        ruling
    }

    /// The decision about a right to a thing of an entry in the present version, if it is
    /// remembered. Values are not told apart.
    pub fn decided(&self, id: EntryId, object: Object, right: Right) -> Option<Ruling> {
        let known = self.at_moment.borrow().decided[place_of(id, right)]?;
        let is_same = known.id == id && known.object == object && known.right == right;
        is_same.then_some(known.ruling)
    }

    /// Remembers a decision about a right to a thing of an entry for the present version.
    pub fn remember_decision(&self, id: EntryId, object: Object, right: Right, ruling: Ruling) {
        self.at_moment.borrow_mut().decided[place_of(id, right)] = Some(Decided {
            id,
            object,
            right,
            ruling,
        });
    }

    /// Forgets all decisions, as one followed from something that could not be read.
    #[cold]
    pub fn forget(&self) {
        self.below.borrow_mut().clear();
        self.alone.borrow_mut().clear();
        *self.at_moment.borrow_mut() = AtMoment::default();
    }

    /// The entry of a name in the present version, found once.
    ///
    /// # Errors
    /// The errors of `find`.
    pub fn entry_named<E>(
        &self,
        name: &Name,
        find: impl FnOnce() -> Result<Option<EntryId>, E>,
    ) -> Result<Option<EntryId>, E> {
        let known = |at: &AtMoment| {
            let mut named = at.named.iter();
            named.find(|it| it.0 == *name).map(|it| it.1)
        };
        if let Some(known) = known(&self.at_moment.borrow()) {
            return Ok(known);
        }
        let id = find()?;
        let mut at = self.at_moment.borrow_mut();
        // The acting and the real identity are the only ones that conditions ask for.
        at.named.truncate(1);
        at.named.push((name.clone(), id));
        Ok(id)
    }

    /// Counts bytes against what the thread may keep.
    fn takes(&self, bytes: usize) {
        if let Some(shared) = &self.shared {
            self.own.set(self.own.get() + bytes);
            shared.set(shared.get() + bytes);
        }
    }
}

impl Drop for Ruled {
    fn drop(&mut self) {
        if let Some(shared) = &self.shared {
            shared.set(shared.get() - self.own.get());
        }
    }
}
