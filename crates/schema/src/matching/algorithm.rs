//! Supported algorithms by their identifier: algorithmIdentifierMatch (RFC 4523 §3.7).
//!
//! The normal form is the OID followed by the DER of the parameters; absent parameters equal NULL.
//! A value that cannot be read is its own octets, and matches only the whole value.

use protocol::ber::{NULL, Reader, SEQUENCE};

use super::certificate::oid_text;
use crate::error::{InvalidValue, invalid};
use crate::gser::Gser;

/// First octet of the normal form of a readable value; `WHOLE` marks an unreadable one.
const PARTS: u8 = 1;
const WHOLE: u8 = 0;

const OID: u8 = 0x06;

/// Appends the normal form of a stored value.
pub(super) fn value(der: &[u8], out: &mut Vec<u8>) {
    match parts(der) {
        Some((oid, parameters)) => put(&oid, parameters, out),
        None => {
            out.push(WHOLE);
            out.extend_from_slice(der);
        }
    }
}

/// Appends the normal form of an asserted value: `{ algorithm 1.2.3, parameters NULL }`, or a whole
/// value.
pub(super) fn assertion(given: &[u8], out: &mut Vec<u8>) -> Result<(), InvalidValue> {
    // DER begins with the tag of a SEQUENCE, text with a brace.
    if given.first() == Some(&SEQUENCE) {
        value(given, out);
        return Ok(());
    }
    let text = std::str::from_utf8(given).ok();
    let Some((oid, parameters)) = text.and_then(asserted) else {
        return Err(invalid("Algorithm Identifier")(
            "expected { algorithm 1.2.3, parameters NULL } or a whole value",
        ));
    };
    put(oid, &parameters, out);
    Ok(())
}

fn put(oid: &str, parameters: &[u8], out: &mut Vec<u8>) {
    out.push(PARTS);
    out.extend_from_slice(oid.as_bytes());
    out.push(0);
    if parameters != [NULL, 0] {
        out.extend_from_slice(parameters);
    }
}

/// Returns the OID of a SupportedAlgorithm, and the DER of its parameters.
fn parts(der: &[u8]) -> Option<(String, &[u8])> {
    let mut whole = Reader::new(der);
    let mut algorithm = whole.nested(SEQUENCE).ok()?.nested(SEQUENCE).ok()?;
    if !whole.is_empty() {
        return None;
    }
    let oid = oid_text(algorithm.expect(OID).ok()?)?;
    Some((oid, algorithm.rest()))
}

fn asserted(text: &str) -> Option<(&str, Vec<u8>)> {
    let (mut oid, mut parameters) = (None, Vec::new());
    let mut gser = Gser::new(text);
    gser.list(&mut |gser| {
        match gser.word()? {
            "algorithm" => {
                let is_oid = |it: &&str| it.contains('.') && !it.contains(char::is_alphabetic);
                oid = Some(gser.word().filter(is_oid)?);
            }
            "parameters" => {
                parameters = match gser.octets() {
                    Some(octets) => octets,
                    None if gser.word()? == "NULL" => Vec::new(),
                    None => return None,
                }
            }
            _ => return None,
        }
        Some(())
    })?;
    Some((oid?, parameters)).filter(|_| gser.is_at_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// rsaEncryption with NULL, as a SupportedAlgorithm for digital signatures.
    const RSA: &[u8] = b"\x30\x13\x30\x0d\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01\x05\x00\
                         \x80\x02\x07\x80";

    fn equal(stored: &[u8], given: &[u8]) -> Option<bool> {
        let (mut one, mut other) = (Vec::new(), Vec::new());
        value(stored, &mut one);
        assertion(given, &mut other).ok()?;
        Some(one == other)
    }

    #[test]
    fn algorithms_are_found_by_their_identifier() {
        for (given, expected) in [
            (
                "{ algorithm 1.2.840.113549.1.1.1, parameters NULL }",
                Some(true),
            ),
            ("{ algorithm 1.2.840.113549.1.1.1 }", Some(true)),
            (
                "{algorithm 1.2.840.113549.1.1.1,parameters '0500'H}",
                Some(true),
            ),
            (
                "{ algorithm 1.2.840.113549.1.1.1, parameters '0403'H }",
                Some(false),
            ),
            ("{ algorithm 1.2.840.113549.1.1.2 }", Some(false)),
            ("{ algorithm rsa }", None),
            ("{ parameters NULL }", None),
            ("{ }", None),
            ("", None),
            ("{ algorithm 1.2.3 } x", None),
            ("{ algorithm 1.2.3, parameters 5 }", None),
        ] {
            assert_eq!(equal(RSA, given.as_bytes()), expected, "{given}");
        }
        assert_eq!(equal(RSA, RSA), Some(true));
    }

    #[test]
    fn what_is_no_algorithm_is_its_octets() {
        for cut in 0..RSA.len() {
            assert_eq!(equal(&RSA[..cut], RSA), Some(false), "{cut}");
        }
        assert_eq!(equal(b"\x30\x01x", b"\x30\x01x"), Some(true));
    }
}
