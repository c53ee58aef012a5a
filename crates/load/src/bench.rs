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
mod content;
mod converge;
mod failover;
mod html;
mod job;
mod measure;
mod member;
mod open;
mod outcomes;
mod process;
mod report;
mod run;
mod shared;
mod target;
#[cfg(test)]
mod tests;
mod timeline;

pub use burst::burst;
pub use converge::{Converge, Convergence, read_equal};
pub use outcomes::Outcomes;
pub use process::cpu_ns;
pub use report::{JobReport, Latency, Report, Second, ServerUse};
pub use run::{can_bind, run};

/// Operation of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum JobKind {
    /// Search; see [`SearchJob`].
    Search,
    /// Search for an entry, then bind as it.
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

/// The kinds of operations of a job with their shares.
#[derive(Clone, Debug, PartialEq)]
pub struct Mix {
    /// Kinds with their weights; percentages when the weights sum up to 100.
    pub shares: Vec<(JobKind, f64)>,
}

impl Mix {
    /// Parses `search`, or `search=65,bind=16,compare=16,modify=3`; `mixed` is short for the
    /// latter.
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

    /// Returns a mix of one kind.
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

    /// Name of the kind in a mix.
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
    /// The base entry.
    Base,
    /// The immediate subordinates of the base.
    One,
    /// The base and all its subordinates.
    Subtree,
}

/// Parts of a search, also of the search of `auth`. Texts are value patterns ([`crate::pattern`]).
#[derive(Clone, Debug)]
pub struct SearchJob {
    /// Base DN.
    pub base: String,
    /// Scope.
    pub scope: Scope,
    /// Filter.
    pub filter: String,
    /// Requested attributes; `1.1` for none.
    pub attributes: Vec<String>,
    /// Number of entries that every search must return; `None` for any number.
    pub expect_entries: Option<u64>,
}

/// Source of the entries of an add job.
#[derive(Clone, Debug)]
pub enum AddSource {
    /// Patterns for the DN and for attributes; a missing attribute of the RDN is added.
    Patterns {
        /// Pattern of the DN.
        dn: String,
        /// Attributes with patterns of their values; `[ref:n]` is the n-th bracket of the DN.
        attributes: Vec<(String, String)>,
    },
    /// Entries `from..to` of a template, each once.
    Template {
        /// Generator of the template.
        generator: Generator,
        /// Number of the first entry.
        from: u64,
        /// Number after that of the last entry.
        to: u64,
    },
}

/// Options of a run. `Options::new(url, mix)` sets the defaults.
#[derive(Clone, Debug)]
pub struct Options {
    /// URLs of the servers: `ldap://host:port` or `ldapi://%2Fpath`. Connections are spread over
    /// them in turn.
    pub urls: Vec<String>,
    /// Whether a connection that ends, or cannot be made, is made to the next server.
    pub failover: bool,
    /// How to wait after the load until all servers have the same content; `None`: not at all.
    pub converge: Option<Converge>,
    /// Operations of the job with their shares.
    pub mix: Mix,
    /// Search parameters for search and auth.
    pub search: SearchJob,
    /// DN of compare, modify, delete, modify-dn and bind.
    pub dn: String,
    /// Attribute of compare and modify.
    pub attribute: String,
    /// Value that compare asserts and that modify, add-value and delete-value write.
    pub value: String,
    /// Expected result of compare: compareTrue (`Some(true)`), compareFalse, or either.
    pub expect_compare: Option<bool>,
    /// Password of bind and auth.
    pub password: String,
    /// Lines `DN TAB password` that bind uses at random instead of `dn` and `password`.
    pub binds_file: Option<PathBuf>,
    /// Entries for add.
    pub add: AddSource,
    /// New RDN of modify-dn.
    pub new_rdn: String,
    /// New superior of modify-dn.
    pub new_superior: Option<String>,
    /// Whether modify-dn deletes the old RDN.
    pub delete_old_rdn: bool,
    /// DN and password of the bind on each connection before the run; anonymous without.
    pub bind_as: Option<(String, String)>,
    /// Number of connections; fewer are used when this process or the server allows no more. A mix
    /// with bind or auth uses as many again for binds.
    pub connections: usize,
    /// Requests in flight on each connection. Binds are never pipelined.
    pub depth: usize,
    /// Number of responses that each connection awaits together, announced to the server by the
    /// queue length control; 0 and 1 for none.
    pub queue_length: u32,
    /// Number of client threads.
    pub threads: usize,
    /// Operations each second in all (open loop); `None` for as fast as answers come.
    pub rate: Option<f64>,
    /// Length of the measured part.
    pub duration: Option<Duration>,
    /// Number of measured operations; the run ends at this number or this length, whichever is
    /// first.
    pub operations: Option<u64>,
    /// Length of the load before measurement begins.
    pub warm_up: Duration,
    /// Time to wait for answers after the end; missing answers then count as lost.
    pub drain: Duration,
    /// Process id of the server, for its CPU time and memory.
    pub server_pid: Option<u32>,
    /// File whose size is watched, such as the server's database.
    pub watched_file: Option<PathBuf>,
    /// Seed of random keys.
    pub seed: u64,
}

/// The error of a run that could not begin or continue.
#[derive(Debug)]
pub struct BenchError {
    /// Text of the error: the expected and the actual state, and the remedy.
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
    /// Returns the default settings: 32 connections, one request in flight on each, one thread, 10
    /// s after 1 s of warm-up, anonymous; search and auth look below `base` for `(objectClass=*)`.
    pub fn new(url: &str, mix: Mix) -> Options {
        Options {
            urls: vec![url.to_owned()],
            failover: false,
            converge: None,
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
