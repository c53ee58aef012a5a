//! The errors of this crate, one type for each kind of check.

use std::fmt;

use protocol::{ResultCode, TextError};

use crate::id::TypeId;

/// The reason why definitions or dictionary rows cannot become part of a schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SchemaError {
    /// An OID or a name is already defined in a way that contradicts the given definition.
    Conflict {
        /// First name and OID of the given definition.
        name: String,
        /// The first difference between the definition in force and the one given.
        difference: String,
    },
    /// A definition uses a name that is not defined.
    Unknown {
        /// Name or OID of the definition that uses it.
        definition: String,
        /// The role of the name: "superior", "syntax", "equality rule", …
        role: &'static str,
        /// The undefined name.
        name: String,
    },
    /// An attribute type or object class is its own superior.
    Cycle {
        /// Name or OID of a definition in the cycle.
        definition: String,
    },
    /// An attribute type has neither a syntax nor a superior to inherit one from.
    NoSyntax {
        /// Name or OID of the attribute type.
        definition: String,
    },
    /// The definition breaks a rule of RFC 4512 §2.4 or §2.5.1.
    Contradiction {
        /// Name or OID of the contradictory definition.
        definition: String,
        /// The violated rule.
        rule: &'static str,
    },
    /// The number of definitions or attribute descriptions exceeds 16 bits.
    Full {
        /// Kind of the objects: "attribute types", "object classes", "attribute descriptions".
        what: &'static str,
    },
    /// Two dictionary rows claim the same number or the same text.
    Dictionary {
        /// Number of the later row.
        number: u16,
        /// Text of the later row.
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

/// The reason why a text is not an attribute description of this schema (RFC 4512 §2.5).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DescribeError {
    /// The text is well formed, but no attribute type has this name or OID.
    UnknownType(String),
    /// The text is not an attribute description.
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

/// The reason why a value cannot be stored or compared. It never holds the value, which may be
/// secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InvalidValue {
    /// The value does not obey the syntax of its attribute type.
    Syntax {
        /// Description of the syntax, e.g. "Integer".
        syntax: &'static str,
        /// The expected form.
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

/// Returns the error of a value that does not obey `syntax`; its argument is the expected form.
#[inline]
pub(crate) fn invalid(syntax: &'static str) -> impl Fn(&'static str) -> InvalidValue {
    move |reason| InvalidValue::Syntax { syntax, reason }
}

/// The reason why a text is not a distinguished name under this schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NameError {
    /// The text is not a DN (RFC 4514).
    BadSyntax(TextError),
    /// An RDN uses an attribute type or description that cannot be in a name.
    Attribute(DescribeError),
    /// A value of an RDN is not of its type's syntax, or cannot be compared.
    Value {
        /// The attribute type.
        type_id: TypeId,
        /// Name of the attribute type, for the message.
        attribute: String,
        /// The error of the value.
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

/// A violation of the rules of RFC 4512 §2.4 by an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Violation {
    /// The entry has no `objectClass` value.
    NoClass,
    /// A value of `objectClass` names no object class.
    UnknownClass(String),
    /// No value of `objectClass` is a structural class; the names of the values, without `top`.
    NoStructuralClass(String),
    /// Two structural classes of which neither is a superclass of the other.
    SeveralStructuralChains(String, String),
    /// The content rule of the structural class does not list this auxiliary class.
    ClassNotAllowed(String),
    /// A required attribute is missing.
    Missing {
        /// Name of the class or content rule that requires it.
        class: String,
        /// Name of the required attribute.
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
    /// Returns the result code for the client (RFC 4511 appendix A.2).
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

/// An error in a schema file, with its line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaFileError {
    /// Line, from 1; for LDIF the line on which the value starts.
    pub line: usize,
    /// The expected and the actual text, for people.
    pub message: String,
}

impl fmt::Display for SchemaFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

impl std::error::Error for SchemaFileError {}
