//! The test kit: it starts Pando or slapd on files of their own, speaks LDAP to them, runs Debian's
//! client tools, and waits for conditions instead of sleeping.
//!
//! Of the workspace it uses only `protocol`, so that tests see the program from outside.

pub mod authority;
pub mod client;
pub mod disk;
pub mod enough;
pub mod etcd;
pub mod folder;
pub mod following;
pub mod issuer;
pub mod ldif;
pub mod pando;
pub mod people;
pub mod process;
pub mod program;
pub mod random;
pub mod replica;
pub mod router;
pub mod secure;
pub mod slapd;
pub mod sssd;
pub mod subject;
pub mod tools;

pub use authority::Authority;
pub use client::{Client, Entry, Found, Outcome};
pub use disk::{CopyOnWrite, Disk};
pub use enough::EnoughAtEnd;
pub use folder::Folder;
pub use pando::Pando;
pub use random::Random;
pub use replica::Replica;
pub use secure::Secure;
pub use slapd::Slapd;
pub use sssd::Sssd;
pub use subject::Subject;

use std::time::Duration;

/// Time after which a test gives up waiting. Generous: a loaded machine is slow.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Naming context of every server that the kit starts.
pub const SUFFIX: &str = "dc=example,dc=com";
/// DN of the administrator of these servers.
pub const ADMIN: &str = "cn=admin,dc=example,dc=com";
/// The administrator's password.
pub const PASSWORD: &str = "secret of the tests";
