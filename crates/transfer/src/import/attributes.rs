//! Attribute descriptions of an import: each worker resolves a description once, and the import
//! assigns numbers to new ones.

use schema::{AttributeNumber, Description, Schema, TypeId};
use state::catalog::Catalog;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// The newest schema of an import, whose dictionary grows while entries are read. Attribute numbers
/// are assigned in the order of the input, so that equal inputs make equal databases: a worker
/// requests a new one when all earlier pieces are finished.
#[derive(Debug)]
pub(super) struct GrowingSchema {
    newest: Mutex<Schema>,
}

impl GrowingSchema {
    pub fn new(schema: Schema) -> GrowingSchema {
        GrowingSchema {
            newest: Mutex::new(schema),
        }
    }

    /// The schema with all numbers assigned so far.
    pub fn newest(&self) -> Schema {
        self.newest
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// The number of a description, assigned now if it has none, and the schema that has it.
    pub fn number(&self, description: &Description) -> Result<(Schema, AttributeNumber), String> {
        let mut newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        let (schema, number, _) = newest
            .with_number(description)
            .map_err(|error| error.to_string())?;
        newest.clone_from(&schema);
        Ok((schema, number))
    }
}

/// Treatment of an attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// The attribute is stored.
    Plain,
    /// The attribute is computed when read, so it is dropped.
    Computed,
    ObjectClass,
    Password,
    /// The import adds the attribute if it is missing. The index of the attribute in [`MADE`].
    Made(usize),
}

/// Operational attributes of every entry, in the order in which they are made.
pub(super) const MADE: [&str; 7] = [
    "structuralObjectClass",
    "entryUUID",
    "creatorsName",
    "createTimestamp",
    "entryCSN",
    "modifyTimestamp",
    "modifiersName",
];

/// The role of `structuralObjectClass`, the first of [`MADE`].
pub(super) const STRUCTURAL: Role = Role::Made(0);

/// Attribute types whose values the server computes.
const COMPUTED: [&str; 8] = [
    "entryDN",
    "etag",
    "subschemaSubentry",
    "hasSubordinates",
    "numSubordinates",
    "memberOf",
    "pandoIndexState",
    "structuralSubschemaSubentry",
];

/// A resolved attribute description.
#[derive(Debug, Clone)]
pub(super) struct Slot {
    /// Spelling in the input.
    pub given: Box<str>,
    /// Canonical spelling.
    pub text: Box<str>,
    pub number: AttributeNumber,
    pub type_id: TypeId,
    pub operational: bool,
    pub role: Role,
    /// Index of the slot with the first spelling of this description.
    pub same_as: usize,
}

/// The descriptions resolved so far.
#[derive(Debug, Default)]
pub(super) struct Slots {
    slots: Vec<Slot>,
    by_text: HashMap<Box<str>, usize>,
}

/// Maximum number of slots. Ordinary input has far fewer spellings.
const SLOTS_MAX: usize = 16_384;

impl Slots {
    #[inline]
    pub fn slot(&self, at: usize) -> &Slot {
        &self.slots[at]
    }

    /// Index of the slot of a description; `None` if it was not resolved yet. The slot `guess` is
    /// compared first.
    #[inline]
    pub fn find(&self, text: &str, guess: Option<usize>) -> Option<usize> {
        if let Some(at) = guess
            && *self.slots[at].given == *text
        {
            return Some(at);
        }
        self.by_text.get(text).copied()
    }

    /// Whether there is no room for another slot.
    pub fn is_full(&self) -> bool {
        self.slots.len() >= SLOTS_MAX
    }

    /// Resolves a new description. Returns the index of its slot, and the schema with its number if
    /// the number is new.
    pub fn add(
        &mut self,
        catalog: &Catalog,
        growing: &GrowingSchema,
        schema: &Schema,
        given: &str,
    ) -> Result<(usize, Option<Schema>), String> {
        let description = schema.describe(given).map_err(|error| error.to_string())?;
        let attribute_type = schema.type_of(description.type_id);
        let role = role(catalog, schema, description.type_id);
        let number = schema.number(&description);
        let (number, newer) = match number {
            _ if role == Role::Computed => (AttributeNumber(0), None),
            Some(number) => (number, None),
            None => {
                let (newer, number) = growing.number(&description)?;
                (number, Some(newer))
            }
        };
        let slot = Slot {
            given: given.into(),
            text: schema.spelled(&description).into(),
            number,
            type_id: description.type_id,
            operational: attribute_type.operational(),
            role,
            same_as: 0,
        };
        Ok((self.push(slot), newer))
    }

    fn push(&mut self, mut slot: Slot) -> usize {
        let at = self.slots.len();
        let same = self.slots.iter().position(|it| it.text == slot.text);
        slot.same_as = same.unwrap_or(at);
        self.by_text.insert(slot.given.clone(), at);
        self.slots.push(slot);
        at
    }
}

fn role(catalog: &Catalog, schema: &Schema, type_id: TypeId) -> Role {
    let name = schema.type_of(type_id).name();
    if type_id == catalog.known.object_class.type_id {
        Role::ObjectClass
    } else if type_id == catalog.known.user_password.type_id {
        Role::Password
    } else if COMPUTED.contains(&name) {
        Role::Computed
    } else {
        MADE.iter()
            .position(|it| *it == name)
            .map_or(Role::Plain, Role::Made)
    }
}
