//! Matching rules: when a value matches an assertion, and in what order values stand
//! (RFC 4517 §4).
//!
//! Every rule works through *normal forms*: two values are equal exactly when their normal forms
//! are equal octets, and for ordering rules the normal forms stand in the order of the octets. So
//! indexes, names and filters compare octets and never call back here.

mod algorithm;
mod certificate;
pub(crate) mod certificate_parts;
mod normalise;
mod table;

#[cfg(test)]
mod tests;

use crate::error::InvalidValue;
use crate::schema::Schema;
use crate::syntax::Syntax;

pub(crate) use normalise::{NESTED_NAMES_MAX, value_in_name};
pub use table::MATCHING_RULES;

/// The normal form of a name given as text.
fn name_bytes(schema: &Schema, text: &str) -> Option<Vec<u8>> {
    Some(schema.resolve_name(text).ok()?.bytes().to_vec())
}

/// One matching rule.
#[derive(Debug)]
pub struct MatchingRule {
    /// Its numeric OID.
    pub oid: &'static str,
    /// Its name, e.g. `caseIgnoreMatch`.
    pub name: &'static str,
    /// The OID of the syntax of its assertion values.
    pub syntax_oid: &'static str,
    /// What it may be in the definition of an attribute type.
    pub kind: RuleKind,
    /// How it compares.
    pub family: Family,
    /// The OIDs of the syntaxes of the attribute types it can be applied to.
    pub applies: &'static [&'static str],
}

/// What a rule may be in the definition of an attribute type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleKind {
    /// `EQUALITY`.
    Equality,
    /// `ORDERING`.
    Ordering,
    /// `SUBSTR`.
    Substrings,
    /// Nothing: only extensible filter items use it.
    ExtensibleOnly,
}

/// How a rule brings values to their normal form, and how it compares them if not for equality.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// Prepared text, case folded (RFC 4518).
    CaseIgnore,
    /// Prepared text.
    CaseExact,
    /// As `CaseIgnore`, ASCII only.
    CaseIgnoreIa5,
    /// As `CaseExact`, ASCII only.
    CaseExactIa5,
    /// Lines of text, case folded.
    CaseIgnoreList,
    /// Digits; spaces mean nothing.
    Numeric,
    /// Case folded; spaces and hyphens mean nothing.
    Telephone,
    /// `TRUE` and `FALSE`.
    Boolean,
    /// Integers of any size.
    Integer,
    /// Bit strings.
    BitString,
    /// The octets themselves.
    Octets,
    /// An OID or the name of a schema element.
    ObjectIdentifier,
    /// A distinguished name.
    DistinguishedName,
    /// A distinguished name and perhaps a bit string.
    NameAndUid,
    /// A point in time.
    GeneralizedTime,
    /// A point in time with a two-digit year.
    UtcTime,
    /// UUIDs, as 16 octets.
    Uuid,
    /// The number at the start of a definition.
    IntegerFirstComponent,
    /// The OID at the start of a definition.
    ObjectIdentifierFirstComponent,
    /// The text at the start of a definition.
    TextFirstComponent,
    /// Some word of the value equals the assertion.
    Word,
    /// All bits of the assertion are set in the value.
    BitAnd,
    /// Some bit of the assertion is set in the value.
    BitOr,
    /// The value names the asserted entry, directly or through other entries.
    InChain,
    /// The value is the asserted name or below it.
    NameSubtree,
    /// The value is directly below the asserted name.
    NameOneLevel,
    /// The value is below the asserted name.
    NameSubordinate,
    /// The value is above the asserted name.
    NameSuperior,
    /// The value is later than now plus the asserted duration.
    LaterThan,
    /// The value is earlier than now plus the asserted duration.
    EarlierThan,
    /// Parts of the date and time are as asserted.
    PartialTime,
    /// Certificates, by serial number and issuer.
    Certificate,
    /// Revocation lists, by issuer and time.
    CertificateList,
    /// Certificates, by any of their parts.
    CertificateParts,
    /// Revocation lists, by any of their parts.
    CertificateListParts,
    /// Supported algorithms, by their identifier.
    Algorithm,
}

/// The OID of the rule that follows membership through nested groups.
pub const OID_IN_CHAIN: &str = "1.2.840.113556.1.4.1941";

impl MatchingRule {
    /// Finds a matching rule by its name in any case, or by its OID.
    pub fn by_name(name_or_oid: &str) -> Option<&'static MatchingRule> {
        MATCHING_RULES
            .iter()
            .find(|rule| rule.oid == name_or_oid || rule.name.eq_ignore_ascii_case(name_or_oid))
    }

    /// Whether the rule can be applied to values of this syntax.
    pub fn applies_to(&self, syntax: &Syntax) -> bool {
        self.applies.contains(&syntax.oid)
    }

    /// Appends the normal form of a value that an entry holds.
    ///
    /// # Errors
    /// The value is not of the syntax the rule works on. `out` is then as it was.
    pub fn normalise(
        &self,
        schema: &Schema,
        value: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), InvalidValue> {
        normalise::value(schema, self.family, value, out)
    }

    /// Appends the normal form of the value a filter or a compare request asserts. It differs from
    /// [`MatchingRule::normalise`] for rules that look at a part of the stored value.
    ///
    /// # Errors
    /// The value is not of the rule's assertion syntax. `out` is then as it was.
    pub fn normalise_assertion(
        &self,
        schema: &Schema,
        value: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), InvalidValue> {
        if self.family == Family::Octets && self.syntax_oid != self.applies[0] {
            normalise::check_whole(value)?;
        }
        normalise::assertion(schema, self.family, value, out)
    }

    /// Appends the form of a stored value in which this substring rule looks for pieces.
    ///
    /// # Errors
    /// The value is not of the syntax the rule works on. `out` is then as it was.
    pub fn normalise_for_pieces(
        &self,
        value: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), InvalidValue> {
        normalise::for_pieces(self.family, value, out)
    }

    /// Appends the normal form of one piece of a substring assertion.
    ///
    /// # Errors
    /// The piece cannot be part of a value. `out` is then as it was.
    pub fn normalise_piece(
        &self,
        piece: &[u8],
        position: Position,
        out: &mut Vec<u8>,
    ) -> Result<(), InvalidValue> {
        normalise::piece(self.family, piece, position, out)
    }
}

impl PartialEq for MatchingRule {
    fn eq(&self, other: &MatchingRule) -> bool {
        self.oid == other.oid
    }
}

impl Eq for MatchingRule {}

/// Where a piece of a substring assertion has to stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Position {
    /// At the start of the value.
    Initial,
    /// Anywhere after the previous piece.
    Any,
    /// At the end of the value.
    Final,
}
