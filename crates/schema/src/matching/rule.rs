//! The parts of a matching rule.

use crate::syntax::Syntax;

/// One matching rule.
#[derive(Debug)]
pub struct MatchingRule {
    /// The numeric OID of the rule.
    pub oid: &'static str,
    /// The name of the rule, e.g. `caseIgnoreMatch`.
    pub name: &'static str,
    /// The OID of the syntax of its assertion values.
    pub syntax_oid: &'static str,
    /// The keyword before the rule in the definition of an attribute type.
    pub kind: RuleKind,
    /// How the rule compares.
    pub family: Family,
    /// The OIDs of the syntaxes of the attribute types it can be applied to.
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

impl MatchingRule {
    /// Whether the rule can be applied to values of this syntax.
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
