//! A node as a child process.

use crate::report::Problem;
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Sender};
use store::private;

/// Beginning of the line with which a node says where it listens.
const LISTENING: &str = "listening on ldap://";

/// A served node. Dropping it stops the process, and waits until it has ended.
pub struct Node {
    /// The node's folder.
    pub folder: PathBuf,
    /// URL at which it listens.
    pub url: String,
    /// Number of the process.
    pub process: u32,
    /// `None` once it has ended.
    child: Option<Child>,
}

impl Node {
    /// Serves the node in a folder at a URL; returns when it listens. What it says goes to a file
    /// beside the folder, named like it.
    pub fn start(folder: &Path, listen: &str) -> Result<Node, Problem> {
        let program = std::env::current_exe()?;
        let mut child = Command::new(program)
            .arg("serve")
            .arg(folder)
            .args(["--listen", listen])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            // Ctrl-C in a terminal is for the demo, which ends one node after the other.
            .process_group(0)
            .spawn()?;
        let errors = child.stderr.take().expect("standard error is piped");
        let log = folder.with_extension("log");
        let (sender, listening) = mpsc::channel();
        let file = private::create(&log).map_err(|error| Problem::file(&log, error))?;
        let copied = std::thread::spawn(move || copy(errors, file, &sender));
        let mut node = Node {
            folder: folder.to_owned(),
            url: String::new(),
            process: child.id(),
            child: Some(child),
        };
        match listening.recv() {
            Ok(url) => {
                node.url = url;
                Ok(node)
            }
            // It has ended; its last line is the reason.
            Err(_) => Err(Problem::failed(copied.join().unwrap_or_default())),
        }
    }

    /// How the process has ended, told once; `None` while it runs.
    pub fn has_ended(&mut self) -> Option<ExitStatus> {
        let status = self.child.as_mut()?.try_wait().ok().flatten()?;
        self.child = None;
        Some(status)
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            // A child that is not waited for keeps its number.
            let pid = Pid::from_child(&child);
            kill_process(pid, Signal::TERM).ok();
            child.wait().ok();
        }
    }
}

/// Copies what a node says into a file, and tells where it listens. Returns the last line.
fn copy(errors: ChildStderr, mut file: std::fs::File, listening: &Sender<String>) -> String {
    let mut last = String::new();
    let mut sender = Some(listening);
    for line in BufReader::new(errors).lines().map_while(Result::ok) {
        if let Some((_, address)) = line.split_once(LISTENING)
            && let Some(sender) = sender.take()
        {
            // Nobody waits if the demo ends.
            sender.send(format!("ldap://{}", address.trim())).ok();
        }
        // A full disk is the node's to tell.
        writeln!(file, "{line}").ok();
        last = line.trim_start_matches("pando: ").to_owned();
    }
    last
}
