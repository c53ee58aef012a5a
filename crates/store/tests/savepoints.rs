//! Savepoints: a rollback leaves no trace, and a released savepoint is as if never set. Random
//! steps run on two databases, with savepoints and without, which must agree.

#![allow(clippy::unwrap_used)]

mod kit;

use kit::*;
use std::path::Path;
use store::{Batch, EntryId, IndexKinds, IndexSet, Lookup, Snapshot, Store};

const EVERY_KIND: IndexKinds = IndexKinds {
    equality: true,
    presence: true,
    substring: true,
    ordering: true,
    approximate: true,
};

fn empty(folder: &Path) -> (Store, IndexSet) {
    let schema = schema();
    let indexes = indexes(&schema, &[("cn", EVERY_KIND), ("uid", EVERY_KIND)]);
    let store = create(folder, &indexes, 4);
    let mut batch = store.begin(&indexes).unwrap();
    let top = attributes("objectClass: domain; dc: example");
    insert(&mut batch, &schema, EntryId::ROOT, "dc=example", &top).unwrap();
    batch.commit().unwrap();
    (store, indexes)
}

/// Adds, changes, renames or deletes `uid=NUMBER` below the top entry, depending on the state.
fn step(batch: &mut Batch<'_>, indexes: &IndexSet, number: usize, random: &mut Random) {
    let schema = &indexes.schema;
    let top = EntryId(1);
    let rdn = format!("uid={number}");
    let choice = random.below(4);
    let cn = random.of(&["Anna", "Bob", "Carla Smith", "Dora"]);
    let entry = attributes(&format!("objectClass: account; uid: {number}; cn: {cn}"));
    let found = batch.snapshot().child(top, &rdn_normal(schema, &rdn));
    match (found.unwrap(), choice) {
        (None, _) => {
            insert(batch, schema, top, &rdn, &entry).unwrap();
        }
        (Some(id), 0) => {
            let name = rdn_normal(schema, &rdn);
            batch.delete(id, (top, &name)).unwrap();
        }
        (Some(id), 1) => {
            let other = format!("uid={}", number + 1_000);
            let (old, new) = (rdn_normal(schema, &rdn), rdn_normal(schema, &other));
            let row = row(schema, top, &other, &entry);
            // If the new name is taken, nothing changes.
            let _ = batch.rename(id, (top, &old), (top, &new), &row);
        }
        (Some(id), _) => batch.update(id, &row(schema, top, &rdn, &entry)).unwrap(),
    }
}

fn state(snapshot: &Snapshot<'_>) -> (u128, u64) {
    (snapshot.digest().unwrap(), snapshot.entry_count().unwrap())
}

#[test]
fn what_is_rolled_back_never_was() {
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let (with, indexes) = empty(folders[0].path());
    let (without, _) = empty(folders[1].path());
    let mut random = Random::new(5);
    for _ in 0..20 {
        let mut batch = with.begin(&indexes).unwrap();
        let mut plain = without.begin(&indexes).unwrap();
        for _ in 0..10 {
            let (seed, back) = (random.next(), random.chance(50));
            let savepoint = batch.save().unwrap();
            let mut same = Random::new(seed);
            for _ in 0..10 {
                step(&mut batch, &indexes, same.below(60), &mut same);
            }
            if back {
                batch.roll_back(savepoint).unwrap();
            } else {
                batch.release(savepoint).unwrap();
                let mut same = Random::new(seed);
                for _ in 0..10 {
                    step(&mut plain, &indexes, same.below(60), &mut same);
                }
            }
            assert_eq!(state(&batch.snapshot()), state(&plain.snapshot()));
        }
        batch.commit().unwrap();
        plain.commit().unwrap();
    }
    let (mut one, mut other) = (with.reader().unwrap(), without.reader().unwrap());
    let (one, other) = (one.snapshot().unwrap(), other.snapshot().unwrap());
    assert_sound(&one, &indexes);
    assert_eq!(state(&one), state(&other));
    let bob = filter(&indexes.schema, "(cn=bob)");
    let below = subtree(EntryId(1));
    assert_eq!(
        search(&one, &indexes, &bob, &below),
        search(&other, &indexes, &bob, &below)
    );
}

#[test]
fn savepoints_nest_and_end_with_the_batch() {
    let folder = tempfile::tempdir().unwrap();
    let (store, indexes) = empty(folder.path());
    let schema = &indexes.schema;
    let add = |batch: &mut Batch<'_>, uid: &str| {
        let entry = attributes(&format!("objectClass: account; uid: {uid}"));
        insert(batch, schema, EntryId(1), &format!("uid={uid}"), &entry).unwrap();
    };
    let mut batch = store.begin(&indexes).unwrap();
    add(&mut batch, "a");
    let outer = batch.save().unwrap();
    add(&mut batch, "b");
    let inner = batch.save().unwrap();
    add(&mut batch, "c");
    batch.roll_back(inner).unwrap();
    batch.release(outer).unwrap();
    let _open = batch.save().unwrap();
    add(&mut batch, "d");
    batch.commit().unwrap();
    let mut batch = store.begin(&indexes).unwrap();
    let _lost = batch.save().unwrap();
    add(&mut batch, "e");
    drop(batch);
    let mut reader = store.reader().unwrap();
    let snapshot = reader.snapshot().unwrap();
    assert_sound(&snapshot, &indexes);
    let there = |uid: &str| {
        let name = name(schema, &format!("uid={uid},dc=example"));
        matches!(snapshot.find(&name).unwrap(), Lookup::Found(_))
    };
    let found: Vec<bool> = ["a", "b", "c", "d", "e"].map(there).to_vec();
    assert_eq!(found, [true, true, false, true, false]);
}
