//! A cluster of three Pando nodes on three members of etcd.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use super::etcd::Etcd;
use super::trio::{NODES, Process, Role, Trio, free_ports};
use crate::subject::{Folder, Subject};

/// Ports of a node: LDAP, other nodes, and two that an own etcd would have.
const NODE_PORTS: u16 = 4;

/// Makes a cluster of the node in `folder`, which has its entries already; the others join it. All
/// are served afterwards.
pub fn make(folder: &Folder, etcd_program: &Path) -> io::Result<Trio> {
    let count = NODES as u16;
    let port = free_ports(count * (2 + NODE_PORTS))?;
    let (etcd, log) = Etcd::prepare(&folder.path, etcd_program, port)?;
    let nodes = (0..NODES).map(|number| {
        let port = port + 2 * count + NODE_PORTS * number as u16;
        let url = format!("ldap://127.0.0.1:{port}");
        let mut command = Command::new(&folder.pando);
        command
            .arg("serve")
            .arg(node(folder, number))
            .args(["--listen", &url]);
        let log = folder.path.join(format!("node{number}.log"));
        Process::new(Role::Node, &url, command, log)
    });
    let address = |number: usize| {
        let offset = 2 * count + NODE_PORTS * number as u16 + 1;
        format!("127.0.0.1:{}", port + offset)
    };
    let mut init = command(folder, "init", &node(folder, 0));
    init.args(["--address", &address(0), "--etcd", &etcd.urls.join(",")]);
    init.arg("--etcd-ca").arg(&etcd.tls.authority);
    init.arg("--etcd-cert").arg(&etcd.tls.certificate);
    init.arg("--etcd-key").arg(&etcd.tls.key);
    let mut trio = Trio {
        name: "Pando",
        nodes: Vec::new(),
        log,
        etcd: Some(etcd),
    };
    trio.start()?;
    said(&mut init)?;
    for (number, process) in nodes.enumerate() {
        if number > 0 {
            let line = said(&mut command(folder, "token", &node(folder, 0)))?;
            let mut join = command(folder, "join", &node(folder, number));
            // The line begins with `pando cluster join DIR`.
            join.args(line.split_whitespace().skip(4));
            said(join.args(["--address", &address(number)]))?;
        }
        trio.nodes.push(process);
        trio.start()?;
    }
    Ok(trio)
}

/// The folder of a node.
fn node(folder: &Folder, number: usize) -> PathBuf {
    match number {
        0 => folder.database(Subject::Pando),
        _ => folder.path.join(format!("pando{number}")),
    }
}

fn command(folder: &Folder, action: &str, node: &Path) -> Command {
    let mut command = Command::new(&folder.pando);
    command.args(["cluster", action]).arg(node);
    command
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
