//! Tests of the controls for the position of a write and for the number of servers that have it.

use super::*;

#[test]
fn position() {
    let at = Position {
        log: *b"0123456789abcdef",
        position: 300,
    };
    let bytes = b"\x30\x16\x04\x100123456789abcdef\x02\x02\x01\x2c";
    check!(Position, bytes, at);
    let negative = b"\x30\x15\x04\x100123456789abcdef\x02\x01\xff";
    let error = DecodeError::out_of_range(Component::Position, -1);
    assert_eq!(Position::decode(negative), Err(error));
    let short = b"\x30\x08\x04\x030123\x02\x01\x01";
    assert!(Position::decode(short).is_err());
    for junk in [&b""[..], b"\x30\x00", b"\x30\x02\x04\x00", &bytes[..20]] {
        assert!(Position::decode(junk).is_err(), "{}", junk.escape_ascii());
    }
}

#[test]
fn assured_replication() {
    let nothing = AssuredReplicationRequest::default();
    check!(AssuredReplicationRequest, b"\x30\x00", nothing);
    let all = AssuredReplicationRequest {
        local_min: Some(LocalLevel::ReceivedAnyServer),
        local_max: Some(LocalLevel::ProcessedAllServers),
        remote_min: Some(RemoteLevel::None),
        remote_max: Some(RemoteLevel::ProcessedAllRemoteServers),
        at_once: true,
        timeout_ms: Some(5_000),
    };
    let bytes =
        b"\x30\x13\x80\x01\x01\x81\x01\x02\x82\x01\x00\x83\x01\x03\x84\x01\xff\x85\x02\x13\x88";
    check!(AssuredReplicationRequest, bytes, all);
    let unknown = DecodeError::out_of_range(Component::ReplicationLevel, 3);
    assert_eq!(
        AssuredReplicationRequest::decode(b"\x30\x03\x80\x01\x03"),
        Err(unknown)
    );
    for junk in [&b""[..], b"\x04\x00", b"\x30\x03\x83\x01\x04"] {
        assert!(
            AssuredReplicationRequest::decode(junk).is_err(),
            "{}",
            junk.escape_ascii()
        );
    }
    let response = AssuredReplicationResponse {
        local_level: Some(LocalLevel::ProcessedAllServers),
        local_satisfied: true,
        remote_message: Some("no"),
        ..AssuredReplicationResponse::default()
    };
    let bytes = b"\x30\x0d\x80\x01\x02\x81\x01\xff\x84\x01\x00\x85\x02no";
    check!(AssuredReplicationResponse, bytes, response);
    let results = b"\x30\x0f\x81\x01\x00\x84\x01\x00\xa7\x07\x30\x05\x80\x01\x02\x81\x00";
    let decoded = AssuredReplicationResponse::decode(results);
    assert_eq!(decoded, Ok(AssuredReplicationResponse::default()));
    assert!(AssuredReplicationResponse::decode(b"\x30\x03\x81\x01\x00").is_err());
}
