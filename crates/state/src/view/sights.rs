//! Sights: rights of one subject to see entries. Entries with equal rights share one.

use crate::catalog::Catalog;
use policy::access::objects::{Object, ObjectSet};
use policy::access::outlook::Seen;
use schema::{AttributeNumber, NumberSet, TypeId};
use std::cell::{Cell, OnceCell};

/// Sights in one piece of the list.
const PIECE: usize = 16;

/// Sights of one subject, by numbers from 0 on. They stay where they are.
#[derive(Default)]
pub(super) struct Sights {
    count: Cell<usize>,
    first: Piece,
}

#[derive(Default)]
struct Piece {
    sights: [OnceCell<Box<Sight>>; PIECE],
    later: OnceCell<Box<Piece>>,
}

/// A subject's rights to see one entry.
#[derive(Debug)]
pub(super) struct Sight {
    /// Whether the subject may learn that the entry exists.
    pub discloses: bool,
    /// Whether the entry may be returned.
    pub returns: bool,
    read: ObjectSet,
    search: ObjectSet,
    /// Numbers of the attributes that the subject may not read.
    pub unread: NumberSet,
    unsearched: NumberSet,
}

impl Sight {
    /// The sight of a subject with these rights.
    pub fn new(catalog: &Catalog, seen: Seen) -> Sight {
        let Seen {
            read,
            search,
            discloses,
        } = seen;
        let schema = &catalog.schema;
        let lacking = |held: &ObjectSet| -> NumberSet {
            let all = schema.known_attributes();
            let lacking = all.filter(|it| !held.contains(Object::Attribute(it.type_id)));
            lacking.map(|it| it.number).collect()
        };
        let mut unsearched = lacking(&search);
        // Filters never use secrets, whoever may read them.
        let secrets = catalog.access.secrets().types().iter();
        unsearched.extend(secrets.flat_map(|it| schema.numbers_of(*it)).copied());
        Sight {
            discloses,
            returns: read.contains(Object::Entry),
            unread: lacking(&read),
            unsearched,
            read,
            search,
        }
    }

    /// Whether the subject may read an attribute.
    pub fn reads(&self, type_id: TypeId) -> bool {
        self.read.contains(Object::Attribute(type_id))
    }

    /// Whether the subject may find the entry by an attribute.
    pub fn searches(&self, type_id: TypeId) -> bool {
        self.search.contains(Object::Attribute(type_id))
    }

    /// Whether the subject may find the entry by an attribute with this number.
    #[inline]
    pub fn searches_number(&self, number: AttributeNumber) -> bool {
        !self.unsearched.contains(number)
    }

    /// Whether it shows of an entry what these rights do; other things than the entry and its
    /// attributes are not compared.
    pub fn is_of_entry(&self, seen: &Seen) -> bool {
        let same = |one: &ObjectSet, other: &ObjectSet| {
            one.attributes().eq(other.attributes())
                && one.contains(Object::Entry) == other.contains(Object::Entry)
        };
        self.discloses == seen.discloses
            && same(&self.read, &seen.read)
            && same(&self.search, &seen.search)
    }

    fn is_of(&self, seen: &Seen) -> bool {
        self.discloses == seen.discloses && self.read == seen.read && self.search == seen.search
    }
}

impl Sights {
    /// The sight with this number.
    #[inline]
    pub fn get(&self, number: u32) -> Option<&Sight> {
        let number = number as usize;
        let mut piece = &self.first;
        for _ in 0..number / PIECE {
            piece = piece.later.get()?;
        }
        piece.sights[number % PIECE].get().map(|it| &**it)
    }

    /// The number of the sight with these rights, and whether it is a new one.
    pub fn number_of(&self, catalog: &Catalog, seen: Seen) -> (u32, bool) {
        let count = self.count.get();
        let mut piece = &self.first;
        for number in 0..count {
            if number > 0 && number.is_multiple_of(PIECE) {
                let Some(later) = piece.later.get() else {
                    break;
                };
                piece = later;
            }
            let kept = piece.sights[number % PIECE].get();
            if kept.is_some_and(|it| it.is_of(&seen)) {
                return (number as u32, false);
            }
        }
        if count > 0 && count.is_multiple_of(PIECE) {
            piece = piece.later.get_or_init(Box::default);
        }
        piece.sights[count % PIECE].get_or_init(|| Box::new(Sight::new(catalog, seen)));
        self.count.set(count + 1);
        (count as u32, true)
    }
}
