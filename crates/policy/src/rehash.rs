//! Passwords that are hashed anew after a bind: those that wait for it, and those that it changed.
//! Pure: times are arguments.

use crate::password::Hashing;
use schema::Name;
use std::collections::{HashMap, VecDeque};
use std::time::Duration;
use zeroize::Zeroizing;

/// Passwords waiting at most. They wait in the clear, so they are few: at the usual cost the
/// last one waits for half a minute. One that finds no place has its turn after another bind.
const WAITING_MAX: usize = 64;
/// Share of one processor's time that is spent on hashing passwords anew: one part in so many.
const SHARE: u32 = 10;
/// The least time from one password to the next, so that cheap hashes do not fill the log.
const PAUSE_MIN: Duration = Duration::from_millis(50);
/// Accounts of which it is remembered that their password was hashed anew, at about 100 bytes each.
const ENTRIES_MAX: usize = 65_536;
/// Steps from one stored password to a later one that are followed.
const STEPS_MAX: usize = 8;

/// A right password, to be stored in another form.
pub struct Rehash {
    /// Number of the entry.
    pub entry: u64,
    /// Name of the entry.
    pub name: Name,
    /// The name as it is spelled.
    pub spelled: String,
    /// The stored value that the password matches.
    pub stored: Vec<u8>,
    /// The password.
    pub given: Zeroizing<Vec<u8>>,
    /// The form that it is to have.
    pub hashing: Hashing,
}

/// Passwords in the clear that wait to be hashed anew, each account once.
#[derive(Default)]
pub struct Rehashes {
    waiting: VecDeque<Rehash>,
}

impl std::fmt::Debug for Rehashes {
    /// Without passwords.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rehashes")
            .field("waiting", &self.waiting.len())
            .finish()
    }
}

impl Rehashes {
    /// Whether a password of this entry would be taken.
    pub fn takes(&self, entry: u64) -> bool {
        self.waiting.len() < WAITING_MAX && self.waiting.iter().all(|it| it.entry != entry)
    }

    /// Adds a password, if it is taken.
    pub fn add(&mut self, rehash: Rehash) {
        if self.takes(rehash.entry) {
            self.waiting.push_back(rehash);
        }
    }

    /// Takes the one that waits longest.
    pub fn take(&mut self) -> Option<Rehash> {
        self.waiting.pop_front()
    }

    /// The time to wait after a password that took this time.
    pub fn pause(worked: Duration) -> Duration {
        worked.saturating_mul(SHARE - 1).max(PAUSE_MIN)
    }
}

/// A password of an entry that was hashed anew, by digests of stored passwords.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rehashed {
    /// Number of the entry.
    pub entry: u64,
    /// Digest of all passwords of the entry before the change.
    pub before: u64,
    /// Digest of all passwords of the entry after it.
    pub after: u64,
    /// Digest of the value in its former form.
    pub old: u64,
    /// Digest of the value in its new form.
    pub new: u64,
}

/// Passwords hashed anew since the start, by which a connection that is bound with a password tells
/// this change from a new password. Beyond the limit the oldest are forgotten: connections that
/// were idle since end, as they do after a new password.
#[derive(Debug, Default)]
pub struct Renewals {
    entries: HashMap<u64, Vec<Rehashed>>,
    order: VecDeque<u64>,
}

impl Renewals {
    /// Records a change.
    pub fn note(&mut self, rehashed: Rehashed) {
        let steps = self.entries.entry(rehashed.entry).or_default();
        if steps.is_empty() {
            self.order.push_back(rehashed.entry);
        }
        if steps.len() == STEPS_MAX {
            steps.remove(0);
        }
        steps.push(rehashed);
        if self.order.len() > ENTRIES_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.entries.remove(&oldest);
        }
    }

    /// Whether the entry's passwords of one digest became those of another one only by being hashed
    /// anew.
    pub fn leads(&self, entry: u64, from: u64, to: u64) -> bool {
        let mut at = from;
        // The caller's snapshot may be older than the last step.
        self.steps(entry).any(|step| {
            if step.before == at {
                at = step.after;
            }
            at == to
        })
    }

    /// Whether one of the values with the digests `now` is another form of the value `from`.
    pub fn has_form_of(&self, entry: u64, from: u64, now: &[u64]) -> bool {
        let mut at = from;
        self.steps(entry).any(|step| {
            let leads = step.old == at;
            if leads {
                at = step.new;
            }
            leads && now.contains(&at)
        })
    }

    fn steps(&self, entry: u64) -> impl Iterator<Item = &Rehashed> {
        self.entries.get(&entry).into_iter().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::password::Scheme;

    fn rehash(entry: u64) -> Rehash {
        Rehash {
            entry,
            name: Name::root(),
            spelled: String::new(),
            stored: Vec::new(),
            given: Vec::new().into(),
            hashing: Scheme::default().into(),
        }
    }

    #[test]
    fn each_account_waits_once_and_few_wait_at_all() {
        let mut rehashes = Rehashes::default();
        for entry in 0..1_000 {
            rehashes.add(rehash(entry / 2));
        }
        let taken: Vec<u64> = std::iter::from_fn(|| rehashes.take().map(|it| it.entry)).collect();
        assert_eq!(taken, (0..WAITING_MAX as u64).collect::<Vec<u64>>());
        assert!(rehashes.takes(0));
    }

    #[test]
    fn a_tenth_of_the_time_is_spent_on_it() {
        let pause = |ms| Rehashes::pause(Duration::from_millis(ms)).as_millis();
        assert_eq!((pause(0), pause(50), pause(1_000)), (50, 450, 9_000));
    }

    #[test]
    fn a_password_hashed_anew_is_told_from_a_new_one() {
        let mut renewals = Renewals::default();
        let note = |renewals: &mut Renewals, entry, before, after| {
            renewals.note(Rehashed {
                entry,
                before,
                after,
                old: before + 1_000,
                new: after + 1_000,
            });
        };
        note(&mut renewals, 1, 10, 11);
        note(&mut renewals, 1, 11, 12);
        note(&mut renewals, 2, 20, 21);
        assert!(renewals.leads(1, 10, 11) && renewals.leads(1, 10, 12));
        assert!(renewals.leads(1, 11, 12));
        assert!(!renewals.leads(1, 12, 10) && !renewals.leads(1, 9, 12));
        assert!(!renewals.leads(2, 10, 12) && !renewals.leads(3, 10, 12));
        assert!(renewals.has_form_of(1, 1_010, &[7, 1_012]));
        assert!(renewals.has_form_of(1, 1_010, &[1_011]));
        assert!(!renewals.has_form_of(1, 1_012, &[1_010, 1_012]));
        for entry in 100..100 + ENTRIES_MAX as u64 {
            note(&mut renewals, entry, 1, 2);
        }
        assert!(!renewals.leads(1, 10, 12) && renewals.leads(100, 1, 2));
        assert_eq!(renewals.entries.len(), ENTRIES_MAX);
    }
}
