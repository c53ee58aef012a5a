//! The table of matching rules: RFC 4517 §4.2, RFC 4530, RFC 4523, and rules of other servers.

use super::rule::RuleKind::{Equality, ExtensibleOnly, Ordering, Substrings};
use super::rule::{Family, MatchingRule, RuleKind};
use crate::syntax::*;

/// Syntaxes whose values are text.
const TEXT: &[&str] = &[
    OID_DIRECTORY_STRING,
    OID_PRINTABLE_STRING,
    OID_IA5_STRING,
    OID_COUNTRY,
    OID_TELEPHONE,
    OID_NUMERIC_STRING,
];
const DESCRIPTIONS: &[&str] = &[
    OID_ATTRIBUTE_TYPE,
    OID_OBJECT_CLASS,
    OID_MATCHING_RULE,
    OID_MATCHING_RULE_USE,
    OID_LDAP_SYNTAX,
    OID_CONTENT_RULE,
    OID_NAME_FORM,
];
const IA5: &[&str] = &[OID_IA5_STRING];
const LIST: &[&str] = &[OID_POSTAL_ADDRESS];
const NUMERIC: &[&str] = &[OID_NUMERIC_STRING];
const TELEPHONE: &[&str] = &[OID_TELEPHONE];
const INTEGER: &[&str] = &[OID_INTEGER];
const OCTETS: &[&str] = &[OID_OCTET_STRING];
const DN: &[&str] = &[OID_DN];
const DN_OR_UID: &[&str] = &[OID_DN, OID_NAME_AND_UID];
const TIME: &[&str] = &[OID_GENERALIZED_TIME];

const fn rule(
    oid: &'static str,
    name: &'static str,
    syntax_oid: &'static str,
    kind: RuleKind,
    family: Family,
    applies: &'static [&'static str],
) -> MatchingRule {
    MatchingRule {
        oid,
        name,
        syntax_oid,
        kind,
        family,
        applies,
    }
}

const fn same(
    oid: &'static str,
    name: &'static str,
    kind: RuleKind,
    family: Family,
    applies: &'static [&'static str],
) -> MatchingRule {
    rule(oid, name, applies[0], kind, family, applies)
}

const fn pieces(
    oid: &'static str,
    name: &'static str,
    family: Family,
    applies: &'static [&'static str],
) -> MatchingRule {
    rule(
        oid,
        name,
        OID_SUBSTRING_ASSERTION,
        Substrings,
        family,
        applies,
    )
}

/// The supported matching rules, in the order of publication.
pub static MATCHING_RULES: &[MatchingRule] = &[
    same(
        "2.5.13.0",
        "objectIdentifierMatch",
        Equality,
        Family::ObjectIdentifier,
        &[OID_OID],
    ),
    same(
        "2.5.13.1",
        "distinguishedNameMatch",
        Equality,
        Family::DistinguishedName,
        DN,
    ),
    same(
        "2.5.13.2",
        "caseIgnoreMatch",
        Equality,
        Family::CaseIgnore,
        TEXT,
    ),
    same(
        "2.5.13.3",
        "caseIgnoreOrderingMatch",
        Ordering,
        Family::CaseIgnore,
        TEXT,
    ),
    pieces(
        "2.5.13.4",
        "caseIgnoreSubstringsMatch",
        Family::CaseIgnore,
        TEXT,
    ),
    same(
        "2.5.13.5",
        "caseExactMatch",
        Equality,
        Family::CaseExact,
        TEXT,
    ),
    same(
        "2.5.13.6",
        "caseExactOrderingMatch",
        Ordering,
        Family::CaseExact,
        TEXT,
    ),
    pieces(
        "2.5.13.7",
        "caseExactSubstringsMatch",
        Family::CaseExact,
        TEXT,
    ),
    same(
        "2.5.13.8",
        "numericStringMatch",
        Equality,
        Family::Numeric,
        NUMERIC,
    ),
    same(
        "2.5.13.9",
        "numericStringOrderingMatch",
        Ordering,
        Family::Numeric,
        NUMERIC,
    ),
    pieces(
        "2.5.13.10",
        "numericStringSubstringsMatch",
        Family::Numeric,
        NUMERIC,
    ),
    same(
        "2.5.13.11",
        "caseIgnoreListMatch",
        Equality,
        Family::CaseIgnoreList,
        LIST,
    ),
    pieces(
        "2.5.13.12",
        "caseIgnoreListSubstringsMatch",
        Family::CaseIgnoreList,
        LIST,
    ),
    same(
        "2.5.13.13",
        "booleanMatch",
        Equality,
        Family::Boolean,
        &[OID_BOOLEAN],
    ),
    same(
        "2.5.13.14",
        "integerMatch",
        Equality,
        Family::Integer,
        INTEGER,
    ),
    same(
        "2.5.13.15",
        "integerOrderingMatch",
        Ordering,
        Family::Integer,
        INTEGER,
    ),
    same(
        "2.5.13.16",
        "bitStringMatch",
        Equality,
        Family::BitString,
        &[OID_BIT_STRING],
    ),
    same(
        "2.5.13.17",
        "octetStringMatch",
        Equality,
        Family::Octets,
        OCTETS,
    ),
    same(
        "2.5.13.18",
        "octetStringOrderingMatch",
        Ordering,
        Family::Octets,
        OCTETS,
    ),
    pieces(
        "2.5.13.19",
        "octetStringSubstringsMatch",
        Family::Octets,
        OCTETS,
    ),
    same(
        "2.5.13.20",
        "telephoneNumberMatch",
        Equality,
        Family::Telephone,
        TELEPHONE,
    ),
    pieces(
        "2.5.13.21",
        "telephoneNumberSubstringsMatch",
        Family::Telephone,
        TELEPHONE,
    ),
    same(
        "2.5.13.22",
        "presentationAddressMatch",
        Equality,
        Family::Octets,
        &[OID_PRESENTATION_ADDRESS],
    ),
    same(
        "2.5.13.23",
        "uniqueMemberMatch",
        Equality,
        Family::NameAndUid,
        &[OID_NAME_AND_UID],
    ),
    same(
        "2.5.13.24",
        "protocolInformationMatch",
        Equality,
        Family::Octets,
        &[OID_PROTOCOL_INFORMATION],
    ),
    same(
        "2.5.13.25",
        "uTCTimeMatch",
        Equality,
        Family::UtcTime,
        &[OID_UTC_TIME],
    ),
    same(
        "2.5.13.26",
        "uTCTimeOrderingMatch",
        Ordering,
        Family::UtcTime,
        &[OID_UTC_TIME],
    ),
    same(
        "2.5.13.27",
        "generalizedTimeMatch",
        Equality,
        Family::GeneralizedTime,
        TIME,
    ),
    same(
        "2.5.13.28",
        "generalizedTimeOrderingMatch",
        Ordering,
        Family::GeneralizedTime,
        TIME,
    ),
    rule(
        "2.5.13.29",
        "integerFirstComponentMatch",
        OID_INTEGER,
        Equality,
        Family::IntegerFirstComponent,
        &[OID_STRUCTURE_RULE],
    ),
    rule(
        "2.5.13.30",
        "objectIdentifierFirstComponentMatch",
        OID_OID,
        Equality,
        Family::ObjectIdentifierFirstComponent,
        DESCRIPTIONS,
    ),
    rule(
        "2.5.13.31",
        "directoryStringFirstComponentMatch",
        OID_DIRECTORY_STRING,
        Equality,
        Family::TextFirstComponent,
        DESCRIPTIONS,
    ),
    same("2.5.13.32", "wordMatch", ExtensibleOnly, Family::Word, TEXT),
    same(
        "2.5.13.33",
        "keywordMatch",
        ExtensibleOnly,
        Family::Word,
        TEXT,
    ),
    certificate(
        "2.5.13.34",
        "certificateExactMatch",
        "1.3.6.1.1.15.1",
        Family::Certificate,
        &[OID_CERTIFICATE],
    ),
    certificate_parts(
        "2.5.13.35",
        "certificateMatch",
        "1.3.6.1.1.15.2",
        Family::CertificateParts,
        &[OID_CERTIFICATE],
    ),
    octets(
        "2.5.13.36",
        "certificatePairExactMatch",
        "1.3.6.1.1.15.3",
        &[OID_CERTIFICATE_PAIR],
    ),
    octets(
        "2.5.13.37",
        "certificatePairMatch",
        "1.3.6.1.1.15.4",
        &[OID_CERTIFICATE_PAIR],
    ),
    certificate(
        "2.5.13.38",
        "certificateListExactMatch",
        "1.3.6.1.1.15.5",
        Family::CertificateList,
        &[OID_CERTIFICATE_LIST],
    ),
    certificate_parts(
        "2.5.13.39",
        "certificateListMatch",
        "1.3.6.1.1.15.6",
        Family::CertificateListParts,
        &[OID_CERTIFICATE_LIST],
    ),
    certificate(
        "2.5.13.40",
        "algorithmIdentifierMatch",
        "1.3.6.1.1.15.7",
        Family::Algorithm,
        &[OID_SUPPORTED_ALGORITHM],
    ),
    same(
        "1.3.6.1.4.1.1466.109.114.1",
        "caseExactIA5Match",
        Equality,
        Family::CaseExactIa5,
        IA5,
    ),
    same(
        "1.3.6.1.4.1.1466.109.114.2",
        "caseIgnoreIA5Match",
        Equality,
        Family::CaseIgnoreIa5,
        IA5,
    ),
    pieces(
        "1.3.6.1.4.1.1466.109.114.3",
        "caseIgnoreIA5SubstringsMatch",
        Family::CaseIgnoreIa5,
        IA5,
    ),
    pieces(
        "1.3.6.1.4.1.4203.1.2.1",
        "caseExactIA5SubstringsMatch",
        Family::CaseExactIa5,
        IA5,
    ),
    same(
        "1.3.6.1.1.16.2",
        "UUIDMatch",
        Equality,
        Family::Uuid,
        &[OID_UUID],
    ),
    same(
        "1.3.6.1.1.16.3",
        "UUIDOrderingMatch",
        Ordering,
        Family::Uuid,
        &[OID_UUID],
    ),
    same(
        "1.3.6.1.4.1.4203.666.11.2.2",
        "CSNMatch",
        Equality,
        Family::CaseIgnoreIa5,
        CSN,
    ),
    same(
        "1.3.6.1.4.1.4203.666.11.2.3",
        "CSNOrderingMatch",
        Ordering,
        Family::CaseIgnoreIa5,
        CSN,
    ),
    same(
        "1.3.6.1.4.1.4203.666.11.2.5",
        "CSNSIDMatch",
        Equality,
        Family::CaseIgnoreIa5,
        CSN_SID,
    ),
    octets(
        "1.3.6.1.4.1.4203.666.4.12",
        "authzMatch",
        "1.3.6.1.4.1.4203.666.2.7",
        AUTHZ,
    ),
    octets(
        "1.3.6.1.4.1.4203.1.2.2",
        "authPasswordExactMatch",
        AUTH_PASSWORD[0],
        AUTH_PASSWORD,
    ),
    same(
        "1.2.840.113556.1.4.803",
        "integerBitAndMatch",
        ExtensibleOnly,
        Family::BitAnd,
        INTEGER,
    ),
    same(
        "1.2.840.113556.1.4.804",
        "integerBitOrMatch",
        ExtensibleOnly,
        Family::BitOr,
        INTEGER,
    ),
    same(
        super::OID_IN_CHAIN,
        "inChainMatch",
        ExtensibleOnly,
        Family::InChain,
        DN_OR_UID,
    ),
    relative(
        "1.3.6.1.4.1.4203.666.4.8",
        "dnOneLevelMatch",
        Family::NameOneLevel,
    ),
    relative(
        "1.3.6.1.4.1.4203.666.4.9",
        "dnSubtreeMatch",
        Family::NameSubtree,
    ),
    relative(
        "1.3.6.1.4.1.4203.666.4.10",
        "dnSubordinateMatch",
        Family::NameSubordinate,
    ),
    relative(
        "1.3.6.1.4.1.4203.666.4.11",
        "dnSuperiorMatch",
        Family::NameSuperior,
    ),
    time(
        "1.3.6.1.4.1.26027.1.4.5",
        "relativeTimeGTOrderingMatch",
        Family::LaterThan,
    ),
    time(
        "1.3.6.1.4.1.26027.1.4.6",
        "relativeTimeLTOrderingMatch",
        Family::EarlierThan,
    ),
    time(
        "1.3.6.1.4.1.26027.1.4.7",
        "partialDateAndTimeMatchingRule",
        Family::PartialTime,
    ),
];

impl MatchingRule {
    /// Finds a matching rule by its name in any case, or by its OID.
    pub fn by_name(name_or_oid: &str) -> Option<&'static MatchingRule> {
        MATCHING_RULES
            .iter()
            .find(|rule| rule.oid == name_or_oid || rule.name.eq_ignore_ascii_case(name_or_oid))
    }
}

const CSN: &[&str] = &["1.3.6.1.4.1.4203.666.11.2.1"];
const CSN_SID: &[&str] = &["1.3.6.1.4.1.4203.666.11.2.4"];
const AUTHZ: &[&str] = &["1.3.6.1.4.1.4203.666.2.7"];
const AUTH_PASSWORD: &[&str] = &["1.3.6.1.4.1.4203.1.1.2"];

const fn certificate(
    oid: &'static str,
    name: &'static str,
    syntax_oid: &'static str,
    family: Family,
    applies: &'static [&'static str],
) -> MatchingRule {
    rule(oid, name, syntax_oid, Equality, family, applies)
}

const fn certificate_parts(
    oid: &'static str,
    name: &'static str,
    syntax_oid: &'static str,
    family: Family,
    applies: &'static [&'static str],
) -> MatchingRule {
    rule(oid, name, syntax_oid, ExtensibleOnly, family, applies)
}

const fn octets(
    oid: &'static str,
    name: &'static str,
    syntax_oid: &'static str,
    applies: &'static [&'static str],
) -> MatchingRule {
    rule(oid, name, syntax_oid, Equality, Family::Octets, applies)
}

const fn relative(oid: &'static str, name: &'static str, family: Family) -> MatchingRule {
    rule(oid, name, OID_DN, ExtensibleOnly, family, DN)
}

const fn time(oid: &'static str, name: &'static str, family: Family) -> MatchingRule {
    rule(oid, name, OID_IA5_STRING, ExtensibleOnly, family, TIME)
}
