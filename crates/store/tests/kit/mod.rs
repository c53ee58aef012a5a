//! Shared parts of the store's tests: a schema with numbers, entries in one line, random choices.
#![allow(dead_code)]

use std::collections::BTreeMap;
use std::path::Path;

use schema::{AttributeNumber, Description, Filter, Name, Schema, Truth};
use store::{
    Batch, Candidates, EntryBuilder, EntryId, IndexDefinition, IndexKinds, IndexSet, Region,
    RegionScope, Snapshot, Store, StoreOptions,
};

/// Attributes with their values, as spelled in a test.
pub type Attributes = BTreeMap<String, Vec<String>>;

/// The attribute descriptions of the tests, numbered in this order.
pub const USED: [&str; 12] = [
    "objectClass",
    "cn",
    "sn",
    "uid",
    "mail",
    "description",
    "l",
    "uidNumber",
    "cn;lang-de",
    "dc",
    "ou",
    "createTimestamp",
];

/// Returns the standard schema with numbers for [`USED`].
pub fn schema() -> Schema {
    let mut schema = Schema::standard();
    for text in USED {
        let description = schema.describe(text).expect("a standard attribute");
        schema = schema
            .with_number(&description)
            .expect("room in the dictionary")
            .0;
    }
    schema
}

/// Returns complete indexes on attributes.
pub fn indexes(schema: &Schema, definitions: &[(&str, IndexKinds)]) -> IndexSet {
    let definitions = definitions
        .iter()
        .map(|(attribute, kinds)| IndexDefinition {
            type_id: schema
                .attribute_type(attribute)
                .expect("a standard attribute"),
            attribute: (*attribute).to_owned(),
            kinds: *kinds,
            ready: true,
        });
    IndexSet {
        schema: schema.clone(),
        definitions: definitions.collect(),
    }
}

pub fn number(schema: &Schema, text: &str) -> AttributeNumber {
    let description: Description = schema.describe(text).expect("a known attribute");
    schema
        .number(&description)
        .expect("an attribute with a number")
}

/// Returns an entry row.
pub fn row(schema: &Schema, parent: EntryId, rdn: &str, attributes: &Attributes) -> Vec<u8> {
    let mut builder = EntryBuilder::new(parent, rdn, 7);
    for (text, values) in attributes {
        let values = values.iter().map(|it| it.as_bytes());
        if text == "createTimestamp" {
            builder.operational(number(schema, text), text, values);
        } else {
            builder.user(number(schema, text), text, values);
        }
    }
    let mut out = Vec::new();
    builder.finish(&mut out);
    out
}

/// Parses `"cn: Bob; mail: a@b; mail: c@d"` into attributes.
pub fn attributes(text: &str) -> Attributes {
    let mut attributes = Attributes::new();
    for line in text.split(';').filter(|it| !it.trim().is_empty()) {
        let (name, value) = line.split_once(':').expect("name: value");
        let name = name.trim().replace("_lang", ";lang");
        attributes
            .entry(name)
            .or_default()
            .push(value.trim().to_owned());
    }
    attributes
}

pub fn rdn_normal(schema: &Schema, rdn: &str) -> Vec<u8> {
    schema.resolve_rdn(rdn).expect("a valid RDN").normal
}

pub fn name(schema: &Schema, dn: &str) -> Name {
    schema.resolve_name(dn).expect("a valid DN")
}

/// Makes an empty store with the dictionary and the indexes.
pub fn create(folder: &Path, indexes: &IndexSet, holders_max: u32) -> Store {
    let options = StoreOptions {
        holders_max,
        ..StoreOptions::default()
    };
    let store = Store::create_with(folder, &options).expect("an empty folder");
    let mut batch = store.begin(indexes).expect("a batch");
    batch
        .put_dictionary(&indexes.schema.dictionary_rows())
        .expect("room");
    for definition in &indexes.definitions {
        batch
            .set_index(&definition.attribute, definition.kinds)
            .expect("room");
    }
    batch.commit().expect("room");
    store
}

/// Adds an entry below `parent`.
pub fn insert(
    batch: &mut Batch<'_>,
    schema: &Schema,
    parent: EntryId,
    rdn: &str,
    attributes: &Attributes,
) -> Result<EntryId, store::Error> {
    let normal = if parent.is_root() {
        name(schema, rdn).bytes().to_vec()
    } else {
        rdn_normal(schema, rdn)
    };
    let id = batch.next_id();
    batch.insert(id, parent, &normal, &row(schema, parent, rdn, attributes))?;
    Ok(id)
}

pub fn filter(schema: &Schema, text: &str) -> Filter {
    let ber = protocol::parse_filter(text).expect("a valid filter");
    let mut reader = protocol::ber::Reader::new(&ber);
    let given = protocol::Filter::decode(&mut reader, 32).expect("a valid filter");
    schema.resolve_filter(&given)
}

pub fn subtree(base: EntryId) -> Region {
    Region {
        base,
        scope: RegionScope::Subtree,
    }
}

/// Returns the ids of matching entries, found by a plan.
pub fn search(
    snapshot: &Snapshot<'_>,
    indexes: &IndexSet,
    filter: &Filter,
    region: &Region,
) -> Vec<EntryId> {
    let plan = store::plan(snapshot, indexes, filter, region).expect("a sound index");
    let candidates = snapshot
        .candidates(&plan, EntryId::ROOT)
        .expect("a sound index");
    matching(snapshot, indexes, filter, region, &candidates)
}

/// Returns the ids of matching entries, found by evaluating the filter on every entry.
pub fn scan(
    snapshot: &Snapshot<'_>,
    indexes: &IndexSet,
    filter: &Filter,
    region: &Region,
) -> Vec<EntryId> {
    matching(snapshot, indexes, filter, region, &Candidates::Scan)
}

fn matching(
    snapshot: &Snapshot<'_>,
    indexes: &IndexSet,
    filter: &Filter,
    region: &Region,
    candidates: &Candidates,
) -> Vec<EntryId> {
    let mut scratch = Vec::new();
    let entries = candidates.entries_after(*snapshot, EntryId::ROOT);
    entries
        .map(|it| it.expect("a sound entry"))
        .filter(|(id, view)| {
            snapshot.is_within(*id, view, region).expect("sound names")
                && filter.evaluate(&indexes.schema, view, &mut scratch) == Truth::True
        })
        .map(|(id, _)| id)
        .collect()
}

/// Fails with the problems of a check, if any.
pub fn assert_sound(snapshot: &Snapshot<'_>, indexes: &IndexSet) {
    let report = store::check(snapshot, indexes, &mut |_| {}).expect("a readable database");
    assert_eq!(report.problems, Vec::<String>::new());
}

/// Random numbers, repeatable by a seed (xorshift).
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 16
    }

    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    pub fn of<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.below(choices.len())]
    }

    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
}
