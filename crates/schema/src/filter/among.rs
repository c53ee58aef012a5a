//! Sets of entries as a filter: the resolved form of assertions about links between entries.

use std::sync::Arc;

use roaring::RoaringTreemap;

use super::Filter;
use crate::dictionary::AttributeNumber;

/// A filter that is true of a set of entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Among {
    ids: Arc<RoaringTreemap>,
    asserted: Box<Filter>,
}

impl Among {
    /// Returns the filter for the entries with these ids, of which `asserted` is true.
    pub fn new(ids: Arc<RoaringTreemap>, asserted: Filter) -> Among {
        Among {
            ids,
            asserted: Box::new(asserted),
        }
    }

    /// Ids of the entries. There may be millions: they are shared, never copied.
    pub fn ids(&self) -> &Arc<RoaringTreemap> {
        &self.ids
    }

    /// The assertion that the set stands for.
    pub fn asserted(&self) -> &Filter {
        &self.asserted
    }

    /// Returns whether the entry with this id is in the set.
    pub fn contains(&self, id: u64) -> bool {
        self.ids.contains(id)
    }
}

/// A filter that is true of the members of a group, tested without a list of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Membership {
    /// Id of the group's entry.
    pub group: u64,
    /// Number of the attribute with the members.
    pub number: AttributeNumber,
    /// Approximate number of members.
    pub count: u64,
    /// The assertion that the membership stands for.
    pub asserted: Box<Filter>,
}
