//! Subjects: the identity of one connection, as far as decisions need it.

use std::borrow::Cow;
use std::net::IpAddr;

use schema::Name;

use crate::access::facts::{Asker, Identity, Origin};
use crate::access::hours::WeekMinute;
use crate::access::words::{Way, Ways};
use crate::network::party;

/// The kind of a subject's identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SubjectKind {
    /// Nobody has authenticated (RFC 4513 §4, the state of every new connection).
    Anonymous,
    /// An entry of the directory authenticated.
    Entry,
    /// The administrator stored under `cn=config`; every access rule lets it pass.
    Administrator,
}

/// The method by which a subject proved its identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Authentication {
    /// None.
    None,
    /// Name and password (RFC 4513 §5.1.3).
    Simple,
    /// Name and password by SASL PLAIN (RFC 4616).
    Plain,
    /// Keys of a password by SASL SCRAM (RFC 5802).
    Scram,
    /// The operating system, which knows the process at the other end of a Unix socket (RFC 4422
    /// appendix A).
    External,
    /// A certificate shown in the TLS handshake (RFC 4422 appendix A).
    Certificate,
    /// A token of an issuer by SASL OAUTHBEARER (RFC 7628).
    Token,
}

impl Authentication {
    /// The word for the method in the audit.
    pub fn text(self) -> &'static str {
        match self {
            Authentication::None => "none",
            Authentication::Simple => "simple",
            Authentication::Plain => "plain",
            Authentication::Scram => "scram",
            Authentication::External => "external",
            Authentication::Certificate => "certificate",
            Authentication::Token => "token",
        }
    }
}

/// The identity under which a connection acts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    /// Kind of the identity.
    pub kind: SubjectKind,
    /// The resolved name; `None` exactly when the subject is anonymous.
    pub name: Option<Name>,
    /// The name as spelled at authentication; empty when anonymous.
    pub dn: String,
    /// Id of the entry of an identity that a proxy acts as, by which the identity is known again
    /// later; `None` for other subjects, and for identities without an entry.
    pub entry: Option<u64>,
    /// Method of authentication.
    pub authentication: Authentication,
    /// Address of the client; `None` for a Unix socket.
    pub address: Option<IpAddr>,
    /// Whether the connection is protected by TLS or stays within this machine's kernel.
    pub secure: bool,
    /// Whether address, protection and method of authentication are unknown: of the subject of a
    /// write that is executed, perhaps on another node.
    pub recorded: bool,
    /// The subject that authenticated, where an operation acts as another one (RFC 4370).
    pub proxied_by: Option<Box<Subject>>,
}

impl Authentication {
    /// Returns whether the identity was proved by a password that the directory stores.
    pub fn is_by_password(self) -> bool {
        matches!(
            self,
            Authentication::Simple | Authentication::Plain | Authentication::Scram
        )
    }
}

impl Subject {
    /// Returns the subject of the server itself, which sees everything.
    pub fn server() -> Subject {
        let nobody = Subject::anonymous(None, true);
        nobody.administrator(Name::root(), String::new(), Authentication::None)
    }

    /// Returns the subject of a connection on which nobody has authenticated.
    pub fn anonymous(address: Option<IpAddr>, secure: bool) -> Self {
        Subject {
            kind: SubjectKind::Anonymous,
            name: None,
            dn: String::new(),
            entry: None,
            authentication: Authentication::None,
            address,
            secure,
            recorded: false,
            proxied_by: None,
        }
    }

    /// Returns the subject of a write that is executed, by nobody so far.
    pub fn of_record() -> Self {
        Subject {
            recorded: true,
            ..Subject::anonymous(None, false)
        }
    }

    /// Returns this subject as one that `own` acts as. If `own` is one that another acts as, that
    /// one is the real subject of both.
    pub fn proxied_by(self, own: &Subject) -> Self {
        Subject {
            proxied_by: Some(Box::new(own.real().clone())),
            ..self
        }
    }

    /// Returns the subject that authenticated.
    pub fn real(&self) -> &Subject {
        self.proxied_by.as_deref().unwrap_or(self)
    }

    /// Returns the subject of an entry that has authenticated on the connection of `self`.
    pub fn authenticated(&self, name: Name, dn: String, authentication: Authentication) -> Self {
        Subject {
            kind: SubjectKind::Entry,
            name: Some(name),
            dn,
            entry: None,
            authentication,
            address: self.address,
            secure: self.secure,
            recorded: self.recorded,
            proxied_by: None,
        }
    }

    /// Returns the administrator's subject, authenticated on the connection of `self`.
    pub fn administrator(&self, name: Name, dn: String, authentication: Authentication) -> Self {
        Subject {
            kind: SubjectKind::Administrator,
            ..self.authenticated(name, dn, authentication)
        }
    }

    /// Returns the key under which the subject's use of the server is counted: its name, or its
    /// address while nobody has authenticated. Of an IPv6 address only the network counts (64
    /// bits), since one customer of a provider has all of its addresses.
    pub fn purse(&self) -> Cow<'_, str> {
        match (self.is_anonymous(), self.address) {
            (false, _) => Cow::Borrowed(&self.dn),
            (true, None) => Cow::Borrowed("anonymous"),
            (true, Some(address)) => Cow::Owned(match party(address) {
                IpAddr::V4(address) => format!("anonymous at {address}"),
                IpAddr::V6(network) => format!("anonymous at {network}/64"),
            }),
        }
    }

    /// Returns the subject as access rules ask about it, at a minute of the week; `None` if the
    /// time is unknown.
    pub fn asker(&self, minute: Option<WeekMinute>) -> Asker {
        let real = self.real();
        let ways = match (self.recorded, &self.proxied_by) {
            (true, _) => Ways::UNKNOWN,
            (false, None) => self.ways(),
            (false, Some(real)) => real.ways().and(Way::Proxied),
        };
        Asker {
            acting: self.identity(),
            real: match self.recorded {
                true => Identity::Unknown,
                false => real.identity(),
            },
            origin: match self.recorded {
                true => Origin::Unknown,
                false => self.address.into(),
            },
            ways,
            minute,
        }
    }

    fn identity(&self) -> Identity {
        match (self.kind, &self.name) {
            (SubjectKind::Anonymous, _) => Identity::Anonymous,
            (SubjectKind::Entry, Some(name)) => Identity::Entry(name.clone()),
            (SubjectKind::Administrator, Some(name)) => Identity::Administrator(name.clone()),
            (_, None) => Identity::Unknown,
        }
    }

    fn ways(&self) -> Ways {
        let transport = match (self.address, self.secure) {
            (None, _) => Way::Local,
            (Some(_), true) => Way::Tls,
            (Some(_), false) => Way::Cleartext,
        };
        let ways = Ways::of(&[transport]);
        match self.authentication {
            Authentication::None => ways,
            Authentication::Simple => ways.and(Way::Simple),
            Authentication::Plain => ways.and(Way::Plain),
            Authentication::Scram => ways.and(Way::Scram),
            Authentication::External => ways.and(Way::External),
            Authentication::Certificate => ways.and(Way::External).and(Way::Certificate),
            Authentication::Token => ways.and(Way::Token),
        }
    }

    /// Returns whether nobody has authenticated.
    pub fn is_anonymous(&self) -> bool {
        self.kind == SubjectKind::Anonymous
    }

    /// Returns whether this is the administrator.
    pub fn is_administrator(&self) -> bool {
        self.kind == SubjectKind::Administrator
    }

    /// Returns whether `name` is the subject's own entry.
    pub fn is_self(&self, name: &Name) -> bool {
        self.name.as_ref() == Some(name)
    }

    /// Returns the authorization identity for "Who am I?" (RFC 4532 §2.2, RFC 4513 §5.2.1.8): `dn:`
    /// and the name, or empty text when anonymous.
    pub fn authzid(&self) -> String {
        match self.kind {
            SubjectKind::Anonymous => String::new(),
            SubjectKind::Entry | SubjectKind::Administrator => format!("dn:{}", self.dn),
        }
    }
}
