//! A damaged database file: flipped bits, missing ends.

use std::collections::HashMap;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::process::Command;

use kit::process::until;
use kit::random::Random;
use kit::{Client, Entry, Pando, SUFFIX, people};
use protocol::{DeleteRequest, Request, ResultCode, Scope};

/// Number of damages to the file while it is served.
const DAMAGES: u64 = 40;

const PEOPLE: usize = 200;

/// Serves a node with people, whose file has few free pages.
fn served() -> Pando {
    let mut pando = Pando::start();
    let mut admin = pando.admin();
    admin.add(&people::unit("People")).expect_success();
    for number in 0..PEOPLE {
        let mut person = people::person(&format!("user{number}"));
        person.push("description", vec![b'a' + (number % 26) as u8; 2_000]);
        admin.add(&person).expect_success();
    }
    pando.stop();
    pando.run_on_node(&["compact"], &[]).expect(0);
    pando.serve();
    pando
}

/// Returns every entry before any damage.
fn truth(client: &mut Client) -> HashMap<String, Entry> {
    let found = client.search(SUFFIX, Scope::WholeSubtree, "(objectClass=*)", &["*", "+"]);
    found.outcome.clone().expect_success();
    let entries = found.entries.into_iter();
    entries.map(|it| (it.name.clone(), it)).collect()
}

/// Counts of entries and searches by answer, and the answers that differ from the written entry.
#[derive(Default)]
struct Answers {
    right: usize,
    wrong: Vec<String>,
    refused: usize,
    /// Number of entries reported as missing, and of searches that left entries out without an
    /// error.
    hidden: usize,
    /// Number of damages that ended the process.
    ended: u64,
}

/// Returns whether a server whose connection was lost has ended by a fault, with its message.
fn ended_with_words(pando: &mut Pando) -> bool {
    let log = pando.process().log();
    let ended = log.contains("ended by a fault");
    if ended {
        pando.stop();
    }
    ended
}

impl Answers {
    fn take(
        &mut self,
        truth: &HashMap<String, Entry>,
        asked: Option<&str>,
        found: kit::client::Found,
    ) {
        let code = found.outcome.code;
        let expected = if asked.is_some() { 1 } else { truth.len() };
        let is_silent = matches!(code, ResultCode::SUCCESS | ResultCode::NO_SUCH_OBJECT);
        self.hidden += usize::from(is_silent && found.entries.len() < expected);
        for entry in found.entries {
            let sound = truth.get(&entry.name) == Some(&entry)
                && asked.is_none_or(|asked| asked == entry.name);
            match sound {
                true => self.right += 1,
                false => self.wrong.push(format!("asked for {asked:?}: {entry:?}")),
            }
        }
        self.refused += usize::from(code == ResultCode::OTHER);
    }
}

#[test]
fn no_entry_is_answered_that_was_not_written() {
    let mut random = Random::announced("no_entry_is_answered_that_was_not_written");
    let damages = std::env::var("PANDO_TEST_DAMAGES");
    let damages = damages.map_or(DAMAGES, |it| it.parse().expect("a number"));
    let mut pando = served();
    let mut client = pando.admin();
    let truth = truth(&mut client);
    let file = File::options()
        .read(true)
        .write(true)
        .open(pando.node().join("data/pando.mdb"))
        .expect("the database");
    let length = file.metadata().expect("its size").len();
    let (mut answers, mut hiding) = (Answers::default(), 0);
    for _ in 0..damages {
        let at = random.below(length);
        let mut byte = [0];
        file.read_exact_at(&mut byte, at).expect("read");
        let damaged = byte[0] ^ (1 << random.below(8));
        file.write_all_at(&[damaged], at).expect("written");
        let (before, hidden) = (answers.wrong.len(), answers.hidden);
        let named = truth
            .keys()
            .map(|name| (Some(name.as_str()), Scope::BaseObject));
        for (name, scope) in named.chain([(None, Scope::WholeSubtree)]) {
            let base = name.unwrap_or(SUFFIX);
            let id = client.send_search(base, scope, "(objectClass=*)", &["*", "+"], &[], |_| {});
            match client.try_finish(id) {
                Ok(found) => answers.take(&truth, name, found),
                // LMDB trusts its pages, and the process ends with a message when one misleads it.
                Err(_) if ended_with_words(&mut pando) => {
                    answers.ended += 1;
                    file.write_all_at(&byte, at).expect("written");
                    pando.serve();
                    client = pando.admin();
                    break;
                }
                Err(error) => {
                    answers.wrong.push(format!("asked for {name:?}: {error}"));
                    client = pando.admin();
                }
            }
        }
        if answers.hidden > hidden {
            hiding += 1;
            let hidden = answers.hidden - hidden;
            eprintln!("byte {at} of {length}: {hidden} searches left entries out");
        }
        if answers.wrong.len() > before {
            eprintln!(
                "byte {at} of {length}: {} wrong: {:.300}",
                answers.wrong.len() - before,
                answers.wrong[before]
            );
        }
        file.write_all_at(&byte, at).expect("written");
    }
    eprintln!(
        "{} right, {} refused, {} wrong; {hiding} damages hid entries from {} searches; the server \
         ended by a fault {} times",
        answers.right,
        answers.refused,
        answers.wrong.len(),
        answers.hidden,
        answers.ended
    );
    assert!(answers.wrong.is_empty(), "{:#?}", &answers.wrong[..1]);
    assert!(pando.process().is_alive());
    // The others are walks over all entries that miss some behind a damaged branch page.
    assert!(hiding <= 1 + damages / 100, "{hiding}");
    // The count was two of a thousand damages.
    assert!(answers.ended <= 2 + damages / 50, "{}", answers.ended);
}

/// Damages every place where an entry's name is stored: with a bit flipped the entry is returned
/// unchanged or refused, and not reported as missing.
#[test]
fn no_entry_is_hidden_by_a_bit_in_its_name() {
    let pando = served();
    let mut client = pando.admin();
    let truth = truth(&mut client);
    let (name, entry) = truth
        .iter()
        .find(|(name, _)| name.starts_with("uid=user157,"))
        .expect("it was added");
    let needle = b"user157";
    let (bytes, file) = database(&pando);
    let places = places_of(needle, &bytes);
    assert!(places.len() >= 2, "{places:?}");
    let mut refused = 0;
    for place in places {
        for (at, bit) in [(4, 0x40), (6, 1), (6, 2), (6, 0x20)] {
            let damaged = needle[at] ^ bit;
            let at = (place + at) as u64;
            file.write_all_at(&[damaged], at).expect("written");
            let found = client.search(name, Scope::BaseObject, "(objectClass=*)", &["*", "+"]);
            match found.outcome.code {
                ResultCode::OTHER => refused += 1,
                ResultCode::SUCCESS => assert_eq!(found.entries, std::slice::from_ref(entry)),
                _ => panic!("byte {at}: {:?}", found.outcome),
            }
            file.write_all_at(&bytes[at as usize..][..1], at)
                .expect("written");
        }
    }
    assert!(
        refused >= 8,
        "the row of the name and that of the entry: {refused}"
    );
}

/// The bytes of a node's database, and its file, open to be damaged.
fn database(pando: &Pando) -> (Vec<u8>, File) {
    let path = pando.node().join("data/pando.mdb");
    let bytes = fs::read(&path).expect("the database");
    let file = File::options().write(true).open(path);
    (bytes, file.expect("the database"))
}

/// The offsets at which `needle` stands in `bytes`.
fn places_of(needle: &[u8], bytes: &[u8]) -> Vec<usize> {
    let places = bytes.windows(needle.len()).enumerate();
    places.filter(|it| it.1 == needle).map(|it| it.0).collect()
}

/// Damages every place where the name of a group's member is stored: with a bit flipped, the group
/// is said to have the member, or the compare is refused, and the member is not denied.
#[test]
fn no_member_is_denied_by_a_bit_in_its_name() {
    let pando = served();
    let mut client = pando.admin();
    let member = format!("uid=user157,ou=People,{SUFFIX}");
    let group = people::group("damaged", &[&member]);
    client.add(&people::unit("Groups")).expect_success();
    client.add(&group).expect_success();
    let needle = b"user157";
    let (bytes, file) = database(&pando);
    let places = places_of(needle, &bytes);
    let mut refused = 0;
    for at in places.into_iter().map(|it| it + needle.len() - 1) {
        file.write_all_at(&[bytes[at] ^ 1], at as u64)
            .expect("written");
        let answer = client.compare(&group.name, "member", &member);
        match answer.code {
            ResultCode::OTHER => refused += 1,
            ResultCode::COMPARE_TRUE => {}
            _ => panic!("byte {at}: {answer:?}"),
        }
        file.write_all_at(&bytes[at..][..1], at as u64)
            .expect("written");
    }
    assert!(refused >= 1, "the row of the name: {refused}");
}

/// Makes a stopped node with an undamaged database file, and returns the path of the file.
fn stopped() -> (Pando, PathBuf) {
    let mut pando = served();
    pando.stop();
    let file = pando.node().join("data/pando.mdb");
    (pando, file)
}

#[test]
fn half_a_file_is_refused_with_words() {
    let (pando, file) = stopped();
    let whole = fs::read(&file).expect("the database");
    let garbage = vec![0x5A; whole.len()];
    let backup = pando.folder.join("backup").to_string_lossy().into_owned();
    for damaged in [&whole[..whole.len() / 2], &whole[..5_000], &[], &garbage] {
        fs::write(&file, damaged).expect("written");
        for (command, args) in [
            ("check", &[][..]),
            ("serve", &["--listen", "ldap://127.0.0.1:0"]),
            ("status", &[]),
            ("export", &[]),
            ("backup", &[backup.as_str()]),
        ] {
            let answer = pando.run_on_node(&[command], args).expect(1);
            let said = format!("{}{}", answer.out, answer.err);
            assert!(said.contains("pando.mdb"), "{command}: {said}");
            assert!(said.contains("pando restore"), "{command}: {said}");
            assert!(!said.contains("dn: "), "{command}: {said}");
        }
    }
}

/// Meta pages with impossible page numbers must not be used in computations.
#[test]
fn impossible_page_numbers_are_refused_with_words() {
    const LAST_PAGE_AT: usize = 16 + 120;
    const MAIN_ROOT_AT: usize = 16 + 72 + 40;
    let (pando, file) = stopped();
    let whole = fs::read(&file).expect("the database");
    for (last, root) in [(u64::MAX, 2), (u64::MAX, 1 << 62), (1 << 62, 1 << 61)] {
        let mut damaged = whole.clone();
        for page in [0, 4_096] {
            for (at, number) in [(LAST_PAGE_AT, last), (MAIN_ROOT_AT, root)] {
                damaged[page + at..][..8].copy_from_slice(&number.to_ne_bytes());
            }
        }
        fs::write(&file, &damaged).expect("written");
        for folder in ["with a checkpoint", "without one"] {
            for command in ["status", "check", "export"] {
                let answer = pando.run_on_node(&[command], &[]);
                assert!(matches!(answer.status, 0 | 1), "{folder}: {command}");
                assert!(!answer.err.contains("panicked"), "{}", answer.err);
            }
            let checkpoint = pando.node().join("data/checkpoint");
            if checkpoint.exists() {
                fs::rename(&checkpoint, checkpoint.with_extension("aside")).expect("renamed");
            }
        }
        let aside = pando.node().join("data/checkpoint.aside");
        if aside.exists() {
            fs::rename(&aside, aside.with_extension("")).expect("renamed");
        }
    }
}

#[test]
fn no_damage_ends_a_check_without_words() {
    let mut random = Random::announced("no_damage_ends_a_check_without_words");
    let (pando, file) = stopped();
    let whole = fs::read(&file).expect("the database");
    let export = pando.export();
    for _ in 0..12 {
        let mut damaged = whole.clone();
        for _ in 0..5 {
            let at = random.below(whole.len() as u64 - 64) as usize;
            damaged[at..at + 64].copy_from_slice(&random.bytes(64));
        }
        fs::write(&file, &damaged).expect("written");
        let check = pando.run_on_node(&["check"], &[]);
        assert!(
            matches!(check.status, 0 | 1),
            "{}: {}",
            check.status,
            check.err
        );
        if check.status == 1 {
            assert!(check.err.contains("pando restore"), "{}", check.err);
        }
        let again = pando.run_on_node(&["export"], &[]);
        match again.status {
            0 => assert_eq!(again.out, export),
            _ => assert!(again.err.contains("pando restore"), "{}", again.err),
        }
    }
}

#[test]
fn an_export_ends_at_damage_and_a_salvage_leaves_it_out() {
    let (pando, file) = stopped();
    let export = pando.export();
    let mut bytes = fs::read(&file).expect("the database");
    // The damage is in the descriptions of two people, which no index contains.
    for letters in ["b".repeat(1_900), "d".repeat(1_900)] {
        let place = bytes
            .windows(letters.len())
            .position(|it| it == letters.as_bytes());
        bytes[place.expect("it is there") + 900] ^= 1;
    }
    fs::write(&file, bytes).expect("written");
    let refused = pando.run_on_node(&["export"], &[]).expect(1);
    assert!(refused.err.contains("is damaged"), "{}", refused.err);
    assert!(refused.err.contains("pando restore"), "{}", refused.err);
    let checked = pando.run_on_node(&["check"], &[]).expect(1);
    assert!(
        checked.err.matches("is damaged").count() >= 2,
        "{}",
        checked.err
    );
    let saved = pando.folder.join("saved.ldif");
    let to = saved.to_string_lossy().into_owned();
    let salvage = pando
        .run_on_node(&["export", "--salvage"], &["--output", &to])
        .expect(1);
    assert_eq!(
        salvage.err.matches("is damaged").count(),
        2,
        "{}",
        salvage.err
    );
    assert!(salvage.err.contains("uid=user"), "{}", salvage.err);
    let lines = salvage.err.lines();
    let lost: Vec<&str> = lines
        .filter_map(|it| it.split_once(": entry"))
        .map(|it| it.0)
        .collect();
    let is_lost = |record: &&str| {
        lost.iter()
            .any(|it| record.contains(&format!("dn: {it}\n")))
    };
    let expected: Vec<&str> = export.split("\n\n").filter(|it| !is_lost(it)).collect();
    let saved = fs::read_to_string(saved).expect("what was saved");
    assert_eq!(expected.len() + 2, export.split("\n\n").count());
    assert_eq!(saved.split("\n\n").collect::<Vec<_>>(), expected);
}

/// Returns the offset of a text in a file.
fn place_of(bytes: &[u8], text: &str) -> usize {
    let mut windows = bytes.windows(text.len());
    let place = windows.position(|it| it == text.as_bytes());
    place.expect("it is there")
}

#[test]
fn a_check_compares_entries_beside_damaged_pages() {
    const PAGE: usize = 4096;
    let (pando, file) = stopped();
    let mut bytes = fs::read(&file).expect("the database");
    // Damaged are a bit in two entries, and the kind of a page with other entries.
    for letters in ["b".repeat(1_900), "d".repeat(1_900)] {
        let place = place_of(&bytes, &letters);
        bytes[place + 900] ^= 1;
    }
    let page = place_of(&bytes, &"f".repeat(1_900)) / PAGE * PAGE;
    bytes[page + 10] ^= 4;
    fs::write(&file, bytes).expect("written");
    let checked = pando.run_on_node(&["check"], &[]).expect(1);
    let said = checked.err;
    assert_eq!(said.matches("is not the large value").count(), 1, "{said}");
    assert_eq!(said.matches("checksum does not fit").count(), 2, "{said}");
    assert!(said.contains("can be reached"), "{said}");
    assert!(said.contains("pando restore"), "{said}");
}

#[test]
fn a_backup_of_damaged_entries_is_not_made_and_names_them() {
    let (mut pando, file) = stopped();
    let mut bytes = fs::read(&file).expect("the database");
    for letters in ["b".repeat(1_900), "d".repeat(1_900)] {
        let place = place_of(&bytes, &letters);
        bytes[place + 900] ^= 1;
    }
    fs::write(&file, bytes).expect("written");
    let backups = pando.folder.join("backups");
    let to = backups.to_string_lossy().into_owned();
    let (plain, single) = (format!("{to}-plain"), format!("{to}-single"));
    for is_served in [false, true] {
        if is_served {
            pando.serve();
        }
        for args in [
            &[&*plain][..],
            &[&*to, "--keep", "1"],
            &[&*single, "--single"],
        ] {
            let refused = pando.run_on_node(&["backup"], args).expect(1);
            let said = refused.err;
            assert_eq!(said.matches("is damaged").count(), 2, "{said}");
            assert_eq!(said.matches("uid=user").count(), 2, "{said}");
            assert!(said.contains("pando restore"), "{said}");
        }
    }
    for left in [plain, single] {
        assert!(!fs::exists(left).expect("a folder that can be read"));
    }
    let left = fs::read_dir(&backups).expect("a folder").flatten();
    let left: Vec<_> = left.map(|it| it.file_name()).collect();
    assert_eq!(left, ["pando-backup.lock"]);
}

#[test]
fn a_damaged_last_record_is_not_taken_for_a_torn_one() {
    const PAGE: usize = 4096;
    let mut pando = served();
    let mut admin = pando.admin();
    admin.add(&people::person("before")).expect_success();
    admin.add(&people::person("last")).expect_success();
    pando.kill();
    let log = pando.node().join("data/log/00000001.log");
    let whole = fs::read(&log).expect("the log");
    let mut pages = whole.chunks_exact(PAGE);
    let last = pages.rposition(|page| page.iter().any(|it| *it != 0));
    let last = last.expect("there is a record") * PAGE;
    // Damaged are the checksum, the length, the sequence number, and the content.
    for at in [3, 9, 17, 90] {
        let mut damaged = whole.clone();
        damaged[last + at] ^= 4;
        fs::write(&log, damaged).expect("written");
        for (command, args) in [
            ("serve", &["--listen", "ldap://127.0.0.1:0"][..]),
            ("check", &[]),
        ] {
            let refused = pando.run_on_node(&[command], args).expect(1);
            assert!(refused.err.contains("is damaged"), "{}", refused.err);
            assert!(refused.err.contains("--forget-lost"), "{}", refused.err);
        }
    }
    pando
        .run_on_node(&["check", "--forget-lost"], &[])
        .expect(0);
    pando.serve();
    let mut client = pando.client();
    assert!(client.read(&people::person("before").name).is_some());
    assert!(client.read(&people::person("last").name).is_none());
}

#[test]
fn a_failed_write_of_a_meta_page_ends_the_process() {
    let mut pando = served();
    pando.stop();
    let shim = pando.folder.join("meta_write_fails.so");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/damage/meta_write_fails.c");
    let compiled = Command::new("cc")
        .args(["-shared", "-fPIC", "-O1", "-o"])
        .args([shim.as_os_str(), source.as_ref()])
        .status();
    assert!(compiled.expect("a compiler of C").success());
    let armed = pando.folder.join("armed");
    pando.serve_in(&[("LD_PRELOAD", &shim), ("META_WRITE_FAILS", &armed)]);
    let mut admin = pando.admin();
    admin.add(&people::person("before")).expect_success();
    fs::write(&armed, "").expect("written");
    let refused = admin.add(&people::person("lost"));
    assert_ne!(refused.code, ResultCode::SUCCESS);
    // Until the process has ended, requests are answered or their connection ends.
    let running = pando.process();
    until("the process ends", || {
        let asked = running.is_alive().then(|| {
            let request = Request::Delete(DeleteRequest {
                entry: "uid=nobody",
            });
            let sent = admin.try_send(&request, &[]);
            sent.and_then(|id| admin.try_finish(id)).is_ok()
        });
        asked.is_none().then_some(())
    });
    let log = pando.process().log();
    assert!(log.contains("the process ends"), "{log}");
    assert_eq!(pando.stop().code(), Some(1));
    fs::remove_file(&armed).expect("removed");
    pando.serve();
    assert!(
        pando
            .client()
            .read(&people::person("before").name)
            .is_some()
    );
}

#[test]
fn status_asks_a_server_for_an_entry() {
    let pando = served();
    let url = pando.url();
    pando
        .run(&["status", "--url", &url])
        .expect(0)
        .says("answers in");
    let (bytes, file) = database(&pando);
    // The object class of the suffix, which no other entry has, is searched.
    for at in places_of(b"\x04\x06domain", &bytes) {
        file.write_all_at(b"D", at as u64 + 2).expect("written");
    }
    let answer = pando.run(&["status", "--url", &url]);
    assert_ne!(answer.status, 0, "{}", answer.out);
    answer.says("does not answer").says("damaged");
}
