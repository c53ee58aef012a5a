//! Sessions by the account that they are bound to, so that a change of an account finds them while
//! they are idle; and the accounts that were changed lately.
//!
//! Accounts and sessions are numbers here. A serving thread has [`Seats`] of its own sessions; all
//! threads share the [`Doubts`].

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Number of changed accounts that are remembered one by one.
const RECENT_MAX: usize = 4_096;

/// The bound sessions of one serving thread.
#[derive(Debug, Default)]
pub struct Seats(RefCell<Taken>);

#[derive(Debug, Default)]
struct Taken {
    /// Pairs of account and session.
    by_account: BTreeSet<(u64, u64)>,
    /// Pairs of a second since 1970, in which the session is to be judged again, and the session.
    by_end: BTreeSet<(u64, u64)>,
}

/// The seat of a bound session; dropping it gives the seat back.
#[derive(Debug)]
pub struct Seat {
    seats: Rc<Seats>,
    account: u64,
    session: u64,
    end_s: Option<u64>,
}

/// The accounts that were changed lately, with versions of the store.
#[derive(Debug, Default)]
pub struct Doubts {
    /// Version of the last change of any account.
    version: AtomicU64,
    recent: Mutex<Recent>,
}

#[derive(Debug, Default)]
struct Recent {
    /// Version of the last change, by account.
    by_account: HashMap<u64, u64>,
    /// Version up to which any account may have changed.
    everybody: u64,
    /// Version up to which limits of any account may have changed.
    limits: u64,
}

/// The accounts that one commit changed.
#[derive(Debug, Clone, Copy)]
pub struct Changed<'a> {
    /// The accounts that are known one by one.
    pub accounts: &'a [u64],
    /// Whether any account may have changed.
    pub everybody: bool,
    /// Whether limits of any account may have changed.
    pub limits: bool,
}

impl Seats {
    /// A seat for a session that is bound to an account.
    pub fn take(self: &Rc<Self>, account: u64, session: u64) -> Seat {
        self.0.borrow_mut().by_account.insert((account, session));
        Seat {
            seats: Rc::clone(self),
            account,
            session,
            end_s: None,
        }
    }

    /// The first second in which a session is to be judged again; `None` if there is none.
    pub fn first_end_s(&self) -> Option<u64> {
        self.0.borrow().by_end.first().map(|it| it.0)
    }

    /// The sessions whose second has come, and those of accounts that were changed after the
    /// version `since`.
    pub fn in_doubt(&self, doubts: &Doubts, since: u64, now_s: u64) -> BTreeSet<u64> {
        let taken = self.0.borrow();
        let due = taken.by_end.range(..=(now_s, u64::MAX));
        let mut sessions: BTreeSet<u64> = due.map(|it| it.1).collect();
        let recent = doubts.lock();
        if since < recent.everybody {
            sessions.extend(taken.by_account.iter().map(|it| it.1));
            return sessions;
        }
        let changed = recent.by_account.iter().filter(|it| *it.1 > since);
        for (account, _) in changed {
            let own = taken.by_account.range((*account, 0)..=(*account, u64::MAX));
            sessions.extend(own.map(|it| it.1));
        }
        sessions
    }
}

impl Seat {
    /// The account.
    pub fn account(&self) -> u64 {
        self.account
    }

    /// Second since 1970 in which the session is to be judged again; `None` if time alone changes
    /// nothing.
    pub fn end_s(&self) -> Option<u64> {
        self.end_s
    }

    /// Sets the second in which the session is to be judged again.
    pub fn set_end(&mut self, end_s: Option<u64>) {
        if end_s == self.end_s {
            return;
        }
        let by_end = &mut self.seats.0.borrow_mut().by_end;
        if let Some(before_s) = self.end_s {
            by_end.remove(&(before_s, self.session));
        }
        by_end.extend(end_s.map(|it| (it, self.session)));
        self.end_s = end_s;
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.set_end(None);
        let mut taken = self.seats.0.borrow_mut();
        taken.by_account.remove(&(self.account, self.session));
    }
}

impl Doubts {
    /// Version of the last change of any account; 0 if there was none since the start.
    #[inline]
    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// Notes what the commits up to a version changed.
    pub fn note(&self, version: u64, changed: Changed<'_>) {
        let mut recent = self.lock();
        if changed.everybody || recent.by_account.len() + changed.accounts.len() > RECENT_MAX {
            recent.by_account.clear();
            recent.everybody = recent.everybody.max(version);
        } else {
            let changed = changed.accounts.iter();
            recent.by_account.extend(changed.map(|it| (*it, version)));
        }
        if changed.limits {
            recent.limits = recent.limits.max(version);
        }
        // Last: who reads the version finds what it is about.
        self.version.fetch_max(version, Ordering::SeqCst);
    }

    /// Whether an account, or its limits, may have changed after the version `since`.
    pub fn concern(&self, account: u64, since: u64) -> bool {
        let recent = self.lock();
        since < recent.everybody
            || since < recent.limits
            || recent
                .by_account
                .get(&account)
                .is_some_and(|it| *it > since)
    }

    fn lock(&self) -> MutexGuard<'_, Recent> {
        // The map is consistent between any two statements, so a panic elsewhere must not block it.
        self.recent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(accounts: &[u64]) -> Changed<'_> {
        Changed {
            accounts,
            everybody: false,
            limits: false,
        }
    }

    fn found(seats: &Seats, doubts: &Doubts, since: u64, now_s: u64) -> Vec<u64> {
        seats.in_doubt(doubts, since, now_s).into_iter().collect()
    }

    #[test]
    fn sessions_are_found_by_their_account_while_they_sit() {
        let (seats, doubts) = (Rc::new(Seats::default()), Doubts::default());
        let (first, second) = (seats.take(7, 1), seats.take(7, 2));
        let third = seats.take(8, 3);
        assert!(found(&seats, &doubts, 0, 0).is_empty());
        doubts.note(5, one(&[7, 9]));
        assert_eq!(found(&seats, &doubts, 4, 0), [1, 2]);
        assert!(found(&seats, &doubts, 5, 0).is_empty());
        assert!(doubts.concern(7, 4) && !doubts.concern(7, 5) && !doubts.concern(8, 0));
        assert_eq!(doubts.version(), 5);
        drop(first);
        assert_eq!(found(&seats, &doubts, 4, 0), [2]);
        doubts.note(
            6,
            Changed {
                everybody: true,
                ..one(&[])
            },
        );
        assert_eq!(found(&seats, &doubts, 5, 0), [2, 3]);
        assert!(doubts.concern(8, 5) && !doubts.concern(8, 6));
        drop((second, third));
        assert!(seats.0.borrow().by_account.is_empty());
    }

    #[test]
    fn limits_are_doubted_without_a_call() {
        let (seats, doubts) = (Rc::new(Seats::default()), Doubts::default());
        let _seat = seats.take(7, 1);
        doubts.note(
            5,
            Changed {
                limits: true,
                ..one(&[])
            },
        );
        assert!(doubts.concern(7, 4) && found(&seats, &doubts, 4, 0).is_empty());
    }

    #[test]
    fn ends_come_in_order_and_may_be_put_off() {
        let (seats, doubts) = (Rc::new(Seats::default()), Doubts::default());
        let (mut first, mut second) = (seats.take(7, 1), seats.take(8, 2));
        assert_eq!(seats.first_end_s(), None);
        first.set_end(Some(30));
        second.set_end(Some(20));
        assert_eq!(seats.first_end_s(), Some(20));
        assert!(found(&seats, &doubts, 0, 19).is_empty());
        assert_eq!(found(&seats, &doubts, 0, 20), [2]);
        second.set_end(Some(40));
        assert_eq!(found(&seats, &doubts, 0, 30), [1]);
        second.set_end(None);
        assert_eq!((first.end_s(), first.account()), (Some(30), 7));
        drop(first);
        assert_eq!(seats.first_end_s(), None);
    }

    #[test]
    fn more_changes_than_are_remembered_concern_everybody() {
        let doubts = Doubts::default();
        for version in 1..=RECENT_MAX as u64 + 1 {
            doubts.note(version, one(&[version]));
        }
        assert!(doubts.concern(0, RECENT_MAX as u64));
        assert!(doubts.lock().by_account.len() <= RECENT_MAX);
        assert!(!doubts.concern(0, RECENT_MAX as u64 + 1));
    }
}
