//! Network namespaces of this process.
//!
//! Their names hold the number of the process, so that those of a killed test are recognised and
//! removed by the next one.

use std::fs::{self, File};
use std::net::Ipv4Addr;
use std::os::fd::AsFd;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use rustix::process::{Pid, Signal, kill_process};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

const PREFIX: &str = "pando-";

/// A network namespace. Dropping it kills what runs in it, and removes it.
pub(super) struct Space {
    name: String,
}

/// Panics with advice unless this process may make namespaces and devices.
pub(super) fn require_root() {
    assert!(
        rustix::process::geteuid().is_root(),
        "expected to run as root, for network namespaces and TUN devices: use sudo"
    );
}

/// Address of the site of this number, from 0 on.
pub(super) fn address(site: usize) -> Ipv4Addr {
    let third = u8::try_from(site + 1).expect("a test has fewer than 255 sites");
    Ipv4Addr::new(10, 77, third, 1)
}

/// Number of the site with this address.
pub(super) fn site_of(address: Ipv4Addr) -> Option<usize> {
    match address.octets() {
        [10, 77, third, _] => usize::from(third).checked_sub(1),
        _ => None,
    }
}

impl Space {
    /// Makes one namespace for each site.
    pub(super) fn several(sites: &[&str]) -> Vec<Space> {
        static NETWORKS: AtomicU32 = AtomicU32::new(0);
        remove_those_of_dead_processes();
        let network = NETWORKS.fetch_add(1, Ordering::Relaxed);
        let sites = sites.iter();
        let spaces = sites.map(|site| Space::new(format!("{}{network}-{site}", prefix())));
        spaces.collect()
    }

    fn new(name: String) -> Space {
        ip(&["netns", "add", &name]);
        let space = Space { name };
        ip(&["-n", &space.name, "link", "set", "lo", "up"]);
        space
    }

    /// Adds an address that is reached from inside alone.
    pub(super) fn add_address(&self, address: &str) {
        ip(&["-n", &self.name, "addr", "add", address, "dev", "lo"]);
    }

    /// Runs `body` on a thread in the namespace.
    pub(super) fn within<T: Send>(&self, body: impl FnOnce() -> T + Send) -> T {
        let inside = || {
            self.enter();
            body()
        };
        thread::scope(|scope| {
            let thread = scope.spawn(inside);
            match thread.join() {
                Ok(answer) => answer,
                Err(panic) => std::panic::resume_unwind(panic),
            }
        })
    }

    /// Moves this thread into the namespace, for good.
    pub(super) fn enter(&self) {
        let path = Path::new("/run/netns").join(&self.name);
        let file = File::open(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network))
            .unwrap_or_else(|error| panic!("cannot enter {}: {error}", path.display()));
    }

    /// Words before a command that run it in the namespace.
    pub(super) fn prefix(&self) -> Vec<String> {
        ["ip", "netns", "exec", &self.name]
            .map(str::to_owned)
            .to_vec()
    }
}

impl Drop for Space {
    fn drop(&mut self) {
        remove(&self.name);
    }
}

/// Kills what runs in a namespace, and removes it. Whatever fails would fail a test that has ended.
fn remove(name: &str) {
    let inside = Command::new("ip").args(["netns", "pids", name]).output();
    let inside = inside.map(|it| it.stdout).unwrap_or_default();
    for line in String::from_utf8_lossy(&inside).lines() {
        if let Some(pid) = line.trim().parse().ok().and_then(Pid::from_raw) {
            kill_process(pid, Signal::KILL).ok();
        }
    }
    let removed = Command::new("ip").args(["netns", "del", name]).output();
    if let Ok(answer) = removed
        && !answer.status.success()
    {
        eprint!("{}", String::from_utf8_lossy(&answer.stderr));
    }
}

fn prefix() -> String {
    format!("{PREFIX}{}-", std::process::id())
}

fn remove_those_of_dead_processes() {
    let Ok(all) = fs::read_dir("/run/netns") else {
        return;
    };
    for space in all.flatten() {
        let name = space.file_name().to_string_lossy().into_owned();
        let owner = name
            .strip_prefix(PREFIX)
            .and_then(|it| it.split('-').next());
        let owner = owner.filter(|it| it.parse::<u32>().is_ok());
        if owner.is_some_and(|owner| !Path::new("/proc").join(owner).exists()) {
            remove(&name);
        }
    }
}

/// Runs `ip`, which must succeed.
fn ip(args: &[&str]) {
    let answer = Command::new("ip").args(args).output();
    let answer = answer.unwrap_or_else(|error| {
        panic!("expected ip in PATH (Debian: iproute2), cannot start it: {error}")
    });
    assert!(
        answer.status.success(),
        "ip {}: {}",
        args.join(" "),
        String::from_utf8_lossy(&answer.stderr).trim()
    );
}
