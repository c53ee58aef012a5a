//! Processes of a cluster, which are started, stopped, killed and started again at the same
//! addresses.

use std::fs::File;
use std::io;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::process::Server;

/// Purpose of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// A directory server.
    Node,
    /// A member of etcd.
    Log,
}

/// A process that may run or not.
pub struct Process {
    /// Its purpose.
    pub role: Role,
    /// URL at which it listens.
    pub url: String,
    command: Command,
    log: PathBuf,
    running: Option<Server>,
}

impl Process {
    /// Describes a process that does not run yet. Its messages go to the file `log`.
    pub fn new(role: Role, url: &str, command: Command, log: PathBuf) -> Process {
        Process {
            role,
            url: url.to_owned(),
            command,
            log,
            running: None,
        }
    }

    /// Starts it; does not wait until it serves.
    pub fn start(&mut self) -> io::Result<()> {
        let log = File::options().create(true).append(true).open(&self.log)?;
        self.command.stdout(Stdio::null()).stderr(log);
        self.running = Some(Server::start(&mut self.command, &self.url)?);
        Ok(())
    }

    /// Ends it in an orderly way.
    pub fn stop(&mut self) {
        self.running = None;
    }

    /// Ends it at once, as a power cut ends it.
    pub fn kill(&mut self) -> io::Result<()> {
        match self.running.take() {
            Some(server) => server.kill(),
            None => Ok(()),
        }
    }

    /// Number of the process; `None` unless it runs.
    pub fn pid(&self) -> Option<u32> {
        self.running.as_ref().map(Server::pid)
    }

    /// Fails with the end of its log if it has ended by itself.
    pub fn must_run(&mut self) -> io::Result<()> {
        let ended = match &mut self.running {
            Some(server) => server.ended()?,
            None => None,
        };
        let Some(status) = ended else { return Ok(()) };
        let text = std::fs::read_to_string(&self.log)?;
        let said = text.lines().last().unwrap_or_default();
        Err(io::Error::other(format!(
            "{} ended: {status}: {said}",
            self.url
        )))
    }
}

/// Returns the first of so many free ports in a row. They are below the ports that the system gives
/// to connections, because a process that is started again must find its port free.
pub fn free_ports(count: u16) -> io::Result<u16> {
    let free = |port: u16| TcpListener::bind(("127.0.0.1", port)).is_ok();
    let first = 20_000 + (std::process::id() % 1_000) as u16 * 12;
    let mut ports = (first..32_000).step_by(usize::from(count));
    let found = ports.find(|port| (*port..port + count).all(free));
    found.ok_or_else(|| io::Error::other(format!("expected {count} free ports in a row")))
}
