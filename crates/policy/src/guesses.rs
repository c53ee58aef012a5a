//! Limits on wrong passwords: by account, by address, and by both together.
//!
//! Each wrong password is counted three times: for its account from its address, for its account
//! from anywhere, and for its address on any account. Whoever has too many waits; nothing is
//! verified meanwhile. An account from an address on which its password was right lately is judged
//! by its own wrong passwords there alone, until it has too many.
//!
//! A count is a time: that until which wrong passwords of the past are not yet forgotten (the
//! generic cell rate algorithm). A wrong password moves it on by a fixed step.
//!
//! Everything is in memory, keyed by hashes, and bounded. Names are counted whether or not an entry
//! has them, so that nobody learns which exist.

use std::collections::hash_map::RandomState;
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, BuildHasherDefault, Hasher};
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::network::party;

/// Time after which one wrong password on an account is forgotten, in milliseconds.
const STEP_MS: u64 = 6_000;
/// Factor by which an account and an address have more wrong passwords than both together.
const WIDER: u64 = 10;
/// Wrong passwords beyond a limit that are waited for in full: of checks that were under way side
/// by side when the limit was reached.
const DEBT_MAX: u64 = 4_096;
/// Number of locked parts, so that serving threads do not wait for each other.
const SHARDS: usize = 16;
/// Counts in one part beyond which those that are over are removed.
const COUNTS_MAX: usize = 1 << 16;
/// Known pairs of account and address in one part, of which twice as many are kept.
const KNOWN_MAX: usize = 1 << 14;

/// A password that is tried: keyed hashes of the account and the address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trial {
    account: u64,
    /// `None` for a Unix socket.
    address: Option<u64>,
    both: u64,
    known: Known,
}

/// Whether a password of an account from an address was right lately.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Known {
    No,
    /// One was, and the pair is soon forgotten.
    Older,
    Lately,
}

/// A hasher of keys that are hashes already.
#[derive(Debug, Default)]
struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }
}

type ByKey = BuildHasherDefault<KeyHasher>;

/// The counts of wrong passwords, shared by all threads.
#[derive(Debug)]
pub struct Guesses {
    /// Wrong passwords at once on an account from an address; 0 for no limit.
    max: u64,
    keys: RandomState,
    shards: Vec<Mutex<Shard>>,
    refused: AtomicU64,
}

#[derive(Debug, Default)]
struct Shard {
    /// Time in milliseconds until which wrong passwords are not yet forgotten.
    until_ms: HashMap<u64, u64, ByKey>,
    /// Pairs whose last right password is newer than those of `older`.
    known: HashSet<u64, ByKey>,
    older: HashSet<u64, ByKey>,
}

/// The limit of one count.
#[derive(Debug, Clone, Copy)]
struct Limit {
    max: u64,
    step_ms: u64,
}

impl Trial {
    /// Whether a password of the account was right lately from this address, and not too many were
    /// wrong since.
    pub fn is_known(&self) -> bool {
        self.known != Known::No
    }

    /// The keyed hash of account and address together.
    pub fn pair(&self) -> u64 {
        self.both
    }
}

impl Guesses {
    /// Counts that allow `max` wrong passwords at once on an account from an address, and one more
    /// every six seconds; ten times as many at once on an account from all addresses, and from an
    /// address on all accounts, there with one more every 0.6 seconds. 0 for no limits.
    pub fn new(max: u32) -> Guesses {
        Guesses {
            max: max.into(),
            keys: RandomState::new(),
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            refused: AtomicU64::new(0),
        }
    }

    /// Begins to try a password for an account, which is given by any name of its own, from an
    /// address; `None` for a Unix socket. Of an IPv6 address the network of 64 bits counts.
    ///
    /// # Errors
    /// Too many passwords were wrong: the time to wait until the next one is verified.
    pub fn trial(
        &self,
        account: &[u8],
        address: Option<IpAddr>,
        now_ms: u64,
    ) -> Result<Trial, Duration> {
        let mut trial = self.keys_of(account, address);
        self.again(&mut trial, now_ms).map(|()| trial)
    }

    /// Asks once more for a trial that took some time, before its password is verified.
    ///
    /// # Errors
    /// As for [`Guesses::trial`].
    pub fn again(&self, trial: &mut Trial, now_ms: u64) -> Result<(), Duration> {
        if self.max == 0 {
            return Ok(());
        }
        let mut wait_ms = {
            let shard = self.shard(trial.both);
            trial.known = shard.knows(trial.both);
            shard.wait_ms(trial.both, self.both(), now_ms)
        };
        if trial.known == Known::No {
            wait_ms = wait_ms.max(self.wait_ms(trial.account, self.account(), now_ms));
            if let Some(address) = trial.address {
                wait_ms = wait_ms.max(self.wait_ms(address, self.address(), now_ms));
            }
        }
        match wait_ms {
            0 => Ok(()),
            wait_ms => {
                self.refused.fetch_add(1, Ordering::Relaxed);
                Err(Duration::from_millis(wait_ms))
            }
        }
    }

    fn keys_of(&self, account: &[u8], address: Option<IpAddr>) -> Trial {
        let network = address.map(|it| match party(it) {
            IpAddr::V4(it) => it.to_ipv6_mapped().to_bits(),
            IpAddr::V6(it) => it.to_bits(),
        });
        let account = self.keys.hash_one(account);
        let address = network.map(|it| self.keys.hash_one(it));
        Trial {
            account,
            address,
            both: account.rotate_left(32) ^ address.unwrap_or_default(),
            known: Known::No,
        }
    }

    /// Counts a wrong password.
    pub fn failed(&self, trial: &Trial, now_ms: u64) {
        if self.max == 0 {
            return;
        }
        self.count(trial.both, self.both(), now_ms);
        if let Some(address) = trial.address {
            self.count(address, self.address(), now_ms);
        }
        if trial.known == Known::No {
            self.count(trial.account, self.account(), now_ms);
            return;
        }
        let mut shard = self.shard(trial.both);
        if shard.wait_ms(trial.both, self.both(), now_ms) > 0 {
            shard.forget(trial.both);
        }
    }

    /// Records a right password: the pair of account and address is known from now on, and the
    /// address, which may be that of many clients, has one wrong password less.
    pub fn succeeded(&self, trial: &Trial, now_ms: u64) {
        if self.max == 0 || trial.known == Known::Lately {
            return;
        }
        let is_new = self.shard(trial.both).remember(trial.both);
        if let Some(address) = trial.address.filter(|_| is_new) {
            let step_ms = self.address().step_ms;
            let mut shard = self.shard(address);
            if let Some(until_ms) = shard.until_ms.get_mut(&address) {
                *until_ms = until_ms.saturating_sub(step_ms).max(now_ms);
            }
        }
    }

    /// Number of passwords that were not verified.
    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    fn both(&self) -> Limit {
        Limit {
            max: self.max,
            step_ms: STEP_MS,
        }
    }

    fn account(&self) -> Limit {
        Limit {
            max: self.max * WIDER,
            step_ms: STEP_MS,
        }
    }

    fn address(&self) -> Limit {
        Limit {
            max: self.max * WIDER,
            step_ms: STEP_MS / WIDER,
        }
    }

    fn wait_ms(&self, key: u64, limit: Limit, now_ms: u64) -> u64 {
        self.shard(key).wait_ms(key, limit, now_ms)
    }

    fn count(&self, key: u64, limit: Limit, now_ms: u64) {
        let mut shard = self.shard(key);
        if shard.until_ms.len() >= COUNTS_MAX {
            shard.until_ms.retain(|_, until_ms| *until_ms > now_ms);
            // More wrong passwords than can be counted: begin anew.
            if shard.until_ms.len() >= COUNTS_MAX {
                shard.until_ms.clear();
            }
        }
        let most_ms = now_ms + (limit.max + DEBT_MAX) * limit.step_ms;
        let until_ms = shard.until_ms.entry(key).or_default();
        *until_ms = ((*until_ms).max(now_ms) + limit.step_ms).min(most_ms);
    }

    fn shard(&self, key: u64) -> MutexGuard<'_, Shard> {
        // The lowest and highest bits choose places in the maps.
        let shard = &self.shards[(key >> 32) as usize % SHARDS];
        // A shard is consistent between any two statements, so a panic elsewhere must not block it.
        shard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shard {
    fn knows(&self, pair: u64) -> Known {
        if self.known.contains(&pair) {
            Known::Lately
        } else if self.older.contains(&pair) {
            Known::Older
        } else {
            Known::No
        }
    }

    /// Milliseconds until another password may be tried.
    fn wait_ms(&self, key: u64, limit: Limit, now_ms: u64) -> u64 {
        let Some(until_ms) = self.until_ms.get(&key) else {
            return 0;
        };
        let full_ms = limit.max * limit.step_ms;
        // A clock that was put back makes nobody wait longer than the largest debt.
        let most_ms = full_ms + DEBT_MAX * limit.step_ms;
        let left_ms = until_ms.saturating_sub(now_ms).min(most_ms);
        (left_ms + limit.step_ms).saturating_sub(full_ms)
    }

    /// Records that a pair is known. Returns whether it was not.
    fn remember(&mut self, pair: u64) -> bool {
        if self.known.len() >= KNOWN_MAX {
            self.older = std::mem::take(&mut self.known);
        }
        let was_older = self.older.remove(&pair);
        self.known.insert(pair) && !was_older
    }

    fn forget(&mut self, pair: u64) {
        self.known.remove(&pair);
        self.older.remove(&pair);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: &str = "192.0.2.1";

    /// Clients that try passwords.
    struct World(Guesses);

    impl World {
        fn new(max: u32) -> World {
            World(Guesses::new(max))
        }

        fn trial(&self, account: &str, address: &str, now_ms: u64) -> Result<Trial, Duration> {
            (self.0).trial(account.as_bytes(), address.parse().ok(), now_ms)
        }

        fn is_admitted(&self, account: &str, address: &str, now_ms: u64) -> bool {
            self.trial(account, address, now_ms).is_ok()
        }

        fn log_in(&self, account: &str, address: &str) {
            let trial = self.trial(account, address, 0).unwrap();
            self.0.succeeded(&trial, 0);
        }

        /// Tries wrong passwords until one is not verified. Returns their number and the time to
        /// wait in milliseconds.
        fn guess(&self, account: &str, address: &str, now_ms: u64) -> (usize, u64) {
            for count in 0..10_000 {
                match self.trial(account, address, now_ms) {
                    Ok(trial) => self.0.failed(&trial, now_ms),
                    Err(wait) => return (count, wait.as_millis() as u64),
                }
            }
            panic!("never refused");
        }
    }

    #[test]
    fn a_pair_has_some_at_once_and_then_one_each_step() {
        let world = World::new(3);
        assert_eq!(world.guess("ada", HERE, 0), (3, STEP_MS));
        assert!(!world.is_admitted("ada", HERE, STEP_MS - 1));
        assert_eq!(world.guess("ada", HERE, STEP_MS).0, 1);
        let late = 100 * STEP_MS;
        assert_eq!(world.guess("ada", HERE, late).0, 3);
        // Others are not concerned.
        assert!(world.is_admitted("bob", HERE, late));
        assert!(world.is_admitted("ada", "192.0.2.2", late));
        assert_eq!(world.0.refused(), 4);
    }

    #[test]
    fn an_account_is_guarded_against_many_addresses() {
        let world = World::new(3);
        world.log_in("ada", HERE);
        let tried: usize = (1..=255)
            .map(|at| world.guess("ada", &format!("198.51.100.{at}"), 0).0)
            .sum();
        assert_eq!(tried, 30);
        // The user comes in from the usual address, and from no new one.
        assert!(world.is_admitted("ada", HERE, 0) && !world.is_admitted("ada", "192.0.2.9", 0));
        // Too many wrong passwords there, and the account is known there no longer: the next wrong
        // password elsewhere keeps it from that address, too.
        assert_eq!(world.guess("ada", HERE, 0).0, 3);
        assert_eq!(world.guess("ada", "203.0.113.1", STEP_MS).0, 1);
        assert!(!world.is_admitted("ada", HERE, STEP_MS));
    }

    #[test]
    fn an_address_is_kept_from_trying_many_accounts() {
        let world = World::new(3);
        let tried = |address: &str, now_ms| -> usize {
            let names = (0..100).map(|at| format!("user{at}"));
            names.map(|it| world.guess(&it, address, now_ms).0).sum()
        };
        assert_eq!(tried(HERE, 0), 30);
        assert_eq!(tried("2001:db8::1", 0), 30);
        assert_eq!(tried("2001:db8::2:3:4:5", 0), 0, "one network");
        assert_eq!(tried("::ffff:192.0.2.1", 0), 0, "one address");
        assert_eq!(tried(HERE, STEP_MS), 10);
    }

    #[test]
    fn an_address_of_many_users_makes_up_for_some_wrong_passwords() {
        let world = World::new(1);
        for at in 0..1_000 {
            let wrong = world.trial(&format!("mistyped{at}"), HERE, 0);
            world.0.failed(&wrong.unwrap_or_else(|_| panic!("{at}")), 0);
            world.log_in(&format!("right{at}"), HERE);
        }
    }

    #[test]
    fn clocks_may_be_put_back_and_sockets_have_no_address() {
        let world = World::new(2);
        assert_eq!(world.guess("ada", "", 1_000_000_000).0, 2);
        assert_eq!(world.guess("ada", "", 0), (0, (DEBT_MAX + 1) * STEP_MS));
        assert!(world.is_admitted("bob", "", 0));
    }

    #[test]
    fn checks_side_by_side_are_paid_back() {
        let world = World::new(2);
        let trials: Vec<Trial> = (0..50)
            .map(|_| world.trial("ada", HERE, 0).unwrap())
            .collect();
        trials.iter().for_each(|it| world.0.failed(it, 0));
        assert!(!world.is_admitted("ada", HERE, 48 * STEP_MS));
        assert!(world.is_admitted("ada", HERE, 49 * STEP_MS));
        let mut late = trials[0];
        assert!(world.0.again(&mut late, 0).is_err());
    }

    #[test]
    fn no_limit_is_possible() {
        let world = World::new(0);
        for _ in 0..1_000 {
            let trial = world.trial("ada", HERE, 0).unwrap();
            world.0.failed(&trial, 0);
        }
        assert!(world.is_admitted("ada", HERE, 0));
    }

    #[test]
    fn memory_is_bounded() {
        let world = World::new(1);
        for at in 0..2_000_000u64 {
            let now_ms = at / 1_000_000;
            let trial = world.0.trial(&at.to_le_bytes(), None, now_ms).unwrap();
            world.0.failed(&trial, now_ms);
            world.0.succeeded(&trial, now_ms);
        }
        for shard in &world.0.shards {
            let shard = shard.lock().unwrap();
            assert!(shard.until_ms.len() <= COUNTS_MAX);
            assert!(shard.known.len() + shard.older.len() <= 2 * KNOWN_MAX);
        }
    }
}
