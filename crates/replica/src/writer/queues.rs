//! The queues of a node: one for each lane to the log of its cluster, or one on a node alone.

use super::Queue;
use std::sync::Arc;

/// All queues of a node. Each client has one of them, so that its writes keep their order.
pub(crate) struct Queues<T>(Arc<[Arc<Queue<T>>]>);

impl<T> Queues<T> {
    /// Empty queues, at least one.
    pub fn new(count: u8) -> Queues<T> {
        let queues = (0..count.max(1)).map(|_| Arc::new(Queue::default()));
        Queues(queues.collect())
    }

    /// All of them, in the order of the lanes.
    pub fn all(&self) -> &[Arc<Queue<T>>] {
        &self.0
    }

    /// The queue of the first lane, which also has the node's own writes.
    pub fn first(&self) -> &Arc<Queue<T>> {
        &self.0[0]
    }

    /// The queue of a client.
    pub fn of(&self, client: u64) -> &Arc<Queue<T>> {
        &self.0[(client % self.0.len() as u64) as usize]
    }

    /// Number of waiting submissions.
    pub fn waiting(&self) -> usize {
        self.0.iter().map(|it| it.waiting()).sum()
    }

    /// Ends the threads behind the queues when no submission waits.
    pub fn stop(&self) {
        self.0.iter().for_each(|it| it.stop());
    }
}

impl<T> Clone for Queues<T> {
    fn clone(&self) -> Queues<T> {
        Queues(Arc::clone(&self.0))
    }
}
