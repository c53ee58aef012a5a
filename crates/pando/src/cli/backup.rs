//! Arguments of the subcommands `backup`, `restore`, `verify` and `compact`.

use super::Remote;
use super::at_least_one;
use clap::{Args, ValueHint};
use replica::changes::Point;
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// `pando backup`
#[derive(Debug, Args)]
pub struct Backup {
    /// The node's folder
    #[arg(value_hint = ValueHint::DirPath)]
    pub dir: PathBuf,
    /// The folder to make, or with --single the file; it must not exist
    #[arg(value_hint = ValueHint::AnyPath)]
    pub to: PathBuf,
    /// Make the backup as one file (`-`: write to standard output)
    #[arg(long, conflicts_with_all = ["incremental", "keep"])]
    pub single: bool,
    /// Add the changes since the last one to the backup TO of this node. Needs kept changes
    /// (changes.keep_mib in pando.toml)
    #[arg(long, conflicts_with = "keep")]
    pub incremental: bool,
    /// Make a backup named after the time in the folder TO, and then remove the oldest backups in
    /// it beyond N
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub keep: Option<NonZeroUsize>,
}

/// `pando restore`
#[derive(Debug, Args)]
pub struct Restore {
    /// The backup: its folder or file (`-`: a backup as one file, from standard input)
    #[arg(value_hint = ValueHint::AnyPath)]
    pub backup: PathBuf,
    /// The node's folder; made if missing, must not hold a database
    #[arg(value_hint = ValueHint::DirPath)]
    pub dir: PathBuf,
    /// Execute changes up to this time (such as 20261121030000Z, UTC) or position [default: all]
    #[arg(long, value_name = "TIME|POSITION", value_parser = Point::parse)]
    pub until: Option<Point>,
    /// After the changes in the backup, execute the changes kept in this folder (data/changes of a
    /// node)
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub changes: Option<PathBuf>,
}

/// `pando verify`
#[derive(Debug, Args)]
pub struct Verify {
    /// The backup: its folder or file (`-`: a backup as one file, from standard input)
    #[arg(value_hint = ValueHint::AnyPath)]
    pub backup: PathBuf,
    /// Folder for the temporary restore [default: beside the backup; with `-`, the current folder]
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub within: Option<PathBuf>,
}

/// `pando compact`
#[derive(Debug, Args)]
#[command(
    after_help = "A node that is served is compacted by the process that serves it, while reads \
    and writes go on: a copy is made beside the database, brought up to date, and put in its \
    place. Ctrl-C cancels the compaction. A node that is not served is compacted by this command.\n\
    Exit status: 0 done, 1 failed or cancelled, 2 wrong usage."
)]
pub struct Compact {
    /// The node's folder, served or not
    #[arg(value_hint = ValueHint::DirPath, required_unless_present = "url",
        conflicts_with = "url")]
    pub dir: Option<PathBuf>,
    /// A server elsewhere
    #[command(flatten)]
    pub remote: Remote,
    /// Cancel the running compaction, even if another client began it
    #[arg(long)]
    pub cancel: bool,
}
