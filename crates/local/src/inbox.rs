//! Completions on their way from the writer and the hashing threads to a client.

use directory::{Completion, Mailbox};
use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Completions in the order of their arrival.
#[derive(Default)]
pub(super) struct Inbox {
    arrived: Mutex<VecDeque<Completion>>,
    wake: Condvar,
}

impl Mailbox for Inbox {
    fn deliver(&self, completions: Vec<Completion>) {
        self.lock().extend(completions);
        self.wake.notify_one();
    }
}

impl Inbox {
    /// Takes the first wanted completion, and waits for it until `deadline`, without limit if that
    /// is `None`. `None` if there is none by then.
    pub fn take(
        &self,
        deadline: Option<Instant>,
        wanted: impl Fn(&Completion) -> bool,
    ) -> Option<Completion> {
        let mut arrived = self.arrival(deadline, &wanted);
        let at = arrived.iter().position(wanted)?;
        arrived.remove(at)
    }

    /// Waits until a wanted completion has arrived. Returns `false` if none has arrived by
    /// `deadline`.
    pub fn wait(&self, deadline: Option<Instant>, wanted: impl Fn(&Completion) -> bool) -> bool {
        self.arrival(deadline, &wanted).iter().any(wanted)
    }

    /// Drops the completions that are not wanted.
    pub fn retain(&self, wanted: impl Fn(&Completion) -> bool) {
        self.lock().retain(wanted);
    }

    /// The completions, once one of them is wanted or the deadline has passed.
    fn arrival(
        &self,
        deadline: Option<Instant>,
        wanted: &impl Fn(&Completion) -> bool,
    ) -> MutexGuard<'_, VecDeque<Completion>> {
        let mut arrived = self.lock();
        while !arrived.iter().any(wanted) {
            let Some(deadline) = deadline else {
                let woken = self.wake.wait(arrived);
                arrived = woken.unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let woken = self.wake.wait_timeout(arrived, left);
            arrived = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
        arrived
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Completion>> {
        self.arrived.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
