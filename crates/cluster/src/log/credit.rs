//! Credit: the nodes that write go only so far ahead of the slowest one that it can follow.
//!
//! A node that falls behind farther and farther would at last need a copy of another node's state,
//! because the records that it needs were trimmed.

use super::members::SlowNode;
use super::state::{Shared, lock};
use std::time::Duration;
use tokio::time::Instant;

/// Time between two looks at the reports of the others.
const LOOK: Duration = Duration::from_millis(20);
/// Time between two lines about the waiting in the node's log.
const TELL_EVERY: Duration = Duration::from_secs(60);

/// The credit of one lane.
#[derive(Default)]
pub(super) struct LaneCredit {
    /// When it was last told that bundles wait.
    told: Option<Instant>,
}

impl LaneCredit {
    /// Waits until the slowest node is near enough for another bundle, at most for the time that
    /// the settings name.
    pub(super) async fn wait(&mut self, shared: &Shared) {
        let until = Instant::now() + shared.settings.credit.pause_max;
        while let Some(slow) = slow(shared) {
            self.tell(&slow);
            if Instant::now() >= until || shared.refusal().is_some() {
                return;
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    fn tell(&mut self, slow: &SlowNode) {
        if self.told.is_some_and(|it| it.elapsed() < TELL_EVERY) {
            return;
        }
        self.told = Some(Instant::now());
        let SlowNode { id, bytes } = slow;
        tracing::info!(node = %id, bytes, "writes are slowed for a node that executes more slowly");
    }
}

/// The node to be waited for; `None` if all are near enough.
fn slow(shared: &Shared) -> Option<SlowNode> {
    let credit = &shared.settings.credit;
    let alive_for = shared.settings.trimming.alive_for;
    let volume = lock(&shared.volume);
    let slowest = lock(&shared.members).slowest(credit, alive_for, &volume);
    slowest.filter(|it| it.bytes > credit.behind_bytes_max)
}
