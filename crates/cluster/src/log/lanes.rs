//! The lanes of this node: which are taken, and which of its records have not come back yet.
//!
//! The reader of the log alone decides what became of a bundle that was sent: it sees the
//! record, or it passes the place behind which the record cannot come any more.

use super::state::lock;
use replica::commit_log::Wake;
use std::collections::VecDeque;
use std::sync::Mutex;
use tokio::sync::Notify;

/// All lanes.
pub(super) struct Lanes {
    inner: Mutex<Inner>,
    /// Told when what is known of sent records changed.
    settled: Notify,
}

struct Inner {
    /// Ends sending for good.
    fenced: bool,
    wake: Option<Wake>,
    lanes: Vec<Lane>,
}

#[derive(Default)]
struct Lane {
    /// One of its bundles has no place yet.
    taken: bool,
    /// Records sent and not seen in the log, oldest first.
    sent: VecDeque<Sent>,
}

/// A record sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sent {
    /// Its number in the lane.
    pub(super) sequence: u64,
    /// Number of its bundle.
    pub(super) number: u64,
}

impl Lanes {
    /// Free lanes.
    pub(super) fn new(lanes: u8) -> Lanes {
        Lanes {
            inner: Mutex::new(Inner {
                fenced: false,
                wake: None,
                lanes: (0..lanes).map(|_| Lane::default()).collect(),
            }),
            settled: Notify::new(),
        }
    }

    /// Sets what is called whenever a lane becomes free.
    pub(super) fn on_free(&self, wake: Wake) {
        lock(&self.inner).wake = Some(wake);
    }

    /// Whether a lane takes a bundle.
    pub(super) fn is_free(&self, lane: u8) -> bool {
        let inner = lock(&self.inner);
        inner
            .lanes
            .get(usize::from(lane))
            .is_some_and(|it| !it.taken)
    }

    /// Takes a lane for a bundle.
    pub(super) fn take(&self, lane: u8) {
        if let Some(lane) = lock(&self.inner).lanes.get_mut(usize::from(lane)) {
            lane.taken = true;
        }
    }

    /// Gives a lane back.
    pub(super) fn free(&self, lane: u8) {
        let mut inner = lock(&self.inner);
        if let Some(lane) = inner.lanes.get_mut(usize::from(lane)) {
            lane.taken = false;
        }
        let wake = inner.wake.clone();
        drop(inner);
        if let Some(wake) = wake {
            wake();
        }
    }

    /// Notes a record before it is sent for the first time; `false` if nothing may be sent any
    /// more.
    pub(super) fn send(&self, lane: u8, sent: Sent) -> bool {
        let mut inner = lock(&self.inner);
        if inner.fenced {
            return false;
        }
        if let Some(lane) = inner.lanes.get_mut(usize::from(lane)) {
            lane.sent.push_back(sent);
        }
        true
    }

    /// The log has a record of this node's present session. The number of its bundle, `None` if
    /// this process did not send it.
    pub(super) fn seen(&self, lane: u8, sequence: u64) -> Option<u64> {
        let mut inner = lock(&self.inner);
        let sent = &mut inner.lanes.get_mut(usize::from(lane))?.sent;
        let at = sent.iter().position(|it| it.sequence == sequence)?;
        let number = sent.remove(at)?.number;
        drop(inner);
        self.settled.notify_waiters();
        Some(number)
    }

    /// Ends sending.
    pub(super) fn fence(&self) {
        lock(&self.inner).fenced = true;
    }

    /// Whether nothing may be sent any longer.
    pub(super) fn is_fenced(&self) -> bool {
        lock(&self.inner).fenced
    }

    /// The log has passed the place behind which no record of this session can come: the numbers of
    /// the bundles that are not in it.
    pub(super) fn give_up(&self) -> Vec<u64> {
        let mut inner = lock(&self.inner);
        inner.fenced = true;
        let sent = inner.lanes.iter_mut().flat_map(|it| it.sent.drain(..));
        let mut numbers: Vec<u64> = sent.map(|it| it.number).collect();
        numbers.sort_unstable();
        drop(inner);
        self.settled.notify_waiters();
        numbers
    }

    /// Waits until the reader knows what became of a record that was sent.
    pub(super) async fn decided(&self, lane: u8, sequence: u64) {
        loop {
            let settled = self.settled.notified();
            tokio::pin!(settled);
            settled.as_mut().enable();
            if !self.is_undecided(lane, sequence) {
                return;
            }
            settled.await;
        }
    }

    /// Whether a record was sent of which the reader knows nothing.
    fn is_undecided(&self, lane: u8, sequence: u64) -> bool {
        let inner = lock(&self.inner);
        let lane = inner.lanes.get(usize::from(lane));
        lane.is_some_and(|it| it.sent.iter().any(|sent| sent.sequence == sequence))
    }
}
