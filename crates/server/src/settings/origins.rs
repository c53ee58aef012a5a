//! Addresses from which something is allowed: this machine, and networks.

use std::fmt;
use std::str::FromStr;

use directory::Peer;
use policy::Network;

/// Where clients may come from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Origins {
    /// Whether this machine is one of the places.
    local: bool,
    networks: Vec<Network>,
}

/// One place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// This machine.
    Local,
    /// All addresses of a network.
    Network(Network),
}

impl Origins {
    /// Whether a client comes from one of the places.
    pub fn admit(&self, peer: &Peer) -> bool {
        let is_named = |address| self.networks.iter().any(|it| it.contains(address));
        self.local && peer.local || peer.address.is_some_and(is_named)
    }
}

impl FromIterator<Origin> for Origins {
    fn from_iter<I: IntoIterator<Item = Origin>>(all: I) -> Self {
        let mut origins = Origins::default();
        for origin in all {
            match origin {
                Origin::Local => origins.local = true,
                Origin::Network(network) => origins.networks.push(network),
            }
        }
        origins
    }
}

impl FromStr for Origin {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "local" {
            return Ok(Origin::Local);
        }
        let network = text.parse().map_err(|_| {
            format!(
                "expected \"local\", or an address such as 192.0.2.7 or 10.0.0.0/8, got \"{text}\""
            )
        })?;
        Ok(Origin::Network(network))
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Local => f.write_str("local"),
            Origin::Network(network) => write!(f, "{network}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admits(places: &[&str], address: Option<&str>, local: bool) -> bool {
        let origins: Origins = places
            .iter()
            .map(|it| it.parse::<Origin>().unwrap())
            .collect();
        let peer = Peer {
            address: address.map(|it| it.parse().unwrap()),
            local,
            ..Peer::default()
        };
        origins.admit(&peer)
    }

    #[test]
    fn this_machine_and_networks_are_told_apart() {
        assert!(admits(&["local"], None, true), "a Unix socket");
        assert!(admits(&["local"], Some("127.0.0.1"), true));
        assert!(!admits(&["local"], Some("192.0.2.1"), false));
        assert!(admits(&["local", "192.0.2.0/24"], Some("192.0.2.1"), false));
        assert!(!admits(&["192.0.2.0/24"], None, true));
        assert!(!admits(&[], None, true));
    }

    #[test]
    fn other_words_are_refused() {
        let error = "locale".parse::<Origin>().unwrap_err();
        assert!(error.ends_with("got \"locale\""), "{error}");
    }
}
