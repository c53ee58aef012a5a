//! Content synchronisation (RFC 4533): three controls and an intermediate response.

use super::sequence_of;
use crate::ber::{
    BOOLEAN, ENUMERATED, OCTET_STRING, Reader, SEQUENCE, SET, decode_boolean, put_boolean,
    put_integer, put_nested, put_octets,
};
use crate::error::{Component, DecodeError, saturated};

/// `syncRequestValue` (RFC 4533 §2.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SyncRequest<'a> {
    /// Whether the search continues with changes.
    pub mode: SyncMode,
    /// State of the client's copy, as an earlier cookie of the server.
    pub cookie: Option<&'a [u8]>,
    /// Whether the client prefers the whole content to the result `e-syncRefreshRequired`.
    pub reload_hint: bool,
}

/// Duration of a synchronisation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SyncMode {
    /// The search ends when the client's copy is up to date.
    RefreshOnly = 1,
    /// The search stays until abandoned; changes follow as they happen.
    RefreshAndPersist = 3,
}

/// `syncStateValue` (RFC 4533 §2.3), on each entry sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SyncStateValue<'a> {
    /// State of the entry compared with the client's copy.
    pub state: SyncState,
    /// `entryUUID` of the entry.
    pub entry_uuid: [u8; 16],
    /// New cookie for the client's copy.
    pub cookie: Option<&'a [u8]>,
}

/// State of an entry compared with the client's copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SyncState {
    /// Unchanged; sent without attributes.
    Present = 0,
    /// New.
    Add = 1,
    /// Changed.
    Modify = 2,
    /// Deleted; sent without attributes.
    Delete = 3,
}

/// `syncDoneValue` (RFC 4533 §2.4), with the result of a refresh.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SyncDone<'a> {
    /// New cookie for the client's copy.
    pub cookie: Option<&'a [u8]>,
    /// True: deleted entries were named. False: entries not mentioned are deleted.
    pub refresh_deletes: bool,
}

/// `syncInfoValue` (RFC 4533 §2.5), the value of an intermediate response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SyncInfo<'a> {
    /// New cookie for the client's copy.
    NewCookie(&'a [u8]),
    /// End of the phase that names deleted entries.
    RefreshDelete {
        /// New cookie for the client's copy.
        cookie: Option<&'a [u8]>,
        /// Whether the whole refresh ends.
        refresh_done: bool,
    },
    /// End of the phase that names unchanged entries.
    RefreshPresent {
        /// New cookie for the client's copy.
        cookie: Option<&'a [u8]>,
        /// Whether the whole refresh ends.
        refresh_done: bool,
    },
    /// Several entries, all unchanged or all deleted.
    IdSet {
        /// New cookie for the client's copy.
        cookie: Option<&'a [u8]>,
        /// True: they are deleted. False: they are unchanged.
        refresh_deletes: bool,
        /// The entries' `entryUUID`s.
        entry_uuids: Vec<[u8; 16]>,
    },
}

impl<'a> SyncRequest<'a> {
    /// Decodes the control's value.
    pub fn decode(value: &'a [u8]) -> Result<Self, DecodeError> {
        let mut parts = sequence_of(value)?;
        let mode = match parts.integer(ENUMERATED)? {
            1 => SyncMode::RefreshOnly,
            3 => SyncMode::RefreshAndPersist,
            value => {
                return Err(DecodeError::out_of_range(Component::SyncMode, value));
            }
        };
        let cookie = parts.optional(OCTET_STRING)?;
        let reload_hint = parts.boolean_or_false(BOOLEAN)?;
        parts.finish_extensible()?;
        Ok(SyncRequest {
            mode,
            cookie,
            reload_hint,
        })
    }

    /// Appends the control's value.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_nested(out, SEQUENCE, |out| {
            put_integer(out, ENUMERATED, self.mode as i64);
            put_cookie(out, self.cookie);
            put_if_true(out, self.reload_hint);
        });
    }
}

impl<'a> SyncStateValue<'a> {
    /// Decodes the control's value.
    pub fn decode(value: &'a [u8]) -> Result<Self, DecodeError> {
        let mut parts = sequence_of(value)?;
        let state = match parts.integer(ENUMERATED)? {
            0 => SyncState::Present,
            1 => SyncState::Add,
            2 => SyncState::Modify,
            3 => SyncState::Delete,
            value => {
                return Err(DecodeError::out_of_range(Component::SyncState, value));
            }
        };
        let entry_uuid = uuid(&mut parts)?;
        let cookie = parts.optional(OCTET_STRING)?;
        parts.finish_extensible()?;
        Ok(SyncStateValue {
            state,
            entry_uuid,
            cookie,
        })
    }

    /// Appends the control's value.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_nested(out, SEQUENCE, |out| {
            put_integer(out, ENUMERATED, self.state as i64);
            put_octets(out, OCTET_STRING, &self.entry_uuid);
            put_cookie(out, self.cookie);
        });
    }
}

impl<'a> SyncDone<'a> {
    /// Decodes the control's value.
    pub fn decode(value: &'a [u8]) -> Result<Self, DecodeError> {
        let mut parts = sequence_of(value)?;
        let cookie = parts.optional(OCTET_STRING)?;
        let refresh_deletes = parts.boolean_or_false(BOOLEAN)?;
        parts.finish_extensible()?;
        Ok(SyncDone {
            cookie,
            refresh_deletes,
        })
    }

    /// Appends the control's value.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_nested(out, SEQUENCE, |out| {
            put_cookie(out, self.cookie);
            put_if_true(out, self.refresh_deletes);
        });
    }
}

impl<'a> SyncInfo<'a> {
    /// Decodes the intermediate response's value.
    pub fn decode(value: &'a [u8]) -> Result<Self, DecodeError> {
        let mut outer = Reader::new(value);
        let (tag, content) = outer.element()?;
        outer.finish()?;
        let mut parts = outer.deeper(content)?;
        if tag == 0x80 {
            return Ok(SyncInfo::NewCookie(content));
        }
        if !matches!(tag, 0xA1..=0xA3) {
            return Err(DecodeError::UnknownChoice {
                what: Component::SyncInfo,
                tag,
            });
        }
        let cookie = parts.optional(OCTET_STRING)?;
        let flag = parts.optional(BOOLEAN)?.map(decode_boolean).transpose()?;
        let info = match tag {
            0xA1 => SyncInfo::RefreshDelete {
                cookie,
                refresh_done: flag.unwrap_or(true),
            },
            0xA2 => SyncInfo::RefreshPresent {
                cookie,
                refresh_done: flag.unwrap_or(true),
            },
            _ => {
                let mut set = parts.nested(SET)?;
                let mut entry_uuids = Vec::new();
                while !set.is_empty() {
                    entry_uuids.push(uuid(&mut set)?);
                }
                let refresh_deletes = flag.unwrap_or(false);
                SyncInfo::IdSet {
                    cookie,
                    refresh_deletes,
                    entry_uuids,
                }
            }
        };
        parts.finish_extensible()?;
        Ok(info)
    }

    /// Appends the intermediate response's value.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            SyncInfo::NewCookie(cookie) => put_octets(out, 0x80, cookie),
            SyncInfo::RefreshDelete {
                cookie,
                refresh_done,
            } => {
                put_nested(out, 0xA1, |out| put_phase(out, *cookie, *refresh_done));
            }
            SyncInfo::RefreshPresent {
                cookie,
                refresh_done,
            } => {
                put_nested(out, 0xA2, |out| put_phase(out, *cookie, *refresh_done));
            }
            SyncInfo::IdSet {
                cookie,
                refresh_deletes,
                entry_uuids,
            } => {
                put_nested(out, 0xA3, |out| {
                    put_cookie(out, *cookie);
                    put_if_true(out, *refresh_deletes);
                    put_nested(out, SET, |out| {
                        for uuid in entry_uuids {
                            put_octets(out, OCTET_STRING, uuid);
                        }
                    });
                });
            }
        }
    }
}

/// A `syncUUID`: 16 octets.
fn uuid(parts: &mut Reader<'_>) -> Result<[u8; 16], DecodeError> {
    let octets = parts.expect(OCTET_STRING)?;
    octets.try_into().map_err(|_| DecodeError::UuidLength {
        octets: saturated(octets.len()),
    })
}

fn put_cookie(out: &mut Vec<u8>, cookie: Option<&[u8]>) {
    if let Some(cookie) = cookie {
        put_octets(out, OCTET_STRING, cookie);
    }
}

fn put_if_true(out: &mut Vec<u8>, value: bool) {
    if value {
        put_boolean(out, BOOLEAN, true);
    }
}

/// Reads the end of a phase: `refreshDone` is TRUE by default.
fn put_phase(out: &mut Vec<u8>, cookie: Option<&[u8]>, refresh_done: bool) {
    put_cookie(out, cookie);
    if !refresh_done {
        put_boolean(out, BOOLEAN, false);
    }
}
