//! Sends superiors before the entries below them. An entry is sent in its present state, under its
//! present name, which may come from a later change of its superior that has not been sent yet. A
//! client that got the entry first would have to invent the superior, and could not give the name
//! to the real one afterwards (slapd then keeps the old name). So changed superiors are sent ahead,
//! and once more at their own change.

use crate::context::{Context, VisibleEntry};
use crate::operation::follow::follower::*;
use protocol::control::SyncState;
use roaring::RoaringTreemap;
use state::history::{Change, Detail, Moment};
use state::stop::Stop;

/// Maximum number of entries remembered as sent. Beyond it all are forgotten, which may send some
/// again.
const REMEMBERED_MAX: usize = 4_096;

impl Ahead {
    /// Remembers an entry that is about to be sent.
    pub fn note(&mut self, entry: &VisibleEntry<'_, '_>) {
        if self.0.len() >= REMEMBERED_MAX {
            self.0.clear();
        }
        self.0.insert(entry.id, entry.position());
    }

    /// Forgets all entries, because the client is up to date.
    pub fn forget(&mut self) {
        self.0.clear();
    }

    fn has(&self, entry: &VisibleEntry<'_, '_>) -> bool {
        self.0.get(&entry.id) == Some(&entry.position())
    }
}

impl Follower {
    /// Sends the superiors of a changed entry that were changed with it or later. Returns false if
    /// one of them is sent in parts: the entry has to wait for its end.
    pub(super) fn persist_superiors(
        &mut self,
        context: &Context<'_>,
        change: &Change<'_>,
        position: u64,
        out: &mut Vec<u8>,
    ) -> Result<bool, Stop> {
        let due = |this: &Self, superior: &VisibleEntry<'_, '_>| {
            superior.position() >= position && !this.ahead.has(superior)
        };
        for superior in self.superiors(context, change, due)? {
            let state = match self.members.insert(superior.id.0) {
                true => SyncState::Add,
                false => SyncState::Modify,
            };
            self.ahead.note(&superior);
            self.put_entry(&superior, state, None, out)?;
            if self.large.is_some() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Like [`persist_superiors`](Self::persist_superiors), during a refresh: sends superiors that
    /// were changed at `moment` or later and are not in `seen`.
    pub(super) fn delta_superiors(
        &mut self,
        context: &Context<'_>,
        change: &Change<'_>,
        moment: Moment,
        seen: &mut RoaringTreemap,
        out: &mut Vec<u8>,
    ) -> Result<bool, Stop> {
        let due = |_: &Self, superior: &VisibleEntry<'_, '_>| {
            !seen.contains(superior.id.0) && superior.changed_at().is_none_or(|it| it >= moment)
        };
        for superior in self.superiors(context, change, due)? {
            self.delta_entry(context, &superior, None, seen, out)?;
            if self.large.is_some() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The superiors of a changed entry that belong to the content and for which `due` is true,
    /// highest first.
    fn superiors<'c, 'a>(
        &mut self,
        context: &'c Context<'a>,
        change: &Change<'_>,
        due: impl Fn(&Self, &VisibleEntry<'c, 'a>) -> bool,
    ) -> Result<Vec<VisibleEntry<'c, 'a>>, Stop> {
        let mut found = Vec::new();
        if !matches!(change.detail, Detail::None | Detail::Was { .. }) {
            return Ok(found);
        }
        let Some(entry) = context.entry(change.entry)? else {
            return Ok(found);
        };
        let mut id = entry.superior();
        while id.is_entry() && entry.id != self.region.base {
            let Some(superior) = context.entry(id)? else {
                break;
            };
            id = superior.superior();
            let is_base = superior.id == self.region.base;
            if due(self, &superior) && self.matches(context, &superior)? {
                found.push(superior);
            }
            if is_base {
                break;
            }
        }
        if !found.is_empty() && !self.matches(context, &entry)? {
            found.clear();
        }
        found.reverse();
        Ok(found)
    }
}
