//! The arguments of the subcommands that look at a node or a server.

use clap::{Args, ValueEnum, ValueHint};
use std::path::PathBuf;

/// How a result is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Report {
    /// For people
    Text,
    /// For programs
    Json,
}

/// A server on any machine, and the identity to bind as.
#[derive(Debug, Args)]
pub struct Remote {
    /// The server: ldap://HOST:PORT or ldaps://HOST:PORT
    #[arg(long, value_name = "URL")]
    pub url: Option<String>,
    /// Bind as DN, the administrator
    #[arg(
        short = 'D',
        long,
        value_name = "DN",
        requires = "bind_password_file",
        requires = "url"
    )]
    pub bind_dn: Option<String>,
    /// The password of --bind-dn: the first line of FILE (`-`: standard input)
    #[arg(short = 'y', long, value_name = "FILE", value_hint = ValueHint::FilePath,
        requires = "bind_dn")]
    pub bind_password_file: Option<PathBuf>,
    /// Begin TLS on an ldap:// connection
    #[arg(long, requires = "url")]
    pub starttls: bool,
    /// Certificates to trust with TLS, as PEM [default: the system's]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "url")]
    pub ca: Option<PathBuf>,
}

/// `pando status`
#[derive(Debug, Args)]
#[command(
    after_help = "The figures are those of the process that serves the folder; if none does, \
    figures of the database. With --url and --bind-dn they are those of that server, \
    without --bind-dn only whether the server answers.\n\
    Exit status: 0 served, 1 failed, 2 wrong usage, 3 no process serves the folder, or the server \
    at the URL does not answer."
)]
pub struct Status {
    /// The node's folder
    #[arg(value_hint = ValueHint::DirPath, required_unless_present = "url")]
    pub dir: Option<PathBuf>,
    /// A server elsewhere
    #[command(flatten)]
    pub remote: Remote,
    /// How to print
    #[arg(long, value_enum, default_value = "text")]
    pub format: Report,
}

/// `pando explain`
#[derive(Debug, Args)]
#[command(
    after_help = "The search is carried out by the process that serves the folder, or by the \
    server at --url; if no process serves the folder, by this command. Found entries are counted, \
    not printed.\n\
    Exit status: 0 done, 1 failed, 2 wrong usage."
)]
pub struct Explain {
    /// The node's folder, unless --url is given, then the filter: '(cn=ada)'
    #[arg(value_names = ["DIR", "FILTER"], num_args = 1..=2, required = true)]
    pub what: Vec<String>,
    /// Base of the search [default: the first naming context]
    #[arg(short, long, value_name = "DN")]
    pub base: Option<String>,
    /// Scope of the search
    #[arg(short, long, value_enum, default_value = "sub")]
    pub scope: ExplainScope,
    /// Sort by these attributes, `-` before those in reverse order: sn,-cn
    #[arg(
        long,
        value_name = "KEYS",
        value_delimiter = ',',
        allow_hyphen_values = true
    )]
    pub sort: Vec<String>,
    /// Explain the first page of a paged search, with this number of entries
    #[arg(long, value_name = "ENTRIES", value_parser = clap::value_parser!(u32).range(1..))]
    pub page: Option<u32>,
    /// A server elsewhere
    #[command(flatten)]
    pub remote: Remote,
    /// How to print
    #[arg(long, value_enum, default_value = "text")]
    pub format: Report,
}

/// The scope of the search of `pando explain`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ExplainScope {
    /// The entry itself
    Base,
    /// Its immediate subordinates
    One,
    /// Its subtree
    Sub,
    /// All its subordinates
    Children,
}
