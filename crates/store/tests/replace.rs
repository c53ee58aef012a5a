//! A compacted copy replaces the database under readers and writers; only the size of the file
//! tells.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod kit;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use kit::Random;
use store::{DATABASE_FILE, Error, IndexSet, Journal, LogTail, Retired, Store};
use tempfile::TempDir;

const KEYS: u64 = 50;
const ID: [u8; 16] = [7; 16];

fn indexes() -> IndexSet {
    kit::indexes(&kit::schema(), &[])
}

/// Returns the content of the write at a position, in the log and in the database.
fn content(position: u64) -> Vec<u8> {
    let mut content = position.to_le_bytes().to_vec();
    content.resize(100 + (position * 997 % 9_000) as usize, position as u8);
    content
}

fn execute(store: &Store, content: &[u8]) {
    let position = u64::from_le_bytes(content[..8].try_into().unwrap());
    let mut batch = store.begin(&indexes()).unwrap();
    let key = format!("key{}", position % KEYS);
    batch.put_meta(key.as_bytes(), content).unwrap();
    batch.put_meta(b"twin", &position.to_le_bytes()).unwrap();
    batch.set_position(position);
    batch.commit().unwrap();
}

fn write(store: &Store, journal: &mut Journal, position: u64) {
    journal.begin(ID).unwrap();
    let content = content(position);
    journal
        .append(&content, position.is_multiple_of(2))
        .unwrap();
    journal.sync().unwrap();
    execute(store, &content);
    journal.committed(content.len() as u64).unwrap();
}

/// Makes a copy in the folder `compact` of the store's, of its state at some moment from now on.
fn copy(store: &Store) -> Store {
    let folder = store.folder().join("compact");
    fs::remove_dir_all(&folder).unwrap_or_default();
    fs::create_dir(&folder).unwrap();
    let file = File::create(folder.join(DATABASE_FILE)).unwrap();
    store.copy_to(file.as_fd()).unwrap();
    let copy = Store::open(&folder).unwrap();
    copy.sync_later();
    copy
}

fn position(store: &Store) -> u64 {
    store
        .reader()
        .unwrap()
        .snapshot()
        .unwrap()
        .position()
        .unwrap()
}

/// Executes on the copy the records of the log before `end`.
fn catch_up(copy: &Store, tail: &mut LogTail, end: u64) {
    while let Some(content) = tail.next_before(end).unwrap() {
        if u64::from_le_bytes(content[..8].try_into().unwrap()) > position(copy) {
            execute(copy, &content);
        }
    }
}

/// Replaces the store by the copy, while no thread writes.
fn replace(store: &Store, journal: &mut Journal, copy: Store, mut tail: LogTail) -> Retired {
    catch_up(&copy, &mut tail, journal.end());
    copy.sync().unwrap();
    journal.seal().unwrap();
    store.replace_with(copy).unwrap()
}

fn assert_state(store: &Store, position: u64) {
    let mut reader = store.reader().unwrap();
    let snapshot = reader.snapshot().unwrap();
    assert_eq!(snapshot.position().unwrap(), position);
    let mut expected = BTreeMap::new();
    for write in 1..=position {
        expected.insert(format!("key{}", write % KEYS), content(write));
    }
    for (key, value) in expected {
        let found = snapshot.meta(key.as_bytes()).unwrap();
        assert!(found == Some(&value[..]), "{key} at position {position}");
    }
}

fn length(folder: &Path) -> u64 {
    fs::metadata(folder.join(DATABASE_FILE)).unwrap().len()
}

#[test]
fn held_snapshots_stay_and_new_ones_are_of_the_copy() {
    let folder = TempDir::new().unwrap();
    let store = Store::create(folder.path()).unwrap();
    let mut journal = Journal::new(&store);
    for position in 1..=60 {
        write(&store, &mut journal, position);
    }
    journal.checkpoint().unwrap();
    let (mut held, mut idle) = (store.reader().unwrap(), store.reader().unwrap());
    let old_version = held.snapshot().unwrap().version();
    idle.reset();
    let tail = journal.hold().unwrap();
    let copied = copy(&store);
    for position in 61..=80 {
        write(&store, &mut journal, position);
    }
    let newest = store.reader().unwrap().snapshot().unwrap().version();
    let before = length(folder.path());
    let retired = replace(&store, &mut journal, copied, tail);

    assert!(length(folder.path()) < before);
    assert_state(&store, 80);
    let new_version = idle.snapshot().unwrap().version();
    assert!(new_version > newest && newest > old_version);
    assert_eq!(idle.snapshot().unwrap().position().unwrap(), 80);
    // A held snapshot is not disturbed by writes to the copy, and ends when it is given up.
    for position in 81..=200 {
        write(&store, &mut journal, position);
    }
    let snapshot = held.snapshot().unwrap();
    assert_eq!(
        (snapshot.position().unwrap(), snapshot.version()),
        (60, old_version)
    );
    let twin = snapshot.meta(b"twin").unwrap().unwrap();
    assert_eq!(twin, 60_u64.to_le_bytes());
    assert!(retired.has_readers());
    held.reset();
    assert!(!retired.has_readers());
    drop(retired);
    assert_eq!(held.snapshot().unwrap().position().unwrap(), 200);
    let usage = store.usage().unwrap();
    assert!(usage.oldest >= new_version && usage.newest >= usage.oldest);
    drop((held, idle));
    journal.seal().unwrap();
    drop((journal, store));
    assert_state(&Store::open(folder.path()).unwrap(), 200);
}

#[test]
fn a_crash_after_the_replacement_recovers_on_the_copy() {
    let folder = TempDir::new().unwrap();
    let store = Store::create(folder.path()).unwrap();
    let mut journal = Journal::new(&store);
    for position in 1..=30 {
        write(&store, &mut journal, position);
    }
    let tail = journal.hold().unwrap();
    let copied = copy(&store);
    drop(replace(&store, &mut journal, copied, tail));
    for position in 31..=50 {
        write(&store, &mut journal, position);
    }
    drop((journal, store));
    let (store, recovery) = Store::recover(folder.path()).unwrap();
    let mut recovery = recovery.expect("the log was not sealed");
    let mut records = 0;
    while let Some(content) = recovery.next_record().unwrap() {
        execute(&store, &content);
        records += 1;
    }
    recovery.finish().unwrap();
    assert_eq!(records, 20);
    assert_state(&store, 50);
}

#[test]
fn what_is_not_the_same_state_is_refused() {
    let folder = TempDir::new().unwrap();
    let store = Store::create(folder.path()).unwrap();
    let mut journal = Journal::new(&store);
    write(&store, &mut journal, 1);
    let copied = copy(&store);
    let refused = store.replace_with(copied).expect_err("the log is open");
    assert!(matches!(refused, Error::Conflict { .. }), "{refused}");
    let copied = copy(&store);
    write(&store, &mut journal, 2);
    journal.seal().unwrap();
    let refused = store.replace_with(copied).expect_err("another state");
    assert!(refused.to_string().contains("another state"), "{refused}");
    write(&store, &mut journal, 3);
    assert_state(&store, 3);
}

#[test]
fn the_log_is_kept_while_it_is_held() {
    let folder = TempDir::new().unwrap();
    let store = Store::create(folder.path()).unwrap();
    let mut journal = Journal::new(&store);
    write(&store, &mut journal, 1);
    let mut tail = journal.hold().unwrap();
    // The log has segments of 1, 2 and 4 MiB, with a checkpoint now and then.
    let mut position = 1;
    while journal.state().unwrap().bytes < 7 << 20 {
        position += 1;
        write(&store, &mut journal, position);
        if position.is_multiple_of(100) {
            journal.checkpoint().unwrap();
        }
    }
    for expected in 2..=position {
        let record = tail.next_before(journal.end()).unwrap();
        assert_eq!(record, Some(content(expected)));
    }
    assert_eq!(tail.next_before(journal.end()).unwrap(), None);
    journal.release();
    for _ in 0..2 {
        position += 1;
        write(&store, &mut journal, position);
        journal.checkpoint().unwrap();
    }
    assert!(journal.state().unwrap().bytes < 7 << 20);
}

/// Sets the flag that ends readers, also when the test fails.
struct EnoughAtEnd<'f>(&'f AtomicBool);

impl Drop for EnoughAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Readers never see half a write, a state older than an earlier one, or a version that goes back.
fn read_until(store: &Store, enough: &AtomicBool, seed: u64) -> u64 {
    let mut random = Random::new(seed);
    let mut reader = store.reader().unwrap();
    let (mut last, mut looks) = ((0, 0), 0);
    while !enough.load(Ordering::Relaxed) {
        if random.chance(70) {
            reader.reset();
        }
        let snapshot = reader.snapshot().unwrap();
        let position = snapshot.position().unwrap();
        let now = (snapshot.version(), position);
        assert!(now.0 >= last.0 && now.1 >= last.1, "{now:?} after {last:?}");
        last = now;
        if position > 0 {
            assert_eq!(
                snapshot.meta(b"twin").unwrap(),
                Some(&position.to_le_bytes()[..])
            );
            let write = position - random.below(KEYS.min(position) as usize) as u64;
            let key = format!("key{}", write % KEYS);
            assert!(snapshot.meta(key.as_bytes()).unwrap() == Some(&content(write)[..]));
        }
        looks += 1;
    }
    looks
}

#[test]
fn readers_and_the_writer_go_on_through_many_replacements() {
    const REPLACEMENTS: u64 = 8;
    let folder = TempDir::new().unwrap();
    let store = Store::create(folder.path()).unwrap();
    let enough = AtomicBool::new(false);
    let last = thread::scope(|scope| {
        let ends = EnoughAtEnd(&enough);
        let readers: Vec<_> = (1..=3)
            .map(|seed| {
                let (store, enough) = (store.clone(), &enough);
                scope.spawn(move || read_until(&store, enough, seed))
            })
            .collect();
        let mut journal = Journal::new(&store);
        let mut position = 0;
        for _ in 0..REPLACEMENTS {
            position += 1;
            write(&store, &mut journal, position);
            let mut tail = journal.hold().unwrap();
            let end = AtomicU64::new(journal.end());
            let (even, wait) = std::sync::mpsc::channel();
            // The copy is made and brought up to date while writes go on.
            thread::scope(|scope| {
                let (store, end) = (&store, &end);
                scope.spawn(move || {
                    let copied = copy(store);
                    for _ in 0..3 {
                        catch_up(&copied, &mut tail, end.load(Ordering::Acquire));
                    }
                    even.send((copied, tail)).unwrap();
                });
                let (copied, tail) = loop {
                    position += 1;
                    write(store, &mut journal, position);
                    end.store(journal.end(), Ordering::Release);
                    if let Ok(both) = wait.try_recv() {
                        break both;
                    }
                };
                let retired = replace(store, &mut journal, copied, tail);
                drop(retired);
            });
        }
        for _ in 0..100 {
            position += 1;
            write(&store, &mut journal, position);
        }
        drop(ends);
        for reader in readers {
            assert!(reader.join().unwrap() > 0);
        }
        journal.seal().unwrap();
        position
    });
    assert_state(&store, last);
    drop(store);
    assert_state(&Store::open(folder.path()).unwrap(), last);
}
