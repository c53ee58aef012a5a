//! Execution on links: values of `member` and `uniqueMember`, and many of `memberUid`, which are
//! ids in sets outside the entry (docs/adr/0021, docs/adr/0026).
//!
//! A change is computed first, on an [`Edit`], and stored when no refusal is possible any more:
//! each value becomes the id of the entry it names, or of a text.

use super::Execution;
use super::draft::{Draft, DraftValues};
use crate::stop::Stop;
use crate::stored_form::member_form;
use crate::write::Modification;
use protocol::name::parse_name;
use protocol::{ChangeOperation, ResultCode};
use schema::{AttributeNumber, Name, Schema, TypeId};
use std::collections::{BTreeMap, HashMap};
use store::{EntryId, EntryView, LinkedSet, SetId, Snapshot, becomes_links, is_linked_type};

/// Changes of one attribute's set.
#[derive(Debug, Clone)]
pub(super) struct Edit {
    pub number: AttributeNumber,
    pub type_id: TypeId,
    /// The stored set; `None` if it is replaced.
    base: Option<SetId>,
    /// Whether a stored set is removed.
    replaces: bool,
    /// Members that have ids: whether they are in the set afterwards.
    members: BTreeMap<EntryId, bool>,
    /// New texts, which have no ids yet, by normal form.
    texts: HashMap<Vec<u8>, Vec<u8>>,
    /// Number of members afterwards.
    count: u64,
}

impl Edit {
    /// Returns an edit of a set without changes.
    pub fn of(set: &LinkedSet, type_id: TypeId) -> Edit {
        Edit {
            base: Some(set.set),
            count: set.count,
            ..Edit::empty(set.number, type_id)
        }
    }

    fn empty(number: AttributeNumber, type_id: TypeId) -> Edit {
        Edit {
            number,
            type_id,
            base: None,
            replaces: false,
            members: BTreeMap::new(),
            texts: HashMap::new(),
            count: 0,
        }
    }

    /// Number of members after the edit.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Whether the stored set is removed as a whole.
    pub fn replaces(&self) -> bool {
        self.replaces
    }

    /// Members that have ids, and whether they are in the set afterwards.
    pub fn members(&self) -> &BTreeMap<EntryId, bool> {
        &self.members
    }

    /// New texts as spelled, in no order.
    pub fn texts(&self) -> impl Iterator<Item = &[u8]> {
        self.texts.values().map(Vec::as_slice)
    }

    fn clear(&mut self) {
        self.replaces |= self.base.take().is_some();
        self.members.clear();
        self.texts.clear();
        self.count = 0;
    }

    /// Adds a value as a member; returns `false` if the value was a member before.
    fn add(&mut self, given: &Given<'_, '_>, value: &[u8]) -> Result<bool, Stop> {
        let (form, ids) = given.resolve(self.type_id, value)?;
        for id in &ids {
            if self.is_member(given, *id)? {
                return Ok(false);
            }
        }
        if self.texts.contains_key(&form) {
            return Ok(false);
        }
        match ids.first() {
            Some(id) => drop(self.members.insert(*id, true)),
            None => drop(self.texts.insert(form, value.to_vec())),
        }
        self.count += 1;
        Ok(true)
    }

    /// Removes a value; returns `false` if the value was no member. A value may be a member both as
    /// an entry and as a text.
    fn remove(&mut self, given: &Given<'_, '_>, value: &[u8]) -> Result<bool, Stop> {
        let (form, ids) = given.resolve(self.type_id, value)?;
        let mut removed = u64::from(self.texts.remove(&form).is_some());
        for id in ids {
            if self.is_member(given, id)? {
                self.members.insert(id, false);
                removed += 1;
            }
        }
        self.count = self.count.saturating_sub(removed);
        Ok(removed > 0)
    }

    fn is_member(&self, given: &Given<'_, '_>, id: EntryId) -> Result<bool, Stop> {
        Ok(match (self.members.get(&id), self.base) {
            (Some(present), _) => *present,
            (None, Some(set)) => given.snapshot.has_member(set, id)?,
            (None, None) => false,
        })
    }
}

/// The state that values are resolved against.
pub(super) struct Given<'g, 'a> {
    pub snapshot: &'g Snapshot<'a>,
    pub schema: &'g Schema,
}

impl Given<'_, '_> {
    /// Returns the normal form of a value, and the ids under which it may be a member.
    fn resolve(&self, type_id: TypeId, value: &[u8]) -> Result<(Vec<u8>, Vec<EntryId>), Stop> {
        let mut form = Vec::new();
        member_form(self.schema, type_id, value, &mut form);
        let ids = self.snapshot.members_named(&form)?.collect();
        Ok((form, ids))
    }
}

/// Returns whether values of an attribute may be stored as links in an entry with this RDN.
fn is_linked(schema: &Schema, number: AttributeNumber, rdn: &str) -> bool {
    let Some(known) = schema.known(number) else {
        return false;
    };
    is_linked_type(schema, known.type_id)
        && known.base == number
        && !is_naming(schema, rdn, known.type_id)
}

/// Returns whether an RDN has a value of the type; such values are stored in the row.
fn is_naming(schema: &Schema, rdn: &str, type_id: TypeId) -> bool {
    let Ok(name) = parse_name(rdn) else {
        return false;
    };
    let values = name.rdns.first().map(|it| it.values.iter());
    values.into_iter().flatten().any(|it| {
        let described = schema.describe(it.attribute);
        described.is_ok_and(|it| it.type_id == type_id)
    })
}

impl<'e> Draft<'e> {
    /// A draft of an unchanged entry, with its sets.
    pub fn whole(
        id: EntryId,
        view: &EntryView<'e>,
        snapshot: &Snapshot<'_>,
        schema: &Schema,
    ) -> Result<Draft<'e>, Stop> {
        let mut draft = Draft::of(view, schema);
        if view.has_links() {
            for set in snapshot.linked_sets(id)? {
                let known = schema.known(set.number);
                let type_id = known.expect("the dictionary names what is stored").type_id;
                draft.links.push(Edit::of(&set, type_id));
            }
        }
        Ok(draft)
    }

    /// Returns the set of an attribute whose values are links in this entry, to be changed. Values
    /// in the row, from before links or while they were few, are moved into it. `more` values are
    /// about to be added.
    fn edit(
        &mut self,
        given: &Given<'_, '_>,
        number: AttributeNumber,
        more: usize,
    ) -> Result<Option<&mut Edit>, Stop> {
        if let Some(at) = self.links.iter().position(|it| it.number == number) {
            return Ok(Some(&mut self.links[at]));
        }
        if !is_linked(given.schema, number, &self.rdn) {
            return Ok(None);
        }
        let known = given.schema.known(number);
        let type_id = known.expect("the number was just looked up").type_id;
        let stored = self.attributes.iter().position(|it| it.number == number);
        let count = stored.map_or(0, |at| self.attributes[at].values.iter().count());
        if !becomes_links(given.schema, type_id, count + more) {
            return Ok(None);
        }
        let mut edit = Edit::empty(number, type_id);
        if let Some(at) = stored {
            let stored = self.attributes.remove(at);
            for value in stored.values.iter() {
                edit.add(given, value)?;
            }
        }
        self.links.push(edit);
        Ok(self.links.last_mut())
    }

    /// Numbers of the attributes with links.
    pub fn linked_types(&self) -> Vec<AttributeNumber> {
        let linked = self.links.iter().filter(|it| it.count() > 0);
        linked.map(|it| it.number).collect()
    }

    /// Returns whether an attribute has links.
    pub fn is_linked(&self, number: AttributeNumber) -> bool {
        self.links
            .iter()
            .any(|it| it.number == number && it.count() > 0)
    }

    /// Moves all values that must be links from the row into sets. Never refuses the write.
    pub fn link_values(&mut self, given: &Given<'_, '_>) -> Result<(), Stop> {
        let changed = self.attributes.iter().filter(|it| match it.values {
            DraftValues::Owned(_) => is_linked(given.schema, it.number, &self.rdn),
            DraftValues::Stored(_) => false,
        });
        let numbers: Vec<AttributeNumber> = changed.map(|it| it.number).collect();
        for number in numbers {
            self.edit(given, number, 0)?;
        }
        Ok(())
    }
}

/// Applies a change to links; returns `false` if the attribute has no links.
pub(super) fn apply(
    given: &Given<'_, '_>,
    draft: &mut Draft<'_>,
    change: &Modification,
    number: AttributeNumber,
    permissive: bool,
) -> Result<bool, Stop> {
    let more = match change.operation {
        ChangeOperation::Add | ChangeOperation::Replace => change.given.values.len(),
        ChangeOperation::Delete | ChangeOperation::Increment => 0,
    };
    let Some(edit) = draft.edit(given, number, more)? else {
        return Ok(false);
    };
    let text = || given.schema.spelled(&change.given.description);
    let refuse = |code, said: &str| Stop::refuse(code, format!("{}{said}", text()));
    match change.operation {
        ChangeOperation::Increment => {
            refuse(ResultCode::CONSTRAINT_VIOLATION, " is not an integer")?;
        }
        ChangeOperation::Add | ChangeOperation::Replace => {
            if change.operation == ChangeOperation::Replace {
                edit.clear();
            }
            for value in &change.given.values {
                if !edit.add(given, value)? && !permissive {
                    let said = ": the value exists already";
                    refuse(ResultCode::ATTRIBUTE_OR_VALUE_EXISTS, said)?;
                }
            }
        }
        ChangeOperation::Delete => {
            if edit.count() == 0 && !permissive {
                let text = format!("the entry has no {}", text());
                return Stop::refuse(ResultCode::NO_SUCH_ATTRIBUTE, text);
            }
            if change.given.values.is_empty() {
                edit.clear();
            }
            for value in &change.given.values {
                if !edit.remove(given, value)? && !permissive {
                    refuse(ResultCode::NO_SUCH_ATTRIBUTE, " has no such value")?;
                }
            }
        }
    }
    Ok(true)
}

impl Execution<'_, '_> {
    /// Stores changes of links after the entry. Added members are stored first: a text is removed
    /// with its last set, and may move from one attribute to another.
    pub(super) fn store_links(&mut self, id: EntryId, edits: Vec<Edit>) -> Result<(), Stop> {
        let (mut leaving, mut replaced) = (Vec::new(), Vec::new());
        for edit in edits {
            if edit.replaces {
                replaced.extend(self.batch.detach_links(id, edit.number)?);
            }
            let members = edit.members.into_iter();
            let (mut comes, goes): (Vec<_>, Vec<_>) = members.partition(|(_, present)| *present);
            let mut texts: Vec<(Vec<u8>, Vec<u8>)> = edit.texts.into_iter().collect();
            // Sorted, because ids are assigned and must be equal on every node.
            texts.sort_unstable();
            for (form, text) in texts {
                comes.push((self.batch.text_member(&text, &form)?, true));
            }
            if !comes.is_empty() {
                self.batch.change_links(id, edit.number, &comes)?;
            }
            leaving.push((edit.number, goes));
        }
        for (number, goes) in leaving.into_iter().filter(|(_, goes)| !goes.is_empty()) {
            self.batch.change_links(id, number, &goes)?;
        }
        for set in replaced {
            self.noticed.left_work |= !self.batch.clear_small(&set)?;
        }
        Ok(())
    }

    /// Returns the id for a new entry. If groups have its name as a text, this is the text's id, so
    /// that they have the entry as a member from now on, however many they are. Also returns the
    /// text.
    pub(super) fn id_of_new(&mut self, name: &Name) -> Result<(EntryId, Option<Vec<u8>>), Stop> {
        Ok(match self.batch.take_text(name.bytes())? {
            Some((id, text)) => (id, Some(text)),
            None => (self.batch.next_id(), None),
        })
    }

    /// Replaces texts in groups that equal an entry's name by the entry.
    pub(super) fn take_place(&mut self, id: EntryId, name: &Name) -> Result<(), Stop> {
        if let Some(text) = self.batch.snapshot().text_id(name.bytes())? {
            self.batch.replace_member(text, Some(id), usize::MAX)?;
        }
        Ok(())
    }

    /// Refuses values that would become links and that unique rules forbid.
    pub(super) fn refuse_held_links(
        &self,
        name: &Name,
        draft: &Draft<'_>,
        changes: &[Modification],
        own: EntryId,
    ) -> Result<(), Stop> {
        for change in changes {
            let type_id = change.given.description.type_id;
            if change.operation != ChangeOperation::Delete
                && draft.links.iter().any(|it| it.type_id == type_id)
            {
                self.refuse_held_values(name, type_id, &change.given.values, own)?;
            }
        }
        Ok(())
    }
}
