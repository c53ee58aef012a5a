//! What controls ask of a write beside its change: conditions before it, copies of the entry.
//!
//! Everything here is decided by the record and the state: the subject is made again from the
//! write, and filters and selections are resolved under the schema as it stands at this place of
//! the order.

use super::Execution;
use crate::catalog::Catalog;
use crate::context::Context;
use crate::operation::{assertion, read_entry};
use crate::stop::Stop;
use crate::write::{Change, Write, WriteOptions};
use policy::{Authentication, Subject};
use protocol::{OwnedControl, oid};
use schema::Name;
use std::borrow::Cow;
use store::{EntryView, Lookup};

impl Execution<'_, '_> {
    /// What must be so before the change, and a copy of the entry as it still is. An add has no
    /// entry yet: [`Execution::require_of_new`] looks at the one it makes.
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
        let (subject, catalog) = (self.subject(write, options), self.catalog_now());
        let snapshot = self.batch.snapshot();
        let context = Context::new(&snapshot, &catalog, &subject);
        if let Some(condition) = &options.assertion {
            assertion::require(&context, id, condition, &|| self.second())?;
        }
        if let (Some(selection), Some(entry)) = (&options.pre_read, context.entry(id)?) {
            let control = read_entry::control(&context, &entry, oid::PRE_READ, selection)?;
            controls.push(control);
        }
        Ok(())
    }

    /// The time of the record, in seconds of Unix time: the same wherever it is executed.
    fn second(&self) -> i64 {
        (self.time_us / 1_000_000) as i64
    }

    /// Holds the entry that an add would make against the add's assertion.
    pub(super) fn require_of_new(
        &self,
        write: &Write,
        options: &WriteOptions,
        row: &[u8],
    ) -> Result<(), Stop> {
        let Some(condition) = &options.assertion else {
            return Ok(());
        };
        let (subject, catalog) = (self.subject(write, options), self.catalog_now());
        let snapshot = self.batch.snapshot();
        let view = EntryView::new(row)?;
        let context = Context::new(&snapshot, &catalog, &subject);
        let entry = context.unstored(view);
        assertion::require_of(&catalog, &entry, condition, &|| self.second())
    }

    /// A copy of the entry as it is after the change.
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
        let (subject, catalog) = (self.subject(write, options), self.catalog_now());
        let snapshot = self.batch.snapshot();
        let context = Context::new(&snapshot, &catalog, &subject);
        if let Some(entry) = context.entry(id)? {
            let control = read_entry::control(&context, &entry, oid::POST_READ, selection)?;
            controls.push(control);
        }
        Ok(())
    }

    /// Who asked, as far as access rules want to know.
    fn subject(&self, write: &Write, options: &WriteOptions) -> Subject {
        let nobody = Subject::anonymous(None, true);
        let by = self.schema.resolve_name(&write.by);
        match by {
            Ok(name) if name.depth() > 0 => {
                let (dn, proof) = (write.by.clone(), Authentication::Simple);
                if options.administrator {
                    nobody.administrator(name, dn, proof)
                } else {
                    nobody.authenticated(name, dn, proof)
                }
            }
            _ => nobody,
        }
    }

    /// The rules at this place of the order: attributes that this record numbered are known.
    pub(super) fn catalog_now(&self) -> Cow<'_, Catalog> {
        if !self.noticed.new_knowledge {
            return Cow::Borrowed(self.catalog);
        }
        let mut catalog = self.catalog.clone();
        catalog.schema = self.schema.clone();
        catalog.indexes.schema = self.schema.clone();
        Cow::Owned(catalog)
    }
}

/// The name the entry has once the write is executed.
pub(super) fn name_afterwards(write: &Write) -> Name {
    match &write.change {
        Change::Rename(renaming) => {
            let superior = renaming
                .new_superior
                .clone()
                .or_else(|| write.name.parent())
                .unwrap_or_else(Name::root);
            superior.child(&renaming.rdn.normal)
        }
        _ => write.name.clone(),
    }
}
