//! The address at which other nodes reach a node: `HOST:PORT`.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// The port of a node's address where none is told.
pub const PORT: u16 = 8390;

/// Ports after a node's own that its etcd listens on.
const ETCD_PORTS: u16 = 2;

/// Host and port at which other nodes reach a node. Written as `HOST:PORT`, an IPv6 address in
/// brackets.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Address {
    /// Name or IP address, without brackets.
    pub host: String,
    /// Port of the peer service. The two ports after it are those of the node's etcd.
    pub port: u16,
}

/// A text is no address of a node.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected HOST:PORT with {expected}, got {found}")]
pub struct AddressError {
    expected: &'static str,
    found: String,
}

impl Address {
    /// URL at which this node's etcd serves clients, if it runs one.
    pub fn etcd_client_url(&self) -> String {
        self.etcd_url(1)
    }

    /// URL at which this node's etcd speaks to others of etcd, if it runs one.
    pub fn etcd_peer_url(&self) -> String {
        self.etcd_url(2)
    }

    fn etcd_url(&self, after: u16) -> String {
        let port = self.port.saturating_add(after);
        let host = self.host.clone();
        format!("https://{}", Address { host, port })
    }
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Address, AddressError> {
        let wrong = |expected| AddressError {
            expected,
            found: text.to_owned(),
        };
        let (host, port) = text
            .rsplit_once(':')
            .ok_or(wrong("a port, for example :8390"))?;
        let host = match host.strip_prefix('[').and_then(|it| it.strip_suffix(']')) {
            Some(bare) => bare,
            None if host.contains(':') => return Err(wrong("an IPv6 address in brackets")),
            None => host,
        };
        if let Ok(ip) = host.parse::<IpAddr>() {
            if ip.is_unspecified() {
                return Err(wrong("a host that other nodes can reach"));
            }
        } else {
            let letters = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
            if host.is_empty() || !host.chars().all(letters) {
                return Err(wrong("a name or an IP address as host"));
            }
        }
        let port = port.parse().ok();
        let port = port.filter(|port| (1..=u16::MAX - ETCD_PORTS).contains(port));
        Ok(Address {
            host: host.to_owned(),
            port: port.ok_or(wrong("a port from 1 to 65533"))?,
        })
    }
}

impl TryFrom<String> for Address {
    type Error = AddressError;

    fn try_from(text: String) -> Result<Address, AddressError> {
        text.parse()
    }
}

impl From<Address> for String {
    fn from(address: Address) -> String {
        address.to_string()
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]:{}", self.host, self.port),
            false => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_they_are_written() {
        for text in ["ldap1.example.com:8390", "10.0.0.1:1", "[2001:db8::1]:8390"] {
            let address: Address = text.parse().unwrap();
            assert_eq!(address.to_string(), text);
        }
        let address: Address = "[2001:db8::1]:8390".parse().unwrap();
        assert_eq!(address.host, "2001:db8::1");
        assert_eq!(address.etcd_client_url(), "https://[2001:db8::1]:8391");
        assert_eq!(address.etcd_peer_url(), "https://[2001:db8::1]:8392");
    }

    #[test]
    fn what_no_node_could_reach_is_refused() {
        for (text, expected) in [
            ("ldap1", "a port, for example :8390"),
            ("ldap1:", "a port from 1 to 65533"),
            ("ldap1:0", "a port from 1 to 65533"),
            ("ldap1:65534", "a port from 1 to 65533"),
            ("2001:db8::1:8390", "an IPv6 address in brackets"),
            ("0.0.0.0:8390", "a host that other nodes can reach"),
            ("[::]:8390", "a host that other nodes can reach"),
            (":8390", "a name or an IP address as host"),
            ("ldap 1:8390", "a name or an IP address as host"),
        ] {
            let error = text.parse::<Address>().unwrap_err();
            assert_eq!(
                error.to_string(),
                format!("expected HOST:PORT with {expected}, got {text}")
            );
        }
    }
}
