//! Cache of successful slow password verifications.
//!
//! Argon2id costs tens of milliseconds on purpose. Verifying the same password again for a client
//! that binds again proves nothing new, so a success is cached as a keyed BLAKE3 tag over the
//! entry, its stored value and the given password. The key is random, exists only in this process
//! and is never written. A changed password changes the stored value and so the tag: nothing needs
//! to be invalidated.
//!
//! Invariant: the cache holds successes only; a missing tag proves nothing.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use zeroize::Zeroize;

/// Number of locked parts. A lock is held for a map operation only; sixteen keep serving threads
/// from waiting for each other.
const SHARDS: usize = 16;

/// The cached form of one verification: a keyed hash, useless without the key.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Tag(u128);

impl fmt::Debug for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tag(..)")
    }
}

/// A bounded, time-limited set of tags, shared by all threads.
pub struct VerifiedCache {
    key: [u8; 32],
    ttl_ms: u64,
    shard_entries_max: usize,
    shards: Vec<Mutex<Shard>>,
}

impl fmt::Debug for VerifiedCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VerifiedCache")
            .field("ttl_ms", &self.ttl_ms)
            .finish_non_exhaustive()
    }
}

impl Drop for VerifiedCache {
    fn drop(&mut self) {
        self.key.zeroize();
    }
}

#[derive(Default)]
struct Shard {
    /// Time at which each tag expires, in milliseconds.
    expiry_ms: HashMap<Tag, u64>,
    /// Tags in the order of insertion, each once; the same tags as in `expiry_ms`.
    order: VecDeque<Tag>,
}

impl VerifiedCache {
    /// Returns a cache of about `entries_max` tags at most, each kept for `ttl_ms` milliseconds.
    /// With `entries_max` 0 nothing is cached.
    ///
    /// # Errors
    /// The system's random source is not available.
    pub fn new(entries_max: usize, ttl_ms: u64) -> Result<Self, getrandom::Error> {
        let mut key = [0; 32];
        getrandom::fill(&mut key)?;
        Ok(VerifiedCache {
            key,
            ttl_ms,
            shard_entries_max: entries_max.div_ceil(SHARDS),
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
        })
    }

    /// Returns the tag of one verification: of an entry, a stored value and a given password.
    pub fn tag(&self, entry_id: u64, stored: &[u8], given: &[u8]) -> Tag {
        let mut hasher = blake3::Hasher::new_keyed(&self.key);
        hasher.update(&entry_id.to_le_bytes());
        // The length distinguishes (stored, given) pairs that are equal when joined.
        hasher.update(&(stored.len() as u64).to_le_bytes());
        hasher.update(stored);
        hasher.update(given);
        let hash = hasher.finalize();
        let mut tag = [0; 16];
        tag.copy_from_slice(&hash.as_bytes()[..16]);
        Tag(u128::from_le_bytes(tag))
    }

    /// Returns whether this verification succeeded within the time to live.
    pub fn contains(&self, tag: Tag, now_ms: u64) -> bool {
        let shard = self.shard(tag);
        shard.expiry_ms.get(&tag).is_some_and(|it| now_ms < *it)
    }

    /// Caches a success. The oldest tag makes room when the cache is full.
    pub fn insert(&self, tag: Tag, now_ms: u64) {
        if self.shard_entries_max == 0 {
            return;
        }
        let mut shard = self.shard(tag);
        let expiry_ms = now_ms.saturating_add(self.ttl_ms);
        if shard.expiry_ms.insert(tag, expiry_ms).is_some() {
            return;
        }
        shard.order.push_back(tag);
        if shard.order.len() > self.shard_entries_max
            && let Some(oldest) = shard.order.pop_front()
        {
            shard.expiry_ms.remove(&oldest);
        }
    }

    /// Removes all tags.
    pub fn clear(&self) {
        for shard in &self.shards {
            *lock(shard) = Shard::default();
        }
    }

    fn shard(&self, tag: Tag) -> MutexGuard<'_, Shard> {
        lock(&self.shards[(tag.0 % SHARDS as u128) as usize])
    }
}

/// A shard is consistent between any two statements, so a panic elsewhere must not block it.
fn lock(shard: &Mutex<Shard>) -> MutexGuard<'_, Shard> {
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache(entries_max: usize) -> VerifiedCache {
        VerifiedCache::new(entries_max, 1_000).unwrap()
    }

    #[test]
    fn remembers_until_the_time_to_live_is_over() {
        let cache = cache(100);
        let tag = cache.tag(7, b"{ARGON2}x", b"secret");
        assert!(!cache.contains(tag, 0));
        cache.insert(tag, 10);
        assert!(cache.contains(tag, 10));
        assert!(cache.contains(tag, 1_009));
        assert!(!cache.contains(tag, 1_010));
        cache.insert(tag, 2_000);
        assert!(cache.contains(tag, 2_500));
        cache.clear();
        assert!(!cache.contains(tag, 2_500));
    }

    #[test]
    fn every_part_is_in_the_tag() {
        let cache = cache(100);
        let tag = cache.tag(7, b"stored", b"given");
        assert_eq!(tag, cache.tag(7, b"stored", b"given"));
        assert_ne!(tag, cache.tag(8, b"stored", b"given"));
        assert_ne!(tag, cache.tag(7, b"storedg", b"iven"));
        assert_ne!(tag, cache.tag(7, b"stored", b"Given"));
        let other = VerifiedCache::new(100, 1_000).unwrap();
        assert_ne!(tag, other.tag(7, b"stored", b"given"), "keys are random");
    }

    #[test]
    fn stays_bounded_and_drops_the_oldest() {
        let cache = cache(SHARDS);
        let mut tags = Vec::new();
        for entry in 0..1_000 {
            let tag = cache.tag(entry, b"", b"");
            cache.insert(tag, 0);
            tags.push(tag);
        }
        let kept = tags.iter().filter(|it| cache.contains(**it, 0)).count();
        assert_eq!(kept, SHARDS);
        assert!(cache.contains(tags[999], 0));
    }

    #[test]
    fn a_cache_of_no_entries_remembers_nothing() {
        let cache = cache(0);
        let tag = cache.tag(1, b"", b"");
        cache.insert(tag, 0);
        assert!(!cache.contains(tag, 0));
    }
}
