//! Whether nodes agree: on the state that they have executed, and on the time.

use super::{Members, Node};
use replica::commit_log::NodeId;
use std::collections::BTreeMap;
use std::time::Duration;

/// States of nodes that should be equal and are not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The position.
    pub position: u64,
    /// What each node that reported this position has there.
    pub digests: Vec<NodeDigest>,
}

/// Digest of a node's state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeDigest {
    /// The node.
    pub node: NodeId,
    /// The digest.
    pub digest: u128,
}

/// A comparison of the states of all nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::log) enum Equality {
    /// This node has the state that most nodes have, or no difference is known.
    Equal,
    /// Most nodes have another state than this node.
    Minority {
        /// Position of the last comparison.
        position: u64,
    },
    /// States differ, and none is that of most nodes.
    Undecided {
        /// Position of the last comparison.
        position: u64,
    },
}

impl Members {
    /// Positions at which nodes reported different states, ascending.
    pub(in crate::log) fn differences(&self) -> Vec<Difference> {
        let mut by_position: BTreeMap<u64, Vec<NodeDigest>> = BTreeMap::new();
        for (node, it) in self.nodes.iter().filter(|it| !it.1.registration.removed) {
            for (position, digest) in &it.digests {
                let (node, digest) = (*node, *digest);
                let reported = by_position.entry(*position).or_default();
                reported.push(NodeDigest { node, digest });
            }
        }
        let differ = |it: &Vec<NodeDigest>| it.iter().any(|one| one.digest != it[0].digest);
        let different = by_position.into_iter().filter(|(_, it)| differ(it));
        different
            .map(|(position, digests)| Difference { position, digests })
            .collect()
    }

    /// Compares the state of `own` with those of other nodes at the last position at which states
    /// differ. Nodes seen within `alive_for` have a say, and those whose states are known.
    pub(in crate::log) fn equality(&self, own: NodeId, alive_for: Duration) -> Equality {
        let Some(Difference { position, digests }) = self.differences().pop() else {
            return Equality::Equal;
        };
        let is_known = |id: &NodeId| digests.iter().any(|it| it.node == *id);
        let has_say = |(id, node): &(&NodeId, &Node)| is_known(id) || node.is_within(alive_for);
        let count = self.nodes.iter().filter(has_say).count();
        let same = |digest| digests.iter().filter(|it| it.digest == digest).count();
        let Some(most) = digests.iter().find(|it| same(it.digest) * 2 > count) else {
            return Equality::Undecided { position };
        };
        match digests.iter().find(|it| it.node == own) {
            Some(it) if it.digest != most.digest => Equality::Minority { position },
            _ => Equality::Equal,
        }
    }

    /// The clocks of most other nodes seen within `alive_for`, less that of `own`, in microseconds:
    /// the median, of two the smaller distance. `None` while no other clock is known.
    pub(in crate::log) fn clock_offset_us(&self, own: NodeId, alive_for: Duration) -> Option<i64> {
        let others = self.nodes.iter().filter(|it| *it.0 != own);
        let alive = others.filter(|it| it.1.is_within(alive_for));
        let mut offsets: Vec<i64> = alive.filter_map(|it| it.1.clock_offset_us).collect();
        offsets.sort_unstable();
        let upper = offsets.get(offsets.len() / 2).copied()?;
        let lower = offsets[(offsets.len() - 1) / 2];
        Some(std::cmp::min_by_key(lower, upper, |it| it.unsigned_abs()))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{SOON, id, register, report};
    use super::*;

    #[test]
    fn a_node_with_a_state_of_its_own_is_in_the_minority() {
        let mut members = Members::default();
        for (number, digest) in [(1, 7), (2, 8)] {
            register(&mut members, number, 1);
            report(&mut members, number, 1, digest);
        }
        let position = 1_024;
        let of = |members: &Members, number| members.equality(id(number), SOON);
        // Neither of two is right.
        assert_eq!(of(&members, 1), Equality::Undecided { position });
        // The third one has a say, and has not spoken.
        register(&mut members, 3, 1);
        assert_eq!(of(&members, 2), Equality::Undecided { position });
        report(&mut members, 3, 1, 7);
        assert_eq!(of(&members, 1), Equality::Equal);
        assert_eq!(of(&members, 2), Equality::Minority { position });
        // A fourth one that is not there yet does not make two of three a half.
        register(&mut members, 4, 1);
        assert_eq!(of(&members, 2), Equality::Undecided { position });
        assert_eq!(
            members.equality(id(2), Duration::ZERO),
            Equality::Minority { position }
        );
    }

    #[test]
    fn the_clocks_of_most_others_count() {
        let mut members = Members::default();
        let offset = |members: &Members| members.clock_offset_us(id(1), SOON);
        register(&mut members, 1, 1);
        assert_eq!(offset(&members), None);
        for (number, expected) in [(2, 9_000), (3, -2_000), (4, -2_000)] {
            register(&mut members, number, 1);
            let node = members.nodes.get_mut(&id(number));
            node.unwrap().clock_offset_us = Some(match number {
                2 => 9_000,
                3 => -2_000,
                _ => -4_000,
            });
            assert_eq!(offset(&members), Some(expected), "with node {number}");
        }
        assert_eq!(members.clock_offset_us(id(1), Duration::ZERO), None);
    }
}
