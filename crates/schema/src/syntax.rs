//! Syntaxes: the octets that are values of an attribute type (RFC 4517 §3).
//!
//! The table is fixed. A syntax that a schema file names but that the table lacks, or whose values
//! cannot be checked sensibly (facsimile images, certificates), accepts any octets: data of other
//! directories is not refused.

use crate::syntaxes::{description, identifier, number, other, text, time};

/// One LDAP syntax.
#[derive(Debug)]
pub struct Syntax {
    /// Numeric OID of the syntax.
    pub oid: &'static str,
    /// Published description of the syntax, e.g. "Directory String".
    pub description: &'static str,
    /// Whether values are readable text.
    pub human_readable: bool,
    check: Check,
}

/// Checks a value; the error is the expected form.
pub(crate) type Check = fn(&[u8]) -> Result<(), &'static str>;

impl Syntax {
    /// Finds a syntax by its OID.
    pub fn by_oid(oid: &str) -> Option<&'static Syntax> {
        SYNTAXES.iter().find(|syntax| syntax.oid == oid)
    }

    /// Checks that `value` obeys this syntax. The error is the expected form.
    ///
    /// Of distinguished names only the spelling is checked here; [`crate::Schema::check_value`]
    /// also checks that their attribute types exist.
    pub fn check(&self, value: &[u8]) -> Result<(), &'static str> {
        (self.check)(value)
    }
}

impl PartialEq for Syntax {
    fn eq(&self, other: &Syntax) -> bool {
        self.oid == other.oid
    }
}

impl Eq for Syntax {}

const fn text_of(oid: &'static str, description: &'static str, check: Check) -> Syntax {
    Syntax {
        oid,
        description,
        human_readable: true,
        check,
    }
}

const fn octets(oid: &'static str, description: &'static str) -> Syntax {
    Syntax {
        oid,
        description,
        human_readable: false,
        check: other::anything,
    }
}

/// The syntax of any octets, used for unknown syntaxes.
pub static OCTET_STRING: Syntax = octets(OID_OCTET_STRING, "Octet String");

/// Attribute type description.
pub const OID_ATTRIBUTE_TYPE: &str = "1.3.6.1.4.1.1466.115.121.1.3";
/// Bit string, `'0101'B`.
pub const OID_BIT_STRING: &str = "1.3.6.1.4.1.1466.115.121.1.6";
/// `TRUE` or `FALSE`.
pub const OID_BOOLEAN: &str = "1.3.6.1.4.1.1466.115.121.1.7";
/// X.509 certificate.
pub const OID_CERTIFICATE: &str = "1.3.6.1.4.1.1466.115.121.1.8";
/// X.509 certificate list.
pub const OID_CERTIFICATE_LIST: &str = "1.3.6.1.4.1.1466.115.121.1.9";
/// Pair of cross certificates.
pub const OID_CERTIFICATE_PAIR: &str = "1.3.6.1.4.1.1466.115.121.1.10";
/// Two-letter country.
pub const OID_COUNTRY: &str = "1.3.6.1.4.1.1466.115.121.1.11";
/// Distinguished name.
pub const OID_DN: &str = "1.3.6.1.4.1.1466.115.121.1.12";
/// Unicode text.
pub const OID_DIRECTORY_STRING: &str = "1.3.6.1.4.1.1466.115.121.1.15";
/// Content rule description.
pub const OID_CONTENT_RULE: &str = "1.3.6.1.4.1.1466.115.121.1.16";
/// Structure rule description.
pub const OID_STRUCTURE_RULE: &str = "1.3.6.1.4.1.1466.115.121.1.17";
/// Generalized time.
pub const OID_GENERALIZED_TIME: &str = "1.3.6.1.4.1.1466.115.121.1.24";
/// ASCII text.
pub const OID_IA5_STRING: &str = "1.3.6.1.4.1.1466.115.121.1.26";
/// Integer of any size.
pub const OID_INTEGER: &str = "1.3.6.1.4.1.1466.115.121.1.27";
/// Matching rule description.
pub const OID_MATCHING_RULE: &str = "1.3.6.1.4.1.1466.115.121.1.30";
/// Matching rule use description.
pub const OID_MATCHING_RULE_USE: &str = "1.3.6.1.4.1.1466.115.121.1.31";
/// Distinguished name with an optional bit string.
pub const OID_NAME_AND_UID: &str = "1.3.6.1.4.1.1466.115.121.1.34";
/// Name form description.
pub const OID_NAME_FORM: &str = "1.3.6.1.4.1.1466.115.121.1.35";
/// Digits and spaces.
pub const OID_NUMERIC_STRING: &str = "1.3.6.1.4.1.1466.115.121.1.36";
/// Object class description.
pub const OID_OBJECT_CLASS: &str = "1.3.6.1.4.1.1466.115.121.1.37";
/// Object identifier or descriptor.
pub const OID_OID: &str = "1.3.6.1.4.1.1466.115.121.1.38";
/// Mailbox type and mailbox.
pub const OID_OTHER_MAILBOX: &str = "1.3.6.1.4.1.1466.115.121.1.39";
/// Octets.
pub const OID_OCTET_STRING: &str = "1.3.6.1.4.1.1466.115.121.1.40";
/// Lines separated by `$`.
pub const OID_POSTAL_ADDRESS: &str = "1.3.6.1.4.1.1466.115.121.1.41";
/// Protocol information.
pub const OID_PROTOCOL_INFORMATION: &str = "1.3.6.1.4.1.1466.115.121.1.42";
/// Presentation address.
pub const OID_PRESENTATION_ADDRESS: &str = "1.3.6.1.4.1.1466.115.121.1.43";
/// Printable string.
pub const OID_PRINTABLE_STRING: &str = "1.3.6.1.4.1.1466.115.121.1.44";
/// Supported algorithm.
pub const OID_SUPPORTED_ALGORITHM: &str = "1.3.6.1.4.1.1466.115.121.1.49";
/// Telephone number.
pub const OID_TELEPHONE: &str = "1.3.6.1.4.1.1466.115.121.1.50";
/// UTC time.
pub const OID_UTC_TIME: &str = "1.3.6.1.4.1.1466.115.121.1.53";
/// LDAP syntax description.
pub const OID_LDAP_SYNTAX: &str = "1.3.6.1.4.1.1466.115.121.1.54";
/// Substring assertion, `a*b*c`.
pub const OID_SUBSTRING_ASSERTION: &str = "1.3.6.1.4.1.1466.115.121.1.58";
/// UUID.
pub const OID_UUID: &str = "1.3.6.1.1.16.1";

/// The supported syntaxes, in the order of publication.
pub static SYNTAXES: &[Syntax] = &[
    octets("1.3.6.1.4.1.1466.115.121.1.1", "ACI Item"),
    octets("1.3.6.1.4.1.1466.115.121.1.2", "Access Point"),
    text_of(
        OID_ATTRIBUTE_TYPE,
        "Attribute Type Description",
        description::definition,
    ),
    octets("1.3.6.1.4.1.1466.115.121.1.4", "Audio"),
    octets("1.3.6.1.4.1.1466.115.121.1.5", "Binary"),
    text_of(OID_BIT_STRING, "Bit String", number::bit_string),
    text_of(OID_BOOLEAN, "Boolean", number::boolean),
    octets(OID_CERTIFICATE, "Certificate"),
    octets(OID_CERTIFICATE_LIST, "Certificate List"),
    octets(OID_CERTIFICATE_PAIR, "Certificate Pair"),
    text_of(OID_COUNTRY, "Country String", text::country),
    text_of(OID_DN, "DN", identifier::distinguished_name),
    octets("1.3.6.1.4.1.1466.115.121.1.13", "Data Quality Syntax"),
    text_of(
        "1.3.6.1.4.1.1466.115.121.1.14",
        "Delivery Method",
        text::delivery_method,
    ),
    text_of(
        OID_DIRECTORY_STRING,
        "Directory String",
        text::directory_string,
    ),
    text_of(
        OID_CONTENT_RULE,
        "DIT Content Rule Description",
        description::definition,
    ),
    text_of(
        OID_STRUCTURE_RULE,
        "DIT Structure Rule Description",
        description::definition,
    ),
    octets("1.3.6.1.4.1.1466.115.121.1.18", "DL Submit Permission"),
    octets("1.3.6.1.4.1.1466.115.121.1.19", "DSA Quality Syntax"),
    octets("1.3.6.1.4.1.1466.115.121.1.20", "DSE Type"),
    text_of(
        "1.3.6.1.4.1.1466.115.121.1.21",
        "Enhanced Guide",
        text::enhanced_guide,
    ),
    text_of(
        "1.3.6.1.4.1.1466.115.121.1.22",
        "Facsimile Telephone Number",
        text::fax_number,
    ),
    octets("1.3.6.1.4.1.1466.115.121.1.23", "Fax"),
    text_of(
        OID_GENERALIZED_TIME,
        "Generalized Time",
        time::generalized_time,
    ),
    text_of("1.3.6.1.4.1.1466.115.121.1.25", "Guide", text::guide),
    text_of(OID_IA5_STRING, "IA5 String", text::ia5_string),
    text_of(OID_INTEGER, "INTEGER", number::integer),
    octets("1.3.6.1.4.1.1466.115.121.1.28", "JPEG"),
    octets(
        "1.3.6.1.4.1.1466.115.121.1.29",
        "Master And Shadow Access Points",
    ),
    text_of(
        OID_MATCHING_RULE,
        "Matching Rule Description",
        description::definition,
    ),
    text_of(
        OID_MATCHING_RULE_USE,
        "Matching Rule Use Description",
        description::definition,
    ),
    octets("1.3.6.1.4.1.1466.115.121.1.32", "Mail Preference"),
    text_of(
        "1.3.6.1.4.1.1466.115.121.1.33",
        "MHS OR Address",
        text::ia5_string,
    ),
    text_of(
        OID_NAME_AND_UID,
        "Name And Optional UID",
        identifier::name_and_optional_uid,
    ),
    text_of(
        OID_NAME_FORM,
        "Name Form Description",
        description::definition,
    ),
    text_of(OID_NUMERIC_STRING, "Numeric String", number::numeric_string),
    text_of(
        OID_OBJECT_CLASS,
        "Object Class Description",
        description::definition,
    ),
    text_of(OID_OID, "OID", identifier::oid),
    text_of(OID_OTHER_MAILBOX, "Other Mailbox", text::other_mailbox),
    octets(OID_OCTET_STRING, "Octet String"),
    text_of(OID_POSTAL_ADDRESS, "Postal Address", text::postal_address),
    octets(OID_PROTOCOL_INFORMATION, "Protocol Information"),
    octets(OID_PRESENTATION_ADDRESS, "Presentation Address"),
    text_of(
        OID_PRINTABLE_STRING,
        "Printable String",
        text::printable_string,
    ),
    text_of(
        "1.3.6.1.4.1.1466.115.121.1.45",
        "Subtree Specification",
        description::braced,
    ),
    octets("1.3.6.1.4.1.1466.115.121.1.46", "Supplier Information"),
    octets("1.3.6.1.4.1.1466.115.121.1.47", "Supplier Or Consumer"),
    octets("1.3.6.1.4.1.1466.115.121.1.48", "Supplier And Consumer"),
    octets(OID_SUPPORTED_ALGORITHM, "Supported Algorithm"),
    text_of(OID_TELEPHONE, "Telephone Number", text::telephone_number),
    octets(
        "1.3.6.1.4.1.1466.115.121.1.51",
        "Teletex Terminal Identifier",
    ),
    text_of(
        "1.3.6.1.4.1.1466.115.121.1.52",
        "Telex Number",
        text::telex_number,
    ),
    text_of(OID_UTC_TIME, "UTC Time", time::utc_time),
    text_of(
        OID_LDAP_SYNTAX,
        "LDAP Syntax Description",
        description::definition,
    ),
    octets("1.3.6.1.4.1.1466.115.121.1.55", "Modify Rights"),
    octets("1.3.6.1.4.1.1466.115.121.1.56", "LDAP Schema Definition"),
    octets("1.3.6.1.4.1.1466.115.121.1.57", "LDAP Schema Description"),
    text_of(
        OID_SUBSTRING_ASSERTION,
        "Substring Assertion",
        text::substring_assertion,
    ),
    text_of(OID_UUID, "UUID", identifier::uuid),
    octets("1.3.6.1.1.15.1", "X.509 Certificate Exact Assertion"),
    octets("1.3.6.1.1.15.2", "X.509 Certificate Assertion"),
    octets("1.3.6.1.1.15.3", "X.509 Certificate Pair Exact Assertion"),
    octets("1.3.6.1.1.15.4", "X.509 Certificate Pair Assertion"),
    octets("1.3.6.1.1.15.5", "X.509 Certificate List Exact Assertion"),
    octets("1.3.6.1.1.15.6", "X.509 Certificate List Assertion"),
    octets("1.3.6.1.1.15.7", "X.509 Algorithm Identifier"),
    octets("1.2.840.113549.1.8.1.1", "PKCS#8 PrivateKeyInfo"),
    text_of(
        "2.16.840.1.113730.3.7.1",
        "Space Insensitive String",
        text::directory_string,
    ),
    text_of(
        "1.3.6.1.1.1.0.0",
        "RFC 2307 NIS Netgroup Triple",
        text::ia5_string,
    ),
    text_of(
        "1.3.6.1.1.1.0.1",
        "RFC 2307 Boot Parameter",
        text::ia5_string,
    ),
    octets("1.3.6.1.4.1.4203.1.1.2", "Authentication Password"),
    octets("1.3.6.1.4.1.4203.666.2.7", "OpenLDAP authz"),
    text_of("1.3.6.1.4.1.4203.666.11.2.1", "CSN", text::ia5_string),
    text_of("1.3.6.1.4.1.4203.666.11.2.4", "CSN SID", text::ia5_string),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_oid_is_listed_once() {
        for (at, syntax) in SYNTAXES.iter().enumerate() {
            assert!(
                SYNTAXES[..at].iter().all(|other| other.oid != syntax.oid),
                "{}",
                syntax.oid
            );
        }
        assert_eq!(Syntax::by_oid(OID_DN).map(|it| it.description), Some("DN"));
    }

    #[test]
    fn syntaxes_of_images_accept_octets() {
        for oid in [
            "1.3.6.1.4.1.1466.115.121.1.23",
            "1.3.6.1.4.1.1466.115.121.1.28",
        ] {
            let syntax = Syntax::by_oid(oid).expect("a syntax of the table");
            assert_eq!(syntax.check(&[0, 255, 7]), Ok(()), "{oid}");
            assert_eq!(syntax.check(&[]), Ok(()), "{oid}");
        }
    }
}
