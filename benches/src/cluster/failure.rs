//! The longest time without an accepted change when a process of a cluster is killed.

use std::io;
use std::thread;
use std::time::{Duration, Instant};

use ::load::bench::{Report, run};

use super::fleet::Fleet;
use super::load::{Load, converge, equal};

/// The process to kill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Victim {
    /// None, for comparison.
    Nobody,
    /// The member of etcd that leads.
    Leader,
    /// A member of etcd that does not lead.
    Follower,
    /// A node, whose clients connect to the others.
    Node,
}

impl Victim {
    /// All of them, in the order of the table.
    pub const ALL: [Victim; 4] = [
        Victim::Nobody,
        Victim::Leader,
        Victim::Follower,
        Victim::Node,
    ];

    /// As written in tables.
    pub fn name(self) -> &'static str {
        match self {
            Victim::Nobody => "nobody",
            Victim::Leader => "leader of etcd",
            Victim::Follower => "other member of etcd",
            Victim::Node => "node",
        }
    }
}

/// What a kill has done.
pub struct Killed {
    /// The load generator's report.
    pub report: Report,
    /// Whether the nodes were equal afterwards, the killed one being started again.
    pub equal: bool,
}

/// Lets time pass. A thread that has waited for others may be woken at once, so that one call to
/// wait is not enough.
fn rest(time: Duration) {
    let until = Instant::now() + time;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        thread::park_timeout(left);
    }
}

/// Loads the nodes, kills the victim after a third of the time, and starts it again after the load.
pub fn kill(fleet: &mut Fleet, load: &Load, victim: Victim) -> io::Result<Killed> {
    let mut options = load.options(fleet);
    options.failover = true;
    let leader = match &fleet.etcd {
        Some(etcd) => etcd.leader()?,
        None => 0,
    };
    let third = Duration::from_secs_f64(load.seconds / 3.0);
    let report = thread::scope(|scope| {
        let running = scope.spawn(|| run(&options, &mut |_| {}));
        rest(third);
        match victim {
            Victim::Nobody => {}
            Victim::Leader => fleet.log[leader].kill()?,
            Victim::Follower => {
                let follower = (leader + 1) % fleet.log.len();
                fleet.log[follower].kill()?;
            }
            Victim::Node => fleet.nodes[1].kill()?,
        }
        let report = running.join();
        let report = report.map_err(|_| io::Error::other("the load generator panicked"))?;
        report.map_err(io::Error::other)
    })?;
    fleet.start()?;
    let converged = equal(fleet, &converge(load.within))?;
    Ok(Killed {
        report,
        equal: converged.equal,
    })
}
