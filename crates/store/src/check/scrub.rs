//! Reading everything once, in short steps, beside clients and writes: what a check finds of
//! entries, names and links, without a state that is held from the beginning to the end.
//!
//! Invariant: a step compares rows within the snapshot that it is given, and keeps keys alone for
//! the next one. So steps may be as far apart as they like, and keep no page from being used again.

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

/// Rows, or ids that have none, that a step looks at.
const STEP_ROWS: usize = 1_024;
/// Bytes of entries after which a step ends, so that the entry that goes beyond them is its last.
const STEP_BYTES: u64 = 1 << 20;
/// Bytes that a look at a row costs beside what it holds: parts of pages on the way to it.
const LOOK_BYTES: u64 = 256;

/// Where a walk over everything is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scrub {
    part: Part,
}

/// What is read, with the place behind which the next step begins.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    /// Entries by id, and the name of each.
    Entries(EntryId),
    /// Names, and that their entries are there; the key.
    Names(Vec<u8>),
    /// Chunks of links, and that each member knows of its set; the key.
    Links(Vec<u8>),
    /// What members know of sets, and that each set has the member; the key and the item.
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
    /// Whether everything has been read.
    pub fn is_done(&self) -> bool {
        self.part == Part::Done
    }

    /// Bounds of what the next step is about, for those who watch: the part of four, and the id of
    /// the last entry read while entries are read.
    pub fn place(&self) -> (u8, u64) {
        match &self.part {
            Part::Entries(id) => (1, id.0),
            Part::Names(_) => (2, 0),
            Part::Links(_) => (3, 0),
            Part::Members(..) => (4, 0),
            Part::Done => (5, 0),
        }
    }

    /// Reads on from where the step before ended, and says what is damaged, in words, to `damage`,
    /// with the entry if it is one that cannot be read. Returns about how many bytes it has read.
    ///
    /// # Errors
    /// What LMDB says; a part of a table that cannot be walked over, and is not read further.
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

/// One step under way.
struct Step<'s, 'a> {
    snapshot: &'s Snapshot<'a>,
    schema: &'s Schema,
    damage: &'s mut dyn FnMut(Option<EntryId>, String),
    bytes: u64,
}

impl Step<'_, '_> {
    /// Looks entries up by id. A walk along the leaves would pass over those that a damaged page
    /// above them hides without a word, as this does; their names are found in the next part.
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
            (self.damage)(Some(id), format!("the name of entry {id} is none"));
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
                (None, Ok(_)) => (self.damage)(None, "a chunk of links has no key".to_owned()),
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
            "set {} and its member {member} do not know of each other",
            set.0
        );
        (self.damage)(None, text);
    }
}

/// The first row with a greater key; with an empty one, which no row has, the first of all.
fn row_behind<'t>(cursor: &mut Cursor<'t>, key: &[u8]) -> Result<Option<Row<'t>>, Error> {
    match key.is_empty() {
        true => cursor.next(),
        false => cursor.seek_behind(key),
    }
}
