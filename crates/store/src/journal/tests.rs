//! Power cuts: every page written since the last sync may be old or new, the log may end anywhere
//! after the last synced record; all acknowledged writes must survive.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use proptest::prelude::*;
use tempfile::TempDir;

use super::segment::PAGE_BYTES;
use super::*;
use crate::data_folder::DATABASE_FILE;
use crate::{IndexSet, Store};

const KEYS: u64 = 40;
const ID: [u8; 16] = [9; 16];
const PAGE: usize = PAGE_BYTES as usize;

/// Random numbers from a seed (SplitMix64).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}

/// A writer whose n-th record puts one of a few values, each of some thousand bytes.
struct Writer {
    store: Store,
    journal: Journal,
    position: u64,
}

fn indexes() -> IndexSet {
    IndexSet {
        schema: schema::Schema::standard(),
        definitions: Vec::new(),
    }
}

fn execute(store: &Store, position: u64) {
    let mut batch = store.begin(&indexes()).unwrap();
    let key = format!("key{}", position % KEYS);
    let value = vec![position as u8; 1_000 + (position * 37 % 9_000) as usize];
    batch.put_meta(key.as_bytes(), &value).unwrap();
    batch.set_position(position);
    batch.commit().unwrap();
}

/// Checks that the store has exactly the writes up to its position, and returns the position.
fn verify(store: &Store) -> u64 {
    let mut reader = store.reader().unwrap();
    let snapshot = reader.snapshot().unwrap();
    let position = snapshot.position().unwrap();
    for key in 0..KEYS {
        let last = (1..=position).rev().find(|it| it % KEYS == key);
        let expected = last.map(|it| vec![it as u8; 1_000 + (it * 37 % 9_000) as usize]);
        let found = snapshot.meta(format!("key{key}").as_bytes()).unwrap();
        assert_eq!(
            found,
            expected.as_deref(),
            "key {key} at position {position}"
        );
    }
    position
}

impl Writer {
    fn new(folder: &Path) -> Writer {
        let store = Store::create(folder).unwrap();
        let journal = Journal::new(&store);
        Writer {
            store,
            journal,
            position: 0,
        }
    }

    fn content(position: u64) -> Vec<u8> {
        let mut content = position.to_le_bytes().to_vec();
        content.resize(8 + (position * 61 % 7_000) as usize, position as u8);
        content
    }

    fn append(&mut self) {
        self.journal.begin(ID).unwrap();
        let content = Writer::content(self.position + 1);
        self.journal
            .append(&content, self.position.is_multiple_of(2))
            .unwrap();
    }

    fn write(&mut self) {
        self.append();
        self.journal.sync().unwrap();
        self.position += 1;
        execute(&self.store, self.position);
        self.journal.committed(10_000).unwrap();
    }
}

/// Opens a folder after a crash and executes its log. Returns the last position.
fn recover(folder: &Path) -> Result<u64, Error> {
    let (store, recovery) = Store::recover(folder)?;
    let mut recovery = recovery.expect("there is a checkpoint");
    while let Some(content) = recovery.next_record()? {
        let position = u64::from_le_bytes(content[..8].try_into().unwrap());
        assert_eq!(content, Writer::content(position));
        let mut reader = store.reader()?;
        assert_eq!(
            reader.snapshot()?.position()? + 1,
            position,
            "a record was skipped"
        );
        drop(reader);
        execute(&store, position);
    }
    recovery.finish()?;
    assert!(!checkpoint::exists(folder) && !folder.join(LOG_FOLDER).exists());
    Ok(verify(&store))
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to.join(LOG_FOLDER)).unwrap();
    for file in [DATABASE_FILE, "checkpoint"] {
        fs::copy(from.join(file), to.join(file)).unwrap();
    }
    for file in fs::read_dir(from.join(LOG_FOLDER)).unwrap() {
        let file = file.unwrap();
        fs::copy(file.path(), to.join(LOG_FOLDER).join(file.file_name())).unwrap();
    }
}

/// Returns a file image with each page from one of two images.
fn mix(old: &[u8], new: &[u8], numbers: &mut Numbers) -> Vec<u8> {
    // A mix with few pages of one side is as likely as one of equal halves.
    let share = [1, 10, 50, 90, 99][numbers.below(5) as usize];
    let mut mixed = Vec::with_capacity(new.len());
    for (at, page) in new.chunks(PAGE).enumerate() {
        let former = old.get(at * PAGE..at * PAGE + page.len());
        // The file did not have this page before: it is allocated and never written.
        let former = former.map_or_else(|| vec![0; page.len()], <[u8]>::to_vec);
        match numbers.below(100) < share {
            true => mixed.extend_from_slice(page),
            false => mixed.extend_from_slice(&former),
        }
    }
    mixed
}

/// The last segment of a folder.
fn last_segment(folder: &Path) -> std::path::PathBuf {
    let files = fs::read_dir(folder.join(LOG_FOLDER)).unwrap();
    let mut files: Vec<_> = files.map(|it| it.unwrap().path()).collect();
    files.retain(|it| it.extension().is_some_and(|it| it == "log"));
    files.sort();
    files.pop().unwrap()
}

#[test]
fn any_mix_of_old_and_new_pages_recovers() {
    for seed in 0..5 {
        let mut numbers = Numbers(seed);
        let folder = TempDir::new().unwrap();
        let mut writer = Writer::new(folder.path());
        for _ in 0..=numbers.below(150) {
            writer.write();
        }
        for _ in 0..=numbers.below(3) {
            writer.journal.checkpoint().unwrap();
            for _ in 0..=numbers.below(60) {
                writer.write();
            }
        }
        // No write comes between the sync and the copy, so the copy is what the disk holds for
        // certain.
        writer.journal.checkpoint().unwrap();
        let synced = fs::read(folder.path().join(DATABASE_FILE)).unwrap();
        for _ in 0..1 + numbers.below(150) {
            writer.write();
        }
        let newest = fs::read(folder.path().join(DATABASE_FILE)).unwrap();
        for round in 0..6 {
            let crashed = TempDir::new().unwrap();
            copy(folder.path(), crashed.path());
            let mixed = mix(&synced, &newest, &mut numbers);
            fs::write(crashed.path().join(DATABASE_FILE), mixed).unwrap();
            let found = recover(crashed.path());
            let found = found.unwrap_or_else(|it| panic!("seed {seed}, round {round}: {it}"));
            assert_eq!(found, writer.position, "seed {seed}, round {round}");
        }
    }
}

#[test]
fn a_checkpoint_under_way_leaves_the_one_before() {
    let mut numbers = Numbers(77);
    let folder = TempDir::new().unwrap();
    let mut writer = Writer::new(folder.path());
    for _ in 0..200 {
        writer.write();
    }
    writer.journal.checkpoint().unwrap();
    let synced = fs::read(folder.path().join(DATABASE_FILE)).unwrap();
    for _ in 0..200 {
        writer.write();
    }
    let before = TempDir::new().unwrap();
    copy(folder.path(), before.path());
    writer.journal.checkpoint().unwrap();
    let after = fs::read(folder.path().join("checkpoint")).unwrap();
    let newest = fs::read(folder.path().join(DATABASE_FILE)).unwrap();
    for _ in 0..20 {
        // The new slot is torn at any byte; the database is any mix of old and new pages.
        let crashed = TempDir::new().unwrap();
        copy(before.path(), crashed.path());
        let mut file = fs::read(before.path().join("checkpoint")).unwrap();
        let slot = (0..2).find(|it| file[it * PAGE..][..PAGE] != after[it * PAGE..][..PAGE]);
        let start = slot.unwrap() * PAGE;
        let end = start + numbers.below(220) as usize;
        file[start..end].copy_from_slice(&after[start..end]);
        fs::write(crashed.path().join("checkpoint"), file).unwrap();
        let mixed = mix(&synced, &newest, &mut numbers);
        fs::write(crashed.path().join(DATABASE_FILE), mixed).unwrap();
        assert_eq!(recover(crashed.path()).unwrap(), writer.position);
    }
}

#[test]
fn a_torn_end_loses_nothing_that_was_synced() {
    let mut numbers = Numbers(5);
    let folder = TempDir::new().unwrap();
    let mut writer = Writer::new(folder.path());
    for _ in 0..50 {
        writer.write();
    }
    let synced = writer.journal.open.as_ref().unwrap().log.place();
    // The record is on its way when the power fails.
    writer.append();
    writer.journal.sync().unwrap();
    let end = writer.journal.open.as_ref().unwrap().log.place();
    for _ in 0..40 {
        let crashed = TempDir::new().unwrap();
        copy(folder.path(), crashed.path());
        let segment = last_segment(crashed.path());
        let mut bytes = fs::read(&segment).unwrap();
        let cut = synced.offset + numbers.below(end.offset - synced.offset);
        bytes[cut as usize..].fill(0);
        fs::write(&segment, bytes).unwrap();
        let found = recover(crashed.path()).unwrap();
        assert!(found == writer.position || found == writer.position + 1);
    }
}

/// A device that takes every write and cannot be synced stands for a disk that fails.
#[test]
fn after_a_failed_sync_nobody_knows_and_later_writes_change_nothing() {
    let folder = TempDir::new().unwrap();
    let mut writer = Writer::new(folder.path());
    writer.write();
    let null = fs::File::options().write(true).open("/dev/null").unwrap();
    writer.journal.open.as_mut().unwrap().log.write_to(null);
    writer.append();
    let error = writer.journal.sync().unwrap_err();
    assert!(matches!(error, Error::Undecided { .. }), "{error}");
    assert!(error.to_string().contains("syncing the log"), "{error}");
    let later = writer.journal.begin([0; 16]).unwrap_err();
    assert!(matches!(later, Error::Halted { .. }), "{later}");
}

/// A disk that takes the first half of a page and then has no room, once it is filled.
#[derive(Debug, Default)]
struct HalfPages(AtomicBool);

impl Disk for HalfPages {
    fn write(&self, file: &fs::File, bytes: &[u8], at: u64) -> std::io::Result<()> {
        match self.0.swap(false, Ordering::Relaxed) {
            true => file
                .write_all_at(&bytes[..PAGE / 2], at)
                .and(Err(std::io::Error::from_raw_os_error(libc::ENOSPC))),
            false => file.write_all_at(bytes, at),
        }
    }
}

/// A record is shorter than its page: the half of it may hold all of the record.
#[test]
fn a_record_whose_write_failed_is_not_read_after_a_crash() {
    let (folder, disk) = (TempDir::new().unwrap(), Arc::new(HalfPages::default()));
    let mut writer = Writer::new(folder.path());
    writer.journal = Journal::on(&writer.store, disk.clone());
    writer.write();
    disk.0.store(true, Ordering::Relaxed);
    let content = vec![7; 100];
    writer.journal.append(&content, false).unwrap();
    assert!(matches!(writer.journal.sync(), Err(Error::Full)));
    drop(writer);
    let (_, recovery) = Store::recover(folder.path()).unwrap();
    let mut recovery = recovery.expect("there is a checkpoint");
    assert!(recovery.next_record().unwrap().is_some());
    assert_eq!(recovery.next_record().unwrap(), None);
}

/// A device that is always full stands for a disk without room.
#[test]
fn a_checkpoint_without_room_is_tried_again() {
    let folder = TempDir::new().unwrap();
    let mut writer = Writer::new(folder.path());
    for _ in 0..5 {
        writer.write();
    }
    let store = writer.journal.store.clone();
    let with_file = |path: &Path| {
        let file = fs::File::options().write(true).open(path).unwrap();
        let pin = ReadTransaction::begin(&store.shared.environment()).unwrap();
        Checkpointer::start(&store, CheckpointFile::of(file), pin).unwrap()
    };
    let open = writer.journal.open.as_mut().unwrap();
    open.checkpointer = with_file(Path::new("/dev/full"));
    let before = open.checkpoints;
    assert!(matches!(writer.journal.checkpoint(), Err(Error::Full)));
    assert!(matches!(writer.journal.checkpoint(), Err(Error::Full)));
    writer.journal.begin([0; 16]).unwrap();
    let open = writer.journal.open.as_mut().unwrap();
    assert_eq!(open.checkpoints, before, "the slot in force is not taken");
    open.checkpointer = with_file(&folder.path().join("checkpoint"));
    writer.journal.checkpoint().unwrap();
    writer.write();
    let crashed = TempDir::new().unwrap();
    copy(folder.path(), crashed.path());
    assert_eq!(recover(crashed.path()).unwrap(), writer.position);
}

#[test]
fn a_hole_is_an_error_and_not_a_loss() {
    let folder = TempDir::new().unwrap();
    let mut writer = Writer::new(folder.path());
    for _ in 0..600 {
        writer.write();
    }
    let crashed = TempDir::new().unwrap();
    copy(folder.path(), crashed.path());
    let first = crashed.path().join(LOG_FOLDER).join("00000001.log");
    assert_ne!(first, last_segment(crashed.path()), "one segment only");
    let mut bytes = fs::read(&first).unwrap();
    bytes[PAGE + 30] ^= 1;
    fs::write(&first, bytes).unwrap();
    let error = recover(crashed.path()).unwrap_err();
    assert!(
        error.to_string().contains("record 1 cannot be read"),
        "{error}"
    );
    // A missing segment is also found.
    copy(folder.path(), crashed.path());
    fs::remove_file(&first).unwrap();
    let error = recover(crashed.path()).unwrap_err();
    assert!(error.to_string().contains("00000001.log"), "{error}");
}

#[test]
fn a_record_taken_back_is_never_read() {
    let folder = TempDir::new().unwrap();
    let mut writer = Writer::new(folder.path());
    for round in 0..60 {
        writer.write();
        writer.append();
        match round % 2 {
            0 => writer.journal.retract().unwrap(),
            // The record counts as one that changed nothing: the next one takes its place.
            _ => writer.journal.rewind().unwrap(),
        }
    }
    writer.append();
    writer.journal.retract().unwrap();
    let crashed = TempDir::new().unwrap();
    copy(folder.path(), crashed.path());
    assert_eq!(recover(crashed.path()).unwrap(), 60);
}

#[test]
fn segments_are_used_again_after_checkpoints() {
    let folder = TempDir::new().unwrap();
    let mut writer = Writer::new(folder.path());
    let log = folder.path().join(LOG_FOLDER);
    let big = vec![1; 3 << 20];
    let mut most = 0;
    for round in 0..40 {
        writer.write();
        writer.journal.append(&big, false).unwrap();
        writer.journal.retract().unwrap();
        if round % 10 == 9 {
            writer.journal.checkpoint().unwrap();
        }
        most = most.max(fs::read_dir(&log).unwrap().count());
    }
    assert!(most < 12, "{most} files");
    let crashed = TempDir::new().unwrap();
    copy(folder.path(), crashed.path());
    assert_eq!(recover(crashed.path()).unwrap(), 40);
}

#[test]
fn a_sealed_folder_needs_nothing_else() {
    let folder = TempDir::new().unwrap();
    let mut writer = Writer::new(folder.path());
    for _ in 0..30 {
        writer.write();
    }
    assert!(checkpoint::exists(folder.path()));
    let Writer {
        store, mut journal, ..
    } = writer;
    journal.seal().unwrap();
    execute(&store, 31);
    drop((journal, store));
    assert!(!checkpoint::exists(folder.path()));
    let store = Store::open(folder.path()).unwrap();
    assert_eq!(verify(&store), 31);
}

#[test]
fn what_was_not_closed_is_not_just_opened() {
    let folder = TempDir::new().unwrap();
    let mut writer = Writer::new(folder.path());
    writer.write();
    let store = writer.store.clone();
    drop(writer);
    // Without the journal's pins no commit is allowed.
    assert!(matches!(store.begin(&indexes()), Err(Error::Halted { .. })));
    drop(store);
    let opened = Store::open(folder.path());
    assert!(
        matches!(opened, Err(Error::Unrecovered { .. })),
        "{opened:?}"
    );
    // Another database takes its place.
    let other = TempDir::new().unwrap();
    Store::create(other.path()).unwrap().close();
    let crashed = TempDir::new().unwrap();
    copy(folder.path(), crashed.path());
    fs::copy(
        other.path().join(DATABASE_FILE),
        crashed.path().join(DATABASE_FILE),
    )
    .unwrap();
    let error = recover(crashed.path()).unwrap_err();
    assert!(error.to_string().contains("not the file"), "{error}");
    assert_eq!(recover(folder.path()).unwrap(), 1);
}

/// Returns a folder with a few records, to be damaged.
fn sample() -> TempDir {
    let folder = TempDir::new().unwrap();
    let mut writer = Writer::new(folder.path());
    for _ in 0..5 {
        writer.write();
    }
    folder
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Junk anywhere in log or checkpoint gives an error or a prefix of the records, never other
    /// records and never a panic.
    #[test]
    fn junk_never_reads_as_records(
        at in 0_usize..PAGE * 12,
        junk in proptest::collection::vec(any::<u8>(), 1..300),
        in_checkpoint in any::<bool>(),
    ) {
        let folder = sample();
        let crashed = TempDir::new().unwrap();
        copy(folder.path(), crashed.path());
        let path = match in_checkpoint {
            true => crashed.path().join("checkpoint"),
            false => last_segment(crashed.path()),
        };
        let mut bytes = fs::read(&path).unwrap();
        let start = at.min(bytes.len() - 1);
        let end = (start + junk.len()).min(bytes.len());
        bytes[start..end].copy_from_slice(&junk[..end - start]);
        fs::write(&path, bytes).unwrap();
        match recover(crashed.path()) {
            Ok(position) => prop_assert!(position <= 5),
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
    }
}
