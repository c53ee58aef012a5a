//! Places of nodes: how commands are run there, and the addresses at which others reach them.

use std::io;
use std::path::Path;
use std::process::Command;

use super::process::free_ports;

/// Ports of a node: LDAP, other nodes, and two for a member of etcd of its own.
pub const PORTS: u16 = 4;

/// Place of a node.
#[derive(Clone, Debug)]
pub struct Place {
    /// Words before a command that run it there; none on loopback.
    pub prefix: Vec<String>,
    /// URL for clients.
    pub url: String,
    /// Address for other nodes.
    pub address: String,
}

impl Place {
    /// Finds places on loopback with free ports, and the first of so many `further` free ports
    /// before them.
    pub fn on_loopback(count: usize, further: u16) -> io::Result<Loopback> {
        let nodes = u16::try_from(count).map_err(io::Error::other)?;
        let first = free_ports(further + nodes * PORTS)?;
        let place = |number: u16| {
            let port = first + further + PORTS * number;
            Place {
                prefix: Vec::new(),
                url: format!("ldap://127.0.0.1:{port}"),
                address: format!("127.0.0.1:{}", port + 1),
            }
        };
        Ok(Loopback {
            places: (0..nodes).map(place).collect(),
            further: first,
        })
    }

    /// Prepares a program to be run there.
    pub fn command(&self, program: &Path) -> Command {
        match self.prefix.split_first() {
            None => Command::new(program),
            Some((first, others)) => {
                let mut command = Command::new(first);
                command.args(others).arg(program);
                command
            }
        }
    }
}

/// Places on loopback.
pub struct Loopback {
    /// The places.
    pub places: Vec<Place>,
    /// First of the further ports.
    pub further: u16,
}
