//! Bounds on passwords and stored values, so that one verification takes at most two seconds of one
//! processor and 256 MiB of memory.

use std::fmt;

/// Octets of a password at most. Longer ones match nothing: some schemes take time that grows with
/// the square of the length.
pub const PASSWORD_OCTETS_MAX: usize = 1_024;
/// Octets of a stored value at most. The longest in use, 389's with a key of 256 octets, has 450.
pub(super) const STORED_OCTETS_MAX: usize = 2_048;
/// Rounds of PBKDF2 and SCRAM at most, summed over the blocks of the key; OWASP advises up to 1.4
/// million.
pub(super) const ROUNDS_MAX: u64 = 2_000_000;

/// The error of a password or a stored value that exceeds a bound.
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

/// Refuses a number greater than `max`. `what` names the counted objects in the plural.
pub(super) fn at_most(what: &'static str, max: u64, got: u64) -> Result<(), Excess> {
    match got <= max {
        true => Ok(()),
        false => Err(Excess { what, max, got }),
    }
}
