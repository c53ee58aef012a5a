//! The table of settings. Parser, sample file, reference page and the report of `pando reload` are
//! made from it.
//!
//! Invariant: name, accepted values, default and meaning of a setting stand here alone (defaults of
//! limits: [`policy::LimitSettings`]). Tests hold `examples/pando.toml` and
//! `docs/reference/settings.md` equal to it.

use std::path::PathBuf;
use std::time::Duration;

use directory::Patience;
use policy::{LimitSettings, Limits, Scheme};
use serde::{Deserialize, Serialize};

use super::listen::ClientCertificates;
use super::log_format::LogFormat;
use super::oauth::Oauth;
use super::section::{Reload, Section, Setting, limits, section};

/// All sections, in the order of the sample file.
pub const TABLE: &[Section] = &[
    Settings::SECTION,
    Tls::SECTION,
    Threads::SECTION,
    Log::SECTION,
    Connections::SECTION,
    Section {
        name: "limits",
        settings: LIMITS,
        repeats: None,
    },
    Section {
        name: "anonymous_limits",
        settings: LIMITS,
        repeats: Some("clients that have not authenticated. What is not set is as in [limits]."),
    },
    Section {
        name: "administrator_limits",
        settings: LIMITS,
        repeats: Some("the administrator."),
    },
    DynamicEntries::SECTION,
    Passwords::SECTION,
    Sasl::SECTION,
    Changes::SECTION,
    Audit::SECTION,
    Database::SECTION,
    Cluster::SECTION,
];

section! {
    "" Settings {
        /// Where to accept connections: ldap://HOST:PORT, ldaps://HOST:PORT, ldapi://%2Fpath.
        /// HOST may be *, for every address. Port 0 lets the system choose.
        /// pldap:// and pldaps:// are for proxies that say who the client is (PROXY protocol).
        listen: Vec<String> = vec!["ldap://127.0.0.1:1389".to_owned()], "list of URLs", Restart;

        /// Addresses of these proxies, such as "192.0.2.7" or "10.0.0.0/8". Nobody else can use
        /// pldap:// and pldaps://.
        proxies: Vec<String> = Vec::new(), "list of addresses", AtOnce;

        /// Accept passwords, in binds and all other operations, over connections that are neither
        /// TLS nor from this machine.
        allow_cleartext_binds: bool = false, "`true` or `false`", AtOnce;

        /// Where the administrator may bind from: "local" for this machine, addresses, networks.
        /// Beside these, the server's own user and root may by EXTERNAL, on Unix sockets.
        administrator_from: Vec<String> = vec!["local".to_owned()], "list of addresses", NextBind;

        /// Whether TCP connections from this machine are safe without TLS, and local. false where a
        /// relay on this machine passes clients on without saying who they are. Holds for
        /// connections that are opened afterwards.
        trust_local: bool = true, "`true` or `false`", NextBind;

        /// Let the system write the memory of this process, with passwords in it, to a file when
        /// the process crashes.
        core_dumps: bool = false, "`true` or `false`", Restart;
    }
    tls: Tls,
    threads: Threads,
    log: Log,
    connections: Connections,
    limits: LimitsGiven,
    anonymous_limits: LimitsGiven,
    administrator_limits: LimitsGiven,
    subject_limits: Vec<SubjectLimits>,
    dynamic_entries: DynamicEntries,
    passwords: Passwords,
    sasl: Sasl,
    changes: Changes,
    audit: Audit,
    database: Database,
    cluster: Cluster,
}

section! {
    "tls" Tls {
        /// PEM file: the server's certificate, then those that lead to its authority.
        /// Relative to this file's folder. Read again when it changes.
        certificate: Option<PathBuf> = None, "path" like "\"server.pem\"", NextTls;

        /// PEM file: the certificate's private key.
        key: Option<PathBuf> = None, "path" like "\"server.key\"", NextTls;

        /// Response of OCSP for the certificate (DER), which is stapled to it until it expires.
        /// Read again when it changes.
        ocsp: Option<PathBuf> = None, "path" like "\"server.ocsp\"", NextTls;

        /// Certificates for other names: { certificate = "a.pem", key = "a.key" }, perhaps with
        /// ocsp. A client that asks for a name gets the first that has it, else the one above.
        further: Vec<FurtherCertificate> = Vec::new(), "list of tables", NextTls;

        /// Versions of TLS, "1.2" and "1.3".
        versions: Vec<String> = vec!["1.2".to_owned(), "1.3".to_owned()], "list of versions",
            NextTls;

        /// Cipher suites by their IANA names, such as "TLS_AES_256_GCM_SHA384". [] for all.
        suites: Vec<String> = Vec::new(), "list of suites", NextTls;

        /// PEM file: the authorities whose certificates identify clients (SASL EXTERNAL).
        client_ca: Option<PathBuf> = None, "path" like "\"clients.pem\"", NextTls;

        /// What handshakes ask of clients: "none", "ask" for a certificate, or "require" one.
        /// A listener may have its own: "ldaps://*:636?client_certificates=require".
        client_certificates: ClientCertificates = ClientCertificates::None,
            "`none`, `ask` or `require`", NextTls;

        /// Revocation lists of these authorities, PEM or DER. If there are any, each authority of a
        /// client's certificate needs one. Read again when they change.
        client_crl: Vec<PathBuf> = Vec::new(), "list of paths", NextTls;

        /// Use a revocation list after the time at which the next one was due. If not, no client
        /// of its authority is accepted then.
        accept_expired_crl: bool = false, "`true` or `false`", NextTls;
    }
}

/// A certificate for names that the first one does not have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FurtherCertificate {
    /// PEM file: the certificate, then those that lead to its authority.
    pub certificate: PathBuf,
    /// PEM file: the certificate's private key.
    pub key: PathBuf,
    /// Response of OCSP for the certificate (DER); `None` for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ocsp: Option<PathBuf>,
}

section! {
    "threads" Threads {
        /// Threads that serve connections. 0: one for each processor, eight if the database is
        /// larger than the memory when the server starts.
        serving: u32 = 0, "threads", Restart;

        /// Keep each serving thread on one processor.
        pinned: bool = true, "`true` or `false`", Restart;
    }
}

section! {
    "log" Log {
        /// error, warn, info, debug or trace; by part: "server=debug,warn".
        level: String = "warn".to_owned(), "level", AtOnce;

        /// "text", or "json" for one object per event.
        format: LogFormat = LogFormat::Text, "`text` or `json`", Restart;

        /// Log one line for each operation. Failed binds are logged in any case, ten a second.
        operations: bool = false, "`true` or `false`", AtOnce;
    }
}

section! {
    "connections" Connections {
        /// Connections at a time. 0: as many as files may be open.
        total_max: usize = 0, "connections", AtOnce;

        /// Connections from one address. 0: no limit.
        per_address_max: usize = 0, "connections", AtOnce;

        /// The longest message. 0: no limit.
        message_bytes_max: usize = 16 << 20, "bytes", AtOnce;

        /// The longest message before the client has authenticated. 0: no limit.
        anonymous_message_bytes_max: usize = 1 << 20, "bytes", AtOnce;

        /// Wrong passwords at once on one account from one address; then one each 6 seconds. On one
        /// account from all addresses, and from one address on all accounts: ten times as many.
        /// 0: no limit.
        wrong_passwords_max: u32 = 10, "passwords", Restart;

        /// Memory kept for all clients together: parts of messages, writes that wait, updates of
        /// transactions, responses they do not read, candidates of searches, entries that a client
        /// follows, sort keys, views, entries found along links. Requests beyond it are answered
        /// busy. 0: no limit.
        memory_mib_max: u32 = 1_024, "MiB", Restart;

        /// Memory kept for one connection. 0: no limit.
        memory_each_mib_max: u32 = 256, "MiB", Restart;

        /// Close connections silent for so long. 0: never.
        idle_timeout_s: u32 = 0, "seconds", AtOnce;

        /// Close connections whose first message, TLS handshake or rest of a message does not
        /// come in time; after a bind, a message has as long again while it comes fast enough.
        /// 0: never.
        message_timeout_s: u32 = 60, "seconds", AtOnce;

        /// Close connections that leave responses unread for so long. 0: never.
        write_timeout_s: u32 = 60, "seconds", AtOnce;

        /// Close connections on which the rest of a message comes slower, on average over each
        /// message_timeout_s. 0: however slowly.
        receive_bytes_per_s_min: u32 = 500, "bytes per second", AtOnce;

        /// Close connections that have responses waiting and take them slower, on average over
        /// each write_timeout_s. 0: however slowly.
        send_bytes_per_s_min: u32 = 500, "bytes per second", AtOnce;

        /// While requests wait for their serving thread this long again and again, searches and
        /// compares of anonymous clients are answered busy, then those of others but the
        /// administrator. 0: never.
        queue_delay_ms_max: u32 = 1_000, "milliseconds", AtOnce;

        /// How long a stopping server waits for what was begun.
        stop_timeout_s: u32 = 10, "seconds", AtOnce;
    }
}

limits! {
    LimitsGiven,
    SubjectLimits {
        /// The name of an entry that the limits are for.
        entry,
        /// The limits are for everybody at or below an entry of this name.
        subtree,
        /// The name of a group whose members the limits are for.
        group,
    }

    /// Entries one search returns; paged searches have page_entries_max. 0: no limit.
    size_entries_max: u32, "entries";

    /// Seconds one search may take. 0: no limit.
    time_s_max: u32, "seconds";

    /// Entries one search may look at. 0: no limit.
    candidates_max: u64, "entries";

    /// Searches that no index helps one subject may have at a time, over all its connections,
    /// in a directory too large for one of them to end at once. 0: no limit.
    unindexed_searches_max: u32, "searches";

    /// Operations one connection may have waiting before the next is answered busy.
    pending_operations_max: u32, "operations";

    /// Entries in one page. 0: no limit.
    page_entries_max: u32, "entries";

    /// Entries in all pages of one search together. 0: no limit.
    paged_entries_max: u64, "entries";

    /// Entries one search sorts, where no ordering index helps. 0: no limit.
    sort_entries_max: u32, "entries";

    /// Searches that stay (content synchronisation, persistent search) one subject may have at
    /// a time, over all its connections. 0: no limit.
    followers_max: u32, "searches";

    /// Transactions one connection may have open. 0: no limit.
    transactions_open_max: u32, "transactions";

    /// Updates in one transaction. 0: no limit.
    transaction_updates_max: u32, "updates";

    /// Bytes that the updates of all open transactions of one connection may take.
    /// 0: no limit.
    transaction_bytes_max: usize, "bytes";
}

section! {
    "dynamic_entries" DynamicEntries {
        /// How long a dynamic entry stays when the client does not say.
        ttl_default_s: u32 = LimitSettings::default().time_to_live.default_s,
            "seconds" in [1..=31_557_600], NextBind;

        /// The shortest time; a shorter wish is made so long.
        ttl_min_s: u32 = LimitSettings::default().time_to_live.min_s,
            "seconds" in [1..=31_557_600], NextBind;

        /// The longest time, at most a year. A longer wish is made so long if this is a day or
        /// more, and refused otherwise.
        ttl_max_s: u32 = LimitSettings::default().time_to_live.max_s,
            "seconds" in [1..=31_557_600], NextBind;
    }
}

section! {
    "passwords" Passwords {
        /// How new passwords are kept: {ARGON2ID}, {ARGON2}, {BCRYPT}, {CRYPT}, {PBKDF2-SHA256},
        /// {PBKDF2-SHA512}, {SCRAM-SHA-256}, {SCRAM-SHA-512}, {SSHA}, {SSHA256}, {SSHA384},
        /// {SSHA512}, {CLEARTEXT}. Dovecot verifies the first, OpenLDAP the second, which is the
        /// same under another label. SASL SCRAM needs one of its own.
        scheme: String = Scheme::default().to_string(), "scheme", Restart;

        /// Keys of SCRAM kept beside a new password of another scheme: {SCRAM-SHA-256} or
        /// {SCRAM-SHA-512}. A thief of the database guesses by them, at 20,000 rounds each.
        scram_verifiers: String = "none".to_owned(), "scheme, or none", Restart;

        /// Successful checks of slow passwords remembered in memory, so that binding again is
        /// fast. 0: none.
        remembered_max: usize = 100_000, "checks", Restart;

        /// For how many seconds such a check is remembered.
        remembered_s: u32 = 300, "seconds", Restart;

        /// Whether password policies count a wrong password each time it is tried. If not, one that
        /// is tried again and again, as by a program that has an old one, counts once in a day.
        count_repeated: bool = false, "`true` or `false`", Restart;

        /// Whether the password policy control says that an account is locked (as with
        /// ppolicy_use_lockout of slapd): to a bind with the right password, from an address where
        /// it was right lately. Other binds are told nothing, and not verified under a lock.
        tell_locked: bool = false, "`true` or `false`", Restart;

        /// Whether a password that is stored with another scheme than `scheme`, or at less cost, is
        /// hashed anew after a bind. pwdRehashOnBind of a password policy comes before this.
        rehash_on_bind: bool = false, "`true` or `false`", Restart;

        /// Whether passwords hashed by traditional crypt(3), with DES, are right. It looks at eight
        /// characters only, and every such hash can be broken.
        allow_des: bool = false, "`true` or `false`", Restart;

        /// Words that password policies refuse (pandoPasswordDictionary): a file of lines in lower
        /// case, sorted by octets (LC_ALL=C sort -u). Relative to this file's folder.
        dictionary: Option<PathBuf> = None, "path" like "\"words.txt\"", Restart;

        /// Passwords that became known elsewhere, which password policies refuse
        /// (pandoPasswordBreached): a file of lines SHA1:COUNT, sorted, of Have I Been Pwned.
        breached: Option<PathBuf> = None, "path" like "\"breached.txt\"", Restart;

        /// Unix socket of saslauthd, which verifies passwords of values {SASL}user@realm. Without
        /// it, these values match no password.
        saslauthd: Option<PathBuf> = None, "path" like "\"/run/saslauthd/mux\"", Restart;
    }
}

section! {
    "sasl" Sasl {
        /// Offer ANONYMOUS (RFC 4505), a login as nobody, on connections opened afterwards.
        anonymous: bool = false, "`true` or `false`", AtOnce;

        /// Issuers whose tokens are accepted by OAUTHBEARER (RFC 7628), on connections opened
        /// afterwards: { issuer = "https://id.example.com", audience = ["ldap"], keys = "k.json" },
        /// and further settings, which the guide about identities lists.
        oauth: Vec<Oauth> = Vec::new(), "list of tables", AtOnce;
    }
}

section! {
    "changes" Changes {
        /// Mebibytes of changes kept in data/changes, for incremental backups, for restores to any
        /// moment and for exports of changes; the oldest go when there are more. 0: none are kept.
        keep_mib: u32 = 0, "MiB", Restart;
    }
}

section! {
    "audit" Audit {
        /// Write a line for every changed entry into data/audit: who, from where, how, by which
        /// rule, and the values that differ. In a cluster, the first node that is told so begins
        /// the audit for all.
        enabled: bool = false, "`true` or `false`", Restart;

        /// Refuse writes while their lines cannot be written.
        required: bool = false, "`true` or `false`", Restart;

        /// Seconds of failed binds and refused operations that lines in data/audit/attempts count,
        /// by account or entry and by where they came from. 0: no such lines.
        attempts_interval_s: u32 = 60, "seconds" in [0..=3_600], Restart;

        /// Mebibytes from which on a file of lines is closed and another one begun.
        file_mib: u32 = 64, "MiB" in [1..=1_024], Restart;

        /// Mebibytes of files that are kept; the oldest go when there are more. 0: all are kept.
        keep_mib: u32 = 0, "MiB", Restart;

        /// Days for which a closed file is kept. 0: for ever.
        keep_days: u32 = 0, "days", Restart;
    }
}

section! {
    "database" Database {
        /// Read the database into memory after the start, if it takes at most half of the memory.
        warm_up: bool = true, "`true` or `false`", Restart;

        /// Mebibytes that groups of very many members may take on the disk while they are sent to
        /// clients; sorted lists may take as many again. 0: no limit, as long as 256 MiB are left
        /// there.
        spool_mib_max: u32 = 4_096, "MiB", Restart;

        /// Days after which everything is read once, slowly, to find damage before somebody needs
        /// the damaged entry. 0: never.
        scrub_days: u32 = 7, "days", Restart;
    }
}

section! {
    "cluster" Cluster {
        /// Program of etcd that a node of a cluster runs, of version 3.6 or later; relative to this
        /// file's folder. If not set: the one in PATH, else the one that `make etcd` has built.
        etcd_program: Option<PathBuf> = None, "path" like "\"/usr/local/bin/etcd\"", Restart;

        /// Bundles of writes that this node has on their way to the log at the same time; each
        /// connection keeps to one of them. 1 where nodes are near each other, 2 to 4 where a round
        /// trip takes long.
        lanes: u32 = 1, "lanes" in [1..=4], Restart;

        /// How long a write waits for etcd before it is answered with unavailable (52), which says
        /// that it changed nothing.
        write_timeout_s: u32 = seconds(Patience::default().write),
            "seconds" in [1..=3_600], Restart;

        /// How long a write waits whose fate is unknown, because etcd may have it. Then its
        /// connection ends with a notice that says so. At least write_timeout_s.
        undecided_timeout_s: u32 = seconds(Patience::default().undecided),
            "seconds" in [1..=3_600], Restart;

        /// Keep the data in memory alone: each start fetches a copy of another node's state.
        /// Refused for the last node that keeps them on a disk.
        volatile: bool = false, "`true` or `false`", Restart;

        /// Where they are then: a folder of a file system in memory (tmpfs).
        volatile_folder: PathBuf = PathBuf::from("/dev/shm"), "path", Restart;
    }
}

/// A time as the file has it.
fn seconds(time: Duration) -> u32 {
    u32::try_from(time.as_secs()).unwrap_or(u32::MAX)
}
