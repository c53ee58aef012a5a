//! Controls of writes: conditions, copies of the entry before and after.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[path = "../kit/mod.rs"]
mod kit;

mod assertion;
mod no_operation;
mod permissive;
mod proxy;
mod read_entry;
mod relaxed;
mod tree_delete;

use kit::{Answer, Client};
use protocol::control::{ReadEntryRequest, ReadEntryResponse};
use protocol::{OwnedControl, ResultCode, Scope, oid, parse_filter};

const BASE: &str = "dc=example,dc=com";
const ADA: &str = "cn=Ada,dc=example,dc=com";

/// An administrator's session in a directory with Ada, who has a password.
fn with_ada() -> Client {
    let mut client = Client::admin();
    let attributes: [(&str, &[&str]); 3] = [
        ("objectClass", &["person"]),
        ("sn", &["Lovelace"]),
        ("userPassword", &["ada"]),
    ];
    assert_eq!(client.add(ADA, &attributes).code, ResultCode::SUCCESS);
    client
}

fn assertion(filter: &str) -> OwnedControl {
    let value = parse_filter(filter).unwrap();
    OwnedControl::with_value(oid::ASSERTION, true, |out| out.extend(value))
}

fn read_entry(oid: &'static str, attributes: &[&str]) -> OwnedControl {
    let attributes = attributes.to_vec();
    OwnedControl::with_value(oid, true, |out| ReadEntryRequest { attributes }.encode(out))
}

/// The entry in a response control: its name, and its attributes with their values.
fn entry_in(answer: &Answer, oid: &str) -> (String, Vec<(String, Vec<String>)>) {
    let control = answer.controls.iter().find(|(it, _)| it == oid).unwrap();
    let value = control.1.as_deref().unwrap();
    let entry = ReadEntryResponse::decode(value).unwrap();
    let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
    let attributes = entry.attributes.iter().map(|it| {
        let values = it.values.into_iter().map(text).collect();
        (it.description.to_owned(), values)
    });
    (entry.name.to_owned(), attributes.collect())
}

/// The values of one attribute of Ada.
fn ada(client: &mut Client, attribute: &str) -> Vec<String> {
    let found = client.search(ADA, Scope::BaseObject, "(objectClass=*)", &[attribute]);
    let values = found.values(attribute).into_iter().map(str::to_owned);
    values.collect()
}
