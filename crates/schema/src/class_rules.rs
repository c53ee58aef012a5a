//! What an entry may contain: object classes (RFC 4512 §2.4) and content rules (§4.1.6).
//!
//! A class brings its superclasses along: an entry that says only `inetOrgPerson` is a person.

use crate::error::Violation;
use crate::schema::{ClassId, Schema, TypeId};

/// What the class rules need to know of an entry.
#[derive(Debug, Clone, Copy)]
pub struct EntryShape<'a> {
    /// The values of `objectClass`.
    pub classes: &'a [&'a [u8]],
    /// Each attribute, user and operational, `objectClass` included, with its number of values.
    /// Descriptions with options are listed by their type; a type may be listed several times.
    pub attributes: &'a [(TypeId, usize)],
    /// The attribute types of the entry's RDN.
    pub rdn: &'a [TypeId],
}

/// The classes of an entry that obeys the rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Structure {
    /// The structural object class: the most subordinate of its chain.
    pub structural: ClassId,
    /// Every class of the entry, superclasses included, each once.
    pub classes: Vec<ClassId>,
}

impl Schema {
    /// Checks an entry against its object classes.
    ///
    /// # Errors
    /// The first rule it breaks.
    pub fn check_entry(&self, shape: &EntryShape<'_>) -> Result<Structure, Violation> {
        let _ = shape;
        unimplemented!()
    }
}
