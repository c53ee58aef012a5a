//! Everything is read now and then, and damage is found, told and counted.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod kit;

use directory::{Options, Scrubbing};
use kit::{ADMIN, Client, PASSWORD, options, success};
use protocol::{ResultCode, Scope};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

const MEMBERS: usize = 40;

/// Reads everything at once and then never again.
fn at_once() -> Options {
    Options {
        scrub: Some(Scrubbing {
            every: Duration::from_secs(1_000_000),
            delay: Duration::ZERO,
        }),
        ..options()
    }
}

fn filled() -> Client {
    let mut ldif = "dn: dc=example,dc=com\nobjectClass: domain\ndc: example\n".to_owned();
    for n in 0..MEMBERS {
        ldif.push_str(&format!(
            "\ndn: cn=quagga{n},dc=example,dc=com\nobjectClass: person\ncn: quagga{n}\nsn: \
             Zebra\ndescription: striped{n}\n"
        ));
    }
    ldif.push_str("\ndn: cn=herd,dc=example,dc=com\nobjectClass: groupOfNames\ncn: herd\n");
    for n in 0..MEMBERS {
        ldif.push_str(&format!("member: cn=quagga{n},dc=example,dc=com\n"));
    }
    Client::filled(&ldif)
}

/// The values of an attribute of an entry of the monitor.
fn shown(client: &mut Client, rdn: &str, attribute: &str) -> Vec<String> {
    let name = format!("{rdn},cn=monitor");
    let found = client.search(&name, Scope::BaseObject, "(objectClass=*)", &["+"]);
    success(&found.result);
    let values = found.values(attribute).into_iter();
    values.map(str::to_owned).collect()
}

/// Waits for the end of the reading; returns how many damages it found.
fn damages(client: &mut Client) -> u64 {
    let deadline = Instant::now() + Duration::from_secs(60);
    while shown(client, "cn=Scrub", "pandoScrubState") != ["waiting"]
        || shown(client, "cn=Scrub", "pandoScrubEnd").is_empty()
    {
        assert!(Instant::now() < deadline, "everything is read");
        std::thread::yield_now();
    }
    let damages = shown(client, "cn=Scrub", "pandoScrubDamages");
    damages[0].parse().unwrap()
}

fn damaged_entries(client: &mut Client) -> u64 {
    shown(client, "cn=Database", "pandoDamagedEntries")[0]
        .parse()
        .unwrap()
}

#[test]
fn sound_directories_have_no_damage_and_are_not_read_again() {
    let client = filled();
    let mut client = client.reopen_with(&at_once());
    success(&client.bind(ADMIN, PASSWORD));
    assert_eq!(damages(&mut client), 0);
    let ended = shown(&mut client, "cn=Scrub", "pandoScrubEnd");
    // While writes come and go as well.
    client.add_person("late");
    let mut client = client.reopen_with(&at_once());
    success(&client.bind(ADMIN, PASSWORD));
    assert_eq!(shown(&mut client, "cn=Scrub", "pandoScrubEnd"), ended);
    assert_eq!(
        shown(&mut client, "cn=Scrub", "pandoScrubState"),
        ["waiting"]
    );
    client.check();
}

#[test]
fn what_is_not_to_be_read_is_not_read() {
    let mut client = filled();
    assert_eq!(shown(&mut client, "cn=Scrub", "pandoScrubState"), ["off"]);
    client.close();
}

/// Where in a file some bytes stand.
fn places(bytes: &[u8], wanted: &[u8]) -> Vec<usize> {
    let windows = bytes.windows(wanted.len()).enumerate();
    windows.filter(|it| it.1 == wanted).map(|it| it.0).collect()
}

/// Where the sorted numbers of a chunk of links with [`MEMBERS`] members may stand.
fn chunks(bytes: &[u8]) -> Vec<usize> {
    let number = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
    let run = |at: &usize| (1..MEMBERS).all(|n| number(at + 2 * n) == number(at + 2 * n - 2) + 1);
    let all = 0..bytes.len() - 2 * MEMBERS;
    all.filter(|at| number(*at) > 0 && number(*at) < 1_000)
        .filter(run)
        .collect()
}

/// How many damages are found with one bit changed; `None` for a bit that a check does not miss.
fn with_damage(
    file: &Path,
    folder: &Arc<tempfile::TempDir>,
    sound: &[u8],
    at: usize,
) -> Option<u64> {
    let mut damaged = sound.to_vec();
    damaged[at] ^= 1;
    fs::write(file, &damaged).unwrap();
    let checked = replica::check::check(folder.path());
    let problems = checked.expect("checked").problem_count;
    fs::write(file, &damaged).unwrap();
    let _ = fs::remove_file(folder.path().join("scrubbed"));
    if problems == 0 {
        return None;
    }
    let mut client = Client::open(Arc::clone(folder)).reopen_with(&at_once());
    success(&client.bind(ADMIN, PASSWORD));
    let found = damages(&mut client);
    client.close();
    Some(found)
}

#[test]
fn damage_of_entries_names_and_links_is_found() {
    let mut client = filled();
    // Rules, and those that are tried, are looked for at each start. If an entry for them is
    // missing, a damaged page among the names may hide it, and the database is not opened.
    let attributes: &[(&str, &[&str])] = &[("objectClass", &["pandoConfig"])];
    for container in ["cn=access,cn=config", "cn=identities,cn=config"] {
        success(&client.add(container, attributes));
    }
    let candidate: &[(&str, &[&str])] = &[
        ("objectClass", &["pandoCandidate"]),
        (
            "pandoCandidateText",
            &["rule all\non everything\nlet users read\n"],
        ),
    ];
    success(&client.add("cn=candidate,cn=config", candidate));
    let folder = Arc::clone(&client.folder);
    client.close();
    replica::compact::compact(folder.path()).unwrap();
    let file = folder.path().join("pando.mdb");
    let sound = fs::read(&file).unwrap();
    let mut kinds = [0; 3];
    let of_kind = [
        places(&sound, b"striped17"),
        places(&sound, b"quagga17"),
        chunks(&sound),
    ];
    for (kind, places) in of_kind.into_iter().enumerate() {
        for at in places {
            if let Some(found) = with_damage(&file, &folder, &sound, at + 7) {
                assert!(found > 0, "the damage at {at} is found");
                kinds[kind] += 1;
            }
        }
    }
    assert!(kinds.iter().all(|it| *it > 0), "{kinds:?}");
    // In the entry and in its name.
    assert!(kinds[1] > 1, "{kinds:?}");
}

#[test]
fn damaged_entries_are_counted_once() {
    let client = filled();
    let folder = Arc::clone(&client.folder);
    client.close();
    let file = folder.path().join("pando.mdb");
    let mut bytes = fs::read(&file).unwrap();
    for at in places(&bytes, b"striped23") {
        bytes[at] ^= 1;
    }
    fs::write(&file, bytes).unwrap();
    let mut client = Client::open(folder);
    success(&client.bind(ADMIN, PASSWORD));
    // Other tests of this process meet damage, too.
    let before = damaged_entries(&mut client);
    let name = "cn=quagga23,dc=example,dc=com";
    for _ in 0..3 {
        let found = client.search(name, Scope::BaseObject, "(objectClass=*)", &["*"]);
        assert_eq!(found.result.code, ResultCode::OTHER);
    }
    assert!(damaged_entries(&mut client) > before);
    client.close();
}
