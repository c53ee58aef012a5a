//! The model: a directory without indexes, transactions or files.

use std::collections::BTreeMap;

use kit::client::Modification;
use kit::{Entry, SUFFIX, ldif, people};
use protocol::{ChangeOperation, ResultCode, Scope};

use crate::filter::Filter;
use crate::steps::Step;

/// Entries by their names as normalised by [`key`].
pub struct Directory {
    entries: BTreeMap<String, Entry>,
}

/// Answers allowed to a step: one of the codes; for a search, exactly these names.
pub struct Expected {
    pub codes: Vec<ResultCode>,
    pub names: Vec<String>,
}

impl From<ResultCode> for Expected {
    fn from(code: ResultCode) -> Self {
        Expected {
            codes: vec![code],
            names: Vec::new(),
        }
    }
}

/// Every reason to refuse; none means success. A server may report any of them.
fn verdict(mut reasons: Vec<ResultCode>) -> Expected {
    if reasons.is_empty() {
        reasons.push(ResultCode::SUCCESS);
    }
    Expected {
        codes: reasons,
        names: Vec::new(),
    }
}

/// The attributes that an object class of the model requires and allows.
struct Rules {
    must: &'static [&'static str],
    may: &'static [&'static str],
}

const PERSON: Rules = Rules {
    must: &["objectclass", "cn", "sn"],
    may: &[
        "description",
        "title",
        "employeenumber",
        "ou",
        "mail",
        "givenname",
    ],
};
const UNIT: Rules = Rules {
    must: &["objectclass", "ou"],
    may: &["description"],
};
const SINGLE_VALUED: &[&str] = &["employeenumber"];

impl Directory {
    pub fn with_base() -> Self {
        let base = people::base();
        Directory {
            entries: [(SUFFIX.to_owned(), base)].into(),
        }
    }

    /// Returns the names of all entries as spelled.
    pub fn names(&self) -> Vec<&str> {
        self.entries
            .values()
            .map(|entry| entry.name.as_str())
            .collect()
    }

    pub fn entry(&self, name: &str) -> Option<&Entry> {
        self.entries.get(&key(name))
    }

    pub fn content(&self) -> ldif::Content {
        let entries: Vec<Entry> = self.entries.values().cloned().collect();
        ldif::content(&entries)
    }

    pub fn apply(&mut self, step: &Step) -> Expected {
        match step {
            Step::Add(entry) => self.add(entry),
            Step::Delete(name) => self.delete(name),
            Step::Modify(name, changes) => self.modify(name, changes),
            Step::Rename {
                name,
                new_rdn,
                delete_old_rdn,
                new_superior,
            } => self.rename(name, new_rdn, *delete_old_rdn, new_superior.as_deref()),
            Step::Compare(name, attribute, value) => self.compare(name, attribute, value),
            Step::Search {
                base,
                scope,
                filter,
            } => self.search(base, *scope, filter),
        }
    }

    fn add(&mut self, entry: &Entry) -> Expected {
        let key = key(&entry.name);
        // Values of the RDN need not be given (RFC 4511 §4.7).
        let mut entry = renamed(entry, &entry.name, false);
        let mut reasons = schema_violations(&entry);
        if self.entries.contains_key(&key) {
            reasons.push(ResultCode::ENTRY_ALREADY_EXISTS);
        }
        match self.entries.get(parent(&key)) {
            None => reasons.push(ResultCode::NO_SUCH_OBJECT),
            // Returned names have the RDNs as spelled in each entry.
            Some(superior) => {
                let rdn = entry.name.split(',').next().unwrap_or_default();
                entry.name = format!("{rdn},{}", superior.name);
            }
        }
        if reasons.is_empty() {
            self.entries.insert(key, entry);
        }
        verdict(reasons)
    }

    fn delete(&mut self, name: &str) -> Expected {
        let key = key(name);
        if !self.entries.contains_key(&key) {
            return ResultCode::NO_SUCH_OBJECT.into();
        }
        if self.entries.keys().any(|other| parent(other) == key) {
            return ResultCode::NOT_ALLOWED_ON_NON_LEAF.into();
        }
        self.entries.remove(&key);
        ResultCode::SUCCESS.into()
    }

    fn modify(&mut self, name: &str, changes: &[Modification]) -> Expected {
        let Some(entry) = self.entries.get_mut(&key(name)) else {
            return ResultCode::NO_SUCH_OBJECT.into();
        };
        let mut reasons = Vec::new();
        let mut changed = entry.clone();
        for change in changes {
            reasons.extend(apply_change(&mut changed, change));
        }
        if rdn(&entry.name).any(|(attribute, value)| !has_value(&changed, attribute, value)) {
            reasons.push(ResultCode::NOT_ALLOWED_ON_RDN);
        }
        reasons.extend(schema_violations(&changed));
        if reasons.is_empty() {
            *entry = changed;
        }
        verdict(reasons)
    }

    fn rename(
        &mut self,
        name: &str,
        new_rdn: &str,
        delete_old_rdn: bool,
        new_superior: Option<&str>,
    ) -> Expected {
        let old_key = key(name);
        let mut reasons = Vec::new();
        let target = key(new_superior.unwrap_or(parent(name)));
        let new_key = key(&format!("{new_rdn},{target}"));
        if is_within(&target, &old_key) || is_below(&old_key, &new_key) {
            // The new name is below the entry, or an ancestor's: the standard names no code.
            reasons.extend([53, 32, 64, 67, 68, 71, 80].map(ResultCode));
        }
        let Some(entry) = self.entries.get(&old_key) else {
            reasons.push(ResultCode::NO_SUCH_OBJECT);
            return verdict(reasons);
        };
        let superior = new_superior.unwrap_or(parent(&entry.name)).to_owned();
        let superior = match self.entries.get(&key(&superior)) {
            Some(found) => found.name.clone(),
            None => {
                reasons.push(ResultCode::NO_SUCH_OBJECT);
                superior
            }
        };
        let new_name = format!("{new_rdn},{superior}");
        if new_key != old_key && self.entries.contains_key(&new_key) {
            reasons.push(ResultCode::ENTRY_ALREADY_EXISTS);
        }
        let changed = renamed(entry, &new_name, delete_old_rdn);
        reasons.extend(schema_violations(&changed));
        if reasons.is_empty() {
            self.entries.remove(&old_key);
            self.entries.insert(new_key, changed);
            self.move_subtree(&old_key, &new_name);
        }
        verdict(reasons)
    }

    /// Moves everything below `old_key` to below `new_name`.
    fn move_subtree(&mut self, old_key: &str, new_name: &str) {
        let below: Vec<String> = self
            .entries
            .keys()
            .filter(|key| is_below(key, old_key))
            .cloned()
            .collect();
        for below in below {
            let mut entry = self.entries.remove(&below).expect("just listed");
            let kept = entry.name.len() - old_key.len();
            entry.name = format!("{}{new_name}", &entry.name[..kept]);
            self.entries.insert(key(&entry.name), entry);
        }
    }

    fn compare(&self, name: &str, attribute: &str, value: &str) -> Expected {
        let Some(entry) = self.entry(name) else {
            return ResultCode::NO_SUCH_OBJECT.into();
        };
        if !entry.has(attribute) {
            return ResultCode::NO_SUCH_ATTRIBUTE.into();
        }
        let found = has_value(entry, attribute, value);
        if found {
            ResultCode::COMPARE_TRUE.into()
        } else {
            ResultCode::COMPARE_FALSE.into()
        }
    }

    fn search(&self, base: &str, scope: Scope, filter: &Filter) -> Expected {
        let base = key(base);
        if !self.entries.contains_key(&base) {
            return ResultCode::NO_SUCH_OBJECT.into();
        }
        let in_scope = |key: &str| match scope {
            Scope::BaseObject => key == base,
            Scope::SingleLevel => parent(key) == base,
            Scope::Subordinate => is_below(key, &base),
            _ => is_within(key, &base),
        };
        let names = self
            .entries
            .iter()
            .filter(|(key, entry)| in_scope(key) && filter.matches(entry) == Some(true))
            .map(|(_, entry)| entry.name.to_lowercase())
            .collect();
        Expected {
            codes: vec![ResultCode::SUCCESS],
            names,
        }
    }
}

fn apply_change(entry: &mut Entry, change: &Modification) -> Option<ResultCode> {
    let attribute = change.attribute.as_str();
    match change.operation {
        ChangeOperation::Add => {
            for value in &change.values {
                if has_bytes(entry, attribute, value) {
                    return Some(ResultCode::ATTRIBUTE_OR_VALUE_EXISTS);
                }
                entry.push(attribute, value.clone());
            }
        }
        ChangeOperation::Delete => {
            if !entry.has(attribute) {
                return Some(ResultCode::NO_SUCH_ATTRIBUTE);
            }
            if change.values.is_empty() {
                remove(entry, attribute, |_| true);
            }
            for value in &change.values {
                if !has_bytes(entry, attribute, value) {
                    return Some(ResultCode::NO_SUCH_ATTRIBUTE);
                }
                remove(entry, attribute, |known| known.eq_ignore_ascii_case(value));
            }
        }
        _ => {
            remove(entry, attribute, |_| true);
            for value in &change.values {
                entry.push(attribute, value.clone());
            }
        }
    }
    None
}

fn renamed(entry: &Entry, new_name: &str, delete_old_rdn: bool) -> Entry {
    let mut changed = entry.clone();
    for (attribute, value) in rdn(&entry.name).filter(|_| delete_old_rdn) {
        remove(&mut changed, attribute, |known| {
            known.eq_ignore_ascii_case(value.as_bytes())
        });
    }
    for (attribute, value) in rdn(new_name) {
        if !has_value(&changed, attribute, value) {
            changed.push(attribute, value.as_bytes().to_vec());
        }
    }
    changed.name = new_name.to_owned();
    changed
}

/// Removes values, and the attribute with its last value.
fn remove(entry: &mut Entry, attribute: &str, is_meant: impl Fn(&[u8]) -> bool) {
    for (name, values) in &mut entry.attributes {
        if name.eq_ignore_ascii_case(attribute) {
            values.retain(|value| !is_meant(value));
        }
    }
    entry.attributes.retain(|(_, values)| !values.is_empty());
}

fn schema_violations(entry: &Entry) -> Vec<ResultCode> {
    let is_unit = entry
        .texts("objectClass")
        .contains(&"organizationalUnit".to_owned());
    let rules = if is_unit { UNIT } else { PERSON };
    let mut reasons = Vec::new();
    for must in rules.must {
        if !entry.has(must) {
            reasons.push(ResultCode::OBJECT_CLASS_VIOLATION);
        }
    }
    for (attribute, values) in &entry.attributes {
        let attribute = attribute.to_lowercase();
        let attribute = attribute.split(';').next().unwrap_or_default();
        if !rules.must.contains(&attribute) && !rules.may.contains(&attribute) {
            reasons.push(ResultCode::OBJECT_CLASS_VIOLATION);
        }
        if is_single_valued(attribute) && values.len() > 1 {
            reasons.push(ResultCode::CONSTRAINT_VIOLATION);
        }
    }
    reasons
}

fn is_single_valued(attribute: &str) -> bool {
    SINGLE_VALUED
        .iter()
        .any(|single| single.eq_ignore_ascii_case(attribute))
}

fn has_value(entry: &Entry, attribute: &str, value: &str) -> bool {
    has_bytes(entry, attribute, value.as_bytes())
}

fn has_bytes(entry: &Entry, attribute: &str, value: &[u8]) -> bool {
    entry
        .values(attribute)
        .iter()
        .any(|known| known.eq_ignore_ascii_case(value))
}

/// Splits a name; the model's names have no escaped commas.
fn parent(name: &str) -> &str {
    name.split_once(',').map_or("", |(_, parent)| parent)
}

/// Returns types and values of the first RDN.
fn rdn(name: &str) -> impl Iterator<Item = (&str, &str)> {
    let rdn = name.split(',').next().unwrap_or(name);
    let parts = rdn.split('+').map(|part| part.split_once('='));
    parts.map(|part| part.expect("names are made by the steps"))
}

/// Returns one text for all spellings of a name: lower case, values of an RDN in order.
fn key(name: &str) -> String {
    let name = name.to_lowercase();
    let rdns = name.split(',').map(|rdn| {
        let mut parts: Vec<&str> = rdn.split('+').collect();
        parts.sort_unstable();
        parts.join("+")
    });
    rdns.collect::<Vec<_>>().join(",")
}

fn is_below(key: &str, ancestor: &str) -> bool {
    key.strip_suffix(ancestor)
        .is_some_and(|rest| rest.ends_with(','))
}

fn is_within(key: &str, ancestor: &str) -> bool {
    key == ancestor || is_below(key, ancestor)
}
