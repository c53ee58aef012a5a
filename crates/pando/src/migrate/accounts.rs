//! Carries the password state of accounts over from 389 Directory Server and OpenDJ, which keep it
//! in attributes of their own.
//!
//! An attribute is translated only if the old server calls it operational: elsewhere an attribute
//! of its name has no effect. A lock that cannot be read locks for good, and an attribute without a
//! counterpart is counted and named.

use super::entry::Entry;
use crate::report::note;
use protocol::counted;
use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

const LOCKED: &str = "pwdAccountLockedTime";
const HISTORY: &str = "pwdHistory";
const POLICY: &str = "pwdPolicySubentry";
/// Value of `pwdAccountLockedTime` for a lock that only an administrator ends.
const FOR_GOOD: &[u8] = b"000001010000Z";
/// Time by which 389 Directory Server means "never", for locks, and "at once", for passwords.
const NO_TIME: &[u8] = b"19700101000000Z";
/// Syntax that `pwdHistory` names: octet strings.
const OCTETS: &[u8] = b"1.3.6.1.4.1.1466.115.121.1.40";
/// Length of a time in `passwordHistory`, from year to second with a `Z`.
const TIME_LENGTH: usize = 15;
/// Lower-case name of an attribute that only descendants of Netscape Directory Server have.
const NETSCAPE_MARK: &str = "passwordexpirationtime";

/// How the node keeps an attribute of the old server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// Any value but FALSE locks the account.
    Switch,
    /// The time at which a lock ends.
    Unlock,
    /// The time at which the password expires; a mark of passwords that were reset.
    Expiry,
    /// Another attribute with these values is written.
    Renamed(&'static str),
    /// Former passwords.
    Former,
    /// The node has no counterpart.
    Left,
}

/// An attribute of the old server's password state.
struct Source {
    name: &'static str,
    way: Way,
    /// Its fate, for the report.
    fate: &'static str,
}

const fn source(name: &'static str, way: Way, fate: &'static str) -> Source {
    Source { name, way, fate }
}

const SOURCES: [Source; 22] = [
    source(
        "nsAccountLock",
        Way::Switch,
        "carried as pwdAccountLockedTime 000001010000Z",
    ),
    source(
        "ds-pwp-account-disabled",
        Way::Switch,
        "carried as pwdAccountLockedTime 000001010000Z",
    ),
    source(
        "accountUnlockTime",
        Way::Unlock,
        "approximated: the account is locked until then by pwdStartTime, or for good by \
         pwdAccountLockedTime 000001010000Z; a new password does not end pwdStartTime",
    ),
    source(
        "ds-pwp-account-expiration-time",
        Way::Renamed("pwdEndTime"),
        "carried as pwdEndTime",
    ),
    source(
        "passwordExpirationTime",
        Way::Expiry,
        "approximated: a password that must be changed gets pwdReset, which asks for pwdMustChange \
         in the policy; other times are left, since passwords expire pwdMaxAge after \
         pwdChangedTime here: without pwdChangedTime they do not expire until they are changed",
    ),
    source(
        "pwdUpdateTime",
        Way::Renamed("pwdChangedTime"),
        "carried as pwdChangedTime",
    ),
    source("passwordHistory", Way::Former, "carried as pwdHistory"),
    source(HISTORY, Way::Former, "carried in the form of the draft"),
    source(
        "passwordRetryCount",
        Way::Left,
        "impossible: the times of the failures are not known; counting begins at 0",
    ),
    source(
        "retryCountResetTime",
        Way::Left,
        "impossible: counting of failures begins at 0",
    ),
    source(
        "passwordAllowChangeTime",
        Way::Left,
        "impossible: pwdMinAge counts from pwdChangedTime",
    ),
    source(
        "passwordGraceUserTime",
        Way::Left,
        "impossible: the times of the grace binds are not known; counting begins at 0",
    ),
    source(
        "passwordExpWarned",
        Way::Left,
        "not needed: each bind in the time of pwdExpireWarning warns",
    ),
    source(
        "ds-pwp-warned-time",
        Way::Left,
        "not needed: each bind in the time of pwdExpireWarning warns",
    ),
    source(
        POLICY,
        Way::Left,
        "impossible: the entry that it names is no policy here, and would leave the account \
         without any; the default policy holds until you set pwdPolicySubentry",
    ),
    source(
        "ds-pwp-password-policy-dn",
        Way::Left,
        "impossible: the entry that it names may be no policy here, and would leave the account \
         without any; the default policy holds until you set pwdPolicySubentry",
    ),
    source(
        "ds-pwp-password-expiration-time",
        Way::Left,
        "not needed: it is computed of pwdChangedTime and pwdMaxAge",
    ),
    source(
        "ds-pwp-password-changed-by-required-time",
        Way::Left,
        "impossible: set pwdReset where the password must be changed",
    ),
    source(
        "ds-pwp-reset-time",
        Way::Left,
        "impossible: a password that was reset is valid for pwdMaxAge",
    ),
    source(
        "ds-pwp-last-login-time",
        Way::Left,
        "impossible: its form is a setting of the old server; pwdMaxIdle counts from the next \
         bind, or from pwdChangedTime",
    ),
    source(
        "pwdTPRReset",
        Way::Left,
        "impossible: temporary passwords have no limits of their own here; set a new one",
    ),
    source(
        "pwdTPRExpireAt",
        Way::Left,
        "impossible: temporary passwords have no limits of their own here; set a new one",
    ),
];

/// Number of entries by attribute; shared by copies.
#[derive(Debug, Clone, Default)]
pub struct Tally(Arc<Mutex<BTreeMap<&'static str, u64>>>);

impl Tally {
    fn add(&self, name: &'static str) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *counts.entry(name).or_default() += 1;
    }

    fn counts(&self) -> BTreeMap<&'static str, u64> {
        let counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        counts.clone()
    }

    /// Prints the fate of each attribute that came, with the number of entries that had it.
    pub fn say(&self) {
        let counts = self.counts();
        for it in &SOURCES {
            if let Some(count) = counts.get(it.name) {
                let entries = counted(*count, "entry");
                note(format_args!(
                    "password state: {}, {entries}: {}",
                    it.name, it.fate
                ));
            }
        }
    }

    /// Whether an account came with a lock that holds only under a password policy.
    pub fn has_locks(&self) -> bool {
        let counts = self.counts();
        let ways = [Way::Switch, Way::Unlock, Way::Renamed("pwdEndTime")];
        SOURCES
            .iter()
            .any(|it| ways.contains(&it.way) && counts.contains_key(it.name))
    }
}

/// Whether an entry may have state to translate: it has an attribute of such a name.
pub fn concerns<'n>(names: impl IntoIterator<Item = &'n str>) -> bool {
    names.into_iter().any(|it| source_of(it).is_some())
}

/// The entry with the state that the node understands instead of the old server's. `operational`
/// has the lower-case names of the old server's operational attributes.
pub fn carry(entry: &Entry, operational: &HashSet<String>, tally: &Tally) -> Entry {
    let mut kept = Vec::with_capacity(entry.attributes.len());
    let mut state: BTreeMap<&'static str, Vec<Vec<u8>>> = BTreeMap::new();
    for (name, values) in &entry.attributes {
        let source = source_of(name).filter(|it| has_effect(it, operational));
        let Some(source) = source.filter(|_| !values.is_empty()) else {
            kept.push((name.clone(), values.clone()));
            continue;
        };
        let carried = match source.way {
            Way::Switch => match values.iter().all(|it| it.eq_ignore_ascii_case(b"FALSE")) {
                true => continue,
                false => Some((LOCKED, vec![FOR_GOOD.to_vec()])),
            },
            Way::Unlock if values.iter().any(|it| it == NO_TIME) => {
                Some((LOCKED, vec![FOR_GOOD.to_vec()]))
            }
            Way::Unlock => Some(("pwdStartTime", values.clone())),
            Way::Expiry if values.iter().any(|it| it == NO_TIME) => {
                Some(("pwdReset", vec![b"TRUE".to_vec()]))
            }
            Way::Renamed(target) => Some((target, values.clone())),
            Way::Former => {
                let former: Vec<Vec<u8>> = values.iter().map(|it| former(it)).collect();
                if name.eq_ignore_ascii_case(HISTORY) && former == *values {
                    kept.push((name.clone(), former));
                    continue;
                }
                Some((HISTORY, former))
            }
            Way::Expiry | Way::Left => None,
        };
        tally.add(source.name);
        state.extend(carried);
    }
    // A lock for good comes before one that failures made.
    kept.retain(|(name, _)| !state.keys().any(|it| it.eq_ignore_ascii_case(name)));
    kept.extend(state.into_iter().map(|(name, it)| (name.to_owned(), it)));
    Entry {
        dn: entry.dn.clone(),
        attributes: kept,
    }
}

fn source_of(name: &str) -> Option<&'static Source> {
    SOURCES.iter().find(|it| it.name.eq_ignore_ascii_case(name))
}

/// Whether the attribute has the meaning of [`SOURCES`] on the old server. OpenLDAP has a
/// `pwdPolicySubentry`, too, whose entries are policies here.
fn has_effect(source: &Source, operational: &HashSet<String>) -> bool {
    operational.contains(&source.name.to_lowercase())
        && (source.name != POLICY || operational.contains(NETSCAPE_MARK))
}

/// A former password as time, syntax, length and data, separated by `#` (draft-behera §5.3.5). 389
/// Directory Server has time and data without anything between them, OpenDJ leaves out the length.
fn former(value: &[u8]) -> Vec<u8> {
    let fields: Vec<&[u8]> = value.splitn(3, |it| *it == b'#').collect();
    let is_oid = |it: &[u8]| it.iter().all(|it| it.is_ascii_digit() || *it == b'.');
    let form = |time: &[u8], syntax: &[u8], data: &[u8]| {
        let length = data.len().to_string();
        [time, syntax, length.as_bytes(), data].join(&b'#')
    };
    match fields.as_slice() {
        [_, syntax, rest] if is_oid(syntax) => {
            let length = rest.split(|it| *it == b'#').next().unwrap_or_default();
            let has_length = length.len() < rest.len() && length.iter().all(u8::is_ascii_digit);
            match has_length {
                true => value.to_vec(),
                false => form(fields[0], syntax, rest),
            }
        }
        _ => match value.split_at_checked(TIME_LENGTH) {
            Some((time, data)) if time.ends_with(b"Z") => form(time, OCTETS, data),
            _ => value.to_vec(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::ldif::{LdifReader, LdifRecord};

    /// The entry of an LDIF record as a search returns it.
    fn entry(ldif: &str) -> Entry {
        let mut reader = LdifReader::new(ldif.as_bytes());
        let record = reader.next_record().expect("a record").expect("correct");
        let LdifRecord::Entry { dn, attributes } = record else {
            panic!("expected an entry: {ldif}");
        };
        let mut found = Entry {
            dn: dn.to_owned(),
            attributes: Vec::new(),
        };
        for (name, value) in &attributes {
            let known = found.attributes.iter_mut().find(|it| it.0 == *name);
            match known {
                Some((_, values)) => values.push(value.to_vec()),
                None => found
                    .attributes
                    .push(((*name).to_owned(), vec![value.to_vec()])),
            }
        }
        found
    }

    /// Attributes after the translation, as lines of LDIF, and the names counted.
    fn carried(ldif: &str, operational: &[&str]) -> (Vec<String>, Vec<&'static str>) {
        let operational = operational.iter().map(|it| it.to_lowercase()).collect();
        let tally = Tally::default();
        let carried = carry(&entry(ldif), &operational, &tally);
        let mut lines = Vec::new();
        for (name, values) in &carried.attributes {
            for value in values {
                lines.push(format!("{name}: {}", String::from_utf8_lossy(value)));
            }
        }
        (lines, tally.counts().into_keys().collect())
    }

    fn of_389(lines: &str) -> Vec<String> {
        let names: Vec<&str> = SOURCES.iter().map(|it| it.name).collect();
        carried(&format!("dn: uid=ada,dc=x\n{lines}"), &names).0
    }

    /// OpenDJ has no attribute of Netscape Directory Server.
    fn of_opendj(lines: &str) -> Vec<String> {
        let names = SOURCES.iter().map(|it| it.name);
        let names: Vec<&str> = names
            .filter(|it| it.starts_with("ds-") || it.starts_with("pwd"))
            .collect();
        carried(&format!("dn: uid=ada,dc=x\n{lines}"), &names).0
    }

    #[test]
    fn locks_of_389_are_locks_here() {
        let good = "pwdAccountLockedTime: 000001010000Z";
        for (given, expected) in [
            ("nsAccountLock: true\n", &[good][..]),
            ("nsaccountlock: TRUE\n", &[good]),
            ("nsAccountLock: yes\n", &[good]),
            ("nsAccountLock: False\n", &[]),
            ("accountUnlockTime: 19700101000000Z\n", &[good]),
            (
                "accountUnlockTime: 20300101000000Z\n",
                &["pwdStartTime: 20300101000000Z"],
            ),
            (
                "passwordExpirationTime: 19700101000000Z\n",
                &["pwdReset: TRUE"],
            ),
            ("passwordExpirationTime: 20300101000000Z\n", &[]),
            (
                "pwdUpdateTime: 20250101000000Z\n",
                &["pwdChangedTime: 20250101000000Z"],
            ),
            (
                "passwordRetryCount: 2\npwdpolicysubentry: cn=x\nsn: a\n",
                &["sn: a"],
            ),
        ] {
            assert_eq!(of_389(given), expected, "{given}");
        }
    }

    #[test]
    fn the_stronger_lock_of_opendj_stays() {
        let both = "ds-pwp-account-disabled: true\npwdAccountLockedTime: 20250101000000.000Z\n";
        for order in [
            both.to_owned(),
            both.lines().rev().collect::<Vec<_>>().join("\n"),
        ] {
            let lines = of_opendj(&order);
            assert_eq!(lines, ["pwdAccountLockedTime: 000001010000Z"], "{order}");
        }
        assert_eq!(
            of_opendj(
                "ds-pwp-account-disabled: false\npwdAccountLockedTime: 20250101000000.000Z\n\
                 ds-pwp-account-expiration-time: 20310101000000Z\n\
                 ds-pwp-password-policy-dn: cn=x,cn=Password Policies,cn=config\n\
                 pwdPolicySubentry: cn=y,dc=x\n"
            ),
            [
                "pwdAccountLockedTime: 20250101000000.000Z",
                "pwdPolicySubentry: cn=y,dc=x",
                "pwdEndTime: 20310101000000Z"
            ]
        );
    }

    #[test]
    fn former_passwords_get_the_form_of_the_draft() {
        let syntax = "1.3.6.1.4.1.1466.115.121.1.40";
        let whole = format!("20250101000000Z#{syntax}#8#{{SHA}}a#b");
        for (given, expected) in [
            ("20250101000000Z{SHA}a#b".to_owned(), &whole),
            (format!("20250101000000Z#{syntax}#{{SHA}}a#b"), &whole),
            (whole.clone(), &whole),
            ("short".to_owned(), &"short".to_owned()),
        ] {
            assert_eq!(former(given.as_bytes()), expected.as_bytes(), "{given}");
        }
        let line = of_389("passwordHistory: 20250101000000Z{SHA}a#b\n");
        assert_eq!(line, [format!("pwdHistory: {whole}")]);
        // OpenLDAP's form is not counted as translated.
        let ldif = format!("dn: dc=x\npwdHistory: {whole}\n");
        let (lines, counted) = carried(&ldif, &["pwdHistory"]);
        assert_eq!((lines.len(), counted.len()), (1, 0));
    }

    #[test]
    fn attributes_without_effect_there_stay() {
        let ldif = "dn: dc=x\nnsAccountLock: true\npwdPolicySubentry: cn=y\n";
        let (lines, counted) = carried(ldif, &["pwdPolicySubentry"]);
        assert_eq!(lines, ["nsAccountLock: true", "pwdPolicySubentry: cn=y"]);
        assert!(counted.is_empty());
        let (_, counted) = carried(ldif, &["nsAccountLock"]);
        assert_eq!(counted, ["nsAccountLock"]);
    }
}
