//! Questions of a request that a view of the directory answers, besides its entries: what controls
//! return with an entry, which entry an identity stands for, whether a new password is good and a
//! definition where it is read, and how a request reads in a log.
//!
//! Invariants:
//! - nothing here is executed: an answer may depend on what the subject sees, on the time and on
//!   settings, which are arguments;
//! - an answer says no more than a view of its subject does.

pub mod access_question;
pub mod dereference;
pub mod effective_rights;
pub mod former;
pub mod identity;
pub mod placed;
pub mod quality;
pub mod request_words;
pub mod sort_key;
pub mod usability;
