//! Three Pando nodes with three members of etcd beside three slapd that replicate to each other:
//! changes on all nodes at once, until all are equal.
//!
//! Only one of the two runs at a time. Every row ends when full reads of all nodes agree, or after
//! `--within`. The table of threads tells what Pando's rows cost where.

use std::env::temp_dir;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;
use pando_benches::arguments::Tables;
use pando_benches::cluster::failure::{Victim, kill};
use pando_benches::cluster::load::Load;
use pando_benches::cluster::search::{CHANGES, Measurement, cost};
use pando_benches::cluster::table::{Against, LOADS_HEAD, MANY_ROWS, ROWS, line, thread_table};
use pando_benches::cluster::trio::{NODES, Trio};
use pando_benches::cluster::{etcd, pando, slapd};
use pando_benches::journal::Journal;
use pando_benches::process::beside;
use pando_benches::row::{Data, Extent};
use pando_benches::subject::{Folder, Subject};
use pando_benches::table;

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
    /// The only parts to measure: loads, idle, search, failures, many, follower. The last two need
    /// time and room, and are left out unless they are named.
    #[arg(
        long,
        value_name = "PART",
        value_delimiter = ',',
        default_value = "loads,idle,search,failures"
    )]
    only: Vec<String>,
    /// Leaves slapd out.
    #[arg(long)]
    alone: bool,
    /// Entries of the part `many`.
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    many: u64,
    /// Entries of the part `follower`.
    #[arg(long, value_name = "N", default_value_t = 2_100_000)]
    follower: u64,
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

fn main() -> io::Result<()> {
    let arguments = Arguments::parse();
    let mut journal = Journal::default();
    journal.line("# Three nodes that all take changes\n")?;
    journal.line(&table::facts("cluster", Some(&arguments.pando))?)?;
    let has = |part: &str| arguments.only.iter().any(|it| it == part);
    if ["loads", "idle", "search", "failures"]
        .iter()
        .any(|it| has(it))
    {
        few(&arguments, &mut journal)?;
    }
    if has("many") {
        many(&arguments, &mut journal)?;
    }
    if has("follower") {
        follower(&arguments, &mut journal)?;
    }
    arguments.tables.keep(&journal, "cluster")
}

impl Arguments {
    fn load(&self, connections: usize, depth: usize) -> Load {
        Load {
            connections,
            depth,
            nodes: NODES,
            entries: self.entries,
            seconds: self.seconds,
            within: Duration::from_secs(self.within),
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

    fn cluster(&self, name: &str, entries: u64) -> io::Result<Trio> {
        pando::make(&self.imported(name, entries)?, &self.etcd)
    }
}

/// The parts with few entries.
fn few(arguments: &Arguments, journal: &mut Journal) -> io::Result<()> {
    let folder = arguments.imported("few", arguments.entries)?;
    let mut theirs = match arguments.alone {
        true => None,
        false => Some(slapd::make(&folder)?),
    };
    let mut own = pando::make(&folder, &arguments.etcd)?;
    let has = |part: &str| arguments.only.iter().any(|it| it == part);
    if has("loads") {
        loads(arguments, journal, &mut own, theirs.as_mut())?;
    }
    if has("idle") {
        idle(arguments, journal, &mut own, theirs.as_mut())?;
    }
    own.start()?;
    if has("search") {
        searches(arguments, journal, &own)?;
    }
    if has("failures") {
        failures(arguments, journal, &mut own)?;
    }
    Ok(())
}

/// Changes on all nodes, of both kinds of servers in turns.
fn loads(
    arguments: &Arguments,
    journal: &mut Journal,
    own: &mut Trio,
    mut theirs: Option<&mut Trio>,
) -> io::Result<()> {
    let entries = arguments.entries;
    journal.line(&format!("## Changes of {entries} entries on all nodes\n"))?;
    journal.line(LOADS_HEAD)?;
    let mut threads = Vec::new();
    for row in ROWS {
        let load = arguments.load(row.connections, row.depth);
        let mut slapd = None;
        if let Some(theirs) = &mut theirs {
            own.stop();
            theirs.start()?;
            let measured = load.measure(theirs)?;
            theirs.stop();
            journal.line(&line(&load, theirs, &measured, &Against::default()))?;
            slapd = Some(measured);
        }
        own.start()?;
        let measured = load.measure(own)?;
        let against = Against {
            slapd: slapd.as_ref(),
            goal: Some(row.goal),
        };
        journal.line(&line(&load, own, &measured, &against))?;
        threads.extend(measured.threads(&load.words()));
    }
    thread_table(journal, &threads)
}

/// One request at a time on one connection to one node.
fn idle(
    arguments: &Arguments,
    journal: &mut Journal,
    own: &mut Trio,
    mut theirs: Option<&mut Trio>,
) -> io::Result<()> {
    journal.line("## One change at a time on one node\n")?;
    journal.line("| servers | changes/s | p50 ms | p99 ms | max ms |\n|---|---|---|---|---|")?;
    let load = Load {
        nodes: 1,
        ..arguments.load(1, 1)
    };
    let mut measure = |trio: &mut Trio| {
        trio.start()?;
        let measured = load.measure(trio)?;
        trio.stop();
        let latency = measured.report.latency;
        journal.line(&format!(
            "| {} | {:.0} | {:.2} | {:.2} | {:.2} |",
            trio.name,
            measured.accepted(),
            latency.p50_us / 1e3,
            latency.p99_us / 1e3,
            latency.max_us / 1e3,
        ))
    };
    own.stop();
    if let Some(theirs) = &mut theirs {
        measure(theirs)?;
    }
    measure(own)?;
    journal.line("")
}

/// What a search costs a node of the cluster, and a node alone.
fn searches(arguments: &Arguments, journal: &mut Journal, own: &Trio) -> io::Result<()> {
    let entries = arguments.entries;
    let lone = arguments.imported("lone", entries)?;
    let lone = lone.start(Subject::Pando)?;
    let lone_cost = cost(&Measurement {
        urls: std::slice::from_ref(&lone.url),
        searched: 0,
        pid: lone.pid(),
        entries,
        seconds: arguments.seconds,
    })?;
    drop(lone);
    let urls = own.urls();
    let pid = own.nodes[1].pid();
    let cluster_cost = cost(&Measurement {
        urls: &urls,
        searched: 1,
        pid: pid.ok_or_else(|| io::Error::other("the node has ended"))?,
        entries,
        seconds: arguments.seconds,
    })?;
    journal.line(&format!(
        "## Equality searches beside {CHANGES:.0} changes each second\n\n\
         | node alone, CPU us for each search | node of a cluster | ratio | must |\n\
         |---|---|---|---|\n| {lone_cost:.2} | {cluster_cost:.2} | {:.2} | 1.15 |\n",
        cluster_cost / lone_cost
    ))
}

/// Kills processes under load.
fn failures(arguments: &Arguments, journal: &mut Journal, own: &mut Trio) -> io::Result<()> {
    journal.line("## A process is killed under load, 4 x 8\n")?;
    journal.line(
        "| killed | longest time without an accepted change, s | done | refused | unknown \
         | connections made again | equal afterwards | must |\n|---|---|---|---|---|---|---|---|",
    )?;
    let load = arguments.load(4, 8);
    for victim in Victim::ALL {
        let killed = kill(own, &load, victim)?;
        let (report, outcomes) = (&killed.report, &killed.report.outcomes);
        journal.line(&format!(
            "| {} | {:.2} | {} | {} | {} | {} | {} | 3 s |",
            victim.name(),
            report.longest_gap_s,
            outcomes.done,
            outcomes.refusals(),
            outcomes.unknown,
            report.reconnections,
            if killed.equal { "yes" } else { "no" },
        ))?;
    }
    journal.line("")
}

/// Changes of very many entries, of Pando alone.
fn many(arguments: &Arguments, journal: &mut Journal) -> io::Result<()> {
    let entries = arguments.many;
    let own = arguments.cluster("many", entries)?;
    journal.line(&format!("## Changes of {entries} entries on all nodes\n"))?;
    journal.line(LOADS_HEAD)?;
    let mut threads = Vec::new();
    for row in MANY_ROWS {
        let load = Load {
            entries,
            ..arguments.load(row.connections, row.depth)
        };
        let measured = load.measure(&own)?;
        let against = Against {
            slapd: None,
            goal: Some(row.goal),
        };
        journal.line(&line(&load, &own, &measured, &against))?;
        threads.extend(measured.threads(&load.words()));
    }
    thread_table(journal, &threads)
}

/// What a change costs a node that only executes it.
fn follower(arguments: &Arguments, journal: &mut Journal) -> io::Result<()> {
    let entries = arguments.follower;
    let own = arguments.cluster("follower", entries)?;
    let load = Load {
        entries,
        nodes: 1,
        ..arguments.load(10, 1_000)
    };
    let measured = load.measure(&own)?;
    let accepted = measured.report.outcomes.accepted.max(1) as f64;
    let parts = &measured.usage.processes[1..NODES];
    // Nobody but the reader that compares speaks to the followers.
    let follows = |name: &&String| name.as_str() != "serve";
    let each = parts.iter().map(|part| {
        let threads = part.threads.iter().filter(|(name, _)| follows(name));
        threads.map(|(_, ns)| ns / 1e3 / accepted).sum::<f64>()
    });
    let each = each.sum::<f64>() / parts.len() as f64;
    journal.line(&format!(
        "## Changes of {entries} entries on one node, {}\n\n\
         | accepted/s | CPU us for each change, a node that only follows | must |\n|---|---|---|\n\
         | {:.0} | {each:.2} | 14 |\n",
        load.words(),
        measured.accepted(),
    ))?;
    let mut threads = Vec::new();
    for part in parts {
        for (name, ns) in part
            .threads
            .iter()
            .filter(|(_, ns)| **ns / 1e3 / accepted >= 0.05)
        {
            let each = ns / 1e3 / accepted;
            threads.push(format!("| follower | pando | {name} | {each:.2} |"));
        }
    }
    thread_table(journal, &threads)
}
