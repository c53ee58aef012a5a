//! Controls of a write in execution: conditions before it, and copies of the entry.
//!
//! Conditions depend on record and state alone: the subject is made from the write, and filters are
//! resolved under the schema at this position of the order. Copies are for the client and have no
//! effect on the state, so they may differ between nodes in computed attributes and in whether they
//! can be made.

use super::Execution;
use crate::catalog::Catalog;
use crate::stop::Stop;
use crate::view::View;
use crate::write::{Change, Write, WriteOptions};
use crate::{assertion, read_entry};
use policy::{Authentication, Subject};
use protocol::{OwnedControl, oid};
use schema::Name;
use std::borrow::Cow;
use store::{EntryId, EntryView, Lookup};

impl Execution<'_, '_> {
    /// Checks the conditions before the change, and copies the entry for pre-read. An add has no
    /// entry yet; [`Execution::require_of_new`] checks the new one.
    pub(super) fn before(
        &self,
        write: &Write,
        options: &WriteOptions,
        controls: &mut Vec<OwnedControl>,
    ) -> Result<(), Stop> {
        let wanted = options.assertion.is_some() || options.pre_read.is_some();
        if !wanted || matches!(write.change, Change::Add(_)) {
            return Ok(());
        }
        let id = self.locate(write)?;
        let subject = self.subject(write, options.administrator);
        let catalog = self.catalog_now();
        let snapshot = self.batch.snapshot();
        if let Some(condition) = &options.assertion {
            let view = View::of_execution(&snapshot, &catalog, &subject);
            assertion::require(&view, id, condition, &|| self.second())?;
        }
        if let Some(selection) = &options.pre_read {
            let view = View::new(&snapshot, &catalog, &subject);
            controls.extend(copy(&view, id, oid::PRE_READ, selection)?);
        }
        Ok(())
    }

    /// Returns the time of the record in seconds of Unix time, equal wherever it is executed.
    fn second(&self) -> i64 {
        (self.time_us / 1_000_000) as i64
    }

    /// Checks the assertion of an add against the entry to be added.
    pub(super) fn require_of_new(
        &self,
        write: &Write,
        options: &WriteOptions,
        row: &[u8],
    ) -> Result<(), Stop> {
        let Some(condition) = &options.assertion else {
            return Ok(());
        };
        let subject = self.subject(write, options.administrator);
        let catalog = self.catalog_now();
        let snapshot = self.batch.snapshot();
        let row = EntryView::new(row)?;
        let view = View::of_execution(&snapshot, &catalog, &subject);
        let entry = view.unstored(row)?;
        assertion::require_of(&view, &entry, condition, &|| self.second())
    }

    /// Copies the entry after the change, for post-read.
    pub(super) fn after(
        &self,
        write: &Write,
        options: &WriteOptions,
        controls: &mut Vec<OwnedControl>,
    ) -> Result<(), Stop> {
        let Some(selection) = &options.post_read else {
            return Ok(());
        };
        let Lookup::Found(id) = self.batch.snapshot().find(&name_afterwards(write))? else {
            return Ok(());
        };
        let subject = self.subject(write, options.administrator);
        let catalog = self.catalog_now();
        let snapshot = self.batch.snapshot();
        let view = View::new(&snapshot, &catalog, &subject);
        controls.extend(copy(&view, id, oid::POST_READ, selection)?);
        Ok(())
    }

    /// Returns whether a refusal may name the entry that a write leads to. A write without options
    /// has no flag for the administrator; its subject's name then decides, which is the name of no
    /// entry.
    pub(super) fn may_learn_of(&self, write: &Write, id: EntryId) -> Result<bool, Stop> {
        let is_administrator = || {
            let kept = self.catalog.administrator.as_ref();
            let by = self.schema.resolve_name(write.by()).ok();
            kept.is_some_and(|it| Some(&it.name) == by.as_ref())
        };
        let administrator = write.has(|it| it.administrator) || is_administrator();
        let subject = self.subject(write, administrator);
        let snapshot = self.batch.snapshot();
        let view = View::new(&snapshot, self.catalog, &subject);
        Ok(view.entry(id)?.is_some())
    }

    /// Returns the subject for access rules.
    fn subject(&self, write: &Write, administrator: bool) -> Subject {
        let nobody = Subject::of_record();
        let by = self.schema.resolve_name(write.by());
        match by {
            Ok(name) if name.depth() > 0 => {
                let (dn, proof) = (write.by().to_owned(), Authentication::Simple);
                if administrator {
                    nobody.administrator(name, dn, proof)
                } else {
                    nobody.authenticated(name, dn, proof)
                }
            }
            _ => nobody,
        }
    }

    /// Returns the catalog at this position of the order, with the attribute numbers that this
    /// record assigned.
    pub(super) fn catalog_now(&self) -> Cow<'_, Catalog> {
        if !self.noticed.new_knowledge {
            return Cow::Borrowed(self.catalog);
        }
        Cow::Owned(self.catalog.clone().with_schema(self.schema.clone()))
    }
}

/// Returns the response control with a copy of an entry; `None` if it exceeds the limits of a
/// response. The write is done nevertheless, as on every other node.
fn copy(
    view: &View<'_>,
    id: EntryId,
    oid: &'static str,
    selection: &[u8],
) -> Result<Option<OwnedControl>, Stop> {
    let Some(entry) = view.entry(id)? else {
        return Ok(None);
    };
    match read_entry::control(view, &entry, oid, selection) {
        Ok(control) => Ok(Some(control)),
        Err(Stop::Refused(_)) => Ok(None),
        Err(failed) => Err(failed),
    }
}

/// Returns the name of the entry after the write.
pub fn name_afterwards(write: &Write) -> Name {
    match &write.change {
        Change::Rename(renaming) => {
            let superior = renaming
                .new_superior
                .clone()
                .or_else(|| write.name().parent())
                .unwrap_or_else(Name::root);
            superior.child(&renaming.rdn.normal)
        }
        _ => write.name().clone(),
    }
}
