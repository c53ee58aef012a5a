//! Attributes and their values in their encoded form (RFC 4511 §4.1.7).

use super::{OCTET_STRING, Reader, SEQUENCE, SET, header_length, put_header, put_octets};
use crate::DecodeError;

/// The values of one attribute: the content of a SET OF OCTET STRING that has been checked. Two
/// lists of values are equal if they have equal values in one order, however encoded.
#[derive(Clone, Copy, Default)]
pub struct Values<'a> {
    content: &'a [u8],
}

impl<'a> Values<'a> {
    /// Wraps content octets that [`Values::decode`] has accepted or this crate has written.
    ///
    /// With other bytes nothing breaks, but the iteration ends at the first malformed value.
    #[inline]
    pub const fn from_checked(content: &'a [u8]) -> Self {
        Values { content }
    }

    /// Checks the content octets of a SET OF OCTET STRING.
    #[inline]
    pub fn decode(content: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(content);
        while !reader.is_empty() {
            reader.expect(OCTET_STRING)?;
        }
        Ok(Values { content })
    }

    /// Whether there is no value.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.content.is_empty()
    }

    /// The encoded values, one OCTET STRING after the other.
    #[inline]
    pub const fn content(&self) -> &'a [u8] {
        self.content
    }

    /// The values in their order.
    #[inline]
    pub fn iter(&self) -> ValuesIter<'a> {
        ValuesIter {
            reader: Reader::new(self.content),
        }
    }
}

impl<'a> IntoIterator for Values<'a> {
    type Item = &'a [u8];
    type IntoIter = ValuesIter<'a>;

    #[inline]
    fn into_iter(self) -> ValuesIter<'a> {
        self.iter()
    }
}

impl<'a> IntoIterator for &Values<'a> {
    type Item = &'a [u8];
    type IntoIter = ValuesIter<'a>;

    #[inline]
    fn into_iter(self) -> ValuesIter<'a> {
        self.iter()
    }
}

impl PartialEq for Values<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.content == other.content || self.iter().eq(other.iter())
    }
}

impl Eq for Values<'_> {}

impl std::fmt::Debug for Values<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list()
            .entries(self.iter().map(<[u8]>::escape_ascii).map(|v| v.to_string()))
            .finish()
    }
}

/// Iterates over [`Values`] without allocating.
#[derive(Debug, Clone)]
pub struct ValuesIter<'a> {
    reader: Reader<'a>,
}

impl<'a> Iterator for ValuesIter<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        self.reader.element().ok().map(|(_, value)| value)
    }
}

/// An attribute description and its values, possibly none (RFC 4511 §4.1.7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartialAttribute<'a> {
    /// The attribute description as spelled.
    pub description: &'a str,
    /// The values.
    pub values: Values<'a>,
}

impl<'a> PartialAttribute<'a> {
    /// Reads one PartialAttribute.
    #[inline]
    pub fn decode(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let mut parts = reader.nested(SEQUENCE)?;
        let description = parts.text(OCTET_STRING)?;
        let values = Values::decode(parts.expect(SET)?)?;
        parts.finish_extensible()?;
        Ok(PartialAttribute {
            description,
            values,
        })
    }

    /// The parts of one encoded PartialAttribute that was checked before; the values are not
    /// looked at. `None` if it is not one after all.
    #[inline]
    pub fn from_checked(encoded: &'a [u8]) -> Option<Self> {
        let mut parts = Reader::new(encoded).nested(SEQUENCE).ok()?;
        let description = parts.text(OCTET_STRING).ok()?;
        let values = Values::from_checked(parts.expect(SET).ok()?);
        Some(PartialAttribute {
            description,
            values,
        })
    }

    /// Writes the attribute.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_partial_attribute(out, self.description, self.values.iter());
    }
}

/// An attribute that owns its description and its encoded values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnedAttribute {
    description: String,
    /// OCTET STRINGs, one behind the other.
    values: Vec<u8>,
}

impl OwnedAttribute {
    /// Returns an attribute with these values.
    pub fn new<V: AsRef<[u8]>>(
        description: &str,
        values: impl IntoIterator<Item = V>,
    ) -> OwnedAttribute {
        let mut encoded = Vec::new();
        for value in values {
            put_octets(&mut encoded, OCTET_STRING, value.as_ref());
        }
        OwnedAttribute {
            description: description.to_owned(),
            values: encoded,
        }
    }

    /// Returns the attribute as requests hold it.
    pub fn as_partial(&self) -> PartialAttribute<'_> {
        PartialAttribute {
            description: &self.description,
            values: Values::from_checked(&self.values),
        }
    }
}

/// Writes a PartialAttribute with minimal lengths and no byte moved: the values are walked twice,
/// first to add up their lengths.
#[inline]
pub fn put_partial_attribute<'v>(
    out: &mut Vec<u8>,
    description: &str,
    values: impl Iterator<Item = &'v [u8]> + Clone,
) {
    let size = |length: usize| header_length(length).saturating_add(length);
    let set = values
        .clone()
        .fold(0_usize, |sum, value| sum.saturating_add(size(value.len())));
    let sequence = size(description.len()).saturating_add(size(set));
    out.reserve(size(sequence));
    put_header(out, SEQUENCE, sequence);
    put_octets(out, OCTET_STRING, description.as_bytes());
    put_header(out, SET, set);
    for value in values {
        put_octets(out, OCTET_STRING, value);
    }
}
