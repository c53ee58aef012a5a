//! Pando nodes with members of etcd: changes on all nodes at once, until all are equal. Three of
//! them stand beside three slapd that replicate to each other.
//!
//! Only one of the two runs at a time. Every row ends when full reads of all nodes agree, or after
//! `--within`. The tables of threads tell what Pando's rows cost where.

use std::env::temp_dir;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, ValueEnum};
use pando_benches::arguments::Tables;
use pando_benches::cluster::fleet::{Fleet, NODES};
use pando_benches::cluster::load::Load;
use pando_benches::cluster::{etcd, pando};
use pando_benches::journal::Journal;
use pando_benches::process::beside;
use pando_benches::row::{Data, Extent};
use pando_benches::subject::{Folder, Subject};
use pando_benches::table;

mod dvtds;
mod few;
mod hot;
mod join;
mod many;
mod wan;

/// Requests in flight on each node of the parts with many nodes.
const QUEUE_LENGTH: usize = 1_000;

/// Measures a cluster beside slapd.
#[derive(Parser)]
struct Arguments {
    /// Entries in the directories.
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    entries: u64,
    /// Seconds of each load.
    #[arg(long, value_name = "S", default_value_t = 60.0)]
    seconds: f64,
    /// Seconds after the last answer within which the nodes have to become equal.
    #[arg(long, value_name = "S", default_value_t = 300)]
    within: u64,
    /// The only parts to measure. Those that need much time or room, or root, are left out unless
    /// they are named.
    #[arg(
        long,
        value_name = "PART",
        value_delimiter = ',',
        default_value = "loads,idle,search,failures"
    )]
    only: Vec<Part>,
    /// Leaves slapd out.
    #[arg(long)]
    alone: bool,
    /// Entries of the part `many`.
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    many: u64,
    /// Entries of the part `follower`.
    #[arg(long, value_name = "N", default_value_t = 2_100_000)]
    follower: u64,
    /// Nodes of the parts `dvtds` and `hot`, two at least.
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = nodes)]
    nodes: usize,
    /// Connections to each node of these parts, which share a thousand requests in flight. A node
    /// executes the requests of one connection in order: a search behind a change waits for it.
    #[arg(long, value_name = "N", default_value_t = 1,
        value_parser = clap::value_parser!(u16).range(1..=1_000))]
    connections: u16,
    /// Entries of the part `dvtds`.
    #[arg(long, value_name = "N", default_value_t = 2_100_000)]
    grove_entries: u64,
    /// Measures the part `dvtds` once more, with the data of all nodes but the first in memory.
    #[arg(long)]
    volatile: bool,
    /// Changes of the part `hot` beyond the first of each entry.
    #[arg(long, value_name = "N", default_value_t = 900_000)]
    collisions: u64,
    /// Sites of the part `wan`, three at least.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = sites)]
    sites: usize,
    /// Milliseconds of a round trip between two sites, at most 100: with longer ones etcd as `pando
    /// serve` runs it loses its leader.
    #[arg(long, value_name = "MS", default_value_t = 80,
        value_parser = clap::value_parser!(u64).range(1..=100))]
    round_trip: u64,
    /// Lanes of each node of the part `wan`, 1 to 4.
    #[arg(long, value_name = "N", default_value_t = 4,
        value_parser = clap::value_parser!(u8).range(1..=4))]
    lanes: u8,
    /// Entries of the part `join`.
    #[arg(long, value_name = "N", default_value_t = 2_000_000)]
    join_entries: u64,
    /// Folder for databases.
    #[arg(long, value_name = "FOLDER", default_value_os_t = temp_dir().join("pando-bench-cluster"))]
    folder: PathBuf,
    /// The program `pando`.
    #[arg(long, value_name = "FILE", default_value_os_t = beside("pando"))]
    pando: PathBuf,
    /// The program `etcd`, with `etcdctl` beside it.
    #[arg(long, value_name = "FILE", default_value_os_t = etcd::program())]
    etcd: PathBuf,
    #[command(flatten)]
    tables: Tables,
}

/// Part of the measurements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Changes on three nodes, in turns with three slapd.
    Loads,
    /// One change at a time on one node.
    Idle,
    /// Searches beside changes, of a node of the cluster and of a node alone.
    Search,
    /// Killed processes.
    Failures,
    /// Changes of very many entries.
    Many,
    /// Processor time of a node that only follows.
    Follower,
    /// Changes, and searches among them, on many nodes with very many entries.
    Dvtds,
    /// Changes of few entries on many nodes.
    Hot,
    /// Changes at sites far from each other; needs root.
    Wan,
    /// Joining of a node with very many entries.
    Join,
}

fn nodes(text: &str) -> Result<usize, String> {
    at_least(text, 2)
}

fn sites(text: &str) -> Result<usize, String> {
    at_least(text, NODES)
}

fn at_least(text: &str, least: usize) -> Result<usize, String> {
    let number = text.parse().ok().filter(|it| *it >= least);
    number.ok_or_else(|| format!("expected a number from {least} on"))
}

fn main() -> io::Result<()> {
    let arguments = Arguments::parse();
    let mut journal = Journal::default();
    journal.line("# Nodes that all take changes\n")?;
    journal.line(&table::facts("cluster", Some(&arguments.pando))?)?;
    let has = |part: Part| arguments.has(part);
    if has(Part::Loads) || has(Part::Idle) || has(Part::Search) || has(Part::Failures) {
        few::few(&arguments, &mut journal)?;
    }
    if has(Part::Many) {
        many::many(&arguments, &mut journal)?;
    }
    if has(Part::Follower) {
        many::follower(&arguments, &mut journal)?;
    }
    if has(Part::Dvtds) {
        dvtds::dvtds(&arguments, &mut journal)?;
    }
    if has(Part::Hot) {
        hot::hot(&arguments, &mut journal)?;
    }
    if has(Part::Wan) {
        wan::wan(&arguments, &mut journal)?;
    }
    if has(Part::Join) {
        join::join(&arguments, &mut journal)?;
    }
    arguments.tables.keep(&journal, "cluster")
}

impl Arguments {
    /// Whether a part is to be measured.
    fn has(&self, part: Part) -> bool {
        self.only.contains(&part)
    }

    /// A load of three nodes.
    fn load(&self, connections: usize, depth: usize) -> Load {
        Load {
            connections,
            depth,
            nodes: NODES,
            entries: self.entries,
            searches: 0,
            seconds: self.seconds,
            within: Duration::from_secs(self.within),
        }
    }

    /// A load of the parts with many nodes.
    fn queued(&self) -> Load {
        let connections = usize::from(self.connections);
        Load {
            nodes: self.nodes,
            ..self.load(connections, QUEUE_LENGTH / connections)
        }
    }

    /// A work folder with entries, imported into a Pando that does not run.
    fn imported(&self, name: &str, entries: u64) -> io::Result<Folder> {
        let folder = Folder::anew(&self.folder.join(name), &self.pando)?;
        folder.make_entries(Extent {
            data: Data::Plain,
            entries,
            seconds: self.seconds,
        })?;
        folder.prepare(Subject::Pando)?;
        folder.import(Subject::Pando)?;
        Ok(folder)
    }

    /// A cluster of so many nodes, all of which are served.
    fn cluster(&self, name: &str, entries: u64, nodes: usize) -> io::Result<Fleet> {
        pando::make(&self.imported(name, entries)?, &self.etcd, nodes)
    }
}
