//! Which names there are: hashes of normalised names and the ids behind them, 16 bytes each.

use store::EntryId;

/// Bits of an id in a slot; the rest of its word holds more of the hash.
const ID_BITS: u32 = 40;
const ID_MASK: u64 = (1 << ID_BITS) - 1;

/// An open-addressing table. 88 bits of the hash are compared: among a billion names two of equal
/// bits are less likely than one in a hundred million.
#[derive(Debug)]
pub(super) struct NameTable {
    /// (upper half of the hash, rest of the hash and id). Id 0: empty. A power of two of them.
    slots: Vec<(u64, u64)>,
    used: usize,
}

impl NameTable {
    pub fn new() -> NameTable {
        NameTable {
            slots: vec![(0, 0); 1 << 12],
            used: 0,
        }
    }

    /// The entry of this name.
    #[inline]
    pub fn get(&self, name: u128) -> Option<EntryId> {
        let at = self.find(name);
        let id = self.slots[at].1 & ID_MASK;
        (id != 0).then_some(EntryId(id))
    }

    /// Adds a name that is not in the table.
    pub fn insert(&mut self, name: u128, id: EntryId) {
        if (self.used + 1) * 8 > self.slots.len() * 7 {
            self.grow();
        }
        let at = self.find(name);
        self.slots[at] = ((name >> 64) as u64, rest(name) | (id.0 & ID_MASK));
        self.used += 1;
    }

    /// The slot of a name, or the empty one where it belongs.
    #[inline]
    fn find(&self, name: u128) -> usize {
        let (high, rest) = ((name >> 64) as u64, rest(name));
        let mask = self.slots.len() - 1;
        let mut at = high as usize & mask;
        loop {
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

/// The part of the hash that shares a word with the id.
fn rest(name: u128) -> u64 {
    (name as u64) << ID_BITS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_again() {
        let hash = |it: u64| u128::from(it).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
        let mut table = NameTable::new();
        for id in 1..20_000 {
            assert_eq!(table.get(hash(id)), None);
            table.insert(hash(id), EntryId(id));
        }
        for id in 1..20_000 {
            assert_eq!(table.get(hash(id)), Some(EntryId(id)));
        }
        assert_eq!(table.get(hash(20_000)), None);
    }
}
