//! Sorted lists that outlive the search that made them: a virtual list view or a page of a sorted
//! search shows one part of a list, and a later view or page shows another part.
//!
//! A list holds the sort keys of the matching entries in ascending order. A list never changes: it
//! shows the directory as it was when the list was made, and its version identifies that state.

mod coded;
mod lists;
mod sorter;

pub use coded::Place;
pub use lists::{ListQuery, Lists};
pub use sorter::{Merge, Sorter};

use coded::Writer;
use state::stop::{Failure, Stop};
use std::sync::Arc;

/// A complete list.
#[derive(Debug)]
pub struct List {
    keys: coded::Coded,
    /// Offset of every `coded::GROUP`th key in the coded keys, beginning with the first.
    groups: Box<[u64]>,
    length: u32,
    /// Number of this list: no other one of this process has it, and hardly any of another.
    number: u64,
    origin: Origin,
}

/// The search for which a list was made.
#[derive(Debug, Clone)]
pub struct Origin {
    /// Fingerprint of all inputs that determine the list's content (`page::fingerprint`).
    pub fingerprint: u64,
    /// Normalised name of the subject; empty for anonymous.
    pub subject: Box<str>,
    /// The schema that gives the sort keys their meaning.
    pub schema: schema::Schema,
    /// Snapshot version when the list was begun (`Context::version`).
    pub version: u64,
    /// Time when the list was begun, in microseconds of Unix time.
    pub begun_us: u64,
}

impl List {
    /// Number of keys.
    pub fn length(&self) -> u32 {
        self.length
    }

    /// Number of this list, by which cookies and context ids name it.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Fingerprint of the search for which the list was made.
    pub fn fingerprint(&self) -> u64 {
        self.origin.fingerprint
    }

    /// Snapshot version when the list was begun.
    pub fn version(&self) -> u64 {
        self.origin.version
    }

    /// A reader in front of the key with this index, counted from 0.
    ///
    /// # Errors
    /// The file of the list cannot be read.
    pub fn place(&self, place: u32) -> Result<Place, Failure> {
        let group = place / coded::GROUP;
        let Some(start) = self.groups.get(group as usize) else {
            return Ok(self.keys.end());
        };
        let mut reader = self.keys.reader(*start);
        for _ in 0..place % coded::GROUP {
            reader.next(&self.keys)?;
        }
        Ok(reader)
    }

    /// Moves to the next key; `None` after the last.
    ///
    /// # Errors
    /// The file of the list cannot be read.
    pub fn next<'r>(&self, place: &'r mut Place) -> Result<Option<&'r [u8]>, Failure> {
        place.next(&self.keys)
    }

    /// Index of the first key that is not less than `bound`, counted from 0; the length of the list
    /// if all keys are less.
    ///
    /// # Errors
    /// The file of the list cannot be read.
    pub fn first_from(&self, bound: &[u8]) -> Result<u32, Failure> {
        // Finds the first group whose first key is not less than `bound`: the wanted key is that
        // one, or is in the group before.
        let (mut low, mut high) = (0, self.groups.len());
        while low < high {
            let middle = low.midpoint(high);
            let mut reader = self.keys.reader(self.groups[middle]);
            let is_less = reader.next(&self.keys)?.is_some_and(|it| it < bound);
            (low, high) = match is_less {
                true => (middle + 1, high),
                false => (low, middle),
            };
        }
        let Some(group) = low.checked_sub(1) else {
            return Ok(0);
        };
        let mut place = group as u32 * coded::GROUP;
        let mut reader = self.keys.reader(self.groups[group]);
        while reader.next(&self.keys)?.is_some_and(|it| it < bound) {
            place += 1;
        }
        Ok(place)
    }
}

/// A list being written.
#[derive(Debug)]
pub struct ListWriter {
    lists: Arc<Lists>,
    keys: Writer,
    groups: Vec<u64>,
    origin: Origin,
}

impl ListWriter {
    /// Begins an empty list, to be kept in `lists`.
    pub fn new(lists: &Arc<Lists>, origin: Origin) -> ListWriter {
        ListWriter {
            keys: Writer::new(&lists.spools),
            lists: Arc::clone(lists),
            groups: Vec::new(),
            origin,
        }
    }

    /// Appends a key, which must not be less than the previous one. If there is no room, the lists
    /// used least recently are dropped.
    ///
    /// # Errors
    /// There is no room on the disk, or more keys than a list may have.
    pub fn append(&mut self, key: &[u8]) -> Result<(), Stop> {
        if self.keys.count().is_multiple_of(coded::GROUP) {
            self.groups.push(self.keys.begin());
        }
        let mut appended = self.keys.append(key);
        while appended.is_err() && self.lists.give_up_oldest() {
            appended = self.keys.flush();
        }
        appended
    }

    /// Completes the list and keeps it.
    ///
    /// # Errors
    /// There is no room on the disk.
    pub fn keep(self) -> Result<Arc<List>, Stop> {
        let lists = Arc::clone(&self.lists);
        let list = Arc::new(self.finish(lists.number())?);
        lists.keep(Arc::clone(&list));
        Ok(list)
    }

    fn finish(self, number: u64) -> Result<List, Stop> {
        let length = self.keys.count();
        Ok(List {
            keys: self.keys.finish()?,
            groups: self.groups.into_boxed_slice(),
            length,
            number,
            origin: self.origin,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Budget;
    use proptest::prelude::*;
    use tempfile::TempDir;

    fn unlimited() -> Arc<Budget> {
        Arc::new(Budget::new(0, 0))
    }

    fn origin() -> Origin {
        Origin {
            fingerprint: 1,
            subject: "".into(),
            schema: schema::Schema::standard(),
            version: 1,
            begun_us: 0,
        }
    }

    /// Makes a list of keys given in any order.
    fn list_of(lists: &Arc<Lists>, keys: &[Vec<u8>]) -> Arc<List> {
        let mut sorter = Sorter::new(&lists.spools, 0);
        for key in keys {
            assert!(sorter.push(key.as_slice().into()).expect("there is room"));
        }
        let mut merge = sorter.merge().expect("there is room");
        let mut writer = ListWriter::new(lists, origin());
        while let Some(key) = merge.first() {
            writer.append(key).expect("there is room");
            merge.advance().expect("readable");
        }
        writer.keep().expect("there is room")
    }

    fn check(keys: &mut [Vec<u8>], places: &[u32], bounds: &[Vec<u8>]) {
        let folder = TempDir::new().unwrap();
        let lists = Arc::new(Lists::new(folder.path(), 0, &unlimited()));
        let list = list_of(&lists, keys);
        keys.sort();
        assert_eq!(list.length() as usize, keys.len());
        for place in places {
            let mut reader = list.place(*place).unwrap();
            for key in keys.iter().skip(*place as usize).take(200) {
                assert_eq!(list.next(&mut reader).unwrap(), Some(&**key));
            }
            if *place as usize + 200 >= keys.len() {
                assert_eq!(list.next(&mut reader).unwrap(), None);
            }
        }
        for bound in bounds {
            let expected = keys.partition_point(|it| it < bound);
            assert_eq!(list.first_from(bound).unwrap() as usize, expected);
        }
    }

    proptest! {
        #[test]
        fn short_lists_are_in_order(
            mut keys in prop::collection::vec(prop::collection::vec(0_u8..4, 0..9), 0..300),
            places in prop::collection::vec(0_u32..310, 1..9),
            bounds in prop::collection::vec(prop::collection::vec(0_u8..5, 0..9), 1..20),
        ) {
            check(&mut keys, &places, &bounds);
        }
    }

    #[test]
    fn lists_beyond_memory_are_in_order() {
        let key = |number: u32| {
            let mixed = number.wrapping_mul(2_654_435_761) % 70_001;
            let long = if mixed.is_multiple_of(9_000) {
                20_000
            } else {
                8
            };
            let mut key = format!("person {mixed:06}").into_bytes();
            key.resize(key.len() + long, b'x');
            key
        };
        let mut keys: Vec<Vec<u8>> = (0..100_000).map(key).collect();
        let bounds = [0, 1, 35_000, 63_000, 70_000, 99_999].map(key);
        let places = [0, 63, 64, 50_000, 99_800, 99_999, 100_000, 200_000];
        check(&mut keys, &places, &bounds);
    }

    #[test]
    fn lists_are_found_while_they_say_what_is_asked() {
        let folder = TempDir::new().unwrap();
        let lists = Arc::new(Lists::new(folder.path(), 0, &unlimited()));
        let schema = origin().schema;
        let asked = |number, version, now_us| ListQuery {
            fingerprint: 1,
            schema: &schema,
            number,
            version,
            now_us,
        };
        let writer = |fingerprint| {
            let schema = schema.clone();
            let origin = Origin {
                fingerprint,
                schema,
                ..origin()
            };
            ListWriter::new(&lists, origin)
        };
        let number = writer(1).keep().unwrap().number();
        let found = |asked| lists.find(&asked).map(|it| it.number());
        assert_eq!(found(asked(None, 1, 5)), Some(number));
        assert_eq!(
            found(asked(None, 2, 5)),
            None,
            "something has changed since"
        );
        assert_eq!(found(asked(Some(number), 2, 5)), Some(number));
        assert_eq!(found(asked(Some(number + 1), 1, 5)), Some(number));
        // Lists of one subject never displace lists of others; the oldest list of the subject is
        // dropped.
        for fingerprint in 2..=8 {
            writer(fingerprint).keep().unwrap();
        }
        assert_eq!(found(asked(Some(number), 2, 5)), Some(number));
        writer(9).keep().unwrap();
        assert_eq!(
            found(asked(Some(number), 2, 5)),
            Some(number),
            "asked for last"
        );
        assert_eq!(found(asked(Some(number), 2, 600_000_000)), None, "too old");
    }

    #[test]
    fn lists_make_room_for_another() {
        let folder = TempDir::new().unwrap();
        let lists = Arc::new(Lists::new(folder.path(), 3 << 20, &unlimited()));
        let wide =
            |of: u8| -> Vec<Vec<u8>> { (0..40_u8).map(|it| vec![of ^ it; 30_000]).collect() };
        for of in 0..5 {
            assert_eq!(list_of(&lists, &wide(of)).length(), 40);
        }
    }
}
