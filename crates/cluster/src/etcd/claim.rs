//! The process that runs etcd on a folder, found by a lock that etcd itself holds.
//!
//! Pando may be killed while its etcd goes on, which is good: the cluster keeps a voter. The next
//! Pando has to find it. Each etcd gets the locked file `lock` as its standard input, so that the
//! lock ends with etcd and not with Pando. The process that holds it is the one whose standard
//! input is that file; no number has to be written down, none can be stale.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use rustix::fs::FlockOperation;
use rustix::process::Pid;

use super::member::open_private;
use super::running::Running;

/// How long an etcd that was left running may take to end.
const PATIENCE: Duration = Duration::from_secs(10);

/// State of the lock of a folder.
#[derive(Debug)]
pub enum Claim {
    /// Nothing runs on the folder. The file, locked, is for the standard input of an etcd.
    Free(File),
    /// This process does.
    Held(Pid),
}

/// Takes the lock of a member's folder, or finds the etcd that has it.
///
/// # Errors
/// The lock cannot be opened, or a process holds it that this one cannot see.
pub fn claim(folder: &Path) -> io::Result<Claim> {
    let path = folder.join("lock");
    let file = open_private(&path)?;
    match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Claim::Free(file)),
        Err(rustix::io::Errno::WOULDBLOCK) => match holder(&file)? {
            Some(holder) => Ok(Claim::Held(holder)),
            None => Err(io::Error::other(format!(
                "{} is locked by an etcd that this process cannot see: end that etcd",
                path.display()
            ))),
        },
        Err(error) => Err(error.into()),
    }
}

/// Ends the etcd that a killed process left running on a member's folder, if there is one.
///
/// # Errors
/// The errors of [`claim`]; the process cannot be watched.
pub fn end_left(folder: &Path) -> io::Result<()> {
    if !folder.exists() {
        return Ok(());
    }
    let Claim::Held(pid) = claim(folder)? else {
        return Ok(());
    };
    let left = Running::adopt(pid)?;
    // Only now is the number sure to stay its own.
    if matches!(claim(folder)?, Claim::Held(still) if still == pid) {
        left.end(PATIENCE);
    }
    Ok(())
}

/// Finds the process whose standard input is `file`.
fn holder(file: &File) -> io::Result<Option<Pid>> {
    let wanted = file.metadata()?;
    for process in fs::read_dir("/proc")?.flatten() {
        let Some(number) = process.file_name().to_str().and_then(|it| it.parse().ok()) else {
            continue;
        };
        // Processes come and go, and other users' files are not for us.
        let Ok(input) = fs::metadata(process.path().join("fd/0")) else {
            continue;
        };
        if (input.dev(), input.ino()) == (wanted.dev(), wanted.ino()) {
            return Ok(Pid::from_raw(number));
        }
    }
    Ok(None)
}
