//! Load jobs against any LDAP server.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use crate::template::Generator;

mod report;

pub use report::{JobReport, Latency, Report, Second, ServerCpu};

/// What one operation of a job does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum JobKind {
    /// Search; see [`SearchJob`].
    Search,
    /// Search for the entry, then bind as it.
    Auth,
    /// Simple bind.
    Bind,
    /// Compare.
    Compare,
    /// Modify: replace the values of one attribute.
    Modify,
    /// Add.
    Add,
    /// Delete.
    Delete,
    /// Modify DN.
    ModifyDn,
}

/// The job: one kind, or several in given shares.
#[derive(Clone, Debug, PartialEq)]
pub struct Mix {
    /// Kinds with their weights; percentages when they sum up to 100.
    pub shares: Vec<(JobKind, f64)>,
}

impl Mix {
    /// Reads `search`, or `search=65,bind=16,compare=16,modify=3`.
    pub fn parse(_text: &str) -> Result<Mix, BenchError> {
        unimplemented!()
    }
}

/// Scope of a search job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The entry itself.
    Base,
    /// Its children.
    One,
    /// Its subtree.
    Subtree,
}

/// Searches; also the first half of `auth`. Texts are value patterns ([`crate::pattern`]).
#[derive(Clone, Debug)]
pub struct SearchJob {
    /// Base DN.
    pub base: String,
    /// Scope.
    pub scope: Scope,
    /// Filter.
    pub filter: String,
    /// Attributes asked for; `1.1` for none.
    pub attributes: Vec<String>,
    /// Entries every search must return; `None`: any number.
    pub expect_entries: Option<u64>,
}

/// Where the entries of an add job come from.
#[derive(Clone, Debug)]
pub enum AddSource {
    /// Patterns for the DN and for attributes; the RDN's attribute is added when missing.
    Patterns {
        /// The DN.
        dn: String,
        /// Attribute and value; `[ref:n]` is the n-th bracket of the DN.
        attributes: Vec<(String, String)>,
    },
    /// Entries `from..to` of a template, each once.
    Template {
        /// The template's generator.
        generator: Generator,
        /// First entry.
        from: u64,
        /// One past the last entry.
        to: u64,
    },
}

/// Everything a run needs. `Options::new(url, mix)` fills in what is usual.
#[derive(Clone, Debug)]
pub struct Options {
    /// `ldap://host:port` or `ldapi://%2Fpath`.
    pub url: String,
    /// The job.
    pub mix: Mix,
    /// For search and auth.
    pub search: SearchJob,
    /// DN that compare, modify, delete, modify-dn and bind work on.
    pub dn: String,
    /// Attribute that compare and modify work on.
    pub attribute: String,
    /// Value that compare asserts and modify writes.
    pub value: String,
    /// Compare must answer compareTrue (`Some(true)`), compareFalse, or either.
    pub expect_compare: Option<bool>,
    /// Password of bind and auth.
    pub password: String,
    /// `DN TAB password` lines that bind uses at random instead of `dn` and `password`.
    pub binds_file: Option<PathBuf>,
    /// For add.
    pub add: AddSource,
    /// New RDN of modify-dn.
    pub new_rdn: String,
    /// New superior of modify-dn.
    pub new_superior: Option<String>,
    /// Modify-dn deletes the old RDN.
    pub delete_old_rdn: bool,
    /// Identity of the connections before the run: DN and password; anonymous without.
    pub bind_as: Option<(String, String)>,
    /// Connections. A mix with bind or auth uses as many again for binding.
    pub connections: usize,
    /// Requests in flight on each connection. Binds are never pipelined.
    pub depth: usize,
    /// Client threads.
    pub threads: usize,
    /// Operations each second over all (open loop); `None`: as fast as answers come.
    pub rate: Option<f64>,
    /// Length of the measured part.
    pub duration: Option<Duration>,
    /// Measured operations; the run ends with whatever comes first.
    pub operations: Option<u64>,
    /// Load before anything is measured.
    pub warm_up: Duration,
    /// How long to wait for answers after the end; what is missing then counts as lost.
    pub drain: Duration,
    /// The server's process, for its CPU time and memory.
    pub server_pid: Option<u32>,
    /// Seed of random keys.
    pub seed: u64,
}

/// A run that could not begin or go on.
#[derive(Debug)]
pub struct BenchError {
    /// What was expected, what came, and what to do.
    pub message: String,
}

impl fmt::Display for BenchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for BenchError {}

/// Runs a job. `progress` hears of every finished second.
pub fn run(_options: &Options, _progress: &mut dyn FnMut(&Second)) -> Result<Report, BenchError> {
    unimplemented!()
}

impl Options {
    /// Usual settings: 32 connections, depth 1, one thread, 10 s after 1 s of warm-up.
    pub fn new(_url: &str, _mix: Mix) -> Options {
        unimplemented!()
    }
}
