//! Certificates and revocation lists by any of their parts: certificateMatch and
//! certificateListMatch (RFC 4523 §3.2, §3.6; X.509 says when a part matches).
//!
//! The normal form of a stored value is the list of its parts; that of an assertion the list of
//! what is asked. A certificate matches when each of the asked parts does. Assertions about names
//! in between (`pathToName`, `nameConstraints`), `privateKeyValid` and distribution points are not
//! known: a filter with them is undefined.

use protocol::ber::{BOOLEAN, INTEGER, OCTET_STRING, Reader, SEQUENCE};

use super::certificate::{
    GENERALIZED_TIME, UTC_TIME, VERSION, decimal, name_text, oid_text, rdn_sequence,
};
use super::normalise::{self, invalid};
use super::{Family, name_bytes};
use crate::error::InvalidValue;
use crate::gser::Gser;
use crate::schema::Schema;
use crate::syntaxes::time;

const BIT_STRING: u8 = 0x03;
const OID: u8 = 0x06;
/// `[3] EXPLICIT` of a certificate, `[0] EXPLICIT` of a revocation list.
const CERTIFICATE_EXTENSIONS: u8 = 0xa3;
const LIST_EXTENSIONS: u8 = 0xa0;
/// Extensions (RFC 5280 §4.2.1, §5.2), by the last octet of `2.5.29.n`.
const EXTENSION_ARC: &[u8] = b"\x55\x1d";
const SUBJECT_KEY: u8 = 14;
const KEY_USAGE: u8 = 15;
const SUBJECT_ALT_NAME: u8 = 17;
const LIST_NUMBER: u8 = 20;
const POLICIES: u8 = 32;
const AUTHORITY_KEY: u8 = 35;

/// The names of the bits of a KeyUsage, in their order (RFC 5280 §4.2.1.3).
const KEY_USAGES: [&str; 9] = [
    "digitalSignature",
    "nonRepudiation",
    "keyEncipherment",
    "dataEncipherment",
    "keyAgreement",
    "keyCertSign",
    "cRLSign",
    "encipherOnly",
    "decipherOnly",
];

/// The forms of a GeneralName, by tag number (RFC 5280 §4.2.1.6); otherName is asked for by OID.
const NAME_FORMS: [&str; 9] = [
    "otherName",
    "rfc822Name",
    "dNSName",
    "x400Address",
    "directoryName",
    "ediPartyName",
    "uniformResourceIdentifier",
    "iPAddress",
    "registeredID",
];

/// What a part is.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Part {
    Serial = 1,
    Issuer,
    Subject,
    /// The first moment of validity; asserted: a moment.
    From,
    /// The last one. Without it there is none.
    Until,
    SubjectKey,
    AuthorityKey,
    Algorithm,
    /// Two octets of bits.
    KeyUsage,
    /// The form of an alternative name of the subject.
    AltName,
    Policy,
    ListNumber,
    /// Asserted: the least number.
    ListNumberMin,
    /// Asserted: the greatest.
    ListNumberMax,
}

/// Appends the normal form of a stored value. One that cannot be read has no parts.
pub(super) fn value(schema: &Schema, family: Family, der: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    let read = match family {
        Family::CertificateListParts => put_list(schema, der, out),
        _ => put_certificate(schema, der, out),
    };
    if read.is_none() {
        out.truncate(start);
    }
}

/// Appends the normal form of an assertion, which names the parts as text.
pub(super) fn assertion(
    schema: &Schema,
    family: Family,
    given: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), InvalidValue> {
    let start = out.len();
    let mut read = |text| {
        let mut gser = Gser::new(text);
        let done = gser.list(&mut |gser| match family {
            Family::CertificateListParts => list_part(schema, gser, out),
            _ => certificate_part(schema, gser, out),
        });
        done.filter(|()| gser.is_at_end())
    };
    let done = std::str::from_utf8(given).ok().and_then(&mut read);
    // An assertion of nothing would be true of everything.
    done.filter(|()| out.len() > start)
        .ok_or_else(|| invalid("Certificate")("expected { part value, … } of known parts"))
}

/// Whether the parts of a stored value are as asserted.
pub(crate) fn holds(stored: &[u8], asserted: &[u8]) -> bool {
    let of = |part: Part| parts(stored).filter(move |it| it.0 == part as u8);
    let mut policies = parts(asserted).filter(|it| it.0 == Part::Policy as u8);
    let policy_asked = policies.clone().next().is_some();
    // One of the policies asked for is enough.
    let policy_holds =
        !policy_asked || policies.any(|asked| of(Part::Policy).any(|it| it.1 == asked.1));
    let mut others = parts(asserted).filter(|it| it.0 != Part::Policy as u8);
    policy_holds
        && others.all(|(part, asked)| {
            let is = |it: Part| part == it as u8;
            if is(Part::From) {
                // A moment: not before the one, not after the other.
                of(Part::From).any(|it| it.1 <= asked) && of(Part::Until).all(|it| asked <= it.1)
            } else if is(Part::KeyUsage) {
                // A key without the extension may be used for everything.
                let has = |it: &[u8]| it.iter().zip(asked).all(|(has, want)| has & want == *want);
                of(Part::KeyUsage).all(|it| has(it.1))
            } else if is(Part::ListNumberMin) {
                of(Part::ListNumber).any(|it| it.1 >= asked)
            } else if is(Part::ListNumberMax) {
                of(Part::ListNumber).any(|it| it.1 <= asked)
            } else {
                parts(stored).any(|it| it == (part, asked))
            }
        })
}

fn parts(normal: &[u8]) -> impl Iterator<Item = (u8, &[u8])> + Clone {
    let mut rest = normal;
    std::iter::from_fn(move || {
        let ([part, high, low], after) = rest.split_first_chunk()?;
        let length = usize::from(u16::from_be_bytes([*high, *low]));
        let (content, after) = after.split_at_checked(length)?;
        rest = after;
        Some((*part, content))
    })
}

fn put_raw(out: &mut Vec<u8>, part: u8, content: &[u8]) {
    // A part as long as no certificate has any is left out, and then matches nothing.
    if let Ok(length) = u16::try_from(content.len()) {
        out.push(part);
        out.extend_from_slice(&length.to_be_bytes());
        out.extend_from_slice(content);
    }
}

fn put(out: &mut Vec<u8>, part: Part, content: &[u8]) -> Option<()> {
    put_raw(out, part as u8, content);
    Some(())
}

fn put_number(schema: &Schema, part: Part, digits: &str, out: &mut Vec<u8>) -> Option<()> {
    let mut normal = Vec::new();
    normalise::value(schema, Family::Integer, digits.as_bytes(), &mut normal).ok()?;
    put(out, part, &normal)
}

fn put_time(part: Part, tag: u8, content: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let mut normal = Vec::new();
    match tag {
        UTC_TIME => time::put_utc_time(content, &mut normal).ok()?,
        GENERALIZED_TIME => time::put_generalized_time(content, &mut normal).ok()?,
        _ => return None,
    }
    put(out, part, &normal)
}

/// A stored name that the schema cannot name is left out.
fn put_stored_name(schema: &Schema, part: Part, content: &[u8], out: &mut Vec<u8>) -> Option<()> {
    match name_text(content).and_then(|it| name_bytes(schema, &it)) {
        Some(name) => put(out, part, &name),
        None => Some(()),
    }
}

fn put_certificate(schema: &Schema, der: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let mut signed = Reader::new(der).nested(SEQUENCE).ok()?;
    let mut it = signed.nested(SEQUENCE).ok()?;
    it.optional(VERSION).ok()?;
    put_number(
        schema,
        Part::Serial,
        &decimal(it.expect(INTEGER).ok()?)?,
        out,
    )?;
    it.expect(SEQUENCE).ok()?;
    put_stored_name(schema, Part::Issuer, it.expect(SEQUENCE).ok()?, out)?;
    let mut validity = it.nested(SEQUENCE).ok()?;
    for part in [Part::From, Part::Until] {
        let (tag, time) = validity.element().ok()?;
        put_time(part, tag, time, out)?;
    }
    put_stored_name(schema, Part::Subject, it.expect(SEQUENCE).ok()?, out)?;
    let mut algorithm = it.nested(SEQUENCE).ok()?.nested(SEQUENCE).ok()?;
    put(
        out,
        Part::Algorithm,
        oid_text(algorithm.expect(OID).ok()?)?.as_bytes(),
    )?;
    put_extensions(schema, &mut it, CERTIFICATE_EXTENSIONS, out)
}

fn put_list(schema: &Schema, der: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let mut signed = Reader::new(der).nested(SEQUENCE).ok()?;
    let mut it = signed.nested(SEQUENCE).ok()?;
    it.optional(INTEGER).ok()?;
    it.expect(SEQUENCE).ok()?;
    put_stored_name(schema, Part::Issuer, it.expect(SEQUENCE).ok()?, out)?;
    let (tag, time) = it.element().ok()?;
    put_time(Part::From, tag, time, out)?;
    if matches!(it.peek_tag(), Some(UTC_TIME | GENERALIZED_TIME)) {
        let (tag, time) = it.element().ok()?;
        put_time(Part::Until, tag, time, out)?;
    }
    put_extensions(schema, &mut it, LIST_EXTENSIONS, out)
}

/// The extensions that can be asserted, in what is left of a certificate or list.
fn put_extensions(
    schema: &Schema,
    rest: &mut Reader<'_>,
    tag: u8,
    out: &mut Vec<u8>,
) -> Option<()> {
    while !rest.is_empty() {
        if rest.peek_tag() != Some(tag) {
            rest.element().ok()?;
            continue;
        }
        let mut extensions = rest.nested(tag).ok()?.nested(SEQUENCE).ok()?;
        while !extensions.is_empty() {
            let mut extension = extensions.nested(SEQUENCE).ok()?;
            let oid = extension.expect(OID).ok()?;
            extension.optional(BOOLEAN).ok()?;
            let content = extension.expect(OCTET_STRING).ok()?;
            if let Some([which]) = oid.strip_prefix(EXTENSION_ARC) {
                // One that cannot be read is as if it were not there.
                let _ = put_extension(schema, *which, content, out);
            }
        }
    }
    Some(())
}

fn put_extension(schema: &Schema, which: u8, content: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let mut reader = Reader::new(content);
    match which {
        SUBJECT_KEY => put(out, Part::SubjectKey, reader.expect(OCTET_STRING).ok()?),
        AUTHORITY_KEY => {
            let mut key = reader.nested(SEQUENCE).ok()?;
            match key.optional(0x80).ok()? {
                Some(id) => put(out, Part::AuthorityKey, id),
                None => Some(()),
            }
        }
        KEY_USAGE => {
            let (_, bits) = reader.expect(BIT_STRING).ok()?.split_first()?;
            put(out, Part::KeyUsage, &two_octets(bits))
        }
        SUBJECT_ALT_NAME => {
            let mut names = reader.nested(SEQUENCE).ok()?;
            while !names.is_empty() {
                let (tag, content) = names.element().ok()?;
                let form = usize::from(tag & 0x1f);
                put(out, Part::AltName, NAME_FORMS.get(form)?.as_bytes())?;
                if form == 0 {
                    let oid = Reader::new(content).expect(OID).ok()?;
                    put(out, Part::AltName, oid_text(oid)?.as_bytes())?;
                }
            }
            Some(())
        }
        POLICIES => {
            let mut policies = reader.nested(SEQUENCE).ok()?;
            while !policies.is_empty() {
                let mut policy = policies.nested(SEQUENCE).ok()?;
                put(
                    out,
                    Part::Policy,
                    oid_text(policy.expect(OID).ok()?)?.as_bytes(),
                )?;
            }
            Some(())
        }
        LIST_NUMBER => {
            let number = decimal(reader.expect(INTEGER).ok()?)?;
            put_number(schema, Part::ListNumber, &number, out)
        }
        _ => Some(()),
    }
}

fn two_octets(bits: &[u8]) -> [u8; 2] {
    let octet = |at: usize| bits.get(at).copied().unwrap_or(0);
    [octet(0), octet(1)]
}

/// One part of a CertificateAssertion (RFC 4523, Appendix A).
fn certificate_part(schema: &Schema, gser: &mut Gser<'_>, out: &mut Vec<u8>) -> Option<()> {
    match gser.word()? {
        "serialNumber" => put_number(schema, Part::Serial, gser.word()?, out),
        "issuer" => put_name(schema, Part::Issuer, gser, out),
        "subject" => put_name(schema, Part::Subject, gser, out),
        "subjectKeyIdentifier" => put(out, Part::SubjectKey, &gser.octets()?),
        "authorityKeyIdentifier" => authority_key(gser, out),
        "certificateValid" => moment(gser, out),
        "subjectPublicKeyAlgID" => put_oid(out, Part::Algorithm, gser.word()?),
        "keyUsage" => put(out, Part::KeyUsage, &key_usage(gser)?),
        "subjectAltName" => {
            let form = gser.word()?;
            let name = gser.take(":").then(|| gser.word())??;
            match form {
                "builtinNameForm" if NAME_FORMS[1..].contains(&name) => {
                    put(out, Part::AltName, name.as_bytes())
                }
                "otherNameForm" => put_oid(out, Part::AltName, name),
                _ => None,
            }
        }
        "policy" => gser.list(&mut |gser| put_oid(out, Part::Policy, gser.word()?)),
        _ => None,
    }
}

/// One part of a CertificateListAssertion (RFC 4523, Appendix A).
fn list_part(schema: &Schema, gser: &mut Gser<'_>, out: &mut Vec<u8>) -> Option<()> {
    match gser.word()? {
        "issuer" => put_name(schema, Part::Issuer, gser, out),
        "minCRLNumber" => put_number(schema, Part::ListNumberMin, gser.word()?, out),
        "maxCRLNumber" => put_number(schema, Part::ListNumberMax, gser.word()?, out),
        "dateAndTime" => moment(gser, out),
        "authorityKeyIdentifier" => authority_key(gser, out),
        _ => None,
    }
}

fn put_name(schema: &Schema, part: Part, gser: &mut Gser<'_>, out: &mut Vec<u8>) -> Option<()> {
    put(out, part, &name_bytes(schema, &rdn_sequence(gser)?)?)
}

fn put_oid(out: &mut Vec<u8>, part: Part, oid: &str) -> Option<()> {
    let is_oid = oid.contains('.') && oid.bytes().all(|it| it.is_ascii_digit() || it == b'.');
    is_oid.then(|| put(out, part, oid.as_bytes()))?
}

fn authority_key(gser: &mut Gser<'_>, out: &mut Vec<u8>) -> Option<()> {
    gser.list(&mut |gser| match gser.word()? {
        "keyIdentifier" => put(out, Part::AuthorityKey, &gser.octets()?),
        _ => None,
    })
}

fn moment(gser: &mut Gser<'_>, out: &mut Vec<u8>) -> Option<()> {
    let tag = match gser.word()? {
        "utcTime" => UTC_TIME,
        "generalTime" => GENERALIZED_TIME,
        _ => return None,
    };
    let text = gser.take(":").then(|| gser.text())??;
    put_time(Part::From, tag, text.as_bytes(), out)
}

/// `{ keyCertSign, cRLSign }` or `'000001100'B`.
fn key_usage(gser: &mut Gser<'_>) -> Option<[u8; 2]> {
    let mut usage = [0u8; 2];
    let mut set = |bit: usize| {
        let octet = usage.get_mut(bit / 8)?;
        *octet |= 0x80 >> (bit % 8);
        Some(())
    };
    if let Some(bits) = gser.bits() {
        for (at, bit) in bits.bytes().enumerate() {
            if bit == b'1' {
                set(at)?;
            }
        }
        return Some(usage);
    }
    gser.list(&mut |gser| {
        let name = gser.word()?;
        set(KEY_USAGES.iter().position(|it| *it == name)?)
    })?;
    Some(usage)
}

#[cfg(test)]
mod tests;
