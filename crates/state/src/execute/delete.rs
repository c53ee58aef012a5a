//! Execution of a delete: of one entry, or of a whole subtree.
//!
//! A large subtree, or an entry in many groups, is detached: invisible at once, whatever its size.
//! Its entries leave their groups and are reclaimed by later writes of the writer.

use super::Execution;
use super::draft::Draft;
use crate::stop::Stop;
use crate::time::parse_uuid;
use crate::write::Write;
use protocol::ResultCode;
use protocol::counted;
use std::borrow::Cow;
use store::EntryId;

/// Number of links cleared in the time of one entry.
const LINKS_FOR_ENTRY: u64 = 10;

/// Number of entries looked up for groups in the time that removing an entry takes.
const LOOKS_FOR_ENTRY: u32 = 8;

/// An entry to be deleted.
struct Doomed {
    id: EntryId,
    parent: EntryId,
    /// Key of the entry's row in the names table: its RDN, normalised, below the superior.
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
        self.notice_lost_name(id, children > 0);
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
        // The configuration is never detached: when it is read again, deleted entries must be gone.
        let bounded = !write.name().is_within(&self.catalog.config);
        if children > 0 {
            let Some(below) = self.below(id, bounded)? else {
                return self.detach(id, (parent, row));
            };
            // In reverse order, so that no entry is deleted before its subordinates.
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

    /// Detaches an entry with all its subordinates.
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

    /// Does work that earlier writes left: removes detached entries from groups and then from the
    /// database, at most `most` of both together; then removes links of sets without an owner; then
    /// changes groups whose members were renamed.
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
        // A link has two rows, an entry some twenty.
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

    /// UUID and spelled name of an entry to be removed, for the history. The UUID is zero for an
    /// entry imported with an invalid one.
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

    /// Returns all entries below an entry, superiors first, except other naming contexts. `None` if
    /// removing them takes too long for one write: they are too many, or in too many groups.
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
