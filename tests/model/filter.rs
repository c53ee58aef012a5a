//! Filters of the model, evaluated in three-valued logic on every value of an entry.

use std::fmt;

use kit::Entry;

/// A filter over attributes whose equality ignores case.
#[derive(Debug, Clone)]
pub enum Filter {
    And(Vec<Filter>),
    Or(Vec<Filter>),
    Not(Box<Filter>),
    Equality(String, String),
    Present(String),
    Substrings {
        attribute: String,
        initial: String,
        any: String,
        last: String,
    },
    /// An assertion under a rule that respects case.
    Exact(String, String),
}

/// Attribute types that the model knows; others are Undefined.
const KNOWN: &[&str] = &[
    "objectclass",
    "cn",
    "sn",
    "description",
    "title",
    "employeenumber",
    "ou",
    "mail",
    "givenname",
    "name",
];
/// The subtypes of `name` that entries of the model have.
const NAMES: &[&str] = &["cn", "sn", "title", "ou", "givenname"];

impl Filter {
    /// Evaluates the filter to true, false or (`None`) Undefined.
    pub fn matches(&self, entry: &Entry) -> Option<bool> {
        match self {
            Filter::And(parts) => {
                let parts: Vec<_> = parts.iter().map(|part| part.matches(entry)).collect();
                if parts.contains(&Some(false)) {
                    return Some(false);
                }
                if parts.contains(&None) {
                    None
                } else {
                    Some(true)
                }
            }
            Filter::Or(parts) => {
                let parts: Vec<_> = parts.iter().map(|part| part.matches(entry)).collect();
                if parts.contains(&Some(true)) {
                    return Some(true);
                }
                if parts.contains(&None) {
                    None
                } else {
                    Some(false)
                }
            }
            Filter::Not(part) => part.matches(entry).map(|truth| !truth),
            Filter::Equality(attribute, wanted) => {
                let wanted = wanted.to_lowercase();
                any_value(entry, attribute, |value| value.to_lowercase() == wanted)
            }
            Filter::Present(attribute) => any_value(entry, attribute, |_| true),
            Filter::Substrings {
                attribute,
                initial,
                any,
                last,
            } => {
                let [initial, any, last] = [initial, any, last].map(|part| part.to_lowercase());
                any_value(entry, attribute, |value| {
                    let value = value.to_lowercase();
                    let Some(rest) = value.strip_prefix(&initial) else {
                        return false;
                    };
                    let Some(rest) = rest.strip_suffix(&last) else {
                        return false;
                    };
                    rest.contains(&any)
                })
            }
            Filter::Exact(attribute, wanted) => {
                any_value(entry, attribute, |value| value == wanted)
            }
        }
    }
}

/// Returns whether a description covers another: a type covers its subtypes, and a description
/// those with further options (RFC 4512 §2.5.2); entries of the model have at most one option.
fn any_value(entry: &Entry, attribute: &str, test: impl Fn(&str) -> bool) -> Option<bool> {
    let attribute = attribute.to_lowercase();
    let (wanted, wanted_option) = attribute.split_once(';').unwrap_or((&attribute, ""));
    if !KNOWN.contains(&wanted) {
        return None;
    }
    let is_meant = |known: &str| {
        let known = known.to_lowercase();
        let (known, option) = known.split_once(';').unwrap_or((&known, ""));
        let is_type = known == wanted || (wanted == "name" && NAMES.contains(&known));
        is_type && (wanted_option.is_empty() || wanted_option == option)
    };
    let meant = entry.attributes.iter().filter(|(name, _)| is_meant(name));
    let mut values = meant.flat_map(|(_, values)| values);
    Some(values.any(|value| test(&String::from_utf8_lossy(value))))
}

impl fmt::Display for Filter {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |out: &mut fmt::Formatter<'_>, mark: char, parts: &[Filter]| {
            write!(out, "({mark}")?;
            parts.iter().try_for_each(|part| write!(out, "{part}"))?;
            write!(out, ")")
        };
        match self {
            Filter::And(parts) => list(out, '&', parts),
            Filter::Or(parts) => list(out, '|', parts),
            Filter::Not(part) => write!(out, "(!{part})"),
            Filter::Equality(attribute, value) => write!(out, "({attribute}={value})"),
            Filter::Present(attribute) => write!(out, "({attribute}=*)"),
            Filter::Substrings {
                attribute,
                initial,
                any,
                last,
            } => {
                let any = if any.is_empty() {
                    String::new()
                } else {
                    format!("{any}*")
                };
                write!(out, "({attribute}={initial}*{any}{last})")
            }
            Filter::Exact(attribute, value) => {
                write!(out, "({attribute}:caseExactMatch:={value})")
            }
        }
    }
}
