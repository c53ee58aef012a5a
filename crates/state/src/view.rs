//! The view of the directory that one operation works with: the entries of one snapshot, narrowed
//! to one subject.
//!
//! Invariant: the snapshot is private here. An operation that wants an entry's attributes gets a
//! [`VisibleEntry`], and the filter it evaluates sees no more than its subject may.
//!
//! The modules stand on floors, and each uses modules of lower floors only:
//!
//! | floor | modules | subject |
//! |---|---|---|
//! | 9 | `met`, `paced` on `tested` | candidates of a search, filters on an entry |
//! | 8 | `collective`, `computed`, `linked` | values of an entry that its row does not hold |
//! | 7 | `entry` | an entry as its subject sees it |
//! | 6 | [`View`] and `walks` | results of walks, kept for later entries and slices |
//! | 5 | `climb`, `descent` | walks over groups |
//! | 4 | `dynamic` on `stored` | dynamic groups, which test entries as stored |
//! | 3 | `effort`, `members` on `membership` | limits on walks, members, access to groups |
//! | 2 | `access`, `account`, `author`, `plans` | access rules, accounts, candidates of searches |
//! | 1 | `plain` | the snapshot, narrowed to the subject |
//! | 0 | `lenders`, `pace` on `served` | collective attributes, slices and their time |
//!
//! A walk over groups gets a [`PlainView`], so it cannot ask for the results of other walks, which
//! the [`View`] keeps. The filter of a dynamic group tests stored attributes alone, so its
//! evaluation never leads back to a [`VisibleEntry`].

mod access;
mod account;
mod author;
mod below;
mod climb;
mod collective;
mod computed;
mod descent;
mod dynamic;
mod effort;
mod entry;
mod explained;
mod facts;
mod lenders;
mod linked;
mod members;
mod membership;
mod met;
mod pace;
mod paced;
mod plain;
mod plans;
mod remembered;
mod rule_entries;
mod ruled;
mod served;
mod sights;
mod stored;
mod tested;
mod walks;

pub use dynamic::{Described, EachDescribed};
pub use entry::VisibleEntry;
pub use explained::{Explained, ExplainedReason};
pub use members::{EachMember, write_member};
pub use membership::Reach;
pub use met::{Meeting, Met, MetEntries};
pub use pace::SLICE_US;
pub use paced::whole_bytes_max;
pub use plain::{Place, PlainView, WalkLimits};
pub use remembered::JudgedSubjects;
pub use ruled::Claim;
#[cfg(debug_assertions)]
pub use ruled::compare_kept_rules;
pub use served::{Permit, Room, Served};
pub use tested::Tested;
pub use walks::Walks;

use crate::catalog::Catalog;
use crate::progress::Progress;
use crate::stop::Stop;
use climb::Climb;
use descent::Descent;
use membership::{Followed, Group};
use policy::Subject;
use roaring::RoaringTreemap;
use schema::{Name, Selector};
use std::cell::{RefCell, RefMut};
use std::ops::Deref;
use std::rc::Rc;
use std::sync::Arc;
use store::{EntryId, Lookup, Snapshot};
use walks::Goal;

/// One operation's view of the directory: all that a [`PlainView`] reads, and the results of walks
/// over groups.
pub struct View<'a> {
    plain: PlainView<'a>,
    /// Results and progress of walks; `None` before the first.
    walks: RefCell<Option<Box<Walks>>>,
}

impl<'a> Deref for View<'a> {
    type Target = PlainView<'a>;

    #[inline(always)]
    fn deref(&self) -> &PlainView<'a> {
        &self.plain
    }
}

impl<'a> View<'a> {
    /// A view that no client waits for.
    #[inline(always)]
    pub fn new(snapshot: &'a Snapshot<'a>, catalog: &'a Catalog, subject: &'a Subject) -> Self {
        View {
            plain: PlainView::new(snapshot, catalog, subject),
            walks: RefCell::new(None),
        }
    }

    /// A view for a client's request: like [`View::new`], with time and memory that the serving
    /// thread lends.
    #[inline(always)]
    pub fn of_request(
        snapshot: &'a Snapshot<'a>,
        catalog: &'a Catalog,
        subject: &'a Subject,
        served: &'a dyn Served,
    ) -> Self {
        let mut view = View::new(snapshot, catalog, subject);
        view.plain.pace.served = Some(served);
        view
    }

    /// A view for the conditions of a write that is executed. Links are followed with or without
    /// an index, because every copy of the directory must find the same entries. Missing indexes
    /// are reported earlier, before the write has its place in the order.
    pub fn of_execution(
        snapshot: &'a Snapshot<'a>,
        catalog: &'a Catalog,
        subject: &'a Subject,
    ) -> Self {
        let mut view = View::new(snapshot, catalog, subject);
        view.plain.executes = true;
        view
    }

    /// The view of the server itself on the same snapshot, for finding the entry that a client
    /// names.
    pub fn of_server<'s>(&'s self, server: &'s Subject) -> View<'s> {
        View::new(self.snapshot, self.catalog, server)
    }

    /// Continues with the walks of the last slice.
    pub fn take_up(&self, walks: Option<Box<Walks>>) {
        if let Some(mut walks) = walks {
            walks.begin_slice();
            *self.walks.borrow_mut() = Some(walks);
        }
    }

    /// Records that the slice ended before this entry was done; the root stands for the request.
    #[cold]
    pub fn leave_unfinished(&self, entry: EntryId) {
        self.walks().leave_unfinished(entry);
    }

    /// The state that the next slice needs; `None` if there are no walks.
    pub fn walks_for_later(&self) -> Option<Box<Walks>> {
        let mut walks = self.walks.borrow_mut().take()?;
        walks.end_slice();
        Some(walks)
    }

    fn walks(&self) -> RefMut<'_, Walks> {
        RefMut::map(self.walks.borrow_mut(), |it| {
            &mut **it.get_or_insert_default()
        })
    }

    /// Drops the results of finished walks through values of the entry that a filter tests.
    fn forget_values(&self) {
        if let Some(walks) = self.walks.borrow_mut().as_deref_mut() {
            walks.values.forget();
        }
    }

    /// The groups of an entry that the subject may know of, nearest first.
    pub fn groups_of(&self, id: EntryId, reach: Reach) -> Result<Progress<Rc<[Group]>>, Stop> {
        self.walks().groups_of(self, (id, reach))
    }

    /// The entries from which links of the attributes lead to a name, directly or through others;
    /// computed once per operation.
    pub fn chain_to(
        &self,
        followed: &[Selector],
        target: &Name,
    ) -> Result<Progress<Arc<RoaringTreemap>>, Stop> {
        let followed: Followed = followed.into();
        let goal = Goal::Chain(target.bytes().into(), followed.clone());
        self.walks()
            .chain(self, goal, || Climb::to_name(followed, target))
    }

    /// Whether links of an attribute lead from an entry to a name.
    pub fn leads_to(
        &self,
        id: EntryId,
        selector: &Selector,
        target: &Name,
    ) -> Result<Progress<bool>, Stop> {
        let followed = std::slice::from_ref(selector);
        if !self.can_follow(followed) {
            return Ok(Progress::Done(false));
        }
        let chain = self.chain_to(followed, target)?;
        Ok(chain.map(|ids| ids.contains(id.0)))
    }

    /// The members of a group that are entries of this directory.
    pub fn members_of(
        &self,
        group: &Name,
        reach: Reach,
    ) -> Result<Progress<Arc<RoaringTreemap>>, Stop> {
        let Lookup::Found(top) = self.snapshot.find(group)? else {
            return Ok(Progress::Done(Arc::default()));
        };
        if !self.may_know_members(group) {
            return Ok(Progress::Done(Arc::default()));
        }
        let goal = Goal::Members(group.bytes().into(), reach);
        let begin = || Descent::new(top, reach, self.member_attributes());
        self.walks().members(self, goal, begin)
    }
}
