//! Assured replication control (Ping Identity): reports on how many servers a write is when it is
//! answered.
//!
//! A single server answers at once, without waiting. The level "processed by all local servers" is
//! met, because this server is all of them; levels that need another server never are.

use protocol::control::{
    AssuredReplicationRequest, AssuredReplicationResponse, LocalLevel, RemoteLevel,
};
use protocol::{OwnedControl, oid};

const ALONE: &str = "this server is alone: no other one has the change";

/// The control in the response of a successful write.
#[cold]
pub(crate) fn response(asked: &AssuredReplicationRequest) -> OwnedControl {
    // Without a level from the client, the server asks for none.
    let local = asked.local_min.unwrap_or(LocalLevel::None);
    let remote = asked.remote_min.unwrap_or(RemoteLevel::None);
    let local_satisfied = local != LocalLevel::ReceivedAnyServer;
    let remote_satisfied = remote == RemoteLevel::None;
    let response = AssuredReplicationResponse {
        local_level: Some(local),
        local_satisfied,
        local_message: (!local_satisfied).then_some(ALONE),
        remote_level: Some(remote),
        remote_satisfied,
        remote_message: (!remote_satisfied).then_some(ALONE),
        csn: None,
    };
    OwnedControl::with_value(oid::ASSURED_REPLICATION_RESPONSE, false, |out| {
        response.encode(out);
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(local: Option<LocalLevel>, remote: Option<RemoteLevel>) -> (bool, bool) {
        let asked = AssuredReplicationRequest {
            local_min: local,
            remote_min: remote,
            ..AssuredReplicationRequest::default()
        };
        let control = response(&asked);
        let value = control.value.expect("it has a value");
        let said = AssuredReplicationResponse::decode(&value).expect("ours");
        assert_eq!(said.local_message.is_none(), said.local_satisfied);
        assert_eq!(said.remote_message.is_none(), said.remote_satisfied);
        (said.local_satisfied, said.remote_satisfied)
    }

    #[test]
    fn a_server_that_is_alone_says_so() {
        assert_eq!(said(None, None), (true, true));
        let all = Some(LocalLevel::ProcessedAllServers);
        assert_eq!(said(all, Some(RemoteLevel::None)), (true, true));
        let other = Some(LocalLevel::ReceivedAnyServer);
        for remote in [
            RemoteLevel::ReceivedAnyRemoteLocation,
            RemoteLevel::ReceivedAllRemoteLocations,
            RemoteLevel::ProcessedAllRemoteServers,
        ] {
            assert_eq!(said(other, Some(remote)), (false, false));
        }
    }
}
