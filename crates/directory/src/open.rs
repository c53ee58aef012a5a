//! Opens and closes the directory of a folder.

use crate::account::hashing::{HashPool, HashSettings};
use crate::answer::Answering;
use crate::completion::Mailbox;
use crate::control::proxy;
use crate::directory_state::DirectoryState;
use crate::feed::Feed;
use crate::monitor::{Front, Monitor, Shown};
use crate::options::{Options, Reached};
use crate::ticket::Ticket;
use crate::worker::Worker;
use policy::{Guesses, LimitSettings, LimitSubject, Limits, VerifiedCache};
use replica::attempts::{Attempts, Naming, Recording, Sources};
use replica::audit_files::{AttemptFiles, Auditing};
use replica::commit_log::CommitLog;
use replica::witnesses::{OwnWitnesses, Witnesses};
use replica::{Observer, Opened, Replica, Status};
use spool::Spools;
use spool::cookie::CookieKey;
use spool::list::Lists;
use spool::memory::Budget;
use state::config::resolve_rules;
use state::meta::META_COOKIE_KEY;
use state::stop::{Failure, Stop};
use state::view::View;
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// Maximum number of wrong passwords remembered, at some 100 bytes each, and the time since the
/// last attempt for which they are.
const WRONG_MAX: usize = 100_000;
const WRONG_TTL_MS: u64 = 24 * 3_600 * 1_000;

/// The budget of memory that the options give.
fn budget(options: &Options) -> Arc<Budget> {
    let (all, each) = (options.memory_bytes_max, options.memory_each_bytes_max);
    Arc::new(Budget::new(all, each))
}

/// An open directory. Cheap to clone.
#[derive(Clone)]
pub struct Directory {
    shared: Arc<DirectoryState>,
}

impl Directory {
    /// Opens the directory of a folder.
    ///
    /// # Errors
    /// There is no directory, another process has it open, or it is damaged.
    pub fn open(data: &Path, options: &Options) -> Result<Directory, Failure> {
        let mut opened = Opened::open(data, options.bounds)?;
        if !opened.catalog.shares_settings {
            let schema = &opened.catalog.schema;
            opened.catalog.limits = resolve_rules(schema, &options.limits, &options.limit_rules)?;
            opened.catalog.passwords = options.passwords;
        }
        let password_type = opened.catalog.known.user_password.type_id;
        let cookie_key = cookie_key(opened.meta(META_COOKIE_KEY)?)?;
        let verified = Arc::new(tags(options.verified_max, options.verified_ttl_ms)?);
        let wrong = tags(WRONG_MAX, WRONG_TTL_MS)?;
        let hashes = hash_pool(options, &verified, password_type)
            .map_err(|source| Failure::file("starting a thread", source))?;
        let monitor = Arc::new(Monitor::new(options.clock.now_us()));
        let feed = Arc::new(Feed::default());
        let witnesses = OwnWitnesses::default();
        let clients = Answering::of(cookie_key.log(), &witnesses);
        let node = replica::Options {
            clock: Arc::clone(&options.clock),
            changes: options.changes,
            audit: options.audit,
            scrub: options.scrub,
            reclaim_sizes: options.reclaim_sizes,
            log: log_of(&opened, options)?,
            patience: options.patience,
            is_volatile: options.is_volatile,
        };
        let observer: Arc<dyn Observer> = feed.clone();
        let replica = opened.start(node, clients, observer)?;
        let recording = recording(data, options, &replica, &cookie_key)?;
        let memory = budget(options);
        let shared = DirectoryState {
            catalog: Arc::clone(&replica.catalog),
            clock: Arc::clone(&options.clock),
            verified,
            wrong,
            guesses: Guesses::new(options.wrong_passwords_max),
            log: cookie_key.log(),
            cookie_key,
            hashes,
            feed,
            replica,
            monitor,
            unindexed: Arc::default(),
            spools: Arc::new(Spools::new(data, options.spool_bytes_max, &memory)),
            lists: Arc::new(Lists::new(data, options.spool_bytes_max, &memory)),
            memory,
            witnesses,
            recording,
        };
        Ok(Directory {
            shared: Arc::new(shared),
        })
    }

    /// A worker for one serving thread. Must be used on the thread that called this.
    ///
    /// # Errors
    /// No more read transactions are available.
    pub fn worker(&self, mailbox: Arc<dyn Mailbox>) -> Result<Worker, Failure> {
        let reader = self.shared.replica.reader()?;
        self.shared.feed.add(&mailbox);
        Ok(Worker::new(Arc::clone(&self.shared), reader, mailbox))
    }

    /// The present state in summary.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn status(&self) -> Result<Status, Failure> {
        self.shared.replica.status()
    }

    /// Sets the limits for sessions that begin or bind from now on.
    ///
    /// # Errors
    /// A subject's name cannot be resolved; the limits are then unchanged.
    pub fn set_limits(
        &self,
        settings: &LimitSettings,
        rules: &[(LimitSubject<String>, Limits)],
    ) -> Result<(), Failure> {
        self.shared.set_limits(settings, rules)
    }

    /// Sets the listener for the monitor. Only the first call counts.
    pub fn set_front(&self, front: Arc<dyn Front>) {
        self.shared.monitor.set_front(front);
    }

    /// Sets the function that returns entries of another part of the program for the monitor. Only
    /// the first call counts.
    pub fn set_shown(&self, part: Shown) {
        let _ = self.shared.monitor.shown.set(part);
    }

    /// Sets who asks the other nodes of the cluster for what they have executed, before any client
    /// is served. Only the first call counts; a node alone has none.
    pub fn set_witnesses(&self, witnesses: Arc<dyn Witnesses>) {
        let _ = self.shared.witnesses.set(witnesses);
    }

    /// Calls `then` with the position of this node of a cluster as soon as that is at least
    /// `position`, or with the one that it has at `until`.
    pub fn when_reached(
        &self,
        position: u64,
        until: Instant,
        then: impl FnOnce(u64) + Send + 'static,
    ) {
        self.shared.replica.when_reached(position, until, then);
    }

    /// Writes a copy of the newest state of the database, from the first byte to the last.
    ///
    /// # Errors
    /// The store cannot be read, or nobody reads the copy any more.
    pub fn copy_to(&self, output: BorrowedFd<'_>) -> Result<(), Failure> {
        self.shared.replica.copy_to(output)
    }

    /// Size of the used part of the database file in bytes.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn bytes(&self) -> Result<u64, Failure> {
        self.shared.replica.bytes()
    }

    /// Reads the database into memory, so that the first searches need not wait for the disk; stops
    /// when `wanted` becomes false. Returns the number of bytes read; `None` if there are more than
    /// `bytes_max`.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn warm_up(
        &self,
        bytes_max: u64,
        wanted: &dyn Fn() -> bool,
    ) -> Result<Option<u64>, Failure> {
        self.shared.replica.warm_up(bytes_max, wanted)
    }

    /// Executes and answers waiting writes, then ends the writer. Later writes get no answer.
    pub fn shutdown(&self) {
        self.shared.replica.shutdown();
        if let Some(recording) = &self.shared.recording {
            recording.stop();
        }
    }
}

/// The meaning of names in binds, with the key of their hashes.
struct Names(CookieKey);

impl Naming for Names {
    fn account(&self, view: &View<'_>, identity: &str) -> Result<Option<String>, Stop> {
        proxy::account_of(view, identity)
    }

    fn hash(&self, name: &[u8]) -> [u8; 16] {
        self.0.name_hash(name)
    }
}

/// Starts writing lines about failed binds and denials, if the options say so.
fn recording(
    data: &Path,
    options: &Options,
    replica: &Replica<Ticket>,
    cookie_key: &CookieKey,
) -> Result<Option<Recording>, Failure> {
    let (Auditing::On(rules), Some(interval)) = (options.audit, options.attempts_interval) else {
        return Ok(None);
    };
    let sources = Sources {
        catalog: Arc::clone(&replica.catalog),
        reader: replica.reader()?,
        clock: Arc::clone(&options.clock),
        naming: Box::new(Names(cookie_key.clone())),
        files: AttemptFiles::open(data, rules)?,
    };
    let started = Recording::start(Attempts::new(interval), sources);
    started
        .map(Some)
        .map_err(|source| Failure::file("starting a thread", source))
}

/// The log of the node's cluster; `None` for a node alone.
fn log_of(opened: &Opened, options: &Options) -> Result<Option<Arc<dyn CommitLog>>, Failure> {
    let membership = opened.membership()?;
    match (&options.connect, membership) {
        (Some(connect), mark) => {
            let (place, level) = (opened.place()?, opened.catalog.level);
            Ok(Some(connect(Reached { place, level, mark })?))
        }
        (None, None) => Ok(None),
        (None, Some(_)) if options.leaves_cluster => Ok(None),
        (None, Some(_)) => Err(Failure::Configuration(
            "this database belongs to a cluster, whose log this command does not follow: serve the \
             node (pando serve), and give the command to the served node; if the folder \
             \"cluster\" beside the database is gone, put it back or join the cluster again"
                .to_owned(),
        )),
    }
}

/// Starts the threads that hash passwords.
fn hash_pool(
    options: &Options,
    verified: &Arc<VerifiedCache>,
    password_type: schema::TypeId,
) -> std::io::Result<HashPool> {
    let settings = HashSettings {
        verified: Arc::clone(verified),
        clock: Arc::clone(&options.clock),
        password_type,
        lists: Arc::clone(&options.lists),
        outside: Arc::clone(&options.outside_passwords),
        in_vain: Mutex::default(),
    };
    HashPool::start(options.hash_threads, settings)
}

/// A cache of tried passwords.
fn tags(entries_max: usize, ttl_ms: u64) -> Result<VerifiedCache, Failure> {
    let tags = VerifiedCache::new(entries_max, ttl_ms);
    tags.map_err(|error| Failure::Configuration(format!("no random bytes: {error}")))
}

fn cookie_key(stored: Option<Vec<u8>>) -> Result<CookieKey, Failure> {
    let key: Option<[u8; 32]> = stored.and_then(|it| it.try_into().ok());
    let key = key.ok_or_else(|| Failure::Configuration("the paging key is missing".to_owned()))?;
    Ok(CookieKey::from_bytes(key))
}
