//! The other nodes of a served node's cluster, as its directory asks them about writes.

use ::cluster::Trouble;
use ::cluster::identity::{Identity, Member};
use ::cluster::log::EtcdLog;
use ::cluster::witnesses::{Answer, Question, Witnesses as Others};
use directory::{Testimony, WitnessQuestion, Witnesses};
use std::sync::{Arc, Weak};

/// The other nodes.
pub struct OtherNodes(Others);

impl OtherNodes {
    /// Starts the thread that asks them. It does not keep the log from ending.
    pub fn start(identity: &Arc<Identity>, log: Weak<EtcdLog>) -> Result<OtherNodes, Trouble> {
        let own = Arc::clone(identity);
        let others = Box::new(move || others(&own, &log));
        Others::start(Arc::clone(identity), others).map(OtherNodes)
    }
}

impl Witnesses for OtherNodes {
    fn ask(&self, question: WitnessQuestion) {
        let WitnessQuestion {
            position,
            all,
            until,
            then,
        } = question;
        let told = move |Answer { executed, others }| then(Testimony { executed, others });
        self.0.ask(Question {
            position,
            count: (!all).then_some(1),
            until,
            then: Box::new(told),
        });
    }
}

/// The present nodes but this one: those that the log knows, and those that this node knew when it
/// was last served, as long as the log has told nothing of them.
fn others(identity: &Identity, log: &Weak<EtcdLog>) -> Vec<Member> {
    let membership = &identity.membership;
    let Some(log) = log.upgrade() else {
        return membership.peers.clone();
    };
    let view = log.members();
    let mut others = Vec::new();
    for member in view.present() {
        let address = member.about.address.parse().ok();
        if let Some(address) = address.filter(|_| member.id != membership.node) {
            let node = member.id;
            others.push(Member { node, address });
        }
    }
    for peer in &membership.peers {
        if view.members.iter().all(|it| it.id != peer.node) {
            others.push(peer.clone());
        }
    }
    others
}
