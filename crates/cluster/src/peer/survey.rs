//! Asks several nodes for their states.

use super::{NodeStatus, PeerClient};
use crate::command::{now, runtime};
use crate::identity::{Identity, Member};
use crate::trouble::Trouble;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::timeout;

/// Time in which a node must answer.
const ANSWER_WAIT: Duration = Duration::from_secs(5);

/// A node with its answer to `GET /status`.
#[derive(Debug, Clone)]
pub struct Surveyed {
    /// The node.
    pub member: Member,
    /// Its state, or why it does not tell it.
    pub status: Result<NodeStatus, String>,
    /// Its clock less this machine's, in microseconds; 0 if it does not answer.
    pub clock_offset_us: i64,
}

/// Asks all `members` at the same time. The answers stand in the order of the members.
///
/// # Errors
/// The certificates of the identity cannot be used.
pub fn survey(identity: &Identity, members: &[Member]) -> Result<Vec<Surveyed>, Trouble> {
    runtime()?.block_on(async {
        let mut asked = JoinSet::new();
        for (number, member) in members.iter().enumerate() {
            let client = PeerClient::new(identity, member.address.clone())?;
            let member = member.clone();
            asked.spawn(async move { (number, ask(&client, member).await) });
        }
        let mut answers = asked.join_all().await;
        answers.sort_unstable_by_key(|(number, _)| *number);
        Ok(answers.into_iter().map(|(_, answer)| answer).collect())
    })
}

async fn ask(client: &PeerClient, member: Member) -> Surveyed {
    let asked = async {
        let mut link = client.connect().await?;
        let begun = now();
        let status: NodeStatus = link.get("/status").await?;
        // The node has read its clock about halfway between question and answer.
        let halfway = (begun + now()) / 2;
        let offset = status.clock_us as i64 - halfway.as_micros() as i64;
        Ok::<_, Trouble>((status, offset))
    };
    let (status, clock_offset_us) = match timeout(ANSWER_WAIT, asked).await {
        Ok(Ok((status, offset))) => (Ok(status), offset),
        Ok(Err(trouble)) => (Err(trouble.to_string()), 0),
        Err(_) => (Err(format!("no answer in {} s", ANSWER_WAIT.as_secs())), 0),
    };
    Surveyed {
        member,
        status,
        clock_offset_us,
    }
}
