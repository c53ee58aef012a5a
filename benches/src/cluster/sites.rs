//! Sites far from each other on one machine: network namespaces, joined by the router of the test
//! kit, with one node and perhaps one member of etcd each.

use std::io;
use std::path::Path;
use std::time::Duration;

use kit::router::{Link, Network};

use super::place::Place;

/// Name of the place from which all sites are reached without delay.
const OBSERVER: &str = "observer";
/// Port of a site for other nodes.
const NODE_PORT: u16 = 8_390;
/// Port of a site for clients.
const LDAP_PORT: u16 = 389;

/// Sites, and a further place from which they are watched.
pub struct Sites {
    network: Network,
    names: Vec<String>,
}

impl Sites {
    /// Makes so many sites, which reach each other at once.
    ///
    /// # Errors
    /// The process is not root.
    pub fn new(count: usize) -> io::Result<Sites> {
        if !rustix::process::geteuid().is_root() {
            return Err(io::Error::other(
                "expected to run as root, for network namespaces and TUN devices: use sudo",
            ));
        }
        let names: Vec<String> = (0..count).map(|number| format!("site{number}")).collect();
        let mut all: Vec<&str> = names.iter().map(String::as_str).collect();
        all.push(OBSERVER);
        let network = Network::new(&all);
        Ok(Sites { network, names })
    }

    /// Delays packets between each two sites, so that a round trip takes so many milliseconds.
    pub fn set_round_trip(&self, ms: u64) {
        for (number, one) in self.names.iter().enumerate() {
            for other in &self.names[number + 1..] {
                // The delay of a link is that of one direction, in whole milliseconds.
                let there = Duration::from_millis(ms / 2);
                let back = Duration::from_millis(ms - ms / 2);
                self.network.set(one, other, Link::delayed(there));
                self.network.set(other, one, Link::delayed(back));
            }
        }
    }

    /// Place of a node at each site.
    pub fn places(&self) -> Vec<Place> {
        let place = |name: &String| {
            let host = self.network.address(name);
            Place {
                prefix: self.network.prefix(name),
                url: format!("ldap://{host}:{LDAP_PORT}"),
                address: format!("{host}:{NODE_PORT}"),
            }
        };
        self.names.iter().map(place).collect()
    }

    /// Runs `body` at the site of this number; connections that it makes begin there.
    pub fn at<T: Send>(&self, number: usize, body: impl FnOnce() -> T + Send) -> T {
        self.network.at(&self.names[number], body)
    }

    /// Runs `body` where all sites are reached without delay.
    pub fn observe<T: Send>(&self, body: impl FnOnce() -> T + Send) -> T {
        self.network.at(OBSERVER, body)
    }

    /// Number of packets that the router has lost, as by full queues.
    pub fn lost_packets(&self) -> u64 {
        self.network.lost_packets()
    }
}

/// Settings of a node at a site: passwords pass the network without TLS, and bundles of writes are
/// on their way over so many lanes. A program of etcd without a folder is looked for in `PATH`.
pub fn settings(lanes: u8, etcd_program: &Path) -> io::Result<String> {
    let mut text = format!(
        "allow_cleartext_binds = true\nadministrator_from = [\"0.0.0.0/0\"]\n\n\
         [cluster]\nlanes = {lanes}\n"
    );
    if etcd_program.components().count() > 1 {
        let program = std::path::absolute(etcd_program)?;
        text.push_str(&format!("etcd_program = '{}'\n", program.display()));
    }
    Ok(text)
}
