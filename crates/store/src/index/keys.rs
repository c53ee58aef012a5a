//! The index keys of an entry.

use schema::{AttributeNumber, Schema, phonetic_key, substring_grams_of_value};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use crate::entry::{EntryView, StoredAttribute};
use crate::index_set::{IndexKind, Indexed, WritePlan};

/// An index key found by a hash: of a normalised value, of a phonetic key, of nothing (presence),
/// or a trigram as a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct HashedKey {
    pub kind: IndexKind,
    /// Number of the attribute type without options.
    pub base: u16,
    pub hash: u64,
}

/// The keys of an entry, or of some of its attributes. Sorted and distinct after `finish`.
#[derive(Debug, Default)]
pub(crate) struct Keys {
    pub hashed: Vec<HashedKey>,
    /// Keys of the order table without the id, as ranges of `bytes`.
    pub ordered: Vec<(u32, u32)>,
    pub bytes: Vec<u8>,
}

impl Keys {
    pub fn clear(&mut self) {
        self.hashed.clear();
        self.ordered.clear();
        self.bytes.clear();
    }

    /// Adds the keys of all indexed attributes of an entry.
    pub fn of_entry(
        &mut self,
        schema: &Schema,
        plan: &WritePlan,
        view: &EntryView<'_>,
        scratch: &mut Vec<u8>,
    ) {
        self.clear();
        for attribute in view.attributes() {
            if let Some(indexed) = plan.of(attribute.number) {
                self.add(schema, indexed, &attribute, scratch);
            }
        }
        self.finish();
    }

    /// Adds the keys of all attributes of an entry that are indexed under one of these numbers.
    pub fn of_bases(
        &mut self,
        schema: &Schema,
        plan: &WritePlan,
        view: &EntryView<'_>,
        bases: &[AttributeNumber],
        scratch: &mut Vec<u8>,
    ) {
        self.clear();
        for attribute in view.attributes() {
            match plan.of(attribute.number) {
                Some(indexed) if bases.contains(&indexed.base) => {
                    self.add(schema, indexed, &attribute, scratch);
                }
                _ => {}
            }
        }
        self.finish();
    }

    /// The bytes of a key of the order table without the id.
    pub fn ordered_bytes(&self, range: (u32, u32)) -> &[u8] {
        &self.bytes[range.0 as usize..range.1 as usize]
    }

    fn add(
        &mut self,
        schema: &Schema,
        indexed: &Indexed,
        attribute: &StoredAttribute<'_>,
        scratch: &mut Vec<u8>,
    ) {
        let mut any = false;
        for value in attribute.values() {
            any = true;
            self.add_value(schema, indexed, value, scratch);
        }
        if any && indexed.kinds.presence {
            self.push(IndexKind::Presence, indexed, 0);
        }
    }

    fn add_value(
        &mut self,
        schema: &Schema,
        indexed: &Indexed,
        value: &[u8],
        scratch: &mut Vec<u8>,
    ) {
        // A value without a normal form matches no filter, so it needs no key.
        let type_id = indexed.type_id;
        scratch.clear();
        if indexed.kinds.equality && schema.normalise_equality(type_id, value, scratch).is_ok() {
            self.push(IndexKind::Equality, indexed, xxh3_64(scratch));
        }
        scratch.clear();
        if indexed.kinds.ordering && schema.normalise_ordering(type_id, value, scratch).is_ok() {
            let start = self.bytes.len() as u32;
            super::order::put_prefix(&mut self.bytes, indexed.base, scratch);
            self.ordered.push((start, self.bytes.len() as u32));
        }
        scratch.clear();
        if indexed.kinds.substring && schema.normalise_substring(type_id, value, scratch).is_ok() {
            for gram in substring_grams_of_value(scratch) {
                self.push(IndexKind::Substring, indexed, hash_of_gram(gram));
            }
        }
        if indexed.kinds.approximate {
            for key in phonetic_key(value) {
                self.push(IndexKind::Approximate, indexed, xxh3_64(&key));
            }
            scratch.clear();
            if schema.normalise_equality(type_id, value, scratch).is_ok() {
                self.push(IndexKind::Approximate, indexed, hash_of_whole(scratch));
            }
        }
    }

    fn push(&mut self, kind: IndexKind, indexed: &Indexed, hash: u64) {
        self.hashed.push(HashedKey {
            kind,
            base: indexed.base.0,
            hash,
        });
    }

    fn finish(&mut self) {
        self.hashed.sort_unstable();
        self.hashed.dedup();
        let bytes = &self.bytes;
        let of = |range: &(u32, u32)| &bytes[range.0 as usize..range.1 as usize];
        self.ordered.sort_unstable_by(|a, b| of(a).cmp(of(b)));
        self.ordered.dedup_by(|a, b| of(a) == of(b));
    }
}

/// Hash of a whole value in the approximate index, beside the hashes of its words: equal values
/// also match approximately, however they are cut into words.
pub(crate) fn hash_of_whole(normal: &[u8]) -> u64 {
    const SEED: u64 = 1;
    xxh3_64_with_seed(normal, SEED)
}

/// A trigram as the number in its keys.
pub(crate) fn hash_of_gram(gram: [u8; 3]) -> u64 {
    let [a, b, c] = gram;
    u64::from_be_bytes([0, 0, 0, 0, 0, a, b, c])
}

/// Bases whose values differ between two versions of an entry: only their keys can differ.
pub(crate) fn changed_bases(
    plan: &WritePlan,
    old: &EntryView<'_>,
    new: &EntryView<'_>,
    changed: &mut Vec<AttributeNumber>,
) {
    changed.clear();
    let mut note = |number: AttributeNumber| {
        if let Some(indexed) = plan.of(number)
            && !changed.contains(&indexed.base)
        {
            changed.push(indexed.base);
        }
    };
    for attribute in old.attributes() {
        if plan.of(attribute.number).is_some()
            && new.attribute(attribute.number).map(|it| it.encoded) != Some(attribute.encoded)
        {
            note(attribute.number);
        }
    }
    for attribute in new.attributes() {
        if plan.of(attribute.number).is_some() && old.attribute(attribute.number).is_none() {
            note(attribute.number);
        }
    }
}
