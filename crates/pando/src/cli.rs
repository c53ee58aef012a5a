//! Definitions of the command line. Help texts, shell completions and man pages are made from them.

mod access;
mod auditing;
mod backup;
mod cluster;
mod data;
mod examine;
mod tls;
mod watch;

pub use access::{
    Access, AccessAction, AccessActivate, AccessApply, AccessCheck, AccessCost, AccessDifferences,
    AccessExplain, AccessImport, AccessNode, AccessShadow, AccessShow, AccessTest, RuleSource,
};
pub use auditing::{Audit, AuditAction, AuditFiles, AuditHead, AuditShow, AuditVerify};
pub use backup::{Backup, Compact, Restore, Verify};
pub use cluster::{
    Cluster, ClusterAction, ClusterInit, ClusterJoin, ClusterLeave, ClusterRecover, ClusterRemove,
    ClusterStatus,
};
pub use data::{
    Compress, Export, ExportFormat, FilterKind, Format, Generate, GenerateFormat, Import, Migrate,
};
pub use examine::{Bench, BenchScope, Conformance};
pub use tls::{Identity, IdentityAction, IdentityShow, IdentityTest, Tls, TlsAction, TlsCheck};
pub use watch::{Explain, ExplainScope, Remote, Report, Status};

use clap::{Args, Parser, Subcommand, ValueHint};
use std::path::PathBuf;

/// A fast LDAP directory server on a single node.
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
    /// The subcommand.
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
    /// Copy a running OpenLDAP server, follow its changes until cut-over, report differences
    Migrate(Migrate),
    /// Write entries as LDIF
    Export(Export),
    /// Write the entries that a template describes
    Generate(Generate),
    /// Make a node the first of a cluster, let others join and leave, show the state of all
    Cluster(Cluster),
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
    /// Show, apply, check, test, explain or import access rules
    Access(Access),
    /// Verify and show the lines that the audit has written about changes
    Audit(Audit),
    /// Show the rules that map identities to entries, or try them
    Identity(Identity),
    /// Look at a server's TLS
    Tls(Tls),
    /// Set a password, or print the hash of one
    Passwd(Passwd),
    /// Show, add or drop indexes
    Index(Index),
    /// Have the server of a node read its settings and its certificate again
    Reload(Reload),
    /// Show the state and the figures of a node or a server
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
    /// Begin with these access rules: `built-in` ones, the `default` set, or those of a FILE
    #[arg(long, value_name = "RULES", default_value = "built-in", value_hint = ValueHint::FilePath)]
    pub access: String,
}

/// `pando serve`
#[derive(Debug, Args)]
pub struct Serve {
    /// The node's folder
    #[arg(value_hint = ValueHint::DirPath)]
    pub dir: PathBuf,
    /// Listen at this ldap://, ldaps:// or ldapi:// URL instead of those in pando.toml
    #[arg(long, value_name = "URL")]
    pub listen: Vec<String>,
    /// Number of serving threads [default: threads.serving in pando.toml]
    #[arg(long, value_name = "N")]
    pub threads: Option<u32>,
    /// Levels to log: error, warn, info, debug, trace, or by part: server=debug,warn
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
    /// Number of people in the sample directory
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    pub people: u64,
    /// Serve it by N nodes of a cluster, each with a port of its own after that of --listen
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=7))]
    pub cluster: Option<u16>,
}

/// `pando check`
#[derive(Debug, Args)]
pub struct Check {
    /// The node's folder; a server may be running
    #[arg(value_hint = ValueHint::DirPath)]
    pub dir: PathBuf,
    /// Give up acknowledged writes whose records at the end of the log are damaged, so that the
    /// server starts again; for a node that is stopped
    #[arg(long)]
    pub forget_lost: bool,
}

/// `pando reload`
#[derive(Debug, Args)]
pub struct Reload {
    /// The node's folder
    #[arg(value_hint = ValueHint::DirPath)]
    pub dir: PathBuf,
}

/// `pando schema`
#[derive(Debug, Args)]
pub struct Schema {
    /// Action on the schema
    #[command(subcommand)]
    pub action: SchemaAction,
}

/// An action on the schema.
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
    /// Add definitions of OpenLDAP .schema or LDIF schema files, except those that contradict the
    /// schema
    Add {
        /// The node's folder
        #[arg(value_hint = ValueHint::DirPath)]
        dir: PathBuf,
        /// Add nothing if one definition contradicts the schema or cannot be read
        #[arg(long)]
        strict: bool,
        /// The schema files
        #[arg(required = true, value_hint = ValueHint::FilePath)]
        files: Vec<PathBuf>,
    },
    /// Make attribute types secret: only the administrator can read their values
    Secret {
        /// The node's folder
        #[arg(value_hint = ValueHint::DirPath)]
        dir: PathBuf,
        /// The attribute types, which must be in the schema
        #[arg(required = true, value_name = "ATTRIBUTE")]
        attributes: Vec<String>,
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
    #[arg(long, value_name = "SCHEME", default_value = "{ARGON2ID}")]
    pub scheme: String,
}

/// `pando index`
#[derive(Debug, Args)]
pub struct Index {
    /// Action on the indexes
    #[command(subcommand)]
    pub action: IndexAction,
}

/// An action on indexes.
#[derive(Debug, Subcommand)]
pub enum IndexAction {
    /// Show every index and the progress of its build
    Status {
        /// The node's folder
        #[arg(value_hint = ValueHint::DirPath)]
        dir: PathBuf,
    },
    /// Add an index, or kinds to an existing index; it is built while the server runs
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
    /// Propose indexes for the expensive searches that the serving process has executed
    Advise {
        /// The node's folder
        #[arg(value_hint = ValueHint::DirPath)]
        dir: PathBuf,
        /// How to print
        #[arg(long, value_enum, default_value = "text")]
        format: Report,
    },
    /// Rebuild an index while the server runs; searches use the index meanwhile
    Rebuild {
        /// The node's folder
        #[arg(value_hint = ValueHint::DirPath)]
        dir: PathBuf,
        /// The attribute type
        attribute: String,
    },
    /// Drop an index, or some of its kinds
    Drop {
        /// The node's folder
        #[arg(value_hint = ValueHint::DirPath)]
        dir: PathBuf,
        /// The attribute type
        attribute: String,
        /// The kinds to drop [default: all]
        #[arg(value_delimiter = ',')]
        kinds: Vec<String>,
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

/// Parses a count of at least 1.
fn at_least_one(text: &str) -> Result<std::num::NonZeroUsize, String> {
    text.parse()
        .map_err(|_| format!("expected a number, at least 1, got {text}"))
}
