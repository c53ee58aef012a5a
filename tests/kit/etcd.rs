//! The etcd that a node of a cluster runs as its child, found and ended by process id.
//!
//! It outlives a killed node, so that whoever kills the node has to end it. Its standard input is
//! the file `etcd/lock` in the node's folder, by which it is found.

use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// Path of the program etcd: the one of `PANDO_ETCD`, else what `make etcd` has made.
pub fn program() -> PathBuf {
    let made = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/etcd/etcd");
    std::env::var_os("PANDO_ETCD").map_or_else(made, PathBuf::from)
}

/// The process of the etcd that runs for the node in a folder; `None` if none does.
pub fn process(node: &Path) -> Option<Pid> {
    let lock = fs::metadata(node.join("etcd").join("lock")).ok()?;
    let is_lock = |folder: &Path| {
        let input = fs::metadata(folder.join("fd").join("0"));
        input.is_ok_and(|it| (it.dev(), it.ino()) == (lock.dev(), lock.ino()))
    };
    let processes = fs::read_dir("/proc").ok()?.flatten();
    let mut found = processes.filter(|it| is_lock(&it.path()));
    let number = found.next()?.file_name().to_str()?.parse().ok()?;
    Pid::from_raw(number)
}

/// Sends a signal to the etcd of the node in a folder, if one runs.
pub fn signal(node: &Path, signal: Signal) {
    if let Some(descriptor) = open(node) {
        pidfd_send_signal(&descriptor, signal).ok();
    }
}

/// Whether the etcd of the node in a folder leads, by what it logged last about its role.
pub fn leads(node: &Path) -> bool {
    let log = fs::read_to_string(node.join("etcd").join("etcd.log")).unwrap_or_default();
    let mut roles = log.lines().rev().filter(|it| it.contains(" at term "));
    let role = roles.find_map(|it| it.split_once(" became "));
    role.is_some_and(|(_, role)| role.starts_with("leader "))
}

fn open(node: &Path) -> Option<OwnedFd> {
    let pid = process(node)?;
    let descriptor = pidfd_open(pid, PidfdFlags::empty()).ok()?;
    // Behind the descriptor is the process that has this number now: it must still be the one.
    (process(node) == Some(pid)).then_some(descriptor)
}

/// Kills the etcd of the node in a folder, if one runs, and waits until it has ended.
pub fn kill(node: &Path) {
    let Some(descriptor) = open(node) else { return };
    pidfd_send_signal(&descriptor, Signal::KILL).ok();
    poll(&mut [PollFd::new(&descriptor, PollFlags::IN)], None).ok();
}
