//! Memory and temporary files of long answers, within budgets: entries too large for the output
//! buffer, sort keys, and sorted lists of which views and pages show parts; the signed cookies with
//! which clients come back for the next part; and what a connection keeps of open transactions and
//! bulk updates.
//!
//! Invariants:
//! - a connection, and all of them together, take no more memory than their budget;
//! - temporary files have no name, so that none is left behind.

pub mod bulk_stream;
pub mod cookie;
#[doc(hidden)]
pub mod fuzz;
pub mod list;
pub mod memory;
mod spool;
pub mod transactions;

pub use spool::{FILES_MAX, Spool, Spools};
