//! Debian's slapd as a replica: it follows another server by content synchronisation (RFC 4533),
//! with the configuration of `docs/guides/following-changes.md`.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::{Running, until};
use crate::slapd::free_address;
use crate::{Client, Folder, tools};

/// Page with the configuration.
const GUIDE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../docs/guides/following-changes.md"
);

/// A slapd that follows a provider. Dropping it kills the process and removes the files.
pub struct Replica {
    address: SocketAddr,
    slapd: PathBuf,
    config: PathBuf,
    provider: SocketAddr,
    /// The process. It stands before `folder`: it must end before its files are removed.
    running: Option<Running>,
    _folder: Folder,
}

impl Replica {
    /// Starts a replica with an empty database. `adapt` changes the configuration before it is
    /// written.
    pub fn start(provider: SocketAddr, adapt: impl Fn(String) -> String) -> Self {
        let folder = Folder::new();
        let slapd = folder.join("slapd");
        // The program is copied: AppArmor confines the one in /usr/sbin to the folders of Debian's
        // service.
        tools::run("cp", &["/usr/sbin/slapd".as_ref(), slapd.as_path()], "").expect(0);
        fs::create_dir(folder.join("database")).expect("the folder is new");
        let text = adapt(config(folder.path(), provider));
        let config = folder.write("slapd.conf", text);
        let mut replica = Replica {
            address: free_address(),
            slapd,
            config,
            provider,
            running: None,
            _folder: folder,
        };
        replica.serve();
        replica
    }

    /// Writes another provider into the configuration of a replica that is stopped.
    pub fn follow(&mut self, provider: SocketAddr) {
        assert!(self.running.is_none(), "the file is read at the start");
        let before = fs::read_to_string(&self.config).expect("our own file");
        let after = before.replace(&self.provider.to_string(), &provider.to_string());
        fs::write(&self.config, after).expect("our own file");
        self.provider = provider;
    }

    /// Starts the process, also after a stop.
    pub fn serve(&mut self) {
        let mut command = Command::new(&self.slapd);
        command.arg("-f").arg(&self.config);
        command.args(["-h", &format!("ldap://{}", self.address), "-d", "sync"]);
        let mut running = Running::start("slapd", &mut command);
        running.wait_for("slapd starting", |line| {
            line.contains("slapd starting").then_some(())
        });
        until("slapd accepts connections", || {
            std::net::TcpStream::connect(self.address).ok()
        });
        self.running = Some(running);
    }

    /// Stops the process in an orderly way.
    pub fn stop(&mut self) {
        self.running.take().expect("the replica is served").stop();
    }

    /// Returns the log of the running process; empty if none runs.
    pub fn log(&self) -> String {
        self.running.as_ref().map_or_else(String::new, Running::log)
    }

    /// Returns the address at which the replica listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Opens an anonymous connection.
    pub fn client(&self) -> Client {
        Client::connect(self.address)
    }
}

/// Returns the configuration printed in the guide, with the paths and the address of a test.
fn config(folder: &Path, provider: SocketAddr) -> String {
    let guide = fs::read_to_string(GUIDE).expect("the guide is in the repository");
    let (_, rest) = guide
        .split_once("```text\n# slapd.conf")
        .expect("the guide prints a slapd.conf");
    let (config, _) = rest.split_once("```").expect("the example ends");
    config
        .replace("/var/lib/ldap", &folder.join("database").to_string_lossy())
        .replace("ldap://pando.example.com", &format!("ldap://{provider}"))
        .replace("\"secret\"", &format!("\"{}\"", crate::PASSWORD))
        .replace("retry=\"5 +\"", "retry=\"1 +\"")
        + "\n"
}
