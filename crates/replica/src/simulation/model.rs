//! A model of the directory: names, attributes and results, without files, indexes and slices.

use protocol::{ChangeOperation, ResultCode};

use schema::Schema;
use state::catalog::CONFIG_NAME;
use state::time::{generalized_time, seconds_of};
use state::write::{Addition, Change, Modification, Renaming, Write};
use std::collections::{BTreeMap, BTreeSet};

pub(super) type Attributes = BTreeMap<String, BTreeSet<String>>;

/// An entry outside of the configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub uuid: [u8; 16],
    /// User attributes.
    pub attributes: Attributes,
    /// Time of the last change, as `modifyTimestamp`.
    pub modified: String,
    /// End of a dynamic entry in seconds since 1970; `None` for a static one.
    pub end_s: Option<u64>,
}

/// The result that a write must have.
#[derive(Debug, Clone, Default)]
pub(super) struct Verdict {
    /// Codes of all reasons to refuse the write; without any it succeeds.
    pub reasons: Vec<ResultCode>,
    /// Whether the write may succeed in spite of the reasons.
    pub unsure: bool,
}

impl Verdict {
    /// Whether the write may be done.
    pub fn may_succeed(&self) -> bool {
        self.unsure || self.reasons.is_empty()
    }

    /// Whether the write may have this result.
    pub fn allows(&self, code: ResultCode) -> bool {
        match code {
            ResultCode::SUCCESS => self.may_succeed(),
            code => self.reasons.contains(&code),
        }
    }
}

impl From<Vec<ResultCode>> for Verdict {
    fn from(reasons: Vec<ResultCode>) -> Verdict {
        Verdict {
            reasons,
            unsure: false,
        }
    }
}

/// Circumstances in which a record is executed.
#[derive(Clone, Copy)]
pub(super) struct Circumstances<'s> {
    /// The schema that the writes were resolved under.
    pub schema: &'s Schema,
    /// Time of the record.
    pub time_us: u64,
    /// Time of the clock when the record was ordered.
    pub now_us: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Model {
    /// Entries by their DNs, which the workload spells in one way only.
    pub entries: BTreeMap<String, Entry>,
    /// DNs of configuration entries that come and go, with whether each is an equality index.
    pub settings: BTreeMap<String, bool>,
    /// Position of the last record.
    pub position: u64,
    /// Least number of changes in the history, by position.
    pub changes: BTreeMap<u64, u32>,
}

/// DN of the rule that no two entries share an employeeNumber.
pub(super) const UNIQUE_RULE: &str = "cn=number,cn=rules,cn=config";
/// DN of the index that the rule needs.
pub(super) const UNIQUE_INDEX: &str = "cn=employeenumber,cn=indexes,cn=config";
/// The attribute type of an index that no schema knows.
pub(super) const NO_TYPE: &str = "nosuchtype";
/// Attributes that have one value at most.
const SINGLE_VALUED: &str = "employeenumber";

impl Model {
    /// Executes a record; returns one verdict for each unit.
    pub fn execute(&mut self, units: &[Vec<Write>], at: Circumstances<'_>) -> Vec<Verdict> {
        units.iter().map(|unit| self.unit(unit, at)).collect()
    }

    fn unit(&mut self, unit: &[Write], at: Circumstances<'_>) -> Verdict {
        if let [write] = unit {
            return self.write(write, at);
        }
        let before = self.clone();
        for write in unit {
            let verdict = self.write(write, at);
            if !verdict.reasons.is_empty() {
                *self = before;
                return verdict;
            }
        }
        Verdict::default()
    }

    /// Executes a write that is not in a transaction.
    pub fn write(&mut self, write: &Write, at: Circumstances<'_>) -> Verdict {
        let name = write.spelled.to_ascii_lowercase();
        if name.ends_with(CONFIG_NAME) {
            return self.configure(&name, &write.change);
        }
        match &write.change {
            Change::Add(addition) => self.add(&name, addition, at).into(),
            Change::Modify(changes) => self.modify(&name, changes, at).into(),
            Change::Delete => self.delete(&name, write, at).into(),
            Change::Rename(renaming) => self.rename(&name, write, renaming, at).into(),
            // The remaining work of earlier writes, which no search shows, and the state of
            // accounts.
            Change::Reclaim(_) => Verdict {
                reasons: vec![ResultCode::NO_SUCH_OBJECT],
                unsure: true,
            },
            Change::Level(_) | Change::Audit(_) => Verdict {
                reasons: vec![ResultCode::UNWILLING_TO_PERFORM],
                unsure: true,
            },
            Change::Attempts(_) => Verdict {
                reasons: vec![ResultCode::NO_SUCH_OBJECT, ResultCode::NO_SUCH_ATTRIBUTE],
                unsure: self.entries.contains_key(&name),
            },
        }
    }

    fn add(&mut self, name: &str, addition: &Addition, at: Circumstances<'_>) -> Vec<ResultCode> {
        let mut attributes = Attributes::new();
        let mut end_s = None;
        for given in &addition.attributes {
            let attribute = spelled(at.schema, &given.description);
            match attribute.as_str() {
                "entryexpiretimestamp" => end_s = seconds_of(&given.values[0]),
                _ => attributes
                    .entry(attribute)
                    .or_default()
                    .extend(texts(&given.values)),
            }
        }
        let (naming, value) = rdn(name);
        attributes.entry(naming).or_default().insert(value);
        let mut reasons = violations(&attributes);
        if self.entries.contains_key(name) {
            reasons.push(ResultCode::ENTRY_ALREADY_EXISTS);
        }
        match self.entries.get(superior(name)) {
            None => reasons.push(ResultCode::NO_SUCH_OBJECT),
            Some(above) if above.end_s.is_some() && end_s.is_none() => {
                reasons.push(ResultCode::OBJECT_CLASS_VIOLATION);
            }
            Some(_) => {}
        }
        if self.is_held(name, &attributes) {
            reasons.push(ResultCode::CONSTRAINT_VIOLATION);
        }
        if reasons.is_empty() {
            let entry = Entry {
                uuid: addition.uuid,
                attributes,
                modified: generalized_time(at.time_us),
                end_s,
            };
            self.entries.insert(name.to_owned(), entry);
        }
        reasons
    }

    fn modify(
        &mut self,
        name: &str,
        changes: &[Modification],
        at: Circumstances<'_>,
    ) -> Vec<ResultCode> {
        let Some(entry) = self.entries.get(name) else {
            return vec![ResultCode::NO_SUCH_OBJECT];
        };
        let mut changed = entry.clone();
        let mut reasons = Vec::new();
        let mut numbered = false;
        for change in changes {
            let attribute = spelled(at.schema, &change.given.description);
            let values = &change.given.values;
            if attribute == "entryexpiretimestamp" {
                match changed.end_s {
                    Some(_) => changed.end_s = seconds_of(&values[0]),
                    None => reasons.push(ResultCode::OBJECT_CLASS_VIOLATION),
                }
                continue;
            }
            numbered |= attribute == SINGLE_VALUED;
            let held = changed.attributes.entry(attribute).or_default();
            reasons.extend(change_values(held, change.operation, texts(values)));
            changed.attributes.retain(|_, values| !values.is_empty());
        }
        let (naming, value) = rdn(name);
        let named = changed.attributes.get(&naming);
        if !named.is_some_and(|it| it.contains(&value)) {
            reasons.push(ResultCode::NOT_ALLOWED_ON_RDN);
        }
        reasons.extend(violations(&changed.attributes));
        let mut added = changed.attributes.clone();
        if let (Some(now), Some(before)) = (
            added.get_mut(SINGLE_VALUED),
            entry.attributes.get(SINGLE_VALUED),
        ) {
            // Values that the entry had when the rule was added stay.
            now.retain(|it| !before.contains(it));
        }
        if numbered && self.is_held(name, &added) {
            reasons.push(ResultCode::CONSTRAINT_VIOLATION);
        }
        if reasons.is_empty() {
            changed.modified = generalized_time(at.time_us);
            self.entries.insert(name.to_owned(), changed);
        }
        reasons
    }

    fn delete(&mut self, name: &str, write: &Write, at: Circumstances<'_>) -> Vec<ResultCode> {
        let Some(entry) = self.entries.get(name) else {
            return vec![ResultCode::NO_SUCH_OBJECT];
        };
        let mut reasons = Vec::new();
        let below = self.below(name);
        let tree = write.has(|it| it.tree);
        if !below.is_empty() && !tree {
            reasons.push(ResultCode::NOT_ALLOWED_ON_NON_LEAF);
        }
        // The node removes a dynamic entry on the condition that its end has come.
        let is_own = write.by() == CONFIG_NAME;
        if is_own && entry.end_s.is_none_or(|it| it > at.now_us / 1_000_000) {
            reasons.push(ResultCode::ASSERTION_FAILED);
        }
        if reasons.is_empty() {
            self.entries.remove(name);
            below.iter().for_each(|it| drop(self.entries.remove(it)));
        }
        reasons
    }

    fn rename(
        &mut self,
        name: &str,
        write: &Write,
        renaming: &Renaming,
        at: Circumstances<'_>,
    ) -> Vec<ResultCode> {
        let Some(entry) = self.entries.get(name) else {
            return vec![ResultCode::NO_SUCH_OBJECT];
        };
        let mut reasons = Vec::new();
        let above = match &renaming.new_superior {
            None => Some(superior(name).to_owned()),
            Some(wanted) => {
                if wanted.is_within(write.name()) {
                    reasons.push(ResultCode::UNWILLING_TO_PERFORM);
                }
                let mut names = self.entries.keys();
                let is_meant =
                    |it: &&String| at.schema.resolve_name(it).is_ok_and(|it| it == *wanted);
                names.find(is_meant).cloned()
            }
        };
        let Some(above) = above else {
            reasons.push(ResultCode::NO_SUCH_OBJECT);
            return reasons;
        };
        let new_rdn = renaming.rdn_spelled.to_ascii_lowercase();
        let new_name = format!("{new_rdn},{above}");
        if new_name != name && self.entries.contains_key(&new_name) {
            reasons.push(ResultCode::ENTRY_ALREADY_EXISTS);
        }
        let mut renamed = entry.clone();
        let (old_type, old_value) = rdn(name);
        if renaming.delete_old_rdn
            && let Some(values) = renamed.attributes.get_mut(&old_type)
        {
            values.remove(&old_value);
        }
        let (new_type, new_value) = rdn(&new_rdn);
        let named = renamed.attributes.entry(new_type).or_default();
        named.insert(new_value);
        renamed.attributes.retain(|_, values| !values.is_empty());
        reasons.extend(violations(&renamed.attributes));
        let is_above_dynamic = self
            .entries
            .get(&above)
            .is_some_and(|it| it.end_s.is_some());
        if is_above_dynamic && renamed.end_s.is_none() {
            reasons.push(ResultCode::OBJECT_CLASS_VIOLATION);
        }
        if reasons.is_empty() {
            renamed.modified = generalized_time(at.time_us);
            self.entries.remove(name);
            for old in self.below(name) {
                let entry = self.entries.remove(&old).expect("just listed");
                let kept = &old[..old.len() - name.len()];
                self.entries.insert(format!("{kept}{new_name}"), entry);
            }
            self.entries.insert(new_name, renamed);
        }
        reasons
    }

    fn configure(&mut self, name: &str, change: &Change) -> Verdict {
        let exists = self.settings.contains_key(name);
        let refused = |code| Verdict::from(vec![code]);
        // The rule needs its index.
        let is_needed = name == UNIQUE_INDEX && self.settings.contains_key(UNIQUE_RULE);
        match change {
            Change::Add(_) if exists => refused(ResultCode::ENTRY_ALREADY_EXISTS),
            Change::Add(addition) => {
                let values = |wanted: &str| {
                    let mut all = addition.attributes.iter().flat_map(|it| texts(&it.values));
                    all.any(|it| it == wanted)
                };
                let is_rule = name == UNIQUE_RULE;
                let has_index = self.settings.get(UNIQUE_INDEX).is_some_and(|it| *it);
                if values(NO_TYPE) || (is_rule && !has_index) {
                    return refused(ResultCode::CONSTRAINT_VIOLATION);
                }
                self.settings.insert(name.to_owned(), values("equality"));
                match is_rule {
                    // The progress of an index build differs from node to node.
                    true => Verdict {
                        reasons: vec![ResultCode::BUSY],
                        unsure: true,
                    },
                    false => Verdict::default(),
                }
            }
            _ if !exists => refused(ResultCode::NO_SUCH_OBJECT),
            Change::Delete if is_needed => refused(ResultCode::CONSTRAINT_VIOLATION),
            Change::Delete => {
                self.settings.remove(name);
                Verdict::default()
            }
            Change::Modify(changes) => {
                let mut values = changes.iter().flat_map(|it| texts(&it.given.values));
                let keeps = values.any(|it| it == "equality");
                if is_needed && !keeps {
                    return refused(ResultCode::CONSTRAINT_VIOLATION);
                }
                self.settings.insert(name.to_owned(), keeps);
                Verdict::default()
            }
            other => panic!("a configuration change that the workload does not make: {other:?}"),
        }
    }

    /// Names of the entries below one.
    fn below(&self, name: &str) -> Vec<String> {
        let end = format!(",{name}");
        let names = self.entries.keys().filter(|it| it.ends_with(&end));
        names.cloned().collect()
    }

    /// Whether entries share a value that the rule lets only one entry have: they had it before the
    /// rule was added.
    pub fn shares_values(&self) -> bool {
        let mut entries = self.entries.iter();
        entries.any(|(name, entry)| self.is_held(name, &entry.attributes))
    }

    /// Whether another entry has a value that the rule lets only one entry have.
    fn is_held(&self, name: &str, attributes: &Attributes) -> bool {
        let Some(values) = attributes.get(SINGLE_VALUED) else {
            return false;
        };
        let mut others = self.entries.iter().filter(|it| it.0 != name);
        let held = |it: &Entry| {
            let held = it.attributes.get(SINGLE_VALUED);
            held.is_some_and(|it| !it.is_disjoint(values))
        };
        self.settings.contains_key(UNIQUE_RULE) && others.any(|it| held(it.1))
    }
}

fn change_values(
    held: &mut BTreeSet<String>,
    operation: ChangeOperation,
    mut values: impl Iterator<Item = String>,
) -> Option<ResultCode> {
    match operation {
        ChangeOperation::Add => {
            let taken = values.any(|it| !held.insert(it));
            taken.then_some(ResultCode::ATTRIBUTE_OR_VALUE_EXISTS)
        }
        ChangeOperation::Replace => {
            *held = values.collect();
            None
        }
        _ => {
            let wanted: Vec<String> = values.collect();
            let missing = held.is_empty() || wanted.iter().any(|it| !held.remove(it));
            if wanted.is_empty() {
                held.clear();
            }
            missing.then_some(ResultCode::NO_SUCH_ATTRIBUTE)
        }
    }
}

/// Reasons to refuse an entry with these attributes.
fn violations(attributes: &Attributes) -> Vec<ResultCode> {
    let has_class = |class: &str| attributes["objectclass"].contains(class);
    let (must, may): (&[&str], &[&str]) = match has_class("organizationalunit") {
        true => (&["ou"], &["description"]),
        false => (&["cn", "sn"], &["description", "title", SINGLE_VALUED]),
    };
    let mut reasons = Vec::new();
    if must.iter().any(|it| !attributes.contains_key(*it)) {
        reasons.push(ResultCode::OBJECT_CLASS_VIOLATION);
    }
    for (attribute, values) in attributes {
        let base = attribute.split(';').next().unwrap_or_default();
        if base != "objectclass" && !must.contains(&base) && !may.contains(&base) {
            reasons.push(ResultCode::OBJECT_CLASS_VIOLATION);
        }
        if base == SINGLE_VALUED && values.len() > 1 {
            reasons.push(ResultCode::CONSTRAINT_VIOLATION);
        }
    }
    reasons
}

fn spelled(schema: &Schema, description: &schema::Description) -> String {
    schema.spelled(description).to_ascii_lowercase()
}

fn texts(values: &[Vec<u8>]) -> impl Iterator<Item = String> + '_ {
    let texts = values.iter().map(|it| String::from_utf8_lossy(it));
    texts.map(|it| it.to_ascii_lowercase())
}

/// Type and value of the first RDN.
fn rdn(name: &str) -> (String, String) {
    let first = name.split(',').next().unwrap_or(name);
    let (naming, value) = first.split_once('=').expect("the workload made it");
    (naming.to_owned(), value.to_owned())
}

/// The DN of the superior; the workload's values have no comma.
pub(super) fn superior(name: &str) -> &str {
    name.split_once(',').map_or("", |it| it.1)
}
