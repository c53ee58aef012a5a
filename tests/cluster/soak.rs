//! A long load on all nodes: memory, files and the log stay flat, and all nodes are equal.
//!
//! `make test` runs it for seconds, and judges nothing but equality; `make cluster-soak` sets
//! `PANDO_SOAK_MINUTES`, prints a row each minute and a verdict.

use crate::nodes::{await_voters, cluster, conclude, status};
use crate::wanderers::pause;
use kit::client::Modification;
use kit::{ADMIN, Client, Entry, PASSWORD, Pando, SUFFIX, etcd, people};
use protocol::{ResultCode, Scope};
use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Rows of a run of all tests, and the time of each.
const SHORT_ROWS: u64 = 4;
const SHORT: Duration = Duration::from_secs(2);
/// People that are changed all the time; as many others are added and deleted.
const PEOPLE: u64 = 300;
/// Room for a figure to grow after the first half, in MiB, or open files.
const SPARE: u64 = 32;

/// Measurements at the end of a row: of each figure the highest of all nodes.
#[derive(Debug, Clone, Copy, Default)]
struct Row {
    /// Writes so far.
    writes: u64,
    /// Memory of a node without its mapped file, in MiB.
    node_mib: u64,
    /// Memory of a node's etcd, in MiB.
    etcd_mib: u64,
    /// Size of the database file on the disk, in MiB.
    file_mib: u64,
    /// Size of a node's own log on the disk, in MiB.
    relay_mib: u64,
    /// Used size of etcd's database, in MiB.
    log_mib: u64,
    /// Open files of a node.
    files: u64,
}

/// Figures that must stay flat.
const FLAT: [Figure; 6] = [
    Figure("memory of a node", |it| it.node_mib),
    Figure("memory of etcd", |it| it.etcd_mib),
    Figure("database file", |it| it.file_mib),
    Figure("log of a node", |it| it.relay_mib),
    Figure("log in etcd", |it| it.log_mib),
    Figure("open files", |it| it.files),
];

/// A figure of a row, with its name.
struct Figure(&'static str, fn(&Row) -> u64);

#[test]
fn a_long_load_leaves_everything_flat() {
    let minutes = std::env::var("PANDO_SOAK_MINUTES").ok();
    let minutes: Option<u64> = minutes.map(|it| it.parse().expect("a number of minutes"));
    let (rows, time) = match minutes {
        Some(minutes) => (minutes, Duration::from_secs(60)),
        None => (SHORT_ROWS, SHORT),
    };
    let mut nodes = cluster(3);
    nodes.iter().for_each(|it| await_voters(it, 3));
    for number in 0..PEOPLE {
        nodes[0].admin().add(&person(number)).expect_success();
    }
    let addresses: Vec<SocketAddr> = nodes.iter().map(Pando::address).collect();
    let (ends, writes) = (AtomicBool::new(false), AtomicU64::new(0));
    let mut seen = Vec::new();
    thread::scope(|scope| {
        for (number, address) in addresses.iter().enumerate() {
            let (ends, writes) = (&ends, &writes);
            scope.spawn(move || load(*address, number as u64, ends, writes));
        }
        let begun = Instant::now();
        eprintln!("row writes node_MiB etcd_MiB file_MiB relay_MiB log_MiB files");
        for row in 1..=rows {
            pause((time * row as u32).saturating_sub(begun.elapsed()));
            let it = measure(&mut nodes, writes.load(Ordering::Relaxed));
            eprintln!(
                "{row} {} {} {} {} {} {} {}",
                it.writes,
                it.node_mib,
                it.etcd_mib,
                it.file_mib,
                it.relay_mib,
                it.log_mib,
                it.files
            );
            seen.push(it);
        }
        ends.store(true, Ordering::Release);
    });
    let wrong = verdict(&seen);
    conclude(&mut nodes);
    if minutes.is_some() {
        assert!(wrong.is_empty(), "not flat: {}", wrong.join("; "));
        eprintln!("verdict: flat, and all nodes are equal");
    }
}

fn person(number: u64) -> Entry {
    let mut person = people::person(&format!("soak{number}"));
    person.name = format!("uid=soak{number},{SUFFIX}");
    person
}

/// Changes, adds, deletes and reads through one node until the end.
fn load(address: SocketAddr, node: u64, ends: &AtomicBool, writes: &AtomicU64) {
    let mut client = Client::connect(address);
    client.bind(ADMIN, PASSWORD).expect_success();
    let mut serial = 0;
    while !ends.load(Ordering::Acquire) {
        serial += 1;
        let name = person(serial % PEOPLE).name;
        let text = format!("node {node}, write {serial}");
        let own = person(PEOPLE * (node + 1) + serial % PEOPLE);
        let done = [
            client.modify(&name, &[Modification::replace("description", &[&text])]),
            client.add(&own),
            client.delete(&own.name),
        ];
        for outcome in &done {
            let expected = [ResultCode::SUCCESS, ResultCode::UNAVAILABLE];
            // Refused for a moment, as while etcd changes its leader; the next ones meet what an
            // unanswered add or delete left.
            let left = [ResultCode::ENTRY_ALREADY_EXISTS, ResultCode::NO_SUCH_OBJECT];
            assert!(
                expected.contains(&outcome.code) || left.contains(&outcome.code),
                "{outcome}"
            );
        }
        writes.fetch_add(done.len() as u64, Ordering::Relaxed);
        let found = client.search(&name, Scope::BaseObject, "(objectClass=*)", &["*"]);
        assert_eq!(found.entries.len(), 1, "{name}");
    }
}

fn measure(nodes: &mut [Pando], writes: u64) -> Row {
    let said = status(&nodes[0]);
    let mut row = Row {
        writes,
        log_mib: said["log"]["used_bytes"].as_u64().unwrap_or(0) >> 20,
        ..Row::default()
    };
    for node in nodes {
        let folder = node.node();
        let etcd = etcd::process(&folder).map_or(0, |it| anonymous_kib(it.as_raw_pid()));
        row.node_mib = row
            .node_mib
            .max(node.process().anonymous_memory_kib() >> 10);
        row.etcd_mib = row.etcd_mib.max(etcd >> 10);
        row.file_mib = row
            .file_mib
            .max(taken(&folder.join("data/pando.mdb")) >> 20);
        row.relay_mib = row.relay_mib.max(taken(&folder.join("data/log")) >> 20);
        row.files = row.files.max(node.process().open_files() as u64);
    }
    row
}

/// Memory of a process without its mapped files.
fn anonymous_kib(pid: i32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = text.lines().find_map(|it| it.strip_prefix("RssAnon:"));
    let number = line.and_then(|it| it.split_whitespace().next());
    number.and_then(|it| it.parse().ok()).unwrap_or(0)
}

/// Bytes that a file, or the files of a folder, take on the disk.
fn taken(path: &Path) -> u64 {
    let own = fs::metadata(path).map_or(0, |it| it.blocks() * 512);
    let inside = fs::read_dir(path).into_iter().flatten().flatten();
    own + inside.map(|it| taken(&it.path())).sum::<u64>()
}

/// The figures whose greatest value in the last quarter is well above that of the second one.
fn verdict(rows: &[Row]) -> Vec<String> {
    let quarter = rows.len() / 4;
    if quarter == 0 {
        return Vec::new();
    }
    let second = &rows[quarter..2 * quarter];
    let last = &rows[rows.len() - quarter..];
    let grown = FLAT.iter().filter_map(|Figure(name, of)| {
        let most = |rows: &[Row]| rows.iter().map(of).max().unwrap_or(0);
        let (before, after) = (most(second), most(last));
        (after > before * 5 / 4 + SPARE).then(|| format!("{name}: {before}, later {after}"))
    });
    grown.collect()
}

#[test]
fn what_grows_is_named() {
    let row = |node_mib| Row {
        node_mib,
        file_mib: 100,
        ..Row::default()
    };
    let flat: Vec<Row> = (0..8).map(|it| row(50 + it % 3)).collect();
    assert!(verdict(&flat).is_empty());
    let growing: Vec<Row> = (0..8).map(|it| row(50 + 20 * it)).collect();
    let said = verdict(&growing);
    assert_eq!(said, ["memory of a node: 110, later 190"]);
}
