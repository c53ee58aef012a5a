//! Authorization as pure decisions: subjects, access rules, limits, and stored passwords.
//!
//! Everything here is a function of its arguments: no storage, no sockets, no clock. The only
//! outside source is the system's random numbers, for salts and generated passwords; the only
//! shared state is the counters of limits.
//!
//! - [`access`]: the rights of a subject on an entry or attribute, and the rule that decides;
//! - [`shared`]: settings that all nodes of a cluster share;
//! - [`requirements`]: conditions on every request;
//! - [`secrets`]: the attributes that only the administrator may use in any way;
//! - [`subject`]: the identity that asks;
//! - [`guesses`]: limits on wrong passwords;
//! - [`network`]: networks of addresses;
//! - [`limit`]: all limits, with counters;
//! - [`limits`]: bounds on the requests of one subject;
//! - [`mapping`]: which entry an identity of another system stands for;
//! - [`password`]: verifying and making stored passwords;
//! - [`password_policy`]: locks of accounts and expiry of passwords;
//! - [`pressure`]: what is refused under overload;
//! - [`quality`]: rules for new passwords;
//! - [`rehash`]: passwords that are hashed anew after a bind;
//! - [`seats`]: sessions by the account that they are bound to;
//! - [`turns`]: a queue in which clients have turns;
//! - [`verified`]: a cache of successful slow verifications.

pub mod access;
pub mod fuzz;
pub mod guesses;
pub mod limit;
pub mod limits;
pub mod mapping;
pub mod network;
pub mod outside;
pub mod password;
pub mod password_policy;
pub mod pressure;
pub mod quality;
pub mod rehash;
pub mod requirements;
pub mod seats;
pub mod secrets;
pub mod shared;
pub mod subject;
pub mod turns;
pub mod verified;

pub use access::{Access, Decision, Right, Sight, Target};
pub use guesses::{Guesses, Trial};
pub use limit::Limit;
pub use limits::{
    LimitRule, LimitSettings, LimitSubject, Limits, SubjectLimits, TimeToLive, Whose,
};
pub use network::Network;
pub use password::{
    Cost, HashError, Hashing, Scheme, UnknownScheme, cost, generate_password, hash, is_hashed,
    verify,
};
pub use password_policy::{AccountState, Attempt, AttemptKind, Lock, PasswordPolicy, Standing};
pub use secrets::{Secrets, looks_secret};
pub use shared::{PasswordSettings, SharedSettings, Verifiers};
pub use subject::{Authentication, Subject, SubjectKind};
pub use verified::{Tag, VerifiedCache};
