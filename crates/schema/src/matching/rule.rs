//! The parts of a matching rule.

use crate::syntax::Syntax;

/// One matching rule.
#[derive(Debug)]
pub struct MatchingRule {
    /// The numeric OID of the rule.
    pub oid: &'static str,
    /// The name of the rule, e.g. `caseIgnoreMatch`.
    pub name: &'static str,
    /// OID of the syntax of the rule's assertion values.
    pub syntax_oid: &'static str,
    /// The keyword before the rule in the definition of an attribute type.
    pub kind: RuleKind,
    /// The comparison of the rule.
    pub family: Family,
    /// OIDs of the syntaxes of attribute types to which the rule applies.
    pub applies: &'static [&'static str],
}

/// The keyword before a rule in the definition of an attribute type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleKind {
    /// `EQUALITY`.
    Equality,
    /// `ORDERING`.
    Ordering,
    /// `SUBSTR`.
    Substrings,
    /// No keyword: only extensible filter items use the rule.
    ExtensibleOnly,
}

/// The way in which a rule normalises values and, except for equality, compares them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// Prepared text, case folded (RFC 4518).
    CaseIgnore,
    /// Prepared text.
    CaseExact,
    /// Prepared ASCII text, case folded.
    CaseIgnoreIa5,
    /// Prepared ASCII text, with case.
    CaseExactIa5,
    /// Lines of text, case folded.
    CaseIgnoreList,
    /// Digits; spaces are ignored.
    Numeric,
    /// Text, case folded; spaces and hyphens are ignored.
    Telephone,
    /// `TRUE` and `FALSE`.
    Boolean,
    /// Integers of any size.
    Integer,
    /// Bit strings.
    BitString,
    /// Octets as they are.
    Octets,
    /// An OID or the name of a schema element.
    ObjectIdentifier,
    /// A distinguished name.
    DistinguishedName,
    /// A distinguished name with an optional bit string.
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
    /// The value is a superior of the asserted name.
    NameSuperior,
    /// The value is later than now plus the asserted duration.
    LaterThan,
    /// The value is earlier than now plus the asserted duration.
    EarlierThan,
    /// Parts of the date and time equal the asserted ones.
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

impl MatchingRule {
    /// Returns whether the rule applies to values of this syntax.
    pub fn applies_to(&self, syntax: &Syntax) -> bool {
        self.applies.contains(&syntax.oid)
    }
}

impl PartialEq for MatchingRule {
    fn eq(&self, other: &MatchingRule) -> bool {
        self.oid == other.oid
    }
}

impl Eq for MatchingRule {}

/// The place of a piece of a substring assertion in a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Position {
    /// The start of the value.
    Initial,
    /// Any place after the previous piece.
    Any,
    /// The end of the value.
    Final,
}
