//! Which attributes of the old server's entries are taken over, and what they are called here.

use super::entry::Entry;
use schema::Schema;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

/// What a server says about an entry without being told: it is computed here as well.
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

/// What the server keeps, but takes from an administrator under relaxed rules.
pub const KEPT: [&str; 10] = [
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

/// What is done with an attribute.
#[derive(Debug, Clone)]
enum Fate {
    Dropped,
    /// Taken over by an import only: an administrator cannot write it.
    Imported,
    Taken(Arc<str>),
    /// Taken over into the entry that says what others have in common.
    Collective(Arc<str>),
}

/// Attributes by canonical name, values in order.
pub type Attributes = BTreeMap<Arc<str>, Vec<Vec<u8>>>;

/// Attributes as tests write them.
#[cfg(test)]
pub fn attributes(all: &[(&str, &[&str])]) -> Attributes {
    let values = |it: &[&str]| it.iter().map(|it| it.as_bytes().to_vec()).collect();
    all.iter()
        .map(|(name, it)| ((*name).into(), values(it)))
        .collect()
}

/// The choice, remembered for each spelling.
#[derive(Debug, Clone)]
pub struct Keep {
    schema: Schema,
    /// Names in lower case of what is operational on the old server.
    operational_there: Arc<HashSet<String>>,
    known: HashMap<Box<str>, Fate>,
}

impl Keep {
    /// Under this node's schema.
    pub fn new(schema: Schema, operational_there: HashSet<String>) -> Keep {
        Keep {
            schema,
            operational_there: Arc::new(operational_there),
            known: HashMap::new(),
        }
    }

    /// The schema it goes by.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Whether an import takes an attribute. `is_source`: the entry is a collective attribute
    /// subentry.
    pub fn imports(&mut self, description: &str, is_source: bool) -> bool {
        match self.fate(description) {
            Fate::Dropped => false,
            Fate::Imported | Fate::Taken(_) => true,
            Fate::Collective(_) => is_source,
        }
    }

    /// The attributes that an administrator can write, by canonical name, values sorted.
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
                // The entry is refused with it: better than to lose it silently.
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
        } else if it.no_user_modification && !KEPT.iter().any(is) {
            Fate::Imported
        } else {
            Fate::Taken(spelled)
        }
    }
}
