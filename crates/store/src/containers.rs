//! What a reader remembers of entries that have children: where they are and what they are called.
//!
//! Invariants:
//! - only entries with children are remembered. Such an entry cannot be deleted, so what is
//!   remembered goes wrong only when one is renamed or moved, or loses its last child: exactly
//!   then a write raises the state's rename counter, and a new counter clears everything;
//! - the counter is read again only when the transaction id has changed;
//! - never more than [`BYTES_MAX`] are remembered.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use xxhash_rust::xxh3::xxh3_64;

use crate::id::EntryId;

/// Bytes of names remembered at most; then everything is forgotten. Room for some 100,000
/// containers.
const BYTES_MAX: usize = 16 << 20;
/// What an entry of a map takes besides its name, roughly.
const OVERHEAD_BYTES: usize = 64;

/// An entry that has children.
#[derive(Debug)]
pub(crate) struct Container {
    pub parent: EntryId,
    /// Its DN as spelled.
    pub name: Box<[u8]>,
}

/// The containers one reader remembers.
#[derive(Debug, Default)]
pub(crate) struct Containers {
    /// The transaction id at which the counter was read last.
    version: u64,
    counter: u64,
    /// Some entries are detached.
    hides_some: bool,
    by_id: HashMap<u64, Container, BuildHasherDefault<Spread>>,
    /// Under the hash of the normalised name: the name and the entry.
    by_name: HashMap<u64, (Box<[u8]>, EntryId), BuildHasherDefault<Spread>>,
    bytes: usize,
}

impl Containers {
    /// Whether what is remembered has been compared with this version already.
    #[inline]
    pub fn is_current(&self, version: u64) -> bool {
        self.version == version
    }

    /// Whether what is remembered is true of states with this counter.
    pub fn is_of(&self, counter: u64) -> bool {
        self.counter == counter
    }

    /// Has been compared with the counter of a version, and is true of it.
    pub fn hold_for(&mut self, version: u64) {
        self.version = version;
    }

    /// Forgets everything that another counter stood for.
    pub fn renew(&mut self, counter: u64, hides_some: bool) {
        self.clear();
        self.counter = counter;
        self.hides_some = hides_some;
    }

    /// Whether some entries are detached: told by the counter, too, which is raised when the first
    /// one comes and when the last one goes.
    #[inline]
    pub fn hides_some(&self) -> bool {
        self.hides_some
    }

    #[inline]
    pub fn by_id(&self, id: EntryId) -> Option<&Container> {
        self.by_id.get(&id.0)
    }

    pub fn remember(&mut self, id: EntryId, container: Container) {
        self.make_room(container.name.len());
        self.by_id.insert(id.0, container);
    }

    /// The entry of a normalised name.
    #[inline]
    pub fn by_name(&self, name: &[u8]) -> Option<EntryId> {
        let (found, id) = self.by_name.get(&xxh3_64(name))?;
        (**found == *name).then_some(*id)
    }

    pub fn remember_name(&mut self, name: &[u8], id: EntryId) {
        self.make_room(name.len());
        self.by_name.insert(xxh3_64(name), (name.into(), id));
    }

    fn make_room(&mut self, bytes: usize) {
        self.bytes += bytes + OVERHEAD_BYTES;
        if self.bytes > BYTES_MAX {
            self.clear();
            self.bytes = bytes + OVERHEAD_BYTES;
        }
    }

    fn clear(&mut self) {
        self.by_id.clear();
        self.by_name.clear();
        self.bytes = 0;
    }
}

/// Hashes ids and hashes by one multiplication: they come from us, not from clients' choice of
/// map keys, and a clash costs only time.
#[derive(Debug, Default)]
pub(crate) struct Spread(u64);

impl Hasher for Spread {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = xxh3_64(bytes);
    }

    #[inline]
    fn write_u64(&mut self, value: u64) {
        let spread = value.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.0 = spread ^ (spread >> 32);
    }
}
