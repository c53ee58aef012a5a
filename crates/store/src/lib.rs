//! The store: entries, names and indexes in LMDB; snapshots, batches, planning, bulk load, backup,
//! check, digest.
//!
//! API boundary: everything public is documented and tested from outside. The formats stand in
//! docs/formats/database.md.
//!
//! **Invariant:** the store knows no LDAP messages, no subjects and no passwords; it answers
//! "which entries", never "may they".
//!
//! **Invariant:** no snapshot lives across a wait for a client: LMDB cannot reuse pages that a
//! reader still sees.
//!
//! **Invariant:** versions of states only grow while a store is open, also when a compacted copy
//! takes the place of the database file ([`Store::replace_with`]).

mod batch;
mod bulk;
pub mod bytes;
mod candidates;
mod check;
mod containers;
mod data_folder;
mod detached;
mod entry;
mod entry_store;
mod equal;
mod error;
mod fields;
mod file_system;
pub mod fuzz;
mod id;
mod in_use;
mod index;
mod index_set;
mod journal;
mod link;
mod lmdb;
mod lock;
mod open_database;
mod page_file;
mod page_layout;
mod page_writes;
mod plan;
pub mod private;
mod reader;
mod reader_table;
mod replace;
mod room;
mod snapshot;
mod state;
mod store;
mod tables;
mod tree_walk;
mod usage;

/// Version of the program, for messages.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

pub use batch::{Batch, Savepoint};
pub use bulk::{BulkLoader, Finished, Loaded, Place, Prepared, Preparer};
pub use candidates::{CandidateEntries, Candidates};
pub use check::{Report, Scrub, check};
pub use data_folder::DATABASE_FILE;
pub use detached::Detached;
pub use entry::{EntryBuilder, EntryView, StoredAttribute};
pub use equal::compare;
pub use error::Error;
pub use fields::{FieldReader, Fields};
pub use file_system::overwrite_in_place;
pub use id::EntryId;
pub use index::build::{Progress, SliceLimits};
pub use index::estimate::{IndexEstimate, estimate_index};
pub use index::order_rows::{OrderRow, OrderRows, OrderStart, order_form};
pub use index_set::{IndexDefinition, IndexKind, IndexKinds, IndexSet, IndexState};
pub use journal::{Disk, Journal, JournalState, LogTail, Recovery, SystemDisk};
pub use link::{
    Holder, LinkKind, LinkedSet, Members, SetId, TEXTS_IN_ROW_MAX, becomes_links, is_linked_type,
    link_kind, make_member_form,
};
pub use lmdb::Statistics;
pub use lock::LOCK_FILE;
pub use page_file::PageProblems;
pub use page_writes::{PageWriter, forget, write_pages};
pub use plan::{Advice, FilterPart, Gathering, Plan, advise, filter_parts, plan};
pub use reader::Reader;
pub use replace::{Paused, Retired};
pub use snapshot::{Lookup, Region, RegionScope, Snapshot};
pub use store::{Store, StoreOptions};
pub use tree_walk::TreeWalk;
pub use usage::Usage;
