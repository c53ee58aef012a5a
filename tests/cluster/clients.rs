//! Clients of a cluster: what they began at one node goes on at another, also after the first died.

mod assured;
mod following;
mod paging;
mod persistent;
mod programs;
mod slapd;
mod sssd;
mod transactions;

use crate::nodes::{PORT, at_sites, await_voters, cluster, require_equal};
use kit::router::{Link, Network};
use kit::{Pando, etcd, people};
use std::fs;

/// Three nodes with a voter each, of which any may die, and `ou=People` with people in it.
fn served(people: usize) -> Vec<Pando> {
    let nodes = cluster(3);
    await_voters(&nodes[0], 3);
    fill(&nodes[0], people);
    nodes
}

/// Adds `ou=People` and people.
fn fill(node: &Pando, people: usize) {
    let mut admin = node.admin();
    admin.add(&people::unit("People")).expect_success();
    for number in 0..people {
        let person = people::person(&format!("person{number:03}"));
        admin.add(&person).expect_success();
    }
}

/// Serves the killed first node again, where it was, and kills the second.
fn take_turns(nodes: &mut [Pando]) {
    let listen = format!("listen = [\"ldap://{}\"]\n", nodes[0].address());
    let file = nodes[0].node().join("pando.toml");
    let settings = fs::read_to_string(&file).expect("our own folder");
    fs::write(&file, listen + &settings).expect("our own folder");
    nodes[0].serve_as_configured();
    await_voters(&nodes[2], 3);
    require_equal(nodes);
    nodes[1].kill_with_etcd();
}

/// Sites of a network with a node each; clients are at another one, which reaches all.
const SITES: [&str; 3] = ["a", "b", "c"];

/// Runs `body` with three nodes of which each can be held up, and people.
fn with_sites(people: usize, body: impl FnOnce(&Network, &mut [Pando]) + Send) {
    let network = Network::new(&["a", "b", "c", "clients"]);
    network.at("clients", || {
        let mut nodes = at_sites(&network, &SITES, PORT);
        nodes.iter().for_each(|it| await_voters(it, 3));
        fill(&nodes[0], people);
        require_equal(&nodes);
        body(&network, &mut nodes);
    });
}

/// Number of a node besides the first that does not lead etcd.
fn bystander(nodes: &[Pando]) -> usize {
    1 + usize::from(etcd::leads(&nodes[1].node()))
}

/// A node that is cut off from the others, but not from clients, so that it comes to know of no
/// write. Dropping this lets it go on.
struct HeldUp<'n> {
    network: &'n Network,
    node: usize,
}

impl<'n> HeldUp<'n> {
    fn of(network: &'n Network, node: usize) -> Self {
        let held_up = HeldUp { network, node };
        held_up.set(Link::cut());
        held_up
    }

    fn set(&self, link: Link) {
        let own = SITES[self.node];
        for other in SITES.iter().filter(|it| **it != own) {
            self.network.set_both(own, other, link);
        }
    }
}

impl Drop for HeldUp<'_> {
    fn drop(&mut self) {
        self.set(Link::default());
    }
}
