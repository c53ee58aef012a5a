//! Unindexed searches: those that read many entries which no index has selected.
//!
//! The number of entries read tells little by itself. A search that all or most entries match reads
//! all of them with reason: a scan is then cheaper than an index. What counts is the share of
//! entries read that match.

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
    /// Returns whether a step for a filter and a region reads many entries for few matches.
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

    /// Returns whether indexes answer every part of a filter, so that the candidates match.
    pub(super) fn answers(&self, filter: &Filter) -> bool {
        let has = |selector: &Selector, kind| self.bases(selector, kind).is_some();
        match filter {
            Filter::True | Filter::False | Filter::Undefined(_) => true,
            Filter::Among(_) | Filter::Member(_) => true,
            // An index gives the entries that a negation excludes.
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

    /// Returns whether a region has a good part of all entries, or is a whole naming context.
    fn is_large_part(&self, region: &Region) -> Result<bool, Error> {
        let snapshot = self.snapshot;
        // For children, a scan is planned only when they are a large part of all entries.
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
