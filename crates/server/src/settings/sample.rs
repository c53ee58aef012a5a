//! The table of all settings, and the sample file made from it.

/// One setting as documented.
struct Setting {
    table: &'static str,
    name: &'static str,
    /// As written in the file. Empty: there is no default.
    default: &'static str,
    /// What it means, one sentence per line.
    about: &'static str,
    /// Shown when there is no default.
    example: &'static str,
}

const fn row(
    table: &'static str,
    name: &'static str,
    default: &'static str,
    about: &'static str,
) -> Setting {
    Setting {
        table,
        name,
        default,
        about,
        example: "",
    }
}

const SETTINGS: &[Setting] = &[
    row(
        "",
        "listen",
        "[\"ldap://127.0.0.1:1389\"]",
        "Where to accept connections: ldap://HOST:PORT, ldaps://HOST:PORT, ldapi://%2Fpath.\n\
         HOST may be *, for every address. Port 0 lets the system choose.\n\
         pldap:// and pldaps:// are for proxies that say who the client is (PROXY protocol).",
    ),
    row(
        "",
        "proxies",
        "[]",
        "Addresses of these proxies, such as \"192.0.2.7\" or \"10.0.0.0/8\". Nobody else can use\n\
         pldap:// and pldaps://.",
    ),
    row(
        "",
        "allow_cleartext_binds",
        "false",
        "Accept passwords, in binds and all other operations, over connections that are neither\n\
         TLS nor from this machine.",
    ),
    Setting {
        table: "tls",
        name: "certificate",
        default: "",
        about: "PEM file: the server's certificate, then those that lead to its authority.\n\
                Relative to this file's folder. Read again when it changes.",
        example: "\"server.pem\"",
    },
    Setting {
        table: "tls",
        name: "key",
        default: "",
        about: "PEM file: the certificate's private key.",
        example: "\"server.key\"",
    },
    row(
        "threads",
        "serving",
        "0",
        "Threads that serve connections. 0: one for each processor, eight if the database is\n\
         larger than the memory when the server starts.",
    ),
    row(
        "threads",
        "pinned",
        "true",
        "Keep each serving thread on one processor.",
    ),
    row(
        "log",
        "level",
        "\"warn\"",
        "error, warn, info, debug or trace; by part: \"server=debug,warn\".",
    ),
    row(
        "log",
        "format",
        "\"text\"",
        "\"text\", or \"json\" for one object per event.",
    ),
    row(
        "log",
        "operations",
        "false",
        "Log one line for each operation. Failed binds are logged in any case, ten a second.",
    ),
    row(
        "connections",
        "total_max",
        "0",
        "Connections at a time. 0: as many as files may be open.",
    ),
    row(
        "connections",
        "per_address_max",
        "0",
        "Connections from one address. 0: no limit.",
    ),
    row(
        "connections",
        "message_bytes_max",
        "16777216",
        "The longest message. 0: no limit.",
    ),
    row(
        "connections",
        "anonymous_message_bytes_max",
        "1048576",
        "The longest message before the client has authenticated. 0: no limit.",
    ),
    row(
        "connections",
        "memory_mib_max",
        "1024",
        "Memory kept for all clients together: parts of messages, responses they do not read, \
         sort keys, views, entries found along links. 0: no limit.",
    ),
    row(
        "connections",
        "memory_each_mib_max",
        "256",
        "The same for one connection.",
    ),
    row(
        "connections",
        "idle_timeout_s",
        "0",
        "Close connections silent for so long. 0: never.",
    ),
    row(
        "connections",
        "message_timeout_s",
        "60",
        "Close connections whose first message, TLS handshake or rest of a message does not\n\
         come in time; after a bind, the next part of it. 0: never.",
    ),
    row(
        "connections",
        "write_timeout_s",
        "60",
        "Close connections that leave responses unread for so long. 0: never.",
    ),
    row(
        "connections",
        "stop_timeout_s",
        "10",
        "How long a stopping server waits for what was begun.",
    ),
    row(
        "limits",
        "size_entries_max",
        "5000",
        "Entries one search returns; paged searches have page_entries_max. 0: no limit.",
    ),
    row(
        "limits",
        "time_s_max",
        "60",
        "Seconds one search may take. 0: no limit.",
    ),
    row(
        "limits",
        "candidates_max",
        "0",
        "Entries one search may look at. 0: no limit.",
    ),
    row(
        "limits",
        "unindexed_searches_max",
        "10",
        "Searches that no index helps one subject may have at a time, over all its connections,\n\
         in a directory too large for one of them to end at once. 0: no limit.",
    ),
    row(
        "limits",
        "pending_operations_max",
        "4096",
        "Operations one connection may have waiting before the next is answered busy.",
    ),
    row(
        "limits",
        "page_entries_max",
        "5000",
        "Entries in one page. 0: no limit.",
    ),
    row(
        "limits",
        "paged_entries_max",
        "0",
        "Entries in all pages of one search together. 0: no limit.",
    ),
    row(
        "limits",
        "sort_entries_max",
        "100000",
        "Entries one search sorts, where no ordering index helps. 0: no limit.",
    ),
    row(
        "limits",
        "followers_max",
        "100",
        "Searches that stay (content synchronisation, persistent search) one subject may have at\n\
         a time, over all its connections. 0: no limit.",
    ),
    row(
        "limits",
        "transactions_open_max",
        "100",
        "Transactions one connection may have open. 0: no limit.",
    ),
    row(
        "limits",
        "transaction_updates_max",
        "10000",
        "Updates in one transaction. 0: no limit.",
    ),
    row(
        "limits",
        "transaction_bytes_max",
        "16777216",
        "Bytes that the updates of all open transactions of one connection may take.\n\
         0: no limit.",
    ),
    row(
        "anonymous_limits",
        "size_entries_max",
        "5000",
        "The same, for clients that have not authenticated. What is not set is as in [limits].",
    ),
    row("anonymous_limits", "time_s_max", "60", ""),
    row("anonymous_limits", "candidates_max", "0", ""),
    row("anonymous_limits", "unindexed_searches_max", "10", ""),
    row("anonymous_limits", "pending_operations_max", "4096", ""),
    row("anonymous_limits", "page_entries_max", "5000", ""),
    row("anonymous_limits", "paged_entries_max", "0", ""),
    row("anonymous_limits", "sort_entries_max", "100000", ""),
    row("anonymous_limits", "followers_max", "100", ""),
    row("anonymous_limits", "transactions_open_max", "100", ""),
    row("anonymous_limits", "transaction_updates_max", "10000", ""),
    row("anonymous_limits", "transaction_bytes_max", "16777216", ""),
    row(
        "administrator_limits",
        "size_entries_max",
        "0",
        "The same, for the administrator.",
    ),
    row("administrator_limits", "time_s_max", "0", ""),
    row("administrator_limits", "candidates_max", "0", ""),
    row("administrator_limits", "unindexed_searches_max", "0", ""),
    row(
        "administrator_limits",
        "pending_operations_max",
        "65536",
        "",
    ),
    row("administrator_limits", "page_entries_max", "0", ""),
    row("administrator_limits", "paged_entries_max", "0", ""),
    row("administrator_limits", "sort_entries_max", "1000000", ""),
    row("administrator_limits", "followers_max", "1000", ""),
    row("administrator_limits", "transactions_open_max", "1000", ""),
    row(
        "administrator_limits",
        "transaction_updates_max",
        "100000",
        "",
    ),
    row(
        "administrator_limits",
        "transaction_bytes_max",
        "268435456",
        "",
    ),
    row(
        "dynamic_entries",
        "ttl_default_s",
        "86400",
        "How long a dynamic entry stays when the client does not say.",
    ),
    row(
        "dynamic_entries",
        "ttl_min_s",
        "1",
        "The shortest time; a shorter wish is made so long.",
    ),
    row(
        "dynamic_entries",
        "ttl_max_s",
        "31557600",
        "The longest time, at most a year. A longer wish is made so long if this is a day or\n\
         more, and refused otherwise.",
    ),
    row(
        "passwords",
        "scheme",
        "\"{ARGON2ID}\"",
        "How new passwords are kept: {ARGON2ID}, {ARGON2}, {BCRYPT}, {CRYPT}, {PBKDF2-SHA256},\n\
         {PBKDF2-SHA512}, {SCRAM-SHA-256}, {SCRAM-SHA-512}, {SSHA}, {SSHA256}, {SSHA384},\n\
         {SSHA512}, {CLEARTEXT}. Dovecot verifies the first, OpenLDAP the second, which is the\n\
         same under another label. SASL SCRAM needs one of its own.",
    ),
    row(
        "passwords",
        "remembered_max",
        "100000",
        "Successful checks of slow passwords remembered in memory, so that binding again is\n\
         fast. 0: none.",
    ),
    row("passwords", "remembered_s", "300", "For how many seconds."),
    row(
        "passwords",
        "count_repeated",
        "false",
        "Whether password policies count a wrong password each time it is tried. If not, one that\n\
         is tried again and again, as by a program that has an old one, counts once in a day.",
    ),
    row(
        "passwords",
        "tell_locked",
        "false",
        "Whether a bind to a locked account is told so by the password policy control, whatever\n\
         its password is (ppolicy_use_lockout of slapd). That helps users, and whoever guesses.",
    ),
    row(
        "changes",
        "keep_mib",
        "0",
        "Mebibytes of changes kept in data/changes, for incremental backups, for restores to any\n\
         moment and for exports of changes; the oldest go when there are more. 0: none are kept.",
    ),
    row(
        "database",
        "warm_up",
        "true",
        "Read the database into memory after the start, if it takes at most half of the memory.",
    ),
    row(
        "database",
        "spool_mib_max",
        "4096",
        "Mebibytes that groups of very many members may take on the disk while they are sent to\n\
         clients; sorted lists may take as many again. 0: no limit, as long as 256 MiB are left\n\
         there.",
    ),
    row(
        "database",
        "scrub_days",
        "7",
        "Days after which everything is read once, slowly, to find damage before somebody needs\n\
         the damaged entry. 0: never.",
    ),
];

/// A `pando.toml` that says everything and changes nothing: every setting with its meaning and
/// its default, commented out.
pub fn sample() -> String {
    let mut text = String::from(
        "# Settings of this node. What must be equal on all nodes (schema, access, indexes)\n\
         # lives in the directory under cn=config. Lines that are commented out show defaults.\n",
    );
    let mut table = "";
    for setting in SETTINGS {
        if setting.table != table {
            table = setting.table;
            text.push_str(&format!("\n[{table}]\n"));
        } else if !setting.about.is_empty() {
            text.push('\n');
        }
        for line in setting.about.lines() {
            text.push_str(&format!("# {line}\n"));
        }
        let value = match setting.default {
            "" => setting.example,
            default => default,
        };
        text.push_str(&format!("#{} = {value}\n", setting.name));
    }
    text
}
