//! Entries as a filter: what assertions about links between entries have been resolved to.

use std::sync::Arc;

use roaring::RoaringTreemap;

use super::Filter;
use crate::dictionary::AttributeNumber;

/// "The entry is one of these."
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Among {
    ids: Arc<RoaringTreemap>,
    asserted: Box<Filter>,
}

impl Among {
    /// The entries with these numbers, which are those for which `asserted` is true.
    pub fn new(ids: Arc<RoaringTreemap>, asserted: Filter) -> Among {
        Among {
            ids,
            asserted: Box::new(asserted),
        }
    }

    /// The numbers. There may be millions: they are shared, never copied.
    pub fn ids(&self) -> &Arc<RoaringTreemap> {
        &self.ids
    }

    /// The assertion this stands for.
    pub fn asserted(&self) -> &Filter {
        &self.asserted
    }

    /// Whether the entry of this number is one of them.
    pub fn contains(&self, id: u64) -> bool {
        self.ids.contains(id)
    }
}

/// "The entry is a member of this group", whose members need not be listed to tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Membership {
    /// The number of the group's entry.
    pub group: u64,
    /// The attribute that has its members.
    pub number: AttributeNumber,
    /// About how many there are.
    pub count: u64,
    /// The assertion this stands for.
    pub asserted: Box<Filter>,
}
