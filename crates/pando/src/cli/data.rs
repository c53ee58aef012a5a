//! Arguments of the subcommands `import`, `migrate`, `export` and `generate`.

use super::at_least_one;
use clap::{Args, ValueEnum, ValueHint};
use replica::changes::Point;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

/// The format of a stream of entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Detected from the first bytes of each file
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
#[command(
    after_help = "Inputs: files, FIFOs (mkfifo), Unix sockets and standard input, in any mixture. \
    The import connects to a socket; the program that listens there sends the entries and closes. \
    A stream that ends is taken for complete: check the exit status of the program that wrote a \
    pipe (set -o pipefail) before the node is served.\n\
    Exit status: 0 done, 1 failed (nothing was changed), or entries were rejected (the others are \
    imported), 2 wrong usage."
)]
pub struct Import {
    /// The node's folder; the server must not be running
    #[arg(value_hint = ValueHint::DirPath)]
    pub dir: PathBuf,
    /// Files to read, one after the other; FIFOs, Unix sockets and `-` for standard input, all at
    /// once. gzip and zstd are recognised
    #[arg(value_hint = ValueHint::FilePath, required_unless_present = "template")]
    pub files: Vec<PathBuf>,
    /// Read N files at once, a piece from each in turn
    #[arg(long, value_name = "N", default_value = "1", value_parser = at_least_one)]
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
    /// Count as SLAMD does: all `<sequential>` tags of one attribute of a template share a counter
    #[arg(long, requires = "template")]
    pub slamd_compat: bool,
    /// Read values given as URLs of local files (`jpegPhoto:< file:///photos/ada.jpg`). Without
    /// this option such values are refused, because the author of the input could choose any file
    /// of this machine, also a secret one, to become a value that others can read
    #[arg(long)]
    pub file_urls: bool,
    /// For a stopped node of a cluster: begin the next generation of the cluster with this import.
    /// No node takes writes until this one is served; then the others take its state by themselves
    #[arg(long)]
    pub new_generation: bool,
    /// Format of the files
    #[arg(long, value_enum, default_value = "detect")]
    pub format: Format,
    /// File for rejected entries, with line numbers and reasons [default: pando-rejects.ldif in the
    /// node's folder]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub rejects: Option<PathBuf>,
    /// Memory for sorting, such as 512M or 4G; larger data are sorted in files. Another 20 to 40
    /// bytes for each entry and a few pieces of input are needed [default: a quarter of the memory]
    #[arg(long, value_name = "SIZE", value_parser = crate::memory::size)]
    pub memory: Option<u64>,
    /// Continue an interrupted import with these arguments; not with FIFOs, sockets or standard
    /// input
    #[arg(long)]
    pub resume: bool,
    /// Seconds between two checkpoints, from which --resume continues; 0: no checkpoints
    #[arg(long, value_name = "SECONDS", default_value = "300", value_parser = seconds)]
    pub checkpoint: Duration,
    /// Folder for temporary files of sorting [default: the node's data folder]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub temporary: Option<PathBuf>,
    /// Do not check values against their syntaxes and entries against their classes
    #[arg(long)]
    pub no_schema_check: bool,
    /// Hash passwords that are in the clear (slow: about 50 ms each)
    #[arg(long)]
    pub hash_passwords: bool,
    /// Add naming contexts for entries outside all naming contexts of the node; without this option
    /// such entries are rejected
    #[arg(long)]
    pub create_suffix: bool,
    /// Do not create missing superiors of the first entries of a naming context
    #[arg(long)]
    pub no_create_superiors: bool,
}

/// `pando migrate`
#[derive(Debug, Args)]
#[command(
    after_help = "A node that has no entries is filled first, while it is not served; then the \
    command follows the old server through the node that `pando serve DIR` serves. A command that \
    is started again continues where it stopped.\n\
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
    /// Copy this entry and its subordinates; may be repeated [default: the naming contexts of the
    /// old server]
    #[arg(short, long, value_name = "DN")]
    pub base: Vec<String>,
    /// List the access rules, limits and overlays of this configuration of the old server:
    /// slapd.conf, the folder slapd.d, or the output of `slapcat -n0` [default: its cn=config,
    /// where --bind-dn may read it]
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub old_config: Option<PathBuf>,
    /// Begin TLS on an ldap:// connection
    #[arg(long)]
    pub starttls: bool,
    /// Certificates to trust with TLS, as PEM [default: the system's]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub ca: Option<PathBuf>,
    /// End as soon as the node is in sync with the old server
    #[arg(long)]
    pub once: bool,
    /// Copy by ordinary searches, from a server without content synchronisation; implies --once
    #[arg(long)]
    pub plain: bool,
    /// At the end compare both servers and write the differences to FILE (`-`: standard output)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub report: Option<PathBuf>,
    /// File for entries that the node refuses, with the reasons [default: pando-rejects.ldif in the
    /// node's folder]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub rejects: Option<PathBuf>,
}

/// `pando export`
#[derive(Debug, Args)]
pub struct Export {
    /// The node's folder; it may be served meanwhile
    #[arg(value_hint = ValueHint::DirPath)]
    pub dir: PathBuf,
    /// Export this entry and its subordinates [default: every naming context]
    pub base: Option<String>,
    /// Write to FILE (`-`: standard output, the default); a FILE ending in .gz or .zst is
    /// compressed
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,
    /// Compression, whatever the name of the file, also for standard output
    #[arg(long, value_enum, value_name = "HOW")]
    pub compress: Option<Compress>,
    /// Only entries that match this filter
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
    /// Format of the output
    #[arg(long, value_enum, default_value = "ldif")]
    pub format: ExportFormat,
    /// Leave out unreadable entries of a damaged database, and their subordinates, instead of
    /// ending at the first one; the command names each and ends with exit status 1
    #[arg(long)]
    pub salvage: bool,
    /// Instead of entries, LDIF of the changes made after this position or time (such as
    /// 20261121030000Z, UTC). Needs kept changes (changes.keep_mib in pando.toml)
    #[arg(long, value_name = "POSITION|TIME", value_parser = Point::parse,
        conflicts_with_all = [
            "base", "filter", "attributes", "no_operational", "format", "salvage"
        ])]
    pub changes_since: Option<Point>,
}

/// How an export is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Compress {
    /// Not at all
    None,
    /// gzip (RFC 1952)
    Gzip,
    /// Zstandard (RFC 8878)
    Zstd,
}

/// Format of the output of `pando export`.
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
    /// Format of the output
    #[arg(long, value_enum, default_value = "ldif")]
    pub format: GenerateFormat,
    /// Kind of the filters that --format filters writes [default: equality]
    #[arg(long, value_enum, value_name = "KIND")]
    pub filter_kind: Option<FilterKind>,
    /// Attribute whose values --format filters and logins writes [default: the naming attribute]
    #[arg(long, value_name = "ATTRIBUTE")]
    pub attribute: Option<String>,
    /// The seed of the random values: equal seeds give equal entries
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// Count as SLAMD does: all `<sequential>` tags of one attribute of a template share a counter
    #[arg(long)]
    pub slamd_compat: bool,
    /// Read values given as URLs of local files (`jpegPhoto:< file:photos/ada.jpg`). Without this
    /// option they are refused, because the author of the template could choose any file of this
    /// machine
    #[arg(long)]
    pub file_urls: bool,
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

/// Format of the output of `pando generate`.
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
    /// Value of the naming attribute, tab, password
    Logins,
    /// Filters on the naming attribute, one a line
    Filters,
}

/// The kind of filters that `pando generate --format filters` writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FilterKind {
    /// (uid=user.1)
    Equality,
    /// (uid=*)
    Presence,
    /// (uid=use*), the first half of the value
    Initial,
    /// (uid=*er*), the middle half of the value
    Any,
    /// (uid=*r.1), the last half of the value
    Final,
    /// (uid>=user.1)
    GreaterOrEqual,
    /// (uid<=user.1)
    LessOrEqual,
}
