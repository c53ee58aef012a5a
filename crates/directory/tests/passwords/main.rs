//! Passwords that may not be stored or sent, and policies that nobody gets round.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[path = "../kit/mod.rs"]
mod kit;

mod account_state;
mod acting;
mod bounds;
mod exposed;
mod late;
mod names;
mod policies;
mod quality;
mod rehash;
mod times;
mod verifiers;

use kit::{Client, success};
use protocol::extended::PasswordModifyRequest;
use protocol::{ChangeOperation, ExtendedRequest, LdapResult, OwnedControl, Request, oid};

/// The person whose password it is.
pub const ADA: &str = "cn=ada,dc=example,dc=com";

/// A person with this password.
pub fn add_ada(admin: &mut Client, password: &str) {
    admin.add_person("ada");
    success(&set(admin, &[password]));
}

/// Replaces the passwords of the person.
pub fn set(client: &mut Client, passwords: &[&str]) -> LdapResult {
    client.modify(
        ADA,
        &[(ChangeOperation::Replace, "userPassword", passwords)],
    )
}

/// Password Modify (RFC 3062) of the person's password.
pub fn change(
    client: &mut Client,
    old: Option<&str>,
    new: Option<&str>,
    controls: &[OwnedControl],
) -> kit::Answer {
    let mut value = Vec::new();
    let request = PasswordModifyRequest {
        user_identity: Some(ADA),
        old_password: old.map(str::as_bytes),
        new_password: new.map(str::as_bytes),
    };
    request.encode(&mut value);
    extended(client, oid::PASSWORD_MODIFY, Some(&value), controls)
}

/// An extended operation.
pub fn extended(
    client: &mut Client,
    name: &str,
    value: Option<&[u8]>,
    controls: &[OwnedControl],
) -> kit::Answer {
    client.call(
        &Request::Extended(ExtendedRequest { name, value }),
        controls,
    )
}
