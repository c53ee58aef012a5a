//! Look-ups in pages compared with LMDB's own, over trees of many shapes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::super::{
    Environment, EnvironmentOptions, Put, ReadTransaction, RowValues, Table, TableOptions,
    WriteTransaction,
};
use super::*;

const ITEM_BYTES: usize = 12;

fn open(folder: &Path) -> Arc<Environment> {
    let options = EnvironmentOptions {
        map_bytes: 1 << 28,
        readers_max: 8,
        tables_max: 4,
        no_sync: true,
        read_only: false,
    };
    Arc::new(Environment::open(&folder.join("test.mdb"), &options).unwrap())
}

fn plain_table(environment: &Arc<Environment>) -> Table {
    let mut write = WriteTransaction::begin(environment).unwrap();
    let table = write.open_table("t", TableOptions::Plain).unwrap();
    write.commit().unwrap();
    table
}

fn put_all<'r>(
    environment: &Arc<Environment>,
    table: Table,
    rows: impl Iterator<Item = (&'r [u8], Vec<u8>)>,
) {
    let mut write = WriteTransaction::begin(environment).unwrap();
    for (key, value) in rows {
        write.put(table, key, &value, Put::Upsert).unwrap();
    }
    write.commit().unwrap();
}

/// Looks a key up in both ways, and returns whether it exists.
#[track_caller]
fn check(read: &ReadTransaction, table: Table, key: &[u8]) -> bool {
    let asked = read.ask(table.handle, key).unwrap();
    let expected = asked.map_or(RowValues::Nothing, RowValues::Value);
    assert_eq!(read.find(table, key), Some(expected), "key {key:?}");
    asked.is_some()
}

/// Keys of up to 40 bytes, of few letters so that some are prefixes of others.
fn keys() -> impl Strategy<Value = BTreeSet<Vec<u8>>> {
    let letter = prop_oneof![Just(0), Just(1), Just(b'a'), Just(0xFF)];
    let short = prop::collection::vec(letter, 1..40);
    let long = prop::collection::vec(any::<u8>(), 1..40);
    prop::collection::btree_set(prop_oneof![short, long], 1..800)
}

fn runner(cases: u32) -> TestRunner {
    TestRunner::new(Config {
        cases,
        failure_persistence: None,
        ..Config::default()
    })
}

#[test]
fn any_keys() {
    let test = |(present, absent): (BTreeSet<Vec<u8>>, BTreeSet<Vec<u8>>)| {
        let folder = tempfile::tempdir().unwrap();
        let environment = open(folder.path());
        let table = plain_table(&environment);
        let rows = present.iter().map(|it| (it.as_slice(), vec![7; it.len()]));
        put_all(&environment, table, rows);
        let read = ReadTransaction::begin(&environment).unwrap();
        for key in present.iter() {
            prop_assert!(check(&read, table, key));
        }
        for key in absent.iter() {
            prop_assert_eq!(check(&read, table, key), present.contains(key));
        }
        Ok(())
    };
    runner(6).run(&(keys(), keys()), test).unwrap();
}

#[test]
fn ids_with_gaps_and_values_of_any_length() {
    let folder = tempfile::tempdir().unwrap();
    let environment = open(folder.path());
    let table = plain_table(&environment);
    // Keys are dense first, then ever sparser: guesses are right, near, and far off.
    let mut rows: BTreeMap<u64, Vec<u8>> = (1..3_000)
        .map(|it| (it, vec![it as u8; it as usize % 97]))
        .collect();
    rows.extend((12..60).map(|it| (1 << it, vec![it as u8; 1 << (it % 15)])));
    let keys: Vec<[u8; 8]> = rows.keys().map(|it| it.to_be_bytes()).collect();
    let values = rows.values().cloned();
    put_all(
        &environment,
        table,
        keys.iter().map(|it| &it[..]).zip(values),
    );
    let read = ReadTransaction::begin(&environment).unwrap();
    for id in rows.keys() {
        for near in [id - 1, *id, id + 1, id ^ 0x40, id * 3] {
            let there = check(&read, table, &near.to_be_bytes());
            assert_eq!(there, rows.contains_key(&near), "id {near}");
        }
    }
    check(&read, table, &u64::MAX.to_be_bytes());
}

#[test]
fn a_tree_that_changes() {
    let folder = tempfile::tempdir().unwrap();
    let environment = open(folder.path());
    let table = plain_table(&environment);
    let mut read = ReadTransaction::begin(&environment).unwrap();
    assert!(!check(&read, table, b"k"));
    for round in 0..40_u64 {
        let mut write = WriteTransaction::begin(&environment).unwrap();
        for step in 0..60 {
            let id = (round * 7_919 + step * 104_729) % 900;
            if (round + step) % 3 == 0 {
                write.delete(table, &id.to_be_bytes()).unwrap();
            } else {
                let value = vec![round as u8; (id * 31 % 6_000) as usize];
                write
                    .put(table, &id.to_be_bytes(), &value, Put::Upsert)
                    .unwrap();
            }
        }
        write.commit().unwrap();
        // The first round reads the old snapshot, the second the new one.
        for _ in 0..2 {
            for id in 0..900_u64 {
                check(&read, table, &id.to_be_bytes());
            }
            read.reset();
            assert_eq!(read.find(table, b"k"), None);
            read.renew().unwrap();
        }
    }
}

#[test]
fn items_of_a_key() {
    let folder = tempfile::tempdir().unwrap();
    let environment = open(folder.path());
    let mut write = WriteTransaction::begin(&environment).unwrap();
    let table = write
        .open_table("t", TableOptions::FixedDuplicates)
        .unwrap();
    // Key n has n items; large numbers of items get trees of their own.
    let item = |of: u16, at: u16| {
        let mut item = [0; ITEM_BYTES];
        item[..2].copy_from_slice(&at.to_be_bytes());
        item[10..].copy_from_slice(&of.to_be_bytes());
        item
    };
    for of in 1..400_u16 {
        for at in 0..of {
            write
                .put(table, &of.to_be_bytes(), &item(of, at), Put::Upsert)
                .unwrap();
        }
    }
    write.commit().unwrap();
    let read = ReadTransaction::begin(&environment).unwrap();
    let mut trees = 0;
    for of in 1..400_u16 {
        let expected: Vec<u8> = (0..of).flat_map(|at| item(of, at)).collect();
        match read.find(table, &of.to_be_bytes()) {
            Some(RowValues::Value(found)) if of == 1 => assert_eq!(found, expected),
            Some(RowValues::Items(found)) if of > 1 => assert_eq!(found, expected),
            Some(RowValues::Tree) if of > 100 => trees += 1,
            other => panic!("{of} items: {other:?}"),
        }
        // LMDB returns the first item, whatever the shape.
        let first = read.get(table, &of.to_be_bytes()).unwrap();
        assert_eq!(first, Some(&item(of, 0)[..]));
    }
    assert!((200..300).contains(&trees), "{trees}");
    assert_eq!(read.find(table, &[9, 9]), Some(RowValues::Nothing));
}

/// The pages of a file image.
fn image(bytes: &[u8]) -> Pages {
    Pages {
        base: bytes.as_ptr(),
        count: (bytes.len() / PAGE_BYTES) as u64,
    }
}

#[test]
fn damage_is_survived() {
    let folder = tempfile::tempdir().unwrap();
    let environment = open(folder.path());
    let table = plain_table(&environment);
    let ids: Vec<[u8; 8]> = (0..2_000_u64).map(u64::to_be_bytes).collect();
    let value = |id: &[u8; 8]| vec![id[7]; usize::from(id[7]) * 20];
    put_all(
        &environment,
        table,
        ids.iter().map(|it| (&it[..], value(it))),
    );
    drop(environment);
    let file = std::fs::read(folder.path().join("test.mdb")).unwrap();
    let pages = (file.len() / PAGE_BYTES) as u64;
    let test = |damage: Vec<(prop::sample::Index, usize, u8)>| {
        let mut file = file.clone();
        // Damage hits headers and node offsets, where it matters.
        for (page, at, byte) in damage {
            file[page.index(pages as usize) * PAGE_BYTES + at] = byte;
        }
        for root in 0..pages {
            let tree = Cell::new(Tree {
                root,
                depth: 2,
                leaf_count: 0,
            });
            for id in ids.iter().step_by(97) {
                // SAFETY: nobody changes the image, and it lives longer than what is found.
                let _ = unsafe { image(&file).find(&tree, id) };
            }
        }
        Ok(())
    };
    let damage = (any::<prop::sample::Index>(), 0..64_usize, any::<u8>());
    let damage = prop::collection::vec(damage, 0..60);
    runner(16).run(&damage, test).unwrap();
}
