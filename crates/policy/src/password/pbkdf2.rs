//! PBKDF2 (RFC 8018) in the stored forms of several products:
//!
//! - `{PBKDF2}`, `{PBKDF2-SHA1}`, `{PBKDF2-SHA256}`, `{PBKDF2-SHA512}`: `rounds$salt$key`, adapted
//!   base64 (OpenLDAP's module, 389's newer plug-ins, passlib);
//! - `{PBKDF2_SHA256}`: base64 of rounds (4 octets), salt (64), key (256) (389's older plug-in);
//! - `{PKCS5S2}`: base64 of salt (16), key (32), SHA-1, 10,000 rounds (Atlassian).

use sha1::Sha1;
use sha2::{Sha256, Sha512};
use subtle::ConstantTimeEq;

use super::base64;
use super::decimal::decimal;
use super::excess::{Excess, ROUNDS_MAX, at_most};

/// The pseudorandom function of a key derivation, by its digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prf {
    /// SHA-1.
    Sha1,
    /// SHA-256.
    Sha256,
    /// SHA-512.
    Sha512,
}

impl Prf {
    /// Octets of the digest.
    pub fn octets(self) -> usize {
        match self {
            Prf::Sha1 => 20,
            Prf::Sha256 => 32,
            Prf::Sha512 => 64,
        }
    }
}

/// Octets of a key at most: the length of 389's keys.
const KEY_MAX: usize = 256;
const SALT_MAX: usize = 256;

/// Refuses rounds that take too long.
fn check_rounds(prf: Prf, rounds: u32, key_octets: usize) -> Result<(), Excess> {
    let blocks = key_octets.div_ceil(prf.octets()).max(1) as u64;
    let what = "rounds of PBKDF2 for all blocks of the key";
    at_most(what, ROUNDS_MAX, u64::from(rounds) * blocks)
}

/// Refuses a value `rounds$salt$key` whose verification would take too long. Damaged values pass.
pub fn check(prf: Prf, encoded: &[u8]) -> Result<(), Excess> {
    let mut parts = encoded.splitn(3, |it| *it == b'$');
    let rounds = parts.next().and_then(decimal);
    match rounds.zip(parts.nth(1)) {
        // Four characters encode three octets.
        Some((rounds, key)) => check_rounds(prf, rounds, key.len() / 4 * 3),
        None => Ok(()),
    }
}

/// Refuses a value in 389's binary form whose verification would take too long.
pub fn check_binary(encoded: &[u8]) -> Result<(), Excess> {
    let mut buffer = [0; 4 + 64 + KEY_MAX];
    let decoded = base64::decode(encoded, &mut buffer);
    match decoded.and_then(|it| it.split_first_chunk::<4>()) {
        Some((rounds, rest)) => {
            let key_octets = rest.len().saturating_sub(64);
            check_rounds(Prf::Sha256, u32::from_be_bytes(*rounds), key_octets)
        }
        None => Ok(()),
    }
}

/// The rounds of a value `rounds$salt$key`; `None` if it has another form.
pub fn rounds(encoded: &[u8]) -> Option<u32> {
    encoded.split(|it| *it == b'$').next().and_then(decimal)
}

/// Verifies `rounds$salt$key`.
pub fn verify(prf: Prf, encoded: &[u8], given: &[u8]) -> bool {
    let mut parts = encoded.splitn(3, |it| *it == b'$');
    let (Some(rounds), Some(salt), Some(key)) = (parts.next(), parts.next(), parts.next()) else {
        return false;
    };
    let Some(rounds) = decimal(rounds) else {
        return false;
    };
    let (mut salt_buffer, mut key_buffer) = ([0; SALT_MAX], [0; KEY_MAX]);
    let Some(salt) = base64::decode(salt, &mut salt_buffer) else {
        return false;
    };
    let Some(key) = base64::decode(key, &mut key_buffer) else {
        return false;
    };
    matches(prf, rounds, salt, key, given)
}

/// Verifies 389's binary form.
pub fn verify_binary(encoded: &[u8], given: &[u8]) -> bool {
    let mut buffer = [0; 4 + 64 + KEY_MAX];
    let Some(decoded) = base64::decode(encoded, &mut buffer) else {
        return false;
    };
    let Some((rounds, rest)) = decoded.split_first_chunk::<4>() else {
        return false;
    };
    let Some((salt, key)) = rest.split_at_checked(64) else {
        return false;
    };
    matches(Prf::Sha256, u32::from_be_bytes(*rounds), salt, key, given)
}

/// Verifies Atlassian's form.
pub fn verify_pkcs5s2(encoded: &[u8], given: &[u8]) -> bool {
    let mut buffer = [0; 48];
    match base64::decode(encoded, &mut buffer).and_then(|it| it.split_at_checked(16)) {
        Some((salt, key)) if key.len() == 32 => matches(Prf::Sha1, 10_000, salt, key, given),
        _ => false,
    }
}

fn matches(prf: Prf, rounds: u32, salt: &[u8], key: &[u8], given: &[u8]) -> bool {
    // An empty key would match every password.
    if rounds == 0 || check_rounds(prf, rounds, key.len()).is_err() || key.len() < 10 {
        return false;
    }
    let mut derived = [0; KEY_MAX];
    let derived = &mut derived[..key.len()];
    derive(prf, rounds, salt, given, derived);
    derived.ct_eq(key).into()
}

pub fn derive(prf: Prf, rounds: u32, salt: &[u8], given: &[u8], key: &mut [u8]) {
    match prf {
        Prf::Sha1 => pbkdf2::pbkdf2_hmac::<Sha1>(given, salt, rounds, key),
        Prf::Sha256 => pbkdf2::pbkdf2_hmac::<Sha256>(given, salt, rounds, key),
        Prf::Sha512 => pbkdf2::pbkdf2_hmac::<Sha512>(given, salt, rounds, key),
    }
}

/// Returns `rounds$salt$key` with a key as long as the digest.
pub fn hash(prf: Prf, rounds: u32, salt: &[u8], given: &[u8]) -> String {
    let mut key = [0; 64];
    let key = &mut key[..prf.octets()];
    derive(prf, rounds, salt, given, key);
    let (salt, key) = (base64::encode_adapted(salt), base64::encode_adapted(key));
    format!("{rounds}${salt}${key}")
}
