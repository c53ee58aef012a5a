//! Bounds on the passwords of an entry, and attributes in names that may not be passwords.

use crate::stop::Stop;
use protocol::ResultCode;
use schema::{ResolvedRdn, TypeId};
use std::hash::{DefaultHasher, Hash, Hasher};

/// Maximum number of values of `userPassword` in one entry, values with options included, and of
/// new values in one request. A bind may verify each value.
pub const VALUES_MAX: usize = 8;

/// Refuses a password in a name: every client may read names, and their values are stored as
/// spelled, neither checked nor hashed.
pub fn refuse_in_name(rdn: &ResolvedRdn, password_type: TypeId) -> Result<(), Stop> {
    let mut types = rdn.values.iter().map(|(it, _)| it.type_id);
    match types.any(|it| it == password_type) {
        false => Ok(()),
        true => Stop::refuse(
            ResultCode::NAMING_VIOLATION,
            "userPassword: expected another attribute in a name, which everybody may read",
        ),
    }
}

/// Returns a number by which a stored password is told from others. It means something within one
/// process only.
pub fn digest_of(stored: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    stored.hash(&mut hasher);
    hasher.finish()
}

/// Returns a number by which the stored passwords of an entry, in any order, are told from others;
/// from the digests of all of them.
pub fn sum_of(digests: &[u64]) -> u64 {
    digests.iter().copied().fold(0, u64::wrapping_add)
}

/// Refuses more than [`VALUES_MAX`] values.
pub fn refuse_many(count: usize) -> Result<(), Stop> {
    if count <= VALUES_MAX {
        return Ok(());
    }
    Stop::refuse(
        ResultCode::CONSTRAINT_VIOLATION,
        format!("userPassword: expected at most {VALUES_MAX} values, got {count}"),
    )
}
