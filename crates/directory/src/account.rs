//! Accounts: password policies, checks and hashes of passwords, and connections bound to them.

pub(crate) mod authentication;
pub(crate) mod bind_state;
pub(crate) mod bound;
pub(crate) mod check;
pub(crate) mod exchange;
pub(crate) mod hashing;
pub(crate) mod must_change;
pub(crate) mod new_password;
pub(crate) mod passwords;
pub(crate) mod policed;
pub(crate) mod rehash;
mod stack;
pub(crate) mod subject_limits;
pub(crate) mod verdict;
