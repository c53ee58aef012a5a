//! Sights: rights of one subject to see entries, kept for one operation.

use crate::catalog::Catalog;
use policy::access::decide::SubjectRules;
use policy::access::objects::{Object, ObjectSet};
use schema::{AttributeNumber, NumberSet, TypeId};
use std::cell::OnceCell;

/// The rules for the subject of a view.
pub(super) struct Ruled {
    pub rules: SubjectRules,
    sights: Sights,
}

/// Sights of one operation, each followed by those made after it: they stay where they are as long
/// as the view. Entries with equal rights share one.
#[derive(Default)]
struct Sights(OnceCell<Box<Kept>>);

struct Kept {
    sight: Sight,
    later: Sights,
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
}

impl Ruled {
    pub fn new(rules: SubjectRules) -> Ruled {
        Ruled {
            rules,
            sights: Sights::default(),
        }
    }

    /// The sight with these rights, shared with earlier entries that had equal ones.
    pub fn kept(
        &self,
        catalog: &Catalog,
        read: ObjectSet,
        search: ObjectSet,
        discloses: bool,
    ) -> &Sight {
        let is_equal =
            |it: &Sight| it.read == read && it.search == search && it.discloses == discloses;
        let mut at = &self.sights;
        while let Some(kept) = at.0.get() {
            if is_equal(&kept.sight) {
                return &kept.sight;
            }
            at = &kept.later;
        }
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
        let sight = Sight {
            discloses,
            returns: read.contains(Object::Entry),
            unread: lacking(&read),
            unsearched,
            read,
            search,
        };
        let kept = at.0.get_or_init(|| {
            let later = Sights::default();
            Box::new(Kept { sight, later })
        });
        &kept.sight
    }
}
