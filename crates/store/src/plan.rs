//! Planning: the choice of the indexes that find the candidates of a filter in a region.
//!
//! Equality, the usual case, is looked up while planning, so a plan for one entry costs one search
//! of one tree and allocates nothing. For other assertions the plan has the index to read and the
//! approximate number of entries; the cheapest part of an AND is taken, and narrowed by other parts
//! that are not much dearer.

mod advice;
mod costs;
mod estimate;
mod explain;
mod extensible;
mod fetch;
mod gather;
mod gathering;
mod links;
mod parts;
mod planner;
mod sample;
mod step;
mod unindexed;
mod walk;

pub use advice::{Advice, advise};
pub use gathering::Gathering;
pub use parts::{FilterPart, filter_parts};

use std::fmt;

use schema::{Filter, Schema, TypeId};

use crate::candidates::Candidates;
use crate::error::Error;
use crate::id::EntryId;
use crate::index_set::IndexSet;
use crate::snapshot::{Region, RegionScope, Snapshot};
use explain::explain;
use planner::Planner;
use sample::Sample;
use step::{FoundIds, Step, Why};

/// A plan that finds the candidates of a search.
#[derive(Debug, Clone)]
pub struct Plan {
    pub(crate) step: Step,
    /// Approximate number of candidates.
    estimate: u64,
    exact: bool,
    unindexed: bool,
}

/// Plans a search for the entries of a region that match a filter.
///
/// # Errors
/// Errors of LMDB; [`Error::Corrupt`] for index rows that cannot be read.
pub fn plan(
    snapshot: &Snapshot<'_>,
    indexes: &IndexSet,
    filter: &Filter,
    region: &Region,
) -> Result<Plan, Error> {
    if region.scope == RegionScope::Base {
        let ids = FoundIds::One(region.base);
        let step = Step::Found {
            why: Why::Base,
            ids,
        };
        return Ok(Plan {
            step,
            estimate: 1,
            exact: estimate::is_true(indexes, filter),
            unindexed: false,
        });
    }
    let planner = Planner { snapshot, indexes };
    let mut step = planner.narrow_to_region(planner.filter(filter)?, region)?;
    let estimate = planner.size(&step)?;
    let exact = estimate::is_true(indexes, filter);
    let unindexed = match &step {
        Step::Everything | Step::Children { .. } => planner.is_unindexed(&step, filter, region)?,
        _ => false,
    };
    if let Step::Order { sample, .. } | Step::Children { sample, .. } = &mut step
        && !planner.answers(filter)
    {
        *sample = Sample::default();
    }
    Ok(Plan {
        step,
        estimate,
        exact,
        unindexed,
    })
}

impl Plan {
    /// Returns whether the filter matches every entry, so that it need not be evaluated. Whether a
    /// candidate lies in the region must be checked all the same.
    pub fn exact(&self) -> bool {
        self.exact
    }

    /// Approximate number of candidates.
    pub fn estimate(&self) -> u64 {
        self.estimate
    }

    /// Returns whether all entries must be read.
    pub fn is_scan(&self) -> bool {
        matches!(self.step, Step::Everything)
    }

    /// Returns whether many entries must be read that no index has selected: all, or those of a
    /// large region. A search that matches most of the entries it reads does not count.
    pub fn is_unindexed(&self) -> bool {
        self.unindexed
    }

    /// Returns the plan as text for people, with the names of attribute types.
    pub fn explain(&self, schema: &Schema) -> String {
        let mut text = String::new();
        let name = |type_id: TypeId| schema.type_of(type_id).name().to_owned();
        explain(&self.step, &name, &mut text);
        format!("{text}; about {} candidates", self.estimate)
    }
}

impl fmt::Display for Plan {
    /// Writes the plan as text; attribute types are numbers, since a plan has no schema.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        explain(
            &self.step,
            &|type_id| format!("type {}", type_id.0),
            &mut text,
        );
        write!(f, "{text}; about {} candidates", self.estimate)
    }
}

impl Snapshot<'_> {
    /// Returns the candidates of a plan with ids greater than `after`.
    ///
    /// # Errors
    /// Errors of LMDB; [`Error::Corrupt`] for index rows that cannot be read.
    pub fn candidates(&self, plan: &Plan, after: EntryId) -> Result<Candidates, Error> {
        // A single id needs no set.
        if let Step::Found {
            ids: FoundIds::One(id),
            ..
        } = &plan.step
        {
            return Ok(if *id > after {
                Candidates::One(*id)
            } else {
                Candidates::None
            });
        }
        fetch::fetch(self, &plan.step, after)
    }
}
