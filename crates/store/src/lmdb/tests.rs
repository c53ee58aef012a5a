//! Tests of the wrapper.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;

use super::*;

fn open(folder: &std::path::Path) -> Arc<Environment> {
    let options = EnvironmentOptions {
        map_bytes: 1 << 24,
        readers_max: 8,
        tables_max: 4,
        no_sync: false,
        read_only: false,
    };
    Arc::new(Environment::open(&folder.join("test.mdb"), &options).unwrap())
}

#[test]
fn a_snapshot_stays_until_it_is_renewed() {
    let folder = tempfile::tempdir().unwrap();
    let environment = open(folder.path());
    let mut write = WriteTransaction::begin(&environment).unwrap();
    let table = write.open_table("t", TableOptions::Plain).unwrap();
    write.put(table, b"k", b"old", Put::Upsert).unwrap();
    write.commit().unwrap();
    let mut read = ReadTransaction::begin(&environment).unwrap();
    let mut write = WriteTransaction::begin(&environment).unwrap();
    write
        .put_parts(table, b"k", &[b"n", b"", b"ew"], Put::Upsert)
        .unwrap();
    assert!(!write.put_new(table, b"k", b"other").unwrap());
    assert_eq!(write.get(table, b"k").unwrap(), Some(&b"new"[..]));
    write.commit().unwrap();
    assert_eq!(read.get(table, b"k").unwrap(), Some(&b"old"[..]));
    let before = read.id();
    read.reset();
    assert!(read.get(table, b"k").is_err());
    read.renew().unwrap();
    assert_eq!(read.get(table, b"k").unwrap(), Some(&b"new"[..]));
    assert!(read.id() > before);
    assert_eq!(read.get(table, b"none").unwrap(), None);
}

#[test]
fn cursors_find_rows_and_items_and_are_used_again() {
    let folder = tempfile::tempdir().unwrap();
    let environment = open(folder.path());
    let mut write = WriteTransaction::begin(&environment).unwrap();
    let table = write
        .open_table("t", TableOptions::FixedDuplicates)
        .unwrap();
    for key in [b"a", b"c"] {
        for item in 1..=200_u8 {
            write
                .put(table, key, &[item, 7], Put::AppendDuplicate)
                .unwrap();
        }
    }
    write.put(table, b"b", &[9, 9], Put::Upsert).unwrap();
    write.put(table, b"b", &[9, 9], Put::Upsert).unwrap();
    write.commit().unwrap();
    let mut read = ReadTransaction::begin(&environment).unwrap();
    for _ in 0..3 {
        {
            let mut cursor = read.cursor(table).unwrap();
            assert_eq!(
                cursor.seek_item(b"a", &[100, 0]).unwrap(),
                Some(&[100, 7][..])
            );
            assert_eq!(cursor.item_count().unwrap(), 200);
            assert_eq!(cursor.next_duplicate().unwrap().unwrap().1, [101, 7]);
            assert_eq!(cursor.seek_item(b"a", &[200, 8]).unwrap(), None);
            assert_eq!(cursor.seek_item(b"b", &[1, 0]).unwrap(), Some(&[9, 9][..]));
            assert_eq!(cursor.next_duplicate().unwrap(), None);
            assert_eq!(cursor.seek_item(b"bb", &[0, 0]).unwrap(), None);
            assert_eq!(cursor.seek(b"bb").unwrap(), Some((&b"c"[..], &[1, 7][..])));
            assert_eq!(cursor.previous().unwrap(), Some((&b"b"[..], &[9, 9][..])));
            assert_eq!(cursor.last().unwrap(), Some((&b"c"[..], &[200, 7][..])));
            assert_eq!(cursor.next().unwrap(), None);
            // A second cursor is open beside the first.
            let mut other = read.cursor(table).unwrap();
            assert_eq!(other.next().unwrap(), Some((&b"a"[..], &[1, 7][..])));
        }
        read.reset();
        read.renew().unwrap();
    }
    let mut write = WriteTransaction::begin(&environment).unwrap();
    assert!(write.delete_item(table, b"a", &[1, 7]).unwrap());
    assert!(!write.delete_item(table, b"a", &[1, 7]).unwrap());
    assert!(write.delete(table, b"c").unwrap());
    assert_eq!(write.statistics(table).unwrap().rows, 200);
    drop(write);
    assert_eq!(read.statistics(table).unwrap().rows, 401);
}

#[test]
fn a_full_map_is_told_apart_and_passes() {
    let folder = tempfile::tempdir().unwrap();
    let environment = open(folder.path());
    let mut write = WriteTransaction::begin(&environment).unwrap();
    let table = write.open_table("t", TableOptions::Plain).unwrap();
    write.put(table, b"small", b"1", Put::Upsert).unwrap();
    write.commit().unwrap();
    let mut write = WriteTransaction::begin(&environment).unwrap();
    let big = vec![1; 1 << 25];
    assert!(matches!(
        write.put(table, b"big", &big, Put::Upsert),
        Err(Error::Full)
    ));
    drop(write);
    let mut write = WriteTransaction::begin(&environment).unwrap();
    write.put(table, b"small", b"2", Put::Upsert).unwrap();
    write.commit().unwrap();
    let read = ReadTransaction::begin(&environment).unwrap();
    assert_eq!(read.get(table, b"small").unwrap(), Some(&b"2"[..]));
}

#[test]
fn a_reader_moves_to_another_thread() {
    let folder = tempfile::tempdir().unwrap();
    let environment = open(folder.path());
    let mut write = WriteTransaction::begin(&environment).unwrap();
    let table = write.open_table("t", TableOptions::Plain).unwrap();
    write.put(table, b"k", b"v", Put::Upsert).unwrap();
    write.commit().unwrap();
    let read = ReadTransaction::begin(&environment).unwrap();
    drop(read.cursor(table).unwrap());
    std::thread::spawn(move || {
        assert_eq!(
            read.cursor(table).unwrap().next().unwrap(),
            Some((&b"k"[..], &b"v"[..]))
        );
    })
    .join()
    .unwrap();
}

#[test]
fn readers_and_free_pages_are_known() {
    let folder = tempfile::tempdir().unwrap();
    let environment = open(folder.path());
    let mut write = WriteTransaction::begin(&environment).unwrap();
    let table = write.open_table("t", TableOptions::Plain).unwrap();
    for key in 0..400_u16 {
        let row = [7; 1000];
        write
            .put(table, &key.to_be_bytes(), &row, Put::Append)
            .unwrap();
    }
    write.commit().unwrap();
    assert_eq!(environment.readers().unwrap(), []);
    let old = ReadTransaction::begin(&environment).unwrap();
    let full = old.statistics(table).unwrap().pages;
    let mut write = WriteTransaction::begin(&environment).unwrap();
    for key in 0..399_u16 {
        assert!(write.delete(table, &key.to_be_bytes()).unwrap());
    }
    write.commit().unwrap();
    let mut new = ReadTransaction::begin(&environment).unwrap();
    assert_eq!(environment.newest().unwrap(), new.id());
    let process = std::process::id();
    let mut held = environment.readers().unwrap();
    held.sort_unstable();
    assert_eq!(held, [(process, old.id()), (process, new.id())]);
    let free = new.free_pages().unwrap();
    assert!(
        free + 1 >= full && free < full + 8,
        "{free} of {full} pages"
    );
    assert!(old.free_pages().unwrap() < 8);
    new.reset();
    assert_eq!(environment.readers().unwrap(), [(process, old.id())]);
}

/// A change of the row of a key in a write transaction.
#[derive(Debug, Clone)]
enum Step {
    Put(u16, u8),
    PutNew(u16, u8),
    Delete(u16),
    Save,
    Release,
    RollBack,
}

fn step() -> impl Strategy<Value = Step> {
    let key = 0..300_u16;
    prop_oneof![
        6 => (key.clone(), any::<u8>()).prop_map(|(key, value)| Step::Put(key, value)),
        2 => (key.clone(), any::<u8>()).prop_map(|(key, value)| Step::PutNew(key, value)),
        3 => key.prop_map(Step::Delete),
        1 => Just(Step::Save),
        1 => Just(Step::Release),
        1 => Just(Step::RollBack),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Rows that a write transaction has not changed come from the state before it, others from
    /// LMDB: together they are those of a map.
    #[test]
    fn a_write_transaction_reads_what_it_wrote_and_the_rest_as_it_was(
        batches in proptest::collection::vec(proptest::collection::vec(step(), 1..60), 1..6),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let environment = open(folder.path());
        let mut model = BTreeMap::<[u8; 2], u8>::new();
        for (at, steps) in batches.iter().enumerate() {
            let mut write = WriteTransaction::begin(&environment).unwrap();
            let table = write.open_table("t", TableOptions::Plain).unwrap();
            let mut now = model.clone();
            let mut saved = Vec::new();
            for step in steps {
                match step {
                    Step::Put(key, value) => {
                        let key = key.to_be_bytes();
                        write.put_parts(table, &key, &[&[*value], &[7; 40]], Put::Upsert).unwrap();
                        now.insert(key, *value);
                    }
                    Step::PutNew(key, value) => {
                        let key = key.to_be_bytes();
                        let new = write.put_new(table, &key, &[&[*value][..], &[7; 40]].concat());
                        prop_assert_eq!(new.unwrap(), !now.contains_key(&key));
                        now.entry(key).or_insert(*value);
                    }
                    Step::Delete(key) => {
                        let key = key.to_be_bytes();
                        let was = write.delete(table, &key).unwrap();
                        prop_assert_eq!(was, now.remove(&key).is_some());
                    }
                    Step::Save => {
                        write.save().unwrap();
                        saved.push(now.clone());
                    }
                    Step::Release => {
                        prop_assert_eq!(write.release().is_ok(), saved.pop().is_some());
                    }
                    Step::RollBack => match saved.pop() {
                        Some(before) => {
                            write.roll_back().unwrap();
                            now = before;
                        }
                        None => prop_assert!(write.roll_back().is_err()),
                    },
                }
                for key in 0..300_u16 {
                    let key = key.to_be_bytes();
                    let row = write.get(table, &key).unwrap();
                    prop_assert_eq!(row.map(|it| it[0]), now.get(&key).copied());
                }
            }
            let keys: Vec<[u8; 2]> = (0..300_u16).map(u16::to_be_bytes).collect();
            let keys: Vec<&[u8]> = keys.iter().map(|key| &key[..]).collect();
            let announced = write.announce(table, &keys);
            // Nothing is known of a table before its first row.
            for (key, found) in keys.iter().zip(announced).filter(|_| !model.is_empty()) {
                let expected = model.get(*key).copied();
                let found = found.map(|it| match it {
                    RowValues::Value(row) => Some(row[0]),
                    _ => None,
                });
                prop_assert_eq!(found, Some(expected), "batch {}", at);
            }
            // Every other transaction is dropped.
            if at % 2 == 0 {
                write.commit().unwrap();
                model = now;
            }
        }
    }
}

/// Each page is written by itself: the build has put `tools/include` before the system's headers
/// (docs/adr/0091-pages-are-written-one-by-one.md).
#[cfg(target_os = "linux")]
#[test]
fn pages_side_by_side_are_written_one_by_one() {
    const PAGES: u32 = 200;
    let writes = || -> u64 {
        let figures = std::fs::read_to_string("/proc/thread-self/io").unwrap();
        let line = figures.lines().find_map(|it| it.strip_prefix("syscw: "));
        line.unwrap().parse().unwrap()
    };
    let folder = tempfile::tempdir().unwrap();
    let environment = open(folder.path());
    let mut write = WriteTransaction::begin(&environment).unwrap();
    let table = write.open_table("t", TableOptions::Plain).unwrap();
    for key in 0..PAGES {
        write
            .put(table, &key.to_be_bytes(), &[7; 2_000], Put::Append)
            .unwrap();
    }
    let before = writes();
    write.commit().unwrap();
    // Two rows fill a page, but for its header.
    let expected = u64::from(PAGES) / 2;
    let done = writes() - before;
    assert!(
        done >= expected,
        "{done} writes of at least {expected} pages"
    );
}
