//! Searches that look at many entries of which no index has chosen any.
//!
//! What is looked at tells little by itself. A search that all entries match looks at all of them
//! and gets what it pays for, and so does one for most of them: the plan then reads all entries
//! because that is cheaper than an index is. What counts is whether it finds what it looks at.

use std::collections::VecDeque;

use schema::{Filter, Selector, grams_of_assertion};

use super::costs::{REGION_MAX, SCAN_ADVANTAGE};
use super::estimate::is_object_class;
use super::planner::Planner;
use super::step::Step;
use crate::error::Error;
use crate::id::EntryId;
use crate::index_set::IndexKind;
use crate::snapshot::{Region, RegionScope};

impl Planner<'_> {
    /// Whether a step for a filter and a region looks at many entries for little.
    #[cold]
    pub(super) fn is_unindexed(
        &self,
        step: &Step,
        filter: &Filter,
        region: &Region,
    ) -> Result<bool, Error> {
        match step {
            Step::Everything => Ok(!(self.answers(filter) && self.is_large_part(region)?)),
            Step::Children { .. } => Ok(!self.answers(filter)),
            _ => Ok(false),
        }
    }

    /// Whether indexes answer every part of a filter, so that what they give matches.
    pub(super) fn answers(&self, filter: &Filter) -> bool {
        let has = |selector: &Selector, kind| self.bases(selector, kind).is_some();
        match filter {
            Filter::True | Filter::False | Filter::Undefined(_) => true,
            Filter::Among(_) | Filter::Member(_) => true,
            // What an index gives is what a negation does not want.
            Filter::Not(_) => false,
            Filter::And(parts) => parts.iter().all(|it| self.answers(it)),
            Filter::Or(parts) => parts.iter().all(|it| self.answers(it)),
            Filter::Equality(it) => has(&it.selector, IndexKind::Equality),
            Filter::Substrings(it) => {
                has(&it.selector, IndexKind::Substring) && !grams_of_assertion(it).is_empty()
            }
            Filter::GreaterOrEqual(it) | Filter::LessOrEqual(it) => {
                has(&it.selector, IndexKind::Ordering)
            }
            Filter::Approx(it) => has(&it.selector, IndexKind::Approximate),
            Filter::Present(it) => {
                is_object_class(self.indexes, it) || has(it, IndexKind::Presence)
            }
            Filter::Extensible(it) => match (it.selectors.as_slice(), self.index_of(it)) {
                ([selector], Some(kind)) => !it.dn_attributes && has(selector, kind),
                _ => false,
            },
        }
    }

    /// Whether a region has a good part of all entries, or is a naming context as a whole.
    fn is_large_part(&self, region: &Region) -> Result<bool, Error> {
        let snapshot = self.snapshot;
        // All entries are looked at for children only when they are many of them.
        if region.base.is_root() || region.scope == RegionScope::OneLevel {
            return Ok(true);
        }
        let base = snapshot.entry(region.base)?;
        if base.is_none_or(|it| it.parent().is_root()) {
            return Ok(true);
        }
        let entries = snapshot.entry_count()?;
        let mut open: VecDeque<EntryId> = VecDeque::from([region.base]);
        let (mut below, mut met) = (0_u64, 0);
        while let Some(parent) = open.pop_front() {
            let children = snapshot.child_count(parent)?;
            below = below.saturating_add(children);
            if below.saturating_mul(SCAN_ADVANTAGE) > entries {
                return Ok(true);
            }
            if children > 0 && met < REGION_MAX {
                for child in snapshot.children(parent).take((REGION_MAX - met) as usize) {
                    open.push_back(child?);
                    met += 1;
                }
            }
        }
        Ok(false)
    }
}
