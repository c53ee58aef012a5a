//! Links of a bulk load: added when all entries have ids, written at the end.

use schema::AttributeNumber;

use super::{Links, PLACE_BITS, PLACE_MASK, Texts};
use crate::bulk::keys::each;
use crate::bulk::loader::{BulkLoader, TRANSACTION_BYTES};
use crate::error::Error;
use crate::id::EntryId;
use crate::link::{SetId, chunk, rows, term};
use crate::lmdb::Put;

/// Links go to files above one part in so many of the memory limit, however much keys take: the
/// number of files stays small.
const SHARE: usize = 8;
/// Rows of `linked` written in one transaction.
const TRANSACTION_ROWS: usize = 200_000;

impl BulkLoader {
    /// Adds the set of an attribute to an entry. All entries must have been appended: later ids
    /// would follow those of sets. The entry's row must have the flag.
    ///
    /// # Errors
    /// [`Error::Full`], or [`Error::Conflict`] for more sets or entries than a load can take.
    pub fn add_links(
        &mut self,
        id: EntryId,
        number: AttributeNumber,
        members: &mut Vec<EntryId>,
    ) -> Result<(), Error> {
        members.sort_unstable();
        members.dedup();
        let place = self.links.sets.len() as u64;
        let Some(last) = members.last() else {
            return Ok(());
        };
        if place > PLACE_MASK || last.0 >> (64 - PLACE_BITS) != 0 {
            return Err(Error::conflict(
                "more groups or entries than an import takes",
            ));
        }
        let set = SetId(self.next_id());
        self.links.sets.push(set);
        let count = members.len() as u64;
        let links = &mut self.links;
        links.put_row(&rows::owned_key(id, number), &rows::owned_value(set, count));
        links.put_row(&rows::owner_key(set), &rows::owner_value(id, number));
        let mut lows = Vec::new();
        let mut value = Vec::new();
        let table = self.store.shared.tables.link;
        for part in members.chunk_by(|a, b| a.0 >> chunk::BITS == b.0 >> chunk::BITS) {
            lows.clear();
            lows.extend(part.iter().map(|it| rows::low(*it)));
            chunk::encode(&lows, &mut value);
            let key = rows::chunk_key(set, part[0]);
            self.transaction()?.put(table, &key, &value, Put::Append)?;
            self.uncommitted += key.len() + value.len();
            if self.uncommitted > TRANSACTION_BYTES {
                self.commit()?;
            }
        }
        for member in members {
            self.state.digest = self.state.digest.wrapping_add(term(set, *member));
            self.links.reverse.push(member.0 << PLACE_BITS | place);
        }
        let rest = self.memory.saturating_sub(self.collected());
        if self.links.memory() > rest.max(self.memory / SHARE) {
            self.links.spill(&self.temporary)?;
        }
        Ok(())
    }

    /// Returns the member id of a text that names no entry. Each text is added once.
    pub fn add_text(&mut self, text: &[u8], normal: &[u8]) -> EntryId {
        let id = self.next_id();
        let texts = &mut self.links.texts;
        texts.rows.extend(rows::text_value(text, normal));
        texts.ends.push((id, texts.rows.len()));
        texts.hashes.push(rows::hash_key(normal, id));
        id
    }

    fn next_id(&mut self) -> EntryId {
        let id = EntryId(self.state.next_id);
        self.state.next_id += 1;
        // No entry can be appended behind this id.
        self.last = id;
        id
    }
}

/// Writes the collected links into their tables.
pub(in crate::bulk) fn write_links(loader: &mut BulkLoader) -> Result<(), Error> {
    if !loader.links.rows.1.is_empty() {
        loader.links.spill(&loader.temporary)?;
    }
    let Links {
        sets,
        mut reverse,
        reverse_runs,
        rows: (mut rows, row_runs),
        texts,
    } = std::mem::take(&mut loader.links);
    rows.sort();
    let mut at = 0;
    each(&rows, row_runs, &mut |key, value| {
        at += 1;
        put_row(loader, at, key, value)
    })?;
    drop(rows);
    put_texts(loader, texts)?;
    let mut linked = Linked {
        sets,
        last: None,
        rows: 0,
    };
    if reverse_runs.is_empty() {
        reverse.sort_unstable();
        for link in &reverse {
            linked.put(loader, *link)?;
        }
    } else {
        reverse_runs.merge(&mut |key, _| linked.put(loader, link_of_run(key)?))?;
    }
    loader.commit()
}

fn link_of_run(key: &[u8]) -> Result<u64, Error> {
    let link = key.try_into().map(u64::from_be_bytes);
    link.map_err(|_| Error::corrupt("sorted run", "a link has a wrong length"))
}

/// Writes the rows of `linked` in their order.
struct Linked {
    sets: Vec<SetId>,
    /// Key of the bucket written last.
    last: Option<[u8; 5]>,
    rows: usize,
}

impl Linked {
    fn put(&mut self, loader: &mut BulkLoader, link: u64) -> Result<(), Error> {
        let member = EntryId(link >> PLACE_BITS);
        let Some(set) = self.sets.get((link & PLACE_MASK) as usize) else {
            return Ok(());
        };
        let bucket = rows::bucket(member);
        let put = match self.last.replace(bucket) {
            Some(last) if last == bucket => Put::AppendDuplicate,
            _ => Put::Append,
        };
        let item = rows::item(member, *set);
        let table = loader.store.shared.tables.linked;
        loader.transaction()?.put(table, &bucket, &item, put)?;
        self.rows += 1;
        if self.rows.is_multiple_of(TRANSACTION_ROWS) {
            loader.commit()?;
        }
        Ok(())
    }
}

/// Appends texts behind the rows that name owners of sets, and behind them the keys that lead to
/// texts.
fn put_texts(loader: &mut BulkLoader, texts: Texts) -> Result<(), Error> {
    let mut start = 0;
    for (at, (id, end)) in texts.ends.iter().enumerate() {
        put_row(loader, at, &rows::text_key(*id), &texts.rows[start..*end])?;
        start = *end;
    }
    let mut hashes = texts.hashes;
    hashes.sort_unstable();
    for (at, key) in hashes.iter().enumerate() {
        put_row(loader, at, key, &[])?;
    }
    Ok(())
}

/// Appends to `linkset` the row with index `at` among the rows of its kind.
fn put_row(loader: &mut BulkLoader, at: usize, key: &[u8], value: &[u8]) -> Result<(), Error> {
    let table = loader.store.shared.tables.linkset;
    loader.transaction()?.put(table, key, value, Put::Append)?;
    if at % TRANSACTION_ROWS == TRANSACTION_ROWS - 1 {
        loader.commit()?;
    }
    Ok(())
}
