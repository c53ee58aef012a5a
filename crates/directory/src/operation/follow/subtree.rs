//! Telling that a subtree was deleted as one. The history has one change for it, so who follows
//! looks for its entries itself: among those that are still stored, out of sight, and among those
//! that the history says were reclaimed since. In one state an entry is among these or those; an
//! entry that one slice found stored can be among the reclaimed ones of the next slice, so the ids
//! of stored entries that were told are kept until the subtree is done.
//!
//! They are told before anything that happened later, what stands below others first: so the
//! client never has an entry without its superior, and a name that was used again is free.

use super::*;
use store::TreeWalk;

/// A deleted subtree, as far as it is not told yet.
#[derive(Debug)]
pub(super) struct Lost {
    top: EntryId,
    /// What was reclaimed up to here has been told.
    read: Moment,
    rest: TreeWalk,
    /// Entries told while they were still stored: the history names them again once they are
    /// reclaimed.
    told: RoaringTreemap,
    /// It happened before the client's entries were known.
    unsure: bool,
    /// The number of the change.
    number: u64,
}

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
    /// The subtree of a change that is told as it happens.
    pub(super) fn lost_with(&self, top: EntryId, occasion: Occasion) -> Lost {
        Lost {
            unsure: occasion.moment <= self.learned,
            number: occasion.number,
            ..Lost::of(top, occasion.moment)
        }
    }

    /// Shows `each` the entries of a deleted subtree, as far as the slice goes; true when there is
    /// none left.
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
        // First what is reclaimed by now: it stood below what is still there.
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

    /// Tells an entry of a deleted subtree, if the client has it.
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
