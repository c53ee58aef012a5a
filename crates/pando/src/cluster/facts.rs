//! A node's part in its cluster, as `cn=monitor` shows it.

use ::cluster::authority::node_name;
use ::cluster::etcd::Seen;
use ::cluster::identity::{Etcd, Identity};
use ::cluster::log::{ClusterView, EtcdLog, Member};
use ::cluster::overview::StateDigest;
use ::cluster::quorum::{Home, Quorum};
use ::cluster::voting::Voting;
use directory::ShownEntry;
use replica::commit_log::CommitLog;
use std::sync::{Arc, Weak};

/// Source of the facts. It does not keep the node's part in the cluster from ending.
pub struct Part {
    pub identity: Arc<Identity>,
    pub log: Weak<EtcdLog>,
    pub voting: Weak<Voting>,
}

impl Part {
    /// The entries, superiors first; none while the node ends.
    pub fn entries(&self) -> Vec<ShownEntry> {
        let (Some(log), Some(voting)) = (self.log.upgrade(), self.voting.upgrade()) else {
            return Vec::new();
        };
        let view = log.members();
        let members = voting.known().members;
        let mut cluster = self.cluster(&view, &members);
        if let Some(trouble) = log.health().trouble {
            cluster.values.push(("pandoClusterTrouble", trouble));
        }
        let mut entries = vec![cluster];
        entries.extend(nodes(&view, &members));
        entries
    }

    /// The entry of the cluster; `members` are those of etcd.
    fn cluster(&self, view: &ClusterView, members: &[Seen]) -> ShownEntry {
        let membership = &self.identity.membership;
        let quorum = Quorum::of_members(members);
        let home = match &membership.etcd {
            Etcd::Managed(_) => Home::Nodes(view.present().len()),
            Etcd::External(_) => Home::Operator,
        };
        let mut values = vec![
            ("pandoCluster", membership.cluster.to_string()),
            ("pandoClusterGeneration", membership.generation.to_string()),
            ("pandoClusterHead", view.head.to_string()),
            ("pandoClusterFloor", view.floor.to_string()),
            ("pandoClusterVoters", quorum.voters.to_string()),
            ("pandoClusterVotersAnswering", quorum.answering.to_string()),
            ("pandoClusterQuorum", quorum.needed().to_string()),
            ("pandoClusterOutlook", quorum.outlook(home)),
        ];
        if let Some(database) = view.database {
            values.push(("pandoClusterBytes", database.used_bytes.to_string()));
            values.push(("pandoClusterBytesMax", database.quota_bytes.to_string()));
        }
        let own = view.members.iter().find(|it| it.id == membership.node);
        let level = own
            .and_then(|it| it.standing)
            .map(|it| it.level.to_string());
        values.extend(level.map(|it| ("pandoClusterFormatLevel", it)));
        ShownEntry {
            name: "cn=Cluster".to_owned(),
            values,
        }
    }
}

/// An entry for each node, in the order of joining; `members` are those of etcd.
fn nodes(view: &ClusterView, members: &[Seen]) -> Vec<ShownEntry> {
    let present = view.present();
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
    let entries = present.iter().zip(&digests).map(|(it, digest)| {
        let standing = it.standing.unwrap_or_default();
        let lag = view.head.saturating_sub(standing.place);
        let mut values = vec![
            ("pandoNodeAddress", it.about.address.clone()),
            ("pandoNodePosition", standing.position.to_string()),
            ("pandoNodeLag", lag.to_string()),
            ("pandoNodeEquality", digest.equality(&digests).to_string()),
            ("pandoNodeVote", vote(it, members).to_owned()),
            ("pandoNodeFormatLevel", it.about.format_max.to_string()),
        ];
        let seen_s = it.since_report.map(|it| it.as_secs().to_string());
        values.extend(seen_s.map(|it| ("pandoNodeSeen", it)));
        let offset = it.clock_offset_us.map(|it| it.to_string());
        values.extend(offset.map(|it| ("pandoNodeClockOffset", it)));
        ShownEntry {
            name: format!("cn={},cn=Cluster", it.id),
            values,
        }
    });
    entries.collect()
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
