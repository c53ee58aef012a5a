//! Matching of generated certificates and lists by their parts.

use super::*;
use crate::matching::MatchingRule;
use protocol::ber::{SET, put_octets};

fn der(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    put_octets(&mut out, tag, content);
    out
}

fn sequence(parts: &[Vec<u8>]) -> Vec<u8> {
    der(SEQUENCE, &parts.concat())
}

fn name(common: &str) -> Vec<u8> {
    let pair = [der(OID, b"\x55\x04\x03"), der(0x0c, common.as_bytes())];
    sequence(&[der(SET, &sequence(&pair))])
}

fn extension(which: u8, content: &[u8]) -> Vec<u8> {
    let oid = der(OID, &[0x55, 0x1d, which]);
    let critical = der(BOOLEAN, b"\xff");
    sequence(&[oid, critical, der(OCTET_STRING, content)])
}

fn certificate(extensions: &[Vec<u8>]) -> Vec<u8> {
    let rsa = der(OID, b"\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01");
    let body = [
        der(VERSION, &der(INTEGER, b"\x02")),
        der(INTEGER, b"\x12\x34"),
        sequence(&[]),
        name("Root CA"),
        sequence(&[
            der(UTC_TIME, b"260101000000Z"),
            der(GENERALIZED_TIME, b"20270101000000Z"),
        ]),
        name("Ada"),
        sequence(&[sequence(&[rsa]), der(BIT_STRING, b"\x00\x01")]),
        der(CERTIFICATE_EXTENSIONS, &sequence(extensions)),
    ];
    sequence(&[sequence(&body), sequence(&[]), der(BIT_STRING, b"\x00")])
}

fn extensions() -> Vec<Vec<u8>> {
    let general_names = [
        der(0x81, b"ada@example.com"),
        der(0xa0, &[der(OID, b"\x2b\x06\x01"), der(0xa0, b"")].concat()),
    ];
    let policies = [
        sequence(&[der(OID, b"\x2a\x03\x04")]),
        sequence(&[der(OID, b"\x2a\x03\x05")]),
    ];
    vec![
        extension(SUBJECT_KEY, &der(OCTET_STRING, b"\xab\xcd")),
        extension(AUTHORITY_KEY, &sequence(&[der(0x80, b"\x01\x02")])),
        extension(KEY_USAGE, &der(BIT_STRING, b"\x01\x06")),
        extension(SUBJECT_ALT_NAME, &sequence(&general_names)),
        extension(POLICIES, &sequence(&policies)),
    ]
}

/// Returns whether a stored value matches; `None` when the assertion is refused.
fn matches(rule: &str, stored: &[u8], asserted: &str) -> Option<bool> {
    let schema = Schema::standard();
    let rule = MatchingRule::by_name(rule).unwrap();
    let (mut one, mut other) = (Vec::new(), Vec::new());
    rule.normalise(&schema, stored, &mut one).unwrap();
    let asserted = asserted.as_bytes();
    let read = rule.normalise_assertion(&schema, asserted, &mut other);
    read.ok().map(|()| holds(&one, &other))
}

#[test]
fn certificates_are_found_by_their_parts() {
    let stored = certificate(&extensions());
    let holds = [
        "{ serialNumber 4660 }",
        "{ issuer rdnSequence:\"CN=root ca\" }",
        "{ subject rdnSequence:\"cn=ada\", serialNumber 4660 }",
        "{ subjectKeyIdentifier 'ABCD'H }",
        "{ authorityKeyIdentifier { keyIdentifier '0102'H } }",
        "{ certificateValid utcTime:\"260101000000Z\" }",
        "{ certificateValid generalTime:\"20261121000000Z\" }",
        "{ subjectPublicKeyAlgID 1.2.840.113549.1.1.1 }",
        "{ keyUsage { keyCertSign, cRLSign } }",
        "{ keyUsage '0000010'B }",
        "{ subjectAltName builtinNameForm:rfc822Name }",
        "{ subjectAltName otherNameForm:1.3.6.1 }",
        "{ policy { 1.2.3.9, 1.2.3.5 } }",
        "{ policy { 1.2.3.4 }, serialNumber 4660 }",
    ];
    for asserted in holds {
        assert_eq!(
            matches("certificateMatch", &stored, asserted),
            Some(true),
            "{asserted}"
        );
    }
    let fails = [
        "{ serialNumber 4661 }",
        "{ issuer rdnSequence:\"CN=ada\" }",
        "{ subject rdnSequence:\"cn=ada\", serialNumber 1 }",
        "{ subjectKeyIdentifier 'ABCE'H }",
        "{ authorityKeyIdentifier { keyIdentifier 'ABCD'H } }",
        "{ certificateValid utcTime:\"251231235959Z\" }",
        "{ certificateValid generalTime:\"20270101000001Z\" }",
        "{ subjectPublicKeyAlgID 1.2.840.113549.1.1.2 }",
        "{ keyUsage { digitalSignature, cRLSign } }",
        "{ subjectAltName builtinNameForm:dNSName }",
        "{ subjectAltName otherNameForm:1.3.6.2 }",
        "{ policy { 1.2.3.9 } }",
        "{ policy { 1.2.3.4 }, serialNumber 1 }",
    ];
    for asserted in fails {
        assert_eq!(
            matches("certificateMatch", &stored, asserted),
            Some(false),
            "{asserted}"
        );
    }
}

#[test]
fn what_is_not_known_is_refused() {
    let stored = certificate(&extensions());
    for asserted in [
        "",
        "{ }",
        "4660$cn=root ca",
        "{ serialNumber }",
        "{ serialNumber 1 } and more",
        "{ privateKeyValid 20260101000000Z }",
        "{ pathToName \"cn=a\" }",
        "{ pathToName rdnSequence:\"nothing=a\" }",
        "{ nameConstraints { } }",
        "{ nameConstraints { permittedSubtrees { } } }",
        "{ nameConstraints { permittedSubtrees { { } } } }",
        "{ nameConstraints { permittedSubtrees { { base dNSName:\"a\", minimum 1 } } } }",
        "{ nameConstraints { otherSubtrees { { base dNSName:\"a\" } } } }",
        "{ subjectKeyIdentifier 'ABC'H }",
        "{ subjectKeyIdentifier ABCD }",
        "{ keyUsage { everything } }",
        "{ keyUsage '00000000000000001'B }",
        "{ subjectAltName builtinNameForm:otherName }",
        "{ subjectAltName rfc822Name }",
        "{ policy 1.2.3 }",
        "{ certificateValid \"20260101000000Z\" }",
    ] {
        assert_eq!(
            matches("certificateMatch", &stored, asserted),
            None,
            "{asserted}"
        );
    }
}

#[test]
fn parts_that_are_not_there() {
    let bare = certificate(&[]);
    let check = |asserted| matches("certificateMatch", &bare, asserted);
    assert_eq!(check("{ subjectKeyIdentifier 'ABCD'H }"), Some(false));
    assert_eq!(check("{ keyUsage { cRLSign } }"), Some(true), "any use");
    assert_eq!(check("{ policy { 1.2.3.4 } }"), Some(false));
    // Cut anywhere, a value has no parts or those before the cut, without a panic.
    let whole = certificate(&extensions());
    for cut in 0..whole.len() {
        let found = matches("certificateMatch", &whole[..cut], "{ serialNumber 4660 }");
        assert_eq!(found, Some(false), "{cut}");
    }
}

#[test]
fn revocation_lists_are_found_by_their_parts() {
    let extensions = [
        extension(LIST_NUMBER, &der(INTEGER, b"\x07")),
        extension(AUTHORITY_KEY, &sequence(&[der(0x80, b"\x01\x02")])),
    ];
    let body = [
        der(INTEGER, b"\x01"),
        sequence(&[]),
        name("Root CA"),
        der(UTC_TIME, b"260101000000Z"),
        der(UTC_TIME, b"260201000000Z"),
        sequence(&[sequence(&[der(INTEGER, b"\x05")])]),
        der(LIST_EXTENSIONS, &sequence(&extensions)),
    ];
    let stored = sequence(&[sequence(&body), sequence(&[])]);
    for (asserted, expected) in [
        ("{ issuer rdnSequence:\"cn=root ca\" }", Some(true)),
        ("{ minCRLNumber 7 }", Some(true)),
        ("{ minCRLNumber 8 }", Some(false)),
        ("{ minCRLNumber 1, maxCRLNumber 7 }", Some(true)),
        ("{ maxCRLNumber 6 }", Some(false)),
        ("{ dateAndTime utcTime:\"260115000000Z\" }", Some(true)),
        ("{ dateAndTime utcTime:\"260215000000Z\" }", Some(false)),
        (
            "{ authorityKeyIdentifier { keyIdentifier '0102'H } }",
            Some(true),
        ),
        ("{ reasonFlags { keyCompromise } }", Some(true)),
        ("{ reasonFlags { nothing } }", None),
        (
            "{ distributionPoint fullName:{ dNSName:\"a\" } }",
            Some(false),
        ),
        (
            "{ distributionPoint nameRelativeToCRLIssuer:\"cn=a\" }",
            None,
        ),
    ] {
        let found = matches("certificateListMatch", &stored, asserted);
        assert_eq!(found, expected, "{asserted}");
    }
}

#[test]
fn private_keys_have_a_time_of_their_own() {
    let period = [der(0x80, b"20260101000000Z"), der(0x81, b"20260201000000Z")];
    let stored = certificate(&[extension(PRIVATE_KEY_USAGE, &sequence(&period))]);
    let bare = certificate(&[]);
    for (time, expected) in [
        ("20251231235959Z", false),
        ("20260101000000Z", true),
        ("20260201000000Z", true),
        ("20260201000001Z", false),
    ] {
        let asserted = format!("{{ privateKeyValid \"{time}\" }}");
        let check = |stored: &[u8]| matches("certificateMatch", stored, &asserted);
        assert_eq!(check(&stored), Some(expected), "{time}");
        assert_eq!(check(&bare), Some(true), "without a period: {time}");
    }
}

fn directory_name(common: &str) -> Vec<u8> {
    der(0xa4, &name(common))
}

#[test]
fn constraints_bar_the_way_to_names() {
    let permitted = der(0xa0, &sequence(&[directory_name("Root CA")]));
    let excluded = der(0xa1, &sequence(&[directory_name("Eve")]));
    let check = |constraints: &[Vec<u8>], to: &str| {
        let stored = certificate(&[extension(NAME_CONSTRAINTS, &sequence(constraints))]);
        let asserted = format!("{{ pathToName rdnSequence:\"{to}\" }}");
        matches("certificateMatch", &stored, &asserted)
    };
    let both = [permitted.clone(), excluded.clone()];
    assert_eq!(check(&both, "ou=a,cn=root ca"), Some(true));
    assert_eq!(check(&both, "ou=a"), Some(false));
    assert_eq!(check(std::slice::from_ref(&excluded), "ou=a"), Some(true));
    assert_eq!(check(&[excluded], "ou=a,cn=eve"), Some(false));
    let host = der(0xa0, &sequence(&[der(0x82, b"example.com")]));
    assert_eq!(check(&[host], "ou=a"), Some(true), "not about such names");
    let free = certificate(&[]);
    let asserted = "{ pathToName rdnSequence:\"ou=a\" }";
    assert_eq!(matches("certificateMatch", &free, asserted), Some(true));
}

#[test]
fn subjects_lie_within_asserted_subtrees() {
    let names = [der(0x82, b"www.example.com"), der(0x81, b"ada@example.com")];
    let stored = certificate(&[extension(SUBJECT_ALT_NAME, &sequence(&names))]);
    for (asserted, expected) in [
        (
            "permittedSubtrees { { base dNSName:\"example.com\" } }",
            true,
        ),
        (
            "permittedSubtrees { { base dNSName:\"example.org\" }, \
             { base dNSName:\"Example.COM\", minimum 0 } }",
            true,
        ),
        (
            "permittedSubtrees { { base dNSName:\"example.org\" } }",
            false,
        ),
        (
            "permittedSubtrees { { base directoryName:rdnSequence:\"cn=ada\" } }",
            true,
        ),
        (
            "permittedSubtrees { { base directoryName:rdnSequence:\"cn=eve\" } }",
            false,
        ),
        (
            "permittedSubtrees { { base dNSName:\"example.com\" } }, \
             excludedSubtrees { { base rfc822Name:\"ada@example.com\" } }",
            false,
        ),
        (
            "excludedSubtrees { { base uniformResourceIdentifier:\"example.com\" } }",
            true,
        ),
    ] {
        let asserted = format!("{{ nameConstraints {{ {asserted} }} }}");
        let found = matches("certificateMatch", &stored, &asserted);
        assert_eq!(found, Some(expected), "{asserted}");
    }
}

#[test]
fn lists_say_where_they_are_and_what_about() {
    let full = der(0xa0, &der(0x86, b"http://example.com/list"));
    let point = [der(0xa0, &full), der(0x83, b"\x01\x60")];
    let body = [
        der(INTEGER, b"\x01"),
        sequence(&[]),
        name("Root CA"),
        der(UTC_TIME, b"260101000000Z"),
        der(
            LIST_EXTENSIONS,
            &sequence(&[extension(DISTRIBUTION_POINT, &sequence(&point))]),
        ),
    ];
    let stored = sequence(&[sequence(&body), sequence(&[])]);
    for (asserted, expected) in [
        ("{ reasonFlags { keyCompromise } }", true),
        ("{ reasonFlags { superseded, cACompromise } }", true),
        ("{ reasonFlags '00001'B }", false),
        (
            "{ distributionPoint fullName:{ dNSName:\"a\", \
             uniformResourceIdentifier:\"http://example.com/list\" } }",
            true,
        ),
        (
            "{ distributionPoint fullName:{ uniformResourceIdentifier:\"http://example.com/\" } }",
            false,
        ),
    ] {
        let found = matches("certificateListMatch", &stored, asserted);
        assert_eq!(found, Some(expected), "{asserted}");
    }
}
