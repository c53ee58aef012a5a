//! Loads of changes on all nodes of a cluster, until all are equal.

use std::io;
use std::time::Duration;

use ::load::bench::{Converge, JobKind, Mix, Options, Report, read_equal, run};

use super::trio::{Role, Trio};
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
    pub fn options(&self, trio: &Trio) -> Options {
        let mut options = Options::new("", Mix::only(JobKind::Modify));
        options.urls = trio.urls();
        options.urls.truncate(self.nodes);
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
    pub fn measure(&self, trio: &Trio) -> io::Result<Measured> {
        let mut options = self.options(trio);
        let until = converge(self.within);
        let before = Usage::take(trio);
        // With one node under load the others are compared as well.
        if self.nodes == trio.nodes.len() {
            options.converge = Some(until.clone());
        }
        let mut report = run(&options, &mut |_| {}).map_err(io::Error::other)?;
        if options.converge.is_none() {
            report.converged = Some(equal(trio, &until)?);
        }
        let all = Usage::take(trio);
        // The same read once more, alone, tells what the reads have cost.
        let rounds = report.converged.as_ref().map_or(0, |it| it.rounds);
        let again = equal(trio, &converge(Duration::ZERO))?;
        let reading = Usage::take(trio).since(&all);
        let each = rounds as f64 / again.rounds.max(1) as f64;
        Ok(Measured {
            report,
            usage: all.since(&before).without(&reading, each),
        })
    }
}

impl Measured {
    /// Accepted changes for each second of the load.
    pub fn accepted(&self) -> f64 {
        (self.report.operations - self.report.failures) as f64 / self.report.elapsed_s
    }

    /// Accepted changes for each second until all were equal; 0 when they never were.
    pub fn converged(&self) -> f64 {
        self.report.converged.as_ref().map_or(0.0, |it| it.rate)
    }

    /// Processor time for each accepted change, in microseconds, of all processes of a kind.
    pub fn us(&self, role: Role) -> f64 {
        self.usage.us(role) / self.report.outcomes.accepted.max(1) as f64
    }

    /// Lines of a table: processor time for each accepted change by the name of the thread. Threads
    /// that spent next to nothing are left out.
    pub fn threads(&self, what: &str) -> Vec<String> {
        let accepted = self.report.outcomes.accepted.max(1) as f64;
        let client = self.report.client_us_per_operation;
        let mut lines = vec![format!("| {what} | load generator | | {client:.2} |")];
        for (role, process) in [(Role::Node, "pando"), (Role::Log, "etcd")] {
            for (name, us) in self.usage.threads_us(role) {
                let each = us / accepted;
                if each >= 0.05 {
                    lines.push(format!("| {what} | {process} | {name} | {each:.2} |"));
                }
            }
        }
        lines
    }
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
pub fn equal(trio: &Trio, until: &Converge) -> io::Result<::load::bench::Convergence> {
    read_equal(&trio.urls(), Some(administrator()), until).map_err(io::Error::other)
}
