//! The schema descriptions of RFC 4512 §4.1 as data, names still as spelled.
//!
//! Invariant: a definition printed and read again is equal to the one printed.

/// `X-` extensions in the order given, each with its values (RFC 4512 §4.1 `extensions`).
pub type Extensions = Vec<(String, Vec<String>)>;

/// Extension of an auxiliary class, with the value `TRUE`: it serves as the structural class of
/// entries that have no other, since some schemas define it as structural.
pub const STRUCTURAL_ALONE: &str = "X-STRUCTURAL-ALONE";

/// Extension with further OIDs that other schemas give to the same definition.
pub const ALSO_OID: &str = "X-ALSO-OID";

/// Returns the values of an extension, none if the definition lacks it.
pub(crate) fn extension<'e>(extensions: &'e Extensions, keyword: &str) -> &'e [String] {
    let found = extensions
        .iter()
        .find(|(own, _)| own.eq_ignore_ascii_case(keyword));
    found.map_or(&[], |(_, values)| values.as_slice())
}

/// The kind of a description; each has its own attribute in the subschema (RFC 4512 §4.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DefinitionKind {
    /// `attributeTypes`, §4.1.2.
    AttributeType,
    /// `objectClasses`, §4.1.1.
    ObjectClass,
    /// `ldapSyntaxes`, §4.1.5.
    Syntax,
    /// `matchingRules`, §4.1.3.
    MatchingRule,
    /// `matchingRuleUse`, §4.1.4.
    MatchingRuleUse,
    /// `dITContentRules`, §4.1.6.
    ContentRule,
    /// `nameForms`, §4.1.7.2.
    NameForm,
    /// `dITStructureRules`, §4.1.7.1.
    StructureRule,
}

impl DefinitionKind {
    /// Every kind, in the order in which a subschema entry lists them.
    pub const ALL: [DefinitionKind; 8] = [
        DefinitionKind::Syntax,
        DefinitionKind::MatchingRule,
        DefinitionKind::MatchingRuleUse,
        DefinitionKind::AttributeType,
        DefinitionKind::ObjectClass,
        DefinitionKind::ContentRule,
        DefinitionKind::NameForm,
        DefinitionKind::StructureRule,
    ];

    /// Name of the subschema attribute with such descriptions (RFC 4512 §4.2).
    pub fn attribute(self) -> &'static str {
        match self {
            DefinitionKind::AttributeType => "attributeTypes",
            DefinitionKind::ObjectClass => "objectClasses",
            DefinitionKind::Syntax => "ldapSyntaxes",
            DefinitionKind::MatchingRule => "matchingRules",
            DefinitionKind::MatchingRuleUse => "matchingRuleUse",
            DefinitionKind::ContentRule => "dITContentRules",
            DefinitionKind::NameForm => "nameForms",
            DefinitionKind::StructureRule => "dITStructureRules",
        }
    }

    /// Returns the kind whose subschema attribute has this name, in any case.
    pub fn of_attribute(name: &str) -> Option<DefinitionKind> {
        DefinitionKind::ALL
            .into_iter()
            .find(|kind| kind.attribute().eq_ignore_ascii_case(name))
    }
}

/// One parsed schema description. `Display` prints it as RFC 4512 text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Definition {
    /// An attribute type.
    AttributeType(AttributeTypeDefinition),
    /// An object class.
    ObjectClass(ObjectClassDefinition),
    /// A syntax.
    Syntax(SyntaxDefinition),
    /// A matching rule.
    MatchingRule(MatchingRuleDefinition),
    /// The attribute types that a matching rule applies to.
    MatchingRuleUse(MatchingRuleUseDefinition),
    /// The content of entries of one structural class.
    ContentRule(ContentRuleDefinition),
    /// The naming attributes of entries of one structural class.
    NameForm(NameFormDefinition),
    /// The superiors of entries of one name form.
    StructureRule(StructureRuleDefinition),
}

impl Definition {
    /// The kind of description.
    pub fn kind(&self) -> DefinitionKind {
        match self {
            Definition::AttributeType(_) => DefinitionKind::AttributeType,
            Definition::ObjectClass(_) => DefinitionKind::ObjectClass,
            Definition::Syntax(_) => DefinitionKind::Syntax,
            Definition::MatchingRule(_) => DefinitionKind::MatchingRule,
            Definition::MatchingRuleUse(_) => DefinitionKind::MatchingRuleUse,
            Definition::ContentRule(_) => DefinitionKind::ContentRule,
            Definition::NameForm(_) => DefinitionKind::NameForm,
            Definition::StructureRule(_) => DefinitionKind::StructureRule,
        }
    }

    /// Names of the definition, without the OID; syntaxes have none.
    pub fn names(&self) -> &[String] {
        match self {
            Definition::AttributeType(it) => &it.names,
            Definition::ObjectClass(it) => &it.names,
            Definition::Syntax(_) => &[],
            Definition::MatchingRule(it) => &it.names,
            Definition::MatchingRuleUse(it) => &it.names,
            Definition::ContentRule(it) => &it.names,
            Definition::NameForm(it) => &it.names,
            Definition::StructureRule(it) => &it.names,
        }
    }

    /// The OID as text, of a structure rule the rule id.
    pub fn identifier(&self) -> String {
        match self {
            Definition::AttributeType(it) => it.oid.clone(),
            Definition::ObjectClass(it) => it.oid.clone(),
            Definition::Syntax(it) => it.oid.clone(),
            Definition::MatchingRule(it) => it.oid.clone(),
            Definition::MatchingRuleUse(it) => it.oid.clone(),
            Definition::ContentRule(it) => it.oid.clone(),
            Definition::NameForm(it) => it.oid.clone(),
            Definition::StructureRule(it) => it.rule_id.to_string(),
        }
    }

    /// Name of the definition in messages: its first name, else its identifier.
    pub fn label(&self) -> String {
        self.names()
            .first()
            .cloned()
            .unwrap_or_else(|| self.identifier())
    }
}

/// Application of an attribute type (RFC 4512 §4.1.2 `usage`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Usage {
    /// Data of users.
    #[default]
    UserApplications,
    /// Operational attributes of the directory.
    DirectoryOperation,
    /// Operational attributes shared between servers.
    DistributedOperation,
    /// Operational attributes of one server.
    DsaOperation,
}

impl Usage {
    /// Keyword of RFC 4512.
    pub fn keyword(self) -> &'static str {
        match self {
            Usage::UserApplications => "userApplications",
            Usage::DirectoryOperation => "directoryOperation",
            Usage::DistributedOperation => "distributedOperation",
            Usage::DsaOperation => "dSAOperation",
        }
    }
}

/// The kind of an object class (RFC 4512 §2.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ClassKind {
    /// Base of other classes; no entry belongs to an abstract class alone.
    Abstract,
    /// Base class of an entry; an entry has one chain of them.
    #[default]
    Structural,
    /// Additional class of an entry.
    Auxiliary,
}

impl ClassKind {
    /// Keyword of RFC 4512.
    pub fn keyword(self) -> &'static str {
        match self {
            ClassKind::Abstract => "ABSTRACT",
            ClassKind::Structural => "STRUCTURAL",
            ClassKind::Auxiliary => "AUXILIARY",
        }
    }
}

/// `AttributeTypeDescription`, RFC 4512 §4.1.2.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AttributeTypeDefinition {
    /// Numeric OID, or the `name-oid` form that some servers accept.
    pub oid: String,
    /// Short names, the first one is canonical. May be empty.
    pub names: Vec<String>,
    /// `DESC`
    pub description: Option<String>,
    /// `OBSOLETE`
    pub obsolete: bool,
    /// `SUP`
    pub superior: Option<String>,
    /// `EQUALITY`
    pub equality: Option<String>,
    /// `ORDERING`
    pub ordering: Option<String>,
    /// `SUBSTR`
    pub substring: Option<String>,
    /// `SYNTAX`, without the length.
    pub syntax: Option<String>,
    /// The suggested minimum upper bound `{n}` behind the syntax; a hint, not enforced.
    pub length: Option<u32>,
    /// `SINGLE-VALUE`
    pub single_value: bool,
    /// `COLLECTIVE`
    pub collective: bool,
    /// `NO-USER-MODIFICATION`
    pub no_user_modification: bool,
    /// `USAGE`
    pub usage: Usage,
    /// `X-…`
    pub extensions: Extensions,
}

impl AttributeTypeDefinition {
    /// Returns whether the definition marks values as secret: `X-SECRET 'TRUE'`.
    pub fn is_marked_secret(&self) -> bool {
        self.extensions.iter().any(|(keyword, values)| {
            keyword.eq_ignore_ascii_case("X-SECRET")
                && values.iter().any(|it| it.eq_ignore_ascii_case("TRUE"))
        })
    }
}

/// `ObjectClassDescription`, RFC 4512 §4.1.1.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ObjectClassDefinition {
    /// OID.
    pub oid: String,
    /// Short names.
    pub names: Vec<String>,
    /// `DESC`
    pub description: Option<String>,
    /// `OBSOLETE`
    pub obsolete: bool,
    /// `SUP`
    pub superiors: Vec<String>,
    /// `ABSTRACT`, `STRUCTURAL` (also when none is given) or `AUXILIARY`.
    pub kind: ClassKind,
    /// `MUST`
    pub must: Vec<String>,
    /// `MAY`
    pub may: Vec<String>,
    /// `X-…`
    pub extensions: Extensions,
}

/// `SyntaxDescription`, RFC 4512 §4.1.5.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SyntaxDefinition {
    /// OID.
    pub oid: String,
    /// `DESC`
    pub description: Option<String>,
    /// `X-…`
    pub extensions: Extensions,
}

/// `MatchingRuleDescription`, RFC 4512 §4.1.3.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MatchingRuleDefinition {
    /// OID.
    pub oid: String,
    /// Short names.
    pub names: Vec<String>,
    /// `DESC`
    pub description: Option<String>,
    /// `OBSOLETE`
    pub obsolete: bool,
    /// `SYNTAX` of the assertion.
    pub syntax: String,
    /// `X-…`
    pub extensions: Extensions,
}

/// `MatchingRuleUseDescription`, RFC 4512 §4.1.4.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MatchingRuleUseDefinition {
    /// OID of the matching rule.
    pub oid: String,
    /// Short names.
    pub names: Vec<String>,
    /// `DESC`
    pub description: Option<String>,
    /// `OBSOLETE`
    pub obsolete: bool,
    /// `APPLIES`: attribute types.
    pub applies: Vec<String>,
    /// `X-…`
    pub extensions: Extensions,
}

/// `DITContentRuleDescription`, RFC 4512 §4.1.6.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ContentRuleDefinition {
    /// OID of the governed structural class.
    pub oid: String,
    /// Short names.
    pub names: Vec<String>,
    /// `DESC`
    pub description: Option<String>,
    /// `OBSOLETE`
    pub obsolete: bool,
    /// `AUX`: the auxiliary classes that entries may belong to.
    pub auxiliaries: Vec<String>,
    /// `MUST`
    pub must: Vec<String>,
    /// `MAY`
    pub may: Vec<String>,
    /// `NOT`: optional attributes that are precluded.
    pub not: Vec<String>,
    /// `X-…`
    pub extensions: Extensions,
}

/// `NameFormDescription`, RFC 4512 §4.1.7.2.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NameFormDefinition {
    /// OID.
    pub oid: String,
    /// Short names.
    pub names: Vec<String>,
    /// `DESC`
    pub description: Option<String>,
    /// `OBSOLETE`
    pub obsolete: bool,
    /// `OC`: the structural class.
    pub class: String,
    /// `MUST`: naming attributes that every RDN has.
    pub must: Vec<String>,
    /// `MAY`: further naming attributes that an RDN may have.
    pub may: Vec<String>,
    /// `X-…`
    pub extensions: Extensions,
}

/// `DITStructureRuleDescription`, RFC 4512 §4.1.7.1.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StructureRuleDefinition {
    /// The rule id.
    pub rule_id: u32,
    /// Short names.
    pub names: Vec<String>,
    /// `DESC`
    pub description: Option<String>,
    /// `OBSOLETE`
    pub obsolete: bool,
    /// `FORM`: the name form.
    pub form: String,
    /// `SUP`: rule ids of the superior rules.
    pub superiors: Vec<u32>,
    /// `X-…`
    pub extensions: Extensions,
}
