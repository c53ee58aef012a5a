//! A fleet: servers of one directory, all of which take changes, and what keeps their log.

use std::io;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use ::load::bench::{JobKind, Mix, Options, can_bind, run};

use super::etcd::Etcd;
use super::process::Process;
use crate::subject::{ADMINISTRATOR, PASSWORD};

/// Number of nodes where nothing else is asked for, and where slapd is compared.
pub const NODES: usize = 3;
/// Time that a node has until it answers; after a load it may have to catch up first.
const START_TIME_MAX: Duration = Duration::from_secs(300);

/// Servers of one directory with the processes that keep their log. Its end stops them.
pub struct Fleet {
    /// As written in tables.
    pub name: &'static str,
    /// The nodes.
    pub nodes: Vec<Process>,
    /// Members of etcd that the nodes do not run themselves; none for slapd.
    pub log: Vec<Process>,
    /// How to speak to these members of etcd; `None` without any.
    pub etcd: Option<Etcd>,
    /// Folders of the nodes that may run a member of etcd as their child.
    pub hosts: Vec<PathBuf>,
}

impl Fleet {
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

impl Drop for Fleet {
    fn drop(&mut self) {
        self.stop();
    }
}
