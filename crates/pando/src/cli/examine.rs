//! Arguments of the subcommands `bench` and `conformance`.

use clap::{Args, ValueEnum, ValueHint};
use std::path::PathBuf;

/// `pando bench`
#[derive(Debug, Args)]
pub struct Bench {
    /// The operations: search, auth (search, then bind), bind, compare, modify, add-value,
    /// delete-value, add, delete, modify-dn, or shares of them such as
    /// search=65,bind=16,compare=16,modify=3 (`mixed`)
    pub job: String,
    /// The server: ldap://HOST:PORT or ldapi://%2Fpath; connections are spread over the servers
    /// when there are several
    #[arg(long, value_name = "URL", default_value = "ldap://127.0.0.1:1389")]
    pub url: Vec<String>,
    /// When a connection ends or cannot be made, connect to the next --url
    #[arg(long)]
    pub failover: bool,
    /// After the load, read all entries of every --url until all are equal, and report the changes
    /// accepted for each second until then
    #[arg(long)]
    pub converge: bool,
    /// Compare the entries below DN [default: all naming contexts of each server]
    #[arg(long, value_name = "DN", requires = "converge")]
    pub converge_base: Option<String>,
    /// Wait at most so many seconds until all are equal
    #[arg(long, value_name = "N", default_value_t = 600.0, requires = "converge")]
    pub converge_within: f64,
    /// Bind every connection as DN before the run
    #[arg(short = 'D', long, value_name = "DN", requires = "bind_password_file")]
    pub bind_dn: Option<String>,
    /// The password of --bind-dn: the first line of FILE (`-`: standard input)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub bind_password_file: Option<PathBuf>,
    /// Number of connections
    #[arg(short, long, value_name = "N", default_value_t = 32)]
    pub connections: usize,
    /// Requests in flight on each connection; binds are never pipelined
    #[arg(short, long, value_name = "N", default_value_t = 1)]
    pub pipeline: usize,
    /// Announce N responses, at most --pipeline, with every Nth request (queue length control)
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub queue_length: u32,
    /// Number of client threads
    #[arg(short, long, value_name = "N", default_value_t = 1)]
    pub threads: usize,
    /// Operations each second over all connections (open loop) [default: as fast as answers come]
    #[arg(short, long, value_name = "N")]
    pub rate: Option<f64>,
    /// Measure for so many seconds
    #[arg(short = 's', long, value_name = "N", default_value_t = 10.0)]
    pub seconds: f64,
    /// Stop after so many measured operations
    #[arg(short = 'n', long, value_name = "N")]
    pub operations: Option<u64>,
    /// Load the server for so many seconds before anything is measured
    #[arg(long, value_name = "N", default_value_t = 1.0)]
    pub warm_up: f64,
    /// Base of searches; a value pattern, as all texts below: [1-1000] random, [1:1000] in turn
    #[arg(short, long, value_name = "DN", default_value = "")]
    pub base: String,
    /// Scope of searches
    #[arg(long, value_enum, default_value = "sub")]
    pub scope: BenchScope,
    /// Filter of searches
    #[arg(short, long, value_name = "FILTER", default_value = "(objectClass=*)")]
    pub filter: String,
    /// Attributes to ask for
    #[arg(
        short,
        long,
        value_name = "ATTRIBUTE",
        value_delimiter = ',',
        default_value = "1.1"
    )]
    pub attributes: Vec<String>,
    /// Number of entries that every search must return; `any`: not checked
    #[arg(long, value_name = "N", default_value = "1")]
    pub expect_entries: String,
    /// The entry that bind, compare, modify, add, delete and modify-dn work on
    #[arg(long, value_name = "DN", default_value = "")]
    pub dn: String,
    /// The attribute that compare and modify work on
    #[arg(long, value_name = "NAME", default_value = "description")]
    pub attribute: String,
    /// The value that compare asserts and modify writes
    #[arg(long, value_name = "VALUE", default_value = "[random:11]")]
    pub value: String,
    /// Answer that every compare must give
    #[arg(long, value_name = "BOOL")]
    pub expect_compare: Option<bool>,
    /// The password that bind and auth use
    #[arg(long, value_name = "PASSWORD", default_value = "password")]
    pub password: String,
    /// File with lines of DN, tab, password, which bind uses at random
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub binds_file: Option<PathBuf>,
    /// An attribute of the entries that add adds: NAME=VALUE; may be given more than once
    #[arg(long, value_name = "NAME=VALUE")]
    pub add: Vec<String>,
    /// Add the entries of a template, each once
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "add")]
    pub add_template: Option<PathBuf>,
    /// Set a define of the template
    #[arg(long, value_name = "NAME=VALUE", requires = "add_template")]
    pub define: Vec<String>,
    /// The new RDN of modify-dn
    #[arg(long, value_name = "RDN", default_value = "")]
    pub new_rdn: String,
    /// The new superior of modify-dn
    #[arg(long, value_name = "DN")]
    pub new_superior: Option<String>,
    /// The server's process id: its CPU time and memory are reported
    #[arg(long, value_name = "PID")]
    pub pid: Option<u32>,
    /// With --pid: watch the size of this file too, such as DIR/data/pando.mdb
    #[arg(long, value_name = "FILE", requires = "pid", value_hint = ValueHint::FilePath)]
    pub file: Option<PathBuf>,
    /// The seed of random keys
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// Write the report as JSON
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub json: Option<PathBuf>,
    /// Write the report as one HTML page with plots
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub html: Option<PathBuf>,
}

/// The scope of the searches of `pando bench`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum BenchScope {
    /// The entry itself
    Base,
    /// Its immediate subordinates
    One,
    /// Its subtree
    Sub,
}

/// `pando conformance`
#[derive(Debug, Args)]
#[command(
    after_help = "The clauses work below an entry of their own, ou=conformance-…, that is \
    removed at the end.\nWithout -D, clauses that write are left out.\n\
    Exit status: 0 no clause failed, 1 a clause failed, 2 wrong usage."
)]
pub struct Conformance {
    /// The server: ldap://HOST:PORT or ldaps://HOST:PORT
    #[arg(long, value_name = "URL", default_value = "ldap://127.0.0.1:1389")]
    pub url: String,
    /// Bind as DN, which must have the right to write below the base
    #[arg(short = 'D', long, value_name = "DN")]
    pub bind_dn: Option<String>,
    /// The password of --bind-dn; other users of this machine can see it, so prefer -y
    #[arg(short = 'w', long, value_name = "PASSWORD", requires = "bind_dn")]
    pub bind_password: Option<String>,
    /// The password of --bind-dn: the first line of FILE (`-`: standard input)
    #[arg(short = 'y', long, value_name = "FILE", value_hint = ValueHint::FilePath,
        requires = "bind_dn", conflicts_with = "bind_password")]
    pub bind_password_file: Option<PathBuf>,
    /// Work below this entry [default: the server's first naming context]
    #[arg(short, long, value_name = "DN")]
    pub base: Option<String>,
    /// Run only clauses whose names begin with START, such as rfc4511 or rfc4511-4.5; may be
    /// repeated
    #[arg(long, value_name = "START", value_delimiter = ',')]
    pub only: Vec<String>,
    /// Print the names and texts of the clauses and run nothing
    #[arg(long)]
    pub list: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
    /// Also name clauses about features that the server does not offer
    #[arg(short, long)]
    pub verbose: bool,
    /// Assume that the server supports this control, extended operation or feature, though it does
    /// not announce it; may be repeated
    #[arg(long, value_name = "OID", value_delimiter = ',')]
    pub assume: Vec<String>,
    /// Number of clauses that run at a time
    #[arg(short, long, value_name = "N", default_value_t = 4)]
    pub threads: usize,
    /// Begin no clause later than this many seconds after the start
    #[arg(short, long, value_name = "N", default_value_t = 600)]
    pub seconds: u64,
    /// Certificates to trust for ldaps://, as PEM [default: the system's]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub ca: Option<PathBuf>,
}
