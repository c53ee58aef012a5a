//! The entries of a cluster below `cn=monitor`.

use super::{Tree, below, number};
use crate::monitor::{ClusterFacts, NodeFacts};

/// Adds the cluster, and an entry below it for each node.
pub(super) fn put(tree: &mut Tree<'_>, facts: &ClusterFacts) {
    tree.put(&below("cn=Cluster"), "pandoMonitored", |entry| {
        entry.put("pandoCluster", [facts.id.as_str()]);
        for (attribute, value) in [
            ("pandoClusterGeneration", Some(facts.generation)),
            ("pandoClusterHead", Some(facts.head)),
            ("pandoClusterFloor", Some(facts.floor)),
            ("pandoClusterBytes", facts.used_bytes),
            ("pandoClusterBytesMax", facts.quota_bytes),
            ("pandoClusterVoters", Some(facts.voters)),
            ("pandoClusterVotersAnswering", Some(facts.voters_answering)),
            ("pandoClusterQuorum", Some(facts.quorum)),
            ("pandoClusterFormatLevel", facts.format_level.map(u64::from)),
        ] {
            if let Some(value) = value {
                number(entry, attribute, value);
            }
        }
        entry.put("pandoClusterOutlook", [facts.outlook.as_str()]);
        entry.put("pandoClusterTrouble", facts.trouble.as_deref());
    });
    for node in &facts.nodes {
        put_node(tree, node);
    }
}

fn put_node(tree: &mut Tree<'_>, node: &NodeFacts) {
    let name = below(&format!("cn={},cn=Cluster", node.id));
    tree.put(&name, "pandoMonitored", |entry| {
        entry.put("pandoNodeAddress", [node.address.as_str()]);
        number(entry, "pandoNodePosition", node.position);
        number(entry, "pandoNodeLag", node.lag);
        entry.put("pandoNodeEquality", [node.equality.as_str()]);
        entry.put("pandoNodeVote", [node.vote.as_str()]);
        if let Some(seen_s) = node.seen_s {
            number(entry, "pandoNodeSeen", seen_s);
        }
        let offset = node.clock_offset_us.map(|it| it.to_string());
        entry.put("pandoNodeClockOffset", offset);
    });
}
