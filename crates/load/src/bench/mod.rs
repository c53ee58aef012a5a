//! Load jobs against any LDAP server.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use crate::template::Generator;

mod answer;
mod bundle;
mod burst;
mod client;
mod connect;
mod html;
mod job;
mod measure;
mod member;
mod process;
mod report;
mod run;
mod shared;
#[cfg(test)]
mod tests;

pub use burst::burst;
pub use process::cpu_ns;
pub use report::{JobReport, Latency, Report, Second, ServerUse};
pub use run::{can_bind, run};

/// Operation of a job.
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
    /// Modify: add one value.
    AddValue,
    /// Modify: delete one value.
    DeleteValue,
    /// Add.
    Add,
    /// Delete.
    Delete,
    /// Modify DN.
    ModifyDn,
}

/// The kinds of operations, in given shares.
#[derive(Clone, Debug, PartialEq)]
pub struct Mix {
    /// Kinds with their weights; percentages when they sum up to 100.
    pub shares: Vec<(JobKind, f64)>,
}

impl Mix {
    /// Reads `search`, or `search=65,bind=16,compare=16,modify=3`; `mixed` is short for the latter.
    pub fn parse(text: &str) -> Result<Mix, BenchError> {
        let text = if text == "mixed" { MIXED } else { text };
        let mut shares = Vec::new();
        for item in text.split(',') {
            let (name, weight) = item.split_once('=').unwrap_or((item, "1"));
            let kind = JobKind::parse(name.trim())?;
            let weight = weight.trim().trim_end_matches('%').parse().ok();
            let Some(weight) = weight.filter(|weight: &f64| weight.is_finite() && *weight >= 0.0)
            else {
                return Err(BenchError::new(format!(
                    "expected a share such as 65 in {item:?}"
                )));
            };
            shares.push((kind, weight));
        }
        Ok(Mix { shares })
    }

    /// A mix of one kind.
    pub fn only(kind: JobKind) -> Mix {
        Mix {
            shares: vec![(kind, 1.0)],
        }
    }

    fn has(&self, wanted: impl Fn(JobKind) -> bool) -> bool {
        self.shares
            .iter()
            .any(|(kind, weight)| *weight > 0.0 && wanted(*kind))
    }
}

/// The mix of Oracle's measurements with 500 million entries.
const MIXED: &str = "search=65,bind=16,compare=16,modify=3";

impl JobKind {
    /// All kinds, in the order of RFC 4511.
    pub const ALL: [JobKind; 10] = [
        JobKind::Bind,
        JobKind::Search,
        JobKind::Auth,
        JobKind::Modify,
        JobKind::AddValue,
        JobKind::DeleteValue,
        JobKind::Add,
        JobKind::Delete,
        JobKind::ModifyDn,
        JobKind::Compare,
    ];

    /// The name used in a mix.
    pub fn name(self) -> &'static str {
        match self {
            JobKind::Search => "search",
            JobKind::Auth => "auth",
            JobKind::Bind => "bind",
            JobKind::Compare => "compare",
            JobKind::Modify => "modify",
            JobKind::AddValue => "add-value",
            JobKind::DeleteValue => "delete-value",
            JobKind::Add => "add",
            JobKind::Delete => "delete",
            JobKind::ModifyDn => "modify-dn",
        }
    }

    fn parse(name: &str) -> Result<JobKind, BenchError> {
        let found = JobKind::ALL
            .into_iter()
            .find(|kind| kind.name().eq_ignore_ascii_case(name));
        found.ok_or_else(|| {
            let names = JobKind::ALL.map(JobKind::name).join(", ");
            BenchError::new(format!("expected one of {names}, found {name:?}"))
        })
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

/// Options of a run. `Options::new(url, mix)` sets the defaults.
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
    /// Value that compare asserts and modify, add-value and delete-value write.
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
    /// Connections; fewer are used when this process or the server allows no more. A mix with
    /// bind or auth uses as many again for binding.
    pub connections: usize,
    /// Requests in flight on each connection. Binds are never pipelined.
    pub depth: usize,
    /// Responses that each connection waits for together, which it tells the server with the queue
    /// length control; 0 and 1: none.
    pub queue_length: u32,
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
    /// A file whose size is watched beside it, such as the server's database.
    pub watched_file: Option<PathBuf>,
    /// Seed of random keys.
    pub seed: u64,
}

/// A run that could not begin or continue.
#[derive(Debug)]
pub struct BenchError {
    /// The error: what was expected, what was found, and what to do.
    pub message: String,
}

impl fmt::Display for BenchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for BenchError {}

impl fmt::Display for Mix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [(kind, _)] = self.shares.as_slice() {
            return f.write_str(kind.name());
        }
        for (position, (kind, weight)) in self.shares.iter().enumerate() {
            let comma = if position > 0 { "," } else { "" };
            write!(f, "{comma}{}={weight}", kind.name())?;
        }
        Ok(())
    }
}

impl BenchError {
    fn new(message: impl Into<String>) -> BenchError {
        BenchError {
            message: message.into(),
        }
    }
}

impl Options {
    /// Usual settings: 32 connections, one request in flight on each, one thread, 10 s after 1 s
    /// of warm-up, anonymous; search and auth look below `base` for `(objectClass=*)`.
    pub fn new(url: &str, mix: Mix) -> Options {
        Options {
            url: url.to_owned(),
            mix,
            search: SearchJob {
                base: String::new(),
                scope: Scope::Subtree,
                filter: "(objectClass=*)".to_owned(),
                attributes: vec!["1.1".to_owned()],
                expect_entries: Some(1),
            },
            dn: String::new(),
            attribute: "description".to_owned(),
            value: "[random:11]".to_owned(),
            expect_compare: None,
            password: "password".to_owned(),
            binds_file: None,
            add: AddSource::Patterns {
                dn: String::new(),
                attributes: Vec::new(),
            },
            new_rdn: String::new(),
            new_superior: None,
            delete_old_rdn: true,
            bind_as: None,
            connections: 32,
            depth: 1,
            queue_length: 0,
            threads: 1,
            rate: None,
            duration: Some(Duration::from_secs(10)),
            operations: None,
            warm_up: Duration::from_secs(1),
            drain: Duration::from_secs(5),
            server_pid: None,
            watched_file: None,
            seed: 0,
        }
    }
}
