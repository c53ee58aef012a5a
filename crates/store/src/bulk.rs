//! Bulk load: a whole database written in the order of its trees.
//!
//! Entries are appended in the order of ids. Names and index keys are collected in memory, sorted
//! at the end and appended tree by tree, which fills pages completely and costs a fraction of
//! inserting in random order. Keys beyond the memory limit are sorted and written to files, which
//! are merged at the end. Until [`BulkLoader::finish`] has returned, the folder is not a database
//! anyone should open.
//!
//! Memory up to the limit: some 80 bytes for each name, 16 for each value of an equality index, 2
//! for each trigram of a value, 8 for each link. Beyond it come the members of the current group, 8
//! bytes each, and member texts that name no entry.

mod append;
mod checkpoint;
mod collect;
mod flush;
mod groups;
mod keys;
mod links;
mod loader;
mod prepare;
mod runs;
mod spill;
mod write;

pub use append::Place;
pub use loader::BulkLoader;
pub use prepare::{Prepared, Preparer};
pub use write::{Finished, Loaded};
