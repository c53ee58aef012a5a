//! Replacing the rules of a node, in one transaction: entries of rules that stay as they are are
//! not touched, and a change by somebody else meanwhile makes the transaction fail.

use super::stored::{CONTAINER, FORMER, ORDER, Stored, StoredRule, TEXT};
use crate::channel::Channel;
use crate::report::Problem;
use policy::access::rules::Rule;
use protocol::{
    AddRequest, Change, ChangeOperation, DeleteRequest, ModifyRequest, OwnedAttribute, Request,
};
use std::fmt;

/// Distance between the places of rules, so that others can be put between them over LDAP.
const STEP: usize = 10;

/// Number of rules that a replacement concerned.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Replaced {
    added: usize,
    changed: usize,
    removed: usize,
    /// Rules that are the same as before, perhaps in another place.
    kept: usize,
}

/// One update of an entry.
#[derive(Debug, PartialEq)]
pub enum Update {
    /// Adds an entry of this name.
    Add(String, Vec<OwnedAttribute>),
    /// Changes values.
    Modify(String, Vec<(ChangeOperation, OwnedAttribute)>),
    /// Deletes an entry.
    Delete(String),
}

/// Makes `rules` the rules of a node, and keeps the ones before as the former set. Does nothing if
/// they are the same.
///
/// # Errors
/// Two names that differ in case only, or the refusal of the server; nothing is changed then.
pub fn replace(
    channel: &mut Channel,
    stored: &Stored,
    rules: &[Rule],
) -> Result<Replaced, Problem> {
    replace_with(channel, stored, rules, [])
}

/// Like [`replace`], with further updates in the same transaction.
///
/// # Errors
/// The errors of [`replace`].
pub fn replace_with(
    channel: &mut Channel,
    stored: &Stored,
    rules: &[Rule],
    more: impl IntoIterator<Item = Update>,
) -> Result<Replaced, Problem> {
    refuse_equal_names(rules)?;
    let (mut updates, replaced) = updates(stored, rules)?;
    updates.extend(more);
    if !updates.is_empty() {
        let requests: Vec<Request<'_>> = updates.iter().map(Update::as_request).collect();
        channel.transaction(&requests)?;
    }
    Ok(replaced)
}

/// Entries are found by their names in any case.
fn refuse_equal_names(rules: &[Rule]) -> Result<(), Problem> {
    for (at, rule) in rules.iter().enumerate() {
        let name = rule.name.to_lowercase();
        if let Some(other) = rules[..at].iter().find(|it| it.name.to_lowercase() == name) {
            return Err(Problem::failed(format_args!(
                "expected names of rules that differ in more than case, got {} and {}",
                other.name, rule.name
            )));
        }
    }
    Ok(())
}

/// The updates that turn the stored rules into others; none if they are the same.
fn updates(stored: &Stored, rules: &[Rule]) -> Result<(Vec<Update>, Replaced), Problem> {
    let (mut updates, mut replaced) = (Vec::new(), Replaced::default());
    let of_name = |name: &str| {
        let is_it = |it: &&StoredRule| it.names.iter().any(|it| same_name(it, name));
        stored.rules.iter().find(is_it)
    };
    for old in &stored.rules {
        let stays = |it: &&Rule| of_name(&it.name).is_some_and(|it| it.dn == old.dn);
        if rules.iter().find(stays).is_none() {
            updates.push(Update::Delete(old.dn.clone()));
            replaced.removed += 1;
        }
    }
    for (at, rule) in rules.iter().enumerate() {
        let (text, order) = (rule.to_string(), ((at + 1) * STEP).to_string());
        let Some(old) = of_name(&rule.name) else {
            updates.push(Update::Add(
                entry_name(&rule.name),
                vec![
                    OwnedAttribute::new("objectClass", ["pandoAccessRule"]),
                    OwnedAttribute::new("cn", [&rule.name]),
                    OwnedAttribute::new(TEXT, [&text]),
                    OwnedAttribute::new(ORDER, [&order]),
                ],
            ));
            replaced.added += 1;
            continue;
        };
        let mut changes = Vec::new();
        if old.text != text {
            exchange(&mut changes, TEXT, &old.text, &text);
            replaced.changed += 1;
        } else {
            replaced.kept += 1;
        }
        if old.order != order {
            exchange(&mut changes, ORDER, &old.order, &order);
        }
        if !changes.is_empty() {
            updates.push(Update::Modify(old.dn.clone(), changes));
        }
    }
    if !updates.is_empty() && !stored.is_partial {
        // First of all: two replacements at once exchange the same former set, and one fails.
        updates.insert(0, keep_former(stored)?);
    }
    Ok((updates, replaced))
}

/// The update that makes the stored rules the former set.
fn keep_former(stored: &Stored) -> Result<Update, Problem> {
    let now = stored.text()?;
    if !stored.has_container {
        let attributes = vec![
            OwnedAttribute::new("objectClass", ["pandoConfig"]),
            OwnedAttribute::new("cn", ["access"]),
            OwnedAttribute::new(FORMER, [&now]),
        ];
        return Ok(Update::Add(CONTAINER.to_owned(), attributes));
    }
    let mut changes = Vec::new();
    match &stored.former {
        Some(before) => exchange(&mut changes, FORMER, before, &now),
        None => changes.push((ChangeOperation::Add, OwnedAttribute::new(FORMER, [&now]))),
    }
    Ok(Update::Modify(CONTAINER.to_owned(), changes))
}

/// Exchanges the value of an attribute, which must still be the one before.
pub fn exchange(
    changes: &mut Vec<(ChangeOperation, OwnedAttribute)>,
    attribute: &str,
    before: &str,
    now: &str,
) {
    let of = |value| OwnedAttribute::new(attribute, [value]);
    changes.push((ChangeOperation::Delete, of(before)));
    changes.push((ChangeOperation::Add, of(now)));
}

fn same_name(stored: &str, name: &str) -> bool {
    stored.to_lowercase() == name.to_lowercase()
}

fn entry_name(rule: &str) -> String {
    let mut entry = String::from("cn=");
    protocol::escape_value(&mut entry, rule.as_bytes());
    entry.push(',');
    entry.push_str(CONTAINER);
    entry
}

impl Update {
    /// The request for the update.
    pub fn as_request(&self) -> Request<'_> {
        match self {
            Update::Add(entry, attributes) => Request::Add(AddRequest {
                entry,
                attributes: attributes.iter().map(OwnedAttribute::as_partial).collect(),
            }),
            Update::Delete(entry) => Request::Delete(DeleteRequest { entry }),
            Update::Modify(object, changes) => {
                let changes = changes.iter().map(|(operation, attribute)| Change {
                    operation: *operation,
                    attribute: attribute.as_partial(),
                });
                Request::Modify(ModifyRequest {
                    object,
                    changes: changes.collect(),
                })
            }
        }
    }
}

impl fmt::Display for Replaced {
    /// Writes e.g. `access rules: 2 new, 1 changed, 5 as before`.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [
            (self.added, "new"),
            (self.changed, "changed"),
            (self.removed, "removed"),
            (self.kept, "as before"),
        ];
        let parts = parts.iter().filter(|(count, _)| *count > 0);
        let parts: Vec<String> = parts
            .map(|(count, word)| format!("{count} {word}"))
            .collect();
        match parts.is_empty() {
            true => out.write_str("access rules: none, as before"),
            false => write!(out, "access rules: {}", parts.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::stored::NOTHING;
    use policy::access::parse::parse;

    fn rules(text: &str) -> Vec<Rule> {
        parse(text).unwrap().rules
    }

    /// The rules as a server keeps them after `updates`.
    fn kept(rules: &[Rule], former: &str) -> Stored {
        let kept = rules.iter().enumerate().map(|(at, rule)| StoredRule {
            dn: entry_name(&rule.name),
            names: vec![rule.name.clone()],
            text: rule.to_string(),
            order: ((at + 1) * STEP).to_string(),
        });
        Stored {
            rules: kept.collect(),
            has_container: true,
            is_partial: false,
            former: Some(former.to_owned()),
        }
    }

    #[test]
    fn only_what_changes_is_updated() {
        let (a, b, c) = (
            "rule a\non everything\nlet users read\n\n",
            "rule b\non everything\nlet users read\n\n",
            "rule c\non everything\nlet users read\n\n",
        );
        let first = rules(&format!("{a}{b}"));
        let (made, replaced) = updates(&Stored::default(), &first).unwrap();
        assert_eq!(replaced.to_string(), "access rules: 2 new");
        let keeps = |it: &OwnedAttribute| *it == OwnedAttribute::new(FORMER, [NOTHING]);
        let has_former =
            |it: &Update| matches!(it, Update::Add(_, attributes) if attributes.iter().any(keeps));
        assert!(has_former(&made[0]) && made.len() == 3, "{made:?}");

        let stored = kept(&first, NOTHING);
        assert_eq!(updates(&stored, &first).unwrap().0, []);
        let second = rules(&format!("{a}{c}"));
        let (made, replaced) = updates(&stored, &second).unwrap();
        assert_eq!(
            replaced.to_string(),
            "access rules: 1 new, 1 removed, 1 as before"
        );
        let mut changes = Vec::new();
        let before = format!("{a}{b}");
        exchange(
            &mut changes,
            FORMER,
            NOTHING,
            &format!("{}\n", before.trim_end()),
        );
        assert_eq!(made[0], Update::Modify(CONTAINER.to_owned(), changes));
        assert_eq!(made[1], Update::Delete(format!("cn=b,{CONTAINER}")));
        assert!(matches!(&made[2], Update::Add(entry, _) if *entry == format!("cn=c,{CONTAINER}")));
        assert_eq!(made.len(), 3);
    }

    #[test]
    fn names_that_are_one_entry_are_refused() {
        let both = "rule a\non everything\nlet users read\nrule A\non everything\nlet users read\n";
        let both = rules(both);
        let refused = refuse_equal_names(&both).unwrap_err();
        assert!(
            refused.text().ends_with("got a and A"),
            "{}",
            refused.text()
        );
    }
}
