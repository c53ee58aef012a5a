//! Lines of the audit, written while a record is executed.

use super::Execution;
use crate::level;
use crate::stop::{Refusal, Stop};
use crate::time;
use crate::trail::{Audited, head_of_audit};
use crate::write::Write;
use audit::{Change, Line, Operation};
use protocol::ResultCode;
use protocol::name::parse_name;
use store::EntryId;

/// Text shown instead of a DN that contains a value of a secret attribute.
const HIDDEN: &str = "[hidden]";

/// An entry as a line names it.
pub(super) struct Named {
    /// The DN as spelled.
    pub entry: String,
    /// The entryUUID; empty if there is none.
    pub uuid: String,
}

impl Execution<'_, '_> {
    /// Writes a line about a stored entry, detached or not.
    pub(super) fn audit(
        &mut self,
        operation: Operation<'_>,
        id: EntryId,
        changes: &[Change],
    ) -> Result<(), Stop> {
        if !self.trail.is_on {
            return Ok(());
        }
        let named = self.named(id)?;
        self.audit_named(operation, &named, changes)
    }

    /// Writes a line about an entry that changed because another one did.
    pub(super) fn audit_consequence(&mut self, id: EntryId) -> Result<(), Stop> {
        if !self.trail.is_on {
            return Ok(());
        }
        let named = self.named(id)?;
        self.put_line(Operation::Modify, &named, &[], true)
    }

    /// Writes a line about an entry with this name.
    pub(super) fn audit_named(
        &mut self,
        operation: Operation<'_>,
        named: &Named,
        changes: &[Change],
    ) -> Result<(), Stop> {
        match self.trail.is_on {
            true => self.put_line(operation, named, changes, false),
            false => Ok(()),
        }
    }

    /// DN and entryUUID of a stored entry.
    pub(super) fn named(&self, id: EntryId) -> Result<Named, Stop> {
        let snapshot = self.batch.snapshot();
        let Some(view) = snapshot.stored_entry(id)? else {
            return Err(super::missing_row(id));
        };
        let mut name = Vec::new();
        snapshot.write_name(&view, &mut name)?;
        let uuid = view.attribute(self.catalog.known.entry_uuid.number);
        let uuid = uuid.and_then(|it| it.values().into_iter().next());
        Ok(Named {
            entry: self.shown_name(String::from_utf8_lossy(&name).into_owned()),
            uuid: uuid.map_or_else(String::new, |it| String::from_utf8_lossy(it).into_owned()),
        })
    }

    /// The DN, or [`HIDDEN`] if it contains a value of a secret attribute.
    pub(super) fn shown_name(&self, dn: String) -> String {
        let is_secret = |attribute: &str| {
            let described = self.schema.describe(attribute);
            described.is_ok_and(|it| self.catalog.access.secrets().contains(it.type_id))
        };
        let hides = parse_name(&dn).is_ok_and(|name| {
            let mut values = name.rdns.iter().flat_map(|it| it.values.iter());
            values.any(|it| is_secret(it.attribute))
        });
        match hides {
            true => HIDDEN.to_owned(),
            false => dn,
        }
    }

    fn put_line(
        &mut self,
        operation: Operation<'_>,
        named: &Named,
        changes: &[Change],
        is_consequence: bool,
    ) -> Result<(), Stop> {
        if self.trail.audited.is_none() {
            let head = head_of_audit(&self.batch.snapshot())?.unwrap_or_default();
            self.trail.audited = Some(Audited {
                opening: head.opening(),
                bytes: Vec::new(),
                head,
            });
        }
        let line = Line {
            position: self.position,
            time: &time::exact_time(self.time_us),
            operation,
            entry: &named.entry,
            uuid: &named.uuid,
            is_consequence,
            by: &self.trail.by,
            author: self.trail.author.as_ref(),
            changes,
        };
        if let Some(audited) = &mut self.trail.audited {
            audited.head.append(&line, &mut audited.bytes);
        }
        Ok(())
    }

    /// Writes a line about the directory as a whole.
    pub(super) fn audit_directory(&mut self, operation: Operation<'_>) -> Result<(), Stop> {
        let nothing = Named {
            entry: String::new(),
            uuid: String::new(),
        };
        self.audit_named(operation, &nothing, &[])
    }

    /// Begins or ends the audit. It counts as a change of the configuration: writes that were
    /// resolved before the beginning do not say how their authors came in, and are resolved again.
    pub(super) fn change_audit(&mut self, write: &Write, begins: bool) -> Result<(), Stop> {
        let refuse = |text: String| {
            let refusal = Refusal::new(ResultCode::UNWILLING_TO_PERFORM, text);
            Err(Stop::from(refusal))
        };
        let (level, head, digest) = {
            let snapshot = self.batch.snapshot();
            let head = head_of_audit(&snapshot)?.unwrap_or_default();
            (level::of(&snapshot)?, head, snapshot.digest()?)
        };
        if level < level::AUDITS {
            return refuse(format!(
                "changes are audited from format level {} on, this is level {level}",
                level::AUDITS
            ));
        }
        if head.is_on == begins {
            let state = if begins { "already" } else { "not" };
            return refuse(format!("changes are {state} audited"));
        }
        self.trail.is_on = true;
        self.trail.begin(write);
        self.audit_directory(match begins {
            true => Operation::Begin(digest),
            false => Operation::End,
        })?;
        if let Some(audited) = &mut self.trail.audited {
            audited.head.is_on = begins;
        }
        self.noticed.configuration = true;
        Ok(())
    }
}
