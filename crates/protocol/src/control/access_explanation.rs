//! Access explanation control (Pando's own): why the server's access rules give somebody a right,
//! or keep it.
//!
//! The request control stands at a search; the search's base is the entry that is asked about,
//! there or not. The result has the response control, and no entries come:
//!
//! ```text
//! AccessQuestion ::= SEQUENCE {
//!     subject  LDAPString,                      -- authzId (RFC 4513 §5.2.1.8) who would act
//!     right    LDAPString,                      -- word of the language of access rules
//!     object   LDAPString,                      -- entry, children, an attribute type, a use
//!     value    [0] OCTET STRING OPTIONAL,       -- of the attribute; all values without it
//!     real     [1] LDAPString OPTIONAL,         -- authzId that authenticated, if another
//!     address  [2] LDAPString OPTIONAL,         -- of the client, or "local"; else unknown
//!     ways     [3] SEQUENCE OF LDAPString OPTIONAL,  -- else unknown
//!     minute   [4] INTEGER (0 .. 10079) OPTIONAL }   -- of the week, UTC; else the present one
//!
//! AccessExplanation ::= SEQUENCE {
//!     allowed  BOOLEAN,
//!     rule     LDAPString,                      -- that decided; empty: none is about it
//!     clause   LDAPString,                      -- that decided; empty: none matched
//!     reasons  SEQUENCE OF SEQUENCE {           -- in the order in which they were asked
//!         rule     LDAPString,
//!         clause   LDAPString,                  -- empty: the reason is about the rule
//!         why      LDAPString },
//!     changes  SEQUENCE OF LDAPString }         -- smallest ones that turn the decision
//! ```

use crate::ber::{
    BOOLEAN, OCTET_STRING, Reader, SEQUENCE, decode_text, put_boolean, put_integer, put_nested,
    put_octets,
};
use crate::error::{Component, DecodeError};

use super::sequence_of;

const VALUE: u8 = 0x80;
const REAL: u8 = 0x81;
const ADDRESS: u8 = 0x82;
const WAYS: u8 = 0xA3;
const MINUTE: u8 = 0x84;

/// Ways in one question at most.
const WAYS_MAX: usize = 32;

/// A question about access.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AccessQuestion<'a> {
    /// The identity that would act, as an authzId; empty for anonymous.
    pub subject: &'a str,
    /// The word for the right.
    pub right: &'a str,
    /// The word for the thing.
    pub object: &'a str,
    /// The value of the attribute; `None` for all values, or where there is none.
    pub value: Option<&'a [u8]>,
    /// The identity that authenticated, as an authzId; `None` for the one that would act.
    pub real: Option<&'a str>,
    /// The address of the client, or `local`; `None` if unknown.
    pub address: Option<&'a str>,
    /// Words for transport and ways of authentication; `None` if unknown.
    pub ways: Option<Vec<&'a str>>,
    /// The minute of the week in UTC, from Monday; `None` for the present one.
    pub minute: Option<u32>,
}

/// The explanation of a decision.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AccessExplanation<'a> {
    /// Whether the right is given.
    pub allowed: bool,
    /// Name of the rule that decided; empty if none is about the question.
    pub rule: &'a str,
    /// The clause that decided, as text; empty if none matched.
    pub clause: &'a str,
    /// Contributions of rules and clauses.
    pub reasons: Vec<AccessReason<'a>>,
    /// Changes of the subject or of the rules that turn the decision.
    pub changes: Vec<&'a str>,
}

/// Contribution of one rule or clause.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AccessReason<'a> {
    /// Name of the rule.
    pub rule: &'a str,
    /// The clause as text; empty if the reason is about the rule.
    pub clause: &'a str,
    /// The reason, in words.
    pub why: &'a str,
}

impl<'a> AccessQuestion<'a> {
    /// Decodes the request control's value.
    pub fn decode(value: &'a [u8]) -> Result<Self, DecodeError> {
        let mut parts = sequence_of(value)?;
        let mut it = AccessQuestion {
            subject: parts.text(OCTET_STRING)?,
            right: parts.text(OCTET_STRING)?,
            object: parts.text(OCTET_STRING)?,
            value: parts.optional(VALUE)?,
            ..AccessQuestion::default()
        };
        it.real = parts.optional(REAL)?.map(decode_text).transpose()?;
        it.address = parts.optional(ADDRESS)?.map(decode_text).transpose()?;
        if parts.peek_tag() == Some(WAYS) {
            let mut words = parts.nested(WAYS)?;
            let mut ways = Vec::new();
            while !words.is_empty() && ways.len() < WAYS_MAX {
                ways.push(words.text(OCTET_STRING)?);
            }
            words.finish()?;
            it.ways = Some(ways);
        }
        if parts.peek_tag() == Some(MINUTE) {
            it.minute = Some(parts.max_int(MINUTE, Component::MinuteOfWeek)?);
        }
        parts.finish_extensible()?;
        Ok(it)
    }

    /// Appends the request control's value.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_nested(out, SEQUENCE, |out| {
            for text in [self.subject, self.right, self.object] {
                put_octets(out, OCTET_STRING, text.as_bytes());
            }
            let texts = [
                (VALUE, self.value),
                (REAL, self.real.map(str::as_bytes)),
                (ADDRESS, self.address.map(str::as_bytes)),
            ];
            for (tag, text) in texts {
                if let Some(text) = text {
                    put_octets(out, tag, text);
                }
            }
            if let Some(ways) = &self.ways {
                put_nested(out, WAYS, |out| {
                    for way in ways {
                        put_octets(out, OCTET_STRING, way.as_bytes());
                    }
                });
            }
            if let Some(minute) = self.minute {
                put_integer(out, MINUTE, i64::from(minute));
            }
        });
    }
}

impl<'a> AccessExplanation<'a> {
    /// Decodes the response control's value.
    pub fn decode(value: &'a [u8]) -> Result<Self, DecodeError> {
        let mut parts = sequence_of(value)?;
        let mut it = AccessExplanation {
            allowed: parts.boolean(BOOLEAN)?,
            rule: parts.text(OCTET_STRING)?,
            clause: parts.text(OCTET_STRING)?,
            ..AccessExplanation::default()
        };
        let mut reasons = parts.nested(SEQUENCE)?;
        while !reasons.is_empty() {
            it.reasons.push(AccessReason::decode(&mut reasons)?);
        }
        let mut changes = parts.nested(SEQUENCE)?;
        while !changes.is_empty() {
            it.changes.push(changes.text(OCTET_STRING)?);
        }
        parts.finish_extensible()?;
        Ok(it)
    }

    /// Appends the response control's value.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_nested(out, SEQUENCE, |out| {
            put_boolean(out, BOOLEAN, self.allowed);
            put_octets(out, OCTET_STRING, self.rule.as_bytes());
            put_octets(out, OCTET_STRING, self.clause.as_bytes());
            put_nested(out, SEQUENCE, |out| {
                self.reasons.iter().for_each(|it| it.encode(out));
            });
            put_nested(out, SEQUENCE, |out| {
                for change in &self.changes {
                    put_octets(out, OCTET_STRING, change.as_bytes());
                }
            });
        });
    }
}

impl<'a> AccessReason<'a> {
    fn decode(reasons: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let mut reason = reasons.nested(SEQUENCE)?;
        let it = AccessReason {
            rule: reason.text(OCTET_STRING)?,
            clause: reason.text(OCTET_STRING)?,
            why: reason.text(OCTET_STRING)?,
        };
        reason.finish_extensible()?;
        Ok(it)
    }

    fn encode(&self, out: &mut Vec<u8>) {
        put_nested(out, SEQUENCE, |out| {
            for text in [self.rule, self.clause, self.why] {
                put_octets(out, OCTET_STRING, text.as_bytes());
            }
        });
    }
}
