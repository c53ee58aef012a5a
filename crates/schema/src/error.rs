//! The errors of this crate: one type per question that can be answered with no.

use std::fmt;

use protocol::{ResultCode, TextError};

use crate::id::TypeId;

/// Why a set of definitions or dictionary rows cannot become part of a schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SchemaError {
    /// An OID or a name is already defined, and in a way that contradicts the definition given.
    Conflict {
        /// First name and OID of the definition given.
        name: String,
        /// The first difference between the definition in force and the one given.
        difference: String,
    },
    /// A definition names something that is not defined.
    Unknown {
        /// The name or OID of the definition.
        definition: String,
        /// What it names: "superior", "syntax", "equality rule", …
        role: &'static str,
        /// The name nobody defined.
        name: String,
    },
    /// An attribute type or object class is its own superior.
    Cycle {
        /// The name or OID of the definition.
        definition: String,
    },
    /// An attribute type has neither a syntax nor a superior to take it from.
    NoSyntax {
        /// The name or OID of the definition.
        definition: String,
    },
    /// The definition breaks a rule of RFC 4512 §2.4 or §2.5.1.
    Contradiction {
        /// The name or OID of the definition.
        definition: String,
        /// The rule it breaks.
        rule: &'static str,
    },
    /// More definitions or attribute descriptions than a 16-bit number can tell apart.
    Full {
        /// What ran out: "attribute types", "object classes", "attribute descriptions".
        what: &'static str,
    },
    /// Two dictionary rows claim the same number or the same text.
    Dictionary {
        /// The number of the later row.
        number: u16,
        /// Its text.
        text: String,
    },
}

impl fmt::Display for SchemaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SchemaError::Conflict { name, difference } => {
                write!(f, "{name} contradicts the schema: {difference}")
            }
            SchemaError::Unknown {
                definition,
                role,
                name,
            } => {
                write!(
                    f,
                    "{definition} names the {role} {name}, which is not defined"
                )
            }
            SchemaError::Cycle { definition } => {
                write!(f, "{definition} is its own superior")
            }
            SchemaError::NoSyntax { definition } => {
                write!(f, "{definition} has neither a syntax nor a superior")
            }
            SchemaError::Contradiction { definition, rule } => {
                write!(f, "{definition}: {rule}")
            }
            SchemaError::Full { what } => write!(f, "too many {what}, at most 65535"),
            SchemaError::Dictionary { number, text } => {
                write!(
                    f,
                    "dictionary row {number} {text:?} contradicts another row"
                )
            }
        }
    }
}

impl std::error::Error for SchemaError {}

/// Why a text is not an attribute description of this schema (RFC 4512 §2.5).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DescribeError {
    /// Well formed, but no attribute type has this name or OID.
    UnknownType(String),
    /// Not an attribute description at all.
    BadSyntax(String),
}

impl fmt::Display for DescribeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DescribeError::UnknownType(name) => write!(f, "unknown attribute type {name:?}"),
            DescribeError::BadSyntax(text) => {
                write!(f, "expected an attribute description, got {text:?}")
            }
        }
    }
}

impl std::error::Error for DescribeError {}

/// Why a value cannot be stored or compared. Never holds the value itself: it may be a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InvalidValue {
    /// The value does not obey the syntax of its attribute type.
    Syntax {
        /// The syntax's description, e.g. "Integer".
        syntax: &'static str,
        /// What was expected.
        reason: &'static str,
    },
    /// The attribute type has no equality rule.
    NoEqualityRule,
    /// The attribute type has no ordering rule.
    NoOrderingRule,
    /// The attribute type has no substring rule.
    NoSubstringRule,
}

impl fmt::Display for InvalidValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InvalidValue::Syntax { syntax, reason } => {
                write!(f, "value is not of syntax {syntax}: {reason}")
            }
            InvalidValue::NoEqualityRule => f.write_str("attribute type has no equality rule"),
            InvalidValue::NoOrderingRule => f.write_str("attribute type has no ordering rule"),
            InvalidValue::NoSubstringRule => f.write_str("attribute type has no substring rule"),
        }
    }
}

impl std::error::Error for InvalidValue {}

/// The error of a value that does not obey `syntax`; its argument says what was expected.
#[inline]
pub(crate) fn invalid(syntax: &'static str) -> impl Fn(&'static str) -> InvalidValue {
    move |reason| InvalidValue::Syntax { syntax, reason }
}

/// Why a text is not a distinguished name under this schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NameError {
    /// Not the text of a DN (RFC 4514).
    BadSyntax(TextError),
    /// An RDN uses an attribute type or description that cannot be in a name.
    Attribute(DescribeError),
    /// A value of an RDN is not of its type's syntax, or cannot be compared.
    Value {
        /// The attribute type.
        type_id: TypeId,
        /// Its name, for the message.
        attribute: String,
        /// What is wrong with the value.
        reason: InvalidValue,
    },
}

impl fmt::Display for NameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NameError::BadSyntax(error) => write!(f, "{error}"),
            NameError::Attribute(error) => write!(f, "{error}"),
            NameError::Value {
                attribute, reason, ..
            } => write!(f, "{attribute}: {reason}"),
        }
    }
}

impl std::error::Error for NameError {}

/// Which rule of RFC 4512 §2.4 an entry breaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Violation {
    /// The entry has no `objectClass` value.
    NoClass,
    /// A value of `objectClass` names no object class.
    UnknownClass(String),
    /// No value of `objectClass` is a structural class: the names of these, without `top`.
    NoStructuralClass(String),
    /// Two structural classes, neither a superclass of the other.
    SeveralStructuralChains(String, String),
    /// The content rule of the structural class does not list this auxiliary class.
    ClassNotAllowed(String),
    /// A required attribute is missing.
    Missing {
        /// The class or content rule that requires it.
        class: String,
        /// The required attribute.
        attribute: String,
    },
    /// No class of the entry allows this attribute, or the content rule forbids it.
    NotAllowed(String),
    /// A single-valued attribute has several values.
    SeveralValues(String),
    /// An attribute of the RDN is not in the entry.
    NamingAttributeMissing(String),
}

impl Violation {
    /// What a client is told (RFC 4511 appendix A.2).
    pub fn result_code(&self) -> ResultCode {
        match self {
            Violation::NamingAttributeMissing(_) => ResultCode::NAMING_VIOLATION,
            Violation::SeveralValues(_) => ResultCode::CONSTRAINT_VIOLATION,
            Violation::UnknownClass(_) => ResultCode::INVALID_ATTRIBUTE_SYNTAX,
            _ => ResultCode::OBJECT_CLASS_VIOLATION,
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Violation::NoClass => f.write_str("entry has no objectClass"),
            Violation::UnknownClass(class) => write!(f, "unknown object class {class:?}"),
            Violation::NoStructuralClass(classes) => {
                f.write_str("entry has no structural object class")?;
                match classes.as_str() {
                    "" => Ok(()),
                    classes => write!(
                        f,
                        ": beside {classes} it needs one, such as person, device or namedObject"
                    ),
                }
            }
            Violation::SeveralStructuralChains(one, other) => write!(
                f,
                "structural object classes {one} and {other} are not in one superclass chain"
            ),
            Violation::ClassNotAllowed(class) => {
                write!(f, "content rule does not allow auxiliary class {class}")
            }
            Violation::Missing { class, attribute } => {
                write!(f, "object class {class} requires attribute {attribute}")
            }
            Violation::NotAllowed(attribute) => {
                write!(
                    f,
                    "attribute {attribute} is not allowed by the entry's object classes"
                )
            }
            Violation::SeveralValues(attribute) => {
                write!(f, "attribute {attribute} takes one value, got several")
            }
            Violation::NamingAttributeMissing(attribute) => {
                write!(f, "attribute {attribute} of the RDN is not in the entry")
            }
        }
    }
}

impl std::error::Error for Violation {}

/// Where a schema file cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaFileError {
    /// The line, counted from 1; for LDIF the line on which the value starts.
    pub line: usize,
    /// What was expected and what came.
    pub message: String,
}

impl fmt::Display for SchemaFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

impl std::error::Error for SchemaFileError {}
