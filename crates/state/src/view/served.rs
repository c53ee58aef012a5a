//! Time, memory, and limits on walks, which a view has while a client waits. Execution, import and
//! checks have none of them, so their outcome depends on the snapshot and the record alone.

use super::View;
use crate::stop::Stop;
use schema::Filter;
use std::fmt::Debug;

/// Time and memory for a request that a client waits for.
pub trait Served {
    /// Microseconds since 1970-01-01T00:00:00Z.
    fn now_us(&self) -> u64;

    /// Microseconds of a clock that never goes back, from any beginning.
    fn steady_us(&self) -> u64;

    /// Memory of the server's budget for what walks keep from one slice to the next.
    fn room(&self) -> Box<dyn Room>;
}

/// A share of a budget of memory, given back when it is dropped.
pub trait Room: Debug {
    /// Takes what is missing to these bytes.
    ///
    /// # Errors
    /// `busy` when the budget has no more; nothing is taken then.
    fn grow(&mut self, bytes: u64) -> Result<(), Stop>;
}

/// What walks over the members of dynamic groups may cost a search.
pub trait WalkLimits {
    /// A place for a walk that no index helps; `None` where it needs none.
    ///
    /// # Errors
    /// A refusal where the subject has as many such searches under way as it may.
    fn admit(&self, view: &View<'_>, filter: &Filter) -> Result<Option<Box<dyn Permit>>, Stop>;

    /// The most entries that one walk may look at; `None` where nothing limits them.
    fn entries_max(&self) -> Option<u64>;

    /// Refuses a walk whose time is over.
    ///
    /// # Errors
    /// `timeLimitExceeded`
    fn require_time(&self, view: &View<'_>) -> Result<(), Stop>;
}

/// A place among the searches without an index, given back when it is dropped.
pub trait Permit: Debug {}
