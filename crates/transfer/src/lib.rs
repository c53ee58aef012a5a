//! Bulk movement of a directory's data, without a server or beside one: import, export, backup,
//! restore, and estimates of index sizes.
//!
//! Invariants:
//! - nothing here knows a client or an operation;
//! - a target is complete under its name, or absent, whenever the process ends.

pub mod backup;
mod damage;
pub mod export;
#[doc(hidden)]
pub mod fuzz;
pub mod import;
mod index_room;
mod line;
mod meter;

pub use index_room::estimate_indexes;
pub use meter::Meter;
