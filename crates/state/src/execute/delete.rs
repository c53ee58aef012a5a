//! Execution of a delete: of one entry, or of an entry with everything below it.
//!
//! A large subtree, and an entry in many groups, is detached: out of sight at once, whatever its
//! size. Its entries leave their groups and are reclaimed in later writes, which the writer makes
//! for as long as there are any.

use super::Execution;
use super::draft::Draft;
use crate::stop::Stop;
use crate::time::parse_uuid;
use crate::write::Write;
use protocol::ResultCode;
use protocol::counted;
use std::borrow::Cow;
use store::EntryId;

/// Links that are cleared away in the time that an entry takes.
const LINKS_FOR_ENTRY: u64 = 10;

/// Entries that are looked at, on the way to groups, in the time that the removal of one takes.
const LOOKS_FOR_ENTRY: u32 = 8;

/// An entry that is going to be deleted.
struct Doomed {
    id: EntryId,
    parent: EntryId,
    /// Its name below the parent, normalised.
    row: Vec<u8>,
}

impl Execution<'_, '_> {
    pub(super) fn delete(&mut self, write: &Write) -> Result<(), Stop> {
        let id = self.locate(write)?;
        let (parent, children) = {
            let snapshot = self.batch.snapshot();
            let parent = snapshot.entry(id)?.map(|view| view.parent());
            (parent, snapshot.child_count(id)?)
        };
        let Some(parent) = parent else {
            return Err(super::missing_row(id));
        };
        let tree = write.has(|it| it.tree);
        if children > 0 && !tree {
            return Stop::refuse(
                ResultCode::NOT_ALLOWED_ON_NON_LEAF,
                format!("the entry has {} below it", counted(children, "entry")),
            );
        }
        if *write.name() == self.catalog.config {
            return Stop::refuse(
                ResultCode::UNWILLING_TO_PERFORM,
                "cn=config is always there",
            );
        }
        let row = if parent.is_root() {
            write.name().bytes()
        } else {
            write.name().leaf().unwrap_or(&[])
        };
        self.refuse_members(id, children > 0)?;
        // The configuration is never detached: what it was made of must be gone when it is read
        // again.
        let bounded = !write.name().is_within(&self.catalog.config);
        if children > 0 {
            let Some(below) = self.below(id, bounded)? else {
                return self.detach(id, (parent, row));
            };
            // From the last one found to the first: nothing is deleted before what is below it.
            for doomed in below.iter().rev() {
                self.remove(doomed.id, doomed.parent, &doomed.row)?;
            }
            self.noticed.changed += below.len() as u32;
        } else if bounded && self.are_in_many_groups(std::iter::once(id))? {
            return self.detach(id, (parent, row));
        }
        self.remove(id, parent, row)
    }

    fn remove(&mut self, id: EntryId, parent: EntryId, row: &[u8]) -> Result<(), Stop> {
        let (uuid, spelled) = self.remains(id)?;
        self.leave_groups(id, &spelled, usize::MAX)?;
        self.leave_texts(&spelled)?;
        let links = self
            .batch
            .snapshot()
            .stored_entry(id)?
            .is_some_and(|it| it.has_links());
        self.batch.delete(id, (parent, row))?;
        self.noticed.left_work |= links && self.batch.snapshot().detached_set()?.is_some();
        self.history.deleted(id, uuid, &spelled);
        Ok(())
    }

    /// Takes an entry with everything below it out of sight.
    fn detach(&mut self, id: EntryId, name: (EntryId, &[u8])) -> Result<(), Stop> {
        let (uuid, spelled) = self.remains(id)?;
        let bytes = {
            let snapshot = self.batch.snapshot();
            let Some(view) = snapshot.entry(id)? else {
                return Err(super::missing_row(id));
            };
            let mut draft = Draft::whole(id, &view, &snapshot, &self.schema)?;
            draft.parent = EntryId::DETACHED;
            draft.rdn = Cow::Borrowed(&spelled);
            draft.encode(&self.schema, self.position)
        };
        self.batch.detach(id, name, &bytes)?;
        self.leave_texts(&spelled)?;
        self.history.subtree_deleted(id, uuid, &spelled);
        self.noticed.left_work = true;
        Ok(())
    }

    /// Does what former writes have left: takes detached entries out of groups and removes them,
    /// at most so many of both together; then removes links of detached sets, then changes groups
    /// whose members have other names.
    pub(super) fn reclaim(&mut self, most: u32) -> Result<(), Stop> {
        let doomed = self.batch.snapshot().next_detached(most as usize)?;
        let mut left = most as usize;
        for entry in &doomed {
            if left == 0 {
                break;
            }
            let (uuid, spelled) = self.remains(entry.id)?;
            let (groups, more) = self.leave_groups(entry.id, &spelled, left)?;
            left = left.saturating_sub(groups);
            if more {
                left = 0;
                break;
            }
            self.batch.reclaim(entry)?;
            self.history.reclaimed(entry.id, entry.top, uuid, &spelled);
            left = left.saturating_sub(1);
            self.noticed.changed += 1;
            self.noticed.reclaimed += 1;
        }
        // A link is two rows, an entry some twenty.
        let links = match left {
            0 => 0,
            left => self.batch.reclaim_links(left as u64 * LINKS_FOR_ENTRY)?,
        };
        let looks = left as u32 * LOOKS_FOR_ENTRY;
        let toured = links == 0 && self.go_on_with_tours(looks)?;
        if doomed.is_empty() && links == 0 && !toured {
            let text = "nothing is left to be done after former writes";
            return Stop::refuse(ResultCode::NO_SUCH_OBJECT, text);
        }
        Ok(())
    }

    /// What is told of an entry that goes: its UUID, zero in an entry that was imported with
    /// something else in its place, and its name as spelled.
    fn remains(&self, id: EntryId) -> Result<([u8; 16], String), Stop> {
        let snapshot = self.batch.snapshot();
        let Some(view) = snapshot.stored_entry(id)? else {
            return Err(super::missing_row(id));
        };
        let uuid = view.attribute(self.catalog.known.entry_uuid.number);
        let uuid = uuid.and_then(|it| parse_uuid(it.values().into_iter().next()?));
        let mut name = Vec::new();
        snapshot.write_name(&view, &mut name)?;
        let name = String::from_utf8_lossy(&name).into_owned();
        Ok((uuid.unwrap_or_default(), name))
    }

    /// Everything below an entry, superiors first; `None` when that is too much to be removed at
    /// once: there are very many, or they are in very many groups. Naming contexts of their own are
    /// not below it.
    fn below(&self, top: EntryId, bounded: bool) -> Result<Option<Vec<Doomed>>, Stop> {
        let snapshot = self.batch.snapshot();
        let mut found: Vec<Doomed> = Vec::new();
        let mut parent = top;
        let mut at = 0;
        loop {
            let children = snapshot.child_count(parent)?;
            if bounded
                && found.len() as u64 + children >= self.catalog.bounds.deleted_entries as u64
            {
                return Ok(None);
            }
            if children > 0 {
                for child in snapshot.children(parent) {
                    let id = child?;
                    let Some(view) = snapshot.entry(id)? else {
                        return Err(super::missing_row(id));
                    };
                    let row = match self.schema.resolve_rdn(view.rdn()) {
                        Ok(rdn) => rdn.normal,
                        Err(error) => return Err(unnamed(id, &error)),
                    };
                    found.push(Doomed { id, parent, row });
                }
            }
            let Some(next) = found.get(at) else {
                let all = found.iter().map(|it| it.id).chain([top]);
                return Ok((!bounded || !self.are_in_many_groups(all)?).then_some(found));
            };
            parent = next.id;
            at += 1;
        }
    }
}

fn unnamed(id: EntryId, error: &schema::NameError) -> Stop {
    let detail = format!("the RDN of entry {id:?} cannot be read: {error}");
    store::Error::Corrupt {
        table: "entry",
        detail,
    }
    .into()
}
