//! The schema itself: definitions resolved, found by any name or OID in any case.
//!
//! Invariants:
//! - immutable: every change makes a new `Schema`; clones share everything;
//! - an id means the same in every extension of its schema, where definitions are only added, and
//!   in a schema read anew with its handles ([`Schema::with_handles_of`]).

use std::fmt;
use std::sync::{Arc, OnceLock};

use crate::definition::*;
use crate::dictionary::Dictionary;
use crate::error::SchemaError;
use crate::matching::MatchingRule;
use crate::name_table::NameTable;
use crate::schema_build::{extend, without_taken_names};
use crate::schema_file::read_schema_file;
use crate::syntax::Syntax;

/// The handle of an attribute type, valid for the schema that gave it and all with its handles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TypeId(pub u16);

/// The handle of an object class, valid for the schema that gave it and all that have its handles.
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
    /// Whether it is auxiliary and serves as the structural class of entries without another one.
    pub structural_alone: bool,
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
    /// One bit per type: `all_must` and `all_may` together.
    pub(crate) allowed: Box<[u64]>,
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

/// Everything that is defined.
#[derive(Clone, Default)]
pub(crate) struct Definitions {
    /// By `TypeId`.
    pub(crate) types: Vec<Arc<AttributeType>>,
    pub(crate) type_names: NameTable,
    /// By `ClassId`.
    pub(crate) classes: Vec<Arc<ObjectClass>>,
    pub(crate) class_names: NameTable,
    pub(crate) content_rules: Vec<Arc<ContentRule>>,
    pub(crate) name_forms: Vec<Arc<NameFormDefinition>>,
    pub(crate) structure_rules: Vec<Arc<StructureRuleDefinition>>,
    /// Defined in files and not among those implemented.
    pub(crate) syntaxes: Vec<Arc<SyntaxDefinition>>,
    /// Defined in files and not among those implemented.
    pub(crate) matching_rules: Vec<Arc<MatchingRuleDefinition>>,
    /// `objectClass`, which the class rules treat apart.
    pub(crate) object_class: Option<TypeId>,
    /// `extensibleObject` (RFC 4512 §4.3), which allows every user attribute.
    pub(crate) extensible_object: Option<ClassId>,
    /// Handles of types that are not defined any more, or otherwise, ascending.
    pub(crate) types_gone: Vec<TypeId>,
    /// Handles of classes that are not defined any more, ascending.
    pub(crate) classes_gone: Vec<ClassId>,
}

/// The files of the standard schema, with their names for messages.
pub(crate) const STANDARD_FILES: &[(&str, &str)] = &[
    (
        "rfc4512.schema",
        include_str!("../definitions/rfc4512.schema"),
    ),
    (
        "rfc4519.schema",
        include_str!("../definitions/rfc4519.schema"),
    ),
    (
        "rfc2079.schema",
        include_str!("../definitions/rfc2079.schema"),
    ),
    (
        "rfc4524.schema",
        include_str!("../definitions/rfc4524.schema"),
    ),
    (
        "rfc1274.schema",
        include_str!("../definitions/rfc1274.schema"),
    ),
    (
        "rfc4523.schema",
        include_str!("../definitions/rfc4523.schema"),
    ),
    (
        "rfc2798.schema",
        include_str!("../definitions/rfc2798.schema"),
    ),
    (
        "rfc2256.schema",
        include_str!("../definitions/rfc2256.schema"),
    ),
    (
        "operational.schema",
        include_str!("../definitions/operational.schema"),
    ),
    (
        "rfc3671.schema",
        include_str!("../definitions/rfc3671.schema"),
    ),
    (
        "password_policy.schema",
        include_str!("../definitions/password_policy.schema"),
    ),
    (
        "rfc3112.schema",
        include_str!("../definitions/rfc3112.schema"),
    ),
    (
        "rfc2307bis.schema",
        include_str!("../definitions/rfc2307bis.schema"),
    ),
    (
        "groups.schema",
        include_str!("../definitions/groups.schema"),
    ),
    (
        "rfc4876.schema",
        include_str!("../definitions/rfc4876.schema"),
    ),
    (
        "rfc2739.schema",
        include_str!("../definitions/rfc2739.schema"),
    ),
    (
        "rfc7612.schema",
        include_str!("../definitions/rfc7612.schema"),
    ),
    (
        "rfc2926.schema",
        include_str!("../definitions/rfc2926.schema"),
    ),
    (
        "rfc4403.schema",
        include_str!("../definitions/rfc4403.schema"),
    ),
    (
        "rfc2713.schema",
        include_str!("../definitions/rfc2713.schema"),
    ),
    (
        "rfc2714.schema",
        include_str!("../definitions/rfc2714.schema"),
    ),
    (
        "kerberos.schema",
        include_str!("../definitions/kerberos.schema"),
    ),
    ("sudo.schema", include_str!("../definitions/sudo.schema")),
    (
        "openssh_lpk.schema",
        include_str!("../definitions/openssh_lpk.schema"),
    ),
    (
        "ldapns.schema",
        include_str!("../definitions/ldapns.schema"),
    ),
    (
        "eduperson.schema",
        include_str!("../definitions/eduperson.schema"),
    ),
    ("samba.schema", include_str!("../definitions/samba.schema")),
    (
        "radius.schema",
        include_str!("../definitions/radius.schema"),
    ),
    ("dhcp.schema", include_str!("../definitions/dhcp.schema")),
    ("mail.schema", include_str!("../definitions/mail.schema")),
    (
        "changelog.schema",
        include_str!("../definitions/changelog.schema"),
    ),
    (
        "monitor.schema",
        include_str!("../definitions/monitor.schema"),
    ),
    ("pando.schema", include_str!("../definitions/pando.schema")),
];

impl Schema {
    /// Whether it is the very same: what was resolved under one is complete under the other. Under
    /// an extended schema it still means what it meant, but may lack what is new.
    pub fn is_same(&self, other: &Schema) -> bool {
        Arc::ptr_eq(&self.definitions, &other.definitions)
            && Arc::ptr_eq(&self.dictionary, &other.dictionary)
    }

    /// A schema without any definition.
    pub(crate) fn empty() -> Schema {
        Schema {
            definitions: Arc::default(),
            dictionary: Arc::default(),
        }
    }

    /// The standard schema shipped with Pando, with an empty dictionary. Built once per process.
    pub fn standard() -> Schema {
        static STANDARD: OnceLock<Schema> = OnceLock::new();
        STANDARD.get_or_init(Schema::build_standard).clone()
    }

    pub(crate) fn build_standard() -> Schema {
        let mut all = Vec::with_capacity(2048);
        for (file, text) in STANDARD_FILES {
            match read_schema_file(text) {
                Ok(definitions) => all.extend(definitions),
                Err(error) => panic!("embedded schema file {file}: {error}"),
            }
        }
        match Schema::empty().extended(&all) {
            Ok(schema) => schema,
            Err(error) => panic!("embedded schema: {error}"),
        }
    }

    /// This schema with more definitions, which may refer to each other in any order. One of an OID
    /// that is defined widens the definition in force, which keeps its handle; definitions that say
    /// nothing new give this very schema ([`Schema::is_same`]). Names are compared by the
    /// definitions that they mean; description, length and order do not matter.
    ///
    /// # Errors
    /// The first definition that contradicts this schema or names something undefined.
    pub fn extended(&self, definitions: &[Definition]) -> Result<Schema, SchemaError> {
        match extend(&self.definitions, definitions, None)? {
            Some(extended) => self.with_definitions(extended),
            None => Ok(self.clone()),
        }
    }

    /// Like [`Schema::extended`], but where a definition contradicts one in force, the one in
    /// force stands and the conflict is returned; where only some of its names are taken, it is
    /// added under the others. For files of other servers, which repeat standard definitions in
    /// forms of their own.
    ///
    /// # Errors
    /// The first definition that names something undefined or contradicts itself.
    pub fn extended_keeping(
        &self,
        definitions: &[Definition],
    ) -> Result<(Schema, Vec<SchemaError>), SchemaError> {
        let mut kept = Vec::new();
        let definitions = without_taken_names(&self.definitions, definitions, &mut kept);
        let schema = match extend(&self.definitions, &definitions, Some(&mut kept))? {
            Some(extended) => self.with_definitions(extended)?,
            None => self.clone(),
        };
        Ok((schema, kept))
    }

    fn with_definitions(&self, definitions: Definitions) -> Result<Schema, SchemaError> {
        let dictionary = Arc::clone(&self.dictionary);
        let schema = Schema {
            definitions: Arc::new(definitions),
            dictionary,
        };
        if schema.unresolved_rows().is_empty() {
            return Ok(schema);
        }
        schema.with_dictionary(&schema.dictionary_rows())
    }

    /// Finds an attribute type by any of its names or its OID, in any case.
    pub fn attribute_type(&self, name_or_oid: &str) -> Option<TypeId> {
        self.definitions.type_names.find(name_or_oid).map(TypeId)
    }

    /// The attribute type behind a handle of this schema.
    pub fn type_of(&self, id: TypeId) -> &AttributeType {
        &self.definitions.types[usize::from(id.0)]
    }

    /// Finds an object class by any of its names or its OID, in any case.
    pub fn object_class(&self, name_or_oid: &str) -> Option<ClassId> {
        self.definitions.class_names.find(name_or_oid).map(ClassId)
    }

    /// The first name of the object class that a value of `objectClass` means; `None` if that is
    /// what it says, in whatever case, or if there is no such class.
    pub fn class_renamed(&self, value: &[u8]) -> Option<&str> {
        let class = self.object_class(std::str::from_utf8(value).ok()?)?;
        let name = self.class_of(class).name();
        (!value.eq_ignore_ascii_case(name.as_bytes())).then_some(name)
    }

    /// The object class behind a handle of this schema.
    pub fn class_of(&self, id: ClassId) -> &ObjectClass {
        &self.definitions.classes[usize::from(id.0)]
    }

    /// Every attribute type, by handle.
    pub fn attribute_types(&self) -> impl Iterator<Item = (TypeId, &AttributeType)> {
        let types = self.definitions.types.iter().enumerate();
        let types = types.map(|(i, it)| (TypeId(i as u16), &**it));
        types.filter(|(id, _)| self.is_in_force(*id))
    }

    /// Every object class, by handle.
    pub fn object_classes(&self) -> impl Iterator<Item = (ClassId, &ObjectClass)> {
        let classes = self.definitions.classes.iter().enumerate();
        let classes = classes.map(|(i, it)| (ClassId(i as u16), &**it));
        classes.filter(|(id, _)| self.is_class_in_force(*id))
    }

    /// Every content rule.
    pub fn content_rules(&self) -> impl Iterator<Item = &ContentRule> {
        self.definitions.content_rules.iter().map(|rule| &**rule)
    }

    /// Every name form; published, not enforced.
    pub fn name_forms(&self) -> impl Iterator<Item = &NameFormDefinition> {
        self.definitions.name_forms.iter().map(|form| &**form)
    }

    /// Every structure rule; published, not enforced.
    pub fn structure_rules(&self) -> impl Iterator<Item = &StructureRuleDefinition> {
        self.definitions.structure_rules.iter().map(|rule| &**rule)
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

    /// Whether `sub` is `sup` or derives from it.
    pub fn is_subclass(&self, sub: ClassId, sup: ClassId) -> bool {
        sub == sup || self.class_of(sub).all_superiors.binary_search(&sup).is_ok()
    }
}

#[cfg(test)]
mod tests;
