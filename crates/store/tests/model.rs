//! Random writes compared with a simple model in memory: after each batch the tables agree with the
//! model and with each other, and every plan finds the entries that a scan finds.

#![allow(clippy::unwrap_used)]

mod kit;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use kit::*;
use store::{
    EntryId, Error, IndexKinds, IndexSet, Lookup, Reader, Region, RegionScope, SliceLimits, Store,
};

const ROUNDS: usize = 40;
const INDEXED: [&str; 5] = ["cn", "sn", "mail", "l", "uidNumber"];

/// The directory in its simplest form.
#[derive(Clone, Default, PartialEq, Debug)]
struct Model {
    entries: BTreeMap<EntryId, Entry>,
    /// Names of entries that are deleted and not reclaimed.
    detached: BTreeMap<EntryId, String>,
}

#[derive(Clone, PartialEq, Debug)]
struct Entry {
    parent: EntryId,
    rdn: String,
    attributes: Attributes,
}

impl Model {
    fn has_children(&self, id: EntryId) -> bool {
        self.entries.values().any(|it| it.parent == id)
    }

    fn dn(&self, id: EntryId) -> String {
        let entry = &self.entries[&id];
        match entry.parent {
            EntryId::ROOT => entry.rdn.clone(),
            parent => format!("{},{}", entry.rdn, self.dn(parent)),
        }
    }

    fn is_below(&self, mut id: EntryId, superior: EntryId) -> bool {
        while !id.is_root() {
            if id == superior {
                return true;
            }
            id = self.entries[&id].parent;
        }
        false
    }

    fn is_taken(&self, parent: EntryId, rdn: &str) -> bool {
        self.entries
            .values()
            .any(|it| it.parent == parent && it.rdn.eq_ignore_ascii_case(rdn))
    }

    fn any(&self, random: &mut Random) -> EntryId {
        let ids: Vec<_> = self.entries.keys().copied().collect();
        *random.of(&ids)
    }
}

struct Run {
    /// The reader lives across batches, so that its cache must be cleared in time.
    reader: Reader,
    store: Store,
    indexes: IndexSet,
    model: Model,
    random: Random,
}

#[test]
fn random_writes_agree_with_a_model() {
    for seed in seeds() {
        let _seed = Seed(seed);
        let folder = tempfile::tempdir().unwrap();
        let schema = schema();
        let equality = IndexKinds {
            equality: true,
            ..IndexKinds::NONE
        };
        let indexes = indexes(&schema, &[("cn", equality), ("objectClass", equality)]);
        let store = create(folder.path(), &indexes, 6);
        let (reader, random) = (store.reader().unwrap(), Random::new(seed));
        let mut run = Run {
            reader,
            store,
            indexes,
            model: Model::default(),
            random,
        };
        for round in 0..ROUNDS {
            run.batch();
            run.compare();
            if round % 13 == 12 {
                let Run {
                    reader,
                    store,
                    indexes,
                    model,
                    random,
                } = run;
                drop((reader, store));
                let store = reopen(folder.path());
                run = Run {
                    reader: store.reader().unwrap(),
                    store,
                    indexes,
                    model,
                    random,
                };
                run.compare();
            }
        }
    }
}

/// Prints the seed when a test fails.
struct Seed(u64);

impl Drop for Seed {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let mut text = std::io::stderr();
            writeln!(text, "repeat with STORE_SEED={}", self.0).unwrap_or_default();
        }
    }
}

/// Runs three seeds, or the one in `STORE_SEED` to repeat a failure.
fn seeds() -> Vec<u64> {
    match std::env::var("STORE_SEED").map(|it| it.parse()) {
        Ok(Ok(seed)) => vec![seed],
        _ => (1..=3).collect(),
    }
}

fn reopen(folder: &std::path::Path) -> Store {
    let options = store::StoreOptions {
        holders_max: 6,
        ..store::StoreOptions::default()
    };
    Store::open_with(folder, &options).unwrap()
}

impl Run {
    fn batch(&mut self) {
        let schema = self.indexes.schema.clone();
        let before = self.model.clone();
        let mut batch = self.store.begin(&self.indexes).unwrap();
        for _ in 0..1 + self.random.below(30) {
            let outcome = match self.random.below(12) {
                0..=4 => add(&mut batch, &schema, &mut self.model, &mut self.random),
                5 | 6 => modify(&mut batch, &schema, &mut self.model, &mut self.random),
                7 => rename(&mut batch, &schema, &mut self.model, &mut self.random),
                8 => delete(&mut batch, &schema, &mut self.model, &mut self.random),
                9 if self.random.chance(30) => {
                    detach(&mut batch, &schema, &mut self.model, &mut self.random)
                }
                10 => reclaim(&mut batch, &mut self.model, &mut self.random),
                _ => index(&mut batch, &mut self.random),
            };
            match outcome {
                Ok(()) | Err(Error::Conflict { .. }) => {}
                Err(error) => panic!("{error}"),
            }
        }
        if self.random.chance(10) {
            self.model = before;
        } else {
            batch.commit().unwrap();
        }
        let states = self
            .store
            .reader()
            .unwrap()
            .snapshot()
            .unwrap()
            .index_states()
            .unwrap();
        self.indexes = IndexSet::from_states(schema, &states);
    }

    fn compare(&mut self) {
        self.reader.reset();
        let snapshot = self.reader.snapshot().unwrap();
        assert_sound(&snapshot, &self.indexes);
        assert_eq!(
            snapshot.entry_count().unwrap(),
            (self.model.entries.len() + self.model.detached.len()) as u64
        );
        let visible = snapshot.entries_after(EntryId::ROOT);
        let visible: Vec<EntryId> = visible.map(|it| it.unwrap().0).collect();
        let expected: Vec<EntryId> = self.model.entries.keys().copied().collect();
        assert_eq!(visible, expected);
        for (id, dn) in &self.model.detached {
            assert!(snapshot.entry(*id).unwrap().is_none());
            let view = snapshot.stored_entry(*id).unwrap().unwrap();
            let mut text = Vec::new();
            snapshot.write_name(&view, &mut text).unwrap();
            assert_eq!(String::from_utf8(text).unwrap(), *dn);
        }
        let left = snapshot.next_detached(usize::MAX).unwrap();
        let left: BTreeSet<EntryId> = left.iter().map(|it| it.id).collect();
        assert_eq!(left, self.model.detached.keys().copied().collect());
        let schema = &self.indexes.schema;
        for (id, entry) in &self.model.entries {
            let view = snapshot.entry(*id).unwrap().expect("an entry of the model");
            assert_eq!(
                view.bytes(),
                row(schema, entry.parent, &entry.rdn, &entry.attributes)
            );
            let dn = self.model.dn(*id);
            let mut text = Vec::new();
            snapshot.write_name(&view, &mut text).unwrap();
            assert_eq!(String::from_utf8(text).unwrap(), dn);
            assert_eq!(
                snapshot.find(&name(schema, &dn)).unwrap(),
                Lookup::Found(*id)
            );
            let children = snapshot.children(*id).count() as u64;
            assert_eq!(snapshot.child_count(*id).unwrap(), children);
        }
        compare_searches(&snapshot, &self.indexes, &self.model, &mut self.random);
    }
}

fn compare_searches(
    snapshot: &store::Snapshot<'_>,
    indexes: &IndexSet,
    model: &Model,
    random: &mut Random,
) {
    if model.entries.is_empty() {
        return;
    }
    for _ in 0..20 {
        let scopes = [
            RegionScope::OneLevel,
            RegionScope::Subtree,
            RegionScope::Subordinates,
        ];
        let base = match random.chance(20) {
            true => EntryId::ROOT,
            false => model.any(random),
        };
        let region = Region {
            base,
            scope: *random.of(&scopes),
        };
        let text = random_filter(random, 2);
        let filter = filter(&indexes.schema, &text);
        let plan = store::plan(snapshot, indexes, &filter, &region).unwrap();
        let found = search(snapshot, indexes, &filter, &region);
        let expected = scan(snapshot, indexes, &filter, &region);
        assert_eq!(found, expected, "{text} {region:?}: {plan}");
    }
}

fn add(
    batch: &mut store::Batch<'_>,
    schema: &schema::Schema,
    model: &mut Model,
    random: &mut Random,
) -> Result<(), Error> {
    let parent = match model.entries.len() {
        0 => EntryId::ROOT,
        _ if random.chance(3) => EntryId::ROOT,
        _ => model.any(random),
    };
    let rdn = random_rdn(random);
    let attributes = random_attributes(random);
    let result = insert(batch, schema, parent, &rdn, &attributes);
    assert_eq!(result.is_ok(), !model.is_taken(parent, &rdn));
    model.entries.insert(
        result?,
        Entry {
            parent,
            rdn,
            attributes,
        },
    );
    Ok(())
}

fn modify(
    batch: &mut store::Batch<'_>,
    schema: &schema::Schema,
    model: &mut Model,
    random: &mut Random,
) -> Result<(), Error> {
    if model.entries.is_empty() {
        return Ok(());
    }
    let id = model.any(random);
    let entry = model.entries.get_mut(&id).unwrap();
    let mut attributes = random_attributes(random);
    for (text, values) in &entry.attributes {
        if random.chance(60) {
            attributes.insert(text.clone(), values.clone());
        }
    }
    batch.update(id, &row(schema, entry.parent, &entry.rdn, &attributes))?;
    entry.attributes = attributes;
    Ok(())
}

fn rename(
    batch: &mut store::Batch<'_>,
    schema: &schema::Schema,
    model: &mut Model,
    random: &mut Random,
) -> Result<(), Error> {
    if model.entries.is_empty() {
        return Ok(());
    }
    let (id, to) = (model.any(random), model.any(random));
    let entry = model.entries[&id].clone();
    if entry.parent.is_root() {
        return Ok(());
    }
    let parent = if random.chance(50) { to } else { entry.parent };
    let rdn = random_rdn(random);
    let (old, new) = (rdn_normal(schema, &entry.rdn), rdn_normal(schema, &rdn));
    let bytes = row(schema, parent, &rdn, &entry.attributes);
    let result = batch.rename(id, (entry.parent, &old), (parent, &new), &bytes);
    let same = parent == entry.parent && rdn.eq_ignore_ascii_case(&entry.rdn);
    let allowed = !model.is_below(parent, id) && (same || !model.is_taken(parent, &rdn));
    assert_eq!(result.is_ok(), allowed, "{result:?}");
    result?;
    model.entries.insert(
        id,
        Entry {
            parent,
            rdn,
            ..entry
        },
    );
    Ok(())
}

fn delete(
    batch: &mut store::Batch<'_>,
    schema: &schema::Schema,
    model: &mut Model,
    random: &mut Random,
) -> Result<(), Error> {
    if model.entries.is_empty() {
        return Ok(());
    }
    let id = model.any(random);
    let entry = &model.entries[&id];
    let normal = match entry.parent {
        EntryId::ROOT => name(schema, &entry.rdn).bytes().to_vec(),
        _ => rdn_normal(schema, &entry.rdn),
    };
    let result = batch.delete(id, (entry.parent, &normal));
    assert_eq!(result.is_ok(), !model.has_children(id));
    result?;
    model.entries.remove(&id);
    Ok(())
}

fn detach(
    batch: &mut store::Batch<'_>,
    schema: &schema::Schema,
    model: &mut Model,
    random: &mut Random,
) -> Result<(), Error> {
    if model.entries.is_empty() {
        return Ok(());
    }
    let id = model.any(random);
    let (entry, dn) = (&model.entries[&id], model.dn(id));
    let normal = match entry.parent {
        EntryId::ROOT => name(schema, &entry.rdn).bytes().to_vec(),
        _ => rdn_normal(schema, &entry.rdn),
    };
    let bytes = row(schema, EntryId::DETACHED, &dn, &entry.attributes);
    batch.detach(id, (entry.parent, &normal), &bytes)?;
    let all = model.entries.keys().copied();
    let gone: Vec<EntryId> = all.filter(|it| model.is_below(*it, id)).collect();
    for gone in gone {
        model.detached.insert(gone, model.dn(gone));
        assert!(batch.snapshot().entry(gone)?.is_none());
    }
    model
        .entries
        .retain(|id, _| !model.detached.contains_key(id));
    let found = batch.snapshot().find(&name(schema, &dn))?;
    assert!(matches!(found, Lookup::Missing { .. }));
    Ok(())
}

fn reclaim(
    batch: &mut store::Batch<'_>,
    model: &mut Model,
    random: &mut Random,
) -> Result<(), Error> {
    let most = 1 + random.below(8);
    let doomed = batch.snapshot().next_detached(most)?;
    assert_eq!(doomed.len(), most.min(model.detached.len()));
    for entry in doomed {
        batch.reclaim(&entry)?;
        model.detached.remove(&entry.id);
    }
    Ok(())
}

fn index(batch: &mut store::Batch<'_>, random: &mut Random) -> Result<(), Error> {
    if random.chance(10) {
        return batch.rebuild_index(INDEXED[random.below(INDEXED.len())]);
    }
    if random.chance(70) {
        batch.build_indexes(SliceLimits::entries(1 + random.below(50)))?;
        return Ok(());
    }
    let kinds = IndexKinds {
        equality: random.chance(70),
        presence: random.chance(50),
        substring: random.chance(50),
        ordering: random.chance(50),
        approximate: random.chance(50),
    };
    batch.set_index(INDEXED[random.below(INDEXED.len())], kinds)
}

fn random_rdn(random: &mut Random) -> String {
    let length = if random.chance(3) { 600 } else { 1 };
    format!("uid={}{}", "n".repeat(length), random.below(60))
}

fn random_value(random: &mut Random) -> String {
    let words = [
        "Anna",
        "anna",
        "Bob",
        "Carl Smith",
        "Smith",
        "o",
        "Schmidt",
        "x  y",
    ];
    (*random.of(&words)).to_owned()
}

fn random_attributes(random: &mut Random) -> Attributes {
    let mut attributes = attributes("objectClass: account");
    for text in ["cn", "cn;lang-de", "sn", "l", "description"] {
        if random.chance(40) {
            let values = (0..1 + random.below(3))
                .map(|_| random_value(random))
                .collect();
            attributes.insert(text.to_owned(), values);
        }
    }
    if random.chance(50) {
        let person = ["person", "inetOrgPerson", "account"];
        attributes.insert(
            "objectClass".to_owned(),
            vec![(*random.of(&person)).to_owned()],
        );
    }
    if random.chance(50) {
        let number = random.below(40) as i64 - 5;
        attributes.insert("uidNumber".to_owned(), vec![number.to_string()]);
    }
    if random.chance(30) {
        let mail = format!("{}@example.com", random.below(20));
        attributes.insert("mail".to_owned(), vec![mail]);
    }
    attributes
}

fn random_filter(random: &mut Random, depth: usize) -> String {
    if depth > 0 && random.chance(40) {
        let operator = random.of(&["&", "|", "!"]);
        let parts = if *operator == "!" {
            1
        } else {
            2 + random.below(2)
        };
        let parts: String = (0..parts)
            .map(|_| random_filter(random, depth - 1))
            .collect();
        return format!("({operator}{parts})");
    }
    let attribute = *random.of(&["cn", "sn", "l", "name", "cn;lang-de", "description"]);
    let value = random_value(random);
    match random.below(11) {
        0..=2 => format!("({attribute}={value})"),
        3 => format!("({attribute}=*)"),
        4 => format!("({attribute}=*{}*)", &value[..value.len().min(4)]),
        5 => format!("({attribute}={}*)", &value[..1]),
        6 => format!("({attribute}~={value})"),
        7 => format!("(uidNumber>={})", random.below(40) as i64 - 5),
        8 => format!("(uidNumber<={})", random.below(40) as i64 - 5),
        9 => format!("(objectClass={})", random.of(&["person", "account", "*"])),
        _ => format!("(mail={}@example.com)", random.below(20)),
    }
}
