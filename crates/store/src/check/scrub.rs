//! Reading the whole database in short steps, beside clients and writes: finds the damage of
//! entries, names and links that a check finds, without one snapshot held from beginning to end.
//!
//! Invariant: a step compares rows within the snapshot that it is given, and keeps only keys for
//! the next step. So any time may pass between steps, and no page is kept from reuse.

use schema::Schema;

use super::rows::{is_stored, name_key};
use crate::entry::EntryView;
use crate::error::Error;
use crate::id::EntryId;
use crate::link::chunk::Chunk;
use crate::link::{SetId, rows};
use crate::lmdb::{Cursor, Row};
use crate::snapshot::Snapshot;
use crate::tables::id_of_name;

/// Rows, or ids without rows, that a step reads.
const STEP_ROWS: usize = 1_024;
/// Bytes of entries after which a step ends; the entry that exceeds them is its last.
const STEP_BYTES: u64 = 1 << 20;
/// Approximate bytes read for a look-up beside the row itself: parts of pages on the way to it.
const LOOK_BYTES: u64 = 256;

/// Position of a scrub in the database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scrub {
    part: Part,
}

/// The part of the database being read, with the key or id behind which the next step begins.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    /// Entries by id, with the name of each.
    Entries(EntryId),
    /// Name rows, with the entries they lead to; the key.
    Names(Vec<u8>),
    /// Chunks of links, with the back-reference of each member; the key.
    Links(Vec<u8>),
    /// Back-references of members, with the set of each; the key and the item.
    Members(Vec<u8>, Vec<u8>),
    Done,
}

impl Default for Scrub {
    fn default() -> Scrub {
        Scrub {
            part: Part::Entries(EntryId::ROOT),
        }
    }
}

impl Scrub {
    /// Returns whether the whole database has been read.
    pub fn is_done(&self) -> bool {
        self.part == Part::Done
    }

    /// Progress of the scrub, for operators: the number of the part of four, and the id of the last
    /// entry read while entries are read, 0 afterwards.
    pub fn place(&self) -> (u8, u64) {
        match &self.part {
            Part::Entries(id) => (1, id.0),
            Part::Names(_) => (2, 0),
            Part::Links(_) => (3, 0),
            Part::Members(..) => (4, 0),
            Part::Done => (5, 0),
        }
    }

    /// Reads on from the end of the previous step. Passes each damage to `damage` as text, with the
    /// entry's id if it is an entry that cannot be read. Returns about how many bytes were read.
    ///
    /// # Errors
    /// Errors of LMDB; for a part of a table that cannot be walked, which is then skipped.
    pub fn step(
        &mut self,
        snapshot: &Snapshot<'_>,
        schema: &Schema,
        damage: &mut dyn FnMut(Option<EntryId>, String),
    ) -> Result<u64, Error> {
        let mut step = Step {
            snapshot,
            schema,
            damage,
            bytes: 0,
        };
        let next = match &self.part {
            Part::Entries(id) => step.entries(*id),
            Part::Names(key) => step.names(key),
            Part::Links(key) => step.links(key),
            Part::Members(key, item) => step.members(key, item),
            Part::Done => Ok(None),
        };
        let bytes = step.bytes;
        let (next, result) = match next {
            Ok(next) => (next, Ok(bytes)),
            Err(error) => (None, Err(error)),
        };
        self.part = next.unwrap_or(match self.part {
            Part::Entries(_) => Part::Names(Vec::new()),
            Part::Names(_) => Part::Links(Vec::new()),
            Part::Links(_) => Part::Members(Vec::new(), Vec::new()),
            Part::Members(..) | Part::Done => Part::Done,
        });
        result
    }
}

/// State of one step.
struct Step<'s, 'a> {
    snapshot: &'s Snapshot<'a>,
    schema: &'s Schema,
    damage: &'s mut dyn FnMut(Option<EntryId>, String),
    bytes: u64,
}

impl Step<'_, '_> {
    /// Looks entries up by id. A walk along the leaves would silently pass over entries that a
    /// damaged page above hides, and so does this; the next part finds their names.
    fn entries(&mut self, behind: EntryId) -> Result<Option<Part>, Error> {
        let last = self.snapshot.last_id()?;
        let mut id = behind;
        for _ in 0..STEP_ROWS {
            if id >= last {
                return Ok(None);
            }
            id = EntryId(id.0 + 1);
            self.bytes += LOOK_BYTES;
            match self.snapshot.stored_entry(id) {
                Ok(Some(view)) => self.entry(id, &view)?,
                Ok(None) => {}
                Err(error @ Error::DamagedEntry { .. }) => {
                    (self.damage)(Some(id), error.to_string());
                }
                Err(error) => (self.damage)(Some(id), format!("entry {id}: {error}")),
            }
            if self.bytes >= STEP_BYTES {
                break;
            }
        }
        Ok(Some(Part::Entries(id)))
    }

    fn entry(&mut self, id: EntryId, view: &EntryView<'_>) -> Result<(), Error> {
        self.bytes += view.all_attributes().len() as u64;
        let Some(key) = name_key(self.schema, id, view) else {
            (self.damage)(
                Some(id),
                format!("the name of entry {id} cannot be resolved"),
            );
            return Ok(());
        };
        let table = self.snapshot.tables.name;
        let row = self.snapshot.transaction.get(table, key.bytes())?;
        let found = row.map(|row| id_of_name(key.bytes(), row)).transpose();
        if !matches!(found, Ok(Some(found)) if found == id) {
            let rdn = view.rdn();
            let text = format!("entry {id} ({rdn}) is not found by its name");
            (self.damage)(None, text);
        }
        Ok(())
    }

    fn names(&mut self, behind: &[u8]) -> Result<Option<Part>, Error> {
        let mut cursor = self
            .snapshot
            .transaction
            .cursor(self.snapshot.tables.name)?;
        let mut row = row_behind(&mut cursor, behind)?;
        let mut last = None;
        for _ in 0..STEP_ROWS {
            let Some((key, value)) = row else {
                return Ok(None);
            };
            self.bytes += LOOK_BYTES;
            match id_of_name(key, value) {
                Ok(id) if !is_stored(self.snapshot, id)? => {
                    let text = format!("a name leads to entry {id}, which is missing");
                    (self.damage)(None, text);
                }
                Ok(_) => {}
                Err(error) => (self.damage)(None, error.to_string()),
            }
            last = Some(key);
            row = cursor.next()?;
        }
        Ok(last.map(|key| Part::Names(key.to_vec())))
    }

    fn links(&mut self, behind: &[u8]) -> Result<Option<Part>, Error> {
        let (transaction, tables) = (self.snapshot.transaction, self.snapshot.tables);
        let mut cursor = transaction.cursor(tables.link)?;
        let mut reverse = transaction.cursor(tables.linked)?;
        let mut row = row_behind(&mut cursor, behind)?;
        let (mut last, mut looked) = (None, 0);
        while looked < STEP_ROWS {
            let Some((key, value)) = row else {
                return Ok(None);
            };
            self.bytes += LOOK_BYTES;
            let chunk = Chunk::parse(value).and_then(|it| it.check().map(|()| it));
            match (rows::of_chunk_key(key), chunk) {
                (Some((set, first)), Ok(chunk)) => {
                    let owner = transaction.get(tables.linkset, &rows::owner_key(set))?;
                    if owner.is_none() {
                        (self.damage)(None, format!("set {} has members but no owner", set.0));
                    }
                    for low in chunk.members() {
                        looked += 1;
                        self.bytes += LOOK_BYTES;
                        let member = EntryId(first.0 | u64::from(low));
                        let item = rows::item(member, set);
                        if reverse.seek_item(&rows::bucket(member), &item)? != Some(&item[..]) {
                            self.misses(set, member);
                        }
                    }
                }
                (_, Err(error)) => (self.damage)(None, error.to_string()),
                (None, Ok(_)) => (self.damage)(
                    None,
                    "the key of a chunk of links cannot be read".to_owned(),
                ),
            }
            looked += 1;
            last = Some(key);
            row = cursor.next()?;
        }
        Ok(last.map(|key| Part::Links(key.to_vec())))
    }

    fn members(&mut self, key: &[u8], item: &[u8]) -> Result<Option<Part>, Error> {
        let snapshot = self.snapshot;
        let mut cursor = snapshot.transaction.cursor(snapshot.tables.linked)?;
        let mut row = match key.is_empty() {
            true => cursor.next()?,
            false => match cursor.seek_item(key, item)? {
                Some(found) if found == item => cursor.next()?,
                Some(found) => Some((key, found)),
                None => cursor.seek_behind(key)?,
            },
        };
        let mut last = None;
        for _ in 0..STEP_ROWS {
            let Some((key, item)) = row else {
                return Ok(None);
            };
            self.bytes += LOOK_BYTES;
            match rows::of_item(key, item) {
                Some((member, set)) if !snapshot.has_member(set, member)? => {
                    self.misses(set, member);
                }
                Some(_) => {}
                None => (self.damage)(None, "a link of a member cannot be read".to_owned()),
            }
            last = Some((key, item));
            row = cursor.next()?;
        }
        Ok(last.map(|(key, item)| Part::Members(key.to_vec(), item.to_vec())))
    }

    fn misses(&mut self, set: SetId, member: EntryId) {
        let text = format!(
            "set {} and its member {member} do not refer to each other",
            set.0
        );
        (self.damage)(None, text);
    }
}

/// Returns the first row with a greater key; for an empty key, the first row of the table.
fn row_behind<'t>(cursor: &mut Cursor<'t>, key: &[u8]) -> Result<Option<Row<'t>>, Error> {
    match key.is_empty() {
        true => cursor.next(),
        false => cursor.seek_behind(key),
    }
}
