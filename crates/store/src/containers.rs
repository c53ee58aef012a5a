//! A reader's cache of containers (entries that have children): their ids, parents and names.
//!
//! Invariants:
//! - only containers are cached. A container cannot be deleted, so its cached parent and name
//!   become wrong only when one is renamed or moved, or loses its last child: exactly then a write
//!   raises the state's rename counter, and a new counter clears the cache;
//! - the counter is read again only when the transaction id has changed;
//! - the cache holds at most [`BYTES_MAX`].

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use xxhash_rust::xxh3::xxh3_64;

use crate::id::EntryId;

/// Bytes of names in the cache at most, room for some 100,000 containers; beyond it the cache is
/// cleared.
const BYTES_MAX: usize = 16 << 20;
/// Approximate bytes of a map entry beside its name.
const OVERHEAD_BYTES: usize = 64;

/// A cached container.
#[derive(Debug)]
pub(crate) struct Container {
    pub parent: EntryId,
    /// The DN as spelled.
    pub name: Box<[u8]>,
}

/// The container cache of one reader.
#[derive(Debug, Default)]
pub(crate) struct Containers {
    /// The transaction id at which the counter was read last.
    version: u64,
    counter: u64,
    /// Whether some entries are detached.
    hides_some: bool,
    by_id: HashMap<u64, Container, BuildHasherDefault<Spread>>,
    /// Normalised name and id, by the hash of the normalised name.
    by_name: HashMap<u64, (Box<[u8]>, EntryId), BuildHasherDefault<Spread>>,
    bytes: usize,
}

impl Containers {
    /// Returns whether the cache has been compared with this version already.
    #[inline]
    pub fn is_current(&self, version: u64) -> bool {
        self.version == version
    }

    /// Returns whether the cache is valid for states with this rename counter.
    pub fn is_of(&self, counter: u64) -> bool {
        self.counter == counter
    }

    /// Notes that the cache is valid for a version, whose counter was compared.
    pub fn hold_for(&mut self, version: u64) {
        self.version = version;
    }

    /// Clears the cache and makes it one for the rename counter `counter`.
    pub fn renew(&mut self, counter: u64, hides_some: bool) {
        self.clear();
        self.counter = counter;
        self.hides_some = hides_some;
    }

    /// Returns whether some entries are detached. The rename counter covers this too: it rises when
    /// the first detached entry comes and when the last one goes.
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

    /// Returns the id of the container with a normalised name, if it is cached.
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

/// Hasher for ids and hashes, one multiplication: the server chooses them, not clients, and a
/// collision costs only time.
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
