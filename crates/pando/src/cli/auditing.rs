//! Arguments of the subcommand `audit`.

use clap::{Args, Subcommand, ValueHint};
use std::path::PathBuf;

/// `pando audit`
#[derive(Debug, Args)]
pub struct Audit {
    /// The action.
    #[command(subcommand)]
    pub action: AuditAction,
}

/// An action of `pando audit`.
#[derive(Debug, Subcommand)]
pub enum AuditAction {
    /// Find lines that were changed, removed or added, and say which is the first
    Verify(AuditVerify),
    /// Print lines, as they are written
    Show(AuditShow),
    /// Print number and hash of the last line that a node's database knows of
    Head(AuditHead),
}

/// `pando audit head`
#[derive(Debug, Args)]
pub struct AuditHead {
    /// The node's folder
    #[arg(value_hint = ValueHint::DirPath)]
    pub dir: PathBuf,
}

/// Where lines are.
#[derive(Debug, Args)]
pub struct AuditFiles {
    /// The node's folder, a folder of lines, or files of lines in their order
    #[arg(required = true, value_name = "DIR|FILE", value_hint = ValueHint::AnyPath)]
    pub paths: Vec<PathBuf>,
}

/// `pando audit verify`
#[derive(Debug, Args)]
pub struct AuditVerify {
    /// Where the lines are.
    #[command(flatten)]
    pub files: AuditFiles,
    /// A line that `pando audit head` of some node has printed: the lines must lead to it
    #[arg(long, value_name = "LINE:HASH")]
    pub head: Option<String>,
}

/// `pando audit show`
#[derive(Debug, Args)]
pub struct AuditShow {
    /// Where the lines are.
    #[command(flatten)]
    pub files: AuditFiles,
    /// Lines about failed binds and refused operations instead of changes
    #[arg(long)]
    pub attempts: bool,
    /// Changes by this subject, acting or real: a DN or an entryUUID
    #[arg(long, value_name = "DN|UUID")]
    pub who: Option<String>,
    /// Changes of this entry: a DN that it had before a change, or its entryUUID
    #[arg(long, value_name = "DN|UUID")]
    pub entry: Option<String>,
    /// Changes at this position or later
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub position: u64,
    /// Changes at this time or later, such as 20261121030000Z (UTC)
    #[arg(long, value_name = "TIME")]
    pub since: Option<String>,
    /// Changes before this time
    #[arg(long, value_name = "TIME")]
    pub until: Option<String>,
}
