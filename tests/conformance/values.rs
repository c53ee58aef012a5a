//! Values of controls and extended operations in BER, built from parts. This encoder is independent
//! of the crate `protocol`: two servers and two encoders must agree.

use protocol::OwnedControl;
use protocol::ber;

/// Returns a control with a value.
pub fn control(oid: &'static str, critical: bool, value: Vec<u8>) -> OwnedControl {
    OwnedControl {
        oid: oid.into(),
        critical,
        value: Some(value),
    }
}

/// Returns a control without a value.
pub fn bare(oid: &'static str, critical: bool) -> OwnedControl {
    OwnedControl {
        oid: oid.into(),
        critical,
        value: None,
    }
}

/// Encodes a constructed element of the parts.
pub fn constructed(tag: u8, parts: &[Vec<u8>]) -> Vec<u8> {
    let mut out = Vec::new();
    ber::put_octets(&mut out, tag, &parts.concat());
    out
}

/// Encodes a SEQUENCE of the parts.
pub fn sequence(parts: &[Vec<u8>]) -> Vec<u8> {
    constructed(ber::SEQUENCE, parts)
}

/// Encodes an OCTET STRING.
pub fn octets(content: impl AsRef<[u8]>) -> Vec<u8> {
    tagged(ber::OCTET_STRING, content)
}

/// Encodes a primitive element with a tag of its own.
pub fn tagged(tag: u8, content: impl AsRef<[u8]>) -> Vec<u8> {
    let mut out = Vec::new();
    ber::put_octets(&mut out, tag, content.as_ref());
    out
}

/// Encodes an INTEGER.
pub fn integer(value: i64) -> Vec<u8> {
    let mut out = Vec::new();
    ber::put_integer(&mut out, ber::INTEGER, value);
    out
}

/// Encodes an ENUMERATED.
pub fn enumerated(value: i64) -> Vec<u8> {
    let mut out = Vec::new();
    ber::put_integer(&mut out, ber::ENUMERATED, value);
    out
}

/// Encodes a BOOLEAN.
pub fn boolean(value: bool) -> Vec<u8> {
    let mut out = Vec::new();
    ber::put_boolean(&mut out, ber::BOOLEAN, value);
    out
}
