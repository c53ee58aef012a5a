//! Certificates and revocation lists by any of their parts: certificateMatch and
//! certificateListMatch (RFC 4523 §3.2, §3.6; X.509 says when a part matches).
//!
//! The normal form of a stored value is the list of its parts; that of an assertion the list of
//! asserted parts. A certificate matches when each asserted part does. Distribution points named
//! relative to the issuer are not supported: a filter with them is undefined.

mod general_name;
#[cfg(test)]
mod tests;

use protocol::ber::{BOOLEAN, INTEGER, OCTET_STRING, Reader, SEQUENCE};

use self::general_name::GeneralName;
use super::certificate::{
    GENERALIZED_TIME, UTC_TIME, VERSION, decimal, name_text, oid_text, rdn_sequence,
};
use super::integer;
use super::rule::Family;
use crate::error::{InvalidValue, invalid};
use crate::gser::Gser;
use crate::schema::Schema;
use crate::syntaxes::time;

const BIT_STRING: u8 = 0x03;
const OID: u8 = 0x06;
/// Tags of the extensions: `[3] EXPLICIT` of a certificate, `[0] EXPLICIT` of a revocation list.
const CERTIFICATE_EXTENSIONS: u8 = 0xa3;
const LIST_EXTENSIONS: u8 = 0xa0;
/// Extensions (RFC 5280 §4.2.1, §5.2), by the last octet of the OID `2.5.29.n`.
const EXTENSION_ARC: &[u8] = b"\x55\x1d";
const SUBJECT_KEY: u8 = 14;
const KEY_USAGE: u8 = 15;
const PRIVATE_KEY_USAGE: u8 = 16;
const SUBJECT_ALT_NAME: u8 = 17;
const LIST_NUMBER: u8 = 20;
const DISTRIBUTION_POINT: u8 = 28;
const NAME_CONSTRAINTS: u8 = 30;
const POLICIES: u8 = 32;
const AUTHORITY_KEY: u8 = 35;

/// Names of the bits of a KeyUsage, in order (RFC 5280 §4.2.1.3).
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

/// Names of the bits of ReasonFlags, in order (RFC 5280 §4.2.1.13).
const REASONS: [&str; 9] = [
    "unused",
    "keyCompromise",
    "cACompromise",
    "affiliationChanged",
    "superseded",
    "cessationOfOperation",
    "certificateHold",
    "privilegeWithdrawn",
    "aACompromise",
];

/// The kind of a part.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Part {
    Serial = 1,
    Issuer,
    Subject,
    /// The first moment of validity; in an assertion a moment that must be valid.
    From,
    /// The last moment of validity; never asserted.
    Until,
    SubjectKey,
    AuthorityKey,
    Algorithm,
    /// Two octets of key usage bits.
    KeyUsage,
    /// The form of an alternative name of the subject, without the name.
    AltName,
    Policy,
    ListNumber,
    /// The least list number; only asserted.
    ListNumberMin,
    /// The greatest list number; only asserted.
    ListNumberMax,
    /// The first moment of the private key's use; in an assertion a moment of its use.
    PrivateFrom,
    /// The last moment of the private key's use; never asserted.
    PrivateUntil,
    /// An alternative name of the subject, as a general name.
    AltNameValue,
    /// A subtree in which certificates below this one may name subjects; in an assertion the
    /// subtree that must be permitted.
    Permitted,
    /// A subtree in which certificates below this one may not name subjects; in an assertion the
    /// subtree that must not be excluded.
    Excluded,
    /// A name that a certificate below this one must be able to have; only asserted.
    PathTo,
    /// Two octets of bits: the revocation reasons that a list covers.
    Reasons,
    /// A name of the place where a list is published.
    DistributionPoint,
}

/// Appends the normal form of a stored value. An unreadable value has no parts.
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
    // An empty assertion would be true of every value.
    done.filter(|()| out.len() > start)
        .ok_or_else(|| invalid("Certificate")("expected { part value, … } of known parts"))
}

/// Returns whether the parts of a stored value match the asserted ones.
pub(crate) fn holds(stored: &[u8], asserted: &[u8]) -> bool {
    let of = |part: Part| parts(stored).filter(move |it| it.0 == part as u8);
    let mut policies = parts(asserted).filter(|it| it.0 == Part::Policy as u8);
    let policy_asked = policies.clone().next().is_some();
    // One of the asserted policies is enough.
    let policy_holds =
        !policy_asked || policies.any(|asked| of(Part::Policy).any(|it| it.1 == asked.1));
    // One of the asserted distribution points is enough, by any of its names; and of the asserted
    // subtrees, one of each form.
    let mut points = parts(asserted).filter(|it| it.0 == Part::DistributionPoint as u8);
    let point_asked = points.clone().next().is_some();
    let point_holds = !point_asked || points.any(|asked| parts(stored).any(|it| it == asked));
    let permitted = parts(asserted).filter(|it| it.0 == Part::Permitted as u8);
    let permitted_holds = permitted.clone().next().is_none()
        || subjects(stored)
            .iter()
            .all(|it| is_permitted(permitted.clone(), it));
    let together = [Part::Policy, Part::DistributionPoint, Part::Permitted];
    let mut others = parts(asserted).filter(|it| together.iter().all(|part| it.0 != *part as u8));
    policy_holds
        && point_holds
        && permitted_holds
        && others.all(|(part, asked)| {
            let is = |it: Part| part == it as u8;
            if is(Part::From) {
                // The moment must not lie before the first nor after the last.
                of(Part::From).any(|it| it.1 <= asked) && of(Part::Until).all(|it| asked <= it.1)
            } else if is(Part::KeyUsage) {
                // A key without the extension may be used for all purposes.
                let has = |it: &[u8]| it.iter().zip(asked).all(|(has, want)| has & want == *want);
                of(Part::KeyUsage).all(|it| has(it.1))
            } else if is(Part::PrivateFrom) {
                // A key without the extension is valid as long as the certificate.
                of(Part::PrivateFrom).all(|it| it.1 <= asked)
                    && of(Part::PrivateUntil).all(|it| asked <= it.1)
            } else if is(Part::PathTo) {
                let within = |it: (u8, &[u8])| general_name::is_within(asked, it.1);
                is_permitted(of(Part::Permitted), asked) && !of(Part::Excluded).any(within)
            } else if is(Part::Excluded) {
                let mut names = subjects(stored).into_iter();
                !names.any(|it| general_name::is_within(&it, asked))
            } else if is(Part::Reasons) {
                // A list without the extension covers all reasons.
                let some = |it: &[u8]| it.iter().zip(asked).any(|(has, want)| has & want != 0);
                of(Part::Reasons).all(|it| some(it.1))
            } else if is(Part::ListNumberMin) {
                of(Part::ListNumber).any(|it| it.1 >= asked)
            } else if is(Part::ListNumberMax) {
                of(Part::ListNumber).any(|it| it.1 <= asked)
            } else {
                parts(stored).any(|it| it == (part, asked))
            }
        })
}

/// Returns whether a general name lies in one of these subtrees, or none of them is of its form.
fn is_permitted<'n>(subtrees: impl Iterator<Item = (u8, &'n [u8])>, name: &[u8]) -> bool {
    let mut of_form = subtrees
        .filter(|it| general_name::same_form(it.1, name))
        .peekable();
    of_form.peek().is_none() || of_form.any(|it| general_name::is_within(name, it.1))
}

/// Returns the names of a certificate's subject.
fn subjects(stored: &[u8]) -> Vec<Vec<u8>> {
    let names = parts(stored).filter_map(|(part, content)| {
        if part == Part::AltNameValue as u8 {
            return Some(content.to_vec());
        }
        // A subject without a name has only alternative names.
        let is_name = part == Part::Subject as u8 && !content.is_empty();
        is_name.then(|| general_name::of_directory(content))
    });
    names.collect()
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
    // A part longer than any in a real certificate is left out, and matches nothing.
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

fn put_number(part: Part, digits: &str, out: &mut Vec<u8>) -> Option<()> {
    let mut normal = Vec::new();
    integer::put(digits.as_bytes(), &mut normal).ok()?;
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

/// Returns the normal form of a name given as text; `None` when its types are unknown.
fn name_bytes(schema: &Schema, text: &str) -> Option<Vec<u8>> {
    Some(schema.resolve_name(text).ok()?.bytes().to_vec())
}

fn stored_general_name(schema: &Schema, tag: u8, content: &[u8]) -> Option<Vec<u8>> {
    normal_general_name(schema, general_name::stored(tag, content)?)
}

fn asserted_general_name(schema: &Schema, gser: &mut Gser<'_>) -> Option<Vec<u8>> {
    normal_general_name(schema, general_name::asserted(gser)?)
}

/// Returns the normal form of a general name; `None` when its types are unknown.
fn normal_general_name(schema: &Schema, name: GeneralName) -> Option<Vec<u8>> {
    match name {
        GeneralName::Directory(text) => {
            Some(general_name::of_directory(&name_bytes(schema, &text)?))
        }
        GeneralName::Other(normal) => Some(normal),
    }
}

/// Appends a stored name; one with unknown types is left out.
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
    put_number(Part::Serial, &decimal(it.expect(INTEGER).ok()?)?, out)?;
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

/// Appends the extensions that can be asserted, from the rest of a certificate or list.
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
                // An extension that cannot be read counts as absent.
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
                put(
                    out,
                    Part::AltName,
                    general_name::FORMS.get(form)?.as_bytes(),
                )?;
                if let Some(name) = stored_general_name(schema, tag, content) {
                    put(out, Part::AltNameValue, &name)?;
                }
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
            put_number(Part::ListNumber, &number, out)
        }
        _ => put_further_extension(schema, which, reader, out),
    }
}

fn put_further_extension(
    schema: &Schema,
    which: u8,
    mut reader: Reader<'_>,
    out: &mut Vec<u8>,
) -> Option<()> {
    match which {
        PRIVATE_KEY_USAGE => {
            let mut period = reader.nested(SEQUENCE).ok()?;
            for (part, tag) in [(Part::PrivateFrom, 0x80), (Part::PrivateUntil, 0x81)] {
                if let Some(time) = period.optional(tag).ok()? {
                    put_time(part, GENERALIZED_TIME, time, out)?;
                }
            }
            Some(())
        }
        NAME_CONSTRAINTS => {
            let mut constraints = reader.nested(SEQUENCE).ok()?;
            for (part, tag) in [(Part::Permitted, 0xa0), (Part::Excluded, 0xa1)] {
                if constraints.peek_tag() == Some(tag) {
                    put_subtrees(schema, part, constraints.nested(tag).ok()?, out)?;
                }
            }
            Some(())
        }
        DISTRIBUTION_POINT => put_distribution_point(schema, reader.nested(SEQUENCE).ok()?, out),
        _ => Some(()),
    }
}

/// Appends the bases of `SEQUENCE OF SEQUENCE { base GeneralName, … }`.
fn put_subtrees(
    schema: &Schema,
    part: Part,
    mut subtrees: Reader<'_>,
    out: &mut Vec<u8>,
) -> Option<()> {
    while !subtrees.is_empty() {
        let (tag, content) = subtrees.nested(SEQUENCE).ok()?.element().ok()?;
        if let Some(base) = stored_general_name(schema, tag, content) {
            put(out, part, &base)?;
        }
    }
    Some(())
}

/// Appends the parts of an IssuingDistributionPoint (RFC 5280 §5.2.5).
fn put_distribution_point(schema: &Schema, mut point: Reader<'_>, out: &mut Vec<u8>) -> Option<()> {
    while !point.is_empty() {
        let (tag, content) = point.element().ok()?;
        match tag {
            0xa0 => {
                // The name is a choice; the full name is its first alternative.
                let Ok(mut names) = Reader::new(content).nested(0xa0) else {
                    continue;
                };
                while !names.is_empty() {
                    let (tag, content) = names.element().ok()?;
                    if let Some(name) = stored_general_name(schema, tag, content) {
                        put(out, Part::DistributionPoint, &name)?;
                    }
                }
            }
            0x83 => {
                let (_, bits) = content.split_first()?;
                put(out, Part::Reasons, &two_octets(bits))?;
            }
            _ => {}
        }
    }
    Some(())
}

fn two_octets(bits: &[u8]) -> [u8; 2] {
    let octet = |at: usize| bits.get(at).copied().unwrap_or(0);
    [octet(0), octet(1)]
}

/// Parses one part of a CertificateAssertion (RFC 4523, Appendix A).
fn certificate_part(schema: &Schema, gser: &mut Gser<'_>, out: &mut Vec<u8>) -> Option<()> {
    match gser.word()? {
        "serialNumber" => put_number(Part::Serial, gser.word()?, out),
        "issuer" => put_name(schema, Part::Issuer, gser, out),
        "subject" => put_name(schema, Part::Subject, gser, out),
        "subjectKeyIdentifier" => put(out, Part::SubjectKey, &gser.octets()?),
        "authorityKeyIdentifier" => authority_key(gser, out),
        "certificateValid" => moment(gser, out),
        "subjectPublicKeyAlgID" => put_oid(out, Part::Algorithm, gser.word()?),
        "keyUsage" => put(out, Part::KeyUsage, &bit_list(gser, &KEY_USAGES)?),
        "subjectAltName" => {
            let form = gser.word()?;
            let name = gser.take(":").then(|| gser.word())??;
            match form {
                "builtinNameForm" if general_name::FORMS[1..].contains(&name) => {
                    put(out, Part::AltName, name.as_bytes())
                }
                "otherNameForm" => put_oid(out, Part::AltName, name),
                _ => None,
            }
        }
        "policy" => gser.list(&mut |gser| put_oid(out, Part::Policy, gser.word()?)),
        "privateKeyValid" => {
            let time = gser.text()?;
            put_time(Part::PrivateFrom, GENERALIZED_TIME, time.as_bytes(), out)
        }
        "pathToName" => {
            let name = name_bytes(schema, &rdn_sequence(gser)?)?;
            put(out, Part::PathTo, &general_name::of_directory(&name))
        }
        "nameConstraints" => gser.list(&mut |gser| {
            let part = match gser.word()? {
                "permittedSubtrees" => Part::Permitted,
                "excludedSubtrees" => Part::Excluded,
                _ => return None,
            };
            gser.list(&mut |gser| put(out, part, &subtree(schema, gser)?))
        }),
        _ => None,
    }
}

/// Parses `{ base dNSName:"example.com", minimum 0 }`; other distances have no use (RFC 5280
/// §4.2.1.10).
fn subtree(schema: &Schema, gser: &mut Gser<'_>) -> Option<Vec<u8>> {
    let mut base = None;
    gser.list(&mut |gser| {
        match gser.word()? {
            "base" => base = Some(asserted_general_name(schema, gser)?),
            "minimum" if gser.word()? == "0" => {}
            _ => return None,
        }
        Some(())
    })?;
    base
}

/// Parses one part of a CertificateListAssertion (RFC 4523, Appendix A).
fn list_part(schema: &Schema, gser: &mut Gser<'_>, out: &mut Vec<u8>) -> Option<()> {
    match gser.word()? {
        "issuer" => put_name(schema, Part::Issuer, gser, out),
        "minCRLNumber" => put_number(Part::ListNumberMin, gser.word()?, out),
        "maxCRLNumber" => put_number(Part::ListNumberMax, gser.word()?, out),
        "dateAndTime" => moment(gser, out),
        "authorityKeyIdentifier" => authority_key(gser, out),
        "reasonFlags" => put(out, Part::Reasons, &bit_list(gser, &REASONS)?),
        "distributionPoint" => {
            let full = gser.word()? == "fullName" && gser.take(":");
            full.then(|| {
                gser.list(&mut |gser| {
                    let name = asserted_general_name(schema, gser)?;
                    put(out, Part::DistributionPoint, &name)
                })
            })?
        }
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

/// Parses `{ keyCertSign, cRLSign }` or `'000001100'B`.
fn bit_list(gser: &mut Gser<'_>, names: &[&str]) -> Option<[u8; 2]> {
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
        set(names.iter().position(|it| *it == name)?)
    })?;
    Some(usage)
}
