//! Files of lines without a directory behind them.

use super::*;
use audit::{Head, Line, Operation, Verifier};
use state::trail::Audited;
use std::fs;
use std::sync::Arc;
use tempfile::TempDir;

const RULES: FileRules = FileRules {
    file_bytes: 1_000,
    keep_bytes: 0,
    keep_days: 0,
    required: false,
};

/// The lines of records after a head, one each, and the head after them.
fn records(mut head: Head, count: u64) -> (Vec<Audited>, Head) {
    let mut all = Vec::new();
    for _ in 0..count {
        let (opening, mut bytes) = (head.opening(), Vec::new());
        let line = Line {
            position: head.position + 1,
            time: "20261125000000.000000Z",
            operation: Operation::Add,
            entry: "cn=somebody,dc=example,dc=com",
            uuid: "",
            is_consequence: false,
            by: "",
            author: None,
            changes: &[],
        };
        head.append(&line, &mut bytes);
        all.push(Audited {
            opening,
            bytes,
            head,
        });
    }
    (all, head)
}

fn keeper(data: &TempDir, head: Head, rules: FileRules) -> AuditKeeper {
    let opened = AuditKeeper::open(data.path(), Auditing::On(rules), head, &Arc::default());
    opened.expect("a folder").expect("it is on")
}

/// Findings of a verifier in a folder, and the last line.
fn found(data: &TempDir) -> (Vec<String>, u64) {
    let (mut verifier, mut found) = (Verifier::default(), Vec::new());
    for (_, path) in files(&folder(data.path())).expect("a folder") {
        let mut lines = Lines::open(&path).expect("a file");
        while let Some(line) = lines.next_line().expect("a file") {
            if let Err(finding) = verifier.take(&line) {
                found.push(finding.to_string());
            }
        }
        assert!(!lines.is_torn);
    }
    (found, verifier.head().map_or(0, |it| it.line))
}

#[test]
fn files_are_one_chain() {
    let data = TempDir::new().expect("a folder");
    let (lines, head) = records(Head::default(), 30);
    let mut writer = keeper(&data, Head::default(), RULES);
    let begun = lines.into_iter().filter_map(|it| writer.keep(it)).count();
    let count = files(&folder(data.path())).expect("a folder").len();
    assert!(count > 5 && begun == count, "{begun} of {count}");
    assert_eq!(found(&data), (Vec::new(), 30));
    // The next process goes on in the last file.
    let (lines, _) = records(head, 1);
    let mut writer = keeper(&data, head, RULES);
    for it in lines {
        assert!(writer.keep(it).is_some(), "the log must learn of the file");
    }
    assert_eq!(found(&data).1, 31);
}

#[test]
fn a_crash_is_repaired_and_a_pause_shows() {
    let data = TempDir::new().expect("a folder");
    let (lines, _) = records(Head::default(), 10);
    let mut writer = keeper(&data, Head::default(), RULES);
    lines.iter().cloned().for_each(|it| drop(writer.keep(it)));
    let (_, last) = files(&folder(data.path()))
        .expect("a folder")
        .pop()
        .expect("a file");
    let mut torn = fs::read(&last).expect("a file");
    torn.truncate(torn.len() - 7);
    fs::write(&last, torn).expect("written");
    // Recovery executes the records after position 6 again.
    let at = lines[5].head;
    let again = AuditKeeper::open_at_checkpoint(data.path(), at, at.position);
    let mut again = again.expect("a folder").expect("it is on");
    lines[6..]
        .iter()
        .cloned()
        .for_each(|it| drop(again.keep(it)));
    assert_eq!(found(&data), (Vec::new(), 10));

    let (lines, head) = records(lines[9].head, 5);
    let mut writer = keeper(&data, lines[1].head, RULES);
    lines[2..]
        .iter()
        .cloned()
        .for_each(|it| drop(writer.keep(it)));
    let missing = "lines 11 to 12 are missing".to_owned();
    assert_eq!(found(&data), (vec![missing], 15));

    // Files that the database does not lead to are of another one.
    let other = Head {
        hash: [1; 32],
        ..head
    };
    drop(keeper(&data, other, RULES));
    assert_eq!(files(&folder(data.path())).expect("a folder"), []);
}

#[test]
fn the_oldest_files_go() {
    let data = TempDir::new().expect("a folder");
    let rules = FileRules {
        keep_bytes: 3_000,
        ..RULES
    };
    let (lines, _) = records(Head::default(), 100);
    let mut writer = keeper(&data, Head::default(), rules);
    lines.into_iter().for_each(|it| drop(writer.keep(it)));
    let left = files(&folder(data.path())).expect("a folder");
    assert!((2..=5).contains(&left.len()), "{left:?}");
    assert_eq!(found(&data), (Vec::new(), 100));
    let stored = FileRules::parse(&rules.text());
    assert_eq!(stored, Some(rules));
    assert_eq!(FileRules::parse("1 2 3"), None);
}

#[test]
fn lines_wait_for_room_and_required_ones_refuse_writes() {
    let data = TempDir::new().expect("a folder");
    let rules = FileRules {
        file_bytes: 1,
        required: true,
        ..RULES
    };
    let standing = Arc::default();
    let opened = AuditKeeper::open(data.path(), Auditing::On(rules), Head::default(), &standing);
    let mut writer = opened.expect("a folder").expect("it is on");
    let (lines, _) = records(Head::default(), 3);
    writer.require().expect("there is room");
    drop(writer.keep(lines[0].clone()));
    let (here, away) = (folder(data.path()), data.path().join("away"));
    fs::rename(&here, &away).expect("renamed");
    drop(writer.keep(lines[1].clone()));
    drop(writer.keep(lines[2].clone()));
    assert!(writer.require().is_err() && standing.refusal().is_some());
    assert!(writer.due_in().is_some());
    fs::rename(&away, &here).expect("renamed");
    while writer.require().is_err() {
        std::thread::yield_now();
    }
    assert_eq!((found(&data), standing.refusal()), ((Vec::new(), 3), None));
}
