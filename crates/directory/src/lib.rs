//! The operations of a directory: the crate that combines protocol, schema, policy and store.
//!
//! A serving thread owns a [`Worker`] and passes it whole messages; responses are written into the
//! connection's output buffer. Reads run on the calling thread; writes are resolved there and
//! executed in one order by the writer thread, whose results return through a [`Mailbox`].
//!
//! Invariants:
//! - an operation never holds the store: it holds a `Context` that hands out entries already
//!   narrowed to the subject;
//! - execution (`execute/`) reads nothing but the record and the store: no clock, no randomness,
//!   no setting;
//! - no snapshot lives across a wait for a client.

pub mod backup;
mod bound;
mod bundle;
pub mod changes;
pub mod check;
mod clock;
mod commit;
pub mod compact;
mod context;
mod cursor;
mod dispatch;
mod expiry;
pub mod export;
mod failure;
mod feed;
mod flow;
#[doc(hidden)]
pub mod fuzz;
mod group_walk_limits;
mod hashing;
#[cfg(test)]
mod history_tests;
pub mod import;
mod index_room;
mod memory;
mod monitor;
mod open;
mod operation;
pub mod operations_log;
mod pace;
mod paging;
mod partial;
mod recover;
mod scrub;
mod session;
mod transactions;
mod worker;
mod writer;

pub use clock::{Clock, SystemClock};
pub use cursor::Cursor;
pub use flow::{Completion, Flow, Mailbox};
pub use index_room::estimate_indexes;
pub use monitor::{Connections, Front, ListenerState, SetLimits};
pub use open::{Directory, InitOptions, Options, Status};
pub use operation::follow::{Followed, Follower};
pub use operation::spool::FILES_MAX as SPOOL_FILES_MAX;
pub use partial::Partial;
pub use recover::Recovered;
pub use scrub::Scrubbing;
pub use session::{Peer, Session};
pub use state::stop::{Failure, Refusal, Stop};
pub use worker::Worker;
