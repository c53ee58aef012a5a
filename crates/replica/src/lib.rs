//! One node's copy of the directory over time: the writer that orders and executes, the log and
//! recovery after a crash, kept changes, compaction, index builds, and the search for damage.
//!
//! Invariants:
//! - an acknowledged write survives the end of the process and of the machine;
//! - nothing here knows an operation or a client: writes come as [`Submission`]s with a ticket that
//!   only [`Clients`] can read;
//! - the store is private to this crate and `transfer`: users of a [`Replica`] get snapshots.

mod arrivals;
pub mod attempts;
pub mod audit_files;
pub mod audit_head;
pub mod changes;
pub mod check;
mod clients;
pub mod clock;
pub mod commit_log;
mod commits;
pub mod compact;
pub mod create;
mod executor;
mod expiry;
pub mod failure;
mod follower;
#[doc(hidden)]
pub mod fuzz;
mod in_flight;
pub mod leftovers;
pub mod membership;
mod node;
mod numbered_files;
mod order;
mod orderer;
pub mod partial;
mod parts;
mod patience;
mod payload;
mod reclaiming;
pub mod recover;
mod rehash;
mod scrub;
#[cfg(test)]
mod simulation;
mod steward;
pub mod witnesses;
mod writer;

pub use arrivals::Arrived;
pub use clients::{Clients, Observer, Submission, Writes};
pub use clock::{Clock, SystemClock};
pub use commits::{Build, Commits};
pub use create::{InitOptions, create};
pub use node::{Opened, Options, Replica, Status};
pub use patience::Patience;
pub use reclaiming::Sizes as ReclaimSizes;
pub use scrub::{Scrubbing, Standing as ScrubStanding};
pub use state::level;
pub use writer::Attempts;
