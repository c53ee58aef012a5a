//! A cluster of Pando nodes: the first node has its entries already, the others join it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use super::etcd::{self, Etcd};
use super::fleet::Fleet;
use super::place::Place;
use super::process::{Process, Role};
use crate::subject::{Folder, Subject};

/// Nodes of a cluster that is to be made.
pub struct Plan<'a> {
    /// Work folder, with the entries imported into a Pando that does not run.
    pub folder: &'a Folder,
    /// Place of each node.
    pub places: Vec<Place>,
    /// Text of every node's `pando.toml`.
    pub settings: String,
}

/// Times of a node's joining.
#[derive(Clone, Copy, Debug)]
pub struct Joined {
    /// Time that `pando cluster join` took.
    pub copied: Duration,
    /// Time from its beginning until the node was served and had taken a change.
    pub served: Duration,
}

/// Makes a cluster of so many nodes on loopback, with three members of etcd. All are served
/// afterwards.
pub fn make(folder: &Folder, etcd_program: &Path, nodes: usize) -> io::Result<Fleet> {
    let (plan, mut fleet) = Plan::on_loopback(folder, etcd_program, nodes)?;
    plan.join_all(&mut fleet)?;
    Ok(fleet)
}

impl<'a> Plan<'a> {
    /// Plans a cluster on loopback, with three members of etcd, and serves its first node.
    pub fn on_loopback(
        folder: &'a Folder,
        etcd_program: &Path,
        nodes: usize,
    ) -> io::Result<(Plan<'a>, Fleet)> {
        let loopback = Place::on_loopback(nodes, etcd::PORTS)?;
        let (etcd, log) = Etcd::prepare(&folder.path, etcd_program, loopback.further)?;
        let plan = Plan {
            folder,
            places: loopback.places,
            settings: String::new(),
        };
        let mut fleet = plan.empty_fleet();
        (fleet.etcd, fleet.log) = (Some(etcd), log);
        plan.found(&mut fleet)?;
        Ok((plan, fleet))
    }

    /// Describes the cluster before its first node.
    pub fn empty_fleet(&self) -> Fleet {
        Fleet {
            name: "Pando",
            nodes: Vec::new(),
            log: Vec::new(),
            etcd: None,
            hosts: Vec::new(),
        }
    }

    /// Makes the cluster of its first node, and serves it. Without members of etcd in `fleet` the
    /// nodes run them.
    pub fn found(&self, fleet: &mut Fleet) -> io::Result<()> {
        fleet.start()?;
        let mut init = self.command("init", 0);
        init.args(["--address", &self.places[0].address]);
        if let Some(etcd) = &fleet.etcd {
            init.args(["--etcd", &etcd.urls.join(",")]);
            init.arg("--etcd-ca").arg(&etcd.tls.authority);
            init.arg("--etcd-cert").arg(&etcd.tls.certificate);
            init.arg("--etcd-key").arg(&etcd.tls.key);
        }
        said(&mut init)?;
        self.serve_next(fleet)
    }

    /// Lets the next node join, and serves it.
    pub fn join(&self, fleet: &mut Fleet) -> io::Result<Joined> {
        let number = fleet.nodes.len();
        let line = said(&mut self.command("token", 0))?;
        let mut join = self.command("join", number);
        // The line begins with `pando cluster join DIR`.
        join.args(line.split_whitespace().skip(4));
        join.args(["--address", &self.places[number].address]);
        let begin = Instant::now();
        said(&mut join)?;
        let copied = begin.elapsed();
        self.serve_next(fleet)?;
        Ok(Joined {
            copied,
            served: begin.elapsed(),
        })
    }

    /// Lets all further nodes join, one after the other.
    pub fn join_all(&self, fleet: &mut Fleet) -> io::Result<()> {
        while fleet.nodes.len() < self.places.len() {
            self.join(fleet)?;
        }
        Ok(())
    }

    /// Folder of a node.
    pub fn node(&self, number: usize) -> PathBuf {
        match number {
            0 => self.folder.database(Subject::Pando),
            _ => self.folder.path.join(format!("pando{number}")),
        }
    }

    /// Writes the `pando.toml` of a node, which its next start reads.
    pub fn set(&self, number: usize, settings: &str) -> io::Result<()> {
        fs::write(self.node(number).join("pando.toml"), settings)
    }

    /// Prepares `pando cluster ACTION` for a node.
    pub fn command(&self, action: &str, number: usize) -> Command {
        let mut command = self.places[number].command(&self.folder.pando);
        command.args(["cluster", action]).arg(self.node(number));
        command
    }

    /// Serves one node more and waits until all take changes.
    fn serve_next(&self, fleet: &mut Fleet) -> io::Result<()> {
        let number = fleet.nodes.len();
        let place = &self.places[number];
        if !self.settings.is_empty() {
            self.set(number, &self.settings)?;
        }
        let mut serve = place.command(&self.folder.pando);
        serve
            .arg("serve")
            .arg(self.node(number))
            .args(["--listen", &place.url]);
        let log = self.folder.path.join(format!("node{number}.log"));
        fleet
            .nodes
            .push(Process::new(Role::Node, &place.url, serve, log));
        if fleet.etcd.is_none() {
            fleet.hosts.push(self.node(number));
        }
        fleet.start()
    }
}

/// Runs a command to its end and returns what it prints.
fn said(command: &mut Command) -> io::Result<String> {
    let Output {
        status,
        stdout,
        stderr,
    } = command.output()?;
    match status.success() {
        true => Ok(String::from_utf8_lossy(&stdout).into_owned()),
        false => {
            let said = String::from_utf8_lossy(&stderr);
            Err(io::Error::other(format!("{command:?}: {status}: {said}")))
        }
    }
}
