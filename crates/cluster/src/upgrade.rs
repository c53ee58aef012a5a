//! Raising the format level of a cluster, as an operator asks for it.

use crate::command::runtime;
use crate::identity::Identity;
use crate::peer::{PeerClient, UpgradeAnswer, UpgradeRequest};
use crate::trouble::Trouble;
use std::time::{Duration, Instant};

/// Time for the steward to raise the level, and for the node to execute that.
const RAISING: Duration = Duration::from_secs(60);
/// Time between two questions how far that is.
const ASK_EVERY: Duration = Duration::from_millis(100);

/// Raises the level to the highest that all nodes know, by the served node with this identity.
/// Returns the level, which this node has then; the others come to it at the same place of the log.
///
/// # Errors
/// The node does not answer, a node's program does not know a higher level, or all nodes have the
/// highest.
pub fn upgrade(identity: &Identity) -> Result<u32, Trouble> {
    runtime()?.block_on(async {
        let own = PeerClient::new(identity, identity.membership.address.clone())?;
        let mut own = own.connect().await?;
        let until = Instant::now() + RAISING;
        let mut request = UpgradeRequest { to: None };
        loop {
            let UpgradeAnswer { level, to } = own.post("/upgrade", &request).await?;
            if level >= to {
                return Ok(level);
            }
            if Instant::now() >= until {
                return Err(Trouble::Refused(format!(
                    "the cluster is to have format level {to}, and this node has level {level} \
                     after {} seconds: the level is raised by itself when writes go on; see `pando \
                     cluster status`",
                    RAISING.as_secs()
                )));
            }
            request.to = Some(to);
            tokio::time::sleep(ASK_EVERY).await;
        }
    })
}
