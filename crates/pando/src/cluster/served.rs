//! A served node, as its service for other nodes and for commands sees it.

use super::ending::{Ending, Endings};
use ::cluster::departure::{Consent, Departures};
use ::cluster::identity::{Etcd, Identity, Member};
use ::cluster::log::{Closing, ClusterView, EtcdLog};
use ::cluster::peer::{
    ClosedBy, Fill, LeaveAnswer, LeaveRequest, LogStatus, NodeStatus, PeerNode, Reached,
    Registered, RemoveRequest, UpgradeAnswer, UpgradeRequest, Voter,
};
use ::cluster::voting::Voting;
use directory::{Clock, Directory, SystemClock};
use replica::commit_log::{CommitLog, NodeId};
use replica::level;
use std::io::PipeWriter;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Time for which records are kept for a node that copies the database.
const HELD: Duration = Duration::from_secs(3_600);
/// Part of the memory that a database may take to be read into it before it is copied.
const MEMORY_SHARE: u64 = 2;

/// A node that is served.
pub struct ServedNode {
    pub identity: Arc<Identity>,
    pub directory: Directory,
    pub log: Arc<EtcdLog>,
    pub voting: Arc<Voting>,
    /// Told when the node has left.
    pub endings: Arc<Endings>,
    /// Whether its data are in memory.
    pub is_volatile: bool,
}

impl ServedNode {
    fn departures(&self) -> Departures<'_> {
        Departures {
            identity: &self.identity,
            log: &self.log,
            voting: &self.voting,
        }
    }

    /// State of the log; `level` is that of the database, if it can be read.
    fn log_status(&self, view: &ClusterView, level: Option<u32>) -> LogStatus {
        let known = self.voting.known();
        let voters = known.members.iter().map(Voter::from);
        let is_silent = self.log.health().is_silent;
        LogStatus {
            floor: view.floor,
            fill: view.database.map(|it| Fill {
                used_bytes: it.used_bytes,
                quota_bytes: it.quota_bytes,
            }),
            format_level: level,
            format_agreed: view.format_level,
            format_max: level::highest(),
            voters: voters.collect(),
            closing: view.closing.as_ref().filter(|_| !is_silent).map(closed_by),
            waiting: known.waiting,
            registrations: view.members.iter().map(registered).collect(),
        }
    }
}

impl PeerNode for ServedNode {
    fn status(&self) -> NodeStatus {
        let membership = &self.identity.membership;
        let view = self.log.members();
        let own = view.members.iter().find(|it| it.id == membership.node);
        let standing = own.and_then(|it| it.standing).unwrap_or_default();
        let status = self.directory.status().ok();
        let differing = self.log.differences();
        let audit = status.as_ref().map(|it| &it.audit);
        let unaudited = audit.filter(|it| it.refuses).and_then(|it| {
            let trouble = it.trouble.as_ref()?;
            Some(format!(
                "no writes are taken, for they cannot be audited: {trouble}"
            ))
        });
        let trouble = self.log.health().trouble.or(unaudited).or_else(|| {
            let first = differing.first()?;
            Some(format!("nodes differ at position {}", first.position))
        });
        NodeStatus {
            node: membership.node,
            address: membership.address.clone(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            generation: membership.generation,
            replaces: membership.replaces,
            etcd_urls: self.etcd_urls(),
            head: view.head,
            place: standing.place,
            synced_place: standing.synced_place,
            position: status.as_ref().map_or(0, |it| it.position),
            digest_position: standing.digest.0,
            digest: format!("{:032x}", standing.digest.1),
            record_time_us: standing.time_us,
            clock_us: SystemClock.now_us(),
            trouble,
            volatile: self.is_volatile,
            members: self.members(),
            log: self.log_status(&view, status.map(|it| it.level)),
        }
    }

    fn when_reached(&self, position: u64, until: Instant, then: Reached) {
        self.directory.when_reached(position, until, then);
    }

    fn members(&self) -> Vec<Member> {
        let view = self.log.members();
        let own = self.identity.membership.own();
        let member = |it: &&::cluster::log::Member| {
            Some(Member {
                node: it.id,
                address: it.about.address.parse().ok()?,
            })
        };
        let present = view.present();
        let mut members: Vec<Member> = present.iter().filter_map(member).collect();
        // The log may not have told yet what it was told at the start.
        if view.members.iter().all(|it| it.id != own.node) {
            members.push(own);
        }
        members
    }

    fn removed(&self) -> Vec<NodeId> {
        let view = self.log.members();
        let removed = view.members.iter().filter(|it| it.is_removed);
        removed.map(|it| it.id).collect()
    }

    fn etcd_urls(&self) -> Vec<String> {
        match &self.identity.membership.etcd {
            Etcd::Managed(_) => self.log.endpoints(),
            Etcd::External(_) => Vec::new(),
        }
    }

    fn remove(&self, request: &RemoveRequest) -> Result<(), String> {
        let removed = self
            .departures()
            .remove(request.node, consent(request.lose_quorum));
        removed.map_err(|it| it.to_string())?;
        tracing::warn!(node = %request.node, "a node was removed from the cluster");
        Ok(())
    }

    fn leave(&self, request: &LeaveRequest) -> Result<LeaveAnswer, String> {
        let answer = self.departures().leave(consent(request.lose_quorum));
        let answer = answer.map_err(|it| it.to_string())?;
        if answer.left {
            tracing::warn!("this node has left the cluster, and ends");
            self.endings.tell(Ending::Left);
        }
        Ok(answer)
    }

    fn upgrade(&self, request: &UpgradeRequest) -> Result<UpgradeAnswer, String> {
        let status = self.directory.status().map_err(|it| it.to_string())?;
        let level = status.level;
        if let Some(to) = request.to {
            return Ok(UpgradeAnswer { level, to });
        }
        // A former request may not have been carried out yet.
        let agreed = self.log.agreed_level().filter(|it| *it > level);
        let to = match agreed {
            Some(to) => to,
            None => {
                let raised = self.log.raise_format(level::highest());
                raised.map_err(|it| it.to_string())?
            }
        };
        tracing::info!(
            from = level,
            to,
            "the format level is raised by an operator"
        );
        Ok(UpgradeAnswer { level, to })
    }

    fn copy_bytes_max(&self) -> Result<u64, String> {
        self.directory.bytes().map_err(|it| it.to_string())
    }

    fn write_copy(&self, output: PipeWriter) -> Result<(), String> {
        // What this node has executed is in the copy: the records behind it are kept until the new
        // node has them.
        let own = self.identity.membership.node;
        let place = self.status().place;
        let held = self.log.hold(own, place, HELD);
        held.map_err(|it| it.to_string())?;
        let ended = AtomicBool::new(false);
        let copied = std::thread::scope(|scope| {
            // The copy reads page by page, which takes long where they are not in memory.
            scope.spawn(|| {
                let bytes_max = server::memory_bytes() / MEMORY_SHARE;
                let wanted = || !ended.load(Ordering::Relaxed);
                if let Err(error) = self.directory.warm_up(bytes_max, &wanted) {
                    tracing::warn!(%error, "the database is not read into memory for its copy");
                }
            });
            let copied = self.directory.copy_to(output.as_fd());
            ended.store(true, Ordering::Relaxed);
            copied
        });
        copied.map_err(|it| it.to_string())
    }
}

fn closed_by(closing: &Closing) -> ClosedBy {
    ClosedBy {
        node: closing.node,
        address: closing.address.clone(),
        generation: closing.generation,
    }
}

fn registered(member: &::cluster::log::Member) -> Registered {
    Registered {
        node: member.id,
        epoch: member.epoch,
        process: member.process.clone(),
    }
}

fn consent(lose_quorum: bool) -> Consent {
    match lose_quorum {
        true => Consent::LoseQuorum,
        false => Consent::KeepQuorum,
    }
}
