//! What a subject sees of all entries of a region.

use std::sync::Arc;

use schema::TypeId;

use crate::access::objects::{Bits, Object, ObjectSet};

/// What a subject sees of the entries of a region.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shown {
    /// Every entry, with all values of all attributes but these.
    All {
        /// The attribute types that are hidden.
        but: Hidden,
    },
    /// No entry, and so nothing of any.
    Nothing,
    /// It depends on the entry, the attribute or the value: each has to be asked about.
    Ask,
}

/// Attribute types that are hidden from a subject. Cloning copies a pointer.
///
/// A type that was not in force under the schema of the rules is hidden, too: one that was added
/// later, and one that was gone. The list of [`Hidden::types`] has only those that were in force,
/// so it is for operations of the same generation ([`Hidden::generation`]).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hidden {
    types: Arc<[TypeId]>,
    shown: Arc<ObjectSet>,
    generation: u64,
}

impl Hidden {
    /// Returns all attribute types of `all` that are not `shown`.
    pub(super) fn all_but(shown: ObjectSet, all: &ObjectSet, generation: u64) -> Hidden {
        Hidden {
            types: all.without(&shown).attributes().collect(),
            shown: Arc::new(shown),
            generation,
        }
    }

    /// Returns whether a type is hidden.
    pub fn contains(&self, type_id: TypeId) -> bool {
        !self.shown.contains(Object::Attribute(type_id))
    }

    /// The hidden types among those in force under the schema of the rules, ascending.
    pub fn types(&self) -> &[TypeId] {
        &self.types
    }

    /// The number of the rule set ([`crate::access::compile::RuleSet::generation`]).
    pub fn generation(&self) -> u64 {
        self.generation
    }
}
