//! Identities of certificates and revocation lists (RFC 4523 §2).
//!
//! A certificate is identified by serial number and issuer; a revocation list by issuer and time.
//! Both are read from the value's DER; the assertion gives them as text. A value that cannot be
//! read, or whose issuer the schema cannot name, is its own octets, and matches only the whole
//! value. The issuer's name is text here: `normalise.rs` brings it to its normal form.

use std::borrow::Cow;

use protocol::ber::{INTEGER, Reader, SEQUENCE, SET};

use super::integer;
use super::rule::Family;
use crate::error::{InvalidValue, invalid};
use crate::gser::Gser;
use crate::syntaxes::time;

/// First octet of the normal form of a value compared by its parts, and of one compared whole.
const PARTS: u8 = 1;
const WHOLE: u8 = 0;

pub(crate) const UTC_TIME: u8 = 0x17;
pub(super) const GENERALIZED_TIME: u8 = 0x18;
/// `[0] EXPLICIT`, before the version of a certificate.
pub(crate) const VERSION: u8 = 0xa0;

/// The identity of a certificate or revocation list.
pub(super) struct Identity<'v> {
    key: Key<'v>,
    /// Name of the issuer as text.
    pub issuer: Cow<'v, str>,
}

/// The part of an identity that tells the certificates or the revocation lists of one issuer apart.
enum Key<'v> {
    /// Serial number of a certificate, in decimal digits.
    Serial(Cow<'v, str>),
    /// Time of a revocation list: the tag of its form and its content.
    Time(u8, Cow<'v, [u8]>),
}

impl Identity<'_> {
    /// Appends the normal form, with the normal form of the issuer's name. `None` when the serial
    /// number or the time is malformed; `out` may have grown then.
    pub fn put(&self, issuer: &[u8], out: &mut Vec<u8>) -> Option<()> {
        out.push(PARTS);
        let start = out.len();
        match &self.key {
            Key::Serial(serial) => integer::put(serial.as_bytes(), out).ok()?,
            Key::Time(UTC_TIME, time) => time::put_utc_time(time, out).ok()?,
            Key::Time(GENERALIZED_TIME, time) => time::put_generalized_time(time, out).ok()?,
            Key::Time(..) => return None,
        }
        // The length marks the start of the name.
        let length = u16::try_from(out.len() - start).ok()?;
        out.extend_from_slice(&length.to_be_bytes());
        out.extend_from_slice(issuer);
        Some(())
    }
}

/// Appends the normal form of a value that is compared as a whole.
pub(super) fn put_whole(value: &[u8], out: &mut Vec<u8>) {
    out.push(WHOLE);
    out.extend_from_slice(value);
}

/// Returns the identity of a stored value; `None` when it cannot be read.
pub(super) fn stored(family: Family, der: &[u8]) -> Option<Identity<'_>> {
    match family {
        Family::CertificateList => stored_list(der),
        _ => stored_certificate(der),
    }
}

/// Returns the text of an assertion; `None` when the assertion is a whole value.
pub(super) fn text_of_assertion(given: &[u8]) -> Option<&str> {
    // DER begins with the tag of a SEQUENCE, which is a digit in ASCII, and a length that spans the
    // rest.
    let mut whole = Reader::new(given);
    let is_whole = whole.expect(SEQUENCE).is_ok() && whole.is_empty();
    std::str::from_utf8(given).ok().filter(|_| !is_whole)
}

/// Returns the identity that the text of an assertion gives; `None` when it gives none.
pub(super) fn asserted(family: Family, text: &str) -> Option<Identity<'_>> {
    match family {
        Family::CertificateList => asserted_list(text),
        _ => asserted_certificate(text),
    }
}

/// Returns the error of an assertion that is neither an identity nor a whole value.
pub(super) fn not_an_assertion(family: Family) -> InvalidValue {
    invalid("Certificate")(match family {
        Family::CertificateList => {
            "expected { issuer rdnSequence:\"…\", thisUpdate utcTime:\"…\" } or a whole value"
        }
        _ => "expected { serialNumber …, issuer rdnSequence:\"…\" } or a whole value",
    })
}

fn stored_certificate(der: &[u8]) -> Option<Identity<'_>> {
    let mut signed = Reader::new(der).nested(SEQUENCE).ok()?;
    let mut certificate = signed.nested(SEQUENCE).ok()?;
    certificate.optional(VERSION).ok()?;
    let serial = decimal(certificate.expect(INTEGER).ok()?)?;
    certificate.expect(SEQUENCE).ok()?;
    let issuer = name_text(certificate.expect(SEQUENCE).ok()?)?;
    Some(Identity {
        key: Key::Serial(serial.into()),
        issuer: issuer.into(),
    })
}

fn stored_list(der: &[u8]) -> Option<Identity<'_>> {
    let mut signed = Reader::new(der).nested(SEQUENCE).ok()?;
    let mut list = signed.nested(SEQUENCE).ok()?;
    list.optional(INTEGER).ok()?;
    list.expect(SEQUENCE).ok()?;
    let issuer = name_text(list.expect(SEQUENCE).ok()?)?;
    let (tag, time) = list.element().ok()?;
    Some(Identity {
        key: Key::Time(tag, time.into()),
        issuer: issuer.into(),
    })
}

/// Parses a `CertificateExactAssertion` (RFC 4523 §3.1), and the older form `serial$issuer`.
fn asserted_certificate(text: &str) -> Option<Identity<'_>> {
    if let Some((serial, issuer)) = text.split_once('$')
        && !text.trim_start().starts_with('{')
    {
        return Some(Identity {
            key: Key::Serial(serial.trim().into()),
            issuer: issuer.into(),
        });
    }
    let (mut serial, mut issuer) = (None, None);
    let mut gser = Gser::new(text);
    gser.list(&mut |gser| {
        match gser.word()? {
            "serialNumber" => serial = Some(gser.word()?),
            "issuer" => issuer = Some(rdn_sequence(gser)?),
            _ => return None,
        }
        Some(())
    })?;
    if !gser.is_at_end() {
        return None;
    }
    Some(Identity {
        key: Key::Serial(serial?.into()),
        issuer: issuer?.into(),
    })
}

/// Parses a `CertificateListExactAssertion` (RFC 4523 §3.4) without a distribution point.
fn asserted_list(text: &str) -> Option<Identity<'_>> {
    let (mut issuer, mut update) = (None, None);
    let mut gser = Gser::new(text);
    gser.list(&mut |gser| {
        match gser.word()? {
            "issuer" => issuer = Some(rdn_sequence(gser)?),
            "thisUpdate" => {
                let tag = match gser.word()? {
                    "utcTime" => UTC_TIME,
                    "generalTime" => GENERALIZED_TIME,
                    _ => return None,
                };
                if !gser.take(":") {
                    return None;
                }
                update = Some((tag, gser.text()?));
            }
            _ => return None,
        }
        Some(())
    })?;
    let (tag, time) = update?;
    if !gser.is_at_end() {
        return None;
    }
    Some(Identity {
        key: Key::Time(tag, time.into_owned().into_bytes().into()),
        issuer: issuer?.into(),
    })
}

pub(super) fn rdn_sequence(gser: &mut Gser<'_>) -> Option<String> {
    (gser.word()? == "rdnSequence" && gser.take(":"))
        .then(|| gser.text())?
        .map(|it| it.into_owned())
}

/// Returns the content of a non-negative INTEGER in decimal digits.
pub(super) fn decimal(content: &[u8]) -> Option<String> {
    /// Octets of a number at most; RFC 5280 §4.1.2.2 allows 20.
    const OCTETS_MAX: usize = 64;
    if content.is_empty() || content.len() > OCTETS_MAX || content[0] >= 0x80 {
        return None;
    }
    let mut rest = content.to_vec();
    let mut digits = Vec::new();
    loop {
        let mut remainder = 0u16;
        for octet in &mut rest {
            let value = remainder << 8 | u16::from(*octet);
            *octet = (value / 10) as u8;
            remainder = value % 10;
        }
        digits.push(b'0' + remainder as u8);
        if rest.iter().all(|it| *it == 0) {
            break;
        }
    }
    digits.reverse();
    String::from_utf8(digits).ok()
}

/// Returns the content of a Name (RFC 5280 §4.1.2.4) as text, with types as OIDs.
pub(crate) fn name_text(content: &[u8]) -> Option<String> {
    let mut rdns = Vec::new();
    let mut sequence = Reader::new(content);
    while !sequence.is_empty() {
        let mut rdn = String::new();
        let mut values = sequence.nested(SET).ok()?;
        while !values.is_empty() {
            let mut pair = values.nested(SEQUENCE).ok()?;
            let oid = oid_text(pair.expect(0x06).ok()?)?;
            let (tag, content) = pair.element().ok()?;
            let separator = if rdn.is_empty() { "" } else { "+" };
            rdn.push_str(separator);
            rdn.push_str(&oid);
            rdn.push('=');
            protocol::name::escape_value(&mut rdn, string(tag, content)?.as_bytes());
        }
        rdns.push(rdn);
    }
    rdns.reverse();
    Some(rdns.join(","))
}

/// Returns the text of a DirectoryString or IA5String.
fn string(tag: u8, content: &[u8]) -> Option<String> {
    match tag {
        // UTF8String, PrintableString, IA5String, NumericString.
        0x0c | 0x13 | 0x16 | 0x12 => std::str::from_utf8(content).ok().map(str::to_owned),
        // TeletexString, in practice Latin-1.
        0x14 => Some(content.iter().map(|it| char::from(*it)).collect()),
        // BMPString.
        0x1e => {
            let units = content.chunks_exact(2);
            let units: Vec<u16> = units.map(|it| u16::from_be_bytes([it[0], it[1]])).collect();
            String::from_utf16(&units).ok()
        }
        _ => None,
    }
}

pub(super) fn oid_text(content: &[u8]) -> Option<String> {
    let mut arcs: Vec<u64> = Vec::new();
    let mut arc = 0u64;
    for (at, octet) in content.iter().enumerate() {
        arc = arc.checked_mul(128)? | u64::from(octet & 0x7f);
        if octet & 0x80 != 0 {
            if at + 1 == content.len() {
                return None;
            }
            continue;
        }
        if arcs.is_empty() {
            let first = (arc / 40).min(2);
            arcs.push(first);
            arc -= first * 40;
        }
        arcs.push(arc);
        arc = 0;
    }
    (!arcs.is_empty()).then(|| {
        let arcs: Vec<String> = arcs.iter().map(u64::to_string).collect();
        arcs.join(".")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matching::MatchingRule;
    use crate::schema::Schema;

    fn der(tag: u8, content: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        protocol::ber::put_octets(&mut out, tag, content);
        out
    }

    fn issuer() -> Vec<u8> {
        let pair = |oid: &[u8], tag, text: &str| {
            let both = [der(0x06, oid), der(tag, text.as_bytes())].concat();
            der(SET, &der(SEQUENCE, &both))
        };
        let rdns = [
            pair(b"\x55\x04\x0a", 0x13, "Example, Inc."),
            pair(b"\x55\x04\x03", 0x0c, "Root CA"),
        ];
        der(SEQUENCE, &rdns.concat())
    }

    fn certificate(serial: &[u8]) -> Vec<u8> {
        let version = der(VERSION, &der(INTEGER, b"\x02"));
        let body = [
            version,
            der(INTEGER, serial),
            der(SEQUENCE, b""),
            issuer(),
            der(SEQUENCE, b""),
        ];
        der(
            SEQUENCE,
            &[
                der(SEQUENCE, &body.concat()),
                der(SEQUENCE, b""),
                der(0x03, b"\x00"),
            ]
            .concat(),
        )
    }

    fn equal(rule: &str, stored: &[u8], asserted: &[u8]) -> Option<bool> {
        let schema = Schema::standard();
        let rule = MatchingRule::by_name(rule).unwrap();
        let (mut one, mut other) = (Vec::new(), Vec::new());
        rule.normalise(&schema, stored, &mut one).unwrap();
        rule.normalise_assertion(&schema, asserted, &mut other)
            .ok()?;
        Some(one == other)
    }

    #[test]
    fn certificates_are_named_by_serial_number_and_issuer() {
        let stored = certificate(b"\x01\x00\x00\x00\x00\x00\x00\x00\x00");
        for (asserted, expected) in [
            (
                "{ serialNumber 18446744073709551616, \
                 issuer rdnSequence:\"CN=root ca,O=Example\\, Inc.\" }",
                Some(true),
            ),
            (
                "{issuer rdnSequence:\"cn=Root CA,o=\"\"Example, Inc.\"\"\",\
                 serialNumber 18446744073709551616}",
                Some(true),
            ),
            (
                "18446744073709551616$cn=root ca,o=example\\, inc.",
                Some(true),
            ),
            (
                "{ serialNumber 1, issuer rdnSequence:\"cn=root ca,o=example\\, inc.\" }",
                Some(false),
            ),
            (
                "{ serialNumber 18446744073709551616, issuer rdnSequence:\"cn=root ca\" }",
                Some(false),
            ),
            ("{ serialNumber 1 }", None),
            ("{ serialNumber x, issuer rdnSequence:\"cn=a\" }", None),
            ("{ serialNumber 1, issuer rdnSequence:\"nothing=a\" }", None),
            ("nonsense", None),
        ] {
            let rule = "certificateExactMatch";
            assert_eq!(
                equal(rule, &stored, asserted.as_bytes()),
                expected,
                "{asserted}"
            );
        }
        assert_eq!(equal("certificateExactMatch", &stored, &stored), Some(true));
        assert_eq!(
            equal("certificateExactMatch", &stored, &certificate(b"\x05")),
            Some(false)
        );
    }

    #[test]
    fn revocation_lists_are_named_by_issuer_and_time() {
        let body = [
            der(INTEGER, b"\x01"),
            der(SEQUENCE, b""),
            issuer(),
            der(UTC_TIME, b"260102030405Z"),
        ];
        let stored = der(SEQUENCE, &der(SEQUENCE, &body.concat()));
        let assertion = |time: &str| {
            format!("{{ issuer rdnSequence:\"cn=Root CA,o=Example\\, Inc.\", thisUpdate {time} }}")
        };
        let check = |time: &str| {
            equal(
                "certificateListExactMatch",
                &stored,
                assertion(time).as_bytes(),
            )
        };
        assert_eq!(check("utcTime:\"260102030405Z\""), Some(true));
        assert_eq!(check("generalTime:\"20260102030406Z\""), Some(false));
        assert_eq!(check("otherTime:\"20260102030406Z\""), None);
    }

    #[test]
    fn what_is_no_certificate_is_its_octets() {
        let rule = "certificateExactMatch";
        assert_eq!(
            equal(rule, b"\x30\x03\x02\x01\x05", b"\x30\x03\x02\x01\x05"),
            Some(true)
        );
        assert_eq!(
            equal(rule, b"\x30\x03\x02\x01\x05", b"\x30\x03\x02\x01\x06"),
            Some(false)
        );
        for cut in 0..40 {
            let stored = certificate(b"\x05");
            assert_eq!(equal(rule, &stored[..cut], &stored), Some(false));
        }
    }
}
