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
    refuse_work(stored.memory, stored.passes)
}

fn refuse_work(memory_kib: u32, passes: u32) -> Result<(), Excess> {
    let work = u64::from(memory_kib) * u64::from(passes);
    let memory = memory_kib.into();
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

/// The work of Argon2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effort {
    memory_kib: u32,
    passes: u32,
    lanes: u32,
}

/// Lanes of new values at most. Each is as much work as one, in a part of the memory.
const LANES_MAX: u32 = 16;

impl Effort {
    /// 12 MiB, three passes, one lane: of the settings that OWASP's password storage cheat sheet
    /// calls equally strong, one that suits a small server.
    pub const USUAL: Effort = Effort {
        memory_kib: 12 * 1024,
        passes: 3,
        lanes: 1,
    };

    /// The work of a stored value of Argon2id in its present version; `None` for any other.
    pub fn of_argon2id(stored: &[u8]) -> Option<Effort> {
        let stored = std::str::from_utf8(stored).ok().and_then(Stored::parse)?;
        let is_present =
            stored.algorithm == Algorithm::Argon2id && stored.version == Version::V0x13;
        is_present.then_some(Effort {
            memory_kib: stored.memory,
            passes: stored.passes,
            lanes: stored.lanes,
        })
    }

    /// Sets a number by its letter in stored values; `false` if there is none.
    pub fn set(&mut self, name: &str, value: u32) -> bool {
        match name {
            "m" => self.memory_kib = value,
            "t" => self.passes = value,
            "p" => self.lanes = value,
            _ => return false,
        }
        true
    }

    /// Refuses numbers with which no value can be made or verified.
    pub fn refuse_excess(self) -> Result<(), String> {
        let Effort {
            memory_kib,
            passes,
            lanes,
        } = self;
        if passes == 0 || !(1..=LANES_MAX).contains(&lanes) || memory_kib < 8 * lanes {
            return Err(format!(
                "expected m from 8 times p, t from 1 and p from 1 to {LANES_MAX}, got {self}"
            ));
        }
        refuse_work(memory_kib, passes).map_err(|it| it.to_string())
    }

    /// Whether this is less work or memory than wanted.
    pub fn is_less(self, wanted: Effort) -> bool {
        let work = |it: Effort| u64::from(it.memory_kib) * u64::from(it.passes);
        self.memory_kib < wanted.memory_kib || work(self) < work(wanted)
    }
}

impl std::fmt::Display for Effort {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Effort {
            memory_kib,
            passes,
            lanes,
        } = self;
        write!(f, "m={memory_kib},t={passes},p={lanes}")
    }
}

/// Hashes with Argon2id.
pub fn hash(effort: Effort, salt: &[u8], given: &[u8]) -> Option<String> {
    let params = Params::new(effort.memory_kib, effort.passes, effort.lanes, Some(32)).ok()?;
    let mut derived = [0; 32];
    Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
        .hash_password_into(given, salt, &mut derived)
        .ok()?;
    let unpadded = |bytes: &[u8]| base64::encode(bytes).replace('=', "");
    let (salt, hash) = (unpadded(salt), unpadded(&derived));
    Some(format!("$argon2id$v=19${effort}${salt}${hash}"))
}
