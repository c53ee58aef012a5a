//! A network of sites on one machine: network namespaces, joined by a router in user space that
//! delays, loses, slows down and cuts, each direction on its own.
//!
//! Each site is a namespace with one TUN device, `net0`, through which it reaches all others. The
//! router is a thread of the test. A control file says what packets meet on their way
//! (`router/control.rs`); a test sets links by functions, which write it, and a person by an editor
//! while the test runs. Kernels without `sch_netem` can do none of this by themselves.
//!
//! Needs root, for namespaces and TUN devices.

pub mod control;
mod forward;
mod space;

use std::fs;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

pub use control::Link;

use crate::Folder;
use control::Rules;
use forward::Router;
use space::Space;

/// Bytes of the longest packet unless a test says otherwise: as long as IP allows, so that few have
/// to be moved.
pub const LONGEST_PACKET: u16 = 65_520;

/// Sites and the router between them. Dropping it removes them, and ends what still runs there.
pub struct Network {
    // In this order: the router uses the namespaces.
    router: Router,
    spaces: Vec<Space>,
    names: Vec<String>,
    rules: Mutex<Rules>,
    folder: Folder,
}

impl Network {
    /// Makes sites of these names, which reach each other at once and without loss.
    ///
    /// # Panics
    /// The process is not root, or the kernel lacks namespaces or TUN devices.
    pub fn new(names: &[&str]) -> Network {
        Network::with_packets(names, LONGEST_PACKET)
    }

    /// Like [`Network::new`], with packets of at most `packet_bytes`. Of long packets, few are lost
    /// where a real network loses many: tests of loss take 1,500.
    pub fn with_packets(names: &[&str], packet_bytes: u16) -> Network {
        space::require_root();
        let spaces = Space::several(names);
        let folder = Folder::new();
        let rules = Rules::default();
        let control = folder.write("links", rules.to_string());
        let names: Vec<String> = names.iter().map(|it| (*it).to_owned()).collect();
        let router = Router::start(&spaces, &names, packet_bytes, control);
        Network {
            router,
            spaces,
            names,
            rules: Mutex::new(rules),
            folder,
        }
    }

    /// Address of a site.
    pub fn address(&self, site: &str) -> Ipv4Addr {
        space::address(self.number(site))
    }

    /// Gives a site the address of another one, too, as a copy of a machine has it. What is sent to
    /// that address from there stays there; others reach the site that had it first.
    pub fn share_address(&self, of: &str, with: &str) {
        let address = format!("{}/32", self.address(of));
        self.spaces[self.number(with)].add_address(&address);
    }

    /// A command that runs `program` at a site; its process is that of `program`.
    pub fn command(&self, site: &str, program: impl AsRef<Path>) -> Command {
        let words = self.prefix(site);
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).arg(program.as_ref());
        command
    }

    /// Words before a command that run it at a site; its process is that of the command.
    pub fn prefix(&self, site: &str) -> Vec<String> {
        self.spaces[self.number(site)].prefix()
    }

    /// Runs `body` at a site and returns its answer. Sockets that it makes stay at that site, also
    /// when they are used elsewhere; processes and threads that it starts run there.
    pub fn at<T: Send>(&self, site: &str, body: impl FnOnce() -> T + Send) -> T {
        self.spaces[self.number(site)].within(body)
    }

    /// Sets what packets from one site to another meet; the other direction stays as it is. Packets
    /// that are sent after the return meet it.
    pub fn set(&self, from: &str, to: &str, link: Link) {
        let (from, to) = (self.number(from), self.number(to));
        let mut rules = self.rules.lock().unwrap_or_else(PoisonError::into_inner);
        rules.set(self.names[from].clone(), self.names[to].clone(), link);
        let text = rules.to_string();
        // In one step: the router may read at any time.
        let new = self.folder.write("links.new", &text);
        fs::rename(&new, self.control()).expect("the folder of the test can be written");
        self.router.wait_until_applied(&text);
    }

    /// Sets both directions between two sites.
    pub fn set_both(&self, one: &str, other: &str, link: Link) {
        self.set(one, other, link);
        self.set(other, one, link);
    }

    /// Sets all directions between all sites.
    pub fn set_all(&self, link: Link) {
        for from in &self.names {
            for to in &self.names {
                if from != to {
                    self.set(from, to, link);
                }
            }
        }
    }

    /// Path of the control file.
    pub fn control(&self) -> PathBuf {
        self.folder.join("links")
    }

    /// Number of packets that did not get through, by loss, cuts and full queues.
    pub fn lost_packets(&self) -> u64 {
        self.router.lost_packets()
    }

    fn number(&self, site: &str) -> usize {
        let mut names = self.names.iter();
        names
            .position(|it| it == site)
            .unwrap_or_else(|| panic!("expected one of the sites {:?}, got {site}", self.names))
    }
}
