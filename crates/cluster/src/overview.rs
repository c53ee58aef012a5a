//! The state of all nodes of a cluster, as one of them is told by the others.

use crate::authority::node_name;
use crate::identity::{Etcd, Identity, Member};
use crate::peer::{NodeStatus, Surveyed, Voter, survey};
use crate::quorum::{Home, Quorum};
use crate::trouble::Trouble;
use std::collections::BTreeMap;
use std::fmt;

/// All nodes, this one first.
#[derive(Debug, Clone)]
pub struct Overview {
    /// The nodes.
    pub nodes: Vec<Surveyed>,
}

/// How far a node is behind the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lag {
    /// Places of the log that the node has not executed, an upper bound of the records.
    pub records: u64,
    /// Time between its last executed record and the last one that any node has executed, in
    /// microseconds.
    pub us: u64,
}

/// How a node's digest compares with the others'.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Equality {
    /// Equal to that of most nodes at the same position.
    Equal,
    /// Others tell digests of a later position only.
    Behind,
    /// Another one than most nodes have at the same position.
    Different,
}

/// Digest of a node's state at a position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StateDigest<'d> {
    /// The position.
    pub position: u64,
    /// The digest, in hexadecimal digits.
    pub digest: &'d str,
}

impl<'d> StateDigest<'d> {
    fn of(status: &'d NodeStatus) -> StateDigest<'d> {
        StateDigest {
            position: status.digest_position,
            digest: &status.digest,
        }
    }

    /// How this digest compares with those of all nodes, itself among them.
    pub fn equality(&self, all: &[StateDigest<'_>]) -> Equality {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for other in all.iter().filter(|it| it.position == self.position) {
            *counts.entry(other.digest).or_default() += 1;
        }
        let own = counts.get(self.digest).copied().unwrap_or(0);
        let counted: usize = counts.values().sum();
        if counts.len() > 1 && own * 2 <= counted {
            return Equality::Different;
        }
        match all.iter().any(|it| it.position > self.position) {
            true => Equality::Behind,
            false => Equality::Equal,
        }
    }
}

impl fmt::Display for Equality {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Equality::Equal => "equal",
            Equality::Behind => "behind",
            Equality::Different => "different",
        })
    }
}

impl Overview {
    /// Asks this node, then all nodes that it knows.
    ///
    /// # Errors
    /// The certificates of the identity cannot be used.
    pub fn look(identity: &Identity) -> Result<Overview, Trouble> {
        let membership = &identity.membership;
        let mut nodes = survey(identity, &[membership.own()])?;
        // The file may lack nodes that joined later.
        let known = match nodes.first().map(|own| &own.status) {
            Some(Ok(status)) => &status.members,
            _ => &membership.peers,
        };
        let others = known.iter().filter(|it| it.node != membership.node);
        let mut others: Vec<Member> = others.cloned().collect();
        others.sort_by(|a, b| a.address.cmp(&b.address));
        nodes.append(&mut survey(identity, &others)?);
        Ok(Overview { nodes })
    }

    /// The node whose view of the log is told: this one, or another one if this one does not
    /// answer; `None` if none does.
    pub fn teller(&self) -> Option<&NodeStatus> {
        self.told().next()
    }

    /// The voters of etcd.
    pub fn quorum(&self) -> Quorum {
        let voters = self.teller().map(|it| &*it.log.voters);
        Quorum::of(voters.unwrap_or_default())
    }

    /// Says what the next failure would cost, in one line; `identity` is that of this node.
    pub fn outlook(&self, identity: &Identity) -> String {
        self.quorum().outlook(match &identity.membership.etcd {
            Etcd::Managed(_) => Home::Nodes(self.nodes.len()),
            Etcd::External(_) => Home::Operator,
        })
    }

    /// Address of the node that runs a member of etcd; for an operator's, its URL or name.
    pub fn place_of(&self, voter: &Voter) -> String {
        let mut nodes = self.nodes.iter();
        let node = nodes.find(|it| node_name(it.member.node) == voter.name);
        match (node, &voter.url) {
            (Some(node), _) => node.member.address.to_string(),
            (None, Some(url)) => url.clone(),
            (None, None) => voter.name.clone(),
        }
    }

    /// How far a node is behind.
    pub fn lag(&self, of: &NodeStatus) -> Lag {
        let head = self.told().map(|it| it.head.max(it.place)).max();
        let time = self.told().map(|it| it.record_time_us).max();
        let records = head.unwrap_or(0).saturating_sub(of.place);
        let us = time.unwrap_or(0).saturating_sub(of.record_time_us);
        Lag { records, us }
    }

    /// How a node's digest compares with the others'. Without a majority among those that tell it,
    /// all are different.
    pub fn equality(&self, of: &NodeStatus) -> Equality {
        let all: Vec<StateDigest<'_>> = self.told().map(StateDigest::of).collect();
        StateDigest::of(of).equality(&all)
    }

    /// The states of the nodes that answered.
    fn told(&self) -> impl Iterator<Item = &NodeStatus> {
        self.nodes.iter().filter_map(|it| it.status.as_ref().ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peer::LogStatus;
    use replica::commit_log::NodeId;

    /// A node that tells a digest at a position.
    fn node(number: u8, digest_position: u64, digest: &str) -> NodeStatus {
        let address: crate::address::Address = format!("node{number}:8390").parse().unwrap();
        NodeStatus {
            node: NodeId([number; 16]),
            address,
            version: String::new(),
            generation: 1,
            replaces: false,
            etcd_urls: Vec::new(),
            head: 100,
            place: 100 - u64::from(number),
            synced_place: 0,
            position: digest_position,
            digest_position,
            digest: digest.to_owned(),
            record_time_us: 1_000_000 - u64::from(number),
            clock_us: 0,
            volatile: false,
            trouble: None,
            members: Vec::new(),
            log: LogStatus::default(),
        }
    }

    fn overview(told: &[NodeStatus]) -> Overview {
        let seen = told.iter().map(|it| Surveyed {
            member: Member {
                node: it.node,
                address: it.address.clone(),
            },
            status: Ok(it.clone()),
            clock_offset_us: 0,
        });
        Overview {
            nodes: seen.collect(),
        }
    }

    fn equalities(told: &[NodeStatus]) -> Vec<Equality> {
        let overview = overview(told);
        told.iter().map(|it| overview.equality(it)).collect()
    }

    #[test]
    fn the_minority_is_different_and_without_a_majority_all_are() {
        use Equality::{Behind, Different, Equal};
        let (a, b) = (node(0, 1_024, "a"), node(1, 1_024, "a"));
        assert_eq!(equalities(&[a.clone(), b.clone()]), [Equal, Equal]);
        let c = node(2, 1_024, "c");
        assert_eq!(
            equalities(&[a.clone(), b.clone(), c.clone()]),
            [Equal, Equal, Different]
        );
        assert_eq!(equalities(&[a.clone(), c]), [Different, Different]);
        let behind = node(2, 512, "x");
        assert_eq!(equalities(&[a, b, behind]), [Equal, Equal, Behind]);
    }

    #[test]
    fn lag_is_measured_from_the_furthest_that_is_known() {
        let told = [node(0, 0, ""), node(3, 0, "")];
        let lag = overview(&told).lag(&told[1]);
        assert_eq!(lag, Lag { records: 3, us: 3 });
        assert_eq!(overview(&told).lag(&told[0]).records, 0);
    }
}
