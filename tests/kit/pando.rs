//! The program under test: a node in a temporary folder, served on a port of its own.
//!
//! `pando serve` prints `listening on ldap://127.0.0.1:PORT` to standard error once it accepts
//! connections; with port 0, that line gives the real port.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

pub use crate::program::program;

use crate::process::Running;
use crate::router::Network;
use crate::tools::{self, Answer, Tools};
use crate::{ADMIN, Client, Disk, Folder, PASSWORD, SUFFIX, etcd};

/// A node and its process.
pub struct Pando {
    /// Folder of the test, with the node's folder `node` and other files.
    pub folder: Folder,
    node: PathBuf,
    /// The same folder as this process sees it, which is not in other mount namespaces.
    seen: PathBuf,
    /// Words before every command, to run it in another place.
    prefix: Vec<String>,
    /// Address of the place, at which the node listens.
    host: IpAddr,
    running: Option<Running>,
    address: Option<SocketAddr>,
}

impl Pando {
    /// Makes a node with only its base entry, not served yet.
    pub fn init() -> Self {
        Self::init_in(Folder::new(), &["--suffix", SUFFIX])
    }

    /// Makes a node by `pando init` with these arguments in a given folder.
    pub fn init_in(folder: Folder, args: &[&str]) -> Self {
        let pando = Self::unmade(folder);
        pando.run_on_node(&["init"], args).expect(0);
        pando
    }

    /// Makes a node with only its base entry at a site of a network, at whose address it listens.
    pub fn init_at(network: &Network, site: &str) -> Self {
        let pando = Self::unmade(Folder::new()).at(network, site).initialised();
        pando.trust_network();
        pando
    }

    /// Makes a node that joins a cluster by a line of `pando cluster token`, at this address.
    pub fn join(line: &str, address: &str) -> Self {
        Self::unmade(Folder::new()).joined(line, address)
    }

    /// Makes a node at a site of a network that joins a cluster by a line of `pando cluster token`.
    /// The other nodes reach it at this port of the site.
    pub fn join_at(network: &Network, site: &str, port: u16, line: &str) -> Self {
        let address = format!("{}:{port}", network.address(site));
        let pando = Self::unmade(Folder::new()).at(network, site);
        let pando = pando.joined(line, &address);
        pando.trust_network();
        pando
    }

    /// Makes a node with only its base entry, whose program knows format levels up to `highest`
    /// only, like an earlier one.
    pub fn init_knowing(highest: u32) -> Self {
        let mut pando = Self::unmade(Folder::new());
        pando.know_levels_up_to(Some(highest));
        pando.initialised()
    }

    /// Like [`Pando::join`], with a program that knows format levels up to `highest` only.
    pub fn join_knowing(line: &str, address: &str, highest: u32) -> Self {
        let mut pando = Self::unmade(Folder::new());
        pando.know_levels_up_to(Some(highest));
        pando.joined(line, address)
    }

    /// Makes a node from a backup.
    pub fn restore(backup: &str) -> Self {
        let pando = Self::unmade(Folder::new());
        let node = pando.node().to_string_lossy().into_owned();
        pando.run(&["restore", backup, &node]).expect(0);
        pando
    }

    /// Makes a copy of the folder of a node that is not served, as it is now.
    pub fn copied(&self) -> Self {
        assert!(self.running.is_none(), "a copy of files in use is none");
        let mut copy = Self::unmade(Folder::new());
        (copy.prefix, copy.host) = (self.prefix.clone(), self.host);
        let (from, to) = (self.node.display(), copy.node.display());
        tools::run("cp", &["-a", &from.to_string(), &to.to_string()], "").expect(0);
        copy
    }

    /// Like [`Pando::copied`], for commands at another site of a network.
    pub fn copied_to(&self, network: &Network, site: &str) -> Self {
        let mut copy = self.copied();
        (copy.prefix, copy.host) = (network.prefix(site), network.address(site).into());
        copy
    }

    /// Makes a node with only its base entry, whose commands run under this umask.
    pub fn init_under(umask: &str) -> Self {
        let script = format!("umask {umask}; exec \"$0\" \"$@\"");
        let mut pando = Self::unmade(Folder::new());
        pando.prefix = vec!["sh".to_owned(), "-c".to_owned(), script];
        pando.initialised()
    }

    /// Makes a node with only its base entry on a small disk.
    pub fn init_on(disk: &Disk) -> Self {
        let mut pando = Self::unmade(Folder::new());
        (pando.node, pando.prefix) = (disk.path().join("node"), disk.prefix());
        pando.initialised()
    }

    /// Makes a node on a small disk that joins a cluster, as [`Pando::join`] does. The disk must
    /// have an end.
    pub fn join_on(disk: &Disk, line: &str, address: &str) -> Self {
        let mut pando = Self::unmade(Folder::new());
        (pando.node, pando.prefix) = (disk.path().join("node"), disk.prefix());
        pando.seen = disk.inside().join("node");
        pando.joined(line, address)
    }

    /// A node to be made by [`Pando::enter`], which may take several attempts.
    pub fn to_be() -> Self {
        Self::unmade(Folder::new())
    }

    /// Joins a cluster by a line of `pando cluster token`, at this address, or goes on with that.
    pub fn enter(&self, line: &str, address: &str) -> Answer {
        let words = line.trim().trim_start_matches("pando cluster join DIR ");
        let mut args: Vec<&str> = words.split(' ').collect();
        args.extend(["--address", address]);
        self.run_on_node(&["cluster", "join"], &args)
    }

    /// A node that no command has made yet.
    fn unmade(folder: Folder) -> Self {
        Pando {
            node: folder.join("node"),
            seen: folder.join("node"),
            folder,
            prefix: Vec::new(),
            host: Ipv4Addr::LOCALHOST.into(),
            running: None,
            address: None,
        }
    }

    /// Moves a node that is not made yet to a site.
    fn at(mut self, network: &Network, site: &str) -> Self {
        self.prefix = network.prefix(site);
        self.host = network.address(site).into();
        self
    }

    /// Lets the node take passwords from other sites without TLS, also the administrator's.
    fn trust_network(&self) {
        let settings = "allow_cleartext_binds = true\nadministrator_from = [\"0.0.0.0/0\"]\n";
        fs::write(self.node.join("pando.toml"), settings).expect("our own folder");
    }

    fn initialised(self) -> Self {
        self.run_on_node(&["init"], &["--suffix", SUFFIX]).expect(0);
        self
    }

    fn joined(self, line: &str, address: &str) -> Self {
        self.enter(line, address).expect(0);
        self
    }

    /// Makes a node with only its base entry, and serves it.
    pub fn start() -> Self {
        let mut pando = Self::init();
        pando.serve();
        pando
    }

    /// Runs all commands from now on by a program that knows format levels up to `highest` only, or
    /// with `None` by the program as it is. A release cannot be made to know less.
    pub fn know_levels_up_to(&mut self, highest: Option<u32>) {
        let variable = |it| vec!["env".to_owned(), format!("PANDO_TEST_LEVEL_MAX={it}")];
        self.prefix = highest.map_or_else(Vec::new, variable);
    }

    /// Folder of the node.
    pub fn node(&self) -> PathBuf {
        self.node.clone()
    }

    /// Folder of the node as this process sees it.
    pub fn seen(&self) -> PathBuf {
        self.seen.clone()
    }

    /// Returns a command of the program, behind the words that lead to the node's place.
    fn command(&self, before: &[&str]) -> Command {
        let mut words: Vec<OsString> = before.iter().map(Into::into).collect();
        words.extend(self.prefix.iter().map(Into::into));
        words.push(program().into());
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).current_dir(self.folder.path());
        command
    }

    /// Runs a subcommand to its end, with the administrator's password in its environment.
    pub fn run<S: AsRef<OsStr>>(&self, args: &[S]) -> Answer {
        self.run_for("600", args)
    }

    fn run_for<S: AsRef<OsStr>>(&self, seconds: &str, args: &[S]) -> Answer {
        let mut command = self.command(&["timeout", "--kill-after=5", seconds]);
        command
            .args(args)
            .env("PANDO_ADMIN_PASSWORD", PASSWORD)
            .env("LC_ALL", "C.UTF-8");
        tools::run_command(&mut command, "")
    }

    /// Runs a subcommand whose first argument is the node's folder.
    pub fn run_on_node(&self, subcommand: &[&str], args: &[&str]) -> Answer {
        let node = self.node().to_string_lossy().into_owned();
        let mut all = subcommand.to_vec();
        all.push(&node);
        all.extend(args);
        self.run(&all)
    }

    /// Starts a subcommand whose first argument is the node's folder, without waiting for its end.
    pub fn begin_on_node(&self, subcommand: &str, args: &[&str]) -> Running {
        let mut command = self.command(&[]);
        command.arg(subcommand).arg(self.node()).args(args);
        Running::start(subcommand, &mut command)
    }

    /// Runs `pando serve`, which has to refuse to serve the node; it is ended if it does not.
    pub fn serve_in_vain(&self) -> Answer {
        let node = self.node().to_string_lossy().into_owned();
        self.run_for("60", &["serve", &node, "--listen", "ldap://127.0.0.1:0"])
    }

    /// Serves the node on a free port of 127.0.0.1, or of its site.
    pub fn serve(&mut self) {
        self.serve_in(&[]);
    }

    /// Like [`Pando::serve`], with variables in the environment of the process.
    pub fn serve_in(&mut self, environment: &[(&str, &Path)]) {
        let url = format!("ldap://{}:0", self.host);
        self.serve_with(&["--listen", &url], environment);
    }

    /// Serves the node at the addresses in its `pando.toml`, `ldap://127.0.0.1:0` among others.
    pub fn serve_as_configured(&mut self) {
        self.serve_with(&[], &[]);
    }

    fn serve_with(&mut self, args: &[&str], environment: &[(&str, &Path)]) {
        assert!(self.running.is_none(), "one process per folder");
        let mut command = self.command(&[]);
        command.arg("serve").arg(self.node()).args(args);
        command.envs(environment.iter().copied());
        self.running = Some(Running::start("pando", &mut command));
        self.await_address();
    }

    /// Waits until the process says, once more, at which address it listens.
    pub fn await_address(&mut self) {
        let running = self.running.as_mut().expect("the node is served");
        let address = running.wait_for("listening on ldap://…", |line| listened_at(line, "ldap"));
        self.address = Some(address);
    }

    /// Returns the serving process.
    pub fn process(&mut self) -> &mut Running {
        self.running.as_mut().expect("the node is served")
    }

    /// Returns the address at which the node listens.
    pub fn address(&self) -> SocketAddr {
        self.address.expect("the node is served")
    }

    /// Returns the URL of the server.
    pub fn url(&self) -> String {
        format!("ldap://{}", self.address())
    }

    /// Opens an anonymous connection.
    pub fn client(&self) -> Client {
        Client::connect(self.address())
    }

    /// Opens a connection bound as the administrator.
    pub fn admin(&self) -> Client {
        let mut client = self.client();
        client.bind(ADMIN, PASSWORD).expect_success();
        client
    }

    /// Returns Debian's tools, bound as the administrator.
    pub fn tools(&self) -> Tools {
        Tools::admin(&self.url())
    }

    /// Kills the process, as a power cut would.
    pub fn kill(&mut self) {
        if let Some(mut running) = self.running.take() {
            running.kill();
            assert_no_panic(&running);
        }
    }

    /// Kills the process together with its etcd, as a power cut would.
    pub fn kill_with_etcd(&mut self) {
        self.kill();
        etcd::kill(&self.seen);
    }

    /// Waits until the process has ended by itself, in an orderly way.
    pub fn wait_for_end(&mut self) {
        let mut running = self.running.take().expect("the node is served");
        let status = running.wait();
        assert!(status.success(), "{status}");
        assert_no_panic(&running);
    }

    /// Stops the process in an orderly way.
    pub fn stop(&mut self) -> ExitStatus {
        let mut running = self.running.take().expect("the node is served");
        let status = running.stop();
        assert_no_panic(&running);
        status
    }

    /// Runs `pando check`, which must find no problem. The node must not be served.
    #[track_caller]
    pub fn assert_clean(&self) {
        self.run_on_node(&["check"], &[]).expect(0);
    }

    /// Exports the whole directory with `pando export` to standard output.
    #[track_caller]
    pub fn export(&self) -> String {
        self.run_on_node(&["export"], &[]).expect(0).out
    }
}

impl Drop for Pando {
    fn drop(&mut self) {
        match std::thread::panicking() {
            // Says the last lines of the log.
            true => drop(self.running.take()),
            false => self.kill(),
        }
        etcd::kill(&self.seen);
    }
}

/// Fails on a panic in the log: one that a thread survived is still a bug.
fn assert_no_panic(running: &Running) {
    let log = running.log();
    assert!(!log.contains("panicked at"), "the program panicked:\n{log}");
}

/// The address in a line of the log that says where the server listens with this scheme; `None` in
/// other lines.
pub fn listened_at(line: &str, scheme: &str) -> Option<SocketAddr> {
    let (_, address) = line.split_once(&format!("listening on {scheme}://"))?;
    let address = address.split_whitespace().next()?;
    address.trim_end_matches('/').parse().ok()
}
