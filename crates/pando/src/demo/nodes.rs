//! `pando demo --cluster N`: the sample directory, served by several nodes, each a process of its
//! own.

mod child;

use super::{PASSWORD, SUFFIX, program};
use crate::channel::Channel;
use crate::cli::{ClusterInit, ClusterJoin, Demo};
use crate::cluster::{enter, make_first};
use crate::report::{Problem, note};
use ::cluster::address::Address;
use ::cluster::identity::Identity;
use ::cluster::{etcd, init};
use child::Node;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;
use store::private;

/// Ports of one node: for other nodes, for clients of its etcd, for other members of etcd.
const PORTS: u16 = 3;
/// Time between two looks whether the nodes run.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// Serves the nodes below `dir` until a signal. `make` makes the sample directory in a folder.
pub fn serve(
    it: &Demo,
    dir: &Path,
    count: u16,
    make: &dyn Fn(&Path) -> Result<(), Problem>,
) -> Result<(), Problem> {
    // From here on a signal ends the nodes in order.
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    let (sender, ended) = mpsc::channel();
    std::thread::spawn(move || signals.forever().next().map(|_| sender.send(())));
    let folders: Vec<PathBuf> = (1..=count)
        .map(|number| dir.join(format!("node{number}")))
        .collect();
    let listens = listens(it, count)?;
    let mut nodes: Vec<Node> = Vec::new();
    for (folder, listen) in folders.iter().zip(&listens) {
        if !folder.join("data").exists() {
            match nodes.first() {
                None => begin(folder, make)?,
                Some(first) => join(folder, first)?,
            }
            write_settings(folder, listen)?;
        }
        nodes.push(Node::start(folder, listen)?);
    }
    note(tour(&nodes));
    watch(&mut nodes, &ended);
    // The last one first: the first one has what the others need at their end.
    while let Some(node) = nodes.pop() {
        drop(node);
    }
    end_left(&folders)
}

/// Waits for the signal, and says when a node ends before.
fn watch(nodes: &mut [Node], ended: &mpsc::Receiver<()>) {
    let program = program();
    while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(LOOK_EVERY) {
        for node in nodes.iter_mut() {
            if let Some(how) = node.has_ended() {
                note(format_args!(
                    "{} has ended ({how}); start it again with: {program} serve {}",
                    node.folder.display(),
                    node.folder.display()
                ));
            }
        }
    }
}

/// Ends the etcd of nodes that were killed, and that nobody serves again.
fn end_left(folders: &[PathBuf]) -> Result<(), Problem> {
    for folder in folders {
        if Channel::served(folder)?.is_none() {
            let left = folder.join("etcd");
            etcd::claim::end_left(&left).map_err(|error| Problem::file(&left, error))?;
        }
    }
    Ok(())
}

/// Makes the first node.
fn begin(folder: &Path, make: &dyn Fn(&Path) -> Result<(), Problem>) -> Result<(), Problem> {
    make(folder)?;
    make_first(&ClusterInit {
        dir: folder.to_owned(),
        address: free_address()?.to_string(),
        etcd: Vec::new(),
        etcd_ca: None,
        etcd_cert: None,
        etcd_key: None,
    })?;
    Ok(())
}

/// Makes a further node with a copy of the first one, which is served.
fn join(folder: &Path, first: &Node) -> Result<(), Problem> {
    let identity = Identity::load(&first.folder).map_err(Problem::failed)?;
    let identity = identity.ok_or_else(|| {
        Problem::failed(format_args!(
            "{}: expected a node of a cluster; choose a new folder for the demo",
            first.folder.display()
        ))
    })?;
    let token = init::token(&identity).map_err(Problem::failed)?;
    enter(&ClusterJoin {
        dir: folder.to_owned(),
        from: identity.membership.address.to_string(),
        token: token.to_string(),
        address: Some(free_address()?.to_string()),
    })?;
    Ok(())
}

/// An address on the loopback interface with free ports for a node.
fn free_address() -> Result<Address, Problem> {
    let host = "127.0.0.1";
    let is_free = |port: &u16| TcpListener::bind((host, *port)).is_ok();
    let mut first = (::cluster::address::PORT..32_000).step_by(usize::from(PORTS));
    let found = first.find(|port| (*port..port + PORTS).all(|it| is_free(&it)));
    let port = found.ok_or_else(|| {
        Problem::failed("expected three free ports in a row from 8390 to 32000, found none")
    })?;
    let host = host.to_owned();
    Ok(Address { host, port })
}

/// The URLs of all nodes: ports in a row, beginning with that of --listen.
fn listens(it: &Demo, count: u16) -> Result<Vec<String>, Problem> {
    let [listen] = it.listen.as_slice() else {
        return Err(Problem::usage(
            "--listen: expected one ldap://ADDRESS:PORT with --cluster, got several",
        ));
    };
    let address = listen.strip_prefix("ldap://");
    let address = address.and_then(|it| it.parse::<SocketAddr>().ok());
    let address = address.ok_or_else(|| {
        Problem::usage(format_args!(
            "--listen {listen}: expected ldap://ADDRESS:PORT with --cluster"
        ))
    })?;
    let port = |number: u16| match address.port() {
        // The system chooses each.
        0 => 0,
        port => port.saturating_add(number),
    };
    let url = |number| format!("ldap://{}", SocketAddr::new(address.ip(), port(number)));
    Ok((0..count).map(url).collect())
}

fn tour(nodes: &[Node]) -> String {
    let program = program();
    let urls: Vec<&str> = nodes.iter().map(|it| it.url.as_str()).collect();
    let (first, last) = (urls[0], urls[urls.len() - 1]);
    let searches: Vec<String> = urls
        .iter()
        .map(|url| format!("  ldapsearch -x -H {url} -b {SUFFIX} -LLL '(uid=user.42)' title"))
        .collect();
    let searches = searches.join("\n");
    let folder = nodes[0].folder.display();
    let process = nodes[0].process;
    format!(
        "
{count} nodes with one directory. The administrator is cn=admin,{SUFFIX}; every password is \
\"{PASSWORD}\". Try in another terminal: ask each node, change an entry at one, and read it at another:

{searches}
  printf 'dn: uid=user.42,ou=people,{SUFFIX}\\nchangetype: modify\\nreplace: title\\ntitle: Chief\\n' | ldapmodify -x -H {first} -D cn=admin,{SUFFIX} -w {PASSWORD}
  ldapsearch -x -H {last} -b {SUFFIX} -LLL '(uid=user.42)' title
  {program} cluster status {folder}

With three nodes or more there are three voters after half a minute, and any one may be killed, the
first one for example (kill -9 {process}): the others go on.

Stop all with Ctrl-C.",
        count = nodes.len(),
    )
}

/// Writes pando.toml with an address of its own to listen at, so that `pando serve` does as the
/// demo.
fn write_settings(folder: &Path, url: &str) -> Result<(), Problem> {
    let path = folder.join(server::settings::FILE_NAME);
    let text = format!("listen = [\"{url}\"]\n\n{}", server::settings::sample());
    private::write(&path, text).map_err(|error| Problem::file(&path, error))
}
