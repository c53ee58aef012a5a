//! {ARGON2}, {ARGON2I}, {ARGON2ID}: the PHC string of Argon2d, Argon2i and Argon2id (RFC 9106).

use argon2::{Algorithm, Argon2, Params, Version};
use subtle::ConstantTimeEq;

use super::base64;
use super::decimal::decimal;
use super::excess::{Excess, at_most};

/// Memory of a verification in KiB at most, 256 MiB for each hashing thread: four times the advice
/// of RFC 9106 for machines short of memory, and the "moderate" setting of libsodium.
const MEMORY_KIB_MAX: u64 = 1 << 18;
/// Memory in KiB times passes at most, 1 GiB: about a second of work.
const WORK_KIB_MAX: u64 = 1 << 20;

/// Refuses a value whose verification would take too much memory or time. Damaged values take none.
pub fn check(stored: &[u8]) -> Result<(), Excess> {
    let Some(stored) = std::str::from_utf8(stored).ok().and_then(Stored::parse) else {
        return Ok(());
    };
    let work = u64::from(stored.memory) * u64::from(stored.passes);
    let memory = stored.memory.into();
    at_most("KiB of memory for Argon2", MEMORY_KIB_MAX, memory)?;
    at_most("KiB of memory times passes for Argon2", WORK_KIB_MAX, work)
}

/// Verifies `$argon2id$v=19$m=19456,t=2,p=1$salt$hash`.
pub fn verify(stored: &[u8], given: &[u8]) -> bool {
    let Some(stored) = std::str::from_utf8(stored).ok().and_then(Stored::parse) else {
        return false;
    };
    let (mut salt_buffer, mut hash_buffer) = ([0; 128], [0; 128]);
    let Some(salt) = base64::decode(stored.salt, &mut salt_buffer) else {
        return false;
    };
    let Some(expected) = base64::decode(stored.hash, &mut hash_buffer) else {
        return false;
    };
    let mut derived = [0; 128];
    let Some(derived) = derived.get_mut(..expected.len()) else {
        return false;
    };
    let Ok(params) = Params::new(
        stored.memory,
        stored.passes,
        stored.lanes,
        Some(expected.len()),
    ) else {
        return false;
    };
    Argon2::new(stored.algorithm, stored.version, params)
        .hash_password_into(given, salt, derived)
        .is_ok_and(|()| derived.ct_eq(expected).into())
}

struct Stored<'a> {
    algorithm: Algorithm,
    version: Version,
    memory: u32,
    passes: u32,
    lanes: u32,
    salt: &'a [u8],
    hash: &'a [u8],
}

impl<'a> Stored<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        let mut parts = text.strip_prefix('$')?.split('$').peekable();
        let algorithm = match parts.next()? {
            "argon2d" => Algorithm::Argon2d,
            "argon2i" => Algorithm::Argon2i,
            "argon2id" => Algorithm::Argon2id,
            _ => return None,
        };
        // A value without a version is of the older one.
        let version = match parts.next_if(|it| it.starts_with("v=")) {
            None | Some("v=16") => Version::V0x10,
            Some("v=19") => Version::V0x13,
            Some(_) => return None,
        };
        let (mut memory, mut passes, mut lanes) = (None, None, None);
        for parameter in parts.next()?.split(',') {
            let (name, number) = parameter.split_once('=')?;
            let number = decimal(number.as_bytes())?;
            match name {
                "m" => memory = Some(number),
                "t" => passes = Some(number),
                "p" => lanes = Some(number),
                _ => return None,
            }
        }
        let stored = Stored {
            algorithm,
            version,
            memory: memory?,
            passes: passes?,
            lanes: lanes?,
            salt: parts.next()?.as_bytes(),
            hash: parts.next()?.as_bytes(),
        };
        parts.next().is_none().then_some(stored)
    }
}

/// Hashes with Argon2id, 12 MiB, three passes, one lane: of the settings that OWASP's password
/// storage cheat sheet calls equally strong, one that suits a small server.
pub fn hash(salt: &[u8], given: &[u8]) -> Option<String> {
    let params = Params::new(12 * 1024, 3, 1, Some(32)).ok()?;
    let mut derived = [0; 32];
    Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
        .hash_password_into(given, salt, &mut derived)
        .ok()?;
    let unpadded = |bytes: &[u8]| base64::encode(bytes).replace('=', "");
    let (salt, hash) = (unpadded(salt), unpadded(&derived));
    Some(format!("$argon2id$v=19$m=12288,t=3,p=1${salt}${hash}"))
}
