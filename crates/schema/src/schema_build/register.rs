//! Registering definitions: they get handles and names, and are united with those in force.
//!
//! Invariant: a definition that is replaced by a wider one keeps its handle.

use std::borrow::Cow;

use super::Build;
use crate::definition::*;
use crate::definition_compare::{Meaning, Standing, conflict};
use crate::error::SchemaError;
use crate::name_table::NameTable;
use crate::schema::Definitions;

impl<'a> Build<'a> {
    /// Begins with the definitions in force.
    pub(super) fn of(base: &Definitions) -> Build<'a> {
        Build {
            to: base.clone(),
            types: Vec::new(),
            classes: Vec::new(),
            repeated_types: Vec::new(),
            repeated_classes: Vec::new(),
        }
    }

    /// Gives a new type a handle; a known OID is noted, and compared when all names are registered.
    pub(super) fn register_type(
        &mut self,
        given: &'a AttributeTypeDefinition,
    ) -> Result<(), SchemaError> {
        let id = handle(self.to.types.len() + self.types.len(), "attribute types")?;
        match register(
            &mut self.to.type_names,
            id,
            &given.oid,
            &given.names,
            &given.extensions,
        )? {
            Some(present) => self.repeated_types.push((present, given)),
            None => self.types.push(Cow::Borrowed(given)),
        }
        Ok(())
    }

    /// Gives a new class a handle; a known OID is noted, and compared when all names are
    /// registered.
    pub(super) fn register_class(
        &mut self,
        given: &'a ObjectClassDefinition,
    ) -> Result<(), SchemaError> {
        let id = handle(self.to.classes.len() + self.classes.len(), "object classes")?;
        match register(
            &mut self.to.class_names,
            id,
            &given.oid,
            &given.names,
            &given.extensions,
        )? {
            Some(present) => self.repeated_classes.push((present, given)),
            None => self.classes.push(Cow::Borrowed(given)),
        }
        Ok(())
    }

    /// Widens the type with a handle by a definition of the same OID, if that adds something.
    pub(super) fn unite_type(
        &mut self,
        id: u16,
        given: &AttributeTypeDefinition,
    ) -> Result<(), SchemaError> {
        let Standing::Wider(union) = self.meaning(|it| it.compare_types(id, given))? else {
            return Ok(());
        };
        for name in &union.names {
            let _ = self.to.type_names.insert(name, id);
        }
        // Subtypes inherit from the type, so all are resolved anew, under their handles.
        let resolved = std::mem::take(&mut self.to.types);
        let resolved = resolved.iter().map(|it| Cow::Owned(it.definition.clone()));
        self.types.splice(0..0, resolved);
        self.types[usize::from(id)] = Cow::Owned(union);
        Ok(())
    }

    /// Widens the class with a handle by a definition of the same OID, if that adds something.
    pub(super) fn unite_class(
        &mut self,
        id: u16,
        given: &ObjectClassDefinition,
    ) -> Result<(), SchemaError> {
        let Standing::Wider(union) = self.meaning(|it| it.compare_classes(id, given))? else {
            return Ok(());
        };
        for name in &union.names {
            let _ = self.to.class_names.insert(name, id);
        }
        let resolved = std::mem::take(&mut self.to.classes);
        let resolved = resolved.iter().map(|it| Cow::Owned(it.definition.clone()));
        self.classes.splice(0..0, resolved);
        self.classes[usize::from(id)] = Cow::Owned(union);
        Ok(())
    }

    fn meaning<T>(&self, compare: impl FnOnce(&Meaning<'_>) -> T) -> T {
        let type_at = |id: u16| match self.to.types.get(usize::from(id)) {
            Some(resolved) => &resolved.definition,
            None => &*self.types[usize::from(id) - self.to.types.len()],
        };
        let class_at = |id: u16| match self.to.classes.get(usize::from(id)) {
            Some(resolved) => &resolved.definition,
            None => &*self.classes[usize::from(id) - self.to.classes.len()],
        };
        compare(&Meaning {
            type_names: &self.to.type_names,
            class_names: &self.to.class_names,
            type_at: &type_at,
            class_at: &class_at,
        })
    }
}

/// Registers OIDs and names of a new definition under its handle; returns the handle of an existing
/// definition with the OID, if there is one.
fn register(
    table: &mut NameTable,
    id: u16,
    oid: &str,
    names: &[String],
    extensions: &Extensions,
) -> Result<Option<u16>, SchemaError> {
    if let Some(present) = table.find(oid) {
        return Ok(Some(present));
    }
    if let Some(name) = names.iter().find(|name| table.find(name).is_some()) {
        let difference = format!("the name {name} has another OID");
        return Err(conflict(names, oid, difference));
    }
    let oid = oid.to_string();
    let others = extension(extensions, ALSO_OID);
    for name in std::iter::once(&oid).chain(names).chain(others) {
        // A definition may repeat its own name; names of others are refused above.
        let _ = table.insert(name, id);
    }
    Ok(None)
}

fn handle(index: usize, what: &'static str) -> Result<u16, SchemaError> {
    u16::try_from(index)
        .ok()
        .filter(|&id| id < u16::MAX)
        .ok_or(SchemaError::Full { what })
}
