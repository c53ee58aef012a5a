//! Part `dvtds`: many nodes with very many entries, on each of which one client has a thousand
//! requests in flight.

use std::io;
use std::path::Path;

use kit::Folder as Memory;
use pando_benches::cluster::fleet::Fleet;
use pando_benches::cluster::load::{Load, Measured};
use pando_benches::cluster::pando::Plan;
use pando_benches::cluster::process::Role;
use pando_benches::cluster::table::{equal_after, refused, thread_table, yes};
use pando_benches::journal::Journal;

use crate::Arguments;

/// Percentages of searches, each a row.
const SEARCHES: [u8; 3] = [0, 50, 80];
/// File system in memory.
const IN_MEMORY: &str = "/dev/shm";
const HEAD: &str = "\
| searches / changes | data | accepted/s | searches/s | converged/s \
| the same without reads | unequal s | equal after s | reads s | entries that differed \
| refused | unknown | p50 ms | p99 ms | CPU us, nodes | CPU us, etcd \
| CPU us, executor of a node | must | reached |
|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|";

/// Loads all nodes with changes, and with searches among them.
pub fn dvtds(arguments: &Arguments, journal: &mut Journal) -> io::Result<()> {
    let (entries, nodes) = (arguments.grove_entries, arguments.nodes);
    let folder = arguments.imported("dvtds", entries)?;
    // Removed when the nodes have ended.
    let memory = match arguments.volatile {
        true => Some(Memory::below(Path::new(IN_MEMORY))),
        false => None,
    };
    let (plan, mut fleet) = Plan::on_loopback(&folder, &arguments.etcd, nodes)?;
    plan.join_all(&mut fleet)?;
    journal.line(&format!(
        "## {nodes} nodes with {entries} entries, {} on each\n",
        arguments.queued().words()
    ))?;
    journal.line(HEAD)?;
    let mut threads = rows(arguments, journal, &fleet, "durable")?;
    if let Some(memory) = memory {
        forget(&plan, &mut fleet, memory.path())?;
        threads.extend(rows(arguments, journal, &fleet, "volatile")?);
    }
    thread_table(journal, &threads)
}

/// Moves the data of all nodes but the first into a folder in memory.
fn forget(plan: &Plan<'_>, fleet: &mut Fleet, memory: &Path) -> io::Result<()> {
    for (number, node) in fleet.nodes.iter_mut().enumerate().skip(1) {
        node.stop();
        plan.set(
            number,
            &format!(
                "[cluster]\nvolatile = true\nvolatile_folder = '{}'\n",
                memory.display()
            ),
        )?;
    }
    fleet.start()
}

/// One line for each mix; returns those of the table of threads.
fn rows(
    arguments: &Arguments,
    journal: &mut Journal,
    fleet: &Fleet,
    data: &str,
) -> io::Result<Vec<String>> {
    let mut threads = Vec::new();
    for searches in SEARCHES {
        let load = Load {
            entries: arguments.grove_entries,
            searches,
            ..arguments.queued()
        };
        let measured = load.measure(fleet)?;
        let mix = format!("{searches} / {}", 100 - searches);
        journal.line(&format!(
            "| {mix} | {data} | {}",
            line(&measured, arguments.nodes)
        ))?;
        threads.extend(measured.threads(&format!("{mix}, {data}")));
    }
    Ok(threads)
}

/// Converged changes each second that so many nodes must reach; `None` where nothing is asked for.
fn goal(nodes: usize) -> Option<f64> {
    match nodes {
        7 => Some(8_000.0),
        16 => Some(3_000.0),
        _ => None,
    }
}

fn line(measured: &Measured, nodes: usize) -> String {
    let report = &measured.report;
    let converged = report.converged.clone().unwrap_or_default();
    let executors = measured.usage.threads_us(Role::Node).into_iter();
    let executors = executors.filter(|(name, _)| name == "executor");
    let executor_us: f64 = executors.map(|(_, us)| us).sum();
    let each = executor_us / nodes as f64 / report.outcomes.accepted.max(1) as f64;
    let goal = goal(nodes);
    let must = goal.map_or("-".to_owned(), |it| format!("{it}/s"));
    let reached = goal.map_or("-", |it| yes(converged.equal && measured.converged() >= it));
    format!(
        "{:.0} | {:.0} | {:.0} | {:.0} | {:.2} | {} | {:.2} | {} | {} | {} | {:.1} | {:.1} \
         | {:.1} | {:.1} | {each:.2} | {must} | {reached} |",
        measured.accepted(),
        measured.searched(),
        measured.converged(),
        measured.converged_without_reads(),
        converged.unequal_s,
        equal_after(&converged),
        converged.reads_s,
        converged.differing,
        refused(report),
        report.outcomes.unknown,
        report.latency.p50_us / 1e3,
        report.latency.p99_us / 1e3,
        measured.us(Role::Node),
        measured.us(Role::Log),
    )
}
