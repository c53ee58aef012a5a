//! Waiting for the state of a cluster that `pando cluster status` tells.

use std::io;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::pando::Plan;

/// Time that a cluster has until its nodes run as many members of etcd as they should: etcd takes
/// one change in five seconds.
const VOTERS_TIME_MAX: Duration = Duration::from_secs(300);

/// Waits until the nodes run so many voting members of etcd, all of which answer, and want no
/// others.
///
/// # Errors
/// They do not within some minutes.
pub fn await_voters(plan: &Plan<'_>, count: usize) -> io::Result<()> {
    let begin = Instant::now();
    loop {
        let status = look(plan)?;
        let quorum = &status["quorum"];
        let settled = status["voters_wait_for"].is_null()
            && quorum["voters"] == count
            && quorum["answering"] == count;
        if settled {
            return Ok(());
        }
        if begin.elapsed() > VOTERS_TIME_MAX {
            return Err(io::Error::other(format!(
                "expected {count} voters, got {quorum}"
            )));
        }
        thread::park_timeout(Duration::from_millis(500));
    }
}

fn look(plan: &Plan<'_>) -> io::Result<Value> {
    let mut command = plan.command("status", 0);
    // Its exit status tells about differences, which are there after a load.
    let output = command.args(["--format", "json"]).output()?;
    serde_json::from_slice(&output.stdout).map_err(|error| {
        let said = String::from_utf8_lossy(&output.stderr);
        io::Error::other(format!("{command:?}: {error}: {said}"))
    })
}
