//! Bind rules as subjects.

use super::text::{Bind, Comparison};
use super::{Context, Missing};
use crate::access::compile::has_names;
use crate::access::import::parenthesised;
use crate::access::parse::is_subject_attribute;
use crate::access::rules::{Reach, Who};
use crate::access::words::Way;

/// The weakest cipher that TLS 1.2 and 1.3 negotiate here, in bits.
const TLS_STRENGTH: u32 = 128;

impl Context<'_> {
    /// Returns the subject of a bind rule. What cannot be said is true in it if `wide`, false
    /// otherwise. The depth of the bind rule bounds the recursion.
    pub(super) fn subject(&self, bind: &Bind, wide: bool, missing: &mut Missing) -> Who {
        match bind {
            Bind::Not(inner) => negated(self.subject(inner, !wide, missing)),
            Bind::And(parts) => {
                let parts = parts.iter().map(|it| self.subject(it, wide, missing));
                joined(parts.collect(), never(), Who::All)
            }
            Bind::Or(parts) => {
                let parts = parts.iter().map(|it| self.subject(it, wide, missing));
                joined(parts.collect(), Who::Anyone, Who::Any)
            }
            Bind::One(one) => match one.operator.as_str() {
                "!=" => negated(self.values(one, !wide, missing)),
                "=" | ">=" => self.values(one, wide, missing),
                _ => unknown(one, wide, missing),
            },
        }
    }

    /// Returns the condition that one of the values is the subject's.
    fn values(&self, one: &Comparison, wide: bool, missing: &mut Missing) -> Who {
        let many = matches!(one.keyword.as_str(), "userdn" | "groupdn");
        let values: Vec<&str> = match many {
            true => one.value.split("||").map(str::trim).collect(),
            false => vec![one.value.as_str()],
        };
        let mut parts = Vec::new();
        for value in values {
            let condition = match (one.keyword.as_str(), one.operator.as_str()) {
                ("userdn", "=" | "!=") => self.user(value),
                ("groupdn", "=" | "!=") => self.group(value),
                ("userattr", "=" | "!=") => self.attribute(value),
                ("ip", "=" | "!=") => network(value),
                ("authmethod", "=" | "!=") => method(value),
                ("ssf", ">=") => strength(value, wide),
                _ => None,
            };
            parts.push(condition.unwrap_or_else(|| unknown(one, wide, missing)));
        }
        joined(parts, Who::Anyone, Who::Any)
    }

    fn user(&self, url: &str) -> Option<Who> {
        let rest = url.strip_prefix("ldap:///")?;
        match rest {
            "anyone" => return Some(Who::Anyone),
            "all" => return Some(Who::Users),
            "self" => return Some(Who::Own),
            _ => (),
        }
        let mut parts = rest.splitn(4, '?');
        let (dn, _, scope) = (parts.next()?, parts.next(), parts.next());
        let reach = match scope {
            None | Some("base" | "") => Reach::Entry,
            Some("one") => Reach::One,
            Some("sub") => Reach::Subtree,
            Some(_) => return None,
        };
        let dn = self.name(dn)?;
        let below = Who::Below { reach, dn };
        match parts.next() {
            None | Some("") => Some(below),
            Some(filter) => {
                let filter = parenthesised(filter);
                let known = self.is_filter(&filter);
                known.then_some(Who::All(vec![below, Who::Having(filter)]))
            }
        }
    }

    fn group(&self, url: &str) -> Option<Who> {
        let dn = self.name(url.strip_prefix("ldap:///")?)?;
        Some(Who::Group { dn, by: None })
    }

    /// Reads `manager#USERDN` and `parent[0,1].manager#USERDN`.
    fn attribute(&self, value: &str) -> Option<Who> {
        let named = value.strip_suffix("#USERDN")?;
        let (levels, attribute) = match named.strip_prefix("parent[") {
            None => ("0", named),
            Some(rest) => rest.split_once("].")?,
        };
        let type_id = self.schema.attribute_type(attribute)?;
        if !has_names(self.schema, type_id) || !is_subject_attribute(attribute) {
            return None;
        }
        let levels = levels.split(',').map(|level| match level.trim() {
            "0" => Some(Who::Named(attribute.to_owned())),
            "1" => Some(Who::NamedAbove(attribute.to_owned())),
            _ => None,
        });
        let mut levels = levels.collect::<Option<Vec<Who>>>()?;
        Some(match levels.len() {
            1 => levels.remove(0),
            _ => Who::Any(levels),
        })
    }

    /// Returns the name of an entry if it is one without wildcards.
    pub(super) fn name(&self, dn: &str) -> Option<String> {
        let plain = !dn.is_empty() && !dn.contains(['*', '$', '(']);
        (plain && self.schema.resolve_name(dn).is_ok()).then(|| dn.to_owned())
    }
}

/// Returns a bind rule without conditions on attributes of the entry itself, in whose place stand
/// others that nobody can say: who adds an entry writes its attributes. The depth of the bind rule
/// bounds the recursion.
pub(super) fn for_adding(bind: &Bind) -> Bind {
    match bind {
        Bind::Not(inner) => Bind::Not(Box::new(for_adding(inner))),
        Bind::And(parts) => Bind::And(parts.iter().map(for_adding).collect()),
        Bind::Or(parts) => Bind::Or(parts.iter().map(for_adding).collect()),
        Bind::One(one) if one.keyword == "userattr" => Bind::One(match above(&one.value) {
            Some(value) => Comparison {
                value,
                ..one.clone()
            },
            None => Comparison {
                keyword: "userattr of the entry that is added, ".to_owned(),
                ..one.clone()
            },
        }),
        Bind::One(one) => Bind::One(one.clone()),
    }
}

/// Returns the value of a `userattr` for superiors alone; `None` if it has none.
fn above(value: &str) -> Option<String> {
    let (levels, attribute) = value.strip_prefix("parent[")?.split_once("].")?;
    let levels = levels.split(',').map(str::trim).filter(|it| *it != "0");
    let levels: Vec<&str> = levels.collect();
    (!levels.is_empty()).then(|| format!("parent[{}].{attribute}", levels.join(",")))
}

/// The condition that is true of nobody.
pub(super) fn never() -> Who {
    Who::Not(Box::new(Who::Anyone))
}

/// Joins conditions of which one that is `strong` decides; its negation changes nothing.
fn joined(mut parts: Vec<Who>, strong: Who, join: fn(Vec<Who>) -> Who) -> Who {
    if parts.contains(&strong) {
        return strong;
    }
    let weak = negated(strong);
    parts.retain(|it| *it != weak);
    match parts.len() {
        0 => weak,
        1 => parts.remove(0),
        _ => join(parts),
    }
}

fn negated(who: Who) -> Who {
    match who {
        Who::Not(inner) => *inner,
        other => Who::Not(Box::new(other)),
    }
}

/// Returns the condition in the place of one that cannot be said: true if `wide`.
fn unknown(one: &Comparison, wide: bool, missing: &mut Missing) -> Who {
    missing.note(&format!("{}{}\"{}\"", one.keyword, one.operator, one.value));
    match wide {
        true => Who::Anyone,
        false => never(),
    }
}

/// Reads an address, a network `10.0.0.0/8`, or `10.0.0.*`.
fn network(value: &str) -> Option<Who> {
    let octets: Vec<&str> = value.split('.').collect();
    let stars = octets.iter().rev().take_while(|it| **it == "*").count();
    if octets.len() != 4 || stars == 0 {
        return value.parse().ok().map(Who::From);
    }
    let plain = octets.iter().map(|it| if *it == "*" { "0" } else { it });
    let address = plain.collect::<Vec<_>>().join(".");
    let kept = octets[..4 - stars].iter().all(|it| *it != "*");
    let network = format!("{address}/{}", 32 - 8 * stars);
    network.parse().ok().filter(|_| kept).map(Who::From)
}

fn method(value: &str) -> Option<Who> {
    match value.to_ascii_lowercase().as_str() {
        "none" => Some(Who::Anyone),
        "simple" => Some(Who::Via(Way::Simple)),
        "ssl" => Some(Who::Via(Way::Certificate)),
        "sasl external" => Some(Who::Via(Way::External)),
        _ => None,
    }
}

/// Returns the transports of at least a strength; a Unix socket has an unknown one, which counts if
/// `wide`.
fn strength(value: &str, wide: bool) -> Option<Who> {
    let least: u32 = value.parse().ok()?;
    match least {
        0 => Some(Who::Anyone),
        _ if least > TLS_STRENGTH => None,
        _ if wide => Some(Who::Any(vec![Who::Via(Way::Tls), Who::Via(Way::Local)])),
        _ => Some(Who::Via(Way::Tls)),
    }
}
