//! Loads of changes on all nodes of a cluster, until all are equal.

use std::io;
use std::time::Duration;

use ::load::bench::{Converge, JobKind, Mix, Options, Report, read_equal, run};

use super::fleet::Fleet;
use super::process::Role;
use super::usage::{Difference, Usage};
use crate::row::Data;
use crate::subject::{ADMINISTRATOR, PASSWORD};

/// A load: connections to each node, and requests in flight on each of them.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// Connections to each node.
    pub connections: usize,
    /// Requests in flight on each connection.
    pub depth: usize,
    /// Nodes that take changes: the first so many.
    pub nodes: usize,
    /// Entries, each of which is as likely to be changed.
    pub entries: u64,
    /// Percent of the requests that search for one of these entries by `uid` instead.
    pub searches: u8,
    /// Length of the load.
    pub seconds: f64,
    /// Time after the last answer within which the nodes have to become equal.
    pub within: Duration,
}

/// What came out of a load.
pub struct Measured {
    /// The load generator's report.
    pub report: Report,
    /// Processor time of the load, without that of the reads that compare.
    pub usage: Difference,
}

impl Load {
    /// The load as words of a table.
    pub fn words(&self) -> String {
        format!("{} x {}", self.connections, self.depth)
    }

    /// Settings of the load generator: one value of 8 characters replaces another.
    pub fn options(&self, fleet: &Fleet) -> Options {
        let searches = f64::from(self.searches);
        let shares = [
            (JobKind::Search, searches),
            (JobKind::Modify, 100.0 - searches),
        ];
        let shares = shares.into_iter().filter(|(_, share)| *share > 0.0);
        let mix = Mix {
            shares: shares.collect(),
        };
        let mut options = Options::new("", mix);
        options.urls = fleet.urls();
        options.urls.truncate(self.nodes);
        options.search.base = Data::Plain.base().to_owned();
        options.search.filter = format!("(uid=user.[1-{}])", self.entries);
        options.connections = self.connections * options.urls.len();
        options.depth = self.depth;
        options.dn = format!("uid=user.[1-{}],{}", self.entries, Data::Plain.base());
        options.attribute = "carLicense".to_owned();
        options.value = "[random:8]".to_owned();
        options.bind_as = Some(administrator());
        options.duration = Some(Duration::from_secs_f64(self.seconds));
        options.warm_up = Duration::ZERO;
        options.drain = Duration::from_secs(60);
        options
    }

    /// Loads the nodes and waits until they are equal.
    pub fn measure(&self, fleet: &Fleet) -> io::Result<Measured> {
        self.measure_with(fleet, self.options(fleet))
    }

    /// Loads the nodes by these settings, of [`Load::options`] with changes, and waits until they
    /// are equal.
    pub fn measure_with(&self, fleet: &Fleet, mut options: Options) -> io::Result<Measured> {
        let until = converge(self.within);
        let before = Usage::take(fleet);
        // With one node under load the others are compared as well.
        if self.nodes == fleet.nodes.len() {
            options.converge = Some(until.clone());
        }
        let mut report = run(&options, &mut |_| {}).map_err(io::Error::other)?;
        if options.converge.is_none() {
            report.converged = Some(equal(fleet, &until)?);
        }
        let rounds = report.converged.as_ref().map_or(0, |it| it.rounds);
        let usage = usage_without_reads(fleet, &before, rounds)?;
        Ok(Measured { report, usage })
    }
}

/// Processor time since `before`, without that of so many reads of all nodes that compared them.
pub fn usage_without_reads(fleet: &Fleet, before: &Usage, rounds: u64) -> io::Result<Difference> {
    let all = Usage::take(fleet);
    // The same read once more, alone, tells what the reads have cost.
    let again = equal(fleet, &converge(Duration::ZERO))?;
    let reading = Usage::take(fleet).since(&all);
    let each = rounds as f64 / again.rounds.max(1) as f64;
    Ok(all.since(before).without(&reading, each))
}

impl Measured {
    /// Accepted changes for each second of the load.
    pub fn accepted(&self) -> f64 {
        self.rate(|kind| kind != JobKind::Search)
    }

    /// Answered searches for each second of the load.
    pub fn searched(&self) -> f64 {
        self.rate(|kind| kind == JobKind::Search)
    }

    fn rate(&self, counts: impl Fn(JobKind) -> bool) -> f64 {
        let jobs = self.report.jobs.iter().filter(|it| counts(it.kind));
        let done: u64 = jobs.map(|it| it.operations - it.failures).sum();
        done as f64 / self.report.elapsed_s
    }

    /// Accepted changes for each second until all were equal; 0 when they never were.
    pub fn converged(&self) -> f64 {
        self.report.converged.as_ref().map_or(0.0, |it| it.rate)
    }

    /// Accepted changes for each second until an entry was last seen to differ, or until the last
    /// answer; 0 when the nodes never were equal. Unlike [`Measured::converged`], it does not fall
    /// with the number of entries that are read.
    pub fn converged_without_reads(&self) -> f64 {
        let Some(it) = self.report.converged.as_ref().filter(|it| it.equal) else {
            return 0.0;
        };
        let last_answer_s = it.elapsed_s - it.reads_s - it.equal_after_s;
        let elapsed_s = (last_answer_s + it.unequal_s).max(1e-9);
        self.report.outcomes.accepted as f64 / elapsed_s
    }

    /// Processor time for each accepted change, in microseconds, of all processes of a kind.
    pub fn us(&self, role: Role) -> f64 {
        self.usage.us(role) / self.report.outcomes.accepted.max(1) as f64
    }

    /// Lines of a table: processor time for each accepted change by the name of the thread. Threads
    /// that spent next to nothing are left out.
    pub fn threads(&self, what: &str) -> Vec<String> {
        let client = self.report.client_us_per_operation;
        let mut lines = vec![format!("| {what} | load generator | | {client:.2} |")];
        lines.extend(thread_lines(
            what,
            &self.usage,
            self.report.outcomes.accepted,
        ));
        lines
    }
}

/// Lines of a table: processor time of the servers for each of so many accepted changes by the name
/// of the thread.
pub fn thread_lines(what: &str, usage: &Difference, accepted: u64) -> Vec<String> {
    let mut lines = Vec::new();
    for (role, process) in [(Role::Node, "pando"), (Role::Log, "etcd")] {
        for (name, us) in usage.threads_us(role) {
            let each = us / accepted.max(1) as f64;
            if each >= 0.05 {
                lines.push(format!("| {what} | {process} | {name} | {each:.2} |"));
            }
        }
    }
    lines
}

/// The identity of the load.
pub fn administrator() -> (String, String) {
    (ADMINISTRATOR.to_owned(), PASSWORD.to_owned())
}

/// How to wait until all nodes are equal.
pub fn converge(within: Duration) -> Converge {
    Converge {
        base: Some("dc=com".to_owned()),
        within,
    }
}

/// Waits until all nodes of a cluster are equal, without a load before it.
pub fn equal(fleet: &Fleet, until: &Converge) -> io::Result<::load::bench::Convergence> {
    read_equal(&fleet.urls(), Some(administrator()), until).map_err(io::Error::other)
}
