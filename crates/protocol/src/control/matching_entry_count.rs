//! Matching entry count control (Ping Identity): the number of matching entries instead of the
//! entries.

use super::sequence_of;
use crate::ber::{
    OCTET_STRING, Reader, SEQUENCE, put_boolean, put_integer, put_nested, put_octets,
};
use crate::error::{Component, DecodeError};
use crate::filter::{FILTER_DEPTH_MAX, Filter};

/// `MatchingEntryCountRequest`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MatchingEntryCountRequest {
    /// Maximum number of candidates to look at for an exact count.
    pub examined_max: u32,
    /// Whether candidates are looked at even if an index gives the exact number.
    pub always_examine: bool,
    /// Whether all entries are looked at if no index helps.
    pub process_unindexed: bool,
    /// Whether the response explains the count in words.
    pub debug_information: bool,
    /// Whether indexes with very many entries are skipped.
    pub skip_exploded_indexes: bool,
    /// Number of candidates from which on no further index is used.
    pub fast_threshold: Option<i64>,
    /// Number of candidates from which on no further index is used that is slow to read.
    pub slow_threshold: Option<i64>,
    /// Whether the response has further fields.
    pub extended_response: bool,
}

/// Number of matching entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryCount {
    /// Exact number, from looking at each candidate.
    Examined(u32),
    /// Exact number by indexes; the client may not be allowed to see all of them.
    Unexamined(u32),
    /// Upper bound.
    UpperBound(u32),
    /// Unknown.
    Unknown,
}

/// `MatchingEntryCountResponse`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MatchingEntryCountResponse<'a> {
    /// The number.
    pub count: EntryCount,
    /// Explanation of the count, in words.
    pub debug_information: Vec<&'a str>,
    /// Whether an index was used.
    pub indexed: bool,
    /// Whether the use of indexes was stopped early.
    pub short_circuited: Option<bool>,
    /// Whether indexes answer the whole filter.
    pub fully_indexed: Option<bool>,
    /// Whether every candidate is in scope.
    pub in_scope: Option<bool>,
    /// The part of the filter that indexes do not answer.
    pub remaining: Option<Filter<'a>>,
}

impl MatchingEntryCountRequest {
    /// Decodes the request control's value.
    pub fn decode(value: &[u8]) -> Result<Self, DecodeError> {
        let mut parts = sequence_of(value)?;
        let mut it = MatchingEntryCountRequest::default();
        if parts.peek_tag() == Some(0x80) {
            it.examined_max = parts.max_int(0x80, Component::MaxCandidatesToExamine)?;
        }
        it.always_examine = parts.boolean_or_false(0x81)?;
        it.process_unindexed = parts.boolean_or_false(0x82)?;
        it.debug_information = parts.boolean_or_false(0x83)?;
        it.skip_exploded_indexes = parts.boolean_or_false(0x84)?;
        it.fast_threshold = optional_integer(&mut parts, 0x85)?;
        it.slow_threshold = optional_integer(&mut parts, 0x86)?;
        it.extended_response = parts.boolean_or_false(0x87)?;
        parts.finish_extensible()?;
        Ok(it)
    }

    /// Appends the request control's value.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_nested(out, SEQUENCE, |out| {
            if self.examined_max > 0 {
                put_integer(out, 0x80, i64::from(self.examined_max));
            }
            put_flag(out, 0x81, self.always_examine);
            put_flag(out, 0x82, self.process_unindexed);
            put_flag(out, 0x83, self.debug_information);
            put_flag(out, 0x84, self.skip_exploded_indexes);
            for (tag, threshold) in [(0x85, self.fast_threshold), (0x86, self.slow_threshold)] {
                if let Some(threshold) = threshold {
                    put_integer(out, tag, threshold);
                }
            }
            put_flag(out, 0x87, self.extended_response);
        });
    }
}

fn optional_integer(parts: &mut Reader<'_>, tag: u8) -> Result<Option<i64>, DecodeError> {
    if parts.peek_tag() == Some(tag) {
        parts.integer(tag).map(Some)
    } else {
        Ok(None)
    }
}

fn put_flag(out: &mut Vec<u8>, tag: u8, flag: bool) {
    if flag {
        put_boolean(out, tag, true);
    }
}

fn optional_boolean(parts: &mut Reader<'_>, tag: u8) -> Result<Option<bool>, DecodeError> {
    if parts.peek_tag() == Some(tag) {
        parts.boolean(tag).map(Some)
    } else {
        Ok(None)
    }
}

/// The identifier octets of `debugInfo [0]` and `remainingFilter [5]`.
const DEBUG_INFORMATION: u8 = 0xA0;
const REMAINING: u8 = 0xA5;

impl<'a> MatchingEntryCountResponse<'a> {
    /// Decodes the response control's value.
    pub fn decode(value: &'a [u8]) -> Result<Self, DecodeError> {
        let mut parts = sequence_of(value)?;
        let count = match parts.peek_tag() {
            Some(0x80) => EntryCount::Examined(parts.max_int(0x80, Component::EntryCount)?),
            Some(0x81) => EntryCount::Unexamined(parts.max_int(0x81, Component::EntryCount)?),
            Some(0x82) => EntryCount::UpperBound(parts.max_int(0x82, Component::EntryCount)?),
            Some(0x83) => {
                if !parts.expect(0x83)?.is_empty() {
                    return Err(DecodeError::NotEmpty);
                }
                EntryCount::Unknown
            }
            Some(tag) => {
                return Err(DecodeError::UnknownChoice {
                    what: Component::EntryCount,
                    tag,
                });
            }
            None => return Err(DecodeError::MissingElement { expected: 0x80 }),
        };
        let mut debug_information = Vec::new();
        if parts.peek_tag() == Some(DEBUG_INFORMATION) {
            let mut lines = parts.nested(DEBUG_INFORMATION)?;
            while !lines.is_empty() {
                debug_information.push(lines.text(OCTET_STRING)?);
            }
        }
        let indexed = optional_boolean(&mut parts, 0x81)?.unwrap_or(true);
        let short_circuited = optional_boolean(&mut parts, 0x82)?;
        let fully_indexed = optional_boolean(&mut parts, 0x83)?;
        let in_scope = optional_boolean(&mut parts, 0x84)?;
        let mut remaining = None;
        if parts.peek_tag() == Some(REMAINING) {
            let mut filter = parts.nested(REMAINING)?;
            remaining = Some(Filter::decode(&mut filter, FILTER_DEPTH_MAX)?);
            filter.finish()?;
        }
        parts.finish_extensible()?;
        Ok(MatchingEntryCountResponse {
            count,
            debug_information,
            indexed,
            short_circuited,
            fully_indexed,
            in_scope,
            remaining,
        })
    }

    /// Appends the response control's value.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_nested(out, SEQUENCE, |out| {
            match self.count {
                EntryCount::Examined(count) => put_integer(out, 0x80, i64::from(count)),
                EntryCount::Unexamined(count) => put_integer(out, 0x81, i64::from(count)),
                EntryCount::UpperBound(count) => put_integer(out, 0x82, i64::from(count)),
                EntryCount::Unknown => put_octets(out, 0x83, &[]),
            }
            if !self.debug_information.is_empty() {
                put_nested(out, DEBUG_INFORMATION, |out| {
                    for line in &self.debug_information {
                        put_octets(out, OCTET_STRING, line.as_bytes());
                    }
                });
            }
            if !self.indexed {
                put_boolean(out, 0x81, false);
            }
            let flags = [
                (0x82, self.short_circuited),
                (0x83, self.fully_indexed),
                (0x84, self.in_scope),
            ];
            for (tag, flag) in flags {
                if let Some(flag) = flag {
                    put_boolean(out, tag, flag);
                }
            }
            if let Some(filter) = &self.remaining {
                put_nested(out, REMAINING, |out| filter.encode(out));
            }
        });
    }
}
