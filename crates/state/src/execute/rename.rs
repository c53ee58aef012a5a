//! Execution of a modify DN, which writes one name row and one entry, whatever the size of the
//! subtree.

use super::Execution;
use super::difference::Difference;
use super::draft::{Draft, position_of};
use super::options::name_afterwards;
use super::trail::Named;
use super::unique::Own;
use crate::stop::Stop;
use crate::write::{Renaming, Write};
use audit::{Change, Operation};
use protocol::ResultCode;
use protocol::name::parse_name;
use schema::{Name, TypeId};
use std::borrow::Cow;
use store::{EntryId, EntryView, Lookup};

impl Execution<'_, '_> {
    pub(super) fn rename(&mut self, write: &Write, renaming: &Renaming) -> Result<(), Stop> {
        let id = self.locate(write)?;
        let old_superior = write
            .name()
            .parent()
            .expect("the root is refused when it is resolved");
        let superior = renaming.new_superior.as_ref().unwrap_or(&old_superior);
        let parent = self.new_parent(write, superior)?;
        self.refuse_taken(write, id)?;
        let mut numbers = Vec::new();
        for (description, _) in &renaming.rdn.values {
            numbers.push(self.number(description)?);
        }
        let (old_parent, bytes) = self.renamed(id, parent, write, renaming, &numbers)?;
        let spelled = self.spelled_name(id)?;
        let has_subordinates = self.batch.snapshot().child_count(id)? > 0;
        let moved_subtree = old_parent != parent && has_subordinates;
        self.notice_lost_name(id, has_subordinates);
        let old_row = write
            .name()
            .leaf()
            .expect("the root is refused when it is resolved");
        let new_row = renaming.rdn.normal.as_slice();
        let audited = self.renaming(id, &bytes)?;
        // The entry replaces texts that equal its new name.
        self.take_place(id, write.name())?;
        self.batch
            .rename(id, (old_parent, old_row), (parent, new_row), &bytes)?;
        self.take_place(id, &name_afterwards(write))?;
        let to = self.spelled_name(id)?;
        if let Some((named, changes)) = audited {
            let shown = self.shown_name(to.clone());
            self.audit_named(Operation::Rename(&shown), &named, &changes)?;
        }
        self.history
            .renamed(id, &spelled, old_parent, moved_subtree);
        if to != spelled {
            self.change_groups_of(id)?;
        }
        Ok(())
    }

    /// The entry's name and the differences of its values, before it is renamed; `None` while
    /// changes are not audited.
    fn renaming(&self, id: EntryId, after: &[u8]) -> Result<Option<(Named, Vec<Change>)>, Stop> {
        if !self.trail.is_on {
            return Ok(None);
        }
        let snapshot = self.batch.snapshot();
        let changes = self.differences(&Difference {
            id,
            before: snapshot.entry(id)?,
            after: Some(EntryView::new(after)?),
            edits: &[],
        })?;
        Ok(Some((self.named(id)?, changes)))
    }

    /// Returns the encoded entry under its new name, and the id of its former superior.
    fn renamed(
        &self,
        id: EntryId,
        parent: EntryId,
        write: &Write,
        renaming: &Renaming,
        numbers: &[schema::AttributeNumber],
    ) -> Result<(EntryId, Vec<u8>), Stop> {
        let snapshot = self.batch.snapshot();
        let Some(view) = snapshot.entry(id)? else {
            return Err(super::missing_row(id));
        };
        let mut draft = Draft::whole(id, &view, &snapshot, &self.schema)?;
        if numbers.iter().any(|it| draft.is_linked(*it)) {
            let text = "an entry cannot be named after its members";
            return Stop::refuse(ResultCode::NAMING_VIOLATION, text);
        }
        if renaming.delete_old_rdn {
            self.delete_old_values(view.rdn(), &mut draft);
        }
        for ((description, value), number) in renaming.rdn.values.iter().zip(numbers) {
            let values = draft.values_mut(&self.schema, *number);
            if position_of(&self.schema, description.type_id, values, value).is_none() {
                values.push(Cow::Borrowed(value));
            }
        }
        draft.drop_empty();
        draft.parent = parent;
        draft.rdn = Cow::Borrowed(&renaming.rdn_spelled);
        let naming: Vec<TypeId> = renaming
            .rdn
            .values
            .iter()
            .map(|(it, _)| it.type_id)
            .collect();
        self.refuse_static_below_dynamic(parent, &draft)?;
        draft.check(
            &self.schema,
            self.catalog.known.object_class.number,
            &naming,
            write.has(|it| it.relaxed),
        )?;
        let new = name_afterwards(write);
        let own = Own::changed(id, &view, numbers);
        self.refuse_held_after_move(own, (write.name(), &new), &draft)?;
        self.stamp(&mut draft, write.by(), &[]);
        Ok((view.parent(), draft.encode(&self.schema, self.position)))
    }

    /// Removes the values of the old RDN (RFC 4511 §4.9). Values that the new RDN has too are added
    /// again as spelled there.
    fn delete_old_values(&self, old_rdn: &str, draft: &mut Draft<'_>) {
        let Ok(old) = parse_name(old_rdn) else { return };
        for rdn in &old.rdns {
            for naming in rdn.values.iter() {
                let Ok(description) = self.schema.describe(naming.attribute) else {
                    continue;
                };
                let Some(number) = self.schema.number(&description) else {
                    continue;
                };
                let values = draft.values_mut(&self.schema, number);
                let at = position_of(&self.schema, description.type_id, values, &naming.value);
                if let Some(at) = at {
                    values.remove(at);
                }
            }
        }
    }

    fn new_parent(&self, write: &Write, superior: &Name) -> Result<EntryId, Stop> {
        if superior.is_within(write.name()) {
            return Stop::refuse(
                ResultCode::UNWILLING_TO_PERFORM,
                "an entry cannot be moved below itself",
            );
        }
        if superior.is_within(&self.catalog.config) != write.name().is_within(&self.catalog.config)
        {
            return Stop::refuse(
                ResultCode::AFFECTS_MULTIPLE_DSAS,
                "entries cannot be moved into or out of cn=config",
            );
        }
        let place = self.batch.snapshot().find(superior)?;
        let (Lookup::Found(at) | Lookup::Missing { matched: at, .. }) = place;
        if self.refers(write, at)? {
            return Stop::refuse(
                ResultCode::AFFECTS_MULTIPLE_DSAS,
                "another server holds the new superior",
            );
        }
        match place {
            Lookup::Found(parent) => {
                self.refuse_below_alias(parent)?;
                Ok(parent)
            }
            Lookup::Missing { matched, .. } => Err(self.no_such_object(write, matched)?),
        }
    }

    fn refuse_taken(&self, write: &Write, id: EntryId) -> Result<(), Stop> {
        let name = name_afterwards(write);
        match self.batch.snapshot().find(&name)? {
            Lookup::Found(other) if other == id => Ok(()),
            Lookup::Found(other) if self.refers(write, other)? => Stop::refuse(
                ResultCode::AFFECTS_MULTIPLE_DSAS,
                "another server holds the entry of the new name",
            ),
            Lookup::Found(_) => Stop::refuse(
                ResultCode::ENTRY_ALREADY_EXISTS,
                "an entry has the new name already",
            ),
            Lookup::Missing { .. } if self.catalog.is_context(&name) => Stop::refuse(
                ResultCode::UNWILLING_TO_PERFORM,
                "a naming view has the new name",
            ),
            Lookup::Missing { .. } => Ok(()),
        }
    }

    /// Returns whether an entry is a referral object that the write does not treat as an ordinary
    /// entry (RFC 3296 §5.6.2).
    fn refers(&self, write: &Write, id: EntryId) -> Result<bool, Stop> {
        if write.manage_dsa_it || !(self.catalog.has_referrals || self.noticed.referrals) {
            return Ok(false);
        }
        let object_class = self.catalog.known.object_class.number;
        let snapshot = self.batch.snapshot();
        let view = snapshot.entry(id)?;
        Ok(view.is_some_and(|view| super::is_referral(&view, object_class)))
    }
}
