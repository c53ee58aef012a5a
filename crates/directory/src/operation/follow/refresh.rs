//! Refreshes the client's copy (RFC 4533 §3.3): by the whole content, or by the changes since an
//! older copy.

use crate::context::{Context, VisibleEntry};
use crate::operation::follow::follower::*;
use crate::search::slice::Slice;
use policy::Limit;
use protocol::ResultCode;
use protocol::control::SyncState;
use roaring::RoaringTreemap;
use state::history::{Change, Detail, Moment};
use state::stop::Stop;
use store::{Candidates, EntryId, Region, RegionScope};

impl Follower {
    /// Continues through the entries of the region. `None` if the next stage has begun or the slice
    /// is over.
    pub(super) fn scan(
        &mut self,
        context: &Context<'_>,
        slice: &mut Slice,
        out: &mut Vec<u8>,
    ) -> Result<Option<Followed>, Stop> {
        let Stage::Scan(scan) = &mut self.stage else {
            return Ok(None);
        };
        let purpose = scan.purpose;
        let mut candidates = match scan.candidates.take() {
            Some(candidates) => candidates,
            None => {
                let plan = context.plan(&self.criteria.filter, &self.region)?;
                context.begin_walk(&plan, scan.after)?
            }
        };
        if !context.gather(&mut candidates)? {
            scan.candidates = Some(candidates);
            slice.end();
            return Ok(None);
        }
        let mut after = scan.after;
        let mut over = false;
        for met in context.met(&candidates, after)? {
            let met = met?;
            if !slice.step(out) {
                over = true;
                break;
            }
            after = met.id;
            if let Some(entry) = met.entry {
                self.scan_one(context, &entry, purpose, out)?;
                over = self.large.is_some();
                if over {
                    break;
                }
            }
        }
        if over {
            self.stage = Stage::Scan(Scan {
                purpose,
                candidates: Some(candidates),
                after,
            });
            return Ok(None);
        }
        self.scanned(context, purpose, out)
    }

    fn scan_one(
        &mut self,
        context: &Context<'_>,
        entry: &VisibleEntry<'_, '_>,
        purpose: Purpose,
        out: &mut Vec<u8>,
    ) -> Result<(), Stop> {
        self.examined += u64::from(self.candidates_max == 0 || !context.hides(Some(entry))?);
        if purpose != Purpose::Learn
            && self.candidates_max != 0
            && self.examined > self.candidates_max
        {
            let limit = self.candidates_max;
            Limit::Candidates.count();
            return Stop::refuse(
                ResultCode::ADMIN_LIMIT_EXCEEDED,
                format!(
                    "the search would look at more than {limit} entries: use an indexed attribute"
                ),
            );
        }
        if !self.matches(context, entry)? {
            return Ok(());
        }
        if self.stays() {
            self.members.insert(entry.id.0);
        }
        match purpose {
            Purpose::Learn => Ok(()),
            Purpose::Compare(held) if entry.changed_at().is_some_and(|it| it <= held) => {
                self.put_unchanged(entry, out);
                Ok(())
            }
            Purpose::Send | Purpose::Compare(_) => {
                self.check_size()?;
                match self.kind {
                    Kind::Sync { .. } => self.put_entry(entry, SyncState::Add, None, out),
                    Kind::Persistent(_) => self.put_with(entry, &[], out),
                }
            }
        }
    }

    /// Ends a scan and begins the next stage.
    fn scanned(
        &mut self,
        context: &Context<'_>,
        purpose: Purpose,
        out: &mut Vec<u8>,
    ) -> Result<Option<Followed>, Stop> {
        self.permit = None;
        if purpose == Purpose::Learn {
            self.learned = context.extent()?.newest;
        } else if let Kind::Sync { persist } = self.kind {
            self.put_refreshed(false, persist, out);
            if !persist {
                return Ok(Some(Followed::Ended));
            }
        }
        self.stage = Stage::Persist;
        Ok(None)
    }

    /// Continues sending the changes between the client's copy and the present state.
    pub(super) fn delta(
        &mut self,
        context: &Context<'_>,
        slice: &mut Slice,
        out: &mut Vec<u8>,
    ) -> Result<Option<Followed>, Stop> {
        let Stage::Delta { from, seen } = &mut self.stage else {
            return Ok(None);
        };
        let (mut told, mut seen, until) = (*from, std::mem::take(seen), self.at);
        if told.time_us < context.extent()?.oldest_us {
            let text = "more happened during the refresh than is remembered";
            return Stop::refuse(ResultCode::E_SYNC_REFRESH_REQUIRED, text);
        }
        let mut over = !self.delta_walk(context, slice, &mut seen, out)?;
        if !over {
            context.changes_after(told, |occasion, change| {
                if occasion.moment > until {
                    return Ok(false);
                }
                if !slice.step(out) {
                    over = true;
                    return Ok(false);
                }
                let moment = occasion.moment;
                if !self.delta_superiors(context, &change, moment, &mut seen, out)? {
                    over = true;
                    return Ok(false);
                }
                told = moment;
                self.delta_one(context, &change, moment, &mut seen, out)?;
                over = self.large.is_some() || !self.delta_walk(context, slice, &mut seen, out)?;
                Ok(!over)
            })?;
        }
        if over {
            self.stage = Stage::Delta { from: told, seen };
            return Ok(None);
        }
        let persist = self.stays();
        self.put_refreshed(true, persist, out);
        if !persist {
            return Ok(Some(Followed::Ended));
        }
        self.stage = Stage::Scan(Scan::new(Purpose::Learn));
        Ok(None)
    }

    fn delta_one(
        &mut self,
        context: &Context<'_>,
        change: &Change<'_>,
        moment: Moment,
        seen: &mut RoaringTreemap,
        out: &mut Vec<u8>,
    ) -> Result<(), Stop> {
        match change.detail {
            Detail::Subtree { .. } => {
                self.lost = Some(Lost::of(change.entry, moment));
                return Ok(());
            }
            // Reclaimed entries are reported with their subtree, before or after the client's
            // moment.
            Detail::Reclaimed { .. } => return Ok(()),
            _ => {}
        }
        if self.must_walk(context, change, moment)? {
            self.walk = Some(Walk::below(change.entry));
        }
        if let Detail::Gone { uuid, name } = change.detail {
            // An entry added and deleted since the client's moment is not reported.
            if !seen.contains(change.entry.0) && context.may_hear_of(name) {
                let name = name.to_owned();
                let moment = Some(moment);
                self.put_left(Gone { uuid, name, moment }, out);
            }
            return Ok(());
        }
        let Some(entry) = context.entry(change.entry)? else {
            if change.is_add() {
                seen.insert(change.entry.0);
            }
            return Ok(());
        };
        // The entries below belong to the change.
        let moment = self.walk.is_none().then_some(moment);
        self.delta_entry(context, &entry, moment, seen, out)
    }

    /// Sends the present state of an entry that changed, or lies below one that moved. `moment` is
    /// that of the cookie, if the client is then up to date to it.
    pub(super) fn delta_entry(
        &mut self,
        context: &Context<'_>,
        entry: &VisibleEntry<'_, '_>,
        moment: Option<Moment>,
        seen: &mut RoaringTreemap,
        out: &mut Vec<u8>,
    ) -> Result<(), Stop> {
        if !seen.insert(entry.id.0) {
            return Ok(());
        }
        if self.matches(context, entry)? {
            self.check_size()?;
            return self.put_entry(entry, SyncState::Add, None, out);
        }
        if let (Some(uuid), name) = (entry.uuid(), entry.spelled_name()?)
            && context.may_hear_of(&name)
        {
            self.put_left(Gone { uuid, name, moment }, out);
        }
        Ok(())
    }

    /// Continues below an entry that moved or was deleted with its subtree; true when all are done.
    fn delta_walk(
        &mut self,
        context: &Context<'_>,
        slice: &mut Slice,
        seen: &mut RoaringTreemap,
        out: &mut Vec<u8>,
    ) -> Result<bool, Stop> {
        let told = self.lost_on(context, slice, out, |this, _, fallen, out| {
            // An entry added and deleted since the client's moment is not reported.
            if !seen.contains(fallen.id.0) && context.may_hear_of(fallen.name) {
                let (uuid, name) = (fallen.uuid, fallen.name.to_owned());
                let moment = None;
                this.put_left(Gone { uuid, name, moment }, out);
            }
        })?;
        if !told {
            return Ok(false);
        }
        self.walk_on(context, slice, out, |this, entry, out| {
            this.delta_entry(context, entry, None, seen, out)
        })
    }

    /// Calls `each` for the entries below one that moved, until the slice ends; true when all are
    /// done.
    pub(super) fn walk_on(
        &mut self,
        context: &Context<'_>,
        slice: &mut Slice,
        out: &mut Vec<u8>,
        mut each: impl FnMut(&mut Self, &VisibleEntry<'_, '_>, &mut Vec<u8>) -> Result<(), Stop>,
    ) -> Result<bool, Stop> {
        let Some(mut walk) = self.walk.take() else {
            return Ok(true);
        };
        let candidates = walk.candidates(context)?;
        let mut over = false;
        for met in context.met(&candidates, walk.after)? {
            let met = met?;
            over = !slice.step(out);
            if over {
                break;
            }
            walk.after = met.id;
            if let Some(entry) = met.entry
                && context.in_region(&entry, &walk.region())?
            {
                each(self, &entry, out)?;
                over = self.large.is_some();
                if over {
                    break;
                }
            }
        }
        if over {
            walk.candidates = Some(candidates);
            self.walk = Some(walk);
        }
        Ok(!over)
    }

    /// The size limit applies to the entries of the refresh (RFC 4533 §3.5.3).
    fn check_size(&self) -> Result<(), Stop> {
        let limit = self.size_max;
        if limit != 0 && self.sent >= limit {
            Limit::SizeEntries.count();
            return Stop::refuse(
                ResultCode::SIZE_LIMIT_EXCEEDED,
                format!(
                    "the size limit of {limit} entries; more are in the content: bind as somebody \
                     with a higher limit (size_entries_max) or narrow the filter"
                ),
            );
        }
        Ok(())
    }
}

impl Walk {
    pub(super) fn below(top: EntryId) -> Walk {
        Walk {
            top,
            candidates: None,
            after: EntryId(0),
        }
    }

    pub(super) fn region(&self) -> Region {
        Region {
            base: self.top,
            scope: RegionScope::Subordinates,
        }
    }

    /// Takes the candidates of the walk; the caller puts them back when the slice ends.
    pub(super) fn candidates(&mut self, context: &Context<'_>) -> Result<Candidates, Stop> {
        if let Some(candidates) = self.candidates.take() {
            return Ok(candidates);
        }
        let plan = context.plan(&schema::Filter::True, &self.region())?;
        context.candidates(&plan, self.after)
    }
}
