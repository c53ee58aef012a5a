//! Index definitions: the indexed attribute types, and the kinds of index of each.

use std::fmt;
use std::ops::{BitAnd, BitOr, Sub};

use schema::{AttributeNumber, Schema, TypeId};

use crate::id::EntryId;

/// A set of index kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct IndexKinds {
    /// `(cn=value)`.
    pub equality: bool,
    /// `(cn=*)`.
    pub presence: bool,
    /// `(cn=*val*)`.
    pub substring: bool,
    /// `(cn>=value)`, `(cn<=value)`.
    pub ordering: bool,
    /// `(cn~=value)`.
    pub approximate: bool,
}

/// One kind of index. The numbers are part of the format: keys contain them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum IndexKind {
    /// `(cn=value)`.
    Equality = 1,
    /// `(cn=*)`.
    Presence = 2,
    /// `(cn=*val*)`.
    Substring = 3,
    /// `(cn~=value)`.
    Approximate = 4,
    /// `(cn>=value)`, `(cn<=value)`.
    Ordering = 5,
}

impl IndexKind {
    /// Every kind.
    pub const ALL: [IndexKind; 5] = [
        IndexKind::Equality,
        IndexKind::Presence,
        IndexKind::Substring,
        IndexKind::Approximate,
        IndexKind::Ordering,
    ];

    /// The kind's word in settings and explanations.
    pub fn name(self) -> &'static str {
        match self {
            IndexKind::Equality => "equality",
            IndexKind::Presence => "presence",
            IndexKind::Substring => "substring",
            IndexKind::Approximate => "approximate",
            IndexKind::Ordering => "ordering",
        }
    }
}

impl IndexKinds {
    /// No kind.
    pub const NONE: IndexKinds = IndexKinds {
        equality: false,
        presence: false,
        substring: false,
        ordering: false,
        approximate: false,
    };

    /// Returns the set of these kinds.
    pub fn of(kinds: &[IndexKind]) -> IndexKinds {
        IndexKinds::from_bits(kinds.iter().fold(0, |bits, kind| bits | 1 << *kind as u8))
    }

    /// Returns whether a kind is in the set.
    #[inline]
    pub fn contains(self, kind: IndexKind) -> bool {
        match kind {
            IndexKind::Equality => self.equality,
            IndexKind::Presence => self.presence,
            IndexKind::Substring => self.substring,
            IndexKind::Approximate => self.approximate,
            IndexKind::Ordering => self.ordering,
        }
    }

    /// Returns whether there is no kind in the set.
    pub fn is_empty(self) -> bool {
        self == IndexKinds::NONE
    }

    /// The kinds in the set.
    pub fn iter(self) -> impl Iterator<Item = IndexKind> {
        IndexKind::ALL
            .into_iter()
            .filter(move |kind| self.contains(*kind))
    }

    /// The set as stored: one bit for each kind.
    pub(crate) fn bits(self) -> u8 {
        self.iter().fold(0, |bits, kind| bits | 1 << kind as u8)
    }

    pub(crate) fn from_bits(bits: u8) -> IndexKinds {
        let has = |kind: IndexKind| bits & (1 << kind as u8) != 0;
        IndexKinds {
            equality: has(IndexKind::Equality),
            presence: has(IndexKind::Presence),
            substring: has(IndexKind::Substring),
            ordering: has(IndexKind::Ordering),
            approximate: has(IndexKind::Approximate),
        }
    }
}

impl BitOr for IndexKinds {
    type Output = IndexKinds;
    fn bitor(self, other: IndexKinds) -> IndexKinds {
        IndexKinds::from_bits(self.bits() | other.bits())
    }
}

impl BitAnd for IndexKinds {
    type Output = IndexKinds;
    fn bitand(self, other: IndexKinds) -> IndexKinds {
        IndexKinds::from_bits(self.bits() & other.bits())
    }
}

impl Sub for IndexKinds {
    type Output = IndexKinds;
    fn sub(self, other: IndexKinds) -> IndexKinds {
        IndexKinds::from_bits(self.bits() & !other.bits())
    }
}

impl fmt::Display for IndexKinds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, kind) in self.iter().enumerate() {
            if at > 0 {
                f.write_str(",")?;
            }
            f.write_str(kind.name())?;
        }
        Ok(())
    }
}

/// An index on an attribute type. It covers values of the type with any options, not of subtypes,
/// which have indexes of their own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexDefinition {
    /// Id of the attribute type.
    pub type_id: TypeId,
    /// Canonical name of the type, under which the definition is stored.
    pub attribute: String,
    /// The kinds of index.
    pub kinds: IndexKinds,
    /// Whether the index is complete, so that searches may use it. Writes maintain it either way. A
    /// type has two definitions while some of its kinds are being built or rebuilt.
    pub ready: bool,
}

/// The schema and the indexes: they determine the keys of entries and the candidates of filters.
#[derive(Debug, Clone)]
pub struct IndexSet {
    /// The schema, with the dictionary of the database.
    pub schema: Schema,
    /// The indexes.
    pub definitions: Vec<IndexDefinition>,
}

/// The state of the indexes on an attribute type, as stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexState {
    /// The canonical name of the attribute type.
    pub attribute: String,
    /// Complete kinds, used by searches.
    pub ready: IndexKinds,
    /// Kinds being built: writes maintain them, searches do not use them. A complete kind here is
    /// being built anew, and is used.
    pub building: IndexKinds,
    /// Id below which all entries are in the kinds being built.
    pub next: EntryId,
    /// Kinds whose rows are being removed.
    pub dropping: IndexKinds,
    /// Kinds wanted again while their old rows are still being removed.
    pub pending: IndexKinds,
}

impl IndexState {
    pub(crate) fn none(attribute: &str) -> IndexState {
        IndexState {
            attribute: attribute.to_owned(),
            ready: IndexKinds::NONE,
            building: IndexKinds::NONE,
            next: EntryId(1),
            dropping: IndexKinds::NONE,
            pending: IndexKinds::NONE,
        }
    }

    /// Returns whether rows are still to be added or removed.
    pub fn has_work(&self) -> bool {
        !(self.building | self.dropping | self.pending).is_empty()
    }

    /// Returns whether the attribute has no index and no work left, so that no row is stored.
    pub(crate) fn is_none(&self) -> bool {
        (self.ready | self.building | self.dropping | self.pending).is_empty()
    }

    /// Begins to build the complete kinds anew while searches use them: adding a present row
    /// changes nothing.
    pub(crate) fn rebuild(&mut self) {
        self.building = self.building | self.ready;
        self.next = EntryId(1);
    }

    /// Sets the kinds of index to have. In an empty directory new kinds are complete at once.
    pub(crate) fn want(&mut self, kinds: IndexKinds, empty: bool) {
        let unwanted = (self.ready | self.building) - kinds;
        let new = kinds - self.ready - self.building;
        self.dropping = self.dropping | unwanted;
        self.ready = self.ready - unwanted;
        self.building = self.building - unwanted;
        // Old rows must be removed before new ones are added, or the removal would take both.
        self.pending = new & self.dropping;
        let new = new - self.dropping;
        if empty {
            self.ready = self.ready | new;
        } else if !new.is_empty() {
            self.building = self.building | new;
            self.next = EntryId(1);
        }
    }
}

impl IndexSet {
    /// Returns the definitions that stored states describe. States of attributes unknown to the
    /// schema are left out.
    pub fn from_states(schema: Schema, states: &[IndexState]) -> IndexSet {
        let mut definitions = Vec::with_capacity(states.len());
        for state in states {
            let Some(type_id) = schema.attribute_type(&state.attribute) else {
                continue;
            };
            for (kinds, ready) in [(state.ready, true), (state.building, false)] {
                if !kinds.is_empty() {
                    let attribute = state.attribute.clone();
                    definitions.push(IndexDefinition {
                        type_id,
                        attribute,
                        kinds,
                        ready,
                    });
                }
            }
        }
        IndexSet {
            schema,
            definitions,
        }
    }

    /// Returns whether searches may use an index of this kind on this type.
    #[inline]
    pub fn is_ready(&self, type_id: TypeId, kind: IndexKind) -> bool {
        self.definitions
            .iter()
            .any(|it| it.type_id == type_id && it.ready && it.kinds.contains(kind))
    }

    /// Returns the kinds that writes maintain for a type, complete or not.
    pub(crate) fn maintained(&self, type_id: TypeId) -> IndexKinds {
        self.definitions
            .iter()
            .filter(|it| it.type_id == type_id)
            .fold(IndexKinds::NONE, |all, it| all | it.kinds)
    }

    /// Returns the indexing of each attribute number, for writes.
    pub(crate) fn plan(&self) -> WritePlan {
        let mut by_number = Vec::new();
        for known in self.schema.known_attributes() {
            let at = usize::from(known.number.0);
            if by_number.len() <= at {
                by_number.resize(at + 1, None);
            }
            let kinds = self.maintained(known.type_id);
            if !kinds.is_empty() {
                by_number[at] = Some(Indexed {
                    base: known.base,
                    type_id: known.type_id,
                    kinds,
                });
            }
        }
        WritePlan { by_number }
    }
}

/// The indexing of the values of one attribute number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Indexed {
    pub base: AttributeNumber,
    pub type_id: TypeId,
    pub kinds: IndexKinds,
}

/// The indexing of values, by attribute number.
#[derive(Debug, Clone, Default)]
pub(crate) struct WritePlan {
    by_number: Vec<Option<Indexed>>,
}

impl WritePlan {
    #[inline]
    pub fn of(&self, number: AttributeNumber) -> Option<&Indexed> {
        self.by_number.get(usize::from(number.0))?.as_ref()
    }

    /// Returns the plan reduced to `kinds` of one base attribute, to build an index.
    pub fn only(&self, base: AttributeNumber, kinds: IndexKinds) -> WritePlan {
        let narrowed = |it: &Option<Indexed>| {
            let kept = it.filter(|it| it.base == base)?;
            Some(Indexed {
                kinds: kept.kinds & kinds,
                ..kept
            })
        };
        WritePlan {
            by_number: self.by_number.iter().map(narrowed).collect(),
        }
    }
}
