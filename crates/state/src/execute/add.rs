//! Execution of an add.

use super::Execution;
use super::draft::{Draft, position_of};
use super::links::Given;
use crate::stop::{Refusal, Stop};
use crate::time::uuid_text;
use crate::write::{Addition, Write};
use audit::Operation;
use protocol::ResultCode;
use schema::{AttributeNumber, TypeId};
use std::borrow::Cow;
use store::{EntryId, Lookup};

impl Execution<'_, '_> {
    pub(super) fn add(&mut self, write: &Write, addition: &Addition) -> Result<(), Stop> {
        let parent = self.parent_of(write)?;
        let due = self.numbers_due(write.name())?;
        let mut numbers = Vec::with_capacity(addition.attributes.len());
        for given in &addition.attributes {
            numbers.push(self.number(&given.description)?);
        }
        let account = self.account_concerned(write, &numbers)?;
        let mut draft = Draft::new(parent, &addition.rdn_spelled);
        for (given, number) in addition.attributes.iter().zip(&numbers) {
            let values = draft.values_mut(&self.schema, *number);
            values.extend(
                given
                    .values
                    .iter()
                    .map(|value| Cow::Borrowed(value.as_slice())),
            );
        }
        self.add_naming_values(addition, &mut draft)?;
        let counters = self.give_numbers(&due, write.name(), &mut draft, true)?;
        let known = self.catalog.known.clone();
        let naming: Vec<TypeId> = addition
            .rdn
            .values
            .iter()
            .map(|(it, _)| it.type_id)
            .collect();
        self.refuse_static_below_dynamic(parent, &draft)?;
        let relaxed = write.has(|it| it.relaxed);
        let class = known.object_class.number;
        let structure = draft.check(&self.schema, class, &naming, relaxed)?;
        self.stamp_new(write, addition, &structure, &mut draft, &numbers);
        self.follow_change(write, None, &mut draft, &numbers, account.as_ref())?;
        if relaxed {
            self.check_given(&draft, &numbers, None)?;
        }
        self.refuse_held(write.name(), &draft, None)?;
        let end = self.end_of(&draft);
        if let Some(options) = &write.options {
            // All values stay in the row: the entry has no sets yet.
            let bytes = draft.encode(&self.schema, self.position);
            self.require_of_new(write, options, &bytes)?;
        }
        // The write can no longer be refused, so object classes are recorded permanently.
        if let Some(classes) = draft.find(known.object_class.number) {
            let classes: Vec<Vec<u8>> = classes.values.iter().map(<[u8]>::to_vec).collect();
            self.notice_classes(classes.iter().map(Vec::as_slice))?;
        }
        self.keep(&counters)?;
        let id = self.store_new(write, draft)?;
        self.notice_end(id, end);
        Ok(())
    }

    /// Stores a new entry after all checks, and replaces texts in groups that name the entry.
    /// Returns the id of the entry.
    fn store_new(&mut self, write: &Write, mut draft: Draft<'_>) -> Result<EntryId, Stop> {
        draft.link_values(&Given {
            snapshot: &self.batch.snapshot(),
            schema: &self.schema,
        })?;
        let bytes = draft.encode(&self.schema, self.position);
        let (parent, edits) = (draft.parent, draft.links);
        let (id, text) = self.id_of_new(write.name())?;
        let audited = self.new_values(id, &bytes, &edits)?;
        let row = if parent.0 == 0 {
            write.name().bytes()
        } else {
            write
                .name()
                .leaf()
                .expect("only the root has no leaf, and it cannot be added")
        };
        self.batch.insert(id, parent, row, &bytes)?;
        self.store_links(id, edits)?;
        self.audit(Operation::Add, id, &audited)?;
        self.history.added(id);
        self.notice_change(id, &write.change);
        // The entry may be a member of itself.
        self.take_place(id, write.name())?;
        if let Some(text) = text
            && text != self.spelled_name(id)?.as_bytes()
        {
            self.change_groups_of(id)?;
        }
        Ok(id)
    }

    /// Returns the id of the entry above the new one, 0 for a naming context. Refuses if the entry
    /// exists.
    fn parent_of(&self, write: &Write) -> Result<EntryId, Stop> {
        let snapshot = self.batch.snapshot();
        let (matched, depth) = match snapshot.find(write.name())? {
            Lookup::Found(_) => {
                let text = "an entry of this name exists";
                return Err(Refusal::new(ResultCode::ENTRY_ALREADY_EXISTS, text).into());
            }
            Lookup::Missing { matched, depth } => (matched, depth),
        };
        if self.catalog.is_context(write.name()) {
            return Ok(EntryId(0));
        }
        self.refuse_if_referral(matched, write, Some(depth))?;
        if matched.0 != 0 && depth + 1 == write.name().depth() {
            self.refuse_below_alias(matched)?;
            return Ok(matched);
        }
        if self.catalog.context_of(write.name()).is_none() {
            return Stop::refuse(
                ResultCode::NO_SUCH_OBJECT,
                "this server holds no naming view for this name",
            );
        }
        Err(self.no_such_object(write, matched)?)
    }

    /// Adds the RDN's values that are missing in the attribute list (RFC 4511 §4.7).
    fn add_naming_values<'e>(
        &mut self,
        addition: &'e Addition,
        draft: &mut Draft<'e>,
    ) -> Result<(), Stop> {
        for (description, value) in &addition.rdn.values {
            let number = self.number(description)?;
            let values = draft.values_mut(&self.schema, number);
            if position_of(&self.schema, description.type_id, values, value).is_none() {
                values.push(Cow::Borrowed(value));
            }
        }
        Ok(())
    }

    fn stamp_new(
        &self,
        write: &Write,
        addition: &Addition,
        structure: &schema::Structure,
        draft: &mut Draft<'_>,
        given: &[AttributeNumber],
    ) {
        let known = &self.catalog.known;
        let schema = &self.schema;
        let class = schema
            .class_of(structure.structural)
            .name()
            .as_bytes()
            .to_vec();
        draft.stamp(schema, known.structural_object_class.number, class);
        let mut renew = |number: AttributeNumber, value: &dyn Fn() -> Vec<u8>| {
            if !given.contains(&number) {
                draft.stamp(schema, number, value());
            }
        };
        renew(known.entry_uuid.number, &|| {
            uuid_text(&addition.uuid).into_bytes()
        });
        renew(known.creators_name.number, &|| {
            write.by().as_bytes().to_vec()
        });
        renew(known.create_timestamp.number, &|| {
            self.timestamp.clone().into_bytes()
        });
        self.stamp(draft, write.by(), given);
    }
}
