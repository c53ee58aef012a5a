//! The schema: attribute types, object classes, syntaxes and matching rules, and the resolution of
//! names, filters, values and entries as spelled in the protocol.
//!
//! Everything here is pure: no storage, no clock, no subject. A [`Schema`] is immutable and cheap
//! to clone; changing the schema makes a new one, in which every old [`TypeId`], [`ClassId`] and
//! [`AttributeNumber`] still means the same.

mod certificate_names;
mod certificate_status;
mod class_rules;
mod definition;
mod definition_compare;
mod definition_parse;
mod definition_print;
mod description;
mod dictionary;
mod error;
mod gser;
mod handles;
mod id;
mod name_table;
mod number_set;
mod schema;
mod schema_build;
mod schema_file;
mod subschema;
mod subtree;
mod values;

pub mod filter;
pub mod fuzz;
pub mod grams;
pub mod matching;
pub mod name;
pub mod phonetic;
pub mod prepare;
pub mod syntax;
pub mod syntaxes;

pub use certificate_names::CertificateNames;
pub use certificate_status::CertificateStatus;
pub use class_rules::{EntryShape, Structure};
pub use definition::{
    ALSO_OID, AttributeTypeDefinition, ClassKind, ContentRuleDefinition, Definition,
    DefinitionKind, MatchingRuleDefinition, MatchingRuleUseDefinition, NameFormDefinition,
    ObjectClassDefinition, STRUCTURAL_ALONE, StructureRuleDefinition, SyntaxDefinition, Usage,
};
pub use definition_parse::parse_definition;
pub use description::{Description, ValueRange};
pub use dictionary::{AttributeNumber, DictionaryRow, KnownAttribute};
pub use error::{DescribeError, InvalidValue, NameError, SchemaError, SchemaFileError, Violation};
pub use filter::{
    Alternatives, Among, Assertion, ExtensibleAssertion, Filter, Membership, Selector,
    SubstringAssertion, Truth, ValueSource,
};
pub use grams::{grams_of_assertion, substring_grams_of_value};
pub use id::{ClassId, TypeId};
pub use matching::MatchingRule;
pub use name::{Name, ResolvedRdn};
pub use number_set::NumberSet;
pub use phonetic::phonetic_key;
pub use schema::{AttributeType, ContentRule, ObjectClass, Schema};
pub use schema_file::{ReadDefinition, read_each_definition, read_schema_file};
pub use subtree::{Refinement, SubtreeSpecification, joined};
pub use syntax::Syntax;
