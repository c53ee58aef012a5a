//! Parts with few entries: loads beside slapd, one change at a time, searches, killed processes.

use std::io;

use pando_benches::cluster::failure::{Victim, kill};
use pando_benches::cluster::fleet::{Fleet, NODES};
use pando_benches::cluster::load::Load;
use pando_benches::cluster::search::{CHANGES, Measurement, cost};
use pando_benches::cluster::table::{Against, LOADS_HEAD, ROWS, line, thread_table, yes};
use pando_benches::cluster::{pando, slapd};
use pando_benches::journal::Journal;
use pando_benches::subject::Subject;

use crate::{Arguments, Part};

/// The parts with few entries.
pub fn few(arguments: &Arguments, journal: &mut Journal) -> io::Result<()> {
    let folder = arguments.imported("few", arguments.entries)?;
    let mut theirs = match arguments.alone {
        true => None,
        false => Some(slapd::make(&folder)?),
    };
    let mut own = pando::make(&folder, &arguments.etcd, NODES)?;
    if arguments.has(Part::Loads) {
        loads(arguments, journal, &mut own, theirs.as_mut())?;
    }
    if arguments.has(Part::Idle) {
        idle(arguments, journal, &mut own, theirs.as_mut())?;
    }
    own.start()?;
    if arguments.has(Part::Search) {
        searches(arguments, journal, &own)?;
    }
    if arguments.has(Part::Failures) {
        failures(arguments, journal, &mut own)?;
    }
    Ok(())
}

/// Changes on all nodes, of both kinds of servers in turns.
fn loads(
    arguments: &Arguments,
    journal: &mut Journal,
    own: &mut Fleet,
    mut theirs: Option<&mut Fleet>,
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
    own: &mut Fleet,
    mut theirs: Option<&mut Fleet>,
) -> io::Result<()> {
    journal.line("## One change at a time on one node\n")?;
    journal.line("| servers | changes/s | p50 ms | p99 ms | max ms |\n|---|---|---|---|---|")?;
    let load = Load {
        nodes: 1,
        ..arguments.load(1, 1)
    };
    let mut measure = |fleet: &mut Fleet| {
        fleet.start()?;
        let measured = load.measure(fleet)?;
        fleet.stop();
        let latency = measured.report.latency;
        journal.line(&format!(
            "| {} | {:.0} | {:.2} | {:.2} | {:.2} |",
            fleet.name,
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
fn searches(arguments: &Arguments, journal: &mut Journal, own: &Fleet) -> io::Result<()> {
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
fn failures(arguments: &Arguments, journal: &mut Journal, own: &mut Fleet) -> io::Result<()> {
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
            yes(killed.equal),
        ))?;
    }
    journal.line("")
}
