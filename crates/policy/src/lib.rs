//! Who may do what: subjects, access rules, limits, and stored passwords. Pure decisions.
//!
//! Everything here is a function of its arguments: no storage, no sockets, no clock. The only
//! outside thing it touches is the system's random source, for salts and generated passwords.
//!
//! - [`access`]: may this subject do that to this entry or attribute, and which rule says so;
//! - [`secrets`]: which attributes nobody but the administrator may learn anything of;
//! - [`subject`]: who asks;
//! - [`limits`]: how much one subject may ask for;
//! - [`password`]: verifying and making stored passwords;
//! - [`password_policy`]: when an account is locked and a password expires;
//! - [`verified`]: remembering in memory that a slow verification has succeeded.

pub mod access;
pub mod fuzz;
pub mod limits;
pub mod password;
pub mod password_policy;
pub mod secrets;
pub mod subject;
pub mod verified;

pub use access::{Access, Decision, Right, Sight, Target};
pub use limits::{LimitRule, LimitSettings, LimitSubject, Limits, TimeToLive, Whose};
pub use password::{
    Cost, HashError, Scheme, UnknownScheme, cost, generate_password, hash, is_hashed, verify,
};
pub use password_policy::{AccountState, Attempt, AttemptKind, Lock, PasswordPolicy, Standing};
pub use secrets::{Secrets, looks_secret};
pub use subject::{Authentication, Subject, SubjectKind};
pub use verified::{Tag, VerifiedCache};
