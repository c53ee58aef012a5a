//! What the standards say, one test a clause, against any LDAP server.
//!
//! `PANDO_TEST_SUBJECT` picks the server (`pando`, `openldap`); only the network is used, so a
//! disagreement between two servers shows which of them, or which test, misreads the text. Tests
//! are named after the section.

mod rfc4511_bind;
mod rfc4511_envelope;
mod rfc4511_search;
mod rfc4511_updates;
mod rfc4512;
mod rfc4514;
mod rfc4515;
mod rfc4517;
mod small;

use kit::{Client, Subject};
use protocol::{OwnedControl, Scope};

const ADA: &str = "uid=ada,ou=People,dc=example,dc=com";
const GRACE: &str = "uid=grace,ou=People,dc=example,dc=com";
const EDSGER: &str = "uid=edsger,ou=People,dc=example,dc=com";
const PEOPLE: &str = "ou=People,dc=example,dc=com";

/// A subject with the sample people, and a connection bound as its administrator.
fn with_people() -> (Subject, Client) {
    let subject = Subject::with_people();
    let admin = subject.admin();
    (subject, admin)
}

/// The uids of the people a filter selects, sorted.
fn uids(client: &mut Client, filter: &str) -> Vec<String> {
    let found = client.search(kit::SUFFIX, Scope::WholeSubtree, filter, &["uid"]);
    found.outcome.clone().expect_success();
    let mut uids: Vec<String> = found
        .entries
        .iter()
        .flat_map(|entry| entry.texts("uid"))
        .collect();
    uids.sort();
    uids
}

fn control(oid: &'static str, critical: bool, value: Option<&[u8]>) -> OwnedControl {
    OwnedControl {
        oid: oid.into(),
        critical,
        value: value.map(<[u8]>::to_vec),
    }
}
