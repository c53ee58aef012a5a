//! Creates, opens and closes the directory of a folder.

use crate::changes::{Keeper, Keeping};
use crate::clock::{Clock, SystemClock};
use crate::commit::LocalLog;
use crate::compact::Compaction;
use crate::expiry::Schedule;
use crate::failure;
use crate::feed::Feed;
use crate::flow::{Mailbox, Mailboxes};
use crate::hashing::{HashPool, HashSettings};
use crate::memory::Budget;
use crate::monitor::{Front, Monitor};
use crate::operation::add;
use crate::operation::list::Lists;
use crate::operation::spool::Spools;
use crate::operation::unindexed::Running;
use crate::paging::CookieKey;
use crate::recover;
use crate::scrub::{Scrubber, Scrubbing};
use crate::worker::Worker;
use crate::writer::{Desk, ReaderWatch, Reclaiming, Writer};
use arc_swap::ArcSwap;
use policy::password::Scheme;
use policy::{LimitRule, LimitSettings, LimitSubject, Limits, VerifiedCache};
use schema::Schema;
use state::bounds::Bounds;
use state::catalog::{CONFIG_NAME, Catalog, NamingContext};
use state::config;
use state::execute::Execution;
use state::grant::Grant;
use state::knowledge;
use state::meta::META_TIME;
use state::rules::RULES_NAME;
use state::stop::{Failure, Stop};
use state::write::Record;
use state::write::{Addition, Change, Given, Write};
use std::path::Path;
use std::sync::{Arc, OnceLock};
use store::{IndexKinds, IndexSet, Journal, SliceLimits, Snapshot, Store};

/// Meta key of the key that signs paging cookies.
pub(crate) const META_COOKIE_KEY: &[u8] = b"cookie-key";

/// Contents of a new directory.
#[derive(Debug, Clone)]
pub struct InitOptions {
    /// DNs of the naming contexts.
    pub suffixes: Vec<String>,
    /// The administrator's DN; it need not be below a suffix.
    pub administrator: String,
    /// The administrator's password in stored form (hashed).
    pub password: String,
    /// Whether to add the entry of each naming context, if its RDN implies an object class.
    pub base_entries: bool,
    /// Attributes to index, with the kinds.
    pub indexes: Vec<(String, IndexKinds)>,
}

impl InitOptions {
    /// The usual contents: one suffix, `cn=admin` below it, and the indexes that clients expect.
    pub fn new(suffix: &str, password: String) -> InitOptions {
        let equality = [
            "objectClass",
            "uid",
            "cn",
            "mail",
            "member",
            "uniqueMember",
            "memberUid",
        ];
        let numbers = ["uidNumber", "gidNumber", "entryUUID"];
        let kinds = IndexKinds {
            equality: true,
            ..IndexKinds::NONE
        };
        InitOptions {
            suffixes: vec![suffix.to_owned()],
            administrator: format!("cn=admin,{suffix}"),
            password,
            base_entries: true,
            indexes: equality
                .into_iter()
                .chain(numbers)
                .map(|it| (it.to_owned(), kinds))
                .collect(),
        }
    }
}

/// Maximum number of wrong passwords remembered, at some 100 bytes each, and the time since the
/// last attempt for which they are.
const WRONG_MAX: usize = 100_000;
const WRONG_TTL_MS: u64 = 24 * 3_600 * 1_000;

/// Options for opening a directory.
#[derive(Clone)]
pub struct Options {
    /// Source of time and identifiers.
    pub clock: Arc<dyn Clock>,
    /// Scheme under which clear-text passwords are stored.
    pub password_scheme: Scheme,
    /// Number of threads for slow password hashes.
    pub hash_threads: usize,
    /// Maximum number of successful slow password checks remembered; 0 for none.
    pub verified_max: usize,
    /// Time for which a check is remembered, in milliseconds.
    pub verified_ttl_ms: u64,
    /// Whether a repeated wrong password counts every time instead of once.
    pub count_repeated: bool,
    /// Whether binds and compares reveal that an account is locked.
    pub tell_locked: bool,
    /// Limits of each kind of subject.
    pub limits: LimitSettings,
    /// Limits of single subjects and groups, appended to the rules of `limits`.
    pub limit_rules: Vec<(LimitSubject<String>, Limits)>,
    /// Whether changes are kept after the log drops them.
    pub changes: Keeping,
    /// Maximum bytes of temporary files for entries being sent; 0 for no limit.
    pub spool_bytes_max: u64,
    /// Maximum bytes of memory kept for all connections between slices; 0 for no limit.
    pub memory_bytes_max: u64,
    /// Maximum bytes of memory kept for each connection; 0 for no limit.
    pub memory_each_bytes_max: u64,
    /// Schedule of reading everything in search of damage; `None` for never.
    pub scrub: Option<Scrubbing>,
}

/// Default maximum of temporary files, in bytes: a group of ten million members takes 450 MB.
const SPOOL_BYTES_MAX: u64 = 4 << 30;
/// Default maximum of memory, in bytes.
const MEMORY_BYTES_MAX: u64 = 1 << 30;
const MEMORY_EACH_BYTES_MAX: u64 = 256 << 20;

impl Default for Options {
    fn default() -> Options {
        Options {
            clock: Arc::new(SystemClock),
            password_scheme: Scheme::Argon2id,
            hash_threads: hash_threads(),
            verified_max: 100_000,
            verified_ttl_ms: 600_000,
            count_repeated: false,
            tell_locked: false,
            limits: LimitSettings::default(),
            limit_rules: Vec::new(),
            changes: Keeping::AsBefore,
            spool_bytes_max: SPOOL_BYTES_MAX,
            memory_bytes_max: MEMORY_BYTES_MAX,
            memory_each_bytes_max: MEMORY_EACH_BYTES_MAX,
            scrub: None,
        }
    }
}

/// The bounds of execution: small in unit tests.
pub(crate) fn bounds() -> Bounds {
    match cfg!(test) {
        true => Bounds::SMALL,
        false => Bounds::default(),
    }
}

/// The budget of memory that the options give.
fn budget(options: &Options) -> Arc<Budget> {
    let (all, each) = (options.memory_bytes_max, options.memory_each_bytes_max);
    Arc::new(Budget::new(all, each))
}

/// The limits, with the names of subjects resolved.
fn limits(
    schema: &Schema,
    settings: &LimitSettings,
    rules: &[(LimitSubject<String>, Limits)],
) -> Result<LimitSettings, Failure> {
    let mut limits = settings.clone();
    for (subject, of_its_own) in rules {
        let resolve = |name: &str| {
            schema.resolve_name(name).map_err(|error| {
                let text = format!("subject_limits: \"{name}\": {error}");
                Failure::Configuration(text)
            })
        };
        let (subject, spelled) = subject.resolve(resolve)?;
        limits.rules.push(LimitRule {
            subject,
            spelled: spelled.to_owned(),
            limits: *of_its_own,
        });
    }
    Ok(limits)
}

/// Default number of hash threads: half of the processors, at least one, so that password checks
/// leave processors to searches.
fn hash_threads() -> usize {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    (processors / 2).max(1)
}

/// An open directory. Cheap to clone.
#[derive(Clone)]
pub struct Directory {
    shared: Arc<Shared>,
}

/// State shared by all threads of a directory.
pub(crate) struct Shared {
    pub store: Store,
    pub catalog: Arc<ArcSwap<Catalog>>,
    pub clock: Arc<dyn Clock>,
    pub verified: Arc<VerifiedCache>,
    /// Cache of wrong passwords counted lately.
    pub wrong: VerifiedCache,
    /// Scheme under which new passwords are stored.
    pub scheme: Scheme,
    /// Whether binds and compares reveal that an account is locked.
    pub tells_locks: bool,
    pub cookie_key: CookieKey,
    /// Identifier of this directory's order of writes, which distinguishes its positions from
    /// others.
    pub log: [u8; 16],
    pub hashes: HashPool,
    pub feed: Arc<Feed>,
    pub writer: Writer,
    pub monitor: Arc<Monitor>,
    pub unindexed: Arc<Running>,
    pub spools: Arc<Spools>,
    /// Kept sorted lists, of which views and pages show parts.
    pub lists: Arc<Lists>,
    pub memory: Arc<Budget>,
    pub compaction: Arc<Compaction>,
    pub scrubber: Scrubber,
    mailboxes: Arc<Mailboxes>,
}

/// Summary of a directory's state.
#[derive(Debug, Clone)]
pub struct Status {
    /// Number of entries, configuration included, with those of deleted subtrees that are still
    /// stored.
    pub entries: u64,
    /// The greatest entry id ever given.
    pub last_id: u64,
    /// Position of the last record.
    pub position: u64,
    /// Digest of the state, as 32 hexadecimal digits.
    pub digest: String,
    /// The indexes: attribute, kinds, whether complete, number of entries indexed so far.
    pub indexes: Vec<store::IndexState>,
    /// Number of waiting writes.
    pub waiting_writes: usize,
    /// Number of deleted subtrees whose entries are still being removed.
    pub deleted_subtrees: u64,
}

impl Directory {
    /// Creates a directory in an empty or missing folder.
    ///
    /// # Errors
    /// The folder holds a database or cannot be written; a suffix, an index or the administrator's
    /// name is invalid.
    pub fn create(data: &Path, options: &InitOptions) -> Result<(), Failure> {
        let store = Store::create(data)?;
        let (schema, rows) = knowledge::numbered(&Schema::standard());
        let clock = SystemClock;
        let mut key = [0; 32];
        getrandom::fill(&mut key).expect("the operating system always has random bytes");
        let empty = IndexSet {
            schema: schema.clone(),
            definitions: Vec::new(),
        };
        let mut batch = store.begin(&empty)?;
        batch.put_dictionary(&rows)?;
        batch.put_meta(META_COOKIE_KEY, &key)?;
        let mut catalog = config::load(&batch.snapshot(), &schema)?;
        for suffix in &options.suffixes {
            let name = resolve(&schema, suffix)?;
            catalog.contexts.push(NamingContext {
                name,
                spelled: suffix.clone(),
            });
        }
        let writes = initial_writes(&catalog, options, &clock)?;
        let record = Record {
            position: 1,
            time_us: clock.now_us(),
            units: writes.chunks(1).collect(),
        };
        let mut execution = Execution::new(&mut batch, &catalog, &record);
        for write in &writes {
            execution
                .execute(write)
                .map_err(|stop| unusable(&write.spelled, stop))?;
        }
        let noticed = execution.finish()?;
        let next = config::load(&batch.snapshot(), &noticed.schema)?;
        config::apply_indexes(&mut batch, &next)?;
        while !batch
            .build_indexes(SliceLimits::entries(1_000))?
            .is_finished()
        {}
        batch.commit()?;
        store.close();
        Ok(())
    }

    /// Opens the directory of a folder.
    ///
    /// # Errors
    /// There is no directory, another process has it open, or it is damaged.
    pub fn open(data: &Path, options: &Options) -> Result<Directory, Failure> {
        let store = open_folder(data)?;
        let mut reader = store.reader()?;
        let snapshot = reader.snapshot()?;
        let dictionary = config::stored_dictionary(&snapshot)?;
        let mut catalog = config::load(&snapshot, &dictionary)?;
        catalog.limits = limits(&catalog.schema, &options.limits, &options.limit_rules)?;
        catalog.bounds = bounds();
        let cookie_key = cookie_key(snapshot.meta(META_COOKIE_KEY)?)?;
        let log = order_of(&snapshot)?;
        let keeper = Keeper::open(data, options.changes, snapshot.position()?)?;
        drop(reader);
        let password_type = catalog.known.user_password.type_id;
        let catalog = Arc::new(ArcSwap::from_pointee(catalog));
        let verified = Arc::new(tags(options.verified_max, options.verified_ttl_ms)?);
        let wrong = wrong_guesses(options)?;
        let start = |source| Failure::file("starting a thread", source);
        let hashes = hash_pool(options, &verified, password_type).map_err(start)?;
        let feed = Arc::new(Feed::default());
        let monitor = Arc::new(Monitor::new(options.clock.now_us()));
        let (compaction, mailboxes) = (Arc::default(), Arc::default());
        let desk = Desk {
            store: store.clone(),
            catalog: Arc::clone(&catalog),
            clock: Arc::clone(&options.clock),
            log: Box::new(log),
            journal: Journal::new(&store),
            encoded: Vec::new(),
            keeper,
            feed: Arc::clone(&feed),
            expiry: Schedule::default(),
            reclaiming: Reclaiming::default(),
            readers: ReaderWatch::default(),
            name: cookie_key.log(),
            monitor: Arc::clone(&monitor),
            compaction: Arc::clone(&compaction),
            mailboxes: Arc::clone(&mailboxes),
        };
        let writer = Writer::start(desk).map_err(start)?;
        let memory = budget(options);
        let scrubber = Scrubber::start(options.scrub, &store, &catalog, &options.clock)?;
        let shared = Shared {
            store,
            catalog,
            clock: Arc::clone(&options.clock),
            verified,
            wrong,
            scheme: options.password_scheme,
            tells_locks: options.tell_locked,
            log: cookie_key.log(),
            cookie_key,
            hashes,
            feed,
            writer,
            monitor,
            unindexed: Arc::default(),
            spools: Arc::new(Spools::new(data, options.spool_bytes_max, &memory)),
            lists: Arc::new(Lists::new(data, options.spool_bytes_max, &memory)),
            memory,
            compaction,
            scrubber,
            mailboxes,
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
        let reader = self.shared.store.reader()?;
        self.shared.mailboxes.add(&mailbox);
        Ok(Worker::new(Arc::clone(&self.shared), reader, mailbox))
    }

    /// The present state in summary.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn status(&self) -> Result<Status, Failure> {
        self.shared.status()
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

    /// Size of the used part of the database file in bytes.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn bytes(&self) -> Result<u64, Failure> {
        Ok(self.shared.store.sizes()?.0)
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
        Ok(self.shared.store.warm_up(bytes_max, wanted)?)
    }

    /// Executes and answers waiting writes, then ends the writer. Later writes get no answer.
    pub fn shutdown(&self) {
        self.shared.scrubber.stop();
        self.shared.writer.stop();
    }
}

impl Shared {
    /// As [`Directory::set_limits`].
    pub fn set_limits(
        &self,
        settings: &LimitSettings,
        rules: &[(LimitSubject<String>, Limits)],
    ) -> Result<(), Failure> {
        let limits = limits(&self.catalog.load().schema, settings, rules)?;
        self.catalog.rcu(|now| Catalog {
            limits: limits.clone(),
            ..Catalog::clone(now)
        });
        Ok(())
    }

    /// As [`Directory::status`].
    pub fn status(&self) -> Result<Status, Failure> {
        let mut reader = self.store.reader()?;
        let snapshot = reader.snapshot()?;
        Ok(Status {
            entries: snapshot.entry_count()?,
            last_id: snapshot.last_id()?.0,
            position: snapshot.position()?,
            digest: format!("{:032x}", snapshot.digest()?),
            indexes: snapshot.index_states()?,
            waiting_writes: self.writer.waiting(),
            deleted_subtrees: snapshot.detached_count()?,
        })
    }
}

/// Opens the store of a data folder after removing files of an unfinished import or compaction.
/// Logs an error if there is no room for writes.
fn open_folder(data: &Path) -> Result<Store, Failure> {
    let (store, _) = recover::open_store(data)?;
    crate::import::remove_leftovers(data)?;
    crate::compact::remove_leftovers(data)?;
    if !Store::has_room(data) {
        failure::tell_full_at_start(data);
    }
    Ok(store)
}

/// Starts the threads that hash passwords.
fn hash_pool(
    options: &Options,
    verified: &Arc<VerifiedCache>,
    password_type: schema::TypeId,
) -> std::io::Result<HashPool> {
    let settings = HashSettings {
        scheme: options.password_scheme,
        verified: Arc::clone(verified),
        clock: Arc::clone(&options.clock),
        password_type,
        in_vain: OnceLock::new(),
    };
    HashPool::start(options.hash_threads, settings)
}

/// The cache of wrong passwords; empty if repeated ones count every time.
fn wrong_guesses(options: &Options) -> Result<VerifiedCache, Failure> {
    let most = if options.count_repeated { 0 } else { WRONG_MAX };
    tags(most, WRONG_TTL_MS)
}

/// A cache of tried passwords.
fn tags(entries_max: usize, ttl_ms: u64) -> Result<VerifiedCache, Failure> {
    let tags = VerifiedCache::new(entries_max, ttl_ms);
    tags.map_err(|error| Failure::Configuration(format!("no random bytes: {error}")))
}

/// The order of writes, continued from the newest state.
fn order_of(snapshot: &Snapshot<'_>) -> Result<LocalLog, Failure> {
    let time_us = snapshot.meta(META_TIME)?.and_then(|it| it.try_into().ok());
    let time_us = time_us.map_or(0, u64::from_be_bytes);
    Ok(LocalLog::new(snapshot.position()?, time_us))
}

fn cookie_key(stored: Option<&[u8]>) -> Result<CookieKey, Failure> {
    let key: Option<[u8; 32]> = stored.and_then(|it| it.try_into().ok());
    let key = key.ok_or_else(|| Failure::Configuration("the paging key is missing".to_owned()))?;
    Ok(CookieKey::from_bytes(key))
}

fn resolve(schema: &Schema, name: &str) -> Result<schema::Name, Failure> {
    let resolved = schema.resolve_name(name);
    resolved.map_err(|error| Failure::Configuration(format!("\"{name}\": {error}")))
}

pub(crate) fn unusable(name: &str, stop: Stop) -> Failure {
    match stop {
        Stop::Failed(failure) => failure,
        Stop::Refused(refusal) => Failure::Configuration(format!(
            "{name}: {} ({})",
            refusal.diagnostic,
            refusal.code.name()
        )),
    }
}

/// The writes that add the entries of a new directory.
fn initial_writes(
    catalog: &Catalog,
    options: &InitOptions,
    clock: &dyn Clock,
) -> Result<Vec<Write>, Failure> {
    let by = &options.administrator;
    let mut writes = Vec::new();
    let mut add = |name: &str, attributes: &[(&str, &str)]| -> Result<(), Failure> {
        writes.push(entry(catalog, by, name, attributes, clock)?);
        Ok(())
    };
    let mut base = vec![("objectClass", "pandoConfig")];
    base.extend(
        options
            .suffixes
            .iter()
            .map(|it| ("pandoNamingContext", it.as_str())),
    );
    add(CONFIG_NAME, &base)?;
    resolve(&catalog.schema, by)?;
    add(
        config::ADMINISTRATOR_NAME,
        &[
            ("objectClass", "pandoAdministrator"),
            ("pandoAdministratorName", by),
            ("userPassword", &options.password),
        ],
    )?;
    add(config::INDEXES_NAME, &[("objectClass", "pandoConfig")])?;
    add(config::SCHEMA_NAME, &[("objectClass", "pandoConfig")])?;
    add(RULES_NAME, &[("objectClass", "pandoConfig")])?;
    for (attribute, kinds) in &options.indexes {
        let mut attributes = vec![
            ("objectClass", "pandoIndex"),
            ("pandoIndexAttribute", attribute),
        ];
        attributes.extend(kinds.iter().map(|kind| ("pandoIndexKind", kind.name())));
        add(
            &format!("cn={attribute},{}", config::INDEXES_NAME),
            &attributes,
        )?;
    }
    if options.base_entries {
        for suffix in &options.suffixes {
            let classes = classes_for(suffix)
                .iter()
                .map(|class| ("objectClass", *class));
            add(suffix, &classes.collect::<Vec<_>>())?;
        }
    }
    Ok(writes)
}

/// The object classes of a base entry, chosen by the attribute type of its RDN (RFC 4519, RFC
/// 4524).
pub(crate) fn classes_for(name: &str) -> &'static [&'static str] {
    let leaf = add::leaf_spelled(name).to_ascii_lowercase();
    match leaf.split('=').next().unwrap_or_default().trim() {
        "dc" => &["top", "domain"],
        "o" => &["top", "organization"],
        "ou" => &["top", "organizationalUnit"],
        "c" => &["top", "country"],
        "l" => &["top", "locality"],
        _ => &["top", "namedObject", "extensibleObject"],
    }
}

/// A write that adds an entry of the server's own.
pub(crate) fn entry(
    catalog: &Catalog,
    by: &str,
    spelled: &str,
    attributes: &[(&str, &str)],
    clock: &dyn Clock,
) -> Result<Write, Failure> {
    let schema = &catalog.schema;
    let name = resolve(schema, spelled)?;
    let leaf = add::leaf_spelled(spelled);
    let rdn = schema
        .resolve_rdn(&leaf)
        .map_err(|error| Failure::Configuration(format!("\"{leaf}\": {error}")))?;
    let mut given: Vec<Given> = Vec::new();
    for (text, value) in attributes {
        let description = schema
            .describe(text)
            .map_err(|error| Failure::Configuration(format!("{spelled}: {error}")))?;
        match given.iter_mut().find(|it| it.description == description) {
            Some(it) => it.values.push(value.as_bytes().to_vec()),
            None => {
                given.push(Given {
                    description,
                    values: vec![value.as_bytes().to_vec()],
                });
            }
        }
    }
    let rdn_spelled = if catalog.is_context(&name) {
        add::whole_spelled(spelled)
    } else {
        leaf
    };
    Ok(Write {
        grant: Grant::of_server(by.to_owned(), name),
        spelled: spelled.to_owned(),
        manage_dsa_it: true,
        options: None,
        change: Change::Add(Addition {
            rdn_spelled,
            rdn,
            attributes: given,
            uuid: clock.uuid(),
        }),
    })
}
