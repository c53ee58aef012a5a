//! Other nodes of a cluster as witnesses of a write, for assured replication (Ping Identity),
//! which has to report the truth: they are asked for what they have executed.
//!
//! A node alone answers at once: it is all servers of its location. A node of a cluster holds the
//! answer until other nodes have said that they have executed the write, or the time is up. All
//! nodes of a cluster count as one location, so levels of other locations are never met.

use protocol::control::{
    AssuredReplicationRequest, AssuredReplicationResponse, LocalLevel, RemoteLevel,
};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// Time for which an answer is held if the client names none.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum time for which an answer is held.
const TIMEOUT_MAX: Duration = Duration::from_secs(60);

const ALONE: &str = "this server is alone: no other one has the change";
const ONE_LOCATION: &str = "all servers of this cluster count as one location: there is no other";

/// Asks the other nodes of a cluster how far they are.
pub trait Witnesses: Send + Sync {
    /// Begins to ask. Must not block.
    fn ask(&self, question: WitnessQuestion);
}

/// A question whether other nodes have executed a write.
pub struct WitnessQuestion {
    /// Position of the write.
    pub position: u64,
    /// Whether all other nodes are to have executed it, not any one.
    pub all: bool,
    /// Time of the answer at the latest, whatever the nodes have executed by then.
    pub until: Instant,
    /// Receives the answer as soon as as many nodes as are wanted have executed the write. Called
    /// once.
    pub then: Box<dyn FnOnce(Testimony) + Send>,
}

/// What other nodes have said about a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Testimony {
    /// Number of other nodes that have said that they have executed the write.
    pub executed: usize,
    /// Number of all other nodes of the cluster; `None` if the server stops.
    pub others: Option<usize>,
}

/// The witnesses of a directory; empty on a node alone.
pub type OwnWitnesses = Arc<OnceLock<Arc<dyn Witnesses>>>;

/// Level that a write is to reach at the server's location. Without one from the client, the server
/// asks for none.
pub fn level(asked: &AssuredReplicationRequest) -> LocalLevel {
    asked.local_min.unwrap_or(LocalLevel::None)
}

/// Time for which the answer may be held.
pub fn patience(asked: &AssuredReplicationRequest) -> Duration {
    if asked.at_once {
        return Duration::ZERO;
    }
    let given = asked.timeout_ms.filter(|it| *it > 0);
    let given = given.map(|it| Duration::from_millis(u64::from(it)));
    given.unwrap_or(TIMEOUT).min(TIMEOUT_MAX)
}

/// The report on a successful write, in the response control. `testimony` is what other nodes have
/// said; `None` on a node alone.
pub fn report(asked: &AssuredReplicationRequest, testimony: Option<Testimony>, out: &mut Vec<u8>) {
    let local = level(asked);
    let remote = asked.remote_min.unwrap_or(RemoteLevel::None);
    let local_message = missing(asked, testimony);
    let remote_satisfied = remote == RemoteLevel::None;
    let elsewhere = match testimony {
        None => ALONE,
        Some(_) => ONE_LOCATION,
    };
    let response = AssuredReplicationResponse {
        local_level: Some(local),
        local_satisfied: local_message.is_none(),
        local_message: local_message.as_deref(),
        remote_level: Some(remote),
        remote_satisfied,
        remote_message: (!remote_satisfied).then_some(elsewhere),
        csn: None,
    };
    response.encode(out);
}

/// Reason why the level at this location is not known to be reached; `None` if it is.
fn missing(asked: &AssuredReplicationRequest, testimony: Option<Testimony>) -> Option<String> {
    let level = level(asked);
    let Some(Testimony { executed, others }) = testimony else {
        return (level == LocalLevel::ReceivedAnyServer).then(|| ALONE.to_owned());
    };
    let is_reached = match level {
        LocalLevel::None => true,
        LocalLevel::ReceivedAnyServer => executed > 0,
        LocalLevel::ProcessedAllServers => others.is_some_and(|it| executed >= it),
    };
    if is_reached {
        return None;
    }
    Some(match others {
        None => "this server stops, and does not wait for the others".to_owned(),
        Some(0) => ALONE.to_owned(),
        Some(_) if asked.at_once => {
            "the client wants the answer at once, without waiting for other servers".to_owned()
        }
        Some(others) => {
            let waited_ms = patience(asked).as_millis();
            format!(
                "{executed} of {others} other servers have said within {waited_ms} ms that they \
                 have the change; the others will get it later"
            )
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(
        local: Option<LocalLevel>,
        remote: Option<RemoteLevel>,
        testimony: Option<Testimony>,
    ) -> (bool, bool) {
        let asked = AssuredReplicationRequest {
            local_min: local,
            remote_min: remote,
            ..AssuredReplicationRequest::default()
        };
        let mut value = Vec::new();
        report(&asked, testimony, &mut value);
        let said = AssuredReplicationResponse::decode(&value).expect("ours");
        assert_eq!(said.local_message.is_none(), said.local_satisfied);
        assert_eq!(said.remote_message.is_none(), said.remote_satisfied);
        (said.local_satisfied, said.remote_satisfied)
    }

    #[test]
    fn a_server_that_is_alone_says_so() {
        assert_eq!(said(None, None, None), (true, true));
        let all = Some(LocalLevel::ProcessedAllServers);
        assert_eq!(said(all, Some(RemoteLevel::None), None), (true, true));
        let other = Some(LocalLevel::ReceivedAnyServer);
        for remote in [
            RemoteLevel::ReceivedAnyRemoteLocation,
            RemoteLevel::ReceivedAllRemoteLocations,
            RemoteLevel::ProcessedAllRemoteServers,
        ] {
            assert_eq!(said(other, Some(remote), None), (false, false));
        }
    }

    #[test]
    fn a_cluster_counts_those_that_have_said_so() {
        let of = |executed, others| {
            let testimony = Some(Testimony { executed, others });
            let levels = [
                LocalLevel::None,
                LocalLevel::ReceivedAnyServer,
                LocalLevel::ProcessedAllServers,
            ];
            levels.map(|it| said(Some(it), None, testimony).0)
        };
        assert_eq!(of(0, Some(2)), [true, false, false]);
        assert_eq!(of(1, Some(2)), [true, true, false]);
        assert_eq!(of(2, Some(2)), [true, true, true]);
        assert_eq!(of(0, Some(0)), [true, false, true], "the only node");
        assert_eq!(of(0, None), [true, false, false], "nobody was asked");
        let elsewhere = Some(RemoteLevel::ReceivedAnyRemoteLocation);
        let all = Testimony {
            executed: 2,
            others: Some(2),
        };
        assert_eq!(said(None, elsewhere, Some(all)), (true, false));
    }

    #[test]
    fn answers_are_held_for_a_bounded_time() {
        let held = |at_once, timeout_ms| {
            patience(&AssuredReplicationRequest {
                at_once,
                timeout_ms,
                ..AssuredReplicationRequest::default()
            })
        };
        assert_eq!(held(false, None), TIMEOUT);
        assert_eq!(held(false, Some(250)), Duration::from_millis(250));
        assert_eq!(held(false, Some(u32::MAX)), TIMEOUT_MAX);
        assert_eq!(held(true, Some(250)), Duration::ZERO);
    }
}
