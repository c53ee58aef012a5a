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
use pando_benches::cluster::load::{Load, Measured};
use pando_benches::cluster::search::{CHANGES, Measurement, cost};
use pando_benches::cluster::trio::{NODES, Role, Trio};
use pando_benches::cluster::{etcd, pando, slapd};
use pando_benches::journal::Journal;
use pando_benches::process::beside;
use pando_benches::row::{Data, Extent};
use pando_benches::subject::{Folder, Subject};
use pando_benches::table;

/// Connections to each node and requests in flight on each of them, with what Pando must reach:
/// times slapd's converged rate, and converged changes each second.
const ROWS: [(usize, usize, f64, f64); 3] = [
    (4, 8, 20.0, 0.0),
    (4, 100, 30.0, 20_000.0),
    (10, 1_000, 0.0, 30_000.0),
];
/// The same for many entries.
const MANY_ROWS: [(usize, usize, f64, f64); 2] =
    [(4, 100, 0.0, 10_000.0), (10, 1_000, 0.0, 20_000.0)];

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

const LOADS_HEAD: &str = "\
| per node | servers | accepted/s | converged/s | unequal s | entries that differed | refused \
| unknown | p50 ms | p99 ms | CPU us, nodes | CPU us, etcd | must | reached |
|---|---|---|---|---|---|---|---|---|---|---|---|---|---|";
const THREADS_HEAD: &str = "\
| row | process | thread | CPU us for each accepted change |\n|---|---|---|---|";

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
    for (connections, depth, times, rate) in ROWS {
        let load = arguments.load(connections, depth);
        let mut slapd = 0.0;
        if let Some(theirs) = &mut theirs {
            own.stop();
            theirs.start()?;
            let measured = load.measure(theirs)?;
            theirs.stop();
            slapd = measured.converged();
            journal.line(&line(&load, theirs, &measured, "-"))?;
        }
        own.start()?;
        let measured = load.measure(own)?;
        let least = (times * slapd).max(rate);
        journal.line(&line(&load, own, &measured, &format!("{least:.0}/s")))?;
        threads.extend(measured.threads(&load.words()));
    }
    thread_table(journal, &threads)
}

fn thread_table(journal: &mut Journal, lines: &[String]) -> io::Result<()> {
    journal.line(&format!("\n{THREADS_HEAD}"))?;
    for line in lines {
        journal.line(line)?;
    }
    journal.line("")
}

/// One line of a table of loads. `must` is the converged rate to reach, or `-`.
fn line(load: &Load, trio: &Trio, measured: &Measured, must: &str) -> String {
    let report = &measured.report;
    let converged = report.converged.clone().unwrap_or_default();
    let refused: Vec<String> = report
        .outcomes
        .refused
        .iter()
        .map(|(code, count)| format!("{count} {code}"))
        .collect();
    let refused = match refused.is_empty() {
        true => "0".to_owned(),
        false => refused.join(", "),
    };
    let unequal = match converged.equal {
        true => format!("{:.2}", converged.unequal_s),
        false => format!("more than {:.0}", converged.unequal_s),
    };
    let least = must.trim_end_matches("/s").parse::<f64>();
    let reached = match least {
        Ok(least) if measured.converged() >= least && converged.equal => "yes",
        Ok(_) => "no",
        Err(_) => "-",
    };
    format!(
        "| {} | {} | {:.0} | {:.0} | {unequal} | {} | {refused} | {} | {:.1} | {:.1} | {:.1} \
         | {:.1} | {must} | {reached} |",
        load.words(),
        trio.name,
        measured.accepted(),
        measured.converged(),
        converged.differing,
        report.outcomes.unknown,
        report.latency.p50_us / 1e3,
        report.latency.p99_us / 1e3,
        measured.us(Role::Node),
        measured.us(Role::Log),
    )
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
    for (connections, depth, _, rate) in MANY_ROWS {
        let load = Load {
            entries,
            ..arguments.load(connections, depth)
        };
        let measured = load.measure(&own)?;
        journal.line(&line(&load, &own, &measured, &format!("{rate:.0}/s")))?;
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
    let each =
        parts.iter().map(|it| it.total_ns).sum::<f64>() / 1e3 / parts.len() as f64 / accepted;
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
