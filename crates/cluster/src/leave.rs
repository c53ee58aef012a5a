//! An operator's side of a departure: the node itself, or a living one, is asked to take it out.

use crate::command::runtime;
use crate::identity::{Identity, Member};
use crate::peer::{
    LeaveAnswer, LeaveRequest, Link, NodeStatus, PeerClient, RemoveRequest, Removed,
};
use crate::trouble::Trouble;
use std::path::Path;
use std::time::{Duration, Instant};

/// Time for handing a vote over: etcd takes a change of members each five seconds.
const HANDOVER: Duration = Duration::from_secs(120);
/// Time between two questions how far that is.
const ASK_EVERY: Duration = Duration::from_millis(300);

/// Departure of a node, as an operator asks for it.
#[derive(Debug, Clone)]
pub struct LeaveOptions<'o> {
    /// Folder of the node.
    pub dir: &'o Path,
    /// Whether it leaves even if that stops writes until other nodes are back.
    pub lose_quorum: bool,
}

/// Takes the node of a folder out of its cluster. A served node hands its vote over, which takes
/// some seconds: `tell` gets what it waits for. A stopped one is taken out by another node.
///
/// # Errors
/// The node left before, no node answers, or the asked one refuses.
pub fn leave(
    identity: &Identity,
    options: &LeaveOptions<'_>,
    tell: &dyn Fn(&str),
) -> Result<(), Trouble> {
    if identity.membership.left {
        return Err(Trouble::Refused(format!(
            "{} has left its cluster before; the folder can be deleted",
            options.dir.display()
        )));
    }
    runtime()?.block_on(async {
        match connect(identity, identity.membership.own()).await {
            Ok(own) => leave_served(own, options, tell).await,
            Err(_) => leave_stopped(identity, options).await,
        }
    })
}

/// Asks the served node itself until it has left.
async fn leave_served(
    mut own: Link,
    it: &LeaveOptions<'_>,
    tell: &dyn Fn(&str),
) -> Result<(), Trouble> {
    let request = LeaveRequest {
        lose_quorum: it.lose_quorum,
    };
    let until = Instant::now() + HANDOVER;
    let mut told = None;
    loop {
        let answer: Result<LeaveAnswer, Trouble> = own.post("/leave", &request).await;
        let waiting = match answer {
            Ok(LeaveAnswer { left: true, .. }) => return Ok(()),
            Ok(answer) => answer.waiting,
            // The node ends when it has left.
            Err(_) if has_left(it.dir) => return Ok(()),
            Err(error) => return Err(error),
        };
        if waiting.is_some() && waiting != told {
            tell(waiting.as_deref().unwrap_or_default());
            told = waiting;
        }
        if Instant::now() >= until {
            return Err(Trouble::Refused(format!(
                "{}: the node writes no more, but its vote was not handed over within {} seconds: \
                 {}; give the command again, or stop the node and give it then",
                it.dir.display(),
                HANDOVER.as_secs(),
                told.unwrap_or_default()
            )));
        }
        tokio::time::sleep(ASK_EVERY).await;
    }
}

fn has_left(dir: &Path) -> bool {
    matches!(Identity::load(dir), Ok(Some(it)) if it.membership.left)
}

/// Asks another node to take the stopped one out.
async fn leave_stopped(identity: &Identity, it: &LeaveOptions<'_>) -> Result<(), Trouble> {
    let request = RemoveRequest {
        node: identity.membership.node,
        lose_quorum: it.lose_quorum,
    };
    let mut failure = Trouble::Refused(format!(
        "{}: the node is not served, and knows no other node that could take it out: start it with \
         `pando serve {}`, then give the command again",
        it.dir.display(),
        it.dir.display()
    ));
    for peer in &identity.membership.peers {
        match connect(identity, peer.clone()).await {
            Ok(mut peer) => {
                let _: Removed = peer.post("/remove", &request).await?;
                return identity.note(|membership| membership.left = true);
            }
            Err(error) => failure = error,
        }
    }
    Err(failure)
}

/// Takes a dead node out of a cluster, by the served node with this identity. `text` is the dead
/// node's address, or the first digits of its identifier. Returns the node.
///
/// # Errors
/// No node or several are meant, the asked node does not answer or refuses.
pub fn remove(identity: &Identity, text: &str, lose_quorum: bool) -> Result<Member, Trouble> {
    runtime()?.block_on(async {
        let mut own = connect(identity, identity.membership.own()).await?;
        let status: NodeStatus = own.get("/status").await?;
        let member = find(&status.members, text)?.clone();
        let request = RemoveRequest {
            node: member.node,
            lose_quorum,
        };
        let _: Removed = own.post("/remove", &request).await?;
        Ok(member)
    })
}

/// The one node that is meant by an address or by the first digits of an identifier.
fn find<'m>(members: &'m [Member], text: &str) -> Result<&'m Member, Trouble> {
    let is_meant = |it: &&Member| {
        it.address.to_string() == text || it.node.to_string().starts_with(&text.to_lowercase())
    };
    let mut meant = members.iter().filter(is_meant);
    match (meant.next(), meant.next()) {
        (Some(member), None) if !text.is_empty() => Ok(member),
        (first, _) => {
            let how_many = if first.is_some() { "several" } else { "none" };
            let known = members.iter();
            let known = known.map(|it| format!("{:.8} at {}", it.node.to_string(), it.address));
            let known = known.collect::<Vec<_>>().join(", ");
            Err(Trouble::Refused(format!(
                "{text}: expected the address of a node or the first digits of its identifier, \
                 which {how_many} of these begins with: {known}"
            )))
        }
    }
}

async fn connect(identity: &Identity, member: Member) -> Result<Link, Trouble> {
    PeerClient::new(identity, member.address)?.connect().await
}

#[cfg(test)]
mod tests {
    use super::*;
    use replica::commit_log::NodeId;

    #[test]
    fn a_node_is_meant_by_its_address_or_its_first_digits() {
        let member = |number: u8| Member {
            node: NodeId([number; 16]),
            address: format!("h{number}:8390").parse().unwrap(),
        };
        let members = [member(0xab), member(0xac), member(0x1f)];
        let meant = |text: &str| find(&members, text).map(|it| it.node.0[0]);
        assert_eq!(meant("h172:8390").unwrap(), 0xac);
        assert_eq!(meant("ABAB").unwrap(), 0xab);
        assert_eq!(meant("1").unwrap(), 0x1f);
        let failure = |text| meant(text).unwrap_err().to_string();
        assert!(failure("a").contains("which several of these begins with"));
        assert!(failure("h9:8390").contains("which none of these begins with: abababab at h171"));
        assert!(failure("").contains("several"));
    }
}
