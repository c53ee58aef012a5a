//! Comparing index rows with entries: first the sums of expected and present rows, then entry by
//! entry for indexes whose sums differ.

use std::collections::{BTreeMap, HashMap};

use roaring::RoaringBitmap;

use super::report::Report;
use super::sums::Sum;
use crate::entry::EntryView;
use crate::error::Error;
use crate::id::{EntryId, ID_BYTES};
use crate::index::equality::{ITEM_BYTES, bucket, holder, item};
use crate::index::keys::{HashedKey, Keys};
use crate::index::posting::{self, ChunkKey};
use crate::index_set::{IndexKind, IndexSet, WritePlan};
use crate::lmdb::Table;
use crate::snapshot::Snapshot;

/// Kind and attribute number: the first bytes of every index key.
type Owner = [u8; 3];

/// Bytes of [`hashed_row`].
const HASHED_BYTES: usize = posting::PREFIX_BYTES + 8;

/// Expected index rows.
pub(super) struct Rows<'a> {
    snapshot: Snapshot<'a>,
    indexes: IndexSet,
    plan: WritePlan,
    /// Sums of the rows that the entries require.
    expected: BTreeMap<Owner, Sum>,
    /// Owners whose rows are being built or removed, so that any rows are right.
    in_motion: Vec<Owner>,
    /// Owners whose rows differ from those that the entries require.
    wrong: Vec<Owner>,
    keys: Keys,
    scratch: Vec<u8>,
    /// Decoded chunks of ids around the current entry.
    chunks: HashMap<ChunkKey, Option<RoaringBitmap>>,
    chunks_of: u64,
}

impl<'a> Rows<'a> {
    pub fn new(snapshot: Snapshot<'a>, indexes: &IndexSet) -> Result<Rows<'a>, Error> {
        let mut complete = indexes.clone();
        complete.definitions.retain(|it| it.ready);
        let mut in_motion = Vec::new();
        for state in snapshot.index_states()? {
            let type_id = complete.schema.attribute_type(&state.attribute);
            let numbers = type_id.and_then(|it| {
                let description = schema::Description::of_type(it);
                complete.schema.number(&description)
            });
            for kind in (state.building | state.dropping | state.pending).iter() {
                in_motion.extend(numbers.map(|number| owner(kind, number.0)));
            }
        }
        Ok(Rows {
            snapshot,
            plan: complete.plan(),
            indexes: complete,
            expected: BTreeMap::new(),
            in_motion,
            wrong: Vec::new(),
            keys: Keys::default(),
            scratch: Vec::new(),
            chunks: HashMap::new(),
            chunks_of: 0,
        })
    }

    /// Adds the rows that an entry requires.
    pub fn expect(&mut self, id: EntryId, view: &EntryView<'_>) {
        let mut keys = std::mem::take(&mut self.keys);
        keys.of_entry(&self.indexes.schema, &self.plan, view, &mut self.scratch);
        for key in &keys.hashed {
            let sum = self.expected.entry(owner(key.kind, key.base)).or_default();
            sum.add(&hashed_row(&posting::prefix(key), id));
        }
        for range in &keys.ordered {
            let key = keys.ordered_bytes(*range);
            let sum = self.expected.entry([key[0], key[1], key[2]]).or_default();
            self.scratch.clear();
            self.scratch.extend_from_slice(key);
            self.scratch.extend_from_slice(&id.packed());
            sum.add(&self.scratch);
        }
        self.keys = keys;
    }

    /// Compares the tables with the rows that all entries require. Returns whether they agree; if
    /// not, [`Rows::find_missing`] names the missing rows.
    pub fn check_tables(&mut self, report: &mut Report) -> Result<bool, Error> {
        let mut found: BTreeMap<Owner, Sum> = BTreeMap::new();
        self.sum_buckets(&mut found, report)?;
        self.sum_postings(&mut found, report)?;
        self.sum_ordered(&mut found, report)?;
        found.retain(|owner, _| !self.in_motion.contains(owner));
        self.expected
            .retain(|owner, _| !self.in_motion.contains(owner));
        report.index_rows = found.values().map(|it| it.rows).sum();
        for (owner, expected) in &self.expected {
            let sum = found.remove(owner).unwrap_or_default();
            if sum == *expected {
                continue;
            }
            self.wrong.push(*owner);
            let (index, expected, rows) = (name(owner), expected.rows, sum.rows);
            report.add(|| match rows == expected {
                true => format!("index {index} has the right number of rows, but wrong ones"),
                false => format!("index {index} should have {expected} rows and has {rows}"),
            });
        }
        for (owner, sum) in found {
            let (index, rows) = (name(&owner), sum.rows);
            report.add(|| format!("index {index} should be empty and has {rows} rows"));
        }
        Ok(self.wrong.is_empty())
    }

    /// Looks up every key of an entry in the indexes whose sums differ.
    pub fn find_missing(
        &mut self,
        id: EntryId,
        view: &EntryView<'_>,
        report: &mut Report,
    ) -> Result<(), Error> {
        let mut keys = std::mem::take(&mut self.keys);
        keys.of_entry(&self.indexes.schema, &self.plan, view, &mut self.scratch);
        for key in &keys.hashed {
            if !self.wrong.contains(&owner(key.kind, key.base)) {
                continue;
            }
            let found = self.holds(key, id)?;
            report.expect(found, || {
                let kind = key.kind.name();
                format!(
                    "entry {id} is missing in the {kind} index of attribute {}",
                    key.base
                )
            });
        }
        for range in &keys.ordered {
            let key = keys.ordered_bytes(*range);
            let owner = [key[0], key[1], key[2]];
            if !self.wrong.contains(&owner) {
                continue;
            }
            let row = [key, &id.packed()].concat();
            let found = (self.snapshot.transaction).get(self.snapshot.tables.order, &row)?;
            report.expect(found.is_some(), || {
                format!("entry {id} is missing in the ordering index {owner:?}")
            });
        }
        self.keys = keys;
        Ok(())
    }

    /// Returns whether an entry is among the holders of a key.
    fn holds(&mut self, key: &HashedKey, id: EntryId) -> Result<bool, Error> {
        let snapshot = self.snapshot;
        if crate::batch::keeps_buckets(key.kind) {
            let mut cursor = snapshot.transaction.cursor(snapshot.tables.index)?;
            let mark = item(key.hash, EntryId::ROOT);
            let first = cursor.seek_item(&bucket(key), &mark)?;
            if first != Some(&mark) {
                let wanted = item(key.hash, id);
                return Ok(cursor.seek_item(&bucket(key), &wanted)? == Some(&wanted));
            }
        }
        if self.chunks_of != id.0 >> 16 {
            self.chunks.clear();
            self.chunks_of = id.0 >> 16;
        }
        let chunk = posting::chunk_key(key, id);
        let bitmap = match self.chunks.entry(chunk) {
            std::collections::hash_map::Entry::Occupied(known) => known.into_mut(),
            std::collections::hash_map::Entry::Vacant(vacant) => {
                let row = snapshot.transaction.get(snapshot.tables.posting, &chunk)?;
                vacant.insert(row.and_then(|value| posting::decode(value).ok()))
            }
        };
        Ok(bitmap.as_ref().is_some_and(|it| it.contains(id.0 as u32)))
    }

    fn sum_buckets(
        &self,
        found: &mut BTreeMap<Owner, Sum>,
        report: &mut Report,
    ) -> Result<(), Error> {
        let mut cursor = self
            .snapshot
            .transaction
            .cursor(self.snapshot.tables.index)?;
        let mut mark: Option<(Vec<u8>, u64)> = None;
        while let Some((key, item)) = cursor.next()? {
            let (Some(owner), true) = (owner_of(key), item.len() == ITEM_BYTES) else {
                report.add(|| "an index item cannot be read".to_owned());
                continue;
            };
            let mut hash = [0; 8];
            hash[..2].copy_from_slice(key.get(3..5).unwrap_or(&[0; 2]));
            hash[2..].copy_from_slice(&item[..6]);
            let hash = u64::from_be_bytes(hash);
            let Some(id) = holder(item, hash) else {
                report.add(|| "an index item cannot be read".to_owned());
                continue;
            };
            if id == EntryId::ROOT {
                mark = Some((key.to_vec(), hash));
                continue;
            }
            let posted = mark
                .as_ref()
                .is_some_and(|(of, it)| of == key && *it == hash);
            report.expect(!posted, || {
                format!("index {}: a posted value still has items", name(&owner))
            });
            let prefix = posting::prefix_of(owner, hash);
            found
                .entry(owner)
                .or_default()
                .add(&hashed_row(&prefix, id));
        }
        Ok(())
    }

    fn sum_postings(
        &self,
        found: &mut BTreeMap<Owner, Sum>,
        report: &mut Report,
    ) -> Result<(), Error> {
        let mut cursor = self
            .snapshot
            .transaction
            .cursor(self.snapshot.tables.posting)?;
        while let Some((key, value)) = cursor.next()? {
            let (Some(owner), Some(prefix), Some(chunk)) = (
                owner_of(key),
                key.first_chunk::<{ posting::PREFIX_BYTES }>(),
                posting::chunk_of(key),
            ) else {
                report.add(|| "a posting's key cannot be read".to_owned());
                continue;
            };
            let bitmap = match posting::decode(value) {
                Ok(bitmap) => bitmap,
                Err(error) => {
                    report.add(|| format!("index {}: {error}", name(&owner)));
                    continue;
                }
            };
            let counted = posting::cardinality(value)? == bitmap.len();
            let inside = bitmap.iter().all(|low| low >> 16 == chunk & 0xFFFF);
            report.expect(counted && inside, || {
                format!(
                    "index {}: a chunk has ids that are not its own",
                    name(&owner)
                )
            });
            let sum = found.entry(owner).or_default();
            let high = u64::from(chunk >> 16) << 32;
            for low in &bitmap {
                sum.add(&hashed_row(prefix, EntryId(high | u64::from(low))));
            }
        }
        Ok(())
    }

    fn sum_ordered(
        &self,
        found: &mut BTreeMap<Owner, Sum>,
        report: &mut Report,
    ) -> Result<(), Error> {
        let table: Table = self.snapshot.tables.order;
        let mut cursor = self.snapshot.transaction.cursor(table)?;
        while let Some((key, _)) = cursor.next()? {
            match owner_of(key) {
                Some(owner) if key.len() > ID_BYTES + owner.len() => {
                    found.entry(owner).or_default().add(key);
                }
                _ => report.add(|| "an ordering key cannot be read".to_owned()),
            }
        }
        Ok(())
    }
}

/// The bytes of a holder of a hashed key that enter the sum, the same for buckets and postings.
fn hashed_row(prefix: &[u8; posting::PREFIX_BYTES], id: EntryId) -> [u8; HASHED_BYTES] {
    let mut row = [0; HASHED_BYTES];
    row[..posting::PREFIX_BYTES].copy_from_slice(prefix);
    row[posting::PREFIX_BYTES..].copy_from_slice(&id.0.to_be_bytes());
    row
}

fn owner(kind: IndexKind, base: u16) -> Owner {
    let [high, low] = base.to_be_bytes();
    [kind as u8, high, low]
}

fn owner_of(key: &[u8]) -> Option<Owner> {
    key.get(..3)?.try_into().ok()
}

fn name(owner: &Owner) -> String {
    let kind = IndexKind::ALL.into_iter().find(|it| *it as u8 == owner[0]);
    let kind = kind.map_or("unknown", IndexKind::name);
    format!(
        "{kind} of attribute {}",
        u16::from_be_bytes([owner[1], owner[2]])
    )
}
