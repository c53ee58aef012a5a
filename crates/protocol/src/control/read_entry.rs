//! Pre-read and post-read controls (RFC 4527): the entry before and after an update.

use super::sequence_of;
use crate::DecodeError;
use crate::ber::{
    OCTET_STRING, PartialAttribute, Reader, SEQUENCE, header_length, put_header, put_nested,
    put_octets,
};
use crate::request::{attribute_selection, put_attribute_selection};
use crate::response::{entry_parts, tag};

/// Attributes to return.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadEntryRequest<'a> {
    /// Attribute descriptions as in a search; empty asks for all user attributes.
    pub attributes: Vec<&'a str>,
}

/// The entry, a SearchResultEntry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadEntryResponse<'a> {
    /// The entry's name.
    pub name: &'a str,
    /// Attributes of the entry, as far as selected and visible.
    pub attributes: Vec<PartialAttribute<'a>>,
}

impl<'a> ReadEntryRequest<'a> {
    /// Decodes the request control's value.
    pub fn decode(value: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(value);
        let attributes = attribute_selection(&mut reader)?;
        reader.finish()?;
        Ok(ReadEntryRequest { attributes })
    }

    /// Appends the request control's value.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_attribute_selection(out, &self.attributes);
    }
}

impl<'a> ReadEntryResponse<'a> {
    /// Decodes the response control's value; also accepts a plain SEQUENCE instead of the
    /// operation's tag, which some servers send.
    pub fn decode(value: &'a [u8]) -> Result<Self, DecodeError> {
        let mut outer = Reader::new(value);
        let mut parts = if outer.peek_tag() == Some(SEQUENCE) {
            sequence_of(value)?
        } else {
            let parts = outer.nested(tag::SEARCH_ENTRY)?;
            outer.finish()?;
            parts
        };
        let (name, attributes) = entry_parts(&mut parts)?;
        parts.finish_extensible()?;
        Ok(ReadEntryResponse { name, attributes })
    }

    /// Appends the response control's value.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_nested(out, tag::SEARCH_ENTRY, |out| {
            put_octets(out, OCTET_STRING, self.name.as_bytes());
            put_nested(out, SEQUENCE, |out| {
                self.attributes.iter().for_each(|it| it.encode(out))
            });
        });
    }
}

/// Appends the response control's value from attributes that are encoded already.
pub fn put_read_entry(out: &mut Vec<u8>, name: &[u8], attributes: &[u8]) {
    let element = |length: usize| header_length(length).saturating_add(length);
    let content = element(name.len()).saturating_add(element(attributes.len()));
    put_header(out, tag::SEARCH_ENTRY, content);
    put_octets(out, OCTET_STRING, name);
    put_octets(out, SEQUENCE, attributes);
}
