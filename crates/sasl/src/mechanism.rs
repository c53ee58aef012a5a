//! The mechanisms, and which of them a connection is offered.

use policy::password::Prf;
use protocol::sasl::{Bearer, Plain};

use crate::Offers;
use crate::channel::ChannelBindings;
use crate::token::Issuers;

/// A SASL mechanism.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mechanism {
    /// The identity that a layer below has proved (RFC 4422 appendix A).
    External,
    /// An exchange in which both ends prove that they know keys of a password (RFC 5802).
    Scram(Variant),
    /// A name and a password (RFC 4616).
    Plain,
    /// A token of an issuer (RFC 7628).
    Bearer,
    /// Nobody, with a text for the log (RFC 4505).
    Anonymous,
}

/// A variant of SCRAM.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Variant {
    /// Digest of the exchange: SHA-256 or SHA-512.
    pub prf: Prf,
    /// Whether the exchange is bound to the TLS channel (`-PLUS`).
    pub plus: bool,
}

/// Mechanisms by their names, in the order in which they are announced.
const NAMES: [(Mechanism, &str); 8] = [
    (Mechanism::External, "EXTERNAL"),
    (scram(Prf::Sha512, true), "SCRAM-SHA-512-PLUS"),
    (scram(Prf::Sha256, true), "SCRAM-SHA-256-PLUS"),
    (scram(Prf::Sha512, false), "SCRAM-SHA-512"),
    (scram(Prf::Sha256, false), "SCRAM-SHA-256"),
    (Mechanism::Bearer, "OAUTHBEARER"),
    (Mechanism::Plain, "PLAIN"),
    (Mechanism::Anonymous, "ANONYMOUS"),
];

const fn scram(prf: Prf, plus: bool) -> Mechanism {
    Mechanism::Scram(Variant { prf, plus })
}

/// Facts about a connection and the settings, from which it follows what is offered.
#[derive(Debug, Clone, Copy, Default)]
pub struct Circumstances<'c> {
    /// Whether a layer below tells who is at the other end: the operating system on a Unix socket,
    /// or TLS by the client's certificate.
    pub identified: bool,
    /// Whether the connection is a Unix socket.
    pub local: bool,
    /// Whether nobody on the way can read: under TLS, and on Unix sockets.
    pub private: bool,
    /// Bindings to the TLS channel; `None` without TLS.
    pub bindings: Option<&'c ChannelBindings>,
    /// Digests of SCRAM for which new passwords get keys.
    pub scram: [Option<Prf>; 2],
    /// Further mechanisms that the settings offer; `None` for none.
    pub offers: Option<&'c Offers>,
}

impl Circumstances<'_> {
    /// Returns whether a mechanism is offered on the connection, and so announced there.
    ///
    /// SCRAM is not offered on Unix sockets: clients would prefer it to EXTERNAL, and not be
    /// identified by the system.
    pub fn offers(&self, mechanism: Mechanism) -> bool {
        match mechanism {
            Mechanism::External => self.identified,
            Mechanism::Plain => self.private,
            Mechanism::Bearer => self.private && self.issuers().is_some(),
            Mechanism::Anonymous => self.offers.is_some_and(|it| it.anonymous),
            Mechanism::Scram(Variant { prf, plus }) => {
                let bound = self.bindings.is_some_and(|it| !it.is_empty());
                !self.local && self.scram.contains(&Some(prf)) && (bound || !plus)
            }
        }
    }

    /// Returns the issuers whose tokens are accepted; `None` if there is none.
    pub fn issuers(&self) -> Option<&Issuers> {
        let issuers = self.offers.map(|it| &*it.issuers);
        issuers.filter(|it| !it.0.is_empty())
    }

    /// Returns the names of the mechanisms that the connection is offered.
    pub fn offered(&self) -> Vec<&'static str> {
        let all = NAMES.iter().filter(|(it, _)| self.offers(*it));
        all.map(|(_, name)| *name).collect()
    }
}

impl Mechanism {
    /// Returns the identity that the first message of a client wants to act as; empty for its own,
    /// and for a message that is not of the mechanism's form.
    pub fn authorization(self, credentials: &[u8]) -> String {
        match self {
            Mechanism::External => String::from_utf8_lossy(credentials).into_owned(),
            Mechanism::Plain => {
                let decoded = Plain::decode(credentials);
                decoded.map_or_else(|_| String::new(), |it| it.authorization.to_owned())
            }
            Mechanism::Bearer => {
                let decoded = Bearer::decode(credentials);
                decoded.map_or_else(|_| String::new(), |it| it.authorization.into_owned())
            }
            // The exchange tells it when it ends.
            Mechanism::Scram(_) | Mechanism::Anonymous => String::new(),
        }
    }

    /// Returns the mechanism of this name, in any case; `None` if it is not known.
    pub fn named(name: &str) -> Option<Mechanism> {
        let found = NAMES.iter().find(|(_, it)| it.eq_ignore_ascii_case(name));
        found.map(|(mechanism, _)| *mechanism)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn what_is_offered_follows_from_the_connection() {
        let bindings = ChannelBindings {
            exporter: Some([0; 32]),
            end_point: None,
        };
        let none = ChannelBindings {
            exporter: None,
            end_point: None,
        };
        let scram = [Some(Prf::Sha256), None];
        let plaintext = Circumstances {
            scram,
            ..Circumstances::default()
        };
        let tls = Circumstances {
            private: true,
            bindings: Some(&bindings),
            ..plaintext
        };
        let unbound = Circumstances {
            bindings: Some(&none),
            ..tls
        };
        let private = Circumstances {
            private: true,
            ..Circumstances::default()
        };
        let unix = Circumstances {
            identified: true,
            local: true,
            bindings: None,
            ..tls
        };
        let anonymous = Offers {
            anonymous: true,
            ..Offers::default()
        };
        let with_anonymous = Circumstances {
            offers: Some(&anonymous),
            ..Circumstances::default()
        };
        let issuer = crate::token::tests::issuer();
        let issuers = Offers {
            issuers: Arc::new(Issuers(vec![issuer])),
            ..Offers::default()
        };
        let with_issuer = |of: Circumstances<'static>| Circumstances {
            offers: Some(&issuers),
            ..of
        };
        for (circumstances, offered) in [
            (plaintext, &["SCRAM-SHA-256"][..]),
            (tls, &["SCRAM-SHA-256-PLUS", "SCRAM-SHA-256", "PLAIN"]),
            (unbound, &["SCRAM-SHA-256", "PLAIN"]),
            (unix, &["EXTERNAL", "PLAIN"]),
            (Circumstances::default(), &[]),
            (with_anonymous, &["ANONYMOUS"]),
            (with_issuer(Circumstances::default()), &[]),
            (with_issuer(private), &["OAUTHBEARER", "PLAIN"]),
        ] {
            assert_eq!(circumstances.offered(), offered, "{circumstances:?}");
        }
    }

    #[test]
    fn names_are_found_in_any_case() {
        for (mechanism, name) in NAMES {
            assert_eq!(Mechanism::named(&name.to_lowercase()), Some(mechanism));
        }
        assert_eq!(Mechanism::named("SCRAM-SHA-1"), None);
        assert_eq!(Mechanism::named(""), None);
    }
}
