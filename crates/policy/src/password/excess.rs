//! What a password or a stored value may ask for at most, so that one verification takes two
//! seconds of one processor and 256 MiB of memory at worst.

use std::fmt;

/// Octets of the longest password. Longer ones match nothing: some schemes take time that grows
/// with the square of the length.
pub const PASSWORD_OCTETS_MAX: usize = 1_024;
/// Octets of the longest stored value. The longest in use, 389's with a key of 256 octets, has 450.
pub(super) const STORED_OCTETS_MAX: usize = 2_048;
/// Rounds of PBKDF2 and SCRAM, counted for each block of the key; OWASP advises up to 1.4 million.
pub(super) const ROUNDS_MAX: u64 = 2_000_000;

/// A password or a stored value that asks for more than there is for one verification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Excess {
    what: &'static str,
    max: u64,
    got: u64,
}

impl fmt::Display for Excess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Excess { what, max, got } = self;
        write!(f, "expected at most {max} {what}, got {got}")
    }
}

impl std::error::Error for Excess {}

/// Refuses a number greater than the greatest allowed. `what` is counted, in the plural.
pub(super) fn at_most(what: &'static str, max: u64, got: u64) -> Result<(), Excess> {
    match got <= max {
        true => Ok(()),
        false => Err(Excess { what, max, got }),
    }
}
