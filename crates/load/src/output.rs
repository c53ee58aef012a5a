//! Generated entries as LDIF or BER AddRequests, and lists for clients: DNs, binds, filters.

use std::io::{self, Write};

use crate::template::Generator;

/// How entries are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// RFC 2849 content records; lines are folded after so many columns, 0: never.
    Ldif {
        /// Columns; 0 means one line for each value.
        fold_columns: usize,
    },
    /// Concatenated LDAPMessages, each an AddRequest (RFC 4511 §4.7), ids from 1 and wrapping.
    BerMessages,
    /// Concatenated bare AddRequests.
    BerRequests,
}

/// The filter that a filter list holds for every value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilterKind {
    /// `(uid=user.1)`
    Equality,
    /// `(uid=*)`
    Presence,
    /// `(uid=us*)`, `(uid=*er*)`, `(uid=*.1)`: half of the value.
    Initial,
    /// The middle half of the value.
    Any,
    /// The last half of the value.
    Final,
    /// `(uid>=user.1)`
    GreaterOrEqual,
    /// `(uid<=user.1)`
    LessOrEqual,
}

/// Where the entries of one run go. Everything is optional.
#[derive(Default)]
pub struct Outputs<'a> {
    /// The entries themselves.
    pub entries: Option<(Format, &'a mut dyn Write)>,
    /// One DN on each line.
    pub names: Option<&'a mut dyn Write>,
    /// `DN TAB password` for entries that have a `userPassword`.
    pub binds: Option<&'a mut dyn Write>,
    /// `value TAB password` for entries that have this attribute and a `userPassword`.
    pub logins: Option<(String, &'a mut dyn Write)>,
    /// One filter on each line, for every value of the attribute.
    pub filters: Option<(String, FilterKind, &'a mut dyn Write)>,
}

/// Makes the entries `from..to` with `threads` threads and writes them in order.
///
/// `progress` is told how many entries have been written, at most a few times each second.
pub fn write_range(
    generator: &Generator,
    from: u64,
    to: u64,
    threads: usize,
    outputs: Outputs<'_>,
    progress: &mut dyn FnMut(u64),
) -> io::Result<()> {
    let _ = (generator, from, to, threads, outputs, progress);
    unimplemented!()
}
