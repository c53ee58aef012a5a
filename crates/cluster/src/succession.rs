//! A generation that an import begins: its node closes the log before, and the other nodes take its
//! state by themselves, when they are served or started later.
//!
//! Invariants:
//! - the node has executed every record of the log that it has closed;
//! - a node that takes another one's state keeps its own, and follows no log with it any more.

use crate::command::runtime;
use crate::identity::{Etcd, Identity, Member, Rejoins};
use crate::log::EtcdLog;
use crate::peer::NodeStatus;
use crate::recovery::put_etcd_aside;
use crate::trouble::Trouble;
use replica::commit_log::CommitLog;
use std::path::Path;
use std::time::{Duration, Instant};

/// Time within which a node that follows its log must have gone on.
const PATIENCE: Duration = Duration::from_secs(60);
/// Time between two looks how far it is.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// A node of a later generation, whose state others take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Successor {
    /// The node.
    pub member: Member,
    /// Its generation.
    pub generation: u64,
    /// URLs of that generation's etcd; empty if an operator runs it.
    etcd_urls: Vec<String>,
}

impl Successor {
    /// A node of the latest generation, if that is later than this node's and an import has begun
    /// it; `None` otherwise.
    pub(crate) fn among(identity: &Identity, nodes: &[NodeStatus]) -> Option<Successor> {
        let own = identity.membership.generation;
        let latest = nodes.iter().max_by_key(|it| it.generation)?;
        (latest.generation > own && latest.replaces).then(|| Successor {
            member: Member {
                node: latest.node,
                address: latest.address.clone(),
            },
            generation: latest.generation,
            etcd_urls: latest.etcd_urls.clone(),
        })
    }
}

/// Makes a stopped node one of the successor's generation: its start fetches a copy of the
/// successor's state. Its own state and the data of its member of etcd are kept.
///
/// # Errors
/// A file cannot be written or renamed; the call can be repeated.
pub fn follow(dir: &Path, identity: &Identity, successor: &Successor) -> Result<(), Trouble> {
    let number = successor.generation;
    put_etcd_aside(dir, number)?;
    identity.note(|membership| {
        membership.generation = number;
        membership.begins = false;
        membership.imports = false;
        membership.replaces = true;
        membership.rejoins = Some(Rejoins::Generation { number });
        let first = &successor.member;
        membership.peers.retain(|it| it.node != first.node);
        membership.peers.insert(0, first.clone());
        if let Etcd::Managed(etcd) = &mut membership.etcd {
            etcd.others.clone_from(&successor.etcd_urls);
        }
    })
}

/// Waits until this node has executed its log to the end, and closes the log for a generation that
/// begins here: from then on no node appends.
///
/// # Errors
/// The node cannot follow its log to the end, nodes have different states, or the log cannot be
/// closed.
pub fn close(log: &EtcdLog, generation: u64) -> Result<(), Trouble> {
    runtime()?.block_on(async {
        reach(log, || {
            log.epoch().is_some() && log.health().trouble.is_none()
        })
        .await?;
        // Almost at the end before the log is closed, so that writes stop for a short time only.
        let head = log.members().head;
        reach(log, || log.executed() >= head).await?;
        if let Some(first) = log.differences().first() {
            let trouble = format!("nodes differ at position {}", first.position);
            return Err(refusal(&trouble));
        }
        let place = log.close(generation).map_err(Trouble::of)?;
        reach(log, || log.executed() >= place).await
    })
}

/// Waits for a condition as long as the node goes on.
async fn reach(log: &EtcdLog, is_reached: impl Fn() -> bool) -> Result<(), Trouble> {
    let (mut executed, mut until) = (log.executed(), Instant::now() + PATIENCE);
    while !is_reached() {
        if log.failure().is_some() || Instant::now() >= until {
            let trouble = log.health().trouble;
            let trouble = trouble.unwrap_or_else(|| format!("it stays at place {executed}"));
            return Err(refusal(&trouble));
        }
        if log.executed() > executed {
            (executed, until) = (log.executed(), Instant::now() + PATIENCE);
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
    Ok(())
}

/// The trouble of a node that cannot follow its log to the end.
fn refusal(trouble: &str) -> Trouble {
    Trouble::Refused(format!(
        "expected this node to follow the log of its cluster to the end, and it does not: \
         {trouble}; serve all nodes until `pando cluster status` calls them equal, stop this one, \
         and give the command again"
    ))
}
