//! Parts with very many entries, of Pando alone: loads, and a node that only follows.

use std::io;

use pando_benches::cluster::fleet::NODES;
use pando_benches::cluster::load::Load;
use pando_benches::cluster::table::{Against, LOADS_HEAD, MANY_ROWS, line, thread_table};
use pando_benches::journal::Journal;

use crate::Arguments;

/// Changes of very many entries, of Pando alone.
pub fn many(arguments: &Arguments, journal: &mut Journal) -> io::Result<()> {
    let entries = arguments.many;
    let own = arguments.cluster("many", entries, NODES)?;
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
pub fn follower(arguments: &Arguments, journal: &mut Journal) -> io::Result<()> {
    let entries = arguments.follower;
    let own = arguments.cluster("follower", entries, NODES)?;
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
