//! Links compared with a simple model: the members of each set, from both sides, after any order of
//! changes, detachments and reclaiming; a bulk load makes the same database as single writes.

#![allow(clippy::unwrap_used)]

mod kit;

use kit::*;
use std::collections::{BTreeMap, BTreeSet};
use store::{
    Batch, BulkLoader, EntryBuilder, EntryId, IndexKinds, IndexSet, Place, Preparer, Snapshot,
    Store, StoreOptions,
};

/// Number of groups in the tests.
const GROUPS: u64 = 4;
/// Number of entries that can be members, some thousand so that chunks become bitmaps.
const PEOPLE: u64 = 3000;

fn linked_row(indexes: &IndexSet, rdn: &str, parent: EntryId, linked: bool) -> Vec<u8> {
    let mut builder = EntryBuilder::new(parent, rdn, 7);
    builder.set_links(linked);
    let class = number(&indexes.schema, "objectClass");
    let value: &[u8] = b"device";
    builder.user(class, "objectClass", std::iter::once(value));
    let mut out = Vec::new();
    builder.finish(&mut out);
    out
}

/// Adds a naming context, groups with ids from 2 on, and people behind them.
fn fill(indexes: &IndexSet, batch: &mut Batch<'_>) {
    let schema = &indexes.schema;
    let top = batch.next_id();
    let row = linked_row(indexes, "dc=example", EntryId::ROOT, false);
    batch
        .insert(top, EntryId::ROOT, name(schema, "dc=example").bytes(), &row)
        .unwrap();
    for at in 0..GROUPS + PEOPLE {
        let id = batch.next_id();
        let rdn = format!("cn={at}");
        let row = linked_row(indexes, &rdn, top, at < GROUPS);
        batch
            .insert(id, top, &rdn_normal(schema, &rdn), &row)
            .unwrap();
    }
}

fn group(at: u64) -> EntryId {
    EntryId(2 + at)
}

fn person(at: u64) -> EntryId {
    EntryId(2 + GROUPS + at)
}

#[derive(Default)]
struct Model {
    groups: BTreeMap<EntryId, BTreeSet<EntryId>>,
}

impl Model {
    fn assert(&self, snapshot: &Snapshot<'_>, indexes: &IndexSet, random: &mut Random) {
        assert_sound(snapshot, indexes);
        let sn = number(&indexes.schema, "sn");
        for at in 0..GROUPS {
            let id = group(at);
            let expected = self.groups.get(&id).cloned().unwrap_or_default();
            let sets = snapshot.linked_sets(id).unwrap();
            if expected.is_empty() {
                assert!(sets.is_empty());
                continue;
            }
            assert_eq!((sets.len(), sets[0].number), (1, sn));
            assert_eq!(sets[0].count, expected.len() as u64);
            let after = EntryId(random.below(PEOPLE as usize) as u64);
            let found: Vec<EntryId> = (snapshot.members_after(sets[0].set, after).unwrap())
                .map(|it| it.unwrap())
                .collect();
            let beyond: Vec<EntryId> = expected.iter().copied().filter(|it| *it > after).collect();
            assert_eq!(found, beyond);
            for _ in 0..20 {
                let who = person(random.below(PEOPLE as usize) as u64);
                let is_member = snapshot.has_member(sets[0].set, who).unwrap();
                assert_eq!(is_member, expected.contains(&who));
            }
        }
        for _ in 0..20 {
            let who = person(random.below(PEOPLE as usize) as u64);
            let mut holders: Vec<EntryId> = snapshot
                .holders_of(who)
                .unwrap()
                .iter()
                .map(|it| it.id)
                .collect();
            holders.sort_unstable();
            let expected = self.groups.iter().filter(|(_, it)| it.contains(&who));
            let expected: Vec<EntryId> = expected.map(|(id, _)| *id).collect();
            assert_eq!(holders, expected);
        }
    }
}

fn indexes_of_tests() -> IndexSet {
    let equality = IndexKinds {
        equality: true,
        ..IndexKinds::NONE
    };
    indexes(&schema(), &[("cn", equality), ("objectClass", equality)])
}

/// A store with groups and people.
struct Groups {
    _folder: tempfile::TempDir,
    indexes: IndexSet,
    /// Number of the attribute that has the members.
    sn: schema::AttributeNumber,
    store: Store,
}

impl Groups {
    fn without_members() -> Groups {
        let folder = tempfile::tempdir().unwrap();
        let indexes = indexes_of_tests();
        let sn = number(&indexes.schema, "sn");
        let store = create(folder.path(), &indexes, 6);
        let mut batch = store.begin(&indexes).unwrap();
        fill(&indexes, &mut batch);
        batch.commit().unwrap();
        Groups {
            _folder: folder,
            indexes,
            sn,
            store,
        }
    }
}

#[test]
fn random_links_agree_with_a_model() {
    for seed in 1..=3 {
        let made = Groups::without_members();
        let (indexes, sn, store) = (&made.indexes, made.sn, &made.store);
        let mut random = Random::new(seed);
        let mut model = Model::default();
        let mut reader = store.reader().unwrap();
        for _ in 0..60 {
            let mut batch = store.begin(indexes).unwrap();
            let id = group(random.below(GROUPS as usize) as u64);
            match random.below(10) {
                0 => {
                    if let Some(detached) = batch.detach_links(id, sn).unwrap() {
                        batch.clear_small(&detached).unwrap();
                    }
                    model.groups.remove(&id);
                }
                1 | 2 => {
                    batch.reclaim_links(1 + random.below(500) as u64).unwrap();
                }
                3 => {
                    let old = person(random.below(PEOPLE as usize) as u64);
                    let new = person(random.below(PEOPLE as usize) as u64);
                    let new = Some(new).filter(|it| *it != old && random.chance(50));
                    batch.replace_member(old, new, usize::MAX).unwrap();
                    for members in model.groups.values_mut() {
                        if members.remove(&old) {
                            members.extend(new);
                        }
                    }
                }
                _ => {
                    let most = [3, 50, 2500][random.below(3)];
                    let mut changes = BTreeMap::new();
                    let adds = random.chance(60);
                    for _ in 0..1 + random.below(most) {
                        let who = person(random.below(PEOPLE as usize) as u64);
                        changes.insert(who, adds || random.chance(10));
                    }
                    let members = model.groups.entry(id).or_default();
                    for (who, add) in &changes {
                        if *add {
                            members.insert(*who);
                        } else {
                            members.remove(who);
                        }
                    }
                    let changes: Vec<(EntryId, bool)> = changes.into_iter().collect();
                    batch.change_links(id, sn, &changes).unwrap();
                }
            }
            model.groups.retain(|_, it| !it.is_empty());
            let savepoint = batch.save().unwrap();
            batch
                .change_links(id, sn, &[(person(7), true), (person(8), false)])
                .unwrap();
            batch.detach_links(id, sn).unwrap();
            batch.roll_back(savepoint).unwrap();
            batch.commit().unwrap();
            reader.refresh().unwrap();
            model.assert(&reader.snapshot().unwrap(), indexes, &mut random);
        }
    }
}

#[test]
fn texts_are_shared_and_go_with_their_last_set() {
    let made = Groups::without_members();
    let (indexes, sn, store) = (&made.indexes, made.sn, &made.store);
    let mut batch = store.begin(indexes).unwrap();
    let text = batch.text_member(b"CN=Gone", b"cn=gone").unwrap();
    assert_eq!(batch.text_member(b"cn=gone", b"cn=gone").unwrap(), text);
    for at in 0..2 {
        batch.change_links(group(at), sn, &[(text, true)]).unwrap();
    }
    batch.commit().unwrap();
    let mut reader = store.reader().unwrap();
    let snapshot = reader.snapshot().unwrap();
    assert_sound(&snapshot, indexes);
    assert_eq!(snapshot.text(text).unwrap(), Some(&b"CN=Gone"[..]));
    assert_eq!(snapshot.holders_of(text).unwrap().len(), 2);
    let mut batch = store.begin(indexes).unwrap();
    batch
        .replace_member(text, Some(person(1)), usize::MAX)
        .unwrap();
    batch.commit().unwrap();
    reader.refresh().unwrap();
    let snapshot = reader.snapshot().unwrap();
    assert_sound(&snapshot, indexes);
    assert_eq!(snapshot.text_id(b"cn=gone").unwrap(), None);
    assert_eq!(snapshot.holders_of(person(1)).unwrap().len(), 2);
}

#[test]
fn the_sum_of_texts_is_kept_from_the_first_time_on() {
    let made = Groups::without_members();
    let (indexes, sn, store) = (&made.indexes, made.sn, &made.store);
    let mut batch = store.begin(indexes).unwrap();
    let sum = |batch: &store::Batch<'_>| batch.snapshot().texts_sum().unwrap();
    let add = |batch: &mut store::Batch<'_>, text: &str| {
        let id = batch.text_member(text.as_bytes(), b"cn=a").unwrap();
        batch.change_links(group(0), sn, &[(id, true)]).unwrap();
        id
    };
    let text = add(&mut batch, "CN=A");
    assert_eq!(sum(&batch), None, "nobody asked for it");
    batch.sum_texts().unwrap();
    let one = sum(&batch).unwrap();
    let savepoint = batch.save().unwrap();
    batch.change_links(group(0), sn, &[(text, false)]).unwrap();
    assert_eq!(sum(&batch), Some(0));
    let other = add(&mut batch, "cn=A");
    let changed = sum(&batch).unwrap();
    assert_ne!((changed, other), (one, text));
    batch.sum_texts().unwrap();
    assert_eq!(sum(&batch), Some(changed), "computed anew");
    batch.roll_back(savepoint).unwrap();
    assert_eq!(sum(&batch), Some(one));
    batch.commit().unwrap();
    let mut reader = store.reader().unwrap();
    assert_sound(&reader.snapshot().unwrap(), indexes);
    let mut batch = store.begin(indexes).unwrap();
    batch.put_meta(b"texts", &[7; 16]).unwrap();
    batch.commit().unwrap();
    reader.refresh().unwrap();
    let report = store::check(&reader.snapshot().unwrap(), indexes, &mut |_| {});
    let report = format!("{:?}", report.unwrap());
    assert!(report.contains("the sum of the texts"), "{report}");
}

#[test]
fn an_entry_that_goes_leaves_its_members() {
    let made = Groups::without_members();
    let (indexes, sn, store) = (&made.indexes, made.sn, &made.store);
    let mut batch = store.begin(indexes).unwrap();
    let members: Vec<(EntryId, bool)> = (0..2500).map(|at| (person(at), true)).collect();
    batch.change_links(group(0), sn, &members).unwrap();
    let rdn = rdn_normal(&indexes.schema, "cn=0");
    batch.delete(group(0), (EntryId(1), &rdn)).unwrap();
    batch.commit().unwrap();
    let mut reader = store.reader().unwrap();
    let snapshot = reader.snapshot().unwrap();
    assert_sound(&snapshot, indexes);
    assert!(snapshot.holders_of(person(1)).unwrap().is_empty());
    assert!(snapshot.detached_set().unwrap().is_some());
    let mut batch = store.begin(indexes).unwrap();
    let mut left = 0;
    while batch.snapshot().detached_set().unwrap().is_some() {
        left += batch.reclaim_links(700).unwrap();
    }
    assert!(left >= 2500);
    batch.commit().unwrap();
    reader.refresh().unwrap();
    let snapshot = reader.snapshot().unwrap();
    assert_sound(&snapshot, indexes);
    assert_eq!(snapshot.detached_set().unwrap(), None);
}

/// The load runs once in memory, and once with a sorted run for each group.
#[test]
fn a_bulk_load_makes_the_same_links() {
    [usize::MAX, 1].into_iter().for_each(bulk_load_within);
}

fn bulk_load_within(memory: usize) {
    let indexes = indexes_of_tests();
    let schema = &indexes.schema;
    let sn = number(schema, "sn");
    let folder = tempfile::tempdir().unwrap();
    let options = StoreOptions::default();
    let mut loader = BulkLoader::create_with(folder.path(), &indexes, &options).unwrap();
    loader.limit_memory(memory, None);
    loader.put_dictionary(&schema.dictionary_rows()).unwrap();
    let mut preparer = Preparer::new(&indexes);
    let row = linked_row(&indexes, "dc=example", EntryId::ROOT, false);
    preparer
        .add(name(schema, "dc=example").bytes(), &row)
        .unwrap();
    let mut places = vec![Some(Place {
        id: EntryId(1),
        parent: EntryId::ROOT,
    })];
    for at in 0..GROUPS + PEOPLE {
        let rdn = format!("cn={at}");
        let row = linked_row(&indexes, &rdn, EntryId(1), at < GROUPS);
        preparer.add(&rdn_normal(schema, &rdn), &row).unwrap();
        places.push(Some(Place {
            id: EntryId(2 + at),
            parent: EntryId(1),
        }));
    }
    loader.append(&preparer.take(), &places).unwrap();
    let mut model = Model::default();
    for at in 0..3 {
        let step = [1, 7, 1000][at as usize];
        let mut members: Vec<EntryId> = (0..PEOPLE)
            .rev()
            .filter(|it| it % step == 0)
            .map(person)
            .collect();
        model
            .groups
            .insert(group(at), members.iter().copied().collect());
        loader.add_links(group(at), sn, &mut members).unwrap();
    }
    // Links obey the memory limit as keys do.
    let sorting = folder.path().join("sorting");
    assert_eq!(sorting.join("links-2").exists(), memory == 1);
    assert_eq!(sorting.join("sets-2").exists(), memory == 1);
    let text = loader.add_text(b"cn=Gone", b"cn=gone");
    loader.add_links(group(3), sn, &mut vec![text]).unwrap();
    model.groups.insert(group(3), [text].into());
    let loaded = loader.finish().unwrap();
    let left = std::fs::read_dir(sorting).map_or(0, Iterator::count);
    assert_eq!(left, 0);
    let store = Store::open(folder.path()).unwrap();
    let mut reader = store.reader().unwrap();
    let snapshot = reader.snapshot().unwrap();
    assert_eq!(snapshot.digest().unwrap(), loaded.digest);
    let mut random = Random::new(1);
    model.assert(&snapshot, &indexes, &mut random);
    assert_eq!(snapshot.text_id(b"cn=gone").unwrap(), Some(text));
}
