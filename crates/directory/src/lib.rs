//! The operations of a directory: the crate that combines protocol, schema, policy and store.
//!
//! A serving thread owns a [`Worker`] and passes it whole messages; responses are written into the
//! connection's output buffer. Reads run on the calling thread; writes are resolved there and
//! executed in one order by the writer thread, whose results return through a [`Mailbox`].
//!
//! Invariants:
//! - an operation never holds the store: it holds a `Context` that hands out entries already
//!   narrowed to the subject;
//! - the store is out of reach: there are snapshots, and submissions to the writer;
//! - no snapshot lives across a wait for a client.

mod account;
mod answer;
mod arrival;
mod call;
mod completion;
mod context;
mod control;
mod directory_state;
mod dispatch;
mod feed;
mod flow;
mod freshness;
#[doc(hidden)]
pub mod fuzz;
mod last_name;
mod monitor;
mod open;
mod operation;
pub mod operations_log;
mod options;
mod pace;
mod peer;
mod places;
mod reply;
mod request_writes;
mod search;
mod session;
mod ticket;
mod worker;

pub use completion::{Completion, Mailbox};
pub use flow::Flow;
pub use monitor::{Connections, Front, ListenerState, SetLimits, Shown, ShownEntry};
pub use open::Directory;
pub use operation::follow::{Followed, Follower};
pub use options::{Connect, Options, Reached};
pub use peer::{ClientCertificate, Peer};
pub use replica::audit_files::{Auditing, FileRules};
pub use replica::changes::Keeping;
pub use replica::witnesses::{Testimony, WitnessQuestion, Witnesses};
pub use replica::{Clock, InitOptions, Patience, Scrubbing, Status, SystemClock};
pub use search::cursor::Cursor;
pub use session::Session;
pub use spool::FILES_MAX as SPOOL_FILES_MAX;
pub use state::stop::{Failure, Refusal, Stop};
pub use worker::Worker;
