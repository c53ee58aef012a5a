//! Pieces of output that threads pass to the writer, and the kinds of outputs.

use crate::template::GenerateError;

/// Octets after which a piece is passed on.
pub(super) const PIECE_BYTES: usize = 1 << 20;

/// The format of entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// RFC 2849 content records, without a version line: slapadd takes it for an entry.
    Ldif {
        /// Column after which a line is folded; 0 for never.
        fold_columns: usize,
    },
    /// Concatenated LDAPMessages, each an AddRequest (RFC 4511 §4.7). Message ids count from 1 and
    /// begin again after 2^31-1.
    BerMessages,
    /// Concatenated bare AddRequests.
    BerRequests,
}

/// The filter written for every value in a filter list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilterKind {
    /// Equality: `(uid=user.1)`
    Equality,
    /// Presence: `(uid=*)`
    Presence,
    /// The first half of the value: `(uid=use*)`
    Initial,
    /// The middle half of the value: `(uid=*er*)`
    Any,
    /// The last half of the value: `(uid=*r.1)`
    Final,
    /// `(uid>=user.1)`
    GreaterOrEqual,
    /// `(uid<=user.1)`
    LessOrEqual,
}

/// The wanted outputs, in the order of the fields of [`super::Outputs`].
#[derive(Clone, Debug, Default)]
pub(crate) struct Wanted {
    pub entries: Option<Format>,
    pub names: bool,
    pub binds: bool,
    pub logins: Option<String>,
    pub filters: Option<(String, FilterKind)>,
}

/// Part of the output of one run of entries.
#[derive(Debug, Default)]
pub(crate) struct Piece {
    /// Octets for each output, in the order of the fields of [`Wanted`].
    pub octets: [Vec<u8>; 5],
    /// Number of entries that end in this piece.
    pub entries: u64,
    /// Whether the run of entries is complete.
    pub last: bool,
}

/// The reason why a thread sends no more pieces.
pub(crate) enum Stop {
    /// The writer has ended.
    Unwanted,
    /// The template describes an entry that cannot be made.
    Impossible(GenerateError),
}

impl From<GenerateError> for Stop {
    fn from(error: GenerateError) -> Stop {
        Stop::Impossible(error)
    }
}
