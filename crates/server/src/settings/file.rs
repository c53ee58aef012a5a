//! `pando.toml` as typed: names and types, nothing resolved yet.

use std::path::PathBuf;
use std::time::Duration;

use directory::changes::Keeping;
use policy::{LimitSubject, Limits, Scheme, TimeToLive};
use serde::Deserialize;
use toml::Spanned;

use super::LogFormat;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct File {
    pub listen: Vec<Spanned<String>>,
    pub proxies: Vec<Spanned<String>>,
    pub allow_cleartext_binds: bool,
    pub tls: Tls,
    pub threads: Threads,
    pub log: Log,
    pub connections: Connections,
    pub limits: Subject,
    pub anonymous_limits: Subject,
    pub administrator_limits: Subject,
    pub subject_limits: Vec<OneSubject>,
    pub dynamic_entries: DynamicEntries,
    pub passwords: Passwords,
    pub changes: Changes,
    pub database: Database,
}

impl Default for File {
    fn default() -> Self {
        File {
            listen: vec![unplaced("ldap://127.0.0.1:1389")],
            proxies: Vec::new(),
            allow_cleartext_binds: false,
            tls: Tls::default(),
            threads: Threads::default(),
            log: Log::default(),
            connections: Connections::default(),
            limits: Subject::default(),
            anonymous_limits: Subject::default(),
            administrator_limits: Subject::default(),
            subject_limits: Vec::new(),
            dynamic_entries: DynamicEntries::default(),
            passwords: Passwords::default(),
            changes: Changes::default(),
            database: Database::default(),
        }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Tls {
    pub certificate: Option<Spanned<PathBuf>>,
    pub key: Option<Spanned<PathBuf>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Threads {
    pub serving: usize,
    pub pinned: bool,
}

impl Default for Threads {
    fn default() -> Self {
        Threads {
            serving: 0,
            pinned: true,
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Log {
    pub level: Spanned<String>,
    pub format: LogFormat,
    pub operations: bool,
}

impl Default for Log {
    fn default() -> Self {
        Log {
            level: unplaced("warn"),
            format: LogFormat::Text,
            operations: false,
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Connections {
    pub total_max: usize,
    pub per_address_max: usize,
    pub message_bytes_max: usize,
    pub anonymous_message_bytes_max: usize,
    pub memory_mib_max: u64,
    pub memory_each_mib_max: u64,
    pub idle_timeout_s: u64,
    pub message_timeout_s: u64,
    pub write_timeout_s: u64,
    pub stop_timeout_s: u64,
}

impl Default for Connections {
    fn default() -> Self {
        Connections {
            total_max: 0,
            per_address_max: 0,
            message_bytes_max: 16 << 20,
            anonymous_message_bytes_max: 1 << 20,
            memory_mib_max: 1_024,
            memory_each_mib_max: 256,
            idle_timeout_s: 0,
            message_timeout_s: 60,
            write_timeout_s: 60,
            stop_timeout_s: 10,
        }
    }
}

impl Connections {
    pub fn resolve(&self) -> super::Connections {
        let unlimited = |it: usize| if it == 0 { usize::MAX } else { it };
        super::Connections {
            total_max: self.total_max,
            per_address_max: self.per_address_max,
            message_bytes_max: unlimited(self.message_bytes_max),
            anonymous_message_bytes_max: unlimited(self.anonymous_message_bytes_max),
            memory_bytes_max: self.memory_mib_max << 20,
            memory_each_bytes_max: self.memory_each_mib_max << 20,
            idle_timeout: Duration::from_secs(self.idle_timeout_s),
            message_timeout: Duration::from_secs(self.message_timeout_s),
            write_timeout: Duration::from_secs(self.write_timeout_s),
            stop_timeout: Duration::from_secs(self.stop_timeout_s),
        }
    }
}

/// Which changes are kept beyond the log.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Changes {
    pub keep_mib: u32,
}

impl Changes {
    pub fn resolve(&self) -> Keeping {
        match self.keep_mib {
            0 => Keeping::Off,
            mib => Keeping::Bytes(u64::from(mib) << 20),
        }
    }
}

/// How long dynamic entries stay; what is left out keeps its default.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DynamicEntries {
    pub ttl_default_s: Option<u32>,
    pub ttl_min_s: Option<u32>,
    pub ttl_max_s: Option<u32>,
}

impl DynamicEntries {
    /// `None` unless 1 <= shortest <= default <= longest <= a year.
    pub fn resolve(&self, default: TimeToLive) -> Option<TimeToLive> {
        let it = TimeToLive {
            default_s: self.ttl_default_s.unwrap_or(default.default_s),
            min_s: self.ttl_min_s.unwrap_or(default.min_s),
            max_s: self.ttl_max_s.unwrap_or(default.max_s),
        };
        let in_order = 1 <= it.min_s && it.min_s <= it.default_s && it.default_s <= it.max_s;
        (in_order && it.max_s <= default.max_s).then_some(it)
    }
}

/// Limits of one kind of subject; what is left out keeps its default.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Subject {
    pub size_entries_max: Option<u32>,
    pub time_s_max: Option<u32>,
    pub candidates_max: Option<u64>,
    pub unindexed_searches_max: Option<u32>,
    pub pending_operations_max: Option<u32>,
    pub page_entries_max: Option<u32>,
    pub paged_entries_max: Option<u64>,
    pub sort_entries_max: Option<u32>,
    pub followers_max: Option<u32>,
    pub transactions_open_max: Option<u32>,
    pub transaction_updates_max: Option<u32>,
    pub transaction_bytes_max: Option<usize>,
}

impl Subject {
    pub fn resolve(&self, default: Limits) -> Limits {
        let time_ms_max = self.time_s_max.map(|it| it.saturating_mul(1000));
        Limits {
            size_entries_max: self.size_entries_max.unwrap_or(default.size_entries_max),
            time_ms_max: time_ms_max.unwrap_or(default.time_ms_max),
            candidates_max: self.candidates_max.unwrap_or(default.candidates_max),
            unindexed_searches_max: self
                .unindexed_searches_max
                .unwrap_or(default.unindexed_searches_max),
            pending_operations_max: self
                .pending_operations_max
                .unwrap_or(default.pending_operations_max),
            page_entries_max: self.page_entries_max.unwrap_or(default.page_entries_max),
            paged_entries_max: self.paged_entries_max.unwrap_or(default.paged_entries_max),
            sort_entries_max: self.sort_entries_max.unwrap_or(default.sort_entries_max),
            followers_max: self.followers_max.unwrap_or(default.followers_max),
            transactions_open_max: self
                .transactions_open_max
                .unwrap_or(default.transactions_open_max),
            transaction_updates_max: self
                .transaction_updates_max
                .unwrap_or(default.transaction_updates_max),
            transaction_bytes_max: self
                .transaction_bytes_max
                .unwrap_or(default.transaction_bytes_max),
        }
    }
}

/// Limits of one entry, subtree or group; what is left out is as for everybody.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OneSubject {
    pub entry: Option<Spanned<String>>,
    pub subtree: Option<Spanned<String>>,
    pub group: Option<Spanned<String>>,
    pub size_entries_max: Option<u32>,
    pub time_s_max: Option<u32>,
    pub candidates_max: Option<u64>,
    pub unindexed_searches_max: Option<u32>,
    pub pending_operations_max: Option<u32>,
    pub page_entries_max: Option<u32>,
    pub paged_entries_max: Option<u64>,
    pub sort_entries_max: Option<u32>,
    pub followers_max: Option<u32>,
    pub transactions_open_max: Option<u32>,
    pub transaction_updates_max: Option<u32>,
    pub transaction_bytes_max: Option<usize>,
}

impl OneSubject {
    /// For whom the limits are; an error is a sentence.
    pub fn subject(&self) -> Result<LimitSubject<String>, String> {
        let name = |it: &Spanned<String>| it.get_ref().clone();
        match (&self.entry, &self.subtree, &self.group) {
            (Some(it), None, None) => Ok(LimitSubject::Entry(name(it))),
            (None, Some(it), None) => Ok(LimitSubject::Subtree(name(it))),
            (None, None, Some(it)) => Ok(LimitSubject::Group(name(it))),
            (None, None, None) => {
                Err("expected entry, subtree or group with a name, got none".to_owned())
            }
            _ => Err("expected one of entry, subtree and group, got several".to_owned()),
        }
    }

    /// Where the subject stands in the file.
    pub fn span(&self) -> Option<std::ops::Range<usize>> {
        let mut names = [&self.entry, &self.subtree, &self.group].into_iter();
        names.find_map(|it| it.as_ref().map(Spanned::span))
    }

    pub fn resolve(&self, default: Limits) -> Limits {
        Subject {
            size_entries_max: self.size_entries_max,
            time_s_max: self.time_s_max,
            candidates_max: self.candidates_max,
            unindexed_searches_max: self.unindexed_searches_max,
            pending_operations_max: self.pending_operations_max,
            page_entries_max: self.page_entries_max,
            paged_entries_max: self.paged_entries_max,
            sort_entries_max: self.sort_entries_max,
            followers_max: self.followers_max,
            transactions_open_max: self.transactions_open_max,
            transaction_updates_max: self.transaction_updates_max,
            transaction_bytes_max: self.transaction_bytes_max,
        }
        .resolve(default)
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Passwords {
    pub scheme: Spanned<String>,
    pub remembered_max: usize,
    pub remembered_s: u64,
    pub count_repeated: bool,
    pub tell_locked: bool,
}

impl Passwords {
    /// The settings, with the scheme that was understood.
    pub fn resolve(&self, scheme: Scheme) -> super::Passwords {
        super::Passwords {
            scheme,
            remembered_max: self.remembered_max,
            remembered: Duration::from_secs(self.remembered_s),
            count_repeated: self.count_repeated,
            tell_locked: self.tell_locked,
        }
    }
}

impl Default for Passwords {
    fn default() -> Self {
        Passwords {
            scheme: unplaced("{ARGON2ID}"),
            remembered_max: 100_000,
            remembered_s: 300,
            count_repeated: false,
            tell_locked: false,
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Database {
    pub warm_up: bool,
    pub spool_mib_max: u64,
    pub scrub_days: u32,
}

impl Default for Database {
    fn default() -> Self {
        Database {
            warm_up: true,
            spool_mib_max: 4_096,
            scrub_days: 7,
        }
    }
}

/// How long a server runs before it reads everything: clients, recovery and the reading of the
/// database into memory come first.
const SCRUB_DELAY: Duration = Duration::from_secs(600);

impl Database {
    pub fn scrub(&self) -> Option<directory::Scrubbing> {
        (self.scrub_days > 0).then(|| directory::Scrubbing {
            every: Duration::from_secs(u64::from(self.scrub_days) * 86_400),
            delay: SCRUB_DELAY,
        })
    }
}

fn unplaced(text: &str) -> Spanned<String> {
    Spanned::new(0..0, text.to_owned())
}
