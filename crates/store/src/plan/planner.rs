//! The snapshot and the indexes that a plan is made for.

use schema::{AttributeNumber, TypeId};
use smallvec::SmallVec;

use crate::index_set::IndexSet;
use crate::snapshot::Snapshot;

/// Makes the steps of a plan. Its functions stand beside this file, by kind of assertion.
pub(super) struct Planner<'p> {
    pub snapshot: &'p Snapshot<'p>,
    pub indexes: &'p IndexSet,
}

/// The base numbers of the indexes that an assertion must read.
pub(super) type Bases = SmallVec<[(AttributeNumber, TypeId); 4]>;
