//! Settings that all nodes of a cluster share, as texts `name = value`.
//!
//! A node alone reads them from its file; a cluster keeps them in the directory, as values of
//! `pandoSetting`, with the names of the file. A setting that is not among the texts has its
//! default.

mod fields;
mod verifiers;

use crate::limits::{LimitSettings, LimitSubject, Limits, TimeToLive};
use crate::password::{Prf, Scheme};
use fields::{LIMITS, TIMES_TO_LIVE, whole_number};
use std::collections::BTreeMap;
use std::fmt::Display;

pub use verifiers::Verifiers;

/// Treatment of passwords, new ones and wrong ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PasswordSettings {
    /// Scheme under which clear-text passwords are stored.
    pub scheme: Scheme,
    /// Keys of SCRAM that are stored beside the value of `scheme`.
    pub verifiers: Verifiers,
    /// Whether a repeated wrong password counts every time instead of once.
    pub count_repeated: bool,
    /// Whether binds and compares reveal that an account is locked.
    pub tell_locked: bool,
    /// Whether a password that is stored with another scheme, or at less cost, is hashed anew after
    /// a bind, unless the account's policy says otherwise.
    pub rehash_on_bind: bool,
    /// Whether passwords hashed by the DES of traditional crypt(3) are verified.
    pub allow_des: bool,
}

impl PasswordSettings {
    /// Returns the digests of SCRAM for which new passwords get keys.
    pub fn scram(&self) -> [Option<Prf>; 2] {
        let beside = self.verifiers.scheme().and_then(Scheme::scram);
        [self.scheme.scram(), beside]
    }
}

/// Settings that shape what becomes of a request, and therefore are equal on all nodes of a
/// cluster.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SharedSettings {
    /// Treatment of passwords.
    pub passwords: PasswordSettings,
    /// Limits of each kind of subject, and times to live. Without rules: these are `limit_rules`.
    pub limits: LimitSettings,
    /// Limits of single subjects and groups, in the order in which they are asked.
    pub limit_rules: Vec<(LimitSubject<String>, Limits)>,
}

/// The names of settings and their values, as texts.
type Given = BTreeMap<String, String>;

/// The name of the setting for keys of SCRAM.
const VERIFIERS: &str = "passwords.scram_verifiers";
/// Names of the settings that came with format level 3: programs that execute lower levels only do
/// not know them.
const OF_LEVEL_3: [&str; 3] = [VERIFIERS, "passwords.rehash_on_bind", "passwords.allow_des"];

/// Begin of the names of limits of single subjects and groups.
const RULES: &str = "subject_limits.";

impl SharedSettings {
    /// Reads settings from texts `name = value`.
    ///
    /// # Errors
    /// A text that names the setting, what was expected, and what was given.
    pub fn read(texts: &[String]) -> Result<SharedSettings, String> {
        let mut given = Given::new();
        for text in texts {
            let (name, value) = split(text)?;
            if let Some(other) = given.insert(name.to_owned(), value.to_owned()) {
                return Err(format!(
                    "{name}: expected one value, got {other} and {value}"
                ));
            }
        }
        let known = LimitSettings::default();
        let everybody = read_limits(&mut given, "limits.", known.everybody)?;
        let limits = LimitSettings {
            everybody,
            anonymous: read_limits(&mut given, "anonymous_limits.", everybody)?,
            administrator: read_limits(&mut given, "administrator_limits.", known.administrator)?,
            rules: Vec::new(),
            time_to_live: read_times_to_live(&mut given, known.time_to_live)?,
        };
        let settings = SharedSettings {
            passwords: read_passwords(&mut given)?,
            limits,
            limit_rules: read_rules(&mut given, everybody)?,
        };
        match given.keys().next() {
            None => Ok(settings),
            Some(name) => Err(format!(
                "{name}: there is no such setting; expected one of those that nodes of a cluster \
                 share"
            )),
        }
    }

    /// All settings as texts, from which [`SharedSettings::read`] makes them again.
    pub fn texts(&self) -> Vec<String> {
        let mut texts = Vec::new();
        let mut put = |name: String, value: &dyn Display| texts.push(format!("{name} = {value}"));
        let limits = &self.limits;
        for (section, limits) in [
            ("limits.", &limits.everybody),
            ("anonymous_limits.", &limits.anonymous),
            ("administrator_limits.", &limits.administrator),
        ] {
            for field in LIMITS {
                put(format!("{section}{}", field.name), &(field.get)(limits));
            }
        }
        for (number, (subject, limits)) in (1..).zip(&self.limit_rules) {
            let (kind, name) = subject.spelled();
            put(format!("{RULES}{number}.{kind}"), &name);
            for field in LIMITS {
                let name = format!("{RULES}{number}.{}", field.name);
                put(name, &(field.get)(limits));
            }
        }
        for field in TIMES_TO_LIVE {
            let name = format!("dynamic_entries.{}", field.name);
            put(name, &(field.get)(&limits.time_to_live));
        }
        let passwords = &self.passwords;
        put("passwords.scheme".to_owned(), &passwords.scheme);
        put(VERIFIERS.to_owned(), &passwords.verifiers);
        let counts = passwords.count_repeated;
        put("passwords.count_repeated".to_owned(), &counts);
        put("passwords.tell_locked".to_owned(), &passwords.tell_locked);
        let rehashes = passwords.rehash_on_bind;
        put("passwords.rehash_on_bind".to_owned(), &rehashes);
        put("passwords.allow_des".to_owned(), &passwords.allow_des);
        texts
    }

    /// The name in a text `name = value`; all of the text if it has another form.
    pub fn name_in(text: &str) -> &str {
        text.split_once('=').map_or(text, |(name, _)| name).trim()
    }

    /// Whether a text `name = value` is about a setting that came with format level 3.
    pub fn is_of_level_3(text: &str) -> bool {
        OF_LEVEL_3.contains(&SharedSettings::name_in(text))
    }

    /// Whether a name is that of a limit of single subjects or groups.
    pub fn is_of_rule(name: &str) -> bool {
        name.starts_with(RULES)
    }
}

/// The two parts of a text `name = value`. The value may stand in quotation marks, as in the file.
fn split(text: &str) -> Result<(&str, &str), String> {
    let (name, value) = text
        .split_once('=')
        .ok_or_else(|| format!("expected NAME = VALUE, got \"{text}\""))?;
    let value = value.trim();
    let quoted = value.strip_prefix('"').and_then(|it| it.strip_suffix('"'));
    Ok((name.trim(), quoted.unwrap_or(value)))
}

fn read_limits(given: &mut Given, section: &str, mut limits: Limits) -> Result<Limits, String> {
    for field in LIMITS {
        let name = format!("{section}{}", field.name);
        if let Some(text) = given.remove(&name) {
            let number = whole_number(&name, &text, 0..=field.max)?;
            (field.set)(&mut limits, number);
        }
    }
    Ok(limits)
}

fn read_times_to_live(given: &mut Given, mut times: TimeToLive) -> Result<TimeToLive, String> {
    for field in TIMES_TO_LIVE {
        let name = format!("dynamic_entries.{}", field.name);
        if let Some(text) = given.remove(&name) {
            let number = whole_number(&name, &text, 1..=field.max)?;
            (field.set)(&mut times, number);
        }
    }
    match times.min_s <= times.default_s && times.default_s <= times.max_s {
        true => Ok(times),
        false => Err(format!(
            "dynamic_entries: expected ttl_min_s <= ttl_default_s <= ttl_max_s, got {}, {} and {}",
            times.min_s, times.default_s, times.max_s
        )),
    }
}

fn read_passwords(given: &mut Given) -> Result<PasswordSettings, String> {
    let known = PasswordSettings::default();
    let scheme = match given.remove("passwords.scheme") {
        None => known.scheme,
        Some(text) => text
            .parse()
            .map_err(|error| format!("passwords.scheme: {error}"))?,
    };
    let verifiers = match given.remove(VERIFIERS) {
        None => known.verifiers,
        Some(text) => text
            .parse()
            .map_err(|error| format!("{VERIFIERS}: {error}"))?,
    };
    let mut truth = |name: &str, known: bool| match given.remove(name).as_deref() {
        None => Ok(known),
        Some("true") => Ok(true),
        Some("false") => Ok(false),
        Some(other) => Err(format!("{name}: expected true or false, got {other}")),
    };
    Ok(PasswordSettings {
        scheme,
        verifiers,
        count_repeated: truth("passwords.count_repeated", known.count_repeated)?,
        tell_locked: truth("passwords.tell_locked", known.tell_locked)?,
        rehash_on_bind: truth("passwords.rehash_on_bind", known.rehash_on_bind)?,
        allow_des: truth("passwords.allow_des", known.allow_des)?,
    })
}

/// Limits of single subjects and groups, by their numbers. What is not set is as for everybody.
fn read_rules(
    given: &mut Given,
    everybody: Limits,
) -> Result<Vec<(LimitSubject<String>, Limits)>, String> {
    let mut numbers = Vec::new();
    for name in given.keys().filter(|it| SharedSettings::is_of_rule(it)) {
        let number = name[RULES.len()..].split('.').next().unwrap_or_default();
        let number = number.parse::<u32>().map_err(|_| {
            format!("{name}: expected {RULES}NUMBER.NAME, with numbers in the order of the rules")
        })?;
        numbers.push(number);
    }
    numbers.sort_unstable();
    numbers.dedup();
    let mut rules = Vec::new();
    for number in numbers {
        let section = format!("{RULES}{number}.");
        let mut subjects = Vec::new();
        for (kind, make) in LimitSubject::<String>::KINDS {
            let name = given.remove(&format!("{section}{kind}"));
            subjects.extend(name.map(make));
        }
        if subjects.len() != 1 {
            return Err(format!(
                "{RULES}{number}: expected one of entry, subtree and group, got {}",
                if subjects.is_empty() {
                    "none"
                } else {
                    "several"
                }
            ));
        }
        let limits = read_limits(given, &section, everybody)?;
        rules.extend(subjects.pop().map(|it| (it, limits)));
    }
    Ok(rules)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(texts: &[&str]) -> Result<SharedSettings, String> {
        let texts: Vec<String> = texts.iter().map(|it| (*it).to_owned()).collect();
        SharedSettings::read(&texts)
    }

    #[test]
    fn what_is_written_is_read_again() {
        assert_eq!(read(&[]), Ok(SharedSettings::default()));
        let mut settings = SharedSettings::default();
        settings.limits.everybody.size_entries_max = 7;
        settings.limits.anonymous.time_ms_max = 9_000;
        settings.limits.administrator.transaction_bytes_max = 1 << 40;
        settings.limits.time_to_live.default_s = 77;
        settings.passwords = PasswordSettings {
            scheme: Scheme::Ssha512,
            verifiers: Verifiers::Sha256,
            count_repeated: true,
            tell_locked: true,
            rehash_on_bind: true,
            allow_des: true,
        };
        let group = LimitSubject::Group("cn=a = b,dc=c".to_owned());
        let limits = settings.limits.everybody;
        let subtree = LimitSubject::Subtree("ou=x".to_owned());
        settings.limit_rules = vec![(group, limits), (subtree, limits)];
        assert_eq!(SharedSettings::read(&settings.texts()), Ok(settings));
    }

    #[test]
    fn what_is_not_given_is_as_for_everybody() {
        let settings = read(&[
            "limits.size_entries_max = 7",
            "subject_limits.10.entry = \"cn=ten\"",
            "subject_limits.9.group=cn=nine",
            "subject_limits.9.time_s_max = 1",
        ]);
        let settings = settings.expect("settings");
        assert_eq!(settings.limits.anonymous.size_entries_max, 7);
        let nine = LimitSubject::Group("cn=nine".to_owned());
        assert_eq!(settings.limit_rules[0].0, nine);
        let limits = settings.limit_rules[0].1;
        assert_eq!((limits.size_entries_max, limits.time_ms_max), (7, 1_000));
        let ten = LimitSubject::Entry("cn=ten".to_owned());
        assert_eq!(settings.limit_rules[1].0, ten);
    }

    #[test]
    fn what_cannot_be_is_refused_by_name() {
        for (text, error) in [
            ("limits", "expected NAME = VALUE, got \"limits\""),
            (
                "threads.serving = 7",
                "threads.serving: there is no such setting; expected one of those that nodes of a \
                 cluster share",
            ),
            (
                "limits.size_entries_max = 4294967296",
                "limits.size_entries_max: expected a whole number from 0 to 4294967295, got \
                 4294967296",
            ),
            (
                "dynamic_entries.ttl_min_s = 0",
                "dynamic_entries.ttl_min_s: expected a whole number from 1 to 31557600, got 0",
            ),
            (
                "dynamic_entries.ttl_min_s = 90000",
                "dynamic_entries: expected ttl_min_s <= ttl_default_s <= ttl_max_s, got 90000, \
                 86400 and 31557600",
            ),
            (
                "passwords.tell_locked = yes",
                "passwords.tell_locked: expected true or false, got yes",
            ),
            (
                "passwords.scram_verifiers = {SSHA}",
                "passwords.scram_verifiers: expected none, {SCRAM-SHA-256} or {SCRAM-SHA-512}, \
                 got \"{SSHA}\"",
            ),
            (
                "subject_limits.1.time_s_max = 7",
                "subject_limits.1: expected one of entry, subtree and group, got none",
            ),
            (
                "subject_limits.one.entry = cn=a",
                "subject_limits.one.entry: expected subject_limits.NUMBER.NAME, with numbers in \
                 the order of the rules",
            ),
        ] {
            assert_eq!(read(&[text]), Err(error.to_owned()), "{text}");
        }
        let twice = read(&["limits.time_s_max = 1", "limits.time_s_max = 2"]);
        let error = "limits.time_s_max: expected one value, got 1 and 2";
        assert_eq!(twice, Err(error.to_owned()));
    }
}
