//! Addresses that are meant together: `192.0.2.7`, `10.0.0.0/8`, `2001:db8::/32`.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;

/// One address, or all that begin with the same bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Network {
    address: IpAddr,
    /// Bits that must be the same.
    prefix: u32,
}

/// Bits before an IPv4 address that is mapped into IPv6 (RFC 4291 §2.5.5.2).
const MAPPED_BITS: u32 = 96;

impl Network {
    /// Returns a network of IPv4 for one of addresses mapped into IPv6, as clients of both kinds
    /// have the same addresses then.
    fn canonical(self) -> Network {
        let mapped = self.address.to_canonical();
        let prefix = self.prefix.checked_sub(MAPPED_BITS);
        match (self.address, mapped, prefix) {
            (IpAddr::V6(_), IpAddr::V4(_), Some(prefix)) => Network {
                address: mapped,
                prefix,
            },
            _ => self,
        }
    }

    /// Whether an address belongs to it.
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                let differing = u32::from(own) ^ u32::from(other);
                differing.checked_shr(32 - self.prefix).unwrap_or(0) == 0
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => {
                let differing = u128::from(own) ^ u128::from(other);
                differing.checked_shr(128 - self.prefix).unwrap_or(0) == 0
            }
            _ => false,
        }
    }
}

/// The address by which a client is counted: an IPv4 address in one form, or the first 64 bits of
/// an IPv6 address, because a host may have all addresses below them (RFC 4291 §2.5.4).
pub fn party(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(six) => IpAddr::V6(Ipv6Addr::from_bits(six.to_bits() >> 64 << 64)),
        four => four,
    }
}

impl FromStr for Network {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("expected an address such as 192.0.2.7 or 10.0.0.0/8, got \"{text}\"");
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        let bits = if address.is_ipv4() { 32 } else { 128 };
        let prefix = match prefix {
            None => bits,
            Some(prefix) => prefix.parse().map_err(|_| wrong())?,
        };
        if prefix > bits {
            return Err(wrong());
        }
        Ok(Network { address, prefix }.canonical())
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_hold_addresses() {
        let holds = |network: &str, address: &str| {
            let network: Network = network.parse().unwrap();
            network.contains(address.parse().unwrap())
        };
        assert!(holds("192.0.2.7", "192.0.2.7"));
        assert!(!holds("192.0.2.7", "192.0.2.6"));
        assert!(holds("10.0.0.0/8", "10.255.1.2"));
        assert!(holds("10.0.0.0/8", "::ffff:10.1.2.3"));
        assert!(!holds("10.0.0.0/8", "11.0.0.0"));
        assert!(holds("0.0.0.0/0", "198.51.100.1"));
        assert!(!holds("0.0.0.0/0", "::1"));
        assert!(holds("2001:db8::/32", "2001:db8:1::7"));
        assert!(!holds("2001:db8::/32", "2001:db9::"));
        assert!(holds("::/0", "2001:db9::"));
        assert!(holds("::ffff:10.1.2.3", "10.1.2.3"));
        assert!(holds("::ffff:10.1.2.3", "::ffff:10.1.2.3"));
        assert!(holds("::ffff:10.0.0.0/104", "10.255.0.1"));
        assert!(!holds("::ffff:10.0.0.0/104", "11.0.0.1"));
        assert!(holds("::ffff:0:0/96", "198.51.100.1"));
        let mapped: Network = "::ffff:10.0.0.0/104".parse().unwrap();
        assert_eq!(mapped.to_string(), "10.0.0.0/8");
    }

    #[test]
    fn what_is_no_network_is_refused() {
        for text in [
            "",
            "proxy",
            "10.0.0.0/33",
            "::/129",
            "10.0.0.0/",
            "10.0.0.0/-1",
            "10/8",
        ] {
            assert!(text.parse::<Network>().is_err(), "{text}");
        }
    }
}
