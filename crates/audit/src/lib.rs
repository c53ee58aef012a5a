//! Lines of the audit: one JSON object for each changed entry, chained by BLAKE3 hashes.
//!
//! ```text
//! execution ─► Line ─► Head::append ─► bytes, and the hash that the next line carries
//! files ─► Verifier ─► the first line that is not the one that was written
//! ```
//!
//! Invariants:
//! - equal lines after an equal head are equal bytes, so nodes that executed the same records have
//!   the same chain;
//! - nothing here reads a file, a clock or a setting;
//! - no bytes make reading panic, or work for longer than their number asks for.

mod attempts;
mod chain;
#[doc(hidden)]
pub mod fuzz;
mod json;
mod line;
mod read;
mod verify;

pub use attempts::{AttemptKind, Attempts, EntryName};
pub use chain::{Closing, Hash, Head, Opening, hex};
pub use line::{Author, Change, Line, Operation, VALUE_BYTES_MAX, Values};
pub use read::{Read, Written};
pub use verify::{Finding, Verifier};
