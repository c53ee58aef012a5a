//! Changes of groups whose members were renamed or deleted: their values differ, although only the
//! member was written. Each group gets the stamps of a change and a row in the history.
//!
//! A rename changes as many groups, and reads as many entries below the renamed one, as other
//! writes may wait for. The rest is stored as a [`Tour`] and done by later writes of the server
//! (docs/adr/0046).

use super::Execution;
use super::draft::Draft;
use crate::history::Moment;
use crate::stop::Stop;
use store::{EntryId, EntryView, Holder, SetId, Snapshot, TreeWalk};

/// Number of entries read in the time of changing one group.
const LOOKS_FOR_CHANGE: u32 = 8;
/// Prefix of the keys of stored tours; the position of the rename's record follows, and the number
/// of changes before it in that record, both big-endian.
pub const META_TOURS: &[u8] = b"tour/";

const VERSION: u8 = 1;
const HEADER_BYTES: usize = 1 + 5 * 8;

/// Progress of changing all groups of an entry and the entries below it.
#[derive(Debug, Clone)]
struct Tour {
    /// Position of the rename's record: groups changed later show the new names already.
    position: u64,
    time_us: u64,
    /// The renamed entry. Its own groups are changed first.
    top: EntryId,
    /// The member whose groups are being changed, and the last of its sets that is done.
    member: Option<EntryId>,
    after: SetId,
    walk: TreeWalk,
}

impl Tour {
    fn of(top: EntryId, position: u64, time_us: u64) -> Tour {
        Tour {
            position,
            time_us,
            top,
            member: Some(top),
            after: SetId(EntryId::ROOT),
            walk: TreeWalk::of(top),
        }
    }

    /// The tour encoded as in docs/formats/database.md.
    fn encode(&self) -> Vec<u8> {
        let mut out = vec![VERSION];
        let member = self.member.unwrap_or(EntryId::ROOT);
        for number in [
            self.position,
            self.time_us,
            self.top.0,
            member.0,
            self.after.0.0,
        ] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        self.walk.encode(&mut out);
        out
    }

    /// Decodes a tour; `None` if the bytes are no tour.
    fn decode(bytes: &[u8]) -> Option<Tour> {
        let (header, walk) = bytes.split_at_checked(HEADER_BYTES)?;
        let (version, numbers) = header.split_first()?;
        let (numbers, _) = numbers.as_chunks::<8>();
        let [position, time_us, top, member, after] = numbers else {
            return None;
        };
        let id = |it: &[u8; 8]| EntryId(u64::from_le_bytes(*it));
        (*version == VERSION).then_some(Tour {
            position: u64::from_le_bytes(*position),
            time_us: u64::from_le_bytes(*time_us),
            top: id(top),
            member: Some(id(member)).filter(|it| !it.is_root()),
            after: SetId(id(after)),
            walk: TreeWalk::decode(walk)?,
        })
    }

    /// Returns the next holders of links to a member, at most `most`; an empty list if one member
    /// has none left, `None` at the end of the tour.
    fn next(&mut self, snapshot: &Snapshot<'_>, most: usize) -> Result<Option<Vec<Holder>>, Stop> {
        if self.member.is_none() {
            match self.walk.next(snapshot)? {
                // The top of the subtree is the last entry of the walk.
                Some((id, _)) if id != self.top => self.member = Some(id),
                _ => return Ok(None),
            }
        }
        let Some(member) = self.member else {
            return Ok(None);
        };
        let (holders, last) = snapshot.holders_after(member, self.after, most)?;
        if last.is_none() {
            self.member = None;
        }
        self.after = last.unwrap_or(SetId(EntryId::ROOT));
        Ok(Some(holders))
    }
}

impl Execution<'_, '_> {
    /// Changes the groups of a renamed entry, which the write has stamped, and of the entries below
    /// it.
    pub(super) fn change_groups_of(&mut self, top: EntryId) -> Result<(), Stop> {
        let mut tour = Tour::of(top, self.position, self.time_us);
        let mut budget = self.catalog.bounds.renamed_entries;
        if self.go_on(&mut tour, &mut budget)? {
            let mut key = META_TOURS.to_vec();
            key.extend_from_slice(&self.position.to_be_bytes());
            key.extend_from_slice(&self.history.count().to_be_bytes());
            self.batch.put_meta(&key, &tour.encode())?;
            self.noticed.left_work = true;
        }
        // The entry may be a member of itself.
        self.changed_groups.remove(&top);
        Ok(())
    }

    /// Continues stored tours within a budget; returns whether there was one.
    pub(super) fn go_on_with_tours(&mut self, mut budget: u32) -> Result<bool, Stop> {
        let mut was_one = false;
        while budget > 0 {
            let (key, mut tour) = match self.batch.snapshot().first_meta(META_TOURS)? {
                Some((key, value)) => (key.to_vec(), Tour::decode(value).ok_or_else(damaged)?),
                None => break,
            };
            was_one = true;
            if self.go_on(&mut tour, &mut budget)? {
                self.batch.put_meta(&key, &tour.encode())?;
            } else {
                self.batch.delete_meta(&key)?;
            }
        }
        Ok(was_one)
    }

    /// Continues a tour within a budget; returns whether work is left.
    fn go_on(&mut self, tour: &mut Tour, budget: &mut u32) -> Result<bool, Stop> {
        while *budget > 0 {
            let most = budget.div_ceil(LOOKS_FOR_CHANGE);
            let Some(holders) = tour.next(&self.batch.snapshot(), most as usize)? else {
                return Ok(false);
            };
            *budget = budget.saturating_sub(1);
            for holder in holders {
                let cost = match self.shows_old(holder.id, tour)? {
                    true if self.changed_groups.insert(holder.id) => LOOKS_FOR_CHANGE,
                    _ => 1,
                };
                *budget = budget.saturating_sub(cost);
            }
        }
        Ok(true)
    }

    /// Returns whether a group was last changed before the rename, or in the same record, so that
    /// readers of that version have seen old names.
    fn shows_old(&self, group: EntryId, tour: &Tour) -> Result<bool, Stop> {
        let snapshot = self.batch.snapshot();
        let Some(view) = snapshot.entry(group)? else {
            return Ok(false);
        };
        let csn = view.attribute(self.catalog.known.entry_csn.number);
        let csn = csn.and_then(|it| {
            let first = it.values().into_iter().next()?;
            Moment::from_csn(std::str::from_utf8(first).ok()?)
        });
        // Both conditions are needed: a client may have given the group an entryCSN in the future,
        // and recording failed binds writes an entry without changing it.
        let later =
            view.position() > tour.position && csn.is_some_and(|it| it.time_us > tour.time_us);
        Ok(!later)
    }

    /// Stores the stamps of the groups that the write has changed.
    pub(super) fn stamp_groups(&mut self) -> Result<(), Stop> {
        for group in std::mem::take(&mut self.changed_groups) {
            let bytes = {
                let snapshot = self.batch.snapshot();
                let Some(view) = snapshot.entry(group)? else {
                    continue;
                };
                self.stamped(group, &view, &snapshot)?
            };
            self.batch.update(group, &bytes)?;
            self.audit_consequence(group)?;
            self.history.modified(group);
            self.noticed.changed += 1;
        }
        Ok(())
    }

    /// Returns the unchanged group with the stamps of a change; `modifiersName` stays.
    fn stamped(
        &self,
        group: EntryId,
        view: &EntryView<'_>,
        snapshot: &Snapshot<'_>,
    ) -> Result<Vec<u8>, Stop> {
        let mut draft = Draft::whole(group, view, snapshot, &self.schema)?;
        self.stamp(&mut draft, "", &[self.catalog.known.modifiers_name.number]);
        Ok(draft.encode(&self.schema, self.position))
    }
}

fn damaged() -> Stop {
    store::Error::Corrupt {
        table: "meta",
        detail: "the way to groups whose members were renamed cannot be read".to_owned(),
    }
    .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tour_is_stored_and_read() {
        let mut tour = Tour::of(EntryId(7), 5, 1_000);
        for member in [None, Some(EntryId(9))] {
            tour.member = member;
            tour.after = SetId(EntryId(11));
            let bytes = tour.encode();
            let read = Tour::decode(&bytes).expect("just written");
            assert_eq!(format!("{read:?}"), format!("{tour:?}"));
            for length in 0..bytes.len() {
                let cut = Tour::decode(&bytes[..length]);
                assert!(cut.is_none_or(|it| it.encode().len() == length), "{length}");
            }
        }
    }
}
