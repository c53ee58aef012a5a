//! Errors in bytes that should be LDAP: one variant for each violation.
//!
//! Invariant: an error fits in eight bytes, so that results of reading single elements are passed
//! in registers.

use std::fmt;

/// Why bytes were not accepted as BER or as an LDAP message (RFC 4511 §5.1).
///
/// Every variant is answered with `protocolError`; the variant serves tests, logs and metrics.
/// Numbers that do not fit their field are saturated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DecodeError {
    /// An element ends beyond the bytes that hold it.
    Truncated,
    /// Length octet 0x80; LDAP allows definite lengths only (RFC 4511 §5.1 (1)).
    IndefiniteLength,
    /// A length does not fit the machine, or is beyond the limit for one message.
    LengthBeyondLimit {
        /// The largest length accepted, in bytes.
        limit: u32,
    },
    /// A tag number above 30, which no LDAP type uses.
    HighTagNumber,
    /// An element has an unexpected tag.
    UnexpectedTag {
        /// The expected identifier octet.
        expected: u8,
        /// The identifier octet found.
        found: u8,
    },
    /// A mandatory element is missing at the end of its SEQUENCE.
    MissingElement {
        /// The expected identifier octet.
        expected: u8,
    },
    /// Elements are nested deeper than allowed.
    NestedTooDeep,
    /// A filter is nested deeper than allowed.
    FilterTooDeep {
        /// Maximum nesting of `and`, `or` and `not`.
        limit: u8,
    },
    /// A list has more elements than allowed.
    TooMany {
        /// The list.
        what: Component,
        /// Maximum number of elements.
        limit: u32,
    },
    /// Bytes follow after the end of the grammar.
    TrailingBytes {
        /// Number of bytes.
        count: u32,
    },
    /// An INTEGER or ENUMERATED of no octets or more than eight.
    IntegerLength {
        /// Number of content octets.
        octets: u32,
    },
    /// An integer outside the range its type allows.
    OutOfRange {
        /// The integer.
        what: Component,
        /// The value found.
        value: i32,
    },
    /// A BOOLEAN whose content is not exactly one octet.
    BooleanLength {
        /// Number of content octets.
        octets: u32,
    },
    /// An element that must be empty has content.
    NotEmpty,
    /// A string that must be UTF-8 (RFC 4511 §4.1.2) is not.
    NotUtf8,
    /// A request's or response's operation is not known.
    UnknownOperation {
        /// Identifier octet of the operation.
        tag: u8,
    },
    /// A CHOICE has an alternative that is not known, where ignoring it would change the meaning.
    UnknownChoice {
        /// The choice.
        what: Component,
        /// The identifier octet found.
        tag: u8,
    },
    /// A list that must have elements is empty.
    EmptyList {
        /// The list.
        what: Component,
    },
    /// A list contains an element twice.
    Repeated {
        /// The list.
        what: Component,
    },
    /// A text that must be a numeric OID is not.
    NotAnOid {
        /// The text.
        what: Component,
    },
    /// Substrings with `initial` not first or `final` not last (RFC 4511 §4.5.1.7.2).
    SubstringsOutOfOrder,
    /// An extensible match with neither a matching rule nor an attribute (RFC 4511 §4.5.1.7.7).
    NoRuleAndNoAttribute,
    /// Matched values that ask for matching in names, which RFC 3876 does not allow.
    MatchingInNames,
    /// An `entryUUID` that does not have 16 octets.
    UuidLength {
        /// Number of octets of the value.
        octets: u32,
    },
}

const _: () = assert!(
    size_of::<DecodeError>() == 8,
    "results must fit in registers"
);

/// The part of a message with an error, by its name in the RFC where it has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Component {
    /// `messageID`.
    MessageId,
    /// `sizeLimit`.
    SizeLimit,
    /// `timeLimit`.
    TimeLimit,
    /// `scope`.
    Scope,
    /// `derefAliases`.
    DerefAliases,
    /// `operation`.
    ChangeOperation,
    /// `resultCode`.
    ResultCode,
    /// `size`.
    PageSize,
    /// A part of the queue length control.
    QueueLength,
    /// `position`.
    Position,
    /// A level of the assured replication control.
    ReplicationLevel,
    /// `timeoutMillis`.
    ReplicationTimeout,
    /// `beforeCount`.
    BeforeCount,
    /// `afterCount`.
    AfterCount,
    /// `offset`.
    Offset,
    /// `contentCount`.
    ContentCount,
    /// `targetPosition`.
    TargetPosition,
    /// `view target`.
    ViewTarget,
    /// `mode`.
    SyncMode,
    /// `state`.
    SyncState,
    /// `sync info`.
    SyncInfo,
    /// `changeTypes`.
    ChangeTypes,
    /// `changeType`.
    ChangeType,
    /// `warning`.
    PasswordPolicyWarning,
    /// `timeBeforeExpiration`.
    TimeBeforeExpiration,
    /// `graceAuthNsRemaining`.
    GraceAuthentications,
    /// `error`.
    PasswordPolicyError,
    /// `attributes`.
    SelectedAttributes,
    /// `attribute values`.
    AttributeValues,
    /// `controls`.
    Controls,
    /// `filters`.
    Filters,
    /// `filter items`.
    FilterItems,
    /// `substring`.
    Substring,
    /// `substrings`.
    Substrings,
    /// `sort keys`.
    SortKeys,
    /// `reference URLs`.
    ReferenceUrls,
    /// `attributes to dereference`.
    DereferenceSpecifications,
    /// `entryCount`.
    EntryCount,
    /// `minute`.
    MinuteOfWeek,
    /// A number in `explanation`.
    Explanation,
    /// `maxCandidatesToExamine`.
    MaxCandidatesToExamine,
    /// `account usability`.
    AccountUsability,
    /// `octets of sessionSourceIp`.
    SessionSourceAddress,
    /// `octets of sessionSourceName`.
    SessionSourceName,
    /// `formatOID`.
    SessionFormat,
    /// `octets of sessionTrackingIdentifier`.
    SessionIdentifier,
    /// `maxOperations`.
    OperationsMax,
    /// `operationNumber`.
    OperationNumber,
    /// `sequenceNumber`.
    SequenceNumber,
    /// `update operations`.
    UpdateOperations,
    /// `time to live`.
    TimeToLive,
    /// `SASL attribute`.
    SaslAttribute,
}

impl Component {
    /// The part's name.
    pub const fn name(self) -> &'static str {
        match self {
            Component::MessageId => "messageID",
            Component::SizeLimit => "sizeLimit",
            Component::TimeLimit => "timeLimit",
            Component::Scope => "scope",
            Component::DerefAliases => "derefAliases",
            Component::ChangeOperation => "operation",
            Component::ResultCode => "resultCode",
            Component::PageSize => "size",
            Component::QueueLength => "queueLength",
            Component::Position => "position",
            Component::ReplicationLevel => "level",
            Component::ReplicationTimeout => "timeoutMillis",
            Component::BeforeCount => "beforeCount",
            Component::AfterCount => "afterCount",
            Component::Offset => "offset",
            Component::ContentCount => "contentCount",
            Component::TargetPosition => "targetPosition",
            Component::ViewTarget => "view target",
            Component::SyncMode => "mode",
            Component::SyncState => "state",
            Component::SyncInfo => "sync info",
            Component::ChangeTypes => "changeTypes",
            Component::ChangeType => "changeType",
            Component::PasswordPolicyWarning => "warning",
            Component::TimeBeforeExpiration => "timeBeforeExpiration",
            Component::GraceAuthentications => "graceAuthNsRemaining",
            Component::PasswordPolicyError => "error",
            Component::SelectedAttributes => "attributes",
            Component::AttributeValues => "attribute values",
            Component::Controls => "controls",
            Component::Filters => "filters",
            Component::FilterItems => "filter items",
            Component::Substring => "substring",
            Component::Substrings => "substrings",
            Component::SortKeys => "sort keys",
            Component::ReferenceUrls => "reference URLs",
            Component::DereferenceSpecifications => "attributes to dereference",
            Component::EntryCount => "entryCount",
            Component::MinuteOfWeek => "minute",
            Component::Explanation => "explanation",
            Component::MaxCandidatesToExamine => "maxCandidatesToExamine",
            Component::AccountUsability => "account usability",
            Component::SessionSourceAddress => "octets of sessionSourceIp",
            Component::SessionSourceName => "octets of sessionSourceName",
            Component::SessionFormat => "formatOID",
            Component::SessionIdentifier => "octets of sessionTrackingIdentifier",
            Component::OperationsMax => "maxOperations",
            Component::OperationNumber => "operationNumber",
            Component::SequenceNumber => "sequenceNumber",
            Component::UpdateOperations => "update operations",
            Component::TimeToLive => "time to live",
            Component::SaslAttribute => "SASL attribute",
        }
    }
}

impl fmt::Display for Component {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl DecodeError {
    /// The error for a length beyond `limit` bytes.
    #[cold]
    pub(crate) fn beyond(limit: usize) -> Self {
        DecodeError::LengthBeyondLimit {
            limit: saturated(limit),
        }
    }

    /// The error for an integer outside the range of `what`.
    #[cold]
    pub(crate) fn out_of_range(what: Component, value: i64) -> Self {
        let bound = if value < 0 { i32::MIN } else { i32::MAX };
        DecodeError::OutOfRange {
            what,
            value: i32::try_from(value).unwrap_or(bound),
        }
    }
}

/// The number, or the greatest representable one.
pub(crate) fn saturated(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use DecodeError as E;
        match *self {
            E::Truncated => f.write_str("an element is longer than what contains it"),
            E::IndefiniteLength => f.write_str("expected a definite length, got an indefinite one"),
            E::LengthBeyondLimit { limit } => {
                write!(f, "expected at most {limit} bytes, got a longer message")
            }
            E::HighTagNumber => f.write_str("expected a tag number below 31, got a higher one"),
            E::UnexpectedTag { expected, found } => {
                write!(f, "expected tag 0x{expected:02x}, got 0x{found:02x}")
            }
            E::MissingElement { expected } => {
                write!(f, "expected tag 0x{expected:02x}, got nothing")
            }
            E::NestedTooDeep => f.write_str("elements are nested too deep"),
            E::FilterTooDeep { limit } => {
                write!(f, "a filter is nested deeper than {limit} levels")
            }
            E::TooMany { what, limit } => write!(f, "expected at most {limit} {what}, got more"),
            E::TrailingBytes { count } => write!(f, "expected the end, got {count} more bytes"),
            E::IntegerLength { octets } => {
                write!(f, "expected an integer of 1 to 8 octets, got {octets}")
            }
            E::OutOfRange { what, value } => write!(f, "{what} cannot be {value}"),
            E::BooleanLength { octets } => {
                write!(f, "expected a boolean of one octet, got {octets}")
            }
            E::NotEmpty => f.write_str("expected an empty element, got content"),
            E::NotUtf8 => f.write_str("expected UTF-8, got other bytes"),
            E::UnknownOperation { tag } => write!(f, "unknown operation 0x{tag:02x}"),
            E::UnknownChoice { what, tag } => write!(f, "unknown {what} 0x{tag:02x}"),
            E::EmptyList { what } => write!(f, "expected at least one of {what}, got none"),
            E::Repeated { what } => write!(f, "expected different {what}, got one twice"),
            E::NotAnOid { what } => write!(f, "expected a numeric OID as {what}, got other text"),
            E::SubstringsOutOfOrder => f.write_str("substrings are not in order"),
            E::NoRuleAndNoAttribute => {
                f.write_str("expected a matching rule or an attribute, got neither")
            }
            E::MatchingInNames => f.write_str("matched values cannot match in names"),
            E::UuidLength { octets } => write!(f, "expected a UUID of 16 octets, got {octets}"),
        }
    }
}

impl std::error::Error for DecodeError {}
