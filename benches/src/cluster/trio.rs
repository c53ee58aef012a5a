//! Three nodes and what keeps their log: processes that are started, stopped, killed and started
//! again at the same addresses.

use std::fs::File;
use std::io;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use ::load::bench::{JobKind, Mix, Options, can_bind, run};

use super::etcd::Etcd;
use crate::process::Server;
use crate::subject::{ADMINISTRATOR, PASSWORD};

/// Number of nodes.
pub const NODES: usize = 3;
/// Time that a node has until it answers; after a load it may have to catch up first.
const START_TIME_MAX: Duration = Duration::from_secs(300);

/// What a process is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// A directory server.
    Node,
    /// A member of etcd.
    Log,
}

/// A process that may run or not.
pub struct Process {
    /// What it is for.
    pub role: Role,
    /// Where it listens.
    pub url: String,
    command: Command,
    log: PathBuf,
    running: Option<Server>,
}

impl Process {
    /// A process that does not run yet. What it says goes to the file `log`.
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

    /// The process, if it runs.
    pub fn pid(&self) -> Option<u32> {
        self.running.as_ref().map(Server::pid)
    }

    /// An error with the end of its log, if it has ended by itself.
    fn must_run(&mut self) -> io::Result<()> {
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

/// Three nodes with the processes that keep their log.
pub struct Trio {
    /// As written in tables.
    pub name: &'static str,
    /// The nodes.
    pub nodes: Vec<Process>,
    /// Members of etcd; none for slapd.
    pub log: Vec<Process>,
    /// How to speak to the members of etcd.
    pub etcd: Option<Etcd>,
}

impl Trio {
    /// Starts all processes that do not run, and waits until every node takes changes.
    pub fn start(&mut self) -> io::Result<()> {
        start_missing(&mut self.log)?;
        if let Some(etcd) = &self.etcd {
            etcd.leader()?;
        }
        start_missing(&mut self.nodes)?;
        self.wait()?;
        match self.nodes.is_empty() {
            true => Ok(()),
            false => self.wait_for_changes(),
        }
    }

    /// Waits until a change of the suffix is accepted by every node.
    fn wait_for_changes(&self) -> io::Result<()> {
        let mut options = Options::new("", Mix::only(JobKind::Modify));
        options.urls = self.urls();
        options.connections = options.urls.len();
        options.dn = "dc=com".to_owned();
        options.bind_as = Some((ADMINISTRATOR.to_owned(), PASSWORD.to_owned()));
        options.warm_up = Duration::ZERO;
        options.operations = Some(options.urls.len() as u64);
        options.duration = Some(START_TIME_MAX);
        let begin = Instant::now();
        loop {
            let report = run(&options, &mut |_| {}).map_err(io::Error::other)?;
            if report.is_clean() {
                return Ok(());
            }
            if begin.elapsed() > START_TIME_MAX {
                return Err(io::Error::other(report.text()));
            }
        }
    }

    /// Waits until the administrator can bind at every node.
    fn wait(&mut self) -> io::Result<()> {
        let begin = Instant::now();
        for node in &mut self.nodes {
            while !can_bind(&node.url, ADMINISTRATOR, PASSWORD) {
                node.must_run()?;
                if begin.elapsed() > START_TIME_MAX {
                    return Err(io::Error::other(format!("{} does not answer", node.url)));
                }
                // Nothing tells from outside when a server begins to listen.
                thread::park_timeout(Duration::from_millis(20));
            }
        }
        Ok(())
    }

    /// Ends all processes in an orderly way, the nodes first.
    pub fn stop(&mut self) {
        for process in self.nodes.iter_mut().chain(&mut self.log) {
            process.stop();
        }
    }

    /// The URLs of the nodes.
    pub fn urls(&self) -> Vec<String> {
        self.nodes.iter().map(|it| it.url.clone()).collect()
    }
}

fn start_missing(processes: &mut [Process]) -> io::Result<()> {
    for process in processes {
        if process.pid().is_none() {
            process.start()?;
        }
    }
    Ok(())
}

impl Drop for Trio {
    fn drop(&mut self) {
        self.stop();
    }
}

/// The first of so many free ports in a row. They are below the ports that the system gives to
/// connections, because a process that is started again must find its port free.
pub fn free_ports(count: u16) -> io::Result<u16> {
    let free = |port: u16| TcpListener::bind(("127.0.0.1", port)).is_ok();
    let first = 20_000 + (std::process::id() % 1_000) as u16 * 12;
    let mut ports = (first..32_000).step_by(usize::from(count));
    let found = ports.find(|port| (*port..port + count).all(free));
    found.ok_or_else(|| io::Error::other(format!("expected {count} free ports in a row")))
}
