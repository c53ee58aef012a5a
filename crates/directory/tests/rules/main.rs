//! Rules for values: which ones no two entries share, which numbers new entries get.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[path = "../kit/mod.rs"]
mod kit;

mod imports;
mod indexes;
mod numbers;
mod unique;

use kit::Client;
use protocol::ResultCode;

const BASE: &str = "dc=example,dc=com";

/// Adds a rule, or says how it was refused.
fn rule(client: &mut Client, name: &str, attributes: &[(&str, &[&str])]) -> Result<(), String> {
    let result = client.add(&format!("cn={name},cn=rules,cn=config"), attributes);
    match result.code {
        ResultCode::SUCCESS => Ok(()),
        ResultCode::CONSTRAINT_VIOLATION => Err(result.diagnostic),
        other => panic!("{other:?}: {}", result.diagnostic),
    }
}

/// Adds an organizational unit.
fn unit(client: &mut Client, name: &str) {
    let class: (&str, &[&str]) = ("objectClass", &["organizationalUnit"]);
    let result = client.add(&format!("ou={name},{BASE}"), &[class]);
    assert_eq!(result.code, ResultCode::SUCCESS, "{}", result.diagnostic);
}
