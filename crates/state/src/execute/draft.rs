//! An entry being changed, in which untouched attributes keep their stored bytes.

use super::Execution;
use super::links::Edit;
use crate::stop::Stop;
use crate::stored_form::normal;
use schema::{AttributeNumber, EntryShape, Schema, Structure, TypeId};
use std::borrow::Cow;
use store::{EntryBuilder, EntryId, EntryView, StoredAttribute};

/// An entry to be stored.
pub(super) struct Draft<'e> {
    pub parent: EntryId,
    pub rdn: Cow<'e, str>,
    pub attributes: Vec<DraftAttribute<'e>>,
    /// Changes of values that are links.
    pub links: Vec<Edit>,
}

/// One attribute of a draft.
pub(super) struct DraftAttribute<'e> {
    pub number: AttributeNumber,
    pub type_id: TypeId,
    pub operational: bool,
    pub values: DraftValues<'e>,
}

/// Values of an attribute: as stored, or changed.
pub(super) enum DraftValues<'e> {
    Stored(StoredAttribute<'e>),
    Owned(Vec<Cow<'e, [u8]>>),
}

impl<'e> Draft<'e> {
    pub fn new(parent: EntryId, rdn: &'e str) -> Draft<'e> {
        Draft {
            parent,
            rdn: Cow::Borrowed(rdn),
            attributes: Vec::with_capacity(32),
            links: Vec::new(),
        }
    }

    /// Returns a draft of an unchanged entry, without its links.
    pub fn of(view: &EntryView<'e>, schema: &Schema) -> Draft<'e> {
        let mut draft = Draft::new(view.parent(), view.rdn());
        for stored in view.attributes() {
            let known = schema
                .known(stored.number)
                .expect("the dictionary names what is stored");
            draft.attributes.push(DraftAttribute {
                number: stored.number,
                type_id: known.type_id,
                operational: known.operational,
                values: DraftValues::Stored(stored),
            });
        }
        draft
    }

    pub fn find(&self, number: AttributeNumber) -> Option<&DraftAttribute<'e>> {
        self.attributes.iter().find(|it| it.number == number)
    }

    /// Returns the values of an attribute, to be changed; creates the attribute if it is missing.
    pub fn values_mut(
        &mut self,
        schema: &Schema,
        number: AttributeNumber,
    ) -> &mut Vec<Cow<'e, [u8]>> {
        let at = match self.attributes.iter().position(|it| it.number == number) {
            Some(at) => at,
            None => {
                let known = schema.known(number).expect("the number was just looked up");
                self.attributes.push(DraftAttribute {
                    number,
                    type_id: known.type_id,
                    operational: known.operational,
                    values: DraftValues::Owned(Vec::new()),
                });
                self.attributes.len() - 1
            }
        };
        self.attributes[at].values.owned()
    }

    /// Sets an operational attribute to a single value.
    pub fn stamp(&mut self, schema: &Schema, number: AttributeNumber, value: Vec<u8>) {
        let values = self.values_mut(schema, number);
        values.clear();
        values.push(Cow::Owned(value));
    }

    /// Removes attributes without values.
    pub fn drop_empty(&mut self) {
        self.attributes.retain(|it| match &it.values {
            DraftValues::Stored(_) => true,
            DraftValues::Owned(values) => !values.is_empty(),
        });
    }

    /// Checks the entry against its object classes (RFC 4512 §2.4); under relaxed rules DIT content
    /// rules are ignored.
    pub fn check(
        &self,
        schema: &Schema,
        object_class: AttributeNumber,
        rdn: &[TypeId],
        relaxed: bool,
    ) -> Result<Structure, Stop> {
        let classes: Vec<&[u8]> = match self.find(object_class) {
            Some(attribute) => attribute.values.iter().collect(),
            None => Vec::new(),
        };
        let attributes: Vec<(TypeId, usize)> = self
            .attributes
            .iter()
            .map(|it| (it.type_id, it.values.iter().take(2).count()))
            .chain(
                (self.links.iter().filter(|it| it.count() > 0))
                    .map(|it| (it.type_id, it.count().min(2) as usize)),
            )
            .collect();
        let shape = EntryShape {
            classes: &classes,
            attributes: &attributes,
            rdn,
        };
        let checked = if relaxed {
            schema.check_entry_relaxed(&shape)
        } else {
            schema.check_entry(&shape)
        };
        checked.map_err(|broken| super::violation(&broken))
    }

    /// Encodes the entry: user attributes in their order, then operational ones.
    pub fn encode(&self, schema: &Schema, position: u64) -> Vec<u8> {
        let mut builder = EntryBuilder::new(self.parent, &self.rdn, position);
        builder.set_links(self.links.iter().any(|it| it.count() > 0));
        for operational in [false, true] {
            for attribute in self
                .attributes
                .iter()
                .filter(|it| it.operational == operational)
            {
                match &attribute.values {
                    DraftValues::Stored(stored) => builder.copy(stored, operational),
                    DraftValues::Owned(values) => {
                        let known = schema.known(attribute.number);
                        let text = &known.expect("drafts hold known numbers only").text;
                        let values = values.iter().map(|value| &**value);
                        if operational {
                            builder.operational(attribute.number, text, values);
                        } else {
                            builder.user(attribute.number, text, values);
                        }
                    }
                }
            }
        }
        let mut out = Vec::new();
        builder.finish(&mut out);
        out
    }
}

impl<'e> DraftValues<'e> {
    pub fn iter(&self) -> Box<dyn Iterator<Item = &[u8]> + '_> {
        match self {
            DraftValues::Stored(stored) => Box::new(stored.values().into_iter()),
            DraftValues::Owned(values) => Box::new(values.iter().map(|value| &**value)),
        }
    }

    /// Returns the values as a mutable list; the bytes are not copied.
    fn owned(&mut self) -> &mut Vec<Cow<'e, [u8]>> {
        if let DraftValues::Stored(stored) = self {
            let values = stored.values().into_iter().map(Cow::Borrowed).collect();
            *self = DraftValues::Owned(values);
        }
        match self {
            DraftValues::Owned(values) => values,
            DraftValues::Stored(_) => unreachable!("just replaced"),
        }
    }
}

/// Returns the index of a value equal to the given one; `None` if there is none.
pub(super) fn position_of(
    schema: &Schema,
    type_id: TypeId,
    values: &[Cow<'_, [u8]>],
    wanted: &[u8],
) -> Option<usize> {
    if let Some(at) = values.iter().position(|value| **value == *wanted) {
        return Some(at);
    }
    let (mut form, mut other) = (Vec::new(), Vec::new());
    normal(schema, type_id, wanted, &mut form);
    values.iter().position(|value| {
        normal(schema, type_id, value, &mut other);
        other == form
    })
}

impl Execution<'_, '_> {
    /// Sets the operational attributes that every change updates, except those in the change itself
    /// (under relaxed rules).
    pub(super) fn stamp(&self, draft: &mut Draft<'_>, by: &str, given: &[AttributeNumber]) {
        let known = &self.catalog.known;
        let csn = self.change_sequence_number();
        draft.stamp(&self.schema, known.entry_csn.number, csn.into_bytes());
        if !given.contains(&known.modify_timestamp.number) {
            let time = self.timestamp.clone().into_bytes();
            draft.stamp(&self.schema, known.modify_timestamp.number, time);
        }
        if !given.contains(&known.modifiers_name.number) {
            let by = by.as_bytes().to_vec();
            draft.stamp(&self.schema, known.modifiers_name.number, by);
        }
    }
}
