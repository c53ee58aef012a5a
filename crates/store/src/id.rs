//! Entry ids and their encoding in keys and values.

use std::fmt;

/// The id of an entry: given once, never reused. 0 is the root, which is no entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct EntryId(pub u64);

/// Bytes of an id inside index items and name rows: enough for 2^48 entries.
pub(crate) const ID_BYTES: usize = 6;

impl EntryId {
    /// The root: the parent of naming contexts, and the id before every entry.
    pub const ROOT: EntryId = EntryId(0);
    /// The largest id that index rows can hold.
    pub const MAX: EntryId = EntryId((1 << (8 * ID_BYTES)) - 1);

    /// Parent of the tops of deleted subtrees that are not reclaimed yet. It is no entry: the first
    /// id above [`EntryId::MAX`].
    pub const DETACHED: EntryId = EntryId(EntryId::MAX.0 + 1);

    /// Returns whether an entry can have this id.
    pub fn is_entry(self) -> bool {
        !self.is_root() && self <= EntryId::MAX
    }

    /// Returns whether this is the root, which is no entry.
    pub fn is_root(self) -> bool {
        self.0 == 0
    }

    /// Big-endian bytes, so that rows stand in the order of ids.
    pub(crate) fn packed(self) -> [u8; ID_BYTES] {
        debug_assert!(self <= EntryId::MAX);
        let [_, _, packed @ ..] = self.0.to_be_bytes();
        packed
    }

    pub(crate) fn unpack(bytes: &[u8]) -> Option<EntryId> {
        let packed: [u8; ID_BYTES] = bytes.try_into().ok()?;
        let [a, b, c, d, e, f] = packed;
        Some(EntryId(u64::from_be_bytes([0, 0, a, b, c, d, e, f])))
    }
}

impl fmt::Display for EntryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
