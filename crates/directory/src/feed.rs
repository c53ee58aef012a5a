//! Wakes followers when something was committed.
//!
//! The writer tells of every commit. The changes are in the history (`history.rs`), inside the
//! commit itself, so the call carries no data: a follower that is late costs nothing,
//! however many commits there are. Without followers the call is one load; a follower that
//! was called and has not looked yet is not called again.

use crate::completion::{Completion, Finished, Mailbox, Mailboxes};
use policy::rehash::{Rehashed, Renewals};
use policy::seats::{Changed, Doubts};
use protocol::MessageId;
use replica::Observer;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// All followers of a directory.
#[derive(Default)]
pub(crate) struct Feed {
    following: AtomicUsize,
    bells: Mutex<Vec<Arc<Bell>>>,
    /// Accounts whose connections may have to end.
    pub accounts: Doubts,
    mailboxes: Mailboxes,
    renewals: Mutex<Renewals>,
}

/// Address and state of one follower.
struct Bell {
    session: u64,
    /// Message id of the follower's search.
    id: MessageId,
    /// The subject of the search, for the limit.
    subject: String,
    mailbox: Arc<dyn Mailbox>,
    /// Whether it was called and has not looked yet.
    rung: AtomicBool,
}

/// A follower's place; dropping it frees the place.
pub(crate) struct Listener {
    feed: Arc<Feed>,
    bell: Arc<Bell>,
}

impl Feed {
    /// Registers a follower of `session`, to be called after each commit. `None` if the subject has
    /// `max` followers already (0 for no limit).
    pub fn listen(
        self: &Arc<Self>,
        session: u64,
        id: MessageId,
        subject: &str,
        max: u32,
        mailbox: &Arc<dyn Mailbox>,
    ) -> Option<Listener> {
        let mut bells = self.bells();
        let own = bells.iter().filter(|it| it.subject == subject).count();
        if max != 0 && own >= max as usize {
            return None;
        }
        let bell = Arc::new(Bell {
            session,
            id,
            subject: subject.to_owned(),
            mailbox: Arc::clone(mailbox),
            rung: AtomicBool::new(false),
        });
        bells.push(Arc::clone(&bell));
        // Pairs with the fence of `committed`: either the writer sees this follower, or the
        // follower's next snapshot has the writer's commit.
        self.following.fetch_add(1, Ordering::SeqCst);
        Some(Listener {
            feed: Arc::clone(self),
            bell,
        })
    }

    /// Passwords that were stored in another form since the start.
    pub fn renewals(&self) -> MutexGuard<'_, Renewals> {
        self.renewals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Number of followers.
    pub fn followers(&self) -> u64 {
        self.following.load(Ordering::Relaxed) as u64
    }

    /// Adds the mailbox of a serving thread, which holds snapshots.
    pub fn add(&self, mailbox: &Arc<dyn Mailbox>) {
        self.mailboxes.add(mailbox);
    }

    #[cold]
    fn ring(&self) {
        let mut calls: HashMap<*const (), (Arc<dyn Mailbox>, Vec<Completion>)> = HashMap::new();
        for bell in self.bells().iter() {
            if bell.rung.swap(true, Ordering::SeqCst) {
                continue;
            }
            let key = Arc::as_ptr(&bell.mailbox).cast::<()>();
            let call = calls
                .entry(key)
                .or_insert_with(|| (Arc::clone(&bell.mailbox), Vec::new()));
            call.1.push(Completion {
                session: bell.session,
                id: bell.id,
                what: Finished::News,
            });
        }
        for (mailbox, completions) in calls.into_values() {
            mailbox.deliver(completions);
        }
    }

    fn bells(&self) -> MutexGuard<'_, Vec<Arc<Bell>>> {
        self.bells.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for Feed {
    /// Calls every follower that has looked since its last call.
    #[inline]
    fn committed(&self) {
        fence(Ordering::SeqCst);
        if self.following.load(Ordering::Relaxed) > 0 {
            self.ring();
        }
    }

    fn accounts_changed(&self, version: u64, changed: Changed<'_>) {
        self.accounts.note(version, changed);
        if changed.everybody || !changed.accounts.is_empty() {
            self.mailboxes.each(|it| it.doubt());
        }
    }

    fn rehashed(&self, passwords: &[Rehashed]) {
        let mut renewals = self.renewals();
        passwords.iter().for_each(|it| renewals.note(*it));
    }

    fn release_snapshots(&self) {
        self.mailboxes.each(|it| it.wake());
    }
}

impl Listener {
    /// Records that the follower is about to look, so that the next commit calls it again.
    pub fn looks(&self) {
        self.bell.rung.store(false, Ordering::SeqCst);
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.feed.bells().retain(|it| !Arc::ptr_eq(it, &self.bell));
        self.feed.following.fetch_sub(1, Ordering::SeqCst);
    }
}

impl std::fmt::Debug for Listener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Listener")
            .field("session", &self.bell.session)
            .field("id", &self.bell.id)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Box(Mutex<Vec<(u64, MessageId)>>);

    impl Mailbox for Box {
        fn deliver(&self, completions: Vec<Completion>) {
            let calls = completions.iter().map(|it| (it.session, it.id));
            self.0.lock().expect("no panic").extend(calls);
        }
    }

    #[test]
    fn a_follower_is_called_once_until_it_looks() {
        let feed = Arc::new(Feed::default());
        let own = Arc::new(Box::default());
        let mailbox: Arc<dyn Mailbox> = own.clone();
        let calls = || std::mem::take(&mut *own.0.lock().expect("no panic"));
        feed.committed();
        assert!(calls().is_empty());
        let first = feed.listen(1, 7, "cn=a", 2, &mailbox).expect("room");
        let second = feed.listen(2, 8, "cn=a", 2, &mailbox).expect("room");
        assert!(feed.listen(3, 9, "cn=a", 2, &mailbox).is_none());
        assert!(feed.listen(3, 9, "cn=b", 2, &mailbox).is_some());
        feed.committed();
        feed.committed();
        assert_eq!(calls(), [(1, 7), (2, 8)]);
        first.looks();
        feed.committed();
        assert_eq!(calls(), [(1, 7)]);
        second.looks();
        drop(second);
        feed.committed();
        assert!(calls().is_empty());
        assert!(feed.listen(3, 9, "cn=a", 2, &mailbox).is_some());
    }
}
