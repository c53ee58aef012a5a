//! Rows of a cluster's loads: what Pando must reach, and the lines of the tables.

use std::io;

use ::load::bench::{Convergence, Report};

use super::fleet::Fleet;
use super::load::{Load, Measured};
use super::process::Role;
use crate::journal::Journal;

/// A load and what Pando must reach in it.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Connections to each node.
    pub connections: usize,
    /// Requests in flight on each of them.
    pub depth: usize,
    /// What Pando must reach.
    pub goal: Goal,
}

/// What Pando must reach; 0 for anything.
#[derive(Clone, Copy, Debug, Default)]
pub struct Goal {
    /// Times slapd's accepted changes each second.
    pub accepted: f64,
    /// Times slapd's converged changes each second.
    pub converged: f64,
    /// Converged changes each second.
    pub rate: f64,
}

/// Rows of few entries.
pub const ROWS: [Row; 3] = [
    row(4, 8, 3.0, 20.0, 0.0),
    row(4, 100, 0.0, 30.0, 20_000.0),
    row(10, 1_000, 0.0, 0.0, 30_000.0),
];
/// The rows of many entries.
pub const MANY_ROWS: [Row; 2] = [
    row(4, 100, 0.0, 0.0, 10_000.0),
    row(10, 1_000, 0.0, 0.0, 20_000.0),
];

const fn row(connections: usize, depth: usize, accepted: f64, converged: f64, rate: f64) -> Row {
    Row {
        connections,
        depth,
        goal: Goal {
            accepted,
            converged,
            rate,
        },
    }
}

/// The head of a table of loads.
pub const LOADS_HEAD: &str = "\
| per node | servers | accepted/s | converged/s | unequal s | equal after s | reads s \
| entries that differed | refused \
| unknown | p50 ms | p99 ms | CPU us, nodes | CPU us, etcd | accepted / slapd | converged / slapd \
| must | reached |
|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|";
/// The head of a table of threads.
const THREADS_HEAD: &str = "\
| row | process | thread | CPU us for each accepted change |\n|---|---|---|---|";

/// What a line of a table is compared with.
#[derive(Default)]
pub struct Against<'a> {
    /// The same load on slapd, if there was one.
    pub slapd: Option<&'a Measured>,
    /// What must be reached; `None` for slapd itself.
    pub goal: Option<Goal>,
}

impl Against<'_> {
    /// The last four columns: ratios, what must be reached, and whether it was.
    fn columns(&self, own: &Measured) -> String {
        let Some(goal) = self.goal else {
            return "- | - | - | -".to_owned();
        };
        let accepted = self.slapd.map(|it| own.accepted() / it.accepted());
        // slapd that never became equal has no converged rate.
        let theirs = self.slapd.filter(|it| it.converged() > 0.0);
        let converged = theirs.map(|it| own.converged() / it.converged());
        let (mut must, mut reached) = (Vec::new(), own.converged() > 0.0);
        if goal.accepted > 0.0 {
            must.push(format!("accepted {} x", goal.accepted));
            reached &= accepted.is_none_or(|it| it >= goal.accepted);
        }
        if goal.converged > 0.0 {
            must.push(format!("converged {} x", goal.converged));
            reached &= converged.is_none_or(|it| it >= goal.converged);
        }
        if goal.rate > 0.0 {
            must.push(format!("{}/s", goal.rate));
            reached &= own.converged() >= goal.rate;
        }
        let ratio = |it: Option<f64>| it.map_or("-".to_owned(), |it| format!("{it:.1}"));
        // Ratios alone say nothing without slapd beside them.
        let reached = match (reached, self.slapd.is_some() || goal.rate > 0.0) {
            (true, true) => "yes",
            (false, true) => "no",
            (_, false) => "-",
        };
        let (accepted, converged) = (ratio(accepted), ratio(converged));
        format!("{accepted} | {converged} | {} | {reached}", must.join(", "))
    }
}

/// One line of a table of loads.
pub fn line(load: &Load, fleet: &Fleet, measured: &Measured, against: &Against<'_>) -> String {
    let report = &measured.report;
    let converged = report.converged.clone().unwrap_or_default();
    let (refused, equal_after) = (refused(report), equal_after(&converged));
    format!(
        "| {} | {} | {:.0} | {:.0} | {:.2} | {equal_after} | {:.2} | {} | {refused} | {} | {:.1} \
         | {:.1} | {:.1} \
         | {:.1} | {} |",
        load.words(),
        fleet.name,
        measured.accepted(),
        measured.converged(),
        converged.unequal_s,
        converged.reads_s,
        converged.differing,
        report.outcomes.unknown,
        report.latency.p50_us / 1e3,
        report.latency.p99_us / 1e3,
        measured.us(Role::Node),
        measured.us(Role::Log),
        against.columns(measured),
    )
}

/// Refusals of a load: their number by result code, or 0.
pub fn refused(report: &Report) -> String {
    let all = report.outcomes.refused.iter();
    let refused: Vec<String> = all.map(|(code, count)| format!("{count} {code}")).collect();
    match refused.is_empty() {
        true => "0".to_owned(),
        false => refused.join(", "),
    }
}

/// Seconds from the last answer until all nodes were equal.
pub fn equal_after(converged: &Convergence) -> String {
    match converged.equal {
        true => format!("{:.2}", converged.equal_after_s),
        false => format!("more than {:.0}", converged.equal_after_s),
    }
}

/// Spells whether something is so.
pub fn yes(it: bool) -> &'static str {
    if it { "yes" } else { "no" }
}

/// Shows a table of threads.
pub fn thread_table(journal: &mut Journal, lines: &[String]) -> io::Result<()> {
    journal.line(&format!("\n{THREADS_HEAD}"))?;
    for line in lines {
        journal.line(line)?;
    }
    journal.line("")
}
