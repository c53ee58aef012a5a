//! Debian's LDAP tools against a running server: every operation and its common failures.
//!
//! The exit status of a tool is the LDAP result code, so each test reads like RFC 4511 appendix A.

mod bearer;
mod bulk_update;
mod certificates;
mod controls;
mod dynamic;
mod exchange;
mod extended;
mod groups;
mod names;
mod outside;
mod password_policy;
mod position;
mod reading;
mod rules;
mod sasl;
mod secrets;
mod transactions;
mod unindexed;
mod write_controls;
mod writing;

use kit::tools::{Answer, Tools};
use kit::{SUFFIX, Subject};

/// Result codes, as exit status.
mod code {
    pub const SUCCESS: i32 = 0;
    pub const SIZE_LIMIT_EXCEEDED: i32 = 4;
    pub const COMPARE_FALSE: i32 = 5;
    pub const COMPARE_TRUE: i32 = 6;
    pub const STRONGER_AUTH_REQUIRED: i32 = 8;
    pub const UNAVAILABLE_CRITICAL_EXTENSION: i32 = 12;
    pub const NO_SUCH_ATTRIBUTE: i32 = 16;
    pub const UNDEFINED_ATTRIBUTE_TYPE: i32 = 17;
    pub const CONSTRAINT_VIOLATION: i32 = 19;
    pub const ATTRIBUTE_OR_VALUE_EXISTS: i32 = 20;
    pub const INVALID_ATTRIBUTE_SYNTAX: i32 = 21;
    pub const NO_SUCH_OBJECT: i32 = 32;
    pub const INVALID_DN_SYNTAX: i32 = 34;
    pub const INVALID_CREDENTIALS: i32 = 49;
    pub const INSUFFICIENT_ACCESS_RIGHTS: i32 = 50;
    pub const PROTOCOL_ERROR: i32 = 2;
    pub const UNWILLING_TO_PERFORM: i32 = 53;
    pub const OBJECT_CLASS_VIOLATION: i32 = 65;
    pub const NOT_ALLOWED_ON_NON_LEAF: i32 = 66;
    pub const NOT_ALLOWED_ON_RDN: i32 = 67;
    pub const ENTRY_ALREADY_EXISTS: i32 = 68;
    pub const ASSERTION_FAILED: i32 = 122;
    pub const AUTHORIZATION_DENIED: i32 = 123;
}

const ADA: &str = "uid=ada,ou=People,dc=example,dc=com";
const GRACE: &str = "uid=grace,ou=People,dc=example,dc=com";
const EDSGER: &str = "uid=edsger,ou=People,dc=example,dc=com";

/// Runs `ldapsearch -b suffix filter` and returns the DNs found.
fn names(tools: &Tools, filter: &str) -> Vec<String> {
    let answer = tools
        .search(&["-b", SUFFIX, filter, "1.1"])
        .expect(code::SUCCESS);
    let mut names: Vec<String> = answer
        .entries()
        .into_iter()
        .map(|entry| entry.name)
        .collect();
    names.sort();
    names
}

/// Returns one entry as read by the administrator.
fn read(tools: &Tools, name: &str) -> kit::Entry {
    let answer: Answer = tools
        .search(&["-b", name, "-s", "base"])
        .expect(code::SUCCESS);
    answer.entries().remove(0)
}

#[test]
fn connections_that_fail_say_so() {
    let subject = Subject::from_env();
    let nobody = Tools::anonymous("ldap://127.0.0.1:1");
    let cannot_connect = 255;
    nobody
        .run("ldapwhoami", &[], "")
        .expect(cannot_connect)
        .says("Can't contact LDAP server");

    let url = subject.url();
    let wrong = Tools::bound(&url, kit::ADMIN, "wrong");
    wrong
        .run("ldapwhoami", &[], "")
        .expect(code::INVALID_CREDENTIALS);
    let unknown = Tools::bound(&url, "uid=nobody,dc=example,dc=com", "wrong");
    unknown
        .run("ldapwhoami", &[], "")
        .expect(code::INVALID_CREDENTIALS);
    let garbage = Tools::bound(&url, "this is no name", "wrong");
    garbage
        .run("ldapwhoami", &[], "")
        .expect(code::INVALID_DN_SYNTAX);
    // RFC 4513 §5.1.2: a name without a password proves nothing and must not look like success.
    let unauthenticated = Tools::bound(&url, kit::ADMIN, "");
    unauthenticated
        .run("ldapwhoami", &[], "")
        .expect(code::UNWILLING_TO_PERFORM);
}

#[test]
fn password_of_an_entry_opens_the_door() {
    let subject = Subject::with_people();
    let ada = Tools::bound(&subject.url(), ADA, "ada");
    ada.run("ldapwhoami", &[], "")
        .expect(code::SUCCESS)
        .says(&format!("dn:{ADA}"));
    let spelled_otherwise = "UID=Ada , OU=people,dc=EXAMPLE,dc=com";
    let ada = Tools::bound(&subject.url(), spelled_otherwise, "ada");
    ada.run("ldapwhoami", &[], "").expect(code::SUCCESS);
    let wrong = Tools::bound(&subject.url(), ADA, "Ada");
    wrong
        .run("ldapwhoami", &[], "")
        .expect(code::INVALID_CREDENTIALS);
    let without = Tools::bound(&subject.url(), EDSGER, "edsger");
    without
        .run("ldapwhoami", &[], "")
        .expect(code::INVALID_CREDENTIALS);
}
