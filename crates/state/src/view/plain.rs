//! The lower half of a view: one snapshot as one subject may read it. It knows nothing of the
//! results of walks, which the upper half keeps.

use super::lenders::{self, Lender};
use super::pace::Pace;
use super::remembered::Ruled;
use super::served::{Permit, Served};
use crate::catalog::Catalog;
use crate::history::{self, Change, Extent, Moment, Occasion};
use crate::progress::Progress;
use crate::stop::{Refusal, Stop};
use crate::time;
use policy::Subject;
use policy::access::outlook::Outlook;
use protocol::ResultCode;
use schema::{Filter, Name, NumberSet};
use smallvec::SmallVec;
use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;
use store::{EntryId, Lookup, Snapshot, TreeWalk};

/// The empty set of hidden attributes: the administrator sees all.
static SEES_ALL: NumberSet = NumberSet::new();

/// A view without results of walks: one snapshot, as one subject may read it.
pub struct PlainView<'a> {
    pub(super) snapshot: &'a Snapshot<'a>,
    /// The rules under which the entries are read.
    pub catalog: &'a Catalog,
    /// The subject that the view is narrowed to.
    pub subject: &'a Subject,
    /// Numbers of the attributes that are hidden from the subject.
    pub(super) hidden: &'a NumberSet,
    pub(super) sees_config: bool,
    /// Whether the subject is judged by rules of the directory instead of the built-in ones.
    pub(super) has_rules: bool,
    /// The rules for the subject, once a question was asked.
    pub(super) ruled: OnceCell<Rc<Ruled>>,
    /// Whether rules decided about a change by what the entry holds.
    pub(super) decided_by_entry: Cell<bool>,
    /// The name that rules were asked about last, and its entry, if there is one.
    asked: RefCell<Option<Asked>>,
    /// The entry that was judged last, with the decisions that hold for it.
    judged: RefCell<Option<(EntryId, Rc<Outlook>)>>,
    /// The subject's own entry, once it was asked for.
    own: OnceCell<Option<EntryId>>,
    /// All subentries that lend collective attributes; filled when the first entry asks for them.
    lenders: OnceCell<Vec<Lender>>,
    /// Time, memory, and the work of the current slice.
    pub(super) pace: Pace<'a>,
    /// Limits on walks over dynamic groups, once a search has set them.
    pub(super) limits: OnceCell<Box<dyn WalkLimits>>,
    /// Whether a write is executed: then no result may depend on which indexes are complete here.
    pub(super) executes: bool,
}

/// A name, and its entry.
struct Asked {
    /// The octets of the name.
    name: SmallVec<[u8; 96]>,
    /// The entry; `None` if there is none.
    id: Option<EntryId>,
}

/// What walks over the members of dynamic groups may cost a search.
pub trait WalkLimits {
    /// A place for a walk that no index helps; `None` where it needs none.
    ///
    /// # Errors
    /// A refusal where the subject has as many such searches under way as it may.
    fn admit(&self, view: &PlainView<'_>, filter: &Filter)
    -> Result<Option<Box<dyn Permit>>, Stop>;

    /// The most entries that one walk may look at; `None` where nothing limits them.
    fn entries_max(&self) -> Option<u64>;

    /// Refuses a walk whose time is over.
    ///
    /// # Errors
    /// `timeLimitExceeded`
    fn require_time(&self, view: &PlainView<'_>) -> Result<(), Stop>;
}

/// Result of looking a name up.
pub enum Place {
    /// The entry with this name.
    Found(EntryId),
    /// No entry has this name. `matched` is the deepest existing entry above it, if any, and
    /// `depth` the number of RDNs of that entry's name.
    Missing {
        /// The deepest entry above the name; `None` when there is none, or the subject may not
        /// know.
        matched: Option<EntryId>,
        /// The number of RDNs that lead to that entry.
        depth: usize,
    },
}

impl<'a> PlainView<'a> {
    #[inline(always)]
    pub(super) fn new(
        snapshot: &'a Snapshot<'a>,
        catalog: &'a Catalog,
        subject: &'a Subject,
    ) -> Self {
        // Built in place because every request makes a view.
        let mut view = PlainView {
            snapshot,
            catalog,
            subject,
            hidden: &SEES_ALL,
            sees_config: true,
            has_rules: false,
            ruled: OnceCell::new(),
            own: OnceCell::new(),
            decided_by_entry: Cell::new(false),
            asked: RefCell::new(None),
            judged: RefCell::new(None),
            lenders: OnceCell::new(),
            pace: Pace::default(),
            limits: OnceCell::new(),
            executes: false,
        };
        if !subject.is_administrator() {
            view.sees_config = false;
            view.hidden = &catalog.hidden;
            view.has_rules = catalog.access_rules.is_some();
        }
        view
    }

    /// Whether a client waits for the operation.
    #[inline]
    pub fn is_served(&self) -> bool {
        self.pace.served.is_some()
    }

    /// Microseconds since 1970; 0 if no client is served.
    pub fn now_us(&self) -> u64 {
        self.pace.served.map_or(0, Served::now_us)
    }

    /// Allows or forbids walks to continue in another slice. A caller that allows it calls
    /// functions that return [`Progress::Yield`] again in the next slice.
    #[inline]
    pub fn divide_walks(&self, divided: bool) {
        self.pace.divide(divided);
    }

    /// Whether walks have used up this slice.
    #[inline]
    pub fn is_tired(&self) -> bool {
        self.pace.is_tired()
    }

    /// Takes `looks` from the slice. Yields if none are left and walks are divided.
    pub fn look(&self, looks: u32) -> Progress<()> {
        self.pace.look(looks)
    }

    /// Runs work that can pause in one piece: walks in it are not divided, and are refused where
    /// they take too long for that.
    #[inline]
    pub fn whole<T>(&self, work: impl FnOnce() -> Result<Progress<T>, Stop>) -> Result<T, Stop> {
        self.pace.whole(work)
    }

    /// The subject's own entry; `None` if it has none, or the database cannot be read.
    pub(super) fn own_entry(&self) -> Option<EntryId> {
        *self.own.get_or_init(|| {
            let name = self.subject.name.as_ref()?;
            match self.snapshot.find(name) {
                Ok(Lookup::Found(id)) => Some(id),
                _ => None,
            }
        })
    }

    /// All subentries that lend attributes, read once per operation.
    pub(super) fn lenders(&self) -> Result<&[Lender], Stop> {
        if let Some(lenders) = self.lenders.get() {
            return Ok(lenders);
        }
        let lenders = lenders::read(self.snapshot, self.catalog)?;
        Ok(self.lenders.get_or_init(|| lenders))
    }

    /// Looks a name up. An entry that the subject may not know of is reported as missing.
    #[inline]
    pub fn find(&self, name: &Name) -> Result<Place, Stop> {
        match self.has_rules {
            false => self.find_any(name),
            true => self.find_disclosed(name),
        }
    }

    #[cold]
    fn find_disclosed(&self, name: &Name) -> Result<Place, Stop> {
        let place = match self.find_rule(name)? {
            Some(Lookup::Found(id)) => Place::Found(id),
            Some(Lookup::Missing { matched, depth }) => Place::Missing {
                matched: Some(matched),
                depth,
            },
            None => self.find_any(name)?,
        };
        if let Place::Found(id) = place {
            self.note_asked(name, Some(id));
        }
        self.disclosed(place)
    }

    /// The entry of a name, disclosed or not, for rules: they are asked about one name again and
    /// again, which is looked up once.
    pub(super) fn id_of_asked(&self, name: &Name) -> Result<Option<EntryId>, Stop> {
        if let Some(asked) = &*self.asked.borrow()
            && asked.name[..] == *name.bytes()
        {
            return Ok(asked.id);
        }
        let id = match self.snapshot.find(name)? {
            Lookup::Found(id) => Some(id),
            Lookup::Missing { .. } => None,
        };
        self.note_asked(name, id);
        Ok(id)
    }

    fn note_asked(&self, name: &Name, id: Option<EntryId>) {
        let name = SmallVec::from_slice(name.bytes());
        *self.asked.borrow_mut() = Some(Asked { name, id });
    }

    /// The decisions that hold for the entry that was judged last, if it is this one.
    #[inline]
    pub(super) fn judged_last(&self, id: EntryId) -> Option<Rc<Outlook>> {
        let judged = self.judged.borrow();
        let known = judged.as_ref().filter(|it| it.0 == id);
        known.map(|it| Rc::clone(&it.1))
    }

    /// Remembers the decisions that hold for an entry.
    #[inline]
    pub(super) fn note_judged(&self, id: EntryId, outlook: &Rc<Outlook>) {
        *self.judged.borrow_mut() = Some((id, Rc::clone(outlook)));
    }

    /// Looks up a name that somebody authenticates with, or is authenticated as: that entry need
    /// not be disclosed by rules of the directory.
    #[inline]
    pub fn find_any(&self, name: &Name) -> Result<Place, Stop> {
        if !self.sees_config && name.is_within(&self.catalog.config) {
            return Ok(Place::Missing {
                matched: None,
                depth: 0,
            });
        }
        Ok(match self.snapshot.find(name)? {
            Lookup::Found(id) => Place::Found(id),
            Lookup::Missing { matched, depth } => Place::Missing {
                matched: (matched.0 != 0).then_some(matched),
                depth,
            },
        })
    }

    /// The place as far as the rules disclose it: an entry that they do not is missing, below the
    /// nearest superior that they disclose.
    #[inline(never)]
    fn disclosed(&self, place: Place) -> Result<Place, Stop> {
        let (mut at, found) = match place {
            Place::Found(id) => (id, true),
            Place::Missing {
                matched: Some(id), ..
            } => (id, false),
            missing => return Ok(missing),
        };
        let mut is_first = true;
        while at != EntryId::ROOT {
            let (discloses, superior) = match self.recent_sight(at) {
                Some(sight) if sight.discloses => (true, EntryId::ROOT),
                _ => {
                    let Some(row) = self.snapshot.entry(at)? else {
                        break;
                    };
                    let discloses = self.sight(at, &row)?.is_some_and(|it| it.discloses);
                    (discloses, row.parent())
                }
            };
            if discloses {
                return Ok(match found && is_first {
                    true => Place::Found(at),
                    false => Place::Missing {
                        matched: Some(at),
                        depth: self.depth_of(at)?,
                    },
                });
            }
            (at, is_first) = (superior, false);
        }
        Ok(Place::Missing {
            matched: None,
            depth: 0,
        })
    }

    fn depth_of(&self, id: EntryId) -> Result<usize, Stop> {
        let spelled = self.spelled_name(id)?;
        let name = self.catalog.schema.resolve_name(&spelled);
        Ok(name.map_or(0, |it| it.depth()))
    }

    /// The refusal `noSuchObject` with the name of the deepest existing entry as matched name.
    pub fn no_such_object(&self, matched: Option<EntryId>) -> Result<Refusal, Stop> {
        let mut refusal = Refusal::new(ResultCode::NO_SUCH_OBJECT, "");
        if let Some(id) = matched {
            refusal.matched = self.spelled_name(id)?;
        }
        Ok(refusal)
    }

    /// The DN as spelled; empty if there is no such entry.
    pub fn spelled_name(&self, id: EntryId) -> Result<String, Stop> {
        let Some(view) = self.snapshot.entry(id)? else {
            return Ok(String::new());
        };
        let mut out = Vec::with_capacity(64);
        self.snapshot.write_name(&view, &mut out)?;
        Ok(String::from_utf8_lossy(&out).into_owned())
    }

    /// Number of entries in the directory.
    pub fn entry_count(&self) -> Result<u64, Stop> {
        Ok(self.snapshot.entry_count()?)
    }

    /// Version of the snapshot; two snapshots of the same version have the same content.
    #[inline]
    pub fn version(&self) -> u64 {
        self.snapshot.version()
    }

    /// The newest and oldest change that the history holds, for followers.
    pub fn extent(&self) -> Result<Extent, Stop> {
        Ok(Extent::of(self.snapshot)?)
    }

    /// Moment of the last change in this snapshot.
    pub fn newest(&self) -> Result<Moment, Stop> {
        Ok(history::newest(self.snapshot)?)
    }

    /// Whether the history has a change at exactly this moment.
    pub fn knows(&self, moment: Moment) -> Result<bool, Stop> {
        Ok(history::knows(self.snapshot, moment)?)
    }

    /// Calls `each` for the changes after a moment, until it returns false. The caller checks
    /// whether the subject may see them.
    pub fn changes_after(
        &self,
        after: Moment,
        each: impl FnMut(Occasion, Change<'a>) -> Result<bool, Stop>,
    ) -> Result<(), Stop> {
        history::changes_after(self.snapshot, after, each)
    }

    /// Advances `walk` to the next entry of a detached (deleted, not yet reclaimed) subtree and
    /// returns its id, UUID and former name; `None` when there is none left. The caller checks
    /// whether the subject may see it.
    pub fn next_fallen(
        &self,
        walk: &mut TreeWalk,
    ) -> Result<Option<(EntryId, [u8; 16], String)>, Stop> {
        let Some((id, view)) = walk.next(self.snapshot)? else {
            return Ok(None);
        };
        let uuid = view.attribute(self.catalog.known.entry_uuid.number);
        let uuid = uuid.and_then(|it| time::parse_uuid(it.values().into_iter().next()?));
        let mut name = Vec::with_capacity(64);
        self.snapshot.write_name(&view, &mut name)?;
        let name = String::from_utf8_lossy(&name).into_owned();
        Ok(Some((id, uuid.unwrap_or_default(), name)))
    }
}
