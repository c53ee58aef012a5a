//! Table of names: hashes of normalised names with entry ids, 16 bytes each.

use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::Path;
use store::EntryId;
use store::private;
use xxhash_rust::xxh3::Xxh3;

/// Bytes read or written at once.
const BUFFER_BYTES: usize = 1 << 20;

/// Bits of an id in a slot; the rest of the word holds more bits of the hash.
const ID_BITS: u32 = 40;
const ID_MASK: u64 = (1 << ID_BITS) - 1;

/// An open-addressing hash table. 88 bits of the hash are compared: with a billion names, a
/// collision is less likely than one in a hundred million.
#[derive(Debug)]
pub(super) struct NameTable {
    /// Upper half of the hash, and rest of the hash with the id. Id 0 marks an empty slot. The
    /// length is a power of two.
    slots: Vec<(u64, u64)>,
    used: usize,
    /// Number of slots looked at, for tests.
    #[cfg(test)]
    probes: std::cell::Cell<u64>,
}

/// Number of slots of an empty table.
const SLOTS_MIN: usize = 1 << 12;

impl NameTable {
    pub fn new() -> NameTable {
        NameTable::with_room(0)
    }

    /// A table with the size it has after adding this number of names one by one.
    fn with_room(names: u64) -> NameTable {
        let mut slots = SLOTS_MIN as u64;
        while !has_room(names, slots) {
            slots *= 2;
        }
        NameTable {
            slots: vec![(0, 0); slots as usize],
            used: 0,
            #[cfg(test)]
            probes: std::cell::Cell::default(),
        }
    }

    /// The entry with this name; `None` if there is none.
    #[inline]
    pub fn get(&self, name: u128) -> Option<EntryId> {
        let at = self.find(name);
        let id = self.slots[at].1 & ID_MASK;
        (id != 0).then_some(EntryId(id))
    }

    /// Adds a name that is not in the table.
    pub fn insert(&mut self, name: u128, id: EntryId) {
        if !has_room(self.used as u64 + 1, self.slots.len() as u64) {
            self.grow();
        }
        let at = self.find(name);
        self.slots[at] = ((name >> 64) as u64, rest(name) | (id.0 & ID_MASK));
        self.used += 1;
    }

    /// Writes all names to a file and syncs it; returns their number and a checksum.
    pub fn save(&self, path: &Path) -> std::io::Result<(u64, u64)> {
        let mut file = BufWriter::with_capacity(BUFFER_BYTES, private::create(path)?);
        let mut sum = Xxh3::new();
        for (high, rest) in self.slots.iter().filter(|slot| slot.1 & ID_MASK != 0) {
            let mut row = [0; 16];
            row[..8].copy_from_slice(&high.to_le_bytes());
            row[8..].copy_from_slice(&rest.to_le_bytes());
            sum.update(&row);
            file.write_all(&row)?;
        }
        file.flush()?;
        file.get_ref().sync_all()?;
        Ok((self.used as u64, sum.digest()))
    }

    /// Reads a saved table. Names are in the order of their slots, so the table must be as large as
    /// the saved one: in a smaller table they would fill the first slots, each name behind all
    /// earlier names.
    pub fn load(path: &Path, count: u64, checksum: u64) -> std::io::Result<NameTable> {
        let mut file = BufReader::with_capacity(BUFFER_BYTES, File::open(path)?);
        let mut sum = Xxh3::new();
        let mut table = NameTable::with_room(count);
        for _ in 0..count {
            let mut row = [0; 16];
            file.read_exact(&mut row)?;
            sum.update(&row);
            let number = u128::from_le_bytes(row);
            let (high, rest) = (number as u64, (number >> 64) as u64);
            // Lower bits of the hash are neither stored nor compared.
            let name = u128::from(high) << 64 | u128::from(rest >> ID_BITS);
            table.insert(name, EntryId(rest & ID_MASK));
        }
        match sum.digest() == checksum {
            true => Ok(table),
            false => Err(std::io::Error::other("the checksum is wrong")),
        }
    }

    /// Index of a name's slot, or of the empty slot for it.
    #[inline]
    fn find(&self, name: u128) -> usize {
        let (high, rest) = ((name >> 64) as u64, rest(name));
        let mask = self.slots.len() - 1;
        let mut at = high as usize & mask;
        loop {
            #[cfg(test)]
            self.probes.set(self.probes.get() + 1);
            let (slot_high, slot_rest) = self.slots[at];
            let is_free = slot_rest & ID_MASK == 0;
            if is_free || (slot_high == high && slot_rest & !ID_MASK == rest) {
                return at;
            }
            at = (at + 1) & mask;
        }
    }

    fn grow(&mut self) {
        let larger = vec![(0, 0); self.slots.len() * 2];
        let old = std::mem::replace(&mut self.slots, larger);
        let mask = self.slots.len() - 1;
        for slot in old.into_iter().filter(|slot| slot.1 & ID_MASK != 0) {
            let mut at = slot.0 as usize & mask;
            while self.slots[at].1 & ID_MASK != 0 {
                at = (at + 1) & mask;
            }
            self.slots[at] = slot;
        }
    }
}

/// Whether this number of slots suffices: an eighth stays empty.
fn has_room(names: u64, slots: u64) -> bool {
    names * 8 <= slots * 7
}

/// The bits of the hash that share a word with the id.
fn rest(name: u128) -> u64 {
    (name as u64) << ID_BITS
}

#[cfg(test)]
mod tests {
    use super::*;
    use xxhash_rust::xxh3::xxh3_128;

    fn hash(it: u64) -> u128 {
        u128::from(it).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835)
    }

    #[test]
    fn what_was_saved_is_read_with_as_few_looks() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("names");
        // Just before and after the table grows, and between.
        for names in [0_u64, 3584, 3585, 114_688, 114_689, 150_000] {
            let mut table = NameTable::new();
            (1..=names).for_each(|id: u64| table.insert(xxh3_128(&id.to_le_bytes()), EntryId(id)));
            let (count, checksum) = table.save(&path).expect("saved");
            let loaded = NameTable::load(&path, count, checksum).expect("loaded");
            assert_eq!(loaded.slots.len(), table.slots.len());
            let probes = loaded.probes.get();
            assert!(probes <= 10 * names, "{probes} for {names}");
        }
    }

    #[test]
    fn names_are_found_again() {
        let mut table = NameTable::new();
        for id in 1..20_000 {
            assert_eq!(table.get(hash(id)), None);
            table.insert(hash(id), EntryId(id));
        }
        for id in 1..20_000 {
            assert_eq!(table.get(hash(id)), Some(EntryId(id)));
        }
        assert_eq!(table.get(hash(20_000)), None);
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("names");
        let (count, checksum) = table.save(&path).expect("saved");
        let loaded = NameTable::load(&path, count, checksum).expect("loaded");
        for id in 1..20_000 {
            assert_eq!(loaded.get(hash(id)), Some(EntryId(id)));
        }
        assert_eq!(loaded.get(hash(20_000)), None);
        assert!(NameTable::load(&path, count, checksum ^ 1).is_err());
    }
}
