//! Entries as a filter: what assertions about links between entries have been resolved to.
//!
//! Always holds: the numbers ascend.

use std::sync::Arc;

use super::Filter;
use crate::dictionary::AttributeNumber;

/// "The entry is one of these."
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Among {
    ids: Arc<[u64]>,
    asserted: Box<Filter>,
}

impl Among {
    /// The entries with these numbers, in any order, which are those for which `asserted` is true.
    pub fn new(mut ids: Vec<u64>, asserted: Filter) -> Among {
        ids.sort_unstable();
        ids.dedup();
        Among {
            ids: ids.into(),
            asserted: Box::new(asserted),
        }
    }

    /// The numbers, ascending.
    pub fn ids(&self) -> &[u64] {
        &self.ids
    }

    /// The assertion this stands for.
    pub fn asserted(&self) -> &Filter {
        &self.asserted
    }

    /// Whether the entry of this number is one of them.
    pub fn contains(&self, id: u64) -> bool {
        self.ids.binary_search(&id).is_ok()
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
