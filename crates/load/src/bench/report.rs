//! The report of a run: text, JSON and one HTML page.

use protocol::counted;
use std::fmt::Write;

use serde::Serialize;

use super::JobKind;
use super::converge::Convergence;
use super::outcomes::Outcomes;

/// Latencies in microseconds.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Latency {
    /// Least.
    pub min_us: f64,
    /// Mean.
    pub mean_us: f64,
    /// Median.
    pub p50_us: f64,
    /// 90 of 100 are faster.
    pub p90_us: f64,
    /// 99 of 100 are faster.
    pub p99_us: f64,
    /// 999 of 1,000 are faster.
    pub p999_us: f64,
    /// 9,999 of 10,000 are faster.
    pub p9999_us: f64,
    /// Greatest.
    pub max_us: f64,
}

/// Results of one kind of operation.
#[derive(Clone, Debug, Serialize)]
pub struct JobReport {
    /// Kind of operation.
    pub kind: JobKind,
    /// Number completed within the measured part.
    pub operations: u64,
    /// Number of these operations with an unexpected result.
    pub failures: u64,
    /// Number of entries received.
    pub entries: u64,
    /// Latency; in an open loop from the moment at which the operation was due.
    pub latency: Latency,
    /// Pairs of the share of slower operations and a latency in microseconds, ten for each factor
    /// of ten.
    pub curve: Vec<(f64, f64)>,
}

/// Results of one second of a run.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Second {
    /// Number of the second, from 0 at the beginning of the measured part; negative during the
    /// warm-up.
    pub second: i64,
    /// Whether the second is part of the warm-up, and not in the totals.
    pub warm_up: bool,
    /// Number of operations completed.
    pub operations: u64,
    /// Number of operations with an unexpected result.
    pub failures: u64,
    /// Median latency.
    pub p50_us: f64,
    /// 99th percentile.
    pub p99_us: f64,
    /// CPU time of the server, in cores; 0 when not watched.
    pub server_cores: f64,
    /// Resident memory of the server not backed by files; 0 when not watched.
    pub server_anonymous_bytes: u64,
    /// Size of the watched file; 0 without one.
    pub file_bytes: u64,
}

/// Resources that the server's process used in the measured part.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct ServerUse {
    /// CPU time of all threads in microseconds.
    pub cpu_us: f64,
    /// CPU time for each operation in microseconds.
    pub us_per_operation: f64,
    /// Share spent in the kernel, 0 to 1.
    pub system_share: f64,
    /// Resident memory at the end in bytes.
    pub resident_bytes: u64,
    /// Resident memory that is not backed by files, in bytes.
    pub anonymous_bytes: u64,
}

/// The result of a run.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Name of the run; the job unless the caller sets another.
    pub title: String,
    /// Settings, as shown to a reader.
    pub settings: Vec<(String, String)>,
    /// Number of connections used.
    pub connections: usize,
    /// Further facts for the reader, e.g. why there were fewer connections than requested.
    pub notes: Vec<String>,
    /// Length of the measured part.
    pub elapsed_s: f64,
    /// Number of operations completed within it.
    pub operations: u64,
    /// Number of operations of all kinds with an unexpected result.
    pub failures: u64,
    /// Number of requests that were never answered.
    pub lost: u64,
    /// Number of operations that were due but never sent because no connection was free (open
    /// loop).
    pub never_started: u64,
    /// Operations for each second.
    pub rate: f64,
    /// Results over all operations.
    pub latency: Latency,
    /// Results by kind.
    pub jobs: Vec<JobReport>,
    /// Results by second.
    pub seconds: Vec<Second>,
    /// Unexpected responses with their counts, most frequent first.
    pub surprises: Vec<(String, u64)>,
    /// CPU time of the client threads for each operation.
    pub client_us_per_operation: f64,
    /// Resources of the server's process, when its id was given.
    pub server: Option<ServerUse>,
    /// Fates of all operations, those outside the measured part included.
    pub outcomes: Outcomes,
    /// Longest time in seconds, until the end of the measured part, without an operation that was
    /// carried out.
    pub longest_gap_s: f64,
    /// Number of connections that ended and were made again.
    pub reconnections: u64,
    /// Whether and when all servers became equal; `None` if nobody waited for that.
    pub converged: Option<Convergence>,
}

impl Report {
    /// Returns whether every operation was answered as expected.
    pub fn is_clean(&self) -> bool {
        let equal = self.converged.as_ref().is_none_or(|it| it.equal);
        self.failures == 0 && self.lost == 0 && self.surprises.is_empty() && equal
    }

    /// Returns lines about the fates of operations, connections made again, and the wait for equal
    /// servers: none when all was done and nobody waited.
    pub(crate) fn fates(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if !self.outcomes.all_done() || self.reconnections > 0 || self.converged.is_some() {
            let gap = self.longest_gap_s;
            lines.push(format!("outcomes: {}", self.outcomes));
            lines.push(format!(
                "longest time without an operation done: {gap:.3} s"
            ));
        }
        if self.reconnections > 0 {
            let again = counted(self.reconnections, "connection");
            lines.push(format!("ended and made again: {again}"));
        }
        lines.extend(self.converged.iter().map(ToString::to_string));
        lines
    }

    /// Returns a few lines for a terminal.
    pub fn text(&self) -> String {
        let mut out = String::new();
        let mut line = |text: std::fmt::Arguments<'_>| {
            // Writing to a string cannot fail.
            let _ = out.write_fmt(text);
            out.push('\n');
        };
        line(format_args!(
            "{}: {:.0} operations/s ({} in {:.2} s)",
            self.title, self.rate, self.operations, self.elapsed_s
        ));
        line(format_args!(
            "{:<10} {:>11} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}",
            "latency us", "operations", "failures", "mean", "p50", "p99", "p99.9", "max"
        ));
        let mut row = |name: &str, operations: u64, failures: u64, latency: &Latency| {
            line(format_args!(
                "{name:<10} {operations:>11} {failures:>9} {:>9.1} {:>9.1} {:>9.1} {:>9.1} {:>9.1}",
                latency.mean_us, latency.p50_us, latency.p99_us, latency.p999_us, latency.max_us
            ));
        };
        for job in &self.jobs {
            row(job.kind.name(), job.operations, job.failures, &job.latency);
        }
        if self.jobs.len() > 1 {
            row("all", self.operations, self.failures, &self.latency);
        }
        if let Some(server) = &self.server {
            line(format_args!(
                "server: {:.2} us CPU each ({:.0} % in the kernel); {} MB memory, {} MB anonymous",
                server.us_per_operation,
                server.system_share * 100.0,
                server.resident_bytes >> 20,
                server.anonymous_bytes >> 20
            ));
        }
        line(format_args!(
            "client: {:.2} us CPU each",
            self.client_us_per_operation
        ));
        if self.lost > 0 {
            let lost = counted(self.lost, "operation");
            line(format_args!("never answered: {lost}"));
        }
        if self.never_started > 0 {
            let due = counted(self.never_started, "operation");
            line(format_args!("due while no connection was free: {due}"));
        }
        for note in self.notes.iter().chain(&self.fates()) {
            line(format_args!("{note}"));
        }
        for (what, count) in &self.surprises {
            let times = counted(*count, "time");
            line(format_args!("unexpected, {times}: {what}"));
        }
        out
    }

    /// Returns the whole report as JSON for programs.
    pub fn json(&self) -> String {
        serde_json::to_string_pretty(self).expect("a report holds nothing that is not JSON")
    }
}
