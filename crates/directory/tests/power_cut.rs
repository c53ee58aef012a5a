//! Power cuts: after the first write the database file is not synced until a checkpoint, so each of
//! its pages may be as it was before or as it is now, and the log may end anywhere after what was
//! acknowledged. Whatever the mix, the directory is the one that was acknowledged.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod kit;

use directory::Directory;
use kit::{ADMIN, Client, PASSWORD, options};
use protocol::{ChangeOperation, ResultCode};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

const BASE: &str = "dc=example,dc=com";
const PAGE: usize = 4096;
/// Where the database file says which log it belongs to: synced before the first checkpoint.
const MARK: std::ops::Range<usize> = 2048..2064;
const DATABASE: &str = "pando.mdb";

/// Random numbers from a seed (SplitMix64).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) as usize % bound
    }
}

/// Digest of the content after each acknowledged write, by position.
type History = BTreeMap<u64, String>;

fn note(client: &Client, history: &mut History) {
    let status = client.directory.status().unwrap();
    history.insert(status.position, status.digest);
}

fn add_index(client: &mut Client, attribute: &str) -> ResultCode {
    let entry = [
        ("objectClass", &["pandoIndex"] as &[&str]),
        ("pandoIndexAttribute", &[attribute]),
        ("pandoIndexKind", &["equality", "substring"]),
    ];
    let name = format!("cn={attribute},cn=indexes,cn=config");
    client.add(&name, &entry).code
}

/// A transaction of three updates, of which the last may be refused; returns who was added.
fn write_together(client: &mut Client, number: usize, refused: bool) -> Vec<String> {
    let control = client.begin_transaction();
    let names = ["a", "b"].map(|it| format!("cn=both{number}{it},{BASE}"));
    for name in &names {
        let option = format!("description;lang-y{number}");
        let attributes = [
            ("objectClass", &["person"] as &[&str]),
            ("sn", &["S"]),
            (option.as_str(), &["of a transaction"]),
        ];
        let added = client.add_with(name, &attributes, std::slice::from_ref(&control));
        assert_eq!(added.result.code, ResultCode::SUCCESS);
    }
    let last = if refused { "cn=nobody" } else { "cn=both" };
    let last = format!("{last}{number}b,{BASE}");
    client.delete_with(&last, std::slice::from_ref(&control));
    let ended = client.commit(&control);
    assert_eq!(ended.result.code != ResultCode::SUCCESS, refused);
    let [first, _] = names;
    if refused { Vec::new() } else { vec![first] }
}

/// Writes of every kind: also refused ones, new attributes, a schema, an index that goes.
fn write_all_kinds(client: &mut Client, numbers: &mut Numbers, history: &mut History) {
    let mut people: Vec<String> = Vec::new();
    for number in 0..120 {
        let some = people.get(numbers.below(people.len().max(1))).cloned();
        let some = some.unwrap_or_else(|| format!("cn=nobody,{BASE}"));
        let long = "x".repeat(numbers.below(6_000));
        match (number, numbers.below(12)) {
            (40, _) => {
                let gone = client.delete_with("cn=sn,cn=indexes,cn=config", &[]);
                assert_eq!(gone.result.code, ResultCode::SUCCESS);
            }
            (50, _) => {
                assert_ne!(add_index(client, "noSuchType"), ResultCode::SUCCESS);
            }
            (_, 0..4) => {
                let name = format!("cn=person{number},{BASE}");
                client.add_person(&format!("person{number}"));
                people.push(name);
            }
            (_, 4 | 5) => {
                let options = format!("description;lang-x{}", numbers.below(9));
                let change = (
                    ChangeOperation::Replace,
                    options.as_str(),
                    &[long.as_str()] as _,
                );
                client.modify(&some, &[change]);
            }
            (_, 6) => {
                // Refused, after the number of a new attribute was given out.
                let option = format!("cn;x-{number}");
                let values: &[&str] = &["a"];
                let changes = [
                    (ChangeOperation::Add, option.as_str(), values),
                    (ChangeOperation::Delete, "telephoneNumber", &[]),
                ];
                assert_ne!(client.modify(&some, &changes).code, ResultCode::SUCCESS);
            }
            (_, 7) => {
                let new = format!("cn=renamed{number}");
                let answer = client.rename_with(&some, &new, None, &[]);
                if answer.result.code == ResultCode::SUCCESS {
                    people.retain(|it| *it != some);
                    people.push(format!("{new},{BASE}"));
                }
            }
            (_, 8) => {
                client.delete_with(&some, &[]);
                people.retain(|it| *it != some);
            }
            (_, 9 | 10) => people.extend(write_together(client, number, numbers.below(3) == 0)),
            _ => {
                let password = format!("{{CLEARTEXT}}{number}");
                let change = (
                    ChangeOperation::Replace,
                    "userPassword",
                    &[password.as_str()] as _,
                );
                client.modify(&some, &[change]);
            }
        }
        note(client, history);
    }
}

fn segment(folder: &Path) -> PathBuf {
    folder.join("log/00000001.log")
}

/// Bytes of a segment that hold something.
fn used(segment: &[u8]) -> usize {
    segment
        .iter()
        .rposition(|it| *it != 0)
        .map_or(0, |it| it + 1)
}

/// A copy of the folder whose database file has each page from `old` or from `new`.
fn crash(folder: &Path, old: &[u8], new: &[u8], numbers: &mut Numbers) -> TempDir {
    let crashed = TempDir::new().unwrap();
    fs::create_dir(crashed.path().join("log")).unwrap();
    fs::copy(segment(folder), segment(crashed.path())).unwrap();
    fs::copy(folder.join("checkpoint"), crashed.path().join("checkpoint")).unwrap();
    let share = [1, 20, 50, 80, 99][numbers.below(5)];
    let mut mixed = new.to_vec();
    for (at, page) in mixed.chunks_mut(PAGE).enumerate() {
        if numbers.below(100) < share {
            match old.get(at * PAGE..at * PAGE + page.len()) {
                Some(former) => page.copy_from_slice(former),
                // The file had no such page: it has its place and was never written.
                None => page.fill(0),
            }
        }
    }
    fs::write(crashed.path().join(DATABASE), mixed).unwrap();
    crashed
}

/// Opens what a crash left, and compares it with what stood at its position.
fn open(crashed: &TempDir, history: &History) -> u64 {
    let directory = Directory::open(crashed.path(), &options()).unwrap();
    let status = directory.status().unwrap();
    assert_eq!(history.get(&status.position), Some(&status.digest));
    directory.shutdown();
    drop(directory);
    let report = replica::check::check(crashed.path()).unwrap();
    assert_eq!((report.problem_count, &report.problems[..]), (0, &[][..]));
    assert!(report.recovered.is_none(), "it was closed");
    status.position
}

#[test]
fn what_was_acknowledged_survives_any_mix_of_pages() {
    for seed in 0..2 {
        let mut numbers = Numbers(seed);
        let mut client = Client::new();
        assert_eq!(client.bind(ADMIN, PASSWORD).code, ResultCode::SUCCESS);
        let folder = client.folder.path().to_path_buf();
        let mut history = History::new();
        note(&client, &mut history);
        assert!(!folder.join("checkpoint").exists(), "reading needs no log");
        client.add_person("first");
        let first = fs::read(folder.join("checkpoint")).unwrap();
        assert_eq!(add_index(&mut client, "sn"), ResultCode::SUCCESS);
        note(&client, &mut history);
        // An index that is complete makes a checkpoint.
        while fs::read(folder.join("checkpoint")).unwrap() == first {
            std::thread::yield_now();
        }
        let checkpoint = fs::read(folder.join("checkpoint")).unwrap();
        let synced = used(&fs::read(segment(&folder)).unwrap());
        let mut old = fs::read(folder.join(DATABASE)).unwrap();
        write_all_kinds(&mut client, &mut numbers, &mut history);
        let new = fs::read(folder.join(DATABASE)).unwrap();
        old[MARK].copy_from_slice(&new[MARK]);
        if fs::read(folder.join("checkpoint")).unwrap() != checkpoint {
            // A minute has passed on a slow machine: what was synced is not what was copied.
            continue;
        }
        let last = *history.keys().last().unwrap();
        for round in 0..8 {
            let crashed = crash(&folder, &old, &new, &mut numbers);
            assert_eq!(open(&crashed, &history), last, "seed {seed}, round {round}");
        }
        // A write that was not acknowledged is there as a whole, or not at all.
        for _ in 0..8 {
            let crashed = crash(&folder, &old, &new, &mut numbers);
            let path = segment(crashed.path());
            let mut bytes = fs::read(&path).unwrap();
            let cut = synced + numbers.below(used(&bytes) - synced);
            bytes[cut..].fill(0);
            fs::write(&path, bytes).unwrap();
            // A commit comes after the sync of its record: where the newest state is ahead of the
            // log, what is missing had been acknowledged, and that is no crash but damage.
            match Directory::open(crashed.path(), &options()) {
                Ok(directory) => directory.shutdown(),
                Err(error) => {
                    assert!(error.to_string().contains("--forget-lost"), "{error}");
                    let mut database = fs::read(crashed.path().join(DATABASE)).unwrap();
                    database[..2 * PAGE].copy_from_slice(&old[..2 * PAGE]);
                    fs::write(crashed.path().join(DATABASE), database).unwrap();
                }
            }
            assert!(open(&crashed, &history) <= last);
        }
    }
}

#[test]
fn a_clean_stop_leaves_the_database_alone() {
    let mut client = Client::admin();
    client.add_person("somebody");
    let folder = client.folder.path().to_path_buf();
    assert!(folder.join("checkpoint").exists() && folder.join("log").exists());
    let before = client.directory.status().unwrap().digest;
    let client = client.reopen();
    assert!(!folder.join("checkpoint").exists() && !folder.join("log").exists());
    assert_eq!(client.directory.status().unwrap().digest, before);
}
