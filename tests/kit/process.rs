//! A server as a child process: its log is read, and its end awaited by process id, never by name.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::PATIENCE;

/// A running child process. Dropping it kills it.
pub struct Running {
    name: String,
    child: Child,
    lines: Receiver<String>,
    log: Arc<Mutex<String>>,
}

impl Running {
    /// Starts `command`; its standard error becomes the log.
    pub fn start(name: &str, command: &mut Command) -> Self {
        Self::start_reading(name, command, Stdio::null())
    }

    /// Like [`Running::start`], with `input` as standard input.
    pub fn start_reading(name: &str, command: &mut Command, input: Stdio) -> Self {
        let mut child = command
            .stdin(input)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start {name} ({command:?}): {error}"));
        let messages = child.stderr.take().expect("standard error is piped");
        let log = Arc::new(Mutex::new(String::new()));
        let (sender, lines) = mpsc::channel();
        let copy = Arc::clone(&log);
        thread::spawn(move || {
            for line in BufReader::new(messages).split(b'\n').map_while(Result::ok) {
                let line = String::from_utf8_lossy(&line).into_owned();
                let mut log = copy.lock().expect("nobody panics while holding the log");
                log.push_str(&line);
                log.push('\n');
                drop(log);
                // The receiver may be gone; the pipe must be emptied all the same.
                sender.send(line).ok();
            }
        });
        Running {
            name: name.to_owned(),
            child,
            lines,
            log,
        }
    }

    /// Waits for a line in which `find` finds a result. Panics when the child ends first.
    pub fn wait_for<T>(&mut self, what: &str, find: impl Fn(&str) -> Option<T>) -> T {
        self.wait_for_end_or(what, find).unwrap_or_else(|| {
            let status = self.child.wait();
            panic!(
                "{} ended ({status:?}) before {what:?}:\n{}",
                self.name,
                self.log()
            )
        })
    }

    /// Waits like [`Running::wait_for`]; `None` when the child ends first.
    pub fn wait_for_end_or<T>(
        &mut self,
        what: &str,
        find: impl Fn(&str) -> Option<T>,
    ) -> Option<T> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok(line) => {
                    if let Some(found) = find(&line) {
                        return Some(found);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {
                    panic!(
                        "{} did not say {what:?} in time:\n{}",
                        self.name,
                        self.log()
                    )
                }
                Err(RecvTimeoutError::Disconnected) => return None,
            }
        }
    }

    /// Returns the child's standard error so far.
    pub fn log(&self) -> String {
        self.log
            .lock()
            .expect("nobody panics while holding the log")
            .clone()
    }

    /// Process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Kills the process at once, like a power cut.
    pub fn kill(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }

    /// Asks the process to stop, and waits until it has ended.
    pub fn stop(&mut self) -> ExitStatus {
        self.signal(Signal::TERM);
        self.wait()
    }

    /// Sends the process a signal.
    pub fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.pid()).ok().and_then(Pid::from_raw);
        kill_process(pid.expect("a child has a positive id"), signal).ok();
    }

    /// Waits until the process has ended by itself.
    pub fn wait(&mut self) -> ExitStatus {
        let deadline = Instant::now() + PATIENCE;
        // The log ends with the process: both close together.
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok(_) => {}
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    panic!("{} does not end:\n{}", self.name, self.log())
                }
            }
        }
        self.child.wait().expect("the child is ours to wait for")
    }

    /// Returns whether the process still runs.
    pub fn is_alive(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Memory in KiB not backed by files: the database's mapping does not count.
    pub fn anonymous_memory_kib(&self) -> u64 {
        self.status("RssAnon:")
    }

    /// Peak memory of the process in KiB, pages of files included.
    pub fn peak_memory_kib(&self) -> u64 {
        self.status("VmHWM:")
    }

    /// Processor time used so far, in clock ticks (a hundredth of a second).
    pub fn processor_ticks(&self) -> u64 {
        let text = fs::read_to_string(format!("/proc/{}/stat", self.pid())).unwrap_or_default();
        // Fields behind the name in parentheses: state is field 3, utime 14, stime 15 (proc(5)).
        let after_name = text.rsplit_once(')').map_or("", |(_, rest)| rest);
        let fields: Vec<u64> = after_name
            .split_whitespace()
            .skip(11)
            .take(2)
            .flat_map(str::parse)
            .collect();
        fields.iter().sum()
    }

    /// Number of open files, sockets included.
    pub fn open_files(&self) -> usize {
        fs::read_dir(format!("/proc/{}/fd", self.pid())).map_or(0, Iterator::count)
    }

    fn status(&self, field: &str) -> u64 {
        let text = fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap_or_default();
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix(field))
            .unwrap_or("0");
        line.split_whitespace()
            .next()
            .and_then(|word| word.parse().ok())
            .unwrap_or(0)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
        if thread::panicking() {
            let log = self.log();
            // The reason of a panic stands above its backtrace.
            if let Some(at) = log.find("panicked at") {
                let reason: Vec<&str> = log[at..].lines().take(3).collect();
                eprintln!("{}: {}", self.name, reason.join("\n  "));
            }
            let tail: Vec<&str> = log.lines().rev().take(20).collect();
            eprintln!("last lines of {}:", self.name);
            for line in tail.iter().rev() {
                eprintln!("  {line}");
            }
        }
    }
}

/// Repeats `check` until it returns a value; panics with `what` when patience ends.
///
/// Waits a few milliseconds between attempts, on a channel without messages.
pub fn until<T>(what: &str, mut check: impl FnMut() -> Option<T>) -> T {
    let (_silent, pause) = mpsc::channel::<()>();
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = check() {
            return found;
        }
        assert!(Instant::now() < deadline, "did not happen in time: {what}");
        pause.recv_timeout(Duration::from_millis(5)).ok();
    }
}
