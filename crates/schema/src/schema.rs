//! The schema itself: definitions resolved, found by any name or OID in any case.
//!
//! Invariants:
//! - immutable: every change makes a new `Schema`; clones share everything;
//! - definitions are only ever added, so an id means the same in every extension of its schema.

use std::sync::Arc;

use crate::definition::*;
use crate::dictionary::Dictionary;
use crate::error::SchemaError;
use crate::matching::MatchingRule;
use crate::syntax::Syntax;

/// The handle of an attribute type, valid for the schema that gave it and all its extensions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TypeId(pub u16);

/// The handle of an object class, valid for the schema that gave it and all its extensions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClassId(pub u16);

/// A resolved attribute type (RFC 4512 §2.5.1).
#[derive(Debug, Clone)]
pub struct AttributeType {
    /// Numeric OID.
    pub oid: String,
    /// Short names; the first is canonical.
    pub names: Vec<String>,
    /// The direct supertype.
    pub superior: Option<TypeId>,
    /// Own or inherited.
    pub equality: Option<&'static MatchingRule>,
    /// Own or inherited.
    pub ordering: Option<&'static MatchingRule>,
    /// Own or inherited.
    pub substring: Option<&'static MatchingRule>,
    /// Own or inherited. A syntax nobody knows is treated as octet string; the definition keeps
    /// its OID.
    pub syntax: &'static Syntax,
    /// At most one value per entry.
    pub single_value: bool,
    /// Collective (RFC 3671).
    pub collective: bool,
    /// Only the server writes it.
    pub no_user_modification: bool,
    /// What it is for.
    pub usage: Usage,
    /// Values travel as `;binary` (RFC 4522): certificates and their kin (RFC 4523 §2).
    pub binary_transfer: bool,
    /// The definition as it was given.
    pub definition: AttributeTypeDefinition,
}

impl AttributeType {
    /// The canonical name: the first one, else the OID.
    pub fn name(&self) -> &str {
        self.names.first().unwrap_or(&self.oid)
    }

    /// Whether it is operational: any usage but `userApplications`.
    pub fn operational(&self) -> bool {
        self.usage != Usage::UserApplications
    }
}

/// A resolved object class (RFC 4512 §2.4).
#[derive(Debug, Clone)]
pub struct ObjectClass {
    /// Numeric OID.
    pub oid: String,
    /// Short names; the first is canonical.
    pub names: Vec<String>,
    /// Abstract, structural or auxiliary.
    pub kind: ClassKind,
    /// Direct superclasses.
    pub superiors: Vec<ClassId>,
    /// All superclasses, direct and indirect, each once, ascending.
    pub all_superiors: Vec<ClassId>,
    /// Required attributes of this class alone.
    pub must: Vec<TypeId>,
    /// Allowed attributes of this class alone.
    pub may: Vec<TypeId>,
    /// Required attributes, inherited ones included, ascending.
    pub all_must: Vec<TypeId>,
    /// Allowed attributes, inherited ones included, ascending.
    pub all_may: Vec<TypeId>,
    /// The definition as it was given.
    pub definition: ObjectClassDefinition,
}

impl ObjectClass {
    /// The canonical name: the first one, else the OID.
    pub fn name(&self) -> &str {
        self.names.first().unwrap_or(&self.oid)
    }
}

/// A resolved DIT content rule (RFC 4512 §4.1.6).
#[derive(Debug, Clone)]
pub struct ContentRule {
    /// The structural class it governs.
    pub class: ClassId,
    /// The auxiliary classes its entries may belong to.
    pub auxiliaries: Vec<ClassId>,
    /// Attributes required besides.
    pub must: Vec<TypeId>,
    /// Attributes allowed besides.
    pub may: Vec<TypeId>,
    /// Attributes precluded.
    pub not: Vec<TypeId>,
    /// The definition as it was given.
    pub definition: ContentRuleDefinition,
}

/// Definitions and the dictionary of one database. Immutable; cloning copies two pointers.
#[derive(Debug, Clone)]
pub struct Schema {
    pub(crate) definitions: Arc<Definitions>,
    pub(crate) dictionary: Arc<Dictionary>,
}

/// Everything that is defined.
#[derive(Debug, Clone, Default)]
pub(crate) struct Definitions {
    pub(crate) types: Vec<Arc<AttributeType>>,
    pub(crate) classes: Vec<Arc<ObjectClass>>,
}

impl Schema {
    /// The standard schema shipped with Pando, with an empty dictionary.
    pub fn standard() -> Schema {
        unimplemented!()
    }

    /// This schema with more definitions, which may refer to each other in any order. Repeating a
    /// definition changes nothing.
    ///
    /// # Errors
    /// The first definition that contradicts this schema or names something undefined.
    pub fn extended(&self, definitions: &[Definition]) -> Result<Schema, SchemaError> {
        let _ = definitions;
        unimplemented!()
    }

    /// Finds an attribute type by any of its names or its OID, in any case.
    pub fn attribute_type(&self, name_or_oid: &str) -> Option<TypeId> {
        let _ = name_or_oid;
        unimplemented!()
    }

    /// The attribute type behind a handle of this schema.
    pub fn type_of(&self, id: TypeId) -> &AttributeType {
        &self.definitions.types[usize::from(id.0)]
    }

    /// Finds an object class by any of its names or its OID, in any case.
    pub fn object_class(&self, name_or_oid: &str) -> Option<ClassId> {
        let _ = name_or_oid;
        unimplemented!()
    }

    /// The object class behind a handle of this schema.
    pub fn class_of(&self, id: ClassId) -> &ObjectClass {
        &self.definitions.classes[usize::from(id.0)]
    }

    /// Every attribute type.
    pub fn attribute_types(&self) -> impl Iterator<Item = (TypeId, &AttributeType)> {
        self.definitions.types.iter().enumerate().map(|(i, it)| (TypeId(i as u16), &**it))
    }

    /// Every object class.
    pub fn object_classes(&self) -> impl Iterator<Item = (ClassId, &ObjectClass)> {
        self.definitions.classes.iter().enumerate().map(|(i, it)| (ClassId(i as u16), &**it))
    }

    /// Whether `sub` is `sup` or derives from it.
    pub fn is_subtype(&self, sub: TypeId, sup: TypeId) -> bool {
        let mut at = Some(sub);
        while let Some(id) = at {
            if id == sup {
                return true;
            }
            at = self.type_of(id).superior;
        }
        false
    }
}
