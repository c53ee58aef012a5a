//! What can be wrong with bytes that claim to be LDAP: one variant per misdeed of the peer.

use std::fmt;

/// Why bytes were not accepted as BER or as an LDAP message (RFC 4511 §5.1).
///
/// Every variant is answered with `protocolError`; the variant serves tests, logs and metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DecodeError {
    /// An element ends beyond the bytes that hold it.
    Truncated,
    /// Length octet 0x80; LDAP allows definite lengths only (RFC 4511 §5.1 (1)).
    IndefiniteLength,
    /// The length does not fit the machine or is beyond the limit for one message.
    LengthBeyondLimit {
        /// The length announced, saturated at `u64::MAX`.
        length: u64,
        /// The largest length accepted.
        limit: u64,
    },
    /// A tag number above 30, which no LDAP type uses.
    HighTagNumber,
    /// Another element was due here.
    UnexpectedTag {
        /// The identifier octet that was due.
        expected: u8,
        /// The identifier octet that came.
        found: u8,
    },
    /// A mandatory element is missing at the end of its SEQUENCE.
    MissingElement {
        /// The identifier octet that was due.
        expected: u8,
    },
    /// Elements are nested deeper than allowed.
    NestedTooDeep {
        /// The deepest nesting accepted.
        limit: u8,
    },
    /// A filter is nested deeper than allowed.
    FilterTooDeep {
        /// The deepest nesting of `and`, `or` and `not` accepted.
        limit: u8,
    },
    /// A list has more elements than allowed.
    TooMany {
        /// What the list holds.
        what: &'static str,
        /// The most elements accepted.
        limit: usize,
    },
    /// Bytes follow where the grammar has ended.
    TrailingBytes {
        /// How many.
        count: usize,
    },
    /// An INTEGER or ENUMERATED of no octets or more than eight.
    IntegerLength {
        /// Its number of content octets.
        octets: usize,
    },
    /// An integer outside the range its type allows.
    OutOfRange {
        /// The component's name in the RFC.
        what: &'static str,
        /// The value that came.
        value: i64,
    },
    /// A BOOLEAN whose content is not exactly one octet.
    BooleanLength {
        /// Its number of content octets.
        octets: usize,
    },
    /// A NULL, or an element that must be empty, with content.
    NotEmpty,
    /// A string that must be UTF-8 (RFC 4511 §4.1.2) is not.
    NotUtf8,
    /// A request's operation is not known.
    UnknownOperation {
        /// Its identifier octet.
        tag: u8,
    },
    /// A CHOICE has an alternative that is not known, where ignoring it would change the meaning.
    UnknownChoice {
        /// The type's name in the RFC.
        what: &'static str,
        /// The identifier octet.
        tag: u8,
    },
    /// A list that must have elements is empty.
    EmptyList {
        /// What the list should hold.
        what: &'static str,
    },
    /// Parts are there, but not in a combination the RFC allows.
    Contradiction {
        /// What is wrong, in a few words.
        what: &'static str,
    },
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use DecodeError as E;
        match *self {
            E::Truncated => f.write_str("an element is longer than what contains it"),
            E::IndefiniteLength => f.write_str("indefinite length; LDAP needs definite lengths"),
            E::LengthBeyondLimit { length, limit } => {
                write!(f, "length {length} is beyond the limit of {limit} bytes")
            }
            E::HighTagNumber => f.write_str("tag number above 30"),
            E::UnexpectedTag { expected, found } => {
                write!(f, "expected tag 0x{expected:02x}, found 0x{found:02x}")
            }
            E::MissingElement { expected } => write!(f, "element 0x{expected:02x} is missing"),
            E::NestedTooDeep { limit } => write!(f, "nested deeper than {limit} levels"),
            E::FilterTooDeep { limit } => write!(f, "filter nested deeper than {limit} levels"),
            E::TooMany { what, limit } => write!(f, "more than {limit} {what}"),
            E::TrailingBytes { count } => write!(f, "{count} bytes follow the end"),
            E::IntegerLength { octets } => write!(f, "integer of {octets} octets"),
            E::OutOfRange { what, value } => write!(f, "{what} {value} is out of range"),
            E::BooleanLength { octets } => write!(f, "boolean of {octets} octets"),
            E::NotEmpty => f.write_str("an element that must be empty has content"),
            E::NotUtf8 => f.write_str("a string is not UTF-8"),
            E::UnknownOperation { tag } => write!(f, "unknown operation 0x{tag:02x}"),
            E::UnknownChoice { what, tag } => write!(f, "unknown {what} 0x{tag:02x}"),
            E::EmptyList { what } => write!(f, "expected at least one of {what}"),
            E::Contradiction { what } => f.write_str(what),
        }
    }
}

impl std::error::Error for DecodeError {}
