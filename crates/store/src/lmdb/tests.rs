//! Tests of the wrapper.

use std::sync::Arc;

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
