//! A small sample tree for tests.

use crate::{Entry, SUFFIX};

/// Returns the base entry, as `pando init` makes it.
pub fn base() -> Entry {
    let attributes: &[(&str, &[&str])] =
        &[("objectClass", &["top", "domain"]), ("dc", &["example"])];
    Entry::of(SUFFIX, attributes)
}

/// Returns an organizational unit below the base.
pub fn unit(name: &str) -> Entry {
    Entry::of(
        &format!("ou={name},{SUFFIX}"),
        &[
            ("objectClass", &["top", "organizationalUnit"]),
            ("ou", &[name]),
        ],
    )
}

/// Returns a group below `ou=Groups`.
pub fn group(name: &str, members: &[&str]) -> Entry {
    Entry::of(
        &format!("cn={name},ou=Groups,{SUFFIX}"),
        &[
            ("objectClass", &["groupOfNames"]),
            ("cn", &[name]),
            ("member", members),
        ],
    )
}

/// Returns a person below `ou=People`.
pub fn person(uid: &str) -> Entry {
    let surname = uid.trim_end_matches(|c: char| c.is_ascii_digit());
    Entry::of(
        &format!("uid={uid},ou=People,{SUFFIX}"),
        &[
            (
                "objectClass",
                &["top", "person", "organizationalPerson", "inetOrgPerson"],
            ),
            ("uid", &[uid]),
            ("cn", &[uid]),
            ("sn", &[surname]),
            ("mail", &[&format!("{uid}@example.com")]),
        ],
    )
}

/// Returns `ou=People` with ada, grace and edsger; the passwords of ada and grace are their names,
/// edsger has none.
pub fn sample() -> Vec<Entry> {
    let mut ada = person("ada");
    ada.push("userPassword", b"ada".to_vec());
    ada.push("givenName", b"Ada".to_vec());
    ada.push("employeeNumber", b"1815".to_vec());
    ada.push("description", b"Wrote the first program".to_vec());
    let mut grace = person("grace");
    grace.push("userPassword", b"grace".to_vec());
    grace.push("givenName", b"Grace".to_vec());
    grace.push("employeeNumber", b"1906".to_vec());
    let mut edsger = person("edsger");
    edsger.push("givenName", b"Edsger".to_vec());
    edsger.push("employeeNumber", b"1930".to_vec());
    edsger.push("description", b"Goto considered".to_vec());
    edsger.push("description", b"The humble programmer".to_vec());
    vec![unit("People"), unit("Groups"), ada, grace, edsger]
}
