//! Access rules that may be in force later judge the requests of clients beside the rules in force,
//! and the decisions in which the two differ are counted.
//!
//! Invariants:
//! - no answer depends on what is judged here: a request is judged after it was executed;
//! - judging takes at most a given share of a serving thread's time, and bounded memory;
//! - values of attributes are neither kept nor shown.
//!
//! A serving thread keeps requests in [`Waiting`], has them judged by [`judge`] when it would wait
//! for clients, and [`Differences`] counts for all threads of a node.

mod asked;
mod differences;
mod judge;
mod waiting;

pub use differences::{Differences, ShownEntry};
pub use judge::judge;
pub use waiting::{Kept, Waiting};
