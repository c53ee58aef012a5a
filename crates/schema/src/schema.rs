//! The schema itself: definitions resolved, found by any name or OID in any case.
//!
//! Invariants:
//! - a schema is immutable: every change makes a new `Schema`; clones share all data;
//! - a handle keeps its meaning in every extension of its schema, where definitions are only added,
//!   and in a schema read anew with its handles ([`Schema::with_handles_of`]).

mod extend;
mod standard;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

use crate::definition::*;
use crate::dictionary::Dictionary;
use crate::id::{ClassId, TypeId};
use crate::matching::MatchingRule;
use crate::name_table::NameTable;
use crate::syntax::Syntax;

/// A resolved attribute type (RFC 4512 §2.5.1).
#[derive(Debug, Clone)]
pub struct AttributeType {
    /// Numeric OID.
    pub oid: String,
    /// Short names of the type; the first is canonical.
    pub names: Vec<String>,
    /// The direct supertype.
    pub superior: Option<TypeId>,
    /// Equality rule, own or inherited.
    pub equality: Option<&'static MatchingRule>,
    /// Ordering rule, own or inherited.
    pub ordering: Option<&'static MatchingRule>,
    /// Substring rule, own or inherited.
    pub substring: Option<&'static MatchingRule>,
    /// Syntax, own or inherited. An unknown syntax is treated as octet string; the definition keeps
    /// its OID.
    pub syntax: &'static Syntax,
    /// Whether an entry may have at most one value.
    pub single_value: bool,
    /// Whether the type is collective (RFC 3671).
    pub collective: bool,
    /// Whether only the server writes values.
    pub no_user_modification: bool,
    /// Application of the type.
    pub usage: Usage,
    /// Whether values travel as `;binary` (RFC 4522), as certificates do (RFC 4523 §2).
    pub binary_transfer: bool,
    /// The definition as given.
    pub definition: AttributeTypeDefinition,
}

impl AttributeType {
    /// Canonical name: the first name, else the OID.
    pub fn name(&self) -> &str {
        self.names.first().unwrap_or(&self.oid)
    }

    /// Returns whether the type is operational: of any usage but `userApplications`.
    pub fn operational(&self) -> bool {
        self.usage != Usage::UserApplications
    }
}

/// A resolved object class (RFC 4512 §2.4).
#[derive(Debug, Clone)]
pub struct ObjectClass {
    /// Numeric OID.
    pub oid: String,
    /// Short names of the class; the first is canonical.
    pub names: Vec<String>,
    /// Kind of the class.
    pub kind: ClassKind,
    /// Whether the class is auxiliary and serves as structural class of entries without another
    /// one.
    pub structural_alone: bool,
    /// Direct superclasses of the class.
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
    /// The definition of the class as given.
    pub definition: ObjectClassDefinition,
    /// One bit for each type of `all_must` and `all_may`.
    pub(crate) allowed: Box<[u64]>,
}

impl ObjectClass {
    /// Canonical name of the class: the first name, else the OID.
    pub fn name(&self) -> &str {
        self.names.first().unwrap_or(&self.oid)
    }
}

/// Returns the bits of [`ObjectClass::allowed`] for the types of the two lists.
pub(crate) fn allowed(all_must: &[TypeId], all_may: &[TypeId]) -> Box<[u64]> {
    let both = || all_must.iter().chain(all_may).map(|id| usize::from(id.0));
    let mut bits = vec![0u64; both().max().map_or(0, |highest| highest / 64 + 1)];
    for id in both() {
        bits[id / 64] |= 1 << (id % 64);
    }
    bits.into_boxed_slice()
}

/// A resolved DIT content rule (RFC 4512 §4.1.6).
#[derive(Debug, Clone)]
pub struct ContentRule {
    /// The structural class that the rule governs.
    pub class: ClassId,
    /// Auxiliary classes that entries may belong to.
    pub auxiliaries: Vec<ClassId>,
    /// Attributes required in addition.
    pub must: Vec<TypeId>,
    /// Attributes allowed in addition.
    pub may: Vec<TypeId>,
    /// Attributes precluded.
    pub not: Vec<TypeId>,
    /// The definition of the rule as given.
    pub definition: ContentRuleDefinition,
}

/// The definitions and the dictionary of one database. Immutable; cloning copies two pointers.
#[derive(Clone)]
pub struct Schema {
    pub(crate) definitions: Arc<Definitions>,
    pub(crate) dictionary: Arc<Dictionary>,
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Schema")
            .field("attribute_types", &self.definitions.types.len())
            .field("object_classes", &self.definitions.classes.len())
            .field("numbers", &self.known_attributes().count())
            .finish()
    }
}

/// All definitions of a schema.
#[derive(Clone, Default)]
pub(crate) struct Definitions {
    /// Attribute types by `TypeId`.
    pub(crate) types: Vec<Arc<AttributeType>>,
    pub(crate) type_names: NameTable,
    /// Object classes by `ClassId`.
    pub(crate) classes: Vec<Arc<ObjectClass>>,
    pub(crate) class_names: NameTable,
    pub(crate) content_rules: Vec<Arc<ContentRule>>,
    pub(crate) name_forms: Vec<Arc<NameFormDefinition>>,
    pub(crate) structure_rules: Vec<Arc<StructureRuleDefinition>>,
    /// Syntaxes defined in files and not implemented.
    pub(crate) syntaxes: Vec<Arc<SyntaxDefinition>>,
    /// Matching rules defined in files and not implemented.
    pub(crate) matching_rules: Vec<Arc<MatchingRuleDefinition>>,
    /// Handle of `objectClass`, which the class rules treat specially.
    pub(crate) object_class: Option<TypeId>,
    /// Handle of `extensibleObject` (RFC 4512 §4.3), which allows every user attribute.
    pub(crate) extensible_object: Option<ClassId>,
    /// Handles of types that were removed or redefined, ascending.
    pub(crate) types_gone: Vec<TypeId>,
    /// Handles of classes that were removed, ascending.
    pub(crate) classes_gone: Vec<ClassId>,
}

impl Schema {
    /// Returns whether both are the same schema: names and filters resolved under one are complete
    /// under the other. Under an extended schema they keep their meaning, but may lack new
    /// definitions.
    pub fn is_same(&self, other: &Schema) -> bool {
        Arc::ptr_eq(&self.definitions, &other.definitions)
            && Arc::ptr_eq(&self.dictionary, &other.dictionary)
    }

    /// Returns a schema without definitions.
    pub(crate) fn empty() -> Schema {
        Schema {
            definitions: Arc::default(),
            dictionary: Arc::default(),
        }
    }

    /// Finds an attribute type by any of its names or its OID, in any case.
    pub fn attribute_type(&self, name_or_oid: &str) -> Option<TypeId> {
        self.definitions.type_names.find(name_or_oid).map(TypeId)
    }

    /// Returns the attribute type with a handle of this schema.
    pub fn type_of(&self, id: TypeId) -> &AttributeType {
        &self.definitions.types[usize::from(id.0)]
    }

    /// Finds an object class by any of its names or its OID, in any case.
    pub fn object_class(&self, name_or_oid: &str) -> Option<ClassId> {
        self.definitions.class_names.find(name_or_oid).map(ClassId)
    }

    /// Returns the first name of the object class that a value of `objectClass` names; `None` if
    /// the value is that name, in any case, or there is no such class.
    pub fn class_renamed(&self, value: &[u8]) -> Option<&str> {
        let class = self.object_class(std::str::from_utf8(value).ok()?)?;
        let name = self.class_of(class).name();
        (!value.eq_ignore_ascii_case(name.as_bytes())).then_some(name)
    }

    /// Returns the object class with a handle of this schema.
    pub fn class_of(&self, id: ClassId) -> &ObjectClass {
        &self.definitions.classes[usize::from(id.0)]
    }

    /// Iterates over every attribute type, by handle.
    pub fn attribute_types(&self) -> impl Iterator<Item = (TypeId, &AttributeType)> {
        let types = self.definitions.types.iter().enumerate();
        let types = types.map(|(i, it)| (TypeId(i as u16), &**it));
        types.filter(|(id, _)| self.is_in_force(*id))
    }

    /// Iterates over every object class, by handle.
    pub fn object_classes(&self) -> impl Iterator<Item = (ClassId, &ObjectClass)> {
        let classes = self.definitions.classes.iter().enumerate();
        let classes = classes.map(|(i, it)| (ClassId(i as u16), &**it));
        classes.filter(|(id, _)| self.is_class_in_force(*id))
    }

    /// Iterates over every content rule.
    pub fn content_rules(&self) -> impl Iterator<Item = &ContentRule> {
        self.definitions.content_rules.iter().map(|rule| &**rule)
    }

    /// Iterates over the name forms, which are published but not enforced.
    pub fn name_forms(&self) -> impl Iterator<Item = &NameFormDefinition> {
        self.definitions.name_forms.iter().map(|form| &**form)
    }

    /// Iterates over the structure rules, which are published but not enforced.
    pub fn structure_rules(&self) -> impl Iterator<Item = &StructureRuleDefinition> {
        self.definitions.structure_rules.iter().map(|rule| &**rule)
    }

    /// Returns whether the attribute type of a handle is defined in this schema as it was when the
    /// handle was given.
    pub fn is_in_force(&self, id: TypeId) -> bool {
        let gone = &self.definitions.types_gone;
        gone.is_empty() || gone.binary_search(&id).is_err()
    }

    /// Returns whether the object class of a handle is defined in this schema.
    pub(crate) fn is_class_in_force(&self, id: ClassId) -> bool {
        self.definitions.classes_gone.binary_search(&id).is_err()
    }

    /// Returns whether the type `sub` is `sup` or derives from it.
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

    /// Returns whether the class `sub` is `sup` or derives from it.
    pub fn is_subclass(&self, sub: ClassId, sup: ClassId) -> bool {
        sub == sup || self.class_of(sub).all_superiors.binary_search(&sup).is_ok()
    }
}
