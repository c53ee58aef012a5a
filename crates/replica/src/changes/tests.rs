//! Tests keeping and reading changes, with gaps, torn ends and changes of another database.

use super::*;
use std::fs::{self, File};
use tempfile::TempDir;

const NONE: Outcome = Outcome::none();

/// The beginning of a record of the log: version, position, time.
fn content(position: u64) -> Vec<u8> {
    let mut content = vec![1];
    content.extend_from_slice(&position.to_le_bytes());
    content.extend_from_slice(&(position * 1_000_000).to_le_bytes());
    content.extend_from_slice(&[7; 100]);
    content
}

fn keeper(data: &TempDir, bytes: u64, position: u64) -> Keeper {
    let keeper = Keeper::open(data.path(), Keeping::Bytes(bytes), position);
    keeper.unwrap().expect("changes are kept")
}

fn keep(keeper: &mut Keeper, positions: std::ops::RangeInclusive<u64>) {
    for position in positions {
        keeper.keep(position, &content(position), &NONE);
    }
}

/// The positions after `position`, or the error.
fn after(data: &TempDir, position: u64) -> Result<Vec<u64>, String> {
    let mut found = Vec::new();
    let mut read = || -> Result<(), state::stop::Failure> {
        let mut reader = Reader::open(&folder(data.path()), position)?;
        while let Some(frame) = reader.next_frame()? {
            assert_eq!(frame.content, content(frame.position().unwrap()));
            found.push(frame.position().unwrap());
        }
        Ok(())
    };
    match read() {
        Ok(()) => Ok(found),
        Err(failure) => Err(failure.to_string()),
    }
}

#[test]
fn what_is_kept_is_read_from_any_position_over_restarts() {
    let data = TempDir::new().unwrap();
    keep(&mut keeper(&data, 1 << 20, 4), 5..=9);
    keep(&mut keeper(&data, 1 << 20, 9), 10..=12);
    for from in 4..=12 {
        assert_eq!(after(&data, from), Ok((from + 1..=12).collect()));
    }
    assert_eq!(Reader::last(&folder(data.path())).unwrap(), Some(12));
    let too_early = after(&data, 3).unwrap_err();
    assert!(
        too_early.contains("after position 3, and the next one kept is 5"),
        "{too_early}"
    );
}

#[test]
fn the_oldest_go_when_there_are_too_many() {
    let data = TempDir::new().unwrap();
    keep(&mut keeper(&data, 4_000, 0), 1..=200);
    let bytes: u64 = files(&folder(data.path()))
        .unwrap()
        .iter()
        .map(|(_, path)| fs::metadata(path).unwrap().len())
        .sum();
    assert!((2_000..=4_700).contains(&bytes), "{bytes}");
    assert!(after(&data, 0).is_err());
    assert_eq!(after(&data, 195), Ok((196..=200).collect()));
}

#[test]
fn torn_ends_are_ends_and_holes_are_told() {
    let data = TempDir::new().unwrap();
    keep(&mut keeper(&data, 1 << 20, 0), 1..=5);
    let (_, path) = files(&folder(data.path())).unwrap().remove(0);
    let length = fs::metadata(&path).unwrap().len();
    for cut in [1, 50, 118] {
        File::options()
            .write(true)
            .open(&path)
            .unwrap()
            .set_len(length - cut)
            .unwrap();
        assert_eq!(after(&data, 0), Ok((1..=4).collect()), "{cut}");
    }
    keep(&mut keeper(&data, 1 << 20, 5), 6..=7);
    let hole = after(&data, 0).unwrap_err();
    assert!(
        hole.contains("after position 4, and the next one kept is 6"),
        "{hole}"
    );
    assert_eq!(after(&data, 5), Ok(vec![6, 7]));
}

#[test]
fn what_is_committed_and_not_kept_yet_is_waited_for() {
    let data = TempDir::new().unwrap();
    let mut first = keeper(&data, 1 << 20, 0);
    keep(&mut first, 1..=3);
    let mut reader = Reader::open(&folder(data.path()), 1).unwrap();
    let mut next = |end| {
        let frame = reader.next_up_to(end, true).unwrap();
        frame.and_then(|it| it.position())
    };
    assert_eq!((next(3), next(3), next(3)), (Some(2), Some(3), None));
    // Both records come after the files were listed: one into a listed file, one into a new file.
    std::thread::scope(|scope| {
        scope.spawn(|| {
            keep(&mut first, 4..=4);
            keep(&mut keeper(&data, 1 << 20, 4), 5..=5);
        });
        assert_eq!((next(5), next(5), next(5)), (Some(4), Some(5), None));
    });
    // No more records will be kept.
    let missing = reader.next_up_to(6, false).unwrap_err().to_string();
    assert!(
        missing.contains("after position 5, and no later one is kept"),
        "{missing}"
    );
}

#[test]
fn going_back_to_a_checkpoint_cuts_what_comes_again() {
    let data = TempDir::new().unwrap();
    keep(&mut keeper(&data, 1 << 20, 0), 1..=5);
    keep(&mut keeper(&data, 1 << 20, 5), 6..=9);
    let mut keeper = Keeper::open_at_checkpoint(data.path(), 3).unwrap().unwrap();
    assert_eq!(after(&data, 0), Ok(vec![1, 2, 3]));
    keep(&mut keeper, 4..=6);
    assert_eq!(after(&data, 0), Ok((1..=6).collect()));
}

#[test]
fn changes_of_another_database_are_set_aside() {
    let data = TempDir::new().unwrap();
    keep(&mut keeper(&data, 1 << 20, 0), 1..=9);
    keep(&mut keeper(&data, 1 << 20, 6), 7..=8);
    assert_eq!(after(&data, 6), Ok(vec![7, 8]));
    assert!(after(&data, 0).is_err());
    let aside = fs::read_dir(folder(data.path())).unwrap();
    let aside = aside.map(|it| it.unwrap().file_name().into_string().unwrap());
    assert_eq!(aside.filter(|it| it.starts_with("of-another-")).count(), 1);
}

#[test]
fn the_folder_says_whether_changes_are_kept() {
    let data = TempDir::new().unwrap();
    let open = |keeping| Keeper::open(data.path(), keeping, 0).unwrap().is_some();
    assert!(!open(Keeping::AsBefore));
    assert!(open(Keeping::Bytes(1)));
    assert!(open(Keeping::AsBefore));
    assert!(!open(Keeping::Off));
    assert!(!open(Keeping::AsBefore));
}

proptest::proptest! {
    #[test]
    fn no_bytes_are_taken_for_a_record(bytes in proptest::collection::vec(0_u8.., 0..200)) {
        let read = Frame::read(&mut bytes.as_slice()).unwrap();
        proptest::prop_assert!(read.is_none());
    }
}
