//! A node's departure: it leaves by itself, or another node removes it after it has died.
//!
//! Either way its registration is marked, so that it appends nothing more and never registers
//! again; its hold on trimming ends; and the nodes give its vote to another one (`voting.rs`).

use crate::address::Address;
use crate::command::runtime;
use crate::etcd::{Candidate, Seen, voters};
use crate::identity::{Etcd, Identity};
use crate::log::{ClusterView, EtcdLog, Member};
use crate::peer::{LeaveAnswer, NodeStatus, PeerClient};
use crate::trouble::Trouble;
use crate::voting::{Known, Voting, candidate, observe};
use replica::commit_log::NodeId;

/// A served node's view of the cluster, for departures.
pub struct Departures<'d> {
    /// The node that is asked.
    pub identity: &'d Identity,
    /// Its log.
    pub log: &'d EtcdLog,
    /// Its care for the members of etcd.
    pub voting: &'d Voting,
}

/// Consent of an operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Consent {
    /// A departure must not cost the quorum.
    KeepQuorum,
    /// A departure may stop writes until other nodes are back.
    LoseQuorum,
}

impl Departures<'_> {
    /// Removes a node that does not answer.
    ///
    /// # Errors
    /// The node answers, is this one, or is none of the cluster; its removal would cost the quorum;
    /// etcd cannot be reached.
    pub fn remove(&self, node: NodeId, consent: Consent) -> Result<(), Trouble> {
        let own = &self.identity.membership;
        if node == own.node {
            return Err(Trouble::Refused(format!(
                "node {node} is served at {}: give it `pando cluster leave DIR`",
                own.address
            )));
        }
        let view = self.log.members();
        let found = view.present().into_iter().find(|it| it.id == node);
        let found = found.ok_or_else(|| {
            Trouble::Refused(format!(
                "expected a node of this cluster, got {node}, which is none or was removed before"
            ))
        })?;
        self.require_silence(found)?;
        require_durable(&view, node)?;
        self.require_quorum(&view, node, consent)?;
        self.log.remove(node).map_err(Trouble::of)
    }

    /// Begins or goes on with the departure of this node.
    ///
    /// # Errors
    /// It is the only node, or its departure would cost the quorum; etcd cannot be reached.
    pub fn leave(&self, consent: Consent) -> Result<LeaveAnswer, Trouble> {
        let own = self.identity.membership.node;
        let view = self.log.members();
        let has_left = view.members.iter().any(|it| it.id == own && it.is_removed);
        if !has_left {
            if view.present().iter().all(|it| it.id == own) {
                return Err(Trouble::Refused(
                    "this is the only node of the cluster, and nobody would have the directory: \
                     let another one join first, or stop this one and delete its folder"
                        .to_owned(),
                ));
            }
            require_durable(&view, own)?;
            self.require_quorum(&view, own, consent)?;
            self.log.remove(own).map_err(Trouble::of)?;
        }
        let known = self.voting.known();
        let waiting = match known.is_without_own {
            true => None,
            false => Some(
                known
                    .waiting
                    .unwrap_or_else(|| "another node takes over the vote of this one".to_owned()),
            ),
        };
        if waiting.is_none() {
            self.identity.note(|it| it.left = true)?;
        }
        Ok(LeaveAnswer {
            left: waiting.is_none(),
            waiting,
        })
    }

    /// Refuses if a node answers.
    fn require_silence(&self, node: &Member) -> Result<(), Trouble> {
        let Ok(address) = node.about.address.parse::<Address>() else {
            return Ok(());
        };
        let client = PeerClient::new(self.identity, address.clone())?;
        let answer = runtime()?.block_on(async {
            let mut link = client.connect().await?;
            link.get::<NodeStatus>("/status").await
        });
        match answer {
            Ok(status) if status.node == node.id => Err(Trouble::Refused(format!(
                "node {} is served at {address}: give it `pando cluster leave DIR` on its machine, \
                 or stop it first",
                node.id
            ))),
            _ => Ok(()),
        }
    }

    /// Refuses a departure after which too few voters would answer, unless an operator consents.
    fn require_quorum(
        &self,
        view: &ClusterView,
        node: NodeId,
        consent: Consent,
    ) -> Result<(), Trouble> {
        let is_external = matches!(self.identity.membership.etcd, Etcd::External(_));
        if is_external || consent == Consent::LoseQuorum {
            return Ok(());
        }
        // Who answered some seconds ago may have died since.
        let looked = runtime()?.block_on(observe(self.identity, &self.log.endpoints()));
        let mut known = self.voting.known();
        if let Some(members) = looked.members {
            known.members = members;
        }
        let left = Left::after(view, node, &known);
        if left.answering > left.voters / 2 {
            return Ok(());
        }
        Err(Trouble::Refused(format!(
            "without node {node}, {} of {} voters of etcd would answer, and no node could write: \
             start the other nodes or remove dead ones first, or add --lose-quorum",
            left.answering, left.voters
        )))
    }
}

/// Refuses a departure after which all nodes would have their data in memory.
fn require_durable(view: &ClusterView, node: NodeId) -> Result<(), Trouble> {
    let mut staying = view.present().into_iter().filter(|it| it.id != node);
    match staying.any(|it| !it.about.volatile) {
        true => Ok(()),
        false => Err(Trouble::Refused(format!(
            "without node {node}, no node would keep the directory on a disk: take \
             cluster.volatile out of pando.toml of another one first, and serve it anew"
        ))),
    }
}

/// The voters after a departure.
#[derive(Debug, PartialEq, Eq)]
struct Left {
    voters: usize,
    /// Those that answer, or are of nodes that run and will have a vote.
    answering: usize,
}

impl Left {
    /// The voters that are wanted after the departure of a node.
    fn after(view: &ClusterView, node: NodeId, known: &Known) -> Left {
        let staying: Vec<&Member> = view
            .present()
            .into_iter()
            .filter(|it| it.id != node)
            .collect();
        let candidates: Vec<Candidate> = staying.iter().filter_map(|it| candidate(it)).collect();
        let wanted = voters::wanted(&candidates);
        let is_alive = |candidate: &Candidate| {
            let mut nodes = staying.iter();
            nodes.any(|it| it.is_alive && crate::authority::node_name(it.id) == candidate.name)
        };
        let answers = |candidate: &&Candidate| {
            let of = |it: &&Seen| voters::is_of(it, candidate);
            match known.members.iter().find(of) {
                Some(member) => member.answers,
                None => is_alive(candidate),
            }
        };
        Left {
            voters: wanted.len(),
            answering: wanted.iter().filter(answers).count(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::NodeAbout;

    fn member(number: u8) -> Member {
        let address = format!("h{number}:8390");
        Member {
            id: NodeId([number; 16]),
            about: NodeAbout {
                etcd_peer_url: format!("https://h{number}:8392"),
                address,
                ..NodeAbout::default()
            },
            joined: u64::from(number),
            epoch: 1,
            process: String::new(),
            is_removed: false,
            is_alive: true,
            standing: None,
            since_report: None,
            clock_offset_us: None,
        }
    }

    fn seen(number: u8, answers: bool) -> Seen {
        Seen {
            id: u64::from(number),
            name: crate::authority::node_name(NodeId([number; 16])),
            peer_url: format!("https://h{number}:8392"),
            client_url: None,
            is_learner: false,
            answers,
        }
    }

    /// The voters left of nodes 1 to `nodes` with these members when node 1 departs.
    fn left(nodes: u8, members: &[Seen]) -> Left {
        let view = ClusterView {
            members: (1..=nodes).map(member).collect(),
            ..ClusterView::default()
        };
        let known = Known {
            members: members.to_vec(),
            ..Known::default()
        };
        Left::after(&view, NodeId([1; 16]), &known)
    }

    #[test]
    fn the_voters_that_stay_must_answer() {
        let of = |voters, answering| Left { voters, answering };
        let all = [seen(1, true), seen(2, true), seen(3, true)];
        assert_eq!(left(3, &all), of(1, 1));
        assert_eq!(left(4, &all), of(3, 3), "the fourth gets a vote");
        let second_is_down = [seen(1, true), seen(2, false), seen(3, true)];
        assert_eq!(left(3, &second_is_down), of(1, 0));
        assert_eq!(left(4, &second_is_down), of(3, 2));
        assert_eq!(left(2, &[seen(1, true)]), of(1, 1));
        assert_eq!(left(1, &[seen(1, true)]), of(0, 0));
    }
}
