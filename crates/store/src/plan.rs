//! Planning: which index finds the entries that a filter may match in a region.
//!
//! Equality, the usual case, is looked up while planning, so a plan for one entry costs one search
//! of one tree and allocates nothing. For everything else the plan knows where to look and about
//! how many entries that gives; the cheapest part of an AND is taken and narrowed by other parts
//! that are not much dearer.

mod advice;
mod estimate;
mod extensible;
mod fetch;
mod gather;
mod links;
mod parts;
mod sample;
mod unindexed;

pub use advice::{Advice, advise};
pub use gather::Gathering;
pub use parts::{FilterPart, filter_parts};

use std::fmt;
use std::sync::Arc;

use roaring::RoaringTreemap;
use schema::{AttributeNumber, Filter, Schema, TypeId};

use crate::candidates::Candidates;
use crate::error::Error;
use crate::id::EntryId;
use crate::index::keys::HashedKey;
use crate::index::order::Side;
use crate::index_set::{IndexKind, IndexSet};
use crate::snapshot::{Region, RegionScope, Snapshot};
use sample::Sample;

/// How to find the candidates of a search.
#[derive(Debug, Clone)]
pub struct Plan {
    pub(crate) step: Step,
    /// About how many entries it yields.
    estimate: u64,
    exact: bool,
    unindexed: bool,
}

/// Where ids come from.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Step {
    /// Nothing matches.
    Nothing,
    /// All entries.
    Everything,
    /// Ids found while planning.
    Found { why: Why, ids: Found },
    /// One value's holders in a bucket, more than were looked up while planning.
    Bucket {
        key: HashedKey,
        type_id: TypeId,
        estimate: u64,
    },
    /// One posting.
    Posting {
        key: HashedKey,
        type_id: TypeId,
        estimate: u64,
    },
    /// Values in their order.
    Order {
        base: u16,
        type_id: TypeId,
        normal: Box<[u8]>,
        side: Side,
        estimate: u64,
        /// Where they are, if the whole filter matches there.
        sample: Sample,
    },
    /// The entries that have links of an attribute.
    Owners {
        base: AttributeNumber,
        type_id: TypeId,
        estimate: u64,
    },
    /// The members of a group.
    Members {
        group: EntryId,
        number: AttributeNumber,
        estimate: u64,
    },
    /// What stands directly below an entry, more than is listed while planning.
    Children {
        parent: EntryId,
        count: u64,
        sample: Sample,
    },
    /// Ids that were collected in slices.
    Gathered(RoaringTreemap),
    /// Ids that the filter lists.
    Listed(Arc<RoaringTreemap>),
    /// Holders of any of these.
    Union(Vec<Step>),
    /// Holders of all of these; the first one is the cheapest.
    Intersection(Vec<Step>),
}

/// Why ids were found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Why {
    /// The base of the search.
    Base,
    /// The region has few entries.
    Region,
    /// An `entryDN` assertion.
    Name,
    /// Links between entries.
    Links,
    /// An index bucket.
    Index(IndexKind, TypeId),
}

/// Ids found while planning.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Found {
    One(EntryId),
    Several(Vec<EntryId>),
}

/// At most this many entries are cheaper to look at than to narrow down further.
const ENOUGH: u64 = 8;
/// Holders of a value that are looked up while planning; of more only the number matters then.
const HOLDERS_FOUND_MAX: usize = 64;
/// Regions up to this many entries are listed while planning when no index does better.
const REGION_MAX: u64 = 4096;
/// A scan reads entries in their order; looking up as many ids costs this much more for each.
const SCAN_ADVANTAGE: u64 = 4;

/// Plans a search for the entries of a region that match a filter.
///
/// # Errors
/// What LMDB says; [`Error::Corrupt`] for index rows that cannot be read.
pub fn plan(
    snapshot: &Snapshot<'_>,
    indexes: &IndexSet,
    filter: &Filter,
    region: &Region,
) -> Result<Plan, Error> {
    if region.scope == RegionScope::Base {
        let ids = Found::One(region.base);
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
    let planner = estimate::Planner { snapshot, indexes };
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
    /// Whether the filter is true of every entry, so that it need not be evaluated. Whether a
    /// candidate lies in the region has to be checked all the same.
    pub fn exact(&self) -> bool {
        self.exact
    }

    /// About how many candidates there are.
    pub fn estimate(&self) -> u64 {
        self.estimate
    }

    /// Whether all entries have to be looked at.
    pub fn is_scan(&self) -> bool {
        matches!(self.step, Step::Everything)
    }

    /// Whether many entries have to be looked at, of which no index has chosen any: all of them, or
    /// those of a large region. A search that finds most of what it looks at is no such search.
    pub fn is_unindexed(&self) -> bool {
        self.unindexed
    }

    /// The plan in words, with the names of attribute types.
    pub fn explain(&self, schema: &Schema) -> String {
        let mut text = String::new();
        let name = |type_id: TypeId| schema.type_of(type_id).name().to_owned();
        explain(&self.step, &name, &mut text);
        format!("{text}; about {} candidates", self.estimate)
    }
}

impl fmt::Display for Plan {
    /// The plan in words; attribute types are numbers, since a plan knows no schema.
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

fn explain(step: &Step, name: &dyn Fn(TypeId) -> String, out: &mut String) {
    match step {
        Step::Nothing => out.push_str("nothing can match"),
        Step::Everything => out.push_str("scan of all entries"),
        Step::Found { why, ids } => {
            match why {
                Why::Base => out.push_str("the base entry"),
                Why::Region => out.push_str("entries of the region"),
                Why::Name => out.push_str("entry of that name"),
                Why::Links => out.push_str("links between entries"),
                Why::Index(kind, type_id) => {
                    out.push_str(&format!("{} index of {}", kind.name(), name(*type_id)));
                }
            }
            let count = match ids {
                Found::One(_) => 1,
                Found::Several(ids) => ids.len(),
            };
            out.push_str(&format!(" ({count})"));
        }
        Step::Posting {
            key,
            type_id,
            estimate,
        }
        | Step::Bucket {
            key,
            type_id,
            estimate,
        } => {
            out.push_str(&format!("{} index of {}", key.kind.name(), name(*type_id)));
            out.push_str(&format!(" ({estimate})"));
        }
        Step::Order {
            type_id,
            side,
            estimate,
            ..
        } => {
            let side = if matches!(side, Side::From) {
                ">="
            } else {
                "<="
            };
            out.push_str(&format!(
                "ordering index of {} {side} ({estimate})",
                name(*type_id)
            ));
        }
        Step::Owners {
            type_id, estimate, ..
        } => out.push_str(&format!("links of {} ({estimate})", name(*type_id))),
        Step::Members { estimate, .. } => {
            out.push_str(&format!("members of a group ({estimate})"));
        }
        Step::Children { count, .. } => out.push_str(&format!("entries of the region ({count})")),
        Step::Gathered(ids) => out.push_str(&format!("collected entries ({})", ids.len())),
        Step::Listed(ids) => out.push_str(&format!("links between entries ({})", ids.len())),
        Step::Union(parts) => explain_parts("any of", parts, name, out),
        Step::Intersection(parts) => explain_parts("all of", parts, name, out),
    }
}

fn explain_parts(word: &str, parts: &[Step], name: &dyn Fn(TypeId) -> String, out: &mut String) {
    out.push_str(word);
    for (at, part) in parts.iter().enumerate() {
        out.push_str(if at == 0 { " [" } else { ", " });
        explain(part, name, out);
    }
    out.push(']');
}

impl Snapshot<'_> {
    /// The candidates of a plan with ids greater than `after`.
    ///
    /// # Errors
    /// What LMDB says; [`Error::Corrupt`] for index rows that cannot be read.
    pub fn candidates(&self, plan: &Plan, after: EntryId) -> Result<Candidates, Error> {
        // One id needs no set.
        if let Step::Found {
            ids: Found::One(id),
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
