//! Time and memory, which a view has while a client waits. Execution, import and checks have none
//! of them, so their outcome depends on the snapshot and the record alone.

use super::remembered::JudgedSubjects;
use crate::stop::Stop;
use std::fmt::Debug;

/// Time and memory for a request that a client waits for.
pub trait Served {
    /// Microseconds since 1970-01-01T00:00:00Z.
    fn now_us(&self) -> u64;

    /// Microseconds of a clock that never goes back, from any beginning.
    fn steady_us(&self) -> u64;

    /// Access rules judged for subjects, which the serving thread keeps for later operations.
    fn judged(&self) -> &JudgedSubjects;

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

/// A place among the searches without an index, given back when it is dropped.
pub trait Permit: Debug {}
