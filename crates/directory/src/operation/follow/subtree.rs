//! Reports the entries of a subtree that was deleted by one change. The history has one row for it,
//! so a follower finds the entries itself: among detached entries that are still stored, and among
//! the rows of entries reclaimed since. In one snapshot an entry is in one of the two, but an entry
//! found stored in one slice may be reclaimed by the next, so the ids already reported are kept
//! until the subtree is done.
//!
//! The entries are reported before any later change, and the deepest first: the client never has an
//! entry without its superior, and a name that was used again is free.

use crate::context::Context;
use crate::operation::follow::follower::*;
use crate::search::slice::Slice;
use roaring::RoaringTreemap;
use state::history::{Detail, Moment, Occasion};
use state::stop::Stop;
use store::{EntryId, TreeWalk};

/// An entry of a deleted subtree.
pub(super) struct Fallen<'f> {
    pub id: EntryId,
    pub uuid: [u8; 16],
    pub name: &'f str,
}

impl Lost {
    pub fn of(top: EntryId, moment: Moment) -> Lost {
        Lost {
            top,
            read: moment,
            rest: TreeWalk::of(top),
            told: RoaringTreemap::new(),
            unsure: true,
            number: 0,
        }
    }
}

impl Follower {
    /// The subtree of a change that is sent as it happens.
    pub(super) fn lost_with(&self, top: EntryId, occasion: Occasion) -> Lost {
        Lost {
            unsure: occasion.moment <= self.learned,
            number: occasion.number,
            ..Lost::of(top, occasion.moment)
        }
    }

    /// Calls `each` for the entries of a deleted subtree, until the slice ends; true when all are
    /// done.
    pub(super) fn lost_on(
        &mut self,
        context: &Context<'_>,
        slice: &mut Slice,
        out: &mut Vec<u8>,
        mut each: impl FnMut(&mut Self, &Lost, Fallen<'_>, &mut Vec<u8>),
    ) -> Result<bool, Stop> {
        let Some(mut lost) = self.lost.take() else {
            return Ok(true);
        };
        let nothing_held = !lost.unsure && self.members.is_empty();
        // Reclaimed entries come first: they stood below the ones that are still stored.
        let mut over = false;
        if !nothing_held {
            context.changes_after(lost.read, |occasion, change| {
                over = !slice.step(out);
                if over {
                    return Ok(false);
                }
                lost.read = occasion.moment;
                if let Detail::Reclaimed { top, uuid, name } = change.detail
                    && top == lost.top
                    && !lost.told.remove(change.entry.0)
                {
                    let id = change.entry;
                    each(self, &lost, Fallen { id, uuid, name }, out);
                }
                Ok(true)
            })?;
        }
        while !over && !nothing_held {
            over = !slice.step(out);
            if over {
                break;
            }
            let Some((id, uuid, name)) = context.next_fallen(&mut lost.rest)? else {
                return Ok(true);
            };
            let name = name.as_str();
            lost.told.insert(id.0);
            each(self, &lost, Fallen { id, uuid, name }, out);
        }
        if over {
            self.lost = Some(lost);
        }
        Ok(!over)
    }

    /// Reports an entry of a deleted subtree, if the client has it.
    pub(super) fn tell_fallen(
        &mut self,
        context: &Context<'_>,
        lost: &Lost,
        entry: &Fallen<'_>,
        out: &mut Vec<u8>,
    ) {
        let had = self.members.remove(entry.id.0);
        match self.kind {
            Kind::Sync { .. } if had || lost.unsure && context.may_hear_of(entry.name) => {
                let (uuid, name) = (entry.uuid, entry.name.to_owned());
                let moment = None;
                self.put_left(Gone { uuid, name, moment }, out);
            }
            Kind::Persistent(asked)
                if (had || lost.unsure && self.names_content(context, entry.name))
                    && asked.wants(protocol::control::ChangeType::Delete) =>
            {
                self.put_deleted(entry.name, lost.number, out);
            }
            _ => {}
        }
    }
}
