//! Assured replication control (Ping Identity): the number of servers on which a write must be
//! before it is answered, and on which it was.
//!
//! The encoding is that of the UnboundID LDAP SDK, whose comments swap the numbers of
//! `timeoutMillis` and `sendResponseImmediately`.

use super::sequence_of;
use crate::DecodeError;
use crate::ber::{Reader, SEQUENCE, put_boolean, put_integer, put_nested, put_octets};
use crate::error::Component;

const LOCAL_MIN: u8 = 0x80;
const LOCAL_MAX: u8 = 0x81;
const REMOTE_MIN: u8 = 0x82;
const REMOTE_MAX: u8 = 0x83;
const AT_ONCE: u8 = 0x84;
const TIMEOUT: u8 = 0x85;

const LOCAL_LEVEL: u8 = 0x80;
const LOCAL_SATISFIED: u8 = 0x81;
const LOCAL_MESSAGE: u8 = 0x82;
const REMOTE_LEVEL: u8 = 0x83;
const REMOTE_SATISFIED: u8 = 0x84;
const REMOTE_MESSAGE: u8 = 0x85;
const CSN: u8 = 0x86;
const SERVER_RESULTS: u8 = 0xA7;
/// Identifier octet of the result code in the result of one server.
const RESULT_CODE: u8 = 0x80;

/// Servers of the location on which a write must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LocalLevel {
    /// No server but the one that executes the write.
    None = 0,
    /// Received by another server.
    ReceivedAnyServer = 1,
    /// Processed by all reachable servers.
    ProcessedAllServers = 2,
}

/// Other locations in which a write must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RemoteLevel {
    /// No location but that of the server.
    None = 0,
    /// Received in one of them.
    ReceivedAnyRemoteLocation = 1,
    /// Received in each.
    ReceivedAllRemoteLocations = 2,
    /// Processed by all servers in them.
    ProcessedAllRemoteServers = 3,
}

/// `AssuredReplicationRequest`: levels that the client requests. The server chooses missing ones.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AssuredReplicationRequest {
    /// Minimum level in the location of the server.
    pub local_min: Option<LocalLevel>,
    /// Maximum level in the location of the server.
    pub local_max: Option<LocalLevel>,
    /// Minimum level in other locations.
    pub remote_min: Option<RemoteLevel>,
    /// Maximum level in other locations.
    pub remote_max: Option<RemoteLevel>,
    /// Whether the response is sent without waiting.
    pub at_once: bool,
    /// Maximum time to wait, in milliseconds.
    pub timeout_ms: Option<u32>,
}

/// `AssuredReplicationResponse`: levels requested and reached.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AssuredReplicationResponse<'a> {
    /// Level requested in the location of the server.
    pub local_level: Option<LocalLevel>,
    /// Whether that level is known to be reached.
    pub local_satisfied: bool,
    /// Explanation of `local_satisfied`.
    pub local_message: Option<&'a str>,
    /// Level requested in other locations.
    pub remote_level: Option<RemoteLevel>,
    /// Whether that level is known to be reached.
    pub remote_satisfied: bool,
    /// Explanation of `remote_satisfied`.
    pub remote_message: Option<&'a str>,
    /// Change sequence number of the write.
    pub csn: Option<&'a str>,
}

impl LocalLevel {
    fn of(number: i64) -> Result<Self, DecodeError> {
        Ok(match number {
            0 => LocalLevel::None,
            1 => LocalLevel::ReceivedAnyServer,
            2 => LocalLevel::ProcessedAllServers,
            _ => return Err(unknown(number)),
        })
    }
}

impl RemoteLevel {
    fn of(number: i64) -> Result<Self, DecodeError> {
        Ok(match number {
            0 => RemoteLevel::None,
            1 => RemoteLevel::ReceivedAnyRemoteLocation,
            2 => RemoteLevel::ReceivedAllRemoteLocations,
            3 => RemoteLevel::ProcessedAllRemoteServers,
            _ => return Err(unknown(number)),
        })
    }
}

#[cold]
fn unknown(number: i64) -> DecodeError {
    DecodeError::out_of_range(Component::ReplicationLevel, number)
}

/// Reads an ENUMERATED with this tag; `None` if the next element has another.
fn level<T>(
    parts: &mut Reader<'_>,
    tag: u8,
    of: fn(i64) -> Result<T, DecodeError>,
) -> Result<Option<T>, DecodeError> {
    match parts.peek_tag() {
        Some(next) if next == tag => parts.integer(tag).and_then(of).map(Some),
        _ => Ok(None),
    }
}

impl AssuredReplicationRequest {
    /// Decodes the control's value.
    pub fn decode(value: &[u8]) -> Result<Self, DecodeError> {
        let mut parts = sequence_of(value)?;
        let mut it = AssuredReplicationRequest {
            local_min: level(&mut parts, LOCAL_MIN, LocalLevel::of)?,
            local_max: level(&mut parts, LOCAL_MAX, LocalLevel::of)?,
            remote_min: level(&mut parts, REMOTE_MIN, RemoteLevel::of)?,
            remote_max: level(&mut parts, REMOTE_MAX, RemoteLevel::of)?,
            at_once: parts.boolean_or_false(AT_ONCE)?,
            timeout_ms: None,
        };
        if parts.peek_tag() == Some(TIMEOUT) {
            it.timeout_ms = Some(parts.max_int(TIMEOUT, Component::ReplicationTimeout)?);
        }
        parts.finish_extensible()?;
        Ok(it)
    }

    /// Appends the control's value.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_nested(out, SEQUENCE, |out| {
            let mut put = |tag, level: Option<i64>| {
                if let Some(level) = level {
                    put_integer(out, tag, level);
                }
            };
            put(LOCAL_MIN, self.local_min.map(|it| it as i64));
            put(LOCAL_MAX, self.local_max.map(|it| it as i64));
            put(REMOTE_MIN, self.remote_min.map(|it| it as i64));
            put(REMOTE_MAX, self.remote_max.map(|it| it as i64));
            if self.at_once {
                put_boolean(out, AT_ONCE, true);
            }
            if let Some(timeout) = self.timeout_ms {
                put_integer(out, TIMEOUT, i64::from(timeout));
            }
        });
    }
}

impl<'a> AssuredReplicationResponse<'a> {
    /// Decodes the control's value. Results of single servers are checked and dropped.
    pub fn decode(value: &'a [u8]) -> Result<Self, DecodeError> {
        let mut parts = sequence_of(value)?;
        let it = AssuredReplicationResponse {
            local_level: level(&mut parts, LOCAL_LEVEL, LocalLevel::of)?,
            local_satisfied: parts.boolean(LOCAL_SATISFIED)?,
            local_message: parts.optional_text(LOCAL_MESSAGE)?,
            remote_level: level(&mut parts, REMOTE_LEVEL, RemoteLevel::of)?,
            remote_satisfied: parts.boolean(REMOTE_SATISFIED)?,
            remote_message: parts.optional_text(REMOTE_MESSAGE)?,
            csn: parts.optional_text(CSN)?,
        };
        if parts.peek_tag() == Some(SERVER_RESULTS) {
            let mut results = parts.nested(SERVER_RESULTS)?;
            while !results.is_empty() {
                let mut result = results.nested(SEQUENCE)?;
                result.integer(RESULT_CODE)?;
                result.finish_extensible()?;
            }
        }
        parts.finish_extensible()?;
        Ok(it)
    }

    /// Appends the control's value.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let text = |out: &mut Vec<u8>, tag, text: Option<&str>| {
            if let Some(text) = text {
                put_octets(out, tag, text.as_bytes());
            }
        };
        put_nested(out, SEQUENCE, |out| {
            if let Some(level) = self.local_level {
                put_integer(out, LOCAL_LEVEL, level as i64);
            }
            put_boolean(out, LOCAL_SATISFIED, self.local_satisfied);
            text(out, LOCAL_MESSAGE, self.local_message);
            if let Some(level) = self.remote_level {
                put_integer(out, REMOTE_LEVEL, level as i64);
            }
            put_boolean(out, REMOTE_SATISFIED, self.remote_satisfied);
            text(out, REMOTE_MESSAGE, self.remote_message);
            text(out, CSN, self.csn);
        });
    }
}
