//! The arguments of the subcommands about clusters.

use super::watch::Report;
use clap::{Args, Subcommand, ValueHint};
use std::path::PathBuf;

/// `pando cluster`
#[derive(Debug, Args)]
pub struct Cluster {
    /// Action on a cluster
    #[command(subcommand)]
    pub action: ClusterAction,
}

/// An action on a cluster.
#[derive(Debug, Subcommand)]
pub enum ClusterAction {
    /// Make a stopped node the first of a new cluster
    Init(ClusterInit),
    /// Print a token with which one node can join within an hour
    Token {
        /// The folder of a node of the cluster
        #[arg(value_hint = ValueHint::DirPath)]
        dir: PathBuf,
    },
    /// Make a new node that belongs to a cluster, with a copy of the directory
    Join(ClusterJoin),
    /// Show the state of every node of a cluster
    Status(ClusterStatus),
    /// Take a node out of its cluster
    Leave(ClusterLeave),
    /// Take a dead node out of a cluster, by a living one
    Remove(ClusterRemove),
    /// Raise the format level, once every node's program knows a higher one
    Upgrade(ClusterUpgrade),
    /// Make the survivor that is furthest the first node of a cluster that has lost its log
    Recover(ClusterRecover),
}

/// `pando cluster init`
#[derive(Debug, Args)]
pub struct ClusterInit {
    /// The node's folder
    #[arg(value_hint = ValueHint::DirPath)]
    pub dir: PathBuf,
    /// Where other nodes reach this one; the two ports after it are those of its etcd
    #[arg(long, value_name = "HOST:PORT")]
    pub address: String,
    /// Use this etcd, of version 3.6 or later and for nothing else, instead of running one
    #[arg(long, value_name = "URL", value_delimiter = ',',
        requires_all = ["etcd_ca", "etcd_cert", "etcd_key"])]
    pub etcd: Vec<String>,
    /// The authority of etcd's certificates, as PEM
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "etcd")]
    pub etcd_ca: Option<PathBuf>,
    /// The certificate to present to etcd, as PEM
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "etcd")]
    pub etcd_cert: Option<PathBuf>,
    /// The private key of --etcd-cert, as PEM
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "etcd")]
    pub etcd_key: Option<PathBuf>,
}

/// `pando cluster join`
#[derive(Debug, Args)]
#[command(
    after_help = "If joining is interrupted, the same command goes on where it was; the token is \
    not needed a second time, but must be given."
)]
pub struct ClusterJoin {
    /// The new node's folder; made if missing, must be empty
    #[arg(value_hint = ValueHint::DirPath)]
    pub dir: PathBuf,
    /// The node of the cluster that printed the token
    #[arg(long, value_name = "HOST:PORT")]
    pub from: String,
    /// The token that `pando cluster token` printed there
    #[arg(long, env = "PANDO_CLUSTER_TOKEN", hide_env_values = true)]
    pub token: String,
    /// Where other nodes reach this one [default: this machine as --from sees it, port 8390]
    #[arg(long, value_name = "HOST:PORT")]
    pub address: Option<String>,
}

/// `pando cluster status`
#[derive(Debug, Args)]
#[command(
    after_help = "Exit status: 0 all nodes answer and none differs, 1 a node does not answer, \
    differs or has trouble, 2 wrong usage, 3 no process serves the folder."
)]
pub struct ClusterStatus {
    /// The folder of a node of the cluster
    #[arg(value_hint = ValueHint::DirPath)]
    pub dir: PathBuf,
    /// Show it again every two seconds until interrupted
    #[arg(long)]
    pub watch: bool,
    /// How to print
    #[arg(long, value_enum, default_value = "text")]
    pub format: Report,
}

/// `pando cluster leave`
#[derive(Debug, Args)]
#[command(
    after_help = "A served node hands its vote over first, and ends when it has left. For a \
    stopped node, another node takes it out."
)]
pub struct ClusterLeave {
    /// The folder of the node that leaves
    #[arg(value_hint = ValueHint::DirPath)]
    pub dir: PathBuf,
    /// Leave even if writes stop until other nodes are back
    #[arg(long)]
    pub lose_quorum: bool,
}

/// `pando cluster remove`
#[derive(Debug, Args)]
#[command(
    after_help = "The removed node can write no more, also if it comes back, and nothing is kept \
    for it. It can only join anew, with another folder."
)]
pub struct ClusterRemove {
    /// The folder of a served node of the cluster
    #[arg(value_hint = ValueHint::DirPath)]
    pub dir: PathBuf,
    /// The dead node: its address, or the first digits of its identifier
    pub node: String,
    /// Remove it even if writes stop until other nodes are back
    #[arg(long)]
    pub lose_quorum: bool,
}

/// `pando cluster upgrade`
#[derive(Debug, Args)]
#[command(
    after_help = "Install the newer program on every node first, one after the other. What the \
    newer program brings for all nodes alike waits for this command. Afterwards no node can go \
    back to the older program."
)]
pub struct ClusterUpgrade {
    /// The folder of a served node of the cluster
    #[arg(value_hint = ValueHint::DirPath)]
    pub dir: PathBuf,
}

/// `pando cluster recover`
#[derive(Debug, Args)]
#[command(
    after_help = "For a cluster most of whose voters are lost for good. Serve all survivors, which \
    then tell how far they are, stop the one that is furthest, and give it this command. It begins \
    another generation of the cluster, with a log of its own; all other nodes join it with new \
    folders."
)]
pub struct ClusterRecover {
    /// The folder of the survivor, which is stopped
    #[arg(value_hint = ValueHint::DirPath)]
    pub dir: PathBuf,
    /// Begin even if nodes do not answer; writes that they alone have executed are lost
    #[arg(long)]
    pub lose_silent: bool,
}
