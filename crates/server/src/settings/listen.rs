//! Where to accept connections: `ldap://`, `ldaps://` and `ldapi://` addresses, and `pldap://` and
//! `pldaps://` where proxies say who the client is.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// How LDAP is spoken on an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// LDAP over TCP, with StartTLS when there is a certificate. Port 389.
    Ldap,
    /// LDAP over TLS from the first byte. Port 636.
    Ldaps,
    /// LDAP over a Unix domain socket.
    Ldapi,
}

/// The certificate that a TLS handshake asks of clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ClientCertificates {
    /// No certificate.
    None,
    /// A certificate, without which the handshake succeeds, too.
    Ask,
    /// A certificate, without which the handshake fails.
    Require,
}

impl ClientCertificates {
    /// All of them.
    const ALL: [ClientCertificates; 3] = [
        ClientCertificates::None,
        ClientCertificates::Ask,
        ClientCertificates::Require,
    ];

    /// The word in settings.
    pub fn word(self) -> &'static str {
        match self {
            ClientCertificates::None => "none",
            ClientCertificates::Ask => "ask",
            ClientCertificates::Require => "require",
        }
    }
}

/// An address to accept connections on, or one where they are accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Listen {
    /// TCP; `tls` for `ldaps://`.
    Tcp {
        /// Host and port. Port 0 lets the system choose.
        address: SocketAddr,
        /// TLS from the first byte.
        tls: bool,
        /// Before that, a header says who the client is.
        proxied: bool,
        /// The certificate that handshakes ask for; `None`: as `tls.client_certificates` says.
        client_certificates: Option<ClientCertificates>,
    },
    /// A Unix domain socket.
    Unix(PathBuf),
}

impl Listen {
    /// How LDAP is spoken there.
    pub fn scheme(&self) -> Scheme {
        match self {
            Listen::Tcp { tls: false, .. } => Scheme::Ldap,
            Listen::Tcp { tls: true, .. } => Scheme::Ldaps,
            Listen::Unix(_) => Scheme::Ldapi,
        }
    }

    /// Whether every connection begins with a header of a proxy.
    pub fn is_proxied(&self) -> bool {
        matches!(self, Listen::Tcp { proxied: true, .. })
    }

    /// The certificate that TLS handshakes ask of clients, where the address says so itself.
    pub fn client_certificates(&self) -> Option<ClientCertificates> {
        match self {
            Listen::Tcp {
                client_certificates,
                ..
            } => *client_certificates,
            Listen::Unix(_) => None,
        }
    }

    /// The TCP address; `None` for a Unix domain socket.
    pub fn tcp(&self) -> Option<SocketAddr> {
        match self {
            Listen::Tcp { address, .. } => Some(*address),
            Listen::Unix(_) => None,
        }
    }
}

impl fmt::Display for Listen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Listen::Tcp {
                address,
                tls,
                proxied,
                client_certificates,
            } => {
                let proxied = if *proxied { "p" } else { "" };
                let tls = if *tls { "s" } else { "" };
                write!(f, "{proxied}ldap{tls}://{address}")?;
                match client_certificates {
                    Some(it) => write!(f, "{CLIENT_CERTIFICATES}{}", it.word()),
                    None => Ok(()),
                }
            }
            Listen::Unix(path) => {
                let path = path.display().to_string();
                write!(
                    f,
                    "ldapi://{}",
                    path.replace('%', "%25").replace('/', "%2F")
                )
            }
        }
    }
}

/// The text between an address and the certificate that its handshakes ask of clients.
const CLIENT_CERTIFICATES: &str = "?client_certificates=";

const EXPECTED: &str = "expected ldap://HOST[:PORT], ldaps://HOST[:PORT], ldapi://%2Fpath, or \
                        pldap:// or pldaps:// for proxies";

impl FromStr for Listen {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let refuse = |why: &str| format!("{EXPECTED}, got \"{text}\"{why}");
        let Some((scheme, rest)) = text.split_once("://") else {
            return Err(refuse(""));
        };
        let scheme = scheme.to_ascii_lowercase();
        match scheme.as_str() {
            "ldap" | "ldaps" | "pldap" | "pldaps" => {
                let (tls, proxied) = (scheme.ends_with('s'), scheme.starts_with('p'));
                let port = if tls { 636 } else { 389 };
                let (rest, client_certificates) = match rest.split_once(CLIENT_CERTIFICATES) {
                    Some((rest, word)) => (rest, Some(asked(word).map_err(|it| refuse(&it))?)),
                    None => (rest, None),
                };
                let address = socket_address(rest.trim_end_matches('/'), port);
                Ok(Listen::Tcp {
                    address: address.map_err(|it| refuse(&it))?,
                    tls,
                    proxied,
                    client_certificates,
                })
            }
            "ldapi" => match percent_decoded(rest) {
                Some(path) if path.starts_with('/') => {
                    Ok(Listen::Unix(PathBuf::from(path.trim_end_matches('/'))))
                }
                _ => Err(refuse(" (the path must be absolute)")),
            },
            _ => Err(refuse("")),
        }
    }
}

/// The word behind `?client_certificates=` of an address.
fn asked(word: &str) -> Result<ClientCertificates, String> {
    let mut all = ClientCertificates::ALL.into_iter();
    all.find(|it| it.word() == word)
        .ok_or_else(|| format!(": expected client_certificates=none, ask or require, got {word}"))
}

/// `host`, `host:port`, `[v6]:port`, `:port`, `*:port`. No host means every address.
fn socket_address(text: &str, default_port: u16) -> Result<SocketAddr, String> {
    let (host, port) = match text.rsplit_once(':') {
        // A colon inside brackets, or one of several without brackets, belongs to the host.
        Some((host, port))
            if !port.contains(']') && (!host.contains(':') || host.ends_with(']')) =>
        {
            let port = port
                .parse()
                .map_err(|_| format!(": \"{port}\" is not a port"))?;
            (host, port)
        }
        _ => (text, default_port),
    };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    if host.is_empty() || host == "*" {
        return Ok(SocketAddr::new(IpAddr::V6(Ipv6Addr::UNSPECIFIED), port));
    }
    if let Ok(address) = host.parse::<IpAddr>() {
        return Ok(SocketAddr::new(address, port));
    }
    let mut found = (host, port)
        .to_socket_addrs()
        .map_err(|it| format!(": {it}"))?;
    found
        .next()
        .ok_or_else(|| format!(": \"{host}\" has no address"))
}

fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [byte, after @ ..] = rest {
        rest = after;
        if *byte == b'%' {
            let [high, low, after @ ..] = rest else {
                return None;
            };
            let digit = |it: &u8| char::from(*it).to_digit(16);
            bytes.push((digit(high)? * 16 + digit(low)?) as u8);
            rest = after;
        } else {
            bytes.push(*byte);
        }
    }
    String::from_utf8(bytes).ok()
}
