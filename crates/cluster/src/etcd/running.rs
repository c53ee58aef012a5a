//! A running etcd, started by this process or by one before it.

use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::Child;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::{Pid, PidfdFlags, Signal};

/// A process that is watched by a descriptor, so that no signal hits a later process of its number.
pub(super) struct Running {
    pub(super) pid: Pid,
    descriptor: OwnedFd,
    /// `None` for a process that this one did not start.
    child: Option<Child>,
}

impl Running {
    /// Takes over a child.
    pub(super) fn own(mut child: Child) -> io::Result<Running> {
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let pid = pid.expect("the number of a process is positive");
        match rustix::process::pidfd_open(pid, PidfdFlags::empty()) {
            Ok(descriptor) => Ok(Running {
                pid,
                descriptor,
                child: Some(child),
            }),
            Err(error) => {
                // Nobody would watch it.
                child.kill()?;
                child.wait()?;
                Err(error.into())
            }
        }
    }

    /// Takes over another process. Whoever calls this looks again whether it is the one that is
    /// meant: its number may have gone to a new process.
    pub(super) fn adopt(pid: Pid) -> io::Result<Running> {
        Ok(Running {
            pid,
            descriptor: rustix::process::pidfd_open(pid, PidfdFlags::empty())?,
            child: None,
        })
    }

    /// Arguments of the process, its name first; empty if it has ended.
    pub(super) fn arguments(&self) -> Vec<String> {
        let path = format!("/proc/{}/cmdline", self.pid.as_raw_nonzero());
        let text = fs::read(path).unwrap_or_default();
        let text = text.strip_suffix(b"\0").unwrap_or(&text);
        let words = text.split(|byte| *byte == 0);
        words
            .map(|word| String::from_utf8_lossy(word).into_owned())
            .collect()
    }

    /// Asks the process to end, and kills it if it has not within `patience`.
    pub(super) fn end(mut self, patience: Duration) {
        // A process that has ended already needs no signal.
        rustix::process::pidfd_send_signal(&self.descriptor, Signal::TERM).ok();
        if !self.wait(patience) {
            tracing::warn!(
                target: "etcd",
                "etcd (process {}) did not end within {} s and is killed",
                self.pid.as_raw_nonzero(),
                patience.as_secs()
            );
            rustix::process::pidfd_send_signal(&self.descriptor, Signal::KILL).ok();
            self.wait(patience);
        }
        self.reap();
    }

    /// How the process ended. It has: its descriptor became readable.
    pub(super) fn reap(&mut self) -> String {
        match self.child.as_mut().map(Child::wait) {
            Some(Ok(status)) => status.to_string(),
            Some(Err(error)) => error.to_string(),
            None => "ended".to_owned(),
        }
    }

    /// Waits until the process has ended; `false` if it has not within `patience`.
    fn wait(&self, patience: Duration) -> bool {
        let deadline = Instant::now() + patience;
        let mut watched = [PollFd::new(&self.descriptor, PollFlags::IN)];
        poll(&mut watched, Some(deadline)).unwrap_or_else(|error| {
            tracing::error!(target: "etcd", "the end of etcd cannot be awaited: {error}");
            false
        })
    }
}

impl AsFd for Running {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

/// Waits until one of the descriptors is ready; `false` at the deadline. Signals do not end it.
pub(super) fn poll(watched: &mut [PollFd<'_>], deadline: Option<Instant>) -> io::Result<bool> {
    loop {
        let left = deadline.map(|deadline| {
            let left = deadline.saturating_duration_since(Instant::now());
            Timespec::try_from(left).unwrap_or(Timespec {
                tv_sec: i64::from(u32::MAX),
                tv_nsec: 0,
            })
        });
        match rustix::event::poll(watched, left.as_ref()) {
            Ok(ready) => return Ok(ready > 0),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}
