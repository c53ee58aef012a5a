//! Fixed words of the language: uses of the server, and ways in which a subject came.

/// An operation or a control that needs a right of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Use {
    /// Content synchronisation (RFC 4533).
    Sync,
    /// Persistent search.
    Persist,
    /// A search that no index answers.
    Unindexed,
    /// Server-side sorting (RFC 2891).
    Sort,
    /// A virtual list view.
    View,
    /// The number of matching entries.
    Count,
    /// Acting as another identity (RFC 4370).
    Proxied,
    /// Relaxed rules for values.
    Relaxed,
    /// Deleting an entry with all its subordinates.
    TreeDelete,
    /// Compacting the database.
    Compact,
    /// Reading `cn=monitor`.
    Monitor,
    /// Taking a backup.
    Backup,
    /// Having a search explained.
    Explain,
    /// Answers from the newest state only (RFC 6171).
    NoCopy,
}

impl Use {
    /// All uses.
    pub const ALL: [Use; 14] = [
        Use::Sync,
        Use::Persist,
        Use::Unindexed,
        Use::Sort,
        Use::View,
        Use::Count,
        Use::Proxied,
        Use::Relaxed,
        Use::TreeDelete,
        Use::Compact,
        Use::Monitor,
        Use::Backup,
        Use::Explain,
        Use::NoCopy,
    ];

    /// The word for this use in rules.
    pub fn word(self) -> &'static str {
        match self {
            Use::Sync => "sync",
            Use::Persist => "persist",
            Use::Unindexed => "unindexed",
            Use::Sort => "sort",
            Use::View => "view",
            Use::Count => "count",
            Use::Proxied => "proxied",
            Use::Relaxed => "relaxed",
            Use::TreeDelete => "tree-delete",
            Use::Compact => "compact",
            Use::Monitor => "monitor",
            Use::Backup => "backup",
            Use::Explain => "explain",
            Use::NoCopy => "no-copy",
        }
    }
}

/// A way in which a subject reached the server and proved its identity. Several may hold at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Way {
    /// Over TLS.
    Tls,
    /// Over a Unix socket.
    Local,
    /// Over TCP without TLS.
    Cleartext,
    /// With a name and a password (RFC 4513 §5.1.3).
    Simple,
    /// With SASL PLAIN.
    Plain,
    /// With SASL SCRAM.
    Scram,
    /// With a certificate (SASL EXTERNAL over TLS).
    Certificate,
    /// With SASL EXTERNAL, by a certificate or by the user of a Unix socket.
    External,
    /// As an identity that another one acts as.
    Proxied,
}

impl Way {
    /// All ways.
    pub const ALL: [Way; 9] = [
        Way::Tls,
        Way::Local,
        Way::Cleartext,
        Way::Simple,
        Way::Plain,
        Way::Scram,
        Way::Certificate,
        Way::External,
        Way::Proxied,
    ];

    /// The word for this way in rules.
    pub fn word(self) -> &'static str {
        match self {
            Way::Tls => "tls",
            Way::Local => "local",
            Way::Cleartext => "cleartext",
            Way::Simple => "simple",
            Way::Plain => "plain",
            Way::Scram => "scram",
            Way::Certificate => "certificate",
            Way::External => "external",
            Way::Proxied => "proxied",
        }
    }
}

/// A set of ways.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ways(u16);

impl Ways {
    /// Returns the set of these ways.
    pub fn of(ways: &[Way]) -> Ways {
        Ways(ways.iter().fold(0, |bits, it| bits | 1 << *it as u16))
    }

    /// Returns whether the set has the way.
    pub fn contains(self, way: Way) -> bool {
        self.0 & (1 << way as u16) != 0
    }
}
