//! Lines of the audit about what a record changes.
//!
//! A line is a function of record and state, as everything in execution is, and the end of the
//! chain is a row of the database: so every node has the same chain, whether it writes the lines to
//! files or not, and nodes that compare their states compare their chains.

use super::Execution;
use crate::level;
use crate::meta::META_AUDIT;
use crate::stop::{Failure, Refusal, Stop};
use crate::time;
use crate::write::Write;
use audit::{Author, Change, Head, Line, Opening, Operation};
use protocol::ResultCode;
use store::{EntryId, Snapshot};

/// The lines about one record.
#[derive(Debug, Clone)]
pub struct Audited {
    /// Where in the chain they begin.
    pub opening: Opening,
    /// The lines, each with its end.
    pub bytes: Vec<u8>,
    /// The end of the chain behind them.
    pub head: Head,
}

/// The lines about the record being executed.
#[derive(Debug, Default)]
pub(super) struct Trail {
    is_on: bool,
    /// The lines; `None` before the first.
    audited: Option<Audited>,
    /// Who makes the current write.
    by: String,
    author: Option<Author>,
}

/// The lines at some moment, to go back to.
pub(super) struct Mark(Option<(usize, Head)>);

impl Trail {
    /// The lines of a record that is executed while changes are audited, or not.
    pub fn new(is_on: bool) -> Trail {
        Trail {
            is_on,
            ..Trail::default()
        }
    }

    /// Whether changes are audited.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.is_on
    }

    /// DN of the subject that makes the current write.
    pub fn by(&self) -> &str {
        &self.by
    }

    /// Sets the write that the next lines are about.
    #[inline]
    pub fn begin(&mut self, write: &Write) {
        if self.is_on {
            self.by = write.by().to_owned();
            self.author = write.grant.author().cloned();
        }
    }

    /// The present end of the lines.
    pub fn mark(&self) -> Mark {
        Mark((self.audited.as_ref()).map(|it| (it.bytes.len(), it.head)))
    }

    /// Removes the lines behind a mark, whose changes were taken back.
    pub fn rewind(&mut self, mark: &Mark) {
        match (&mark.0, &mut self.audited) {
            (Some((length, head)), Some(audited)) => {
                audited.bytes.truncate(*length);
                audited.head = *head;
            }
            _ => self.audited = None,
        }
    }

    /// The lines; `None` if there are none.
    pub fn into_lines(self) -> Option<Audited> {
        self.audited
    }

    /// The end of the chain behind the lines; `None` if there are none.
    pub fn head(&self) -> Option<Head> {
        self.audited.as_ref().map(|it| it.head)
    }
}

/// Reads the end of the chain; `None` if nothing was ever audited.
///
/// # Errors
/// The store cannot be read, or the row is damaged.
pub fn head_of_audit(snapshot: &Snapshot<'_>) -> Result<Option<Head>, Failure> {
    let Some(row) = snapshot.meta(META_AUDIT)? else {
        return Ok(None);
    };
    let head = Head::decode(row).ok_or_else(|| store::Error::Corrupt {
        table: "meta",
        detail: "the end of the audit's chain cannot be read".to_owned(),
    })?;
    Ok(Some(head))
}

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
        if !self.trail.is_on() {
            return Ok(());
        }
        let named = self.named(id)?;
        self.audit_named(operation, &named, changes)
    }

    /// Writes a line about an entry that changed because another one did.
    pub(super) fn audit_consequence(&mut self, id: EntryId) -> Result<(), Stop> {
        if !self.trail.is_on() {
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
        match self.trail.is_on() {
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
            entry: String::from_utf8_lossy(&name).into_owned(),
            uuid: uuid.map_or_else(String::new, |it| String::from_utf8_lossy(it).into_owned()),
        })
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
