//! Options of an import.

use policy::password::Scheme;
use replica::clock::{Clock, SystemClock};
use replica::membership::ClusterMark;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Default memory for sorting, in bytes.
const MEMORY_BYTES: usize = 1 << 30;

/// The database that an import writes to. The choice does not change the resulting entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WrittenTo {
    /// The existing database if the input is small beside it, else a new one.
    #[default]
    Fitting,
    /// A new database, which replaces the old one.
    New,
    /// The existing database, however large the input is. A new one is made nevertheless if values
    /// are under rules or an index is incomplete.
    Old,
}

/// Options of an import.
#[derive(Clone)]
pub struct ImportOptions {
    /// Number of threads that parse and encode; 0 for one per core.
    pub threads: usize,
    /// Whether values are checked against their syntaxes, and entries against their classes.
    pub check_schema: bool,
    /// Whether missing superiors of the first entry of a naming context are created.
    pub create_superiors: bool,
    /// Whether naming contexts are added for entries outside the configured contexts.
    pub create_contexts: bool,
    /// Whether values are read from files that the LDIF names by `file:` URLs. The author of the
    /// LDIF chooses the files.
    pub file_urls: bool,
    /// Scheme by which clear-text passwords are hashed; `None` to keep them.
    pub hash_passwords: Option<Scheme>,
    /// Bytes of memory for sorting; more rows are sorted in files.
    pub memory: usize,
    /// Time between checkpoints, from which an interrupted import can resume; `None` for no
    /// checkpoints. Only imports of files and templates make them.
    pub checkpoint: Option<Duration>,
    /// Whether to resume from the last checkpoint of this import, if there is one.
    pub resume: bool,
    /// Folder for sorted files and for entries that wait for their superiors; `None` for the data
    /// folder.
    pub temporary: Option<PathBuf>,
    /// File for rejected entries; created with the first one.
    pub rejects: PathBuf,
    /// The database to write to.
    pub place: WrittenTo,
    /// Approximate size of the input in bytes; `None` if unknown.
    pub input_bytes: Option<u64>,
    /// The generation of a cluster that the import begins: the database is marked in the same
    /// moment in which the entries are in it. `None` for the database of a node alone.
    pub begins: Option<ClusterMark>,
    /// Source of time and identifiers.
    pub clock: Arc<dyn Clock>,
}

impl ImportOptions {
    /// Options with one thread per core, all checks, and this file for rejected entries.
    pub fn new(rejects: PathBuf) -> ImportOptions {
        ImportOptions {
            threads: 0,
            check_schema: true,
            create_superiors: true,
            create_contexts: false,
            file_urls: false,
            hash_passwords: None,
            memory: MEMORY_BYTES,
            checkpoint: None,
            resume: false,
            temporary: None,
            rejects,
            place: WrittenTo::Fitting,
            input_bytes: None,
            begins: None,
            clock: Arc::new(SystemClock),
        }
    }
}
