//! A node's part in its cluster, as `cn=monitor` shows it.

use ::cluster::authority::node_name;
use ::cluster::etcd::Seen;
use ::cluster::identity::{Etcd, Identity};
use ::cluster::log::{ClusterView, EtcdLog, Member};
use ::cluster::overview::StateDigest;
use ::cluster::quorum::{Home, Quorum};
use ::cluster::voting::Voting;
use directory::{ClusterFacts, ClusterPart, NodeFacts};
use replica::commit_log::CommitLog;
use std::sync::{Arc, Weak};

/// Source of the facts. It does not keep the node's part in the cluster from ending.
pub struct Part {
    pub identity: Arc<Identity>,
    pub log: Weak<EtcdLog>,
    pub voting: Weak<Voting>,
}

impl ClusterPart for Part {
    fn facts(&self) -> Option<ClusterFacts> {
        let (log, voting) = (self.log.upgrade()?, self.voting.upgrade()?);
        let view = log.members();
        let members = voting.known().members;
        let quorum = Quorum::of_members(&members);
        let present = view.present();
        let home = match &self.identity.membership.etcd {
            Etcd::Managed(_) => Home::Nodes(present.len()),
            Etcd::External(_) => Home::Operator,
        };
        Some(ClusterFacts {
            id: self.identity.membership.cluster.to_string(),
            generation: self.identity.membership.generation,
            head: view.head,
            floor: view.floor,
            used_bytes: view.database.map(|it| it.used_bytes),
            quota_bytes: view.database.map(|it| it.quota_bytes),
            format_level: view.format_level,
            voters: quorum.voters as u64,
            voters_answering: quorum.answering as u64,
            quorum: quorum.needed() as u64,
            outlook: quorum.outlook(home),
            trouble: log.health().trouble,
            nodes: nodes(&view, &present, &members),
        })
    }
}

/// The nodes as they have reported; `members` are those of etcd.
fn nodes(view: &ClusterView, present: &[&Member], members: &[Seen]) -> Vec<NodeFacts> {
    let digest = |it: &&Member| {
        let (position, digest) = it.standing.unwrap_or_default().digest;
        (position, format!("{digest:032x}"))
    };
    let digests: Vec<(u64, String)> = present.iter().map(digest).collect();
    let digests: Vec<StateDigest<'_>> = digests
        .iter()
        .map(|(position, digest)| StateDigest {
            position: *position,
            digest,
        })
        .collect();
    let facts = present.iter().zip(&digests).map(|(it, digest)| {
        let standing = it.standing.unwrap_or_default();
        NodeFacts {
            id: it.id.to_string(),
            address: it.about.address.clone(),
            position: standing.position,
            lag: view.head.saturating_sub(standing.place),
            equality: digest.equality(&digests).to_string(),
            vote: vote(it, members).to_owned(),
            seen_s: it.since_report.map(|it| it.as_secs()),
            clock_offset_us: it.clock_offset_us,
        }
    });
    facts.collect()
}

/// A node's vote on the order of writes, in one word.
fn vote(node: &Member, members: &[Seen]) -> &'static str {
    let name = node_name(node.id);
    match members.iter().find(|it| it.name == name) {
        None => "none",
        Some(member) if member.is_learner => "learner",
        Some(_) => "voter",
    }
}
