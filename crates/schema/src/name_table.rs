//! Look-up of handles by name, in any case, without allocation: open addressing over one text.
//!
//! Invariant: at most half of the slots are in use, so every probe ends.

/// Maps names and OIDs to 16-bit handles. Repeated insertions of a name are refused.
#[derive(Debug, Clone, Default)]
pub(crate) struct NameTable {
    /// Index into `entries` plus one; 0 is empty. The length is a power of two.
    slots: Vec<u32>,
    entries: Vec<Entry>,
    text: String,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    hash: u32,
    start: u32,
    length: u32,
    value: u16,
}

impl NameTable {
    /// Returns the handle of a name, in any case.
    pub(crate) fn find(&self, name: &str) -> Option<u16> {
        if self.slots.is_empty() {
            return None;
        }
        let hash = hash_ignoring_case(name.as_bytes());
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            let index = self.slots[at].checked_sub(1)?;
            let entry = &self.entries[index as usize];
            if entry.hash == hash && self.name_of(entry).eq_ignore_ascii_case(name) {
                return Some(entry.value);
            }
            at = (at + 1) & mask;
        }
    }

    /// Adds a name; `Err` with its handle if the table has it already.
    pub(crate) fn insert(&mut self, name: &str, value: u16) -> Result<(), u16> {
        if let Some(present) = self.find(name) {
            return Err(present);
        }
        if (self.entries.len() + 1) * 2 > self.slots.len() {
            self.grow();
        }
        let entry = Entry {
            hash: hash_ignoring_case(name.as_bytes()),
            start: self.text.len() as u32,
            length: name.len() as u32,
            value,
        };
        self.text.push_str(name);
        self.entries.push(entry);
        self.place(self.entries.len() - 1);
        Ok(())
    }

    /// Returns the table with other handles for the same names.
    pub(crate) fn mapped(&self, handle: &dyn Fn(u16) -> u16) -> NameTable {
        let mut table = self.clone();
        for entry in &mut table.entries {
            entry.value = handle(entry.value);
        }
        table
    }

    fn name_of(&self, entry: &Entry) -> &str {
        &self.text[entry.start as usize..(entry.start + entry.length) as usize]
    }

    fn grow(&mut self) {
        let length = (self.slots.len() * 2).max(64);
        self.slots.clear();
        self.slots.resize(length, 0);
        for index in 0..self.entries.len() {
            self.place(index);
        }
    }

    fn place(&mut self, index: usize) {
        let mask = self.slots.len() - 1;
        let mut at = self.entries[index].hash as usize & mask;
        while self.slots[at] != 0 {
            at = (at + 1) & mask;
        }
        self.slots[at] = index as u32 + 1;
    }
}

/// Hashes eight bytes a step. Setting bit 0x20 folds the case of letters; for other bytes it only
/// adds collisions, which the comparison resolves.
fn hash_ignoring_case(bytes: &[u8]) -> u32 {
    const FOLD: u64 = 0x2020_2020_2020_2020;
    const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;
    let mut hash = bytes.len() as u64;
    let mut chunks = bytes.chunks_exact(8);
    for chunk in &mut chunks {
        let word = u64::from_le_bytes(chunk.try_into().expect("chunks of eight bytes"));
        hash = (hash.rotate_left(23) ^ (word | FOLD)).wrapping_mul(FACTOR);
    }
    let mut last = 0u64;
    for &byte in chunks.remainder() {
        last = (last << 8) | u64::from(byte | 0x20);
    }
    hash = (hash.rotate_left(23) ^ last).wrapping_mul(FACTOR);
    (hash >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_every_name_in_any_case() {
        let mut table = NameTable::default();
        for n in 0..2_000u16 {
            table.insert(&format!("attributeName{n}"), n).unwrap();
            table.insert(&format!("1.3.6.1.4.1.{n}"), n).unwrap();
        }
        for n in 0..2_000u16 {
            assert_eq!(table.find(&format!("ATTRIBUTEnAME{n}")), Some(n));
            assert_eq!(table.find(&format!("1.3.6.1.4.1.{n}")), Some(n));
        }
        assert_eq!(table.find("attributeName2000"), None);
        assert_eq!(table.find(""), None);
        assert_eq!(table.insert("ATTRIBUTENAME7", 9), Err(7));
    }

    #[test]
    fn folded_bits_do_not_confuse_names() {
        let mut table = NameTable::default();
        // '@' | 0x20 == '`', and '\r' | 0x20 == '-'.
        table.insert("a-b", 1).unwrap();
        assert_eq!(table.find("a\rb"), None);
    }
}
