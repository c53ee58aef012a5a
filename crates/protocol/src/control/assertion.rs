//! Assertion control (RFC 4528): carries out an operation only if the entry matches a filter.

use crate::DecodeError;
use crate::ber::Reader;
use crate::filter::{FILTER_DEPTH_MAX, Filter};

/// The assertion; if it is not true the operation ends with `assertionFailed`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assertion<'a> {
    /// Filter that the target entry must match.
    pub filter: Filter<'a>,
}

impl<'a> Assertion<'a> {
    /// Decodes the control's value, a filter of at most [`FILTER_DEPTH_MAX`] levels.
    pub fn decode(value: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(value);
        let filter = Filter::decode(&mut reader, FILTER_DEPTH_MAX)?;
        reader.finish()?;
        Ok(Assertion { filter })
    }

    /// Appends the control's value.
    pub fn encode(&self, out: &mut Vec<u8>) {
        self.filter.encode(out);
    }
}
