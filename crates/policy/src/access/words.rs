//! Fixed words of the language: uses of the server, and ways in which a subject came.

use schema::Truth;

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
    /// Updates in bulk, which the rules for single updates do not check.
    Bulk,
    /// Reading the settings of the server again.
    Reload,
    /// The first value of an attribute description with options that no entry has had: each takes
    /// one of a limited count of numbers forever.
    NewOptions,
}

impl Use {
    /// All uses.
    pub const ALL: [Use; 17] = [
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
        Use::Bulk,
        Use::Reload,
        Use::NewOptions,
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
            Use::Bulk => "bulk",
            Use::Reload => "reload",
            Use::NewOptions => "new-options",
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
    /// With a token of an issuer (SASL OAUTHBEARER).
    Token,
    /// As an identity that another one acts as.
    Proxied,
}

impl Way {
    /// All ways.
    pub const ALL: [Way; 10] = [
        Way::Tls,
        Way::Local,
        Way::Cleartext,
        Way::Simple,
        Way::Plain,
        Way::Scram,
        Way::Certificate,
        Way::External,
        Way::Token,
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
            Way::Token => "token",
            Way::Proxied => "proxied",
        }
    }
}

/// The ways in which one subject came, and those of which that is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ways {
    came: u16,
    unknown: u16,
}

impl Ways {
    /// Of no way is it known whether the subject came by it.
    pub const UNKNOWN: Ways = Ways {
        came: 0,
        unknown: u16::MAX,
    };

    /// Returns what is known of a subject that came by these ways and no others.
    pub fn of(ways: &[Way]) -> Ways {
        let came = bits(ways);
        Ways { came, unknown: 0 }
    }

    /// Returns the same, except that it is not known whether the subject came by these ways.
    pub fn unsure_of(self, ways: &[Way]) -> Ways {
        let unknown = bits(ways);
        Ways {
            came: self.came & !unknown,
            unknown: self.unknown | unknown,
        }
    }

    /// Returns the same for a subject that came by this way, too.
    pub fn and(self, way: Way) -> Ways {
        let more = bits(&[way]);
        Ways {
            came: self.came | more,
            unknown: self.unknown & !more,
        }
    }

    /// Returns whether the subject came by a way; undefined if that is not known.
    pub fn truth(self, way: Way) -> Truth {
        let bit = bits(&[way]);
        match (self.came & bit != 0, self.unknown & bit != 0) {
            (true, _) => Truth::True,
            (false, true) => Truth::Undefined,
            (false, false) => Truth::False,
        }
    }
}

fn bits(ways: &[Way]) -> u16 {
    ways.iter().fold(0, |bits, it| bits | 1 << *it as u16)
}
