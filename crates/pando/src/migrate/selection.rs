//! Selects the attributes that a migration copies, and their names on the node.

use super::accounts::{self, Tally};
use super::entry::Entry;
use schema::Schema;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

/// Attributes that any server computes, so they are not copied.
const COMPUTED: [&str; 13] = [
    "contextCSN",
    "entryCSN",
    "entryDN",
    "etag",
    "governingStructureRule",
    "hasSubordinates",
    "isMemberOf",
    "memberOf",
    "numSubordinates",
    "pandoIndexState",
    "structuralObjectClass",
    "structuralSubschemaSubentry",
    "subschemaSubentry",
];

/// Operational attributes that an administrator may set under relaxed rules.
pub const RELAXED: [&str; 10] = [
    "createTimestamp",
    "creatorsName",
    "entryUUID",
    "modifiersName",
    "modifyTimestamp",
    "pwdChangedTime",
    "pwdFailureTime",
    "pwdGraceUseTime",
    "pwdHistory",
    "pwdLastSuccess",
];

/// Treatment of an attribute.
#[derive(Debug, Clone)]
enum Fate {
    Dropped,
    /// Copied by an import only, because an administrator cannot write it.
    Imported,
    Taken(Arc<str>),
    /// Copied into a collective attribute subentry.
    Collective(Arc<str>),
}

/// Attributes by canonical name, values in order.
pub type Attributes = BTreeMap<Arc<str>, Vec<Vec<u8>>>;

/// Attributes for tests.
#[cfg(test)]
pub fn attributes(all: &[(&str, &[&str])]) -> Attributes {
    let values = |it: &[&str]| it.iter().map(|it| it.as_bytes().to_vec()).collect();
    all.iter()
        .map(|(name, it)| ((*name).into(), values(it)))
        .collect()
}

/// The selection, cached by spelling.
#[derive(Debug, Clone)]
pub struct Selection {
    schema: Schema,
    /// Lower-case names of the old server's operational attributes.
    operational_there: Arc<HashSet<String>>,
    /// Password state of 389 Directory Server and OpenDJ that came.
    tally: Tally,
    known: HashMap<Box<str>, Fate>,
}

impl Selection {
    /// The selection under this node's schema.
    pub fn new(schema: Schema, operational_there: HashSet<String>) -> Selection {
        Selection {
            schema,
            operational_there: Arc::new(operational_there),
            tally: Tally::default(),
            known: HashMap::new(),
        }
    }

    /// The schema.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// The count of password state that was translated, shared with copies of this selection.
    pub fn tally(&self) -> Tally {
        self.tally.clone()
    }

    /// An entry of the old server, with the password state that the node understands; `None` if it
    /// has none to translate. `names` are the descriptions of its attributes.
    pub fn carry<'n>(
        &self,
        names: impl IntoIterator<Item = &'n str>,
        entry: impl FnOnce() -> Entry,
    ) -> Option<Entry> {
        let concerned = accounts::concerns(names);
        concerned.then(|| accounts::carry(&entry(), &self.operational_there, &self.tally))
    }

    /// The attributes of an entry of the old server as [`Selection::writable`] gives those of the
    /// node's.
    pub fn wanted(&mut self, entry: &Entry) -> Attributes {
        let names = entry.attributes.iter().map(|(name, _)| name.as_str());
        match self.carry(names, || entry.clone()) {
            Some(carried) => self.writable(&carried),
            None => self.writable(entry),
        }
    }

    /// Whether an import copies an attribute. `is_source` says that the entry is a collective
    /// attribute subentry.
    pub fn imports(&mut self, description: &str, is_source: bool) -> bool {
        match self.fate(description) {
            Fate::Dropped => false,
            Fate::Imported | Fate::Taken(_) => true,
            Fate::Collective(_) => is_source,
        }
    }

    /// The attributes that an administrator can write, by canonical name with sorted values.
    pub fn writable(&mut self, entry: &Entry) -> Attributes {
        let is_source = entry.is_a("collectiveAttributeSubentry");
        let mut taken = Attributes::new();
        for (description, values) in &entry.attributes {
            let name = match self.fate(description) {
                Fate::Taken(name) => name,
                Fate::Collective(name) if is_source => name,
                _ => continue,
            };
            if !values.is_empty() {
                taken
                    .entry(name)
                    .or_default()
                    .extend(values.iter().cloned());
            }
        }
        taken.values_mut().for_each(|values| values.sort_unstable());
        taken
    }

    fn fate(&mut self, description: &str) -> Fate {
        if let Some(fate) = self.known.get(description) {
            return fate.clone();
        }
        let fate = self.decide(description);
        self.known.insert(description.into(), fate.clone());
        fate
    }

    fn decide(&self, description: &str) -> Fate {
        let Ok(resolved) = self.schema.describe(description) else {
            let name = description.split(';').next().unwrap_or_default();
            return match self.operational_there.contains(&name.to_lowercase()) {
                true => Fate::Dropped,
                // The entry will be rejected because of this attribute, which is better than losing
                // the attribute silently.
                false => Fate::Taken(description.into()),
            };
        };
        let it = self.schema.type_of(resolved.type_id);
        let is = |name: &&str| name.eq_ignore_ascii_case(it.name());
        let spelled: Arc<str> = self.schema.spelled(&resolved).into();
        if COMPUTED.iter().any(is) {
            Fate::Dropped
        } else if it.collective {
            Fate::Collective(spelled)
        } else if it.no_user_modification && !RELAXED.iter().any(is) {
            Fate::Imported
        } else {
            Fate::Taken(spelled)
        }
    }
}
