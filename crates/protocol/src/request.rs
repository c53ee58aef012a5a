//! The requests of RFC 4511 §4.2 to §4.12 as data, and their decoding.
//!
//! Invariant: everything borrows from the message; only lists allocate.

mod decode;
mod encode;

pub use encode::write_request;

pub(crate) use decode::{SearchHead, attribute_selection};
pub(crate) use encode::{put_attribute_selection, put_request};

use crate::ber::PartialAttribute;
use crate::filter::Filter;
use crate::message_id::MessageId;

/// Identifier octets of the request operations.
pub mod tag {
    /// `[APPLICATION 0]`, constructed.
    pub const BIND: u8 = 0x60;
    /// `[APPLICATION 2]`, primitive.
    pub const UNBIND: u8 = 0x42;
    /// `[APPLICATION 3]`, constructed.
    pub const SEARCH: u8 = 0x63;
    /// `[APPLICATION 6]`, constructed.
    pub const MODIFY: u8 = 0x66;
    /// `[APPLICATION 8]`, constructed.
    pub const ADD: u8 = 0x68;
    /// `[APPLICATION 10]`, primitive.
    pub const DELETE: u8 = 0x4A;
    /// `[APPLICATION 12]`, constructed.
    pub const MODIFY_DN: u8 = 0x6C;
    /// `[APPLICATION 14]`, constructed.
    pub const COMPARE: u8 = 0x6E;
    /// `[APPLICATION 16]`, primitive.
    pub const ABANDON: u8 = 0x50;
    /// `[APPLICATION 23]`, constructed.
    pub const EXTENDED: u8 = 0x77;
}

/// One operation as a client asks for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request<'a> {
    /// RFC 4511 §4.2.
    Bind(BindRequest<'a>),
    /// RFC 4511 §4.3.
    Unbind,
    /// RFC 4511 §4.5.1.
    Search(SearchRequest<'a>),
    /// RFC 4511 §4.6.
    Modify(ModifyRequest<'a>),
    /// RFC 4511 §4.7.
    Add(AddRequest<'a>),
    /// RFC 4511 §4.8.
    Delete(DeleteRequest<'a>),
    /// RFC 4511 §4.9.
    ModifyDn(ModifyDnRequest<'a>),
    /// RFC 4511 §4.10.
    Compare(CompareRequest<'a>),
    /// RFC 4511 §4.11: the message id of the operation to abandon.
    Abandon(MessageId),
    /// RFC 4511 §4.12.
    Extended(ExtendedRequest<'a>),
}

/// Asks to authenticate (RFC 4511 §4.2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BindRequest<'a> {
    /// The protocol version; 3 is the only one served, which the server checks.
    pub version: i64,
    /// The name to authenticate as; empty for anonymous and most SASL mechanisms.
    pub name: &'a str,
    /// Method and credentials.
    pub authentication: Authentication<'a>,
}

/// Credentials of a bind (RFC 4511 §4.2).
#[derive(Clone, PartialEq, Eq)]
pub enum Authentication<'a> {
    /// A password in clear.
    Simple(&'a [u8]),
    /// One step of a SASL exchange.
    Sasl {
        /// The mechanism's registered name; empty aborts the exchange.
        mechanism: &'a str,
        /// Credentials of the mechanism; `None` if it sends none.
        credentials: Option<&'a [u8]>,
    },
    /// Identifier octet of a choice unknown to this server, which is answered with
    /// `authMethodNotSupported`.
    Unknown(u8),
}

impl std::fmt::Debug for Authentication<'_> {
    /// Prints only the kind of credentials: a password must not reach a log through `{:?}`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Simple(password) => write!(f, "Simple({} octets)", password.len()),
            Self::Sasl { mechanism, .. } => write!(f, "Sasl({mechanism:?})"),
            Self::Unknown(tag) => write!(f, "Unknown(0x{tag:02x})"),
        }
    }
}

/// Asks for entries (RFC 4511 §4.5.1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchRequest<'a> {
    /// Name of the base entry.
    pub base: &'a str,
    /// Entries to search, relative to the base.
    pub scope: Scope,
    /// Whether to follow aliases.
    pub deref_aliases: DerefAliases,
    /// Maximum number of entries to return; 0 for no limit.
    pub size_limit: u32,
    /// Maximum time of the search in seconds; 0 for no limit.
    pub time_limit_s: u32,
    /// Whether only attribute descriptions are returned, without values.
    pub types_only: bool,
    /// Condition on the entries.
    pub filter: Filter<'a>,
    /// Attributes to return, as spelled; empty for all user attributes (§4.5.1.8).
    pub attributes: Vec<&'a str>,
}

impl<'a> SearchRequest<'a> {
    /// Returns a search for all user attributes, without limits, that follows no aliases.
    pub fn new(base: &'a str, scope: Scope, filter: Filter<'a>) -> SearchRequest<'a> {
        SearchRequest {
            base,
            scope,
            deref_aliases: DerefAliases::Never,
            size_limit: 0,
            time_limit_s: 0,
            types_only: false,
            filter,
            attributes: Vec::new(),
        }
    }

    /// Returns a search that reads one entry with all its user attributes.
    pub fn of_entry(name: &'a str) -> SearchRequest<'a> {
        SearchRequest::new(name, Scope::BaseObject, Filter::Present("objectClass"))
    }
}

/// Entries that a search covers, relative to the base (RFC 4511 §4.5.1.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The base itself.
    BaseObject = 0,
    /// The entries directly below the base.
    SingleLevel = 1,
    /// The base and all its subordinates.
    WholeSubtree = 2,
    /// All subordinates of the base, without the base (draft-sermersheim-ldap-subordinate-scope).
    Subordinate = 3,
}

/// When aliases are followed (RFC 4511 §4.5.1.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DerefAliases {
    /// Never.
    Never = 0,
    /// In the entries below the base, not for the base.
    InSearching = 1,
    /// Aliases are dereferenced for the base only.
    FindingBaseObject = 2,
    /// Aliases are dereferenced for the base and below it.
    Always = 3,
}

/// Asks to change an entry's attributes (RFC 4511 §4.6).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModifyRequest<'a> {
    /// The entry.
    pub object: &'a str,
    /// The changes, applied in this order and all or none; possibly none at all.
    pub changes: Vec<Change<'a>>,
}

/// One change of a modify request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Change<'a> {
    /// Kind of the change.
    pub operation: ChangeOperation,
    /// Attribute and values.
    pub attribute: PartialAttribute<'a>,
}

/// Kind of a change (RFC 4511 §4.6, RFC 4525).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeOperation {
    /// Adds values.
    Add = 0,
    /// Deletes the given values; without values, the attribute.
    Delete = 1,
    /// Replaces all values.
    Replace = 2,
    /// Adds the one value given to every present value (RFC 4525).
    Increment = 3,
}

/// Asks to add an entry (RFC 4511 §4.7).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddRequest<'a> {
    /// The new entry's name.
    pub entry: &'a str,
    /// Attributes of the new entry; each has at least one value.
    pub attributes: Vec<PartialAttribute<'a>>,
}

/// Asks to delete an entry (RFC 4511 §4.8).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeleteRequest<'a> {
    /// The entry.
    pub entry: &'a str,
}

/// Asks to rename or move an entry and its subordinates (RFC 4511 §4.9).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModifyDnRequest<'a> {
    /// The entry.
    pub entry: &'a str,
    /// New RDN of the entry.
    pub new_rdn: &'a str,
    /// Whether the values of the old RDN are deleted from the entry.
    pub delete_old_rdn: bool,
    /// New superior of the entry; `None` keeps the present one.
    pub new_superior: Option<&'a str>,
}

/// Asks whether an entry has a value (RFC 4511 §4.10).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompareRequest<'a> {
    /// The entry.
    pub entry: &'a str,
    /// The attribute description.
    pub attribute: &'a str,
    /// The assertion value.
    pub value: &'a [u8],
}

/// Asks for an operation identified by an OID (RFC 4511 §4.12).
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct ExtendedRequest<'a> {
    /// The operation's OID.
    pub name: &'a str,
    /// Value of the operation, in a form that the OID defines; `None` if it has none.
    pub value: Option<&'a [u8]>,
}

impl std::fmt::Debug for ExtendedRequest<'_> {
    /// Prints only the length of the value, which may contain a password (RFC 3062).
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let octets = self.value.map(<[u8]>::len);
        f.debug_struct("ExtendedRequest")
            .field("name", &self.name)
            .field("octets", &octets)
            .finish()
    }
}

impl Request<'_> {
    /// The operation's name in RFC 4511, for logs and metrics: `bind`, `modifyDN`, ….
    pub const fn name(&self) -> &'static str {
        match self {
            Request::Bind(_) => "bind",
            Request::Unbind => "unbind",
            Request::Search(_) => "search",
            Request::Modify(_) => "modify",
            Request::Add(_) => "add",
            Request::Delete(_) => "delete",
            Request::ModifyDn(_) => "modifyDN",
            Request::Compare(_) => "compare",
            Request::Abandon(_) => "abandon",
            Request::Extended(_) => "extended",
        }
    }

    /// The operation's identifier octet.
    pub const fn tag(&self) -> u8 {
        match self {
            Request::Bind(_) => tag::BIND,
            Request::Unbind => tag::UNBIND,
            Request::Search(_) => tag::SEARCH,
            Request::Modify(_) => tag::MODIFY,
            Request::Add(_) => tag::ADD,
            Request::Delete(_) => tag::DELETE,
            Request::ModifyDn(_) => tag::MODIFY_DN,
            Request::Compare(_) => tag::COMPARE,
            Request::Abandon(_) => tag::ABANDON,
            Request::Extended(_) => tag::EXTENDED,
        }
    }
}

#[cfg(test)]
mod tests;
