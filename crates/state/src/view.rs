//! The view of the directory that one operation works with: the entries of one snapshot, narrowed
//! to one subject.
//!
//! Invariant: the snapshot is private here. An operation that wants an entry's attributes gets a
//! [`VisibleEntry`], and the filter it evaluates sees no more than its subject may.

mod account;
mod climb;
mod collective;
mod computed;
mod descent;
mod dynamic;
mod effort;
mod entry;
mod linked;
mod membership;
mod paced;
mod served;
mod stored;
mod walks;

pub use dynamic::Described;
pub use entry::VisibleEntry;
pub use linked::{EachMember, write_member};
pub use membership::Reach;
pub use paced::{SLICE_US, whole_bytes_max};
pub use served::{Permit, Room, Served, WalkLimits};
pub use walks::Walks;

use crate::catalog::Catalog;
use crate::history::{self, Change, Extent, Moment, Occasion};
use crate::stop::{Refusal, Stop};
use crate::time;
use policy::{Decision, Right, Subject, Target};
use protocol::ResultCode;
use schema::{AttributeNumber, Name, NumberSet, TypeId};
use std::cell::OnceCell;
use std::collections::HashSet;
use store::{
    Advice, CandidateEntries, Candidates, EntryId, EntryView, FilterPart, Lookup, Members,
    OrderRows, OrderStart, Plan, Region, RegionScope, SetId, Snapshot, TreeWalk,
};

/// The empty set of hidden attributes: the administrator sees all.
static SEES_ALL: NumberSet = NumberSet::new();

/// One operation's view of the directory.
pub struct View<'a> {
    snapshot: &'a Snapshot<'a>,
    /// The rules under which the entries are read.
    pub catalog: &'a Catalog,
    /// The subject that the view is narrowed to.
    pub subject: &'a Subject,
    /// Numbers of the attributes that are hidden from the subject.
    hidden: &'a NumberSet,
    sees_config: bool,
    /// All subentries that lend collective attributes; filled when the first entry asks for them.
    lenders: OnceCell<Vec<collective::Lender>>,
    /// State of the walks over groups, which run in slices.
    pace: walks::Pace,
    /// Limits on walks over dynamic groups, once a search has set them.
    limits: OnceCell<Box<dyn WalkLimits>>,
    /// Time and memory; `None` where no client waits.
    served: Option<&'a dyn Served>,
    /// What is found must not depend on which indexes are complete here.
    executes: bool,
}

/// A candidate of a search.
pub struct Met<'c, 'a> {
    /// The id of the candidate.
    pub id: EntryId,
    /// The candidate's entry. `None` if the entry was deleted with its subtree, or if the candidate
    /// is a text (a member name without an entry of that name). If an entry has come to the name of
    /// the text, this is that entry, while `id` remains the id of the text.
    pub entry: Option<VisibleEntry<'c, 'a>>,
}

/// Iterator over the candidates of a search, made by [`View::met`].
pub struct MetEntries<'c> {
    context: &'c View<'c>,
    stored: CandidateEntries<'c>,
    how: Meeting<'c>,
}

/// Preparation of [`MetEntries`], made by [`View::meeting`].
pub struct Meeting<'c> {
    hides_some: bool,
    /// The group's set and its members, if the candidates are the members of one group.
    members: Option<Box<(SetId, Members<'c>)>>,
}

impl<'c> MetEntries<'c> {
    #[inline(always)]
    fn meet(&self, id: EntryId, view: EntryView<'c>) -> Result<Met<'c, 'c>, Stop> {
        let context = self.context;
        let entry = match self.how.hides_some && context.snapshot.is_detached(&view)? {
            true => None,
            false => Some(VisibleEntry { id, view, context }),
        };
        Ok(Met { id, entry })
    }

    #[cold]
    fn next_member(&mut self) -> Result<Option<Met<'c, 'c>>, Stop> {
        let context = self.context;
        let snapshot = context.snapshot;
        let Some((set, members)) = self.how.members.as_deref_mut() else {
            return Ok(None);
        };
        let Some(id) = members.next().transpose()? else {
            return Ok(None);
        };
        let set = *set;
        if let Some(view) = snapshot.stored_entry(id)? {
            return self.meet(id, view).map(Some);
        }
        // A text may have become the name of an entry that moved there together with its superior.
        let mut entry = None;
        if let Some(named) = snapshot.named_by(id)?
            && !snapshot.has_member(set, named)?
        {
            let view = snapshot.entry(named)?;
            entry = view.map(|view| VisibleEntry {
                id: named,
                view,
                context,
            });
        }
        Ok(Some(Met { id, entry }))
    }
}

impl<'c> Iterator for MetEntries<'c> {
    type Item = Result<Met<'c, 'c>, Stop>;

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        if self.how.members.is_some() {
            return self.next_member().transpose();
        }
        match self.stored.next()? {
            Ok((id, view)) => Some(self.meet(id, view)),
            Err(error) => Some(Err(error.into())),
        }
    }
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

impl<'a> View<'a> {
    /// A view that no client waits for.
    #[inline]
    pub fn new(snapshot: &'a Snapshot<'a>, catalog: &'a Catalog, subject: &'a Subject) -> Self {
        // Built in place because every request makes a view.
        let mut context = View {
            snapshot,
            catalog,
            subject,
            hidden: &SEES_ALL,
            sees_config: true,
            lenders: OnceCell::new(),
            pace: walks::Pace::default(),
            limits: OnceCell::new(),
            served: None,
            executes: false,
        };
        if !subject.is_administrator() {
            context.sees_config = false;
            context.hidden = &catalog.hidden;
        }
        context
    }

    /// A view for a client's request: like [`View::new`], with time and memory that the serving
    /// thread lends.
    #[inline]
    pub fn of_request(
        snapshot: &'a Snapshot<'a>,
        catalog: &'a Catalog,
        subject: &'a Subject,
        served: &'a dyn Served,
    ) -> Self {
        let mut view = View::new(snapshot, catalog, subject);
        view.served = Some(served);
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
        let mut context = View::new(snapshot, catalog, subject);
        context.executes = true;
        context
    }

    /// Whether a client waits for the operation.
    #[inline]
    pub fn is_served(&self) -> bool {
        self.served.is_some()
    }

    /// Whether the subject may read `cn=monitor`, which has the same access as the configuration.
    #[inline]
    pub fn sees_monitor(&self) -> bool {
        self.sees_config
    }

    /// Whether no entry is hidden from the subject, so that sizes of index rows reveal nothing to
    /// it.
    #[inline]
    pub fn sees_everything(&self) -> bool {
        self.sees_config
    }

    /// Looks a name up. An entry that the subject may not know of is reported as missing.
    #[inline]
    pub fn find(&self, name: &Name) -> Result<Place, Stop> {
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

    /// The refusal `noSuchObject` with the name of the deepest existing entry as matched name.
    pub fn no_such_object(&self, matched: Option<EntryId>) -> Result<Refusal, Stop> {
        let mut refusal = Refusal::new(ResultCode::NO_SUCH_OBJECT, "");
        if let Some(id) = matched {
            refusal.matched = self.spelled_name(id)?;
        }
        Ok(refusal)
    }

    /// The entry with this id; `None` if there is none or the subject may not know of it.
    #[inline]
    pub fn entry<'c>(&'c self, id: EntryId) -> Result<Option<VisibleEntry<'c, 'a>>, Stop> {
        let entry = self.reached(id)?;
        match entry {
            Some(entry) if !self.sees_config && self.is_configuration(&entry)? => Ok(None),
            entry => Ok(entry),
        }
    }

    /// The entry with an id that came from [`View::find`] or from a search that asks
    /// [`View::in_region`], both of which have checked access already. Ids from elsewhere go to
    /// [`View::entry`]. `None` if there is no such entry.
    #[inline]
    pub fn reached<'c>(&'c self, id: EntryId) -> Result<Option<VisibleEntry<'c, 'a>>, Stop> {
        let Some(view) = self.snapshot.entry(id)? else {
            return Ok(None);
        };
        Ok(Some(VisibleEntry {
            id,
            view,
            context: self,
        }))
    }

    /// Wraps a row that is not, or not yet, stored as an entry of this view.
    pub fn unstored<'c>(&'c self, view: EntryView<'a>) -> VisibleEntry<'c, 'a> {
        VisibleEntry {
            id: EntryId(u64::MAX),
            view,
            context: self,
        }
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

    /// Replaces assertions about attributes that the subject may not search in a resolved filter,
    /// so that plans, counts and walks along links never use them.
    #[inline]
    pub fn narrow(&self, filter: &mut schema::Filter) {
        let catalog = self.catalog;
        (catalog.access).narrow(self.subject, &catalog.schema, filter);
    }

    /// Whether an attribute type is secret for the subject.
    #[inline]
    pub fn conceals(&self, type_id: TypeId) -> bool {
        !self.sees_config && self.catalog.access.secrets().contains(type_id)
    }

    /// The cheapest way to the candidates of a filter in a region.
    pub fn plan(&self, filter: &schema::Filter, region: &Region) -> Result<Plan, Stop> {
        let filter = self.with_lent(filter)?;
        Ok(store::plan(
            self.snapshot,
            &self.catalog.indexes,
            &filter,
            region,
        )?)
    }

    /// Plan and estimated number of entries for each part of a filter by itself.
    #[cold]
    pub fn filter_parts(&self, filter: &schema::Filter) -> Result<Vec<FilterPart>, Stop> {
        let filter = self.with_lent(filter)?;
        let indexes = &self.catalog.indexes;
        Ok(store::filter_parts(self.snapshot, indexes, &filter)?)
    }

    /// The indexes that would help a filter.
    #[cold]
    pub fn advise(&self, filter: &schema::Filter) -> Result<Advice, Stop> {
        let filter = self.with_lent(filter)?;
        let secrets = self.catalog.access.secrets();
        let may_index =
            |type_id| !self.catalog.computed.is_computed(type_id) && !secrets.contains(type_id);
        Ok(store::advise(&self.catalog.indexes, &filter, &may_index))
    }

    /// All candidates of a plan with ids after this one.
    pub fn candidates(&self, plan: &Plan, after: EntryId) -> Result<Candidates, Stop> {
        Ok(self.snapshot.candidates(plan, after)?)
    }

    /// Candidates with ids greater than `after` for a search in slices that needs them in id order.
    /// The caller first calls [`View::gather`] until all are collected.
    pub fn begin_candidates(&self, plan: &Plan, after: EntryId) -> Result<Candidates, Stop> {
        Ok(self.snapshot.begin_candidates(plan, after)?)
    }

    /// Like [`View::begin_candidates`], for a caller that only iterates: members of a group are
    /// read lazily.
    #[inline]
    pub fn begin_walk(&self, plan: &Plan, after: EntryId) -> Result<Candidates, Stop> {
        Ok(self.snapshot.begin_walk(plan, after)?)
    }

    /// Like [`View::begin_candidates`], for a caller that stops after `wanted` matching entries.
    #[inline]
    pub fn begin_page(&self, plan: &Plan, after: EntryId, wanted: u64) -> Result<Candidates, Stop> {
        Ok(self.snapshot.begin_page(plan, after, wanted)?)
    }

    /// Collects candidates for one slice; returns true when all are collected.
    pub fn gather(&self, candidates: &mut Candidates) -> Result<bool, Stop> {
        if !candidates.are_indexed(&self.catalog.indexes) {
            // The index that the candidates were to come from is being removed: any entry may
            // match.
            *candidates = Candidates::Scan;
            return Ok(true);
        }
        Ok(self.snapshot.gather(candidates)?)
    }

    /// The rows of an ordering index from `start` on.
    pub fn order_rows(
        &self,
        base: AttributeNumber,
        start: OrderStart<'_>,
        backwards: bool,
    ) -> Result<OrderRows<'a>, Stop> {
        Ok(self.snapshot.order_rows(base, start, backwards)?)
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

    /// Whether the subject may see the attribute.
    #[inline]
    pub fn shows(&self, number: AttributeNumber) -> bool {
        !self.hidden.contains(number)
    }

    /// The candidate entries with ids greater than `after`, in id order.
    pub fn entries<'c>(
        &'c self,
        candidates: &'c Candidates,
        after: EntryId,
    ) -> impl Iterator<Item = Result<VisibleEntry<'c, 'c>, Stop>> {
        candidates
            .entries_after(*self.snapshot, after)
            .map(move |found| {
                let (id, view) = found?;
                Ok(VisibleEntry {
                    id,
                    view,
                    context: self,
                })
            })
    }

    /// The candidates with ids greater than `after`, for searches in slices. Unlike
    /// [`View::entries`] it also yields, without an entry, deleted entries that are still stored
    /// and texts among the members of a group, so that each of them counts against the slice.
    pub fn met<'c>(
        &'c self,
        candidates: &'c Candidates,
        after: EntryId,
    ) -> Result<MetEntries<'c>, Stop> {
        let how = self.meeting(candidates, after)?;
        Ok(self.meet_all(candidates, after, how))
    }

    /// Second half of [`View::met`]: cannot fail, and is separate because its result is too
    /// large for a `Result`.
    #[inline(always)]
    pub fn meet_all<'c>(
        &'c self,
        candidates: &'c Candidates,
        after: EntryId,
        how: Meeting<'c>,
    ) -> MetEntries<'c> {
        MetEntries {
            context: self,
            stored: candidates.stored_after(*self.snapshot, after),
            how,
        }
    }

    /// First half of [`View::met`]: everything that can fail.
    #[inline(always)]
    pub fn meeting<'c>(
        &'c self,
        candidates: &Candidates,
        after: EntryId,
    ) -> Result<Meeting<'c>, Stop> {
        let members = match candidates {
            Candidates::Members { group, number } => self.met_members(*group, *number, after)?,
            _ => None,
        };
        let hides_some = self.snapshot.hides_some()?;
        Ok(Meeting {
            hides_some,
            members,
        })
    }

    #[cold]
    fn met_members<'c>(
        &'c self,
        group: EntryId,
        number: AttributeNumber,
        after: EntryId,
    ) -> Result<Option<Box<(SetId, Members<'c>)>>, Stop> {
        let snapshot: &'c Snapshot<'c> = self.snapshot;
        let Some(set) = snapshot.linked_set(group, number)? else {
            return Ok(None);
        };
        let members = snapshot.members_after(set.set, after)?;
        Ok(Some(Box::new((set.set, members))))
    }

    /// Whether an entry lies in the region of a search and in the part of the tree that the subject
    /// may search.
    #[inline]
    pub fn in_region(&self, entry: &VisibleEntry<'_, '_>, region: &Region) -> Result<bool, Stop> {
        let inside = self.snapshot.is_within(entry.id, &entry.view, region)?;
        if !inside || self.sees_config || region.base.0 != 0 {
            return Ok(inside);
        }
        // A search over all naming contexts must not return the configuration.
        Ok(!self.is_configuration(entry)?)
    }

    /// Whether the subject may not learn that this candidate exists.
    #[inline]
    pub fn hides(&self, entry: Option<&VisibleEntry<'_, '_>>) -> Result<bool, Stop> {
        match entry {
            Some(entry) if !self.sees_config => self.is_configuration(entry),
            _ => Ok(false),
        }
    }

    /// Whether an entry is `cn=config` or stands below it.
    fn is_configuration(&self, entry: &VisibleEntry<'_, '_>) -> Result<bool, Stop> {
        let Lookup::Found(base) = self.snapshot.find(&self.catalog.config)? else {
            return Ok(false);
        };
        let scope = RegionScope::Subtree;
        let region = Region { base, scope };
        Ok(self.snapshot.is_within(entry.id, &entry.view, &region)?)
    }

    /// Whether one of `superiors` stands above an entry.
    pub fn is_below_any(
        &self,
        entry: &VisibleEntry<'_, '_>,
        superiors: &HashSet<EntryId>,
    ) -> Result<bool, Stop> {
        let parent = entry.view.parent();
        Ok(self.snapshot.is_at_or_below_any(parent, superiors)?)
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

    /// Whether the subject may learn that an entry of this name exists or existed.
    pub fn may_hear_of(&self, name: &str) -> bool {
        self.sees_config
            || (self.catalog.schema.resolve_name(name))
                .is_ok_and(|name| !name.is_within(&self.catalog.config))
    }

    /// The decision of the access rules.
    #[inline]
    pub fn decide(&self, right: Right, name: &Name, attribute: Option<TypeId>) -> Decision {
        self.catalog
            .access
            .decide(self.subject, right, &Target { name, attribute })
    }

    /// Refuses with `insufficientAccessRights` and the text `refused` unless the subject is the
    /// administrator.
    pub fn require_administrator(&self, refused: &str) -> Result<(), Stop> {
        match self.subject.is_administrator() {
            true => Ok(()),
            false => Stop::refuse(ResultCode::INSUFFICIENT_ACCESS_RIGHTS, refused),
        }
    }

    /// Refuses with `insufficientAccessRights` unless the access rules allow it.
    #[inline]
    pub fn require(
        &self,
        right: Right,
        name: &Name,
        attribute: Option<TypeId>,
    ) -> Result<(), Stop> {
        let decision = self.decide(right, name, attribute);
        if decision.allowed {
            return Ok(());
        }
        let who = match self.subject.dn.as_str() {
            "" => "an anonymous client",
            dn => dn,
        };
        let what = match attribute {
            Some(attribute) => format!(
                "{} of this entry",
                self.catalog.schema.type_of(attribute).name()
            ),
            None => "this entry".to_owned(),
        };
        let access = match right {
            Right::Disclose => "access",
            Right::Search | Right::Read | Right::Compare => "read access",
            Right::Add | Right::Delete | Right::Rename | Right::Write | Right::Manage => {
                "write access"
            }
            Right::Authenticate => "leave to authenticate with",
        };
        let text = format!(
            "{who} has no {access} to {what} (rule \"{}\")",
            decision.rule
        );
        Stop::refuse(ResultCode::INSUFFICIENT_ACCESS_RIGHTS, text)
    }
}
