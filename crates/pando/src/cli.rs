//! What a person types. Help texts, shell completions and man pages are made from these
//! definitions.

mod backup;
mod watch;

pub use backup::{Backup, Compact, Restore, Verify};
pub use watch::{Explain, ExplainScope, Remote, Report, Status};

use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
use directory::changes::Point;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

/// An LDAP directory server: one tree on many identical trunks.
#[derive(Debug, Parser)]
#[command(
    name = "pando",
    version,
    max_term_width = 100,
    arg_required_else_help = true
)]
#[command(after_help = "Exit status: 0 done, 1 failed, 2 wrong usage.\n\
    First steps: `pando demo`, or `pando init DIR --suffix dc=example,dc=com` and \
    `pando serve DIR`.")]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Make a new node: a folder with pando.toml and an empty directory
    Init(Init),
    /// Serve the directory in a folder until told to stop
    Serve(Serve),
    /// Serve a sample directory of 10,000 people and show commands to try
    Demo(Demo),
    /// Load entries from LDIF, from BER streams or from a template
    Import(Import),
    /// Copy a running OpenLDAP server, follow its changes until cut-over, say what differs
    Migrate(Migrate),
    /// Write entries as LDIF
    Export(Export),
    /// Write the entries that a template describes
    Generate(Generate),
    /// Load a server and measure it
    Bench(Box<Bench>),
    /// Examine any LDAP server: which clauses of the standards does it pass?
    Conformance(Box<Conformance>),
    /// Copy a node's database, served or not, into a folder with checksums
    Backup(Backup),
    /// Make a node out of a backup
    Restore(Restore),
    /// Restore a backup into a temporary folder and check every table
    Verify(Verify),
    /// Compare every table of a database with every other
    Check(Check),
    /// Give space that the database no longer needs back to the file system
    Compact(Compact),
    /// Show or extend the schema
    Schema(Schema),
    /// Set a password, or print the hash of one
    Passwd(Passwd),
    /// Show, add or drop indexes
    Index(Index),
    /// Say how a node or a server is doing
    Status(Status),
    /// Explain how a search is carried out: indexes, candidates, time
    Explain(Explain),
    /// Print completions for a shell
    Completions(Completions),
    /// Write man pages into a folder
    Man(Man),
}

/// `pando init`
#[derive(Debug, Args)]
pub struct Init {
    /// The node's folder; made if missing, must be empty
    #[arg(value_hint = ValueHint::DirPath)]
    pub dir: PathBuf,
    /// The naming context to hold; may be given more than once
    #[arg(long, value_name = "DN", required = true)]
    pub suffix: Vec<String>,
    /// The administrator's name [default: cn=admin,<first suffix>]
    #[arg(long, value_name = "DN")]
    pub admin: Option<String>,
    /// Read the administrator's password from the first line of FILE instead of asking
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub admin_password_file: Option<PathBuf>,
    /// Do not create the entries of the naming contexts
    #[arg(long)]
    pub no_base: bool,
    /// Index these attributes instead of the usual ones: ATTRIBUTE[:KIND[+KIND]…], kinds
    /// equality, presence, substring, ordering, approximate
    #[arg(long, value_name = "INDEX", value_delimiter = ',')]
    pub index: Vec<String>,
}

/// `pando serve`
#[derive(Debug, Args)]
pub struct Serve {
    /// The node's folder
    #[arg(value_hint = ValueHint::DirPath)]
    pub dir: PathBuf,
    /// Listen here instead of where pando.toml says: ldap://, ldaps:// or ldapi:// URL
    #[arg(long, value_name = "URL")]
    pub listen: Vec<String>,
    /// Serving threads [default: one per core]
    #[arg(long, value_name = "N")]
    pub threads: Option<usize>,
    /// What to log: error, warn, info, debug, or by part: server=debug,warn
    #[arg(long, value_name = "FILTER")]
    pub log_level: Option<String>,
}

/// `pando demo`
#[derive(Debug, Args)]
pub struct Demo {
    /// Keep the sample directory here [default: a temporary folder, removed at the end]
    #[arg(value_hint = ValueHint::DirPath)]
    pub dir: Option<PathBuf>,
    /// Listen here
    #[arg(long, value_name = "URL", default_value = "ldap://127.0.0.1:1389")]
    pub listen: Vec<String>,
    /// People in the sample
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    pub people: u64,
}

/// The format of a stream of entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Told by the first byte of each file
    Detect,
    /// LDIF (RFC 2849)
    Ldif,
    /// Concatenated LDAPMessages with add requests (RFC 4511)
    Ber,
    /// Concatenated bare AddRequests
    BareBer,
}

/// A time in seconds, such as 300 or 0.5.
fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: Option<f64> = text.parse().ok();
    let time = seconds.and_then(|it| Duration::try_from_secs_f64(it).ok());
    time.ok_or_else(|| "expected a number of seconds".to_owned())
}

/// `pando import`
#[derive(Debug, Args)]
pub struct Import {
    /// The node's folder; the server must not be running
    #[arg(value_hint = ValueHint::DirPath)]
    pub dir: PathBuf,
    /// Files to read, one after the other, FIFOs and `-` for standard input, all at once; gzip and
    /// zstd are recognised
    #[arg(value_hint = ValueHint::FilePath, required_unless_present = "template")]
    pub files: Vec<PathBuf>,
    /// Read N files at once, in turns
    #[arg(long, value_name = "N", default_value = "1")]
    pub at_once: NonZeroUsize,
    /// Import the entries that a template describes
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "files")]
    pub template: Option<PathBuf>,
    /// Set a define of the template
    #[arg(long, value_name = "NAME=VALUE", requires = "template")]
    pub define: Vec<String>,
    /// The seed of the template's random values
    #[arg(long, value_name = "N", default_value_t = 0, requires = "template")]
    pub seed: u64,
    /// What the files hold
    #[arg(long, value_enum, default_value = "detect")]
    pub format: Format,
    /// Where rejected entries go, with line numbers and reasons
    /// [default: pando-rejects.ldif in the node's folder]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub rejects: Option<PathBuf>,
    /// Sort in about so much memory, such as 512M or 4G, and in files what needs more; 20 to 40
    /// bytes an entry and a few pieces of input come on top [default: a quarter of what there is]
    #[arg(long, value_name = "SIZE", value_parser = crate::memory::size)]
    pub memory: Option<u64>,
    /// Go on where the same import was interrupted; not with FIFOs or standard input
    #[arg(long)]
    pub resume: bool,
    /// Make a checkpoint to resume from every so many seconds; 0: none
    #[arg(long, value_name = "SECONDS", default_value = "300", value_parser = seconds)]
    pub checkpoint: Duration,
    /// Where files for sorting go [default: the node's data folder]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub temporary: Option<PathBuf>,
    /// Do not check values against their syntaxes and entries against their classes
    #[arg(long)]
    pub no_schema_check: bool,
    /// Hash passwords that stand in the clear (slow: about 50 ms each)
    #[arg(long)]
    pub hash_passwords: bool,
    /// Do not create missing entries above the imported ones
    #[arg(long)]
    pub no_create_suffix: bool,
}

/// `pando migrate`
#[derive(Debug, Args)]
#[command(
    after_help = "A node that has no entries is filled first, while it is not served; then the \
    command follows the old server through the node that `pando serve DIR` serves. Stopped and \
    started again, it goes on where it was.\n\
    Exit status: 0 done and nothing differs, 1 failed, or entries were rejected or differ, \
    2 wrong usage."
)]
pub struct Migrate {
    /// The node's folder
    #[arg(value_hint = ValueHint::DirPath)]
    pub dir: PathBuf,
    /// The old server: ldap://HOST:PORT or ldaps://HOST:PORT
    #[arg(long, value_name = "URL")]
    pub from: String,
    /// Bind as DN, which must have the right to read everything, without limits
    #[arg(short = 'D', long, value_name = "DN", requires = "bind_password_file")]
    pub bind_dn: Option<String>,
    /// The password of --bind-dn: the first line of FILE (`-`: standard input)
    #[arg(short = 'y', long, value_name = "FILE", value_hint = ValueHint::FilePath,
        requires = "bind_dn")]
    pub bind_password_file: Option<PathBuf>,
    /// Copy this entry and what is below it; may be repeated
    /// [default: the naming contexts of the old server]
    #[arg(short, long, value_name = "DN")]
    pub base: Vec<String>,
    /// Begin TLS on an ldap:// connection
    #[arg(long)]
    pub starttls: bool,
    /// Certificates to trust with TLS, as PEM [default: the system's]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub ca: Option<PathBuf>,
    /// End as soon as the node has what the old server has
    #[arg(long)]
    pub once: bool,
    /// Copy by ordinary searches, from a server without content synchronisation; implies --once
    #[arg(long)]
    pub plain: bool,
    /// At the end compare both servers and write what differs to FILE (`-`: standard output)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub report: Option<PathBuf>,
    /// Where entries go that the node refuses, with the reasons
    /// [default: pando-rejects.ldif in the node's folder]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub rejects: Option<PathBuf>,
}

/// `pando export`
#[derive(Debug, Args)]
pub struct Export {
    /// The node's folder; it may be served meanwhile
    #[arg(value_hint = ValueHint::DirPath)]
    pub dir: PathBuf,
    /// Export this entry and what is below it [default: every naming context]
    pub base: Option<String>,
    /// Write to FILE; names ending in .gz or .zst are compressed [default: standard output]
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,
    /// Only entries that match
    #[arg(long, value_name = "FILTER")]
    pub filter: Option<String>,
    /// Only these attributes (`*`: all user attributes, `+`: all operational ones)
    #[arg(long, value_name = "ATTRIBUTE", value_delimiter = ',')]
    pub attributes: Vec<String>,
    /// Leave out operational attributes, so that the result can be added over LDAP
    #[arg(long)]
    pub no_operational: bool,
    /// Fold lines longer than this many characters; 0 never folds
    #[arg(long, value_name = "N", default_value_t = 76)]
    pub fold: usize,
    /// What to write
    #[arg(long, value_enum, default_value = "ldif")]
    pub format: ExportFormat,
    /// Instead of entries, LDIF of the changes made after this position or time (such as
    /// 20261121030000Z, UTC). Needs kept changes (changes.keep_mib in pando.toml)
    #[arg(long, value_name = "POSITION|TIME", value_parser = Point::parse,
        conflicts_with_all = ["base", "filter", "attributes", "no_operational", "format"])]
    pub changes_since: Option<Point>,
}

/// What `pando export` writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// LDIF (RFC 2849)
    Ldif,
    /// Concatenated LDAPMessages with add requests (RFC 4511)
    Ber,
    /// Concatenated bare AddRequests
    BareBer,
}

/// `pando generate`
#[derive(Debug, Args)]
pub struct Generate {
    /// The template (SLAMD / MakeLDIF language)
    #[arg(value_hint = ValueHint::FilePath)]
    pub template: PathBuf,
    /// Set a define of the template
    #[arg(long, value_name = "NAME=VALUE")]
    pub define: Vec<String>,
    /// What to write
    #[arg(long, value_enum, default_value = "ldif")]
    pub format: GenerateFormat,
    /// The seed of the random values: the same seed gives the same entries
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// The ordinal of the first entry to write, from 0
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub from: u64,
    /// The ordinal after the last entry to write [default: all]
    #[arg(long, value_name = "N")]
    pub to: Option<u64>,
    /// Write to FILE; given several times, each gets an equal part of the entries, all at once
    /// [default: standard output]
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: Vec<PathBuf>,
}

/// What `pando generate` writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum GenerateFormat {
    /// LDIF (RFC 2849)
    Ldif,
    /// Concatenated LDAPMessages with add requests
    Ber,
    /// Concatenated bare AddRequests
    BareBer,
    /// Distinguished names, one a line
    Dns,
    /// Distinguished name, tab, password
    Binds,
    /// Equality filters on the naming attribute, one a line
    Filters,
}

/// `pando check`
#[derive(Debug, Args)]
pub struct Check {
    /// The node's folder; the server must not be running
    #[arg(value_hint = ValueHint::DirPath)]
    pub dir: PathBuf,
}

/// `pando schema`
#[derive(Debug, Args)]
pub struct Schema {
    /// What to do with the schema
    #[command(subcommand)]
    pub action: SchemaAction,
}

/// What to do with the schema.
#[derive(Debug, Subcommand)]
pub enum SchemaAction {
    /// Print attribute types and object classes, all or those whose names contain TEXT
    Show {
        /// The node's folder
        #[arg(value_hint = ValueHint::DirPath)]
        dir: PathBuf,
        /// A part of a name, or an OID
        text: Option<String>,
    },
    /// Add the definitions of OpenLDAP .schema or LDIF schema files
    Add {
        /// The node's folder
        #[arg(value_hint = ValueHint::DirPath)]
        dir: PathBuf,
        /// The schema files
        #[arg(required = true, value_hint = ValueHint::FilePath)]
        files: Vec<PathBuf>,
    },
    /// Read schema files and say whether they can be used, changing nothing
    Check {
        /// The schema files
        #[arg(required = true, value_hint = ValueHint::FilePath)]
        files: Vec<PathBuf>,
    },
}

/// `pando passwd`
#[derive(Debug, Args)]
pub struct Passwd {
    /// The node's folder; without it, the hash of a password is printed
    #[arg(value_hint = ValueHint::DirPath)]
    pub dir: Option<PathBuf>,
    /// Whose password [default: the administrator's]
    pub dn: Option<String>,
    /// Read the password from the first line of FILE (`-`: standard input) instead of asking
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub password_file: Option<PathBuf>,
    /// The scheme to print a hash under, e.g. {SSHA}
    #[arg(long, value_name = "SCHEME", default_value = "{ARGON2}")]
    pub scheme: String,
}

/// `pando index`
#[derive(Debug, Args)]
pub struct Index {
    /// What to do with the indexes
    #[command(subcommand)]
    pub action: IndexAction,
}

/// What to do with the indexes.
#[derive(Debug, Subcommand)]
pub enum IndexAction {
    /// Show every index and how far it is built
    Status {
        /// The node's folder
        #[arg(value_hint = ValueHint::DirPath)]
        dir: PathBuf,
    },
    /// Add an index, or change its kinds; it is built while the server serves
    Add {
        /// The node's folder
        #[arg(value_hint = ValueHint::DirPath)]
        dir: PathBuf,
        /// The attribute type
        attribute: String,
        /// The kinds: equality, presence, substring, ordering, approximate
        #[arg(value_delimiter = ',', default_value = "equality")]
        kinds: Vec<String>,
    },
    /// Say which indexes would help the searches that the serving process has carried out
    Advise {
        /// The node's folder
        #[arg(value_hint = ValueHint::DirPath)]
        dir: PathBuf,
        /// How to print
        #[arg(long, value_enum, default_value = "text")]
        format: Report,
    },
    /// Drop an index and build it anew, with the same kinds, while the server serves
    Rebuild {
        /// The node's folder
        #[arg(value_hint = ValueHint::DirPath)]
        dir: PathBuf,
        /// The attribute type
        attribute: String,
    },
    /// Drop an index
    Drop {
        /// The node's folder
        #[arg(value_hint = ValueHint::DirPath)]
        dir: PathBuf,
        /// The attribute type
        attribute: String,
    },
}

/// `pando completions`
#[derive(Debug, Args)]
pub struct Completions {
    /// The shell
    pub shell: clap_complete::Shell,
}

/// `pando man`
#[derive(Debug, Args)]
pub struct Man {
    /// The folder to write pando.1 and its pages into
    #[arg(value_hint = ValueHint::DirPath)]
    pub dir: PathBuf,
}

/// `pando bench`
#[derive(Debug, Args)]
pub struct Bench {
    /// What to do: search, auth (search, then bind), bind, compare, modify, add-value,
    /// delete-value, add, delete, modify-dn, or shares of them such as
    /// search=65,bind=16,compare=16,modify=3 (`mixed`)
    pub job: String,
    /// The server: ldap://HOST:PORT or ldapi://%2Fpath
    #[arg(long, value_name = "URL", default_value = "ldap://127.0.0.1:1389")]
    pub url: String,
    /// Bind every connection as DN before the run
    #[arg(short = 'D', long, value_name = "DN", requires = "bind_password_file")]
    pub bind_dn: Option<String>,
    /// The password of --bind-dn: the first line of FILE (`-`: standard input)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub bind_password_file: Option<PathBuf>,
    /// Connections
    #[arg(short, long, value_name = "N", default_value_t = 32)]
    pub connections: usize,
    /// Requests in flight on each connection; binds are never pipelined
    #[arg(short, long, value_name = "N", default_value_t = 1)]
    pub pipeline: usize,
    /// Announce N responses, at most --pipeline, with every Nth request (queue length control)
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub queue_length: u32,
    /// Client threads
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
    /// Entries that every search must return; `any` checks nothing
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
    /// What every compare must answer
    #[arg(long, value_name = "BOOL")]
    pub expect_compare: Option<bool>,
    /// The password that bind and auth use
    #[arg(long, value_name = "PASSWORD", default_value = "password")]
    pub password: String,
    /// Lines of DN, tab, password that bind uses at random
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
    /// Its children
    One,
    /// Its subtree
    Sub,
}

/// `pando conformance`
#[derive(Debug, Args)]
#[command(
    after_help = "The clauses work below an entry of their own, ou=conformance-…, that is \
    removed at the end.\nWithout -D, clauses that write are left out.\n\
    Exit status: 0 nothing failed, 1 something did, 2 wrong usage."
)]
pub struct Conformance {
    /// The server: ldap://HOST:PORT or ldaps://HOST:PORT
    #[arg(long, value_name = "URL", default_value = "ldap://127.0.0.1:1389")]
    pub url: String,
    /// Bind as DN, which must have the right to write below the base
    #[arg(short = 'D', long, value_name = "DN")]
    pub bind_dn: Option<String>,
    /// The password of --bind-dn; others on this machine can see it, so rather use -y
    #[arg(short = 'w', long, value_name = "PASSWORD", requires = "bind_dn")]
    pub bind_password: Option<String>,
    /// The password of --bind-dn: the first line of FILE (`-`: standard input)
    #[arg(short = 'y', long, value_name = "FILE", value_hint = ValueHint::FilePath,
        requires = "bind_dn", conflicts_with = "bind_password")]
    pub bind_password_file: Option<PathBuf>,
    /// Work below this entry [default: the server's first naming context]
    #[arg(short, long, value_name = "DN")]
    pub base: Option<String>,
    /// Only clauses whose names start with this, such as rfc4511 or rfc4511-4.5; may be repeated
    #[arg(long, value_name = "START", value_delimiter = ',')]
    pub only: Vec<String>,
    /// Print the names and texts of the clauses and run nothing
    #[arg(long)]
    pub list: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
    /// Also name what was not offered
    #[arg(short, long)]
    pub verbose: bool,
    /// Take a control, extended operation or feature for supported though the server does not
    /// announce it; may be repeated
    #[arg(long, value_name = "OID", value_delimiter = ',')]
    pub assume: Vec<String>,
    /// Clauses at a time
    #[arg(short, long, value_name = "N", default_value_t = 4)]
    pub threads: usize,
    /// Begin no clause later than this many seconds after the start
    #[arg(short, long, value_name = "N", default_value_t = 600)]
    pub seconds: u64,
    /// Certificates to trust for ldaps://, as PEM [default: the system's]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub ca: Option<PathBuf>,
}
