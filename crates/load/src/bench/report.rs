//! What a run found out: text, JSON and one HTML page.

use std::time::Duration;

use serde::Serialize;

use super::JobKind;

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

/// One kind of operation.
#[derive(Clone, Debug, Serialize)]
pub struct JobReport {
    /// Which.
    pub kind: JobKind,
    /// Completed within the measured part.
    pub operations: u64,
    /// Of these, answered otherwise than expected.
    pub failures: u64,
    /// Entries received.
    pub entries: u64,
    /// Latency; in an open loop from the moment at which the operation was due.
    pub latency: Latency,
}

/// One second of a run.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Second {
    /// Second since the begin of the run, warm-up included.
    pub second: u64,
    /// Part of the warm-up: not in the totals.
    pub warm_up: bool,
    /// Completed.
    pub operations: u64,
    /// Answered otherwise than expected.
    pub failures: u64,
    /// Median latency.
    pub p50_us: f64,
    /// 99th percentile.
    pub p99_us: f64,
    /// Server CPU, in cores.
    pub server_cores: f64,
}

/// What the server's process used in the measured part.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct ServerCpu {
    /// CPU time of all threads.
    pub cpu_us: f64,
    /// The same for each operation.
    pub us_per_operation: f64,
    /// Share spent in the kernel, 0 to 1.
    pub system_share: f64,
    /// Resident memory at the end.
    pub resident_bytes: u64,
    /// The part of it that is no file.
    pub anonymous_bytes: u64,
}

/// The result of a run.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Free text that names the run.
    pub title: String,
    /// The settings, as shown to a reader.
    pub settings: Vec<(String, String)>,
    /// Length of the measured part.
    pub elapsed: Duration,
    /// Completed within it.
    pub operations: u64,
    /// Of these, answered otherwise than expected.
    pub failures: u64,
    /// Never answered.
    pub lost: u64,
    /// Operations each second.
    pub rate: f64,
    /// All operations.
    pub latency: Latency,
    /// By kind.
    pub jobs: Vec<JobReport>,
    /// By second.
    pub seconds: Vec<Second>,
    /// Unexpected answers: what, how often.
    pub surprises: Vec<(String, u64)>,
    /// CPU time of the client threads for each operation.
    pub client_us_per_operation: f64,
    /// CPU of the server, when its pid was given.
    pub server: Option<ServerCpu>,
}

impl Report {
    /// A few lines for a terminal.
    pub fn text(&self) -> String {
        unimplemented!()
    }

    /// Everything, for programs.
    pub fn json(&self) -> String {
        unimplemented!()
    }

    /// One page that needs no other file, with plots over time.
    pub fn html(&self) -> String {
        unimplemented!()
    }
}
