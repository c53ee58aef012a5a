//! Part `hot`: few entries that are changed on many nodes again and again. No change is lost, and
//! all nodes are equal in the end.

use std::io;

use pando_benches::cluster::load::Load;
use pando_benches::cluster::pando;
use pando_benches::cluster::table::{equal_after, refused, thread_table, yes};
use pando_benches::journal::Journal;

use crate::Arguments;

/// Entries that are changed, of those in the directory.
const HOT: u64 = 1_000;

/// Changes the entries until as many changes met entries that were changed before.
pub fn hot(arguments: &Arguments, journal: &mut Journal) -> io::Result<()> {
    let folder = arguments.imported("hot", arguments.entries.max(HOT))?;
    let fleet = pando::make(&folder, &arguments.etcd, arguments.nodes)?;
    let load = Load {
        entries: HOT,
        ..arguments.queued()
    };
    let sent = arguments.collisions + HOT;
    let mut options = load.options(&fleet);
    (options.operations, options.duration) = (Some(sent), None);
    let measured = load.measure_with(&fleet, options)?;
    let report = &measured.report;
    let (outcomes, converged) = (
        &report.outcomes,
        report.converged.clone().unwrap_or_default(),
    );
    let accepted = outcomes.accepted;
    let reached = accepted == sent && outcomes.all_done();
    journal.line(&format!(
        "## {HOT} entries changed on {} nodes, {} on each\n\n\
         | changes sent | accepted | collisions | refused | unknown | accepted/s | converged/s \
         | entries that differed | equal after s | must | reached |\n\
         |---|---|---|---|---|---|---|---|---|---|---|\n\
         | {sent} | {accepted} | {} | {} | {} | {:.0} | {:.0} | {} | {} \
         | none lost, none refused, all equal | {} |",
        arguments.nodes,
        load.words(),
        accepted.saturating_sub(HOT),
        refused(report),
        outcomes.unknown,
        measured.accepted(),
        measured.converged(),
        converged.differing,
        equal_after(&converged),
        yes(reached && converged.equal),
    ))?;
    thread_table(journal, &measured.threads("hot"))
}
