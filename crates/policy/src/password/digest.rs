//! Plain and salted digests: {SHA} {SSHA} {MD5} {SMD5} {SHA256} … {SSHA512} (RFC 2307 and its
//! salted successors): base64 of digest(password, salt), then the salt; and two in hexadecimal:
//! {NT} of Windows and Samba, and {NS-MTA-MD5} of Netscape's mail server.

use md4::Md4;
use md5::Md5;
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha384, Sha512};
use subtle::ConstantTimeEq;

use super::base64;

/// Octets of a decoded value at most: the longest digest and the longest accepted salt.
const DECODED_MAX: usize = 64 + 192;

/// The digest of a scheme.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Algorithm {
    Md5,
    Sha1,
    Sha256,
    Sha384,
    Sha512,
}

impl Algorithm {
    fn length(self) -> usize {
        match self {
            Algorithm::Md5 => 16,
            Algorithm::Sha1 => 20,
            Algorithm::Sha256 => 32,
            Algorithm::Sha384 => 48,
            Algorithm::Sha512 => 64,
        }
    }
}

/// Returns whether `encoded` was made from the password `given`. A value without salt is a plain
/// digest; `salted` says which of both the scheme prescribes.
pub fn verify(algorithm: Algorithm, salted: bool, encoded: &[u8], given: &[u8]) -> bool {
    let mut buffer = [0; DECODED_MAX];
    let Some(decoded) = base64::decode(encoded, &mut buffer) else {
        return false;
    };
    let Some((expected, salt)) = decoded.split_at_checked(algorithm.length()) else {
        return false;
    };
    if !salted && !salt.is_empty() {
        return false;
    }
    match algorithm {
        Algorithm::Md5 => matches::<Md5>(expected, salt, given),
        Algorithm::Sha1 => matches::<Sha1>(expected, salt, given),
        Algorithm::Sha256 => matches::<Sha256>(expected, salt, given),
        Algorithm::Sha384 => matches::<Sha384>(expected, salt, given),
        Algorithm::Sha512 => matches::<Sha512>(expected, salt, given),
    }
}

fn matches<D: Digest>(expected: &[u8], salt: &[u8], given: &[u8]) -> bool {
    let digest = D::new().chain_update(given).chain_update(salt).finalize();
    digest.as_slice().ct_eq(expected).into()
}

/// Returns the stored form of `given` with `salt`, without the scheme.
pub fn hash(algorithm: Algorithm, salt: &[u8], given: &[u8]) -> String {
    let mut bytes = match algorithm {
        Algorithm::Md5 => digest::<Md5>(salt, given),
        Algorithm::Sha1 => digest::<Sha1>(salt, given),
        Algorithm::Sha256 => digest::<Sha256>(salt, given),
        Algorithm::Sha384 => digest::<Sha384>(salt, given),
        Algorithm::Sha512 => digest::<Sha512>(salt, given),
    };
    bytes.extend_from_slice(salt);
    base64::encode(&bytes)
}

fn digest<D: Digest>(salt: &[u8], given: &[u8]) -> Vec<u8> {
    let digest = D::new().chain_update(given).chain_update(salt).finalize();
    digest.as_slice().to_vec()
}

/// Verifies the NT hash in hexadecimal, as in sambaNTPassword: MD4 of the password in UTF-16.
pub fn verify_nt(stored: &[u8], given: &[u8]) -> bool {
    let Ok(given) = std::str::from_utf8(given) else {
        return false;
    };
    let mut digest = Md4::new();
    for unit in given.encode_utf16() {
        digest.update(unit.to_le_bytes());
    }
    let hash = hexadecimal(digest.finalize().as_slice());
    hash.as_bytes().ct_eq(&stored.to_ascii_lowercase()).into()
}

/// Verifies 32 characters of MD5 in hexadecimal and 32 of salt, as OpenLDAP's module `netscape`.
pub fn verify_ns_mta_md5(stored: &[u8], given: &[u8]) -> bool {
    let Some((expected, salt)) = stored.split_at_checked(32).filter(|it| it.1.len() == 32) else {
        return false;
    };
    let digest = Md5::new()
        .chain_update(salt)
        .chain_update([0x59])
        .chain_update(given)
        .chain_update([0xF7])
        .chain_update(salt)
        .finalize();
    let hash = hexadecimal(digest.as_slice());
    hash.as_bytes().ct_eq(&expected.to_ascii_lowercase()).into()
}

/// The SHA-1 digest of a password in upper-case hexadecimal.
pub fn sha1_of(password: &[u8]) -> String {
    hexadecimal(Sha1::digest(password).as_slice()).to_ascii_uppercase()
}

fn hexadecimal(bytes: &[u8]) -> String {
    use std::fmt::Write;
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    text
}
