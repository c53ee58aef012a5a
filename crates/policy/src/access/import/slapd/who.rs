//! The part of a `by` clause before its access: who it is for.

use super::regex;
use super::what::Context;
use crate::access::compile::has_names;
use crate::access::parse::is_subject_attribute;
use crate::access::rules::{Reach, Who};
use crate::access::words::Way;

/// Security strength factor of a Unix socket, in slapd's default.
const LOCAL_STRENGTH: u32 = 71;
/// The weakest cipher that TLS 1.2 and 1.3 negotiate here, in bits.
const TLS_STRENGTH: u32 = 128;

impl Context<'_> {
    /// Returns the condition that all words of a clause together mean.
    ///
    /// # Errors
    /// The word that has no equivalent.
    pub(super) fn who(&self, words: &[String], groups: &[usize]) -> Result<Who, String> {
        let mut parts = Vec::new();
        for word in words {
            let unknown = || format!("{word} has no equivalent");
            let condition = self.condition(word, groups).ok_or_else(unknown)?;
            if condition != Who::Anyone {
                parts.push(condition);
            }
        }
        Ok(match parts.len() {
            0 => Who::Anyone,
            1 => parts.remove(0),
            _ => Who::All(parts),
        })
    }

    fn condition(&self, word: &str, groups: &[usize]) -> Option<Who> {
        let lower = word.to_ascii_lowercase();
        if let Some(rest) = lower.strip_prefix("real") {
            let inner = self.condition(&word[word.len() - rest.len()..], groups)?;
            return Some(Who::Real(Box::new(inner)));
        }
        match lower.as_str() {
            "*" => return Some(Who::Anyone),
            "anonymous" => return Some(Who::Anonymous),
            "users" => return Some(Who::Users),
            "self" => return Some(Who::Own),
            _ => (),
        }
        let (spelled, value) = word.split_once('=')?;
        let key = spelled.to_ascii_lowercase();
        match key.as_str() {
            "dnattr" => self.named(value).map(Who::Named),
            "peername.ip" | "peername.ipv6" => network(value),
            "ssf" | "transport_ssf" | "tls_ssf" => strength(&key, value.parse().ok()?),
            _ => match key.split_once(['.', '/']) {
                Some(("group", _)) => self.group(spelled, value),
                None if key == "group" => self.group(spelled, value),
                Some(("dn", style)) => self.by_name(style, value, groups),
                None if key == "dn" => self.by_name("exact", value, groups),
                _ => None,
            },
        }
    }

    fn by_name(&self, style: &str, value: &str, groups: &[usize]) -> Option<Who> {
        let reach = match style {
            "exact" | "base" | "baseobject" => Reach::Entry,
            "one" | "onelevel" => Reach::One,
            "sub" | "subtree" => Reach::Subtree,
            "children" => Reach::Children,
            "regex" if matches!(value, ".+" | "^.+$") => return Some(Who::Users),
            "regex" if matches!(value, ".*" | "^.*$" | "*") => return Some(Who::Anyone),
            "regex" => {
                let pattern = regex::pattern(value, groups)?.pattern;
                return self.is_pattern(&pattern).then_some(Who::Pattern(pattern));
            }
            "expand" | "exact,expand" | "base,expand" => {
                let pattern = regex::expanded(value, groups)?;
                return self.is_pattern(&pattern).then_some(Who::Pattern(pattern));
            }
            _ => return None,
        };
        let dn = self.name(value)?;
        Some(Who::Below { reach, dn })
    }

    /// Reads `group[/CLASS[/ATTRIBUTE]]=DN`.
    fn group(&self, key: &str, value: &str) -> Option<Who> {
        let (key, style) = key.split_once('.').unwrap_or((key, "exact"));
        if !matches!(style, "exact" | "base") {
            return None;
        }
        let attribute = key.split('/').nth(2).unwrap_or("member");
        let by = Some(self.named(attribute)?);
        let dn = self.name(value)?;
        Some(Who::Group { dn, by })
    }

    /// Returns the name of an entry if it is one; the empty name is nobody's.
    fn name(&self, dn: &str) -> Option<String> {
        let known = !dn.is_empty() && self.schema.resolve_name(dn).is_ok();
        known.then(|| dn.to_owned())
    }

    /// Returns an attribute type with names as values.
    fn named(&self, attribute: &str) -> Option<String> {
        let type_id = self.schema.attribute_type(attribute)?;
        let known = has_names(self.schema, type_id) && is_subject_attribute(attribute);
        known.then(|| attribute.to_owned())
    }
}

/// Reads `ADDRESS[%MASK]` or `ADDRESS[/PREFIX]`.
fn network(value: &str) -> Option<Who> {
    let text = match value.split_once('%') {
        None => value.to_owned(),
        Some((address, mask)) => {
            let bits = match mask.parse().ok()? {
                std::net::IpAddr::V4(mask) => (u128::from(mask.to_bits()) << 96, 32),
                std::net::IpAddr::V6(mask) => (mask.to_bits(), 128),
            };
            let prefix = bits.0.leading_ones();
            let contiguous = bits.0.count_ones() == prefix && prefix <= bits.1;
            contiguous.then(|| format!("{address}/{prefix}"))?
        }
    };
    text.parse().ok().map(Who::From)
}

/// Returns the transports of at least a strength. Pando has no SASL layers.
fn strength(key: &str, least: u32) -> Option<Who> {
    match (key, least) {
        (_, 0) => Some(Who::Anyone),
        (_, more) if more > TLS_STRENGTH => None,
        ("tls_ssf", _) => Some(Who::Via(Way::Tls)),
        (_, more) if more > LOCAL_STRENGTH => Some(Who::Via(Way::Tls)),
        _ => Some(Who::Any(vec![Who::Via(Way::Tls), Who::Via(Way::Local)])),
    }
}
