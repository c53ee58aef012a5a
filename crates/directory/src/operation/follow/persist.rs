//! Sends changes as they happen (RFC 4533 §3.4.2; draft-ietf-ldapext-psearch-03 §4).

use crate::context::{Context, VisibleEntry};
use crate::operation::follow::follower::*;
use crate::search::slice::Slice;
use protocol::control::{ChangeType, EntryChangeNotification, PersistentSearch, SyncState};
use protocol::{LdapResult, ResultCode};
use state::history::{Change, Detail, Moment, Occasion};
use state::stop::Stop;
use store::RegionScope;

/// Progress of sending the entries below that of a change.
enum Below {
    Told,
    More,
    /// All are sent, and the base was one of them.
    BaseLost,
}

impl Follower {
    /// Sends the changes since the last slice, until this one ends.
    pub(super) fn persist(
        &mut self,
        context: &Context<'_>,
        slice: &mut Slice,
        out: &mut Vec<u8>,
    ) -> Result<Followed, Stop> {
        let extent = context.extent()?;
        if self.at.time_us < extent.oldest_us {
            let text = "this search is too far behind: more happened than is remembered";
            return Ok(self.stop(ResultCode::E_SYNC_REFRESH_REQUIRED, text, out));
        }
        let (mut lost, mut over) = (self.base_lost.take(), false);
        if lost.is_none() {
            match self.persist_below(context, slice, out)? {
                Below::Told => {}
                Below::More => over = true,
                Below::BaseLost => lost = Some(ChangeType::Delete),
            }
        }
        if !over && lost.is_none() {
            context.changes_after(self.at, |occasion, change| {
                if !slice.step(out) {
                    over = true;
                    return Ok(false);
                }
                if !self.tell(context, &change, occasion, out)? {
                    over = true;
                    return Ok(false);
                }
                self.at = occasion.moment;
                if self.loses_base(context, &change)? {
                    lost = Some(change.kind);
                }
                if self.large.is_some() {
                    (self.base_lost, over) = (lost.take(), true);
                }
                if over || lost.is_some() {
                    return Ok(false);
                }
                match self.persist_below(context, slice, out)? {
                    Below::Told => return Ok(true),
                    Below::More => over = true,
                    Below::BaseLost => lost = Some(ChangeType::Delete),
                }
                Ok(false)
            })?;
        }
        match lost {
            Some(ChangeType::Delete) => {
                let text = "the base of the search was deleted";
                Ok(self.stop(ResultCode::NO_SUCH_OBJECT, text, out))
            }
            Some(_) => {
                let text = "the base of the search has another name now";
                Ok(self.stop(ResultCode::E_SYNC_REFRESH_REQUIRED, text, out))
            }
            None => {
                if self.large.is_none() {
                    self.put_gone(out);
                }
                if over {
                    return Ok(Followed::More);
                }
                self.ahead.forget();
                Ok(Followed::CaughtUp)
            }
        }
    }

    fn stop(&mut self, code: ResultCode, text: &str, out: &mut Vec<u8>) -> Followed {
        self.put_stopped(&LdapResult::new(code, text), out);
        Followed::Ended
    }

    /// Sends one change; false if a superior of its entry has to be sent first.
    fn tell(
        &mut self,
        context: &Context<'_>,
        change: &Change<'_>,
        occasion: Occasion,
        out: &mut Vec<u8>,
    ) -> Result<bool, Stop> {
        match self.kind {
            Kind::Sync { .. } => {
                if !self.persist_superiors(context, change, occasion.position, out)? {
                    return Ok(false);
                }
                self.tell_sync(context, change, occasion, out)?;
            }
            Kind::Persistent(asked) => {
                self.tell_persistent(context, change, occasion, &asked, out)?;
            }
        }
        Ok(true)
    }

    fn tell_sync(
        &mut self,
        context: &Context<'_>,
        change: &Change<'_>,
        occasion: Occasion,
        out: &mut Vec<u8>,
    ) -> Result<(), Stop> {
        let (moment, unsure) = (occasion.moment, occasion.moment <= self.learned);
        match change.detail {
            Detail::Subtree { .. } => {
                self.lost = Some(self.lost_with(change.entry, occasion));
                return Ok(());
            }
            // After the last entry of the subtree the client is up to date again.
            Detail::Reclaimed { top, .. } if change.entry == top => {
                self.at = moment;
                self.put_cookie(out);
                return Ok(());
            }
            Detail::Reclaimed { .. } => {
                self.put_nothing(out);
                return Ok(());
            }
            _ => {}
        }
        if self.must_walk(context, change, moment)? {
            self.walk = Some(Walk::below(change.entry));
        }
        // The entries below belong to the change, so the cookie comes after them.
        let moment = self.walk.is_none().then_some(moment);
        if let Detail::Gone { uuid, name } = change.detail {
            let had = self.members.remove(change.entry.0);
            if had || unsure && context.may_hear_of(name) {
                let name = name.to_owned();
                self.put_left(Gone { uuid, name, moment }, out);
            } else {
                self.put_nothing(out);
            }
            return Ok(());
        }
        let Some(entry) = context.entry(change.entry)? else {
            // The entry was deleted since. The deletion comes later, and needs to know whether the
            // client has the entry.
            self.put_nothing(out);
            return Ok(());
        };
        // A later change of the entry comes too and includes this one; but a new entry must be sent
        // before those added below it.
        if change.kind == ChangeType::Modify
            && self.members.contains(change.entry.0)
            && entry.position() > occasion.position
        {
            self.put_nothing(out);
            return Ok(());
        }
        let state = match change.is_add() && unsure {
            true => Some(SyncState::Add),
            false => None,
        };
        self.tell_entry(context, &entry, state, unsure, moment, out)
    }

    /// Sends an entry that changed, or lies below one that moved, by whether it is and was in the
    /// content. `state` is the state to report; `None` for the one that follows from the client's
    /// copy. `unsure` tells that the client's copy from before the change is not known.
    fn tell_entry(
        &mut self,
        context: &Context<'_>,
        entry: &VisibleEntry<'_, '_>,
        state: Option<SyncState>,
        unsure: bool,
        moment: Option<Moment>,
        out: &mut Vec<u8>,
    ) -> Result<(), Stop> {
        if self.matches(context, entry)? {
            let state = match (state, self.members.insert(entry.id.0)) {
                (Some(state), _) => state,
                (None, true) => SyncState::Add,
                (None, false) => SyncState::Modify,
            };
            self.ahead.note(entry);
            return self.put_entry(entry, state, moment, out);
        }
        let had = self.members.remove(entry.id.0);
        let (uuid, name) = (entry.uuid(), entry.spelled_name()?);
        match uuid {
            Some(uuid) if had || unsure && context.may_hear_of(&name) => {
                self.put_left(Gone { uuid, name, moment }, out);
            }
            _ => self.put_nothing(out),
        }
        Ok(())
    }

    fn tell_persistent(
        &mut self,
        context: &Context<'_>,
        change: &Change<'_>,
        occasion: Occasion,
        asked: &PersistentSearch,
        out: &mut Vec<u8>,
    ) -> Result<(), Stop> {
        let wanted = asked.wants(change.kind);
        match change.detail {
            Detail::Subtree { .. } => {
                self.lost = Some(self.lost_with(change.entry, occasion));
                return Ok(());
            }
            Detail::Reclaimed { .. } => return Ok(()),
            _ => {}
        }
        if let Detail::Gone { name, .. } = change.detail {
            let had = self.members.remove(change.entry.0)
                || occasion.moment <= self.learned && self.names_content(context, name);
            if had && wanted {
                self.put_deleted(name, occasion.number, out);
            }
            return Ok(());
        }
        let Some(entry) = self.content(context, change.entry)? else {
            if context.entry(change.entry)?.is_some() {
                self.members.remove(change.entry.0);
            }
            return Ok(());
        };
        self.members.insert(change.entry.0);
        if !wanted {
            return Ok(());
        }
        let previous_dn = match change.detail {
            Detail::Was { name, .. } => Some(name),
            _ => None,
        };
        let notice = EntryChangeNotification {
            change_type: change.kind,
            previous_dn,
            change_number: i64::try_from(occasion.number).ok(),
        };
        self.put_changed(&entry, &notice, out)
    }

    /// Whether an entry of this name would lie in the region. The attributes of a deleted entry are
    /// unknown, so the filter cannot be evaluated.
    pub(super) fn names_content(&self, context: &Context<'_>, name: &str) -> bool {
        let below = context.may_hear_of(name);
        let Ok(name) = context.catalog.schema.resolve_name(name) else {
            return false;
        };
        let below = below && name.is_within(&self.base);
        let levels = name.depth().saturating_sub(self.base.depth());
        below
            && match self.region.scope {
                RegionScope::Base => levels == 0,
                RegionScope::OneLevel => levels == 1,
                RegionScope::Subtree => true,
                RegionScope::Subordinates => levels > 0,
            }
    }

    /// Continues below an entry that moved, or that was deleted with its subtree.
    fn persist_below(
        &mut self,
        context: &Context<'_>,
        slice: &mut Slice,
        out: &mut Vec<u8>,
    ) -> Result<Below, Stop> {
        if self.lost.is_some() {
            let done = self.lost_on(context, slice, out, |this, lost, fallen, out| {
                this.tell_fallen(context, lost, &fallen, out);
            })?;
            if !done {
                return Ok(Below::More);
            }
            if matches!(self.kind, Kind::Sync { .. }) {
                self.put_cookie(out);
            }
            let base = self.region.base;
            if base.0 != 0 && context.entry(base)?.is_none() {
                return Ok(Below::BaseLost);
            }
        }
        let walks = self.walk.is_some();
        let done = self.walk_on(context, slice, out, |this, entry, out| {
            if this.members.contains(entry.id.0) != this.matches(context, entry)? {
                this.tell_entry(context, entry, None, false, None, out)?;
            }
            Ok(())
        })?;
        if walks && done {
            self.put_cookie(out);
        }
        Ok(if done { Below::Told } else { Below::More })
    }
}
