//! Explain control (Pando's own): how a search is carried out, instead of the entries it finds.
//!
//! The request control has no value. The response control stands at the search's result:
//!
//! ```text
//! Explanation ::= SEQUENCE {
//!     examined     INTEGER (0 .. maxInt64),   -- entries looked at
//!     tested       INTEGER (0 .. maxInt64),   -- of these, compared with the filter
//!     matched      INTEGER (0 .. maxInt64),   -- of these, would have been returned
//!     microseconds INTEGER (0 .. maxInt64),
//!     regions      SEQUENCE OF SEQUENCE {
//!         base     LDAPDN,
//!         plan     LDAPString,                -- which index finds the candidates, in words
//!         estimate INTEGER (0 .. maxInt64),   -- about how many
//!         scan     BOOLEAN,                   -- no index does: all entries are candidates
//!         advice   SEQUENCE OF LDAPString,    -- indexes that would
//!         parts    SEQUENCE OF SEQUENCE {     -- of the filter, each before those it holds
//!             depth    INTEGER (0 .. maxInt),
//!             filter   LDAPString,
//!             foundBy  LDAPString,            -- empty: by no index
//!             estimate INTEGER (0 .. maxInt64) } } }
//! ```

use crate::ber::{
    BOOLEAN, INTEGER, OCTET_STRING, Reader, SEQUENCE, put_boolean, put_integer, put_nested,
    put_octets,
};
use crate::error::{Component, DecodeError};

use super::sequence_of;

/// How a search was carried out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Explanation<'a> {
    /// Number of entries looked at.
    pub examined: u64,
    /// Number of entries compared with the filter.
    pub tested: u64,
    /// Number of entries that matched.
    pub matched: u64,
    /// Time of the search in microseconds.
    pub microseconds: u64,
    /// The regions searched.
    pub regions: Vec<ExplainedRegion<'a>>,
}

/// How one region was searched.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExplainedRegion<'a> {
    /// Base of the region.
    pub base: &'a str,
    /// Plan for finding candidates, in words.
    pub plan: &'a str,
    /// Estimated number of candidates.
    pub estimate: u64,
    /// Whether all entries are candidates.
    pub scan: bool,
    /// Indexes that would find fewer candidates, each as attribute type and kind.
    pub advice: Vec<&'a str>,
    /// The parts of the filter.
    pub parts: Vec<ExplainedPart<'a>>,
}

/// The search for one part of the filter by itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExplainedPart<'a> {
    /// Number of filters around this one.
    pub depth: u32,
    /// The part as text.
    pub filter: &'a str,
    /// The index that answers it, in words; empty for none.
    pub found_by: &'a str,
    /// Estimated number of entries it finds.
    pub estimate: u64,
}

impl<'a> Explanation<'a> {
    /// Decodes the response control's value.
    pub fn decode(value: &'a [u8]) -> Result<Self, DecodeError> {
        let mut parts = sequence_of(value)?;
        let mut it = Explanation {
            examined: number(&mut parts)?,
            tested: number(&mut parts)?,
            matched: number(&mut parts)?,
            microseconds: number(&mut parts)?,
            regions: Vec::new(),
        };
        let mut regions = parts.nested(SEQUENCE)?;
        while !regions.is_empty() {
            it.regions.push(ExplainedRegion::decode(&mut regions)?);
        }
        parts.finish_extensible()?;
        Ok(it)
    }

    /// Appends the response control's value.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_nested(out, SEQUENCE, |out| {
            for count in [self.examined, self.tested, self.matched, self.microseconds] {
                put_number(out, count);
            }
            put_nested(out, SEQUENCE, |out| {
                self.regions.iter().for_each(|it| it.encode(out));
            });
        });
    }
}

impl<'a> ExplainedRegion<'a> {
    fn decode(regions: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let mut region = regions.nested(SEQUENCE)?;
        let mut it = ExplainedRegion {
            base: region.text(OCTET_STRING)?,
            plan: region.text(OCTET_STRING)?,
            estimate: number(&mut region)?,
            scan: region.boolean(BOOLEAN)?,
            ..ExplainedRegion::default()
        };
        let mut advice = region.nested(SEQUENCE)?;
        while !advice.is_empty() {
            it.advice.push(advice.text(OCTET_STRING)?);
        }
        let mut parts = region.nested(SEQUENCE)?;
        while !parts.is_empty() {
            let mut part = parts.nested(SEQUENCE)?;
            it.parts.push(ExplainedPart {
                depth: part.max_int(INTEGER, Component::Explanation)?,
                filter: part.text(OCTET_STRING)?,
                found_by: part.text(OCTET_STRING)?,
                estimate: number(&mut part)?,
            });
            part.finish_extensible()?;
        }
        region.finish_extensible()?;
        Ok(it)
    }

    fn encode(&self, out: &mut Vec<u8>) {
        put_nested(out, SEQUENCE, |out| {
            put_octets(out, OCTET_STRING, self.base.as_bytes());
            put_octets(out, OCTET_STRING, self.plan.as_bytes());
            put_number(out, self.estimate);
            put_boolean(out, BOOLEAN, self.scan);
            put_nested(out, SEQUENCE, |out| {
                for advice in &self.advice {
                    put_octets(out, OCTET_STRING, advice.as_bytes());
                }
            });
            put_nested(out, SEQUENCE, |out| {
                self.parts.iter().for_each(|it| it.encode(out));
            });
        });
    }
}

impl ExplainedPart<'_> {
    fn encode(&self, out: &mut Vec<u8>) {
        put_nested(out, SEQUENCE, |out| {
            put_integer(out, INTEGER, i64::from(self.depth));
            put_octets(out, OCTET_STRING, self.filter.as_bytes());
            put_octets(out, OCTET_STRING, self.found_by.as_bytes());
            put_number(out, self.estimate);
        });
    }
}

/// A number that must not be negative.
fn number(parts: &mut Reader<'_>) -> Result<u64, DecodeError> {
    let value = parts.integer(INTEGER)?;
    u64::try_from(value).map_err(|_| DecodeError::out_of_range(Component::Explanation, value))
}

fn put_number(out: &mut Vec<u8>, value: u64) {
    put_integer(out, INTEGER, i64::try_from(value).unwrap_or(i64::MAX));
}
