//! Superiors before what is below them. An entry is told as it is now, under the name that it has
//! now, and its superior may have got that name by a change which has not had its turn. A client
//! that met the entry first would have to invent its superior, and could not give the name to the
//! real one any more: slapd keeps the old name then. So superiors that are still to be told are
//! told ahead, and once more in their turn.

use super::*;
use protocol::control::SyncState;
use std::collections::HashMap;

/// Entries that are remembered as told: more are forgotten, and perhaps told once more.
const REMEMBERED_MAX: usize = 4_096;

/// Entries that were told, each with the log position of the change as which it was.
#[derive(Debug, Default)]
pub(super) struct Ahead(HashMap<EntryId, u64>);

impl Ahead {
    /// An entry is about to be told as it is.
    pub fn note(&mut self, entry: &VisibleEntry<'_, '_>) {
        if self.0.len() >= REMEMBERED_MAX {
            self.0.clear();
        }
        self.0.insert(entry.id, entry.position());
    }

    /// There is nothing to be told any more.
    pub fn forget(&mut self) {
        self.0.clear();
    }

    fn has(&self, entry: &VisibleEntry<'_, '_>) -> bool {
        self.0.get(&entry.id) == Some(&entry.position())
    }
}

impl Follower {
    /// Tells the superiors of a changed entry that were changed with it or later. False when one of
    /// them is sent in parts: the entry comes behind it.
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

    /// The same in a refresh: superiors that were changed at that moment or later, and that the
    /// refresh has not shown yet.
    pub(super) fn delta_superiors(
        &mut self,
        context: &Context<'_>,
        change: &Change<'_>,
        (moment, seen): (Moment, &mut RoaringTreemap),
        out: &mut Vec<u8>,
    ) -> Result<bool, Stop> {
        let due = |_: &Self, superior: &VisibleEntry<'_, '_>| {
            !seen.contains(superior.id.0) && superior.changed_at().is_none_or(|it| it >= moment)
        };
        for superior in self.superiors(context, change, due)? {
            self.delta_entry(context, &superior, (None, seen), out)?;
            if self.large.is_some() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The superiors of a changed entry of the content that are due, highest first.
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
