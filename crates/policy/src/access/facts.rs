//! The facts that decisions are made from: who asks, and what is asked of entries when it matters.

use std::net::IpAddr;

use schema::{Filter, Name, Truth, TypeId};

use crate::access::hours::WeekMinute;
use crate::access::words::Ways;

/// An identity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Identity {
    /// Nobody has authenticated.
    Anonymous,
    /// The entry with this name.
    Entry(Name),
    /// The server's administrator, by this name.
    Administrator(Name),
    /// An identity that cannot be told any more, e.g. a name that the schema no longer resolves.
    /// What rules say about identities is neither true nor false of it.
    Unknown,
}

impl Identity {
    /// The name; `None` when anonymous or unknown.
    pub fn name(&self) -> Option<&Name> {
        match self {
            Identity::Anonymous | Identity::Unknown => None,
            Identity::Entry(name) | Identity::Administrator(name) => Some(name),
        }
    }

    /// Returns the truth of what is said about a name: false of nobody, undefined of an unknown
    /// identity.
    pub(super) fn about_name(&self, test: impl FnOnce(&Name) -> Truth) -> Truth {
        match self {
            Identity::Anonymous => Truth::False,
            Identity::Unknown => Truth::Undefined,
            Identity::Entry(name) | Identity::Administrator(name) => test(name),
        }
    }
}

/// Where the client of an operation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// At a Unix socket of this machine.
    Socket,
    /// At an address; one of IPv4 mapped into IPv6 counts as one of IPv4.
    Address(IpAddr),
    /// Not known: what rules say about addresses is neither true nor false.
    Unknown,
}

impl From<Option<IpAddr>> for Origin {
    /// Returns the origin of a client with a known address, or of one at a Unix socket.
    fn from(address: Option<IpAddr>) -> Origin {
        address.map_or(Origin::Socket, Origin::Address)
    }
}

/// The identity that asks, its address, its way of authentication and the time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asker {
    /// The identity under which the operation is done.
    pub acting: Identity,
    /// The identity that authenticated; the same as `acting` unless the operation is proxied.
    pub real: Identity,
    /// Where the client is.
    pub origin: Origin,
    /// Transport and ways of authentication: those that hold, and those not known of.
    pub ways: Ways,
    /// The present minute of the week; `None` if it is unknown.
    pub minute: Option<WeekMinute>,
}

/// Which identity of an [`Asker`] a condition is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Acting,
    Real,
}

impl Asker {
    pub(super) fn identity(&self, role: Role) -> &Identity {
        match role {
            Role::Acting => &self.acting,
            Role::Real => &self.real,
        }
    }

    /// Returns the truth of what is said about the name of an identity.
    pub(super) fn about_name(&self, role: Role, test: impl FnOnce(&Name) -> Truth) -> Truth {
        self.identity(role).about_name(test)
    }
}

/// A group whose members a rule means.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Group {
    /// Name of the group's entry.
    pub name: Name,
    /// The attribute with the members; `None` for every kind of group: static, nested, dynamic.
    pub by: Option<TypeId>,
}

/// Facts about the entries of subjects and groups.
pub trait SubjectFacts {
    /// Returns whether the entry of a subject matches a filter; undefined if it cannot be read.
    fn matches(&self, subject: &Name, filter: &Filter) -> Truth;

    /// Returns whether a subject is a member of a group; undefined if the group cannot be read.
    fn is_member(&self, subject: &Name, group: &Group) -> Truth;
}

/// Facts about the entry that a decision is about.
pub trait EntryFacts {
    /// The resolved name of the entry.
    fn name(&self) -> &Name;

    /// Returns whether the entry has this name.
    fn is_named(&self, name: &Name) -> Truth {
        (self.name() == name).into()
    }

    /// Returns whether the entry matches a filter.
    fn matches(&self, filter: &Filter) -> Truth;

    /// Returns whether an attribute of the entry, or a subtype of it, has the name of a subject as
    /// a value.
    fn names(&self, attribute: TypeId, subject: &Name) -> Truth;

    /// Returns the same for the superior of the entry.
    fn superior_names(&self, attribute: TypeId, subject: &Name) -> Truth;
}
