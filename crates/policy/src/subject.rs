//! Who asks: the identity behind one connection, as far as decisions need it.

use std::borrow::Cow;
use std::net::{IpAddr, Ipv6Addr};

use schema::Name;

/// What kind of identity a subject is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SubjectKind {
    /// Nobody has authenticated (RFC 4513 §4, the state of every new connection).
    Anonymous,
    /// An entry of the directory authenticated.
    Entry,
    /// The administrator kept under `cn=config`; every access rule lets it pass.
    Administrator,
}

/// How the subject proved its identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Authentication {
    /// Not at all.
    None,
    /// By name and password (RFC 4513 §5.1.3).
    Simple,
    /// By something below LDAP: the socket's peer, or a certificate (RFC 4422 appendix A).
    External,
}

/// The identity that one connection acts under.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    /// Nobody, an entry, or the administrator.
    pub kind: SubjectKind,
    /// The resolved name; `None` exactly when the subject is anonymous.
    pub name: Option<Name>,
    /// The name as it was spelled when the subject authenticated; empty when anonymous.
    pub dn: String,
    /// How the identity was proved.
    pub authentication: Authentication,
    /// Where the client connects from; `None` for a Unix socket.
    pub address: Option<IpAddr>,
    /// Whether the connection is protected by TLS or never leaves this machine's kernel.
    pub secure: bool,
}

impl Subject {
    /// The server itself, which sees everything.
    pub fn server() -> Subject {
        let nobody = Subject::anonymous(None, true);
        nobody.administrator(Name::root(), String::new(), Authentication::None)
    }

    /// The subject of a connection nobody has authenticated on.
    pub fn anonymous(address: Option<IpAddr>, secure: bool) -> Self {
        Subject {
            kind: SubjectKind::Anonymous,
            name: None,
            dn: String::new(),
            authentication: Authentication::None,
            address,
            secure,
        }
    }

    /// An entry of the directory that has authenticated on the connection of `self`.
    pub fn authenticated(&self, name: Name, dn: String, authentication: Authentication) -> Self {
        Subject {
            kind: SubjectKind::Entry,
            name: Some(name),
            dn,
            authentication,
            address: self.address,
            secure: self.secure,
        }
    }

    /// The administrator, authenticated on the connection of `self`.
    pub fn administrator(&self, name: Name, dn: String, authentication: Authentication) -> Self {
        Subject {
            kind: SubjectKind::Administrator,
            ..self.authenticated(name, dn, authentication)
        }
    }

    /// Whose share of the server the subject's work counts to: its name, or the address it comes
    /// from while nobody has authenticated. Of an IPv6 address the network counts (64 bits), all of
    /// which one customer of a provider has.
    pub fn purse(&self) -> Cow<'_, str> {
        match (self.is_anonymous(), self.address) {
            (false, _) => Cow::Borrowed(&self.dn),
            (true, None) => Cow::Borrowed("anonymous"),
            (true, Some(IpAddr::V4(address))) => Cow::Owned(format!("anonymous at {address}")),
            (true, Some(IpAddr::V6(address))) => {
                let network = Ipv6Addr::from_bits(address.to_bits() >> 64 << 64);
                Cow::Owned(format!("anonymous at {network}/64"))
            }
        }
    }

    /// Whether nobody has authenticated.
    pub fn is_anonymous(&self) -> bool {
        self.kind == SubjectKind::Anonymous
    }

    /// Whether this is the administrator.
    pub fn is_administrator(&self) -> bool {
        self.kind == SubjectKind::Administrator
    }

    /// Whether `name` is the subject's own entry.
    pub fn is_self(&self, name: &Name) -> bool {
        self.name.as_ref() == Some(name)
    }

    /// The authorization identity as "Who am I?" answers it (RFC 4532 §2.2, RFC 4513 §5.2.1.8):
    /// `dn:` and the name, or nothing when anonymous.
    pub fn authzid(&self) -> String {
        match self.kind {
            SubjectKind::Anonymous => String::new(),
            SubjectKind::Entry | SubjectKind::Administrator => format!("dn:{}", self.dn),
        }
    }
}
