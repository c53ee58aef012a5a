//! Candidates being collected in slices.

use roaring::RoaringTreemap;

use super::step::Step;
use crate::id::EntryId;
use crate::index_set::IndexSet;

/// Candidates being collected. They borrow nothing from a snapshot: rows written meanwhile are
/// among them or not, as for a search that has begun.
#[derive(Debug, Clone, PartialEq)]
pub struct Gathering {
    /// The step whose slow parts are walked one after the other.
    pub(super) step: Step,
    /// Only ids greater than this one are collected.
    pub(super) after: EntryId,
    /// The key of the last row walked in the slow part; empty at its start.
    pub(super) last: Vec<u8>,
    /// The ids of the slow part so far.
    pub(super) ids: RoaringTreemap,
    /// Bytes of the ids of the slow parts that are collected.
    pub(super) collected_bytes: u64,
}

impl Gathering {
    /// Returns the number of bytes of memory that the ids collected so far take.
    pub(crate) fn bytes(&self) -> u64 {
        self.collected_bytes + self.ids.serialized_size() as u64
    }

    /// Returns whether the indexes still to be read exist.
    pub(crate) fn is_indexed(&self, indexes: &IndexSet) -> bool {
        self.step.is_indexed(indexes)
    }
}
