//! Options for opening a directory.

use policy::outside::{NoOutsidePasswords, OutsidePasswords};
use policy::quality::{NoLists, PasswordLists};
use policy::{LimitSettings, LimitSubject, Limits, PasswordSettings};
use replica::audit_files::Auditing;
use replica::changes::Keeping;
use replica::commit_log::CommitLog;
use replica::membership::ClusterMark;
use replica::{Clock, Patience, ReclaimSizes, Scrubbing, SystemClock};
use state::bounds::Bounds;
use state::stop::Failure;
use std::sync::Arc;
use std::time::Duration;

/// How far a database is, for its log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reached {
    /// Place in the log of the cluster up to which every record was executed.
    pub place: u64,
    /// Format level at which records are executed.
    pub level: u32,
    /// Cluster and generation that the database belongs to; `None` for that of a node alone.
    pub mark: Option<ClusterMark>,
}

/// Connects to the log of a cluster, for a database that is so far.
pub type Connect = Arc<dyn Fn(Reached) -> Result<Arc<dyn CommitLog>, Failure> + Send + Sync>;

/// Options for opening a directory.
#[derive(Clone)]
pub struct Options {
    /// Source of time and identifiers.
    pub clock: Arc<dyn Clock>,
    /// Treatment of passwords. In a cluster the directory has it, and this is not used.
    pub passwords: PasswordSettings,
    /// Lists in which new passwords may not stand, for policies that ask them.
    pub lists: Arc<dyn PasswordLists>,
    /// Verifies the passwords of values `{SASL}`.
    pub outside_passwords: Arc<dyn OutsidePasswords>,
    /// Number of threads for slow password hashes.
    pub hash_threads: usize,
    /// Maximum number of successful slow password checks remembered; 0 for none.
    pub verified_max: usize,
    /// Time for which a check is remembered, in milliseconds.
    pub verified_ttl_ms: u64,
    /// Maximum number of wrong passwords at once on one account from one address; 0 for no limit.
    /// See [`policy::Guesses`].
    pub wrong_passwords_max: u32,
    /// Limits of each kind of subject. In a cluster the directory has them; these are not used.
    pub limits: LimitSettings,
    /// Limits of single subjects and groups, appended to the rules of `limits`. As for these, not
    /// used in a cluster.
    pub limit_rules: Vec<(LimitSubject<String>, Limits)>,
    /// Whether changes are kept after the log drops them.
    pub changes: Keeping,
    /// Whether lines of the audit are written.
    pub audit: Auditing,
    /// Interval of lines about failed binds and denials, where lines of the audit are written;
    /// `None` for no such lines.
    pub attempts_interval: Option<Duration>,
    /// Maximum bytes of temporary files for entries being sent; 0 for no limit.
    pub spool_bytes_max: u64,
    /// Maximum bytes of memory kept for all connections between slices; 0 for no limit.
    pub memory_bytes_max: u64,
    /// Maximum bytes of memory kept for each connection; 0 for no limit.
    pub memory_each_bytes_max: u64,
    /// Schedule of reading everything in search of damage; `None` for never.
    pub scrub: Option<Scrubbing>,
    /// Connects to the log of the node's cluster; `None` for a node alone.
    pub connect: Option<Connect>,
    /// Whether a database that belongs to a cluster is changed without the cluster's log, because
    /// it becomes that of another cluster.
    pub leaves_cluster: bool,
    /// How long clients wait for that log.
    pub patience: Patience,
    /// Whether the database ends with the process: in a cluster, with data in memory.
    pub is_volatile: bool,
    /// Bounds of execution. Tests make them smaller, to look beyond them with few entries.
    #[doc(hidden)]
    pub bounds: Bounds,
    /// Sizes of records that reclaim. Tests make them smaller, to get several records.
    #[doc(hidden)]
    pub reclaim_sizes: ReclaimSizes,
}

/// Default maximum of temporary files, in bytes: a group of ten million members takes 450 MB.
const SPOOL_BYTES_MAX: u64 = 4 << 30;
/// Default maximum of memory, in bytes.
const MEMORY_BYTES_MAX: u64 = 1 << 30;
const MEMORY_EACH_BYTES_MAX: u64 = 256 << 20;
/// Default maximum of wrong passwords at once on one account from one address.
const WRONG_PASSWORDS_MAX: u32 = 10;

impl Default for Options {
    fn default() -> Options {
        Options {
            clock: Arc::new(SystemClock),
            passwords: PasswordSettings::default(),
            lists: Arc::new(NoLists),
            outside_passwords: Arc::new(NoOutsidePasswords),
            hash_threads: hash_threads(),
            verified_max: 100_000,
            verified_ttl_ms: 600_000,
            wrong_passwords_max: WRONG_PASSWORDS_MAX,
            limits: LimitSettings::default(),
            limit_rules: Vec::new(),
            changes: Keeping::AsBefore,
            audit: Auditing::AsBefore,
            attempts_interval: None,
            spool_bytes_max: SPOOL_BYTES_MAX,
            memory_bytes_max: MEMORY_BYTES_MAX,
            memory_each_bytes_max: MEMORY_EACH_BYTES_MAX,
            scrub: None,
            connect: None,
            patience: Patience::default(),
            is_volatile: false,
            leaves_cluster: false,
            bounds: Bounds::default(),
            reclaim_sizes: ReclaimSizes::default(),
        }
    }
}

/// Default number of hash threads: half of the processors, at least one, so that password checks
/// leave processors to searches.
fn hash_threads() -> usize {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    (processors / 2).max(1)
}
