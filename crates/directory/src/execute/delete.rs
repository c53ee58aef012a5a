//! Execution of a delete: of one entry, or of an entry with everything below it.

use super::Execution;
use crate::clock::parse_uuid;
use crate::stop::{Refusal, Stop};
use crate::write::Write;
use protocol::ResultCode;
use store::EntryId;

/// Entries that one tree delete removes. They go in one transaction, so that nobody sees half of
/// it, and so other writes wait for them: the bound keeps that wait short and the memory small.
const TREE_ENTRIES_MAX: usize = 50_000;

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
                format!("the entry has {children} entries below it"),
            );
        }
        if write.name == self.catalog.config {
            return Stop::refuse(
                ResultCode::UNWILLING_TO_PERFORM,
                "cn=config is always there",
            );
        }
        let row = if parent.is_root() {
            write.name.bytes()
        } else {
            write.name.leaf().unwrap_or(&[])
        };
        if children > 0 {
            // From the last one found to the first: nothing is deleted before what is below it.
            for doomed in self.below(id)?.iter().rev() {
                self.remove(doomed.id, doomed.parent, &doomed.row)?;
            }
        }
        self.remove(id, parent, row)
    }

    fn remove(&mut self, id: EntryId, parent: EntryId, row: &[u8]) -> Result<(), Stop> {
        let (uuid, spelled) = (self.uuid_of(id)?, self.spelled_name(id)?);
        self.batch.delete(id, (parent, row))?;
        self.history.deleted(id, uuid, &spelled);
        Ok(())
    }

    /// The entry's UUID; zero in an entry that was imported with something else in its place.
    fn uuid_of(&self, id: EntryId) -> Result<[u8; 16], Stop> {
        let Some(view) = self.batch.snapshot().entry(id)? else {
            return Err(super::missing_row(id));
        };
        let uuid = view.attribute(self.catalog.known.entry_uuid.number);
        let uuid = uuid.and_then(|it| parse_uuid(it.values().into_iter().next()?));
        Ok(uuid.unwrap_or_default())
    }

    /// Everything below an entry, superiors first. Naming contexts of their own are not below it.
    fn below(&self, top: EntryId) -> Result<Vec<Doomed>, Stop> {
        let snapshot = self.batch.snapshot();
        let mut found: Vec<Doomed> = Vec::new();
        let mut parent = top;
        let mut at = 0;
        loop {
            if snapshot.child_count(parent)? > 0 {
                for child in snapshot.children(parent) {
                    let id = child?;
                    if found.len() + 1 == TREE_ENTRIES_MAX {
                        return Err(too_many());
                    }
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
                return Ok(found);
            };
            parent = next.id;
            at += 1;
        }
    }
}

fn too_many() -> Stop {
    let text = format!(
        "the subtree has more than {TREE_ENTRIES_MAX} entries, which is what one operation \
         deletes; nothing was changed: delete smaller subtrees of it first"
    );
    Refusal::new(ResultCode::ADMIN_LIMIT_EXCEEDED, text).into()
}

fn unnamed(id: EntryId, error: &schema::NameError) -> Stop {
    let detail = format!("the RDN of entry {id:?} cannot be read: {error}");
    store::Error::Corrupt {
        table: "entry",
        detail,
    }
    .into()
}
