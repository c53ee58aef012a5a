//! Attribute descriptions of imported entries, resolved once each.

use super::schema_in_use::SchemaInUse;
use schema::{AttributeNumber, Schema, TypeId};
use state::catalog::Catalog;
use std::collections::HashMap;

/// What is done with an attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// It is stored.
    Plain,
    /// It is computed when asked for: dropped.
    Computed,
    ObjectClass,
    Password,
    /// An operational attribute that is made when missing: its place in [`MADE`].
    Made(usize),
}

/// The operational attributes every entry has, in the order in which they are made.
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

/// Types whose values this server computes.
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

/// A description as spelled in the input, resolved.
#[derive(Debug, Clone)]
pub(super) struct Slot {
    pub given: Box<str>,
    /// The canonical text.
    pub text: Box<str>,
    pub number: AttributeNumber,
    pub type_id: TypeId,
    pub operational: bool,
    pub role: Role,
    /// The slot of the same description in its first spelling.
    pub same_as: usize,
}

/// The descriptions met so far.
#[derive(Debug, Default)]
pub(super) struct Slots {
    slots: Vec<Slot>,
    by_text: HashMap<Box<str>, usize>,
}

/// Descriptions remembered: more spellings than this are no ordinary input.
const SLOTS_MAX: usize = 16_384;

impl Slots {
    #[inline]
    pub fn slot(&self, at: usize) -> &Slot {
        &self.slots[at]
    }

    /// The slot of a description, if it has been met. `guess` is where to look first.
    #[inline]
    pub fn find(&self, text: &str, guess: Option<usize>) -> Option<usize> {
        if let Some(at) = guess
            && *self.slots[at].given == *text
        {
            return Some(at);
        }
        self.by_text.get(text).copied()
    }

    /// Whether there is room for another one.
    pub fn is_full(&self) -> bool {
        self.slots.len() >= SLOTS_MAX
    }

    /// Resolves a description that has not been met. It may get a number now; then the newest
    /// schema comes back as well.
    pub fn add(
        &mut self,
        catalog: &Catalog,
        in_use: &SchemaInUse,
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
                let (newer, number) = in_use.number(&description)?;
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
