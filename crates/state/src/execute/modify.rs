//! Execution of a modify (RFC 4511 §4.6): all of its changes in order, or none.

use super::Execution;
use super::draft::{Draft, DraftValues, position_of};
use super::links::{self, Given};
use super::many::Many;
use super::numbers::Counter;
use super::unique::Own;
use crate::stop::Stop;
use crate::stored_form::normal;
use crate::write::{Modification, Write};
use audit::Operation;
use protocol::name::parse_name;
use protocol::{ChangeOperation, ResultCode};
use schema::syntax::OID_INTEGER;
use schema::{AttributeNumber, Schema, TypeId};
use std::borrow::Cow;
use std::collections::HashSet;
use store::{EntryId, EntryView};

/// Minimum number of values for looking values up in a set instead of one by one.
const SET_FROM: usize = 32;

impl Execution<'_, '_> {
    pub(super) fn modify(&mut self, write: &Write, changes: &[Modification]) -> Result<(), Stop> {
        let (id, name) = (self.locate(write)?, write.name());
        let mut numbers = Vec::with_capacity(changes.len());
        for change in changes {
            numbers.push(self.number(&change.given.description)?);
        }
        let due = self.numbers_due(name)?;
        let account = self.account_concerned(write, &numbers)?;
        let object_class = self.catalog.known.object_class.number;
        let (permissive, relaxed) = (write.has(|it| it.permissive), write.has(|it| it.relaxed));
        let (end, counters, edits, rehashed, audited);
        let bytes = {
            let snapshot = self.batch.snapshot();
            let Some(view) = snapshot.entry(id)? else {
                return Err(super::missing_row(id));
            };
            let given = Given {
                snapshot: &snapshot,
                schema: &self.schema,
            };
            let mut draft = Draft::whole(id, &view, &snapshot, &self.schema)?;
            let linked_before = draft.linked_types();
            let types_before = draft.attributes.len();
            apply_all(&given, &mut draft, changes, &numbers, permissive)?;
            draft.drop_empty();
            // The list is iterated and looked up in itself below.
            drop_duplicates(&mut numbers);
            let gets_class = numbers.contains(&object_class);
            counters = self.give_numbers(&due, name, &mut draft, gets_class)?;
            self.refuse_without_rdn(&draft)?;
            self.refuse_other_lifetime(&view, &draft, &numbers)?;
            let was_there = |number: &AttributeNumber| {
                *number != object_class
                    && (view.attribute(*number).is_some() || draft.is_linked(*number))
            };
            let same_types =
                draft.attributes.len() == types_before && draft.linked_types() == linked_before;
            if same_types && numbers.iter().all(was_there) {
                refuse_several(&self.schema, &draft, &numbers)?;
            } else if relaxed {
                self.check_classes_relaxed(id, &view, &mut draft)?;
            } else {
                self.check_classes(&mut draft)?;
            }
            rehashed = self.stamp_modified(write, id, &view, &mut draft, &numbers, &account)?;
            if relaxed {
                self.check_given(&draft, &numbers, Some(id))?;
            }
            numbers.extend(counters.iter().filter_map(Counter::gave_to));
            self.refuse_held(name, &draft, Some(Own::changed(id, &view, &numbers)))?;
            self.refuse_held_links(name, &draft, changes, id)?;
            end = self.changed_end(&draft, &numbers);
            let bytes = draft.encode(&self.schema, self.position);
            audited = self.drafted(id, &view, &draft, &bytes)?;
            edits = draft.links;
            bytes
        };
        if numbers.contains(&object_class) {
            self.notice_new_classes(changes)?;
        }
        self.batch.update(id, &bytes)?;
        self.store_links(id, edits)?;
        self.notice_change(id, &write.change);
        self.keep(&counters)?;
        self.audit(Operation::Modify, id, &audited)?;
        self.history.modified(id);
        self.noticed.rehashed.extend(rehashed);
        self.notice_end(id, end);
        Ok(())
    }

    fn notice_new_classes(&mut self, changes: &[Modification]) -> Result<(), Stop> {
        for change in changes {
            self.notice_classes(change.given.values.iter().map(Vec::as_slice))?;
        }
        Ok(())
    }

    /// Checks the entry against its classes; the structural class must not change, except that an
    /// auxiliary class that took the place of a structural one yields to the first structural class
    /// added.
    fn check_classes(&self, draft: &mut Draft<'_>) -> Result<(), Stop> {
        let known = &self.catalog.known;
        let structure = draft.check(&self.schema, known.object_class.number, &[], false)?;
        let class = self.schema.class_of(structure.structural);
        let now = class.name();
        let number = known.structural_object_class.number;
        let before = draft.find(number).and_then(|it| it.values.iter().next());
        let Some(before) = before.filter(|it| !it.eq_ignore_ascii_case(now.as_bytes())) else {
            return Ok(());
        };
        let stood_in = std::str::from_utf8(before)
            .ok()
            .and_then(|it| self.schema.object_class(it))
            .is_some_and(|it| self.schema.class_of(it).structural_alone);
        if !stood_in || class.structural_alone {
            return Stop::refuse(
                ResultCode::OBJECT_CLASS_MODS_PROHIBITED,
                format!(
                    "the structural object class is {} and cannot become {now}",
                    String::from_utf8_lossy(before)
                ),
            );
        }
        draft.stamp(&self.schema, number, now.as_bytes().to_vec());
        Ok(())
    }

    /// Like `check_classes` under relaxed rules: the structural class may change, and an entry that
    /// violated its classes before may do so afterwards (draft-zeilenga-ldap-relax-03 §3.1 and
    /// §3.5).
    fn check_classes_relaxed(
        &self,
        id: EntryId,
        before: &EntryView<'_>,
        draft: &mut Draft<'_>,
    ) -> Result<(), Stop> {
        let known = &self.catalog.known;
        let class = known.object_class.number;
        let structure = match draft.check(&self.schema, class, &[], true) {
            Ok(structure) => structure,
            Err(broken) => {
                let snapshot = self.batch.snapshot();
                let before = Draft::whole(id, before, &snapshot, &self.schema)?;
                let sound = before.check(&self.schema, class, &[], true).is_ok();
                return if sound { Err(broken) } else { Ok(()) };
            }
        };
        let now = self.schema.class_of(structure.structural).name();
        let number = known.structural_object_class.number;
        draft.stamp(&self.schema, number, now.as_bytes().to_vec());
        Ok(())
    }

    /// Refuses to remove a value of the RDN (RFC 4511 §4.6).
    fn refuse_without_rdn(&self, draft: &Draft<'_>) -> Result<(), Stop> {
        let Ok(name) = parse_name(&draft.rdn) else {
            return Ok(());
        };
        let Some(rdn) = name.rdns.first() else {
            return Ok(());
        };
        for naming in rdn.values.iter() {
            let Ok(description) = self.schema.describe(naming.attribute) else {
                continue;
            };
            let Some(number) = self.schema.number(&description) else {
                continue;
            };
            let present = draft.find(number).is_some_and(|it| match &it.values {
                // Untouched attributes still have the RDN's value.
                DraftValues::Stored(_) => true,
                DraftValues::Owned(values) => {
                    position_of(&self.schema, description.type_id, values, &naming.value).is_some()
                }
            });
            if !present {
                return Stop::refuse(
                    ResultCode::NOT_ALLOWED_ON_RDN,
                    format!(
                        "{} is part of the entry's name; rename the entry",
                        naming.attribute
                    ),
                );
            }
        }
        Ok(())
    }
}

/// Keeps the first of several equal numbers.
fn drop_duplicates(numbers: &mut Vec<AttributeNumber>) {
    let mut met = HashSet::with_capacity(numbers.len());
    numbers.retain(|it| met.insert(*it));
}

/// Applies changes to the draft in order; `numbers` are the numbers of their attributes.
fn apply_all<'e>(
    given: &Given<'_, '_>,
    draft: &mut Draft<'e>,
    changes: &'e [Modification],
    numbers: &[AttributeNumber],
    permissive: bool,
) -> Result<(), Stop> {
    let schema = given.schema;
    let mut many = Many::of(schema, changes, numbers);
    for (change, number) in changes.iter().zip(numbers) {
        if !many.apply(schema, draft, change, *number, permissive)?
            && !links::apply(given, draft, change, *number, permissive)?
        {
            apply(schema, draft, change, *number, permissive)?;
        }
    }
    many.finish(schema, draft);
    Ok(())
}

/// Applies one change to the draft.
fn apply<'e>(
    schema: &Schema,
    draft: &mut Draft<'e>,
    change: &'e Modification,
    number: AttributeNumber,
    permissive: bool,
) -> Result<(), Stop> {
    let type_id = change.given.description.type_id;
    let text = || schema.spelled(&change.given.description);
    let given = change
        .given
        .values
        .iter()
        .map(|value| Cow::Borrowed(value.as_slice()));
    match change.operation {
        ChangeOperation::Add => {
            let values = draft.values_mut(schema, number);
            if permissive {
                add_missing(schema, type_id, values, given);
            } else {
                refuse_present(schema, type_id, values, &change.given.values, &text)?;
                values.extend(given);
            }
        }
        ChangeOperation::Replace => {
            let values = draft.values_mut(schema, number);
            values.clear();
            values.extend(given);
        }
        ChangeOperation::Delete => {
            if draft
                .find(number)
                .is_none_or(|it| it.values.iter().next().is_none())
            {
                if permissive {
                    return Ok(());
                }
                return no_such(format!("the entry has no {}", text()));
            }
            let values = draft.values_mut(schema, number);
            if change.given.values.is_empty() {
                values.clear();
            }
            if !remove_values(schema, type_id, values, &change.given.values) && !permissive {
                return no_such(format!("{} has no such value", text()));
            }
        }
        ChangeOperation::Increment => increment(schema, draft, change, number)?,
    }
    Ok(())
}

/// Removes these values, each as spelled if such a value is stored, or else one equal to it.
/// Returns whether all existed. Takes time linear in both numbers of values.
fn remove_values(
    schema: &Schema,
    type_id: TypeId,
    values: &mut Vec<Cow<'_, [u8]>>,
    wanted: &[Vec<u8>],
) -> bool {
    if let [wanted] = wanted {
        let at = position_of(schema, type_id, values, wanted);
        at.map(|at| values.remove(at));
        return at.is_some();
    }
    let mut spelled: HashSet<&[u8]> = HashSet::with_capacity(wanted.len());
    let again: Vec<&[u8]> = wanted
        .iter()
        .map(Vec::as_slice)
        .filter(|it| !spelled.insert(it))
        .collect();
    values.retain(|value| !spelled.remove(&**value));
    let left = spelled.into_iter().chain(again);
    let mut forms: HashSet<Vec<u8>> = HashSet::new();
    let mut all = true;
    for wanted in left {
        all &= forms.insert(form(schema, type_id, wanted));
    }
    if !forms.is_empty() {
        values.retain(|value| !forms.remove(&form(schema, type_id, value)));
    }
    all && forms.is_empty()
}

pub(super) fn no_such<T>(text: String) -> Result<T, Stop> {
    Stop::refuse(ResultCode::NO_SUCH_ATTRIBUTE, text)
}

/// Adds the values that the attribute lacks.
fn add_missing<'e>(
    schema: &Schema,
    type_id: TypeId,
    values: &mut Vec<Cow<'e, [u8]>>,
    given: impl Iterator<Item = Cow<'e, [u8]>>,
) {
    let mut held: HashSet<Vec<u8>> = values.iter().map(|it| form(schema, type_id, it)).collect();
    values.extend(given.filter(|it| held.insert(form(schema, type_id, it))));
}

/// Returns the normal form by which values are compared.
pub(super) fn form(schema: &Schema, type_id: TypeId, value: &[u8]) -> Vec<u8> {
    let mut form = Vec::new();
    normal(schema, type_id, value, &mut form);
    form
}

pub(super) fn exists_already<T>(attribute: &str) -> Result<T, Stop> {
    let text = format!("{attribute}: the value exists already");
    Stop::refuse(ResultCode::ATTRIBUTE_OR_VALUE_EXISTS, text)
}

/// Refuses values that the attribute has already.
fn refuse_present(
    schema: &Schema,
    type_id: TypeId,
    values: &[Cow<'_, [u8]>],
    added: &[Vec<u8>],
    text: &dyn Fn() -> String,
) -> Result<(), Stop> {
    let exists = || exists_already(&text());
    if values.len() < SET_FROM || added.len() < 2 {
        let mut found = added
            .iter()
            .map(|it| position_of(schema, type_id, values, it));
        return if found.any(|at| at.is_some()) {
            exists()
        } else {
            Ok(())
        };
    }
    let form = |value: &[u8]| form(schema, type_id, value);
    let held: HashSet<Vec<u8>> = values.iter().map(|value| form(value)).collect();
    if added.iter().any(|value| held.contains(&form(value))) {
        exists()
    } else {
        Ok(())
    }
}

/// Adds an integer to every value of an INTEGER attribute (RFC 4525 §2).
fn increment(
    schema: &Schema,
    draft: &mut Draft<'_>,
    change: &Modification,
    number: AttributeNumber,
) -> Result<(), Stop> {
    let text = schema.spelled(&change.given.description);
    // An earlier change of the request may have removed all values.
    let held = draft.find(number);
    let Some(attribute) = held.filter(|it| it.values.iter().next().is_some()) else {
        return no_such(format!("the entry has no {text}"));
    };
    let syntax = schema.type_of(attribute.type_id).syntax;
    if syntax.oid != OID_INTEGER {
        return Stop::refuse(
            ResultCode::CONSTRAINT_VIOLATION,
            format!(
                "only integers can be incremented; the syntax of {text} is {}",
                syntax.description
            ),
        );
    }
    let integer = |bytes: &[u8]| std::str::from_utf8(bytes).ok()?.parse::<i128>().ok();
    let by = change.given.values.first().and_then(|value| integer(value));
    for value in draft.values_mut(schema, number) {
        let sum = by
            .zip(integer(value))
            .and_then(|(by, value)| value.checked_add(by));
        let Some(sum) = sum else {
            return Stop::refuse(
                ResultCode::CONSTRAINT_VIOLATION,
                format!("{text} can be incremented only between integers of 128 bits"),
            );
        };
        *value = Cow::Owned(sum.to_string().into_bytes());
    }
    Ok(())
}

/// Refuses several values of changed single-valued attributes.
fn refuse_several(
    schema: &Schema,
    draft: &Draft<'_>,
    numbers: &[AttributeNumber],
) -> Result<(), Stop> {
    for number in numbers {
        let Some(attribute) = draft.find(*number) else {
            continue;
        };
        let type_of = schema.type_of(attribute.type_id);
        if type_of.single_value && attribute.values.iter().take(2).count() > 1 {
            return Stop::refuse(
                ResultCode::CONSTRAINT_VIOLATION,
                format!("{} may have one value only", type_of.name()),
            );
        }
    }
    Ok(())
}
