//! Dereference control (draft-masarati-ldap-deref-00): attributes of the entries that an entry's
//! values name.

use super::sequence_of;
use crate::ber::{OCTET_STRING, PartialAttribute, SEQUENCE, put_nested, put_octets};
use crate::error::{Component, DecodeError};
use crate::request::{attribute_selection, put_attribute_selection};

/// Maximum number of attributes to follow.
const SPECIFICATIONS_MAX: usize = 64;

/// The request's value: the attributes to follow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DereferenceRequest<'a> {
    /// At least one when decoded, each for a different attribute as spelled.
    pub specifications: Vec<DereferenceSpecification<'a>>,
}

/// `DerefSpec`: one attribute to follow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DereferenceSpecification<'a> {
    /// Attribute whose values name entries.
    pub attribute: &'a str,
    /// Attributes to return of those entries.
    pub wanted: Vec<&'a str>,
}

/// The response's value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DereferenceResponse<'a> {
    /// One result for each value of each attribute followed.
    pub results: Vec<DereferenceResult<'a>>,
}

/// `DerefRes`: the result for one value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DereferenceResult<'a> {
    /// The attribute followed.
    pub attribute: &'a str,
    /// Value of the attribute: the name of an entry.
    pub name: &'a str,
    /// Attributes of the named entry; empty if it has none, does not exist, or is not visible.
    pub attributes: Vec<PartialAttribute<'a>>,
}

impl<'a> DereferenceRequest<'a> {
    /// Decodes the request control's value.
    pub fn decode(value: &'a [u8]) -> Result<Self, DecodeError> {
        let mut list = sequence_of(value)?;
        let mut specifications: Vec<DereferenceSpecification<'a>> = Vec::new();
        while !list.is_empty() {
            if specifications.len() == SPECIFICATIONS_MAX {
                return Err(DecodeError::TooMany {
                    what: Component::DereferenceSpecifications,
                    limit: SPECIFICATIONS_MAX as u32,
                });
            }
            let mut parts = list.nested(SEQUENCE)?;
            let attribute = parts.text(OCTET_STRING)?;
            let wanted = attribute_selection(&mut parts)?;
            parts.finish_extensible()?;
            let known =
                |it: &DereferenceSpecification<'_>| it.attribute.eq_ignore_ascii_case(attribute);
            if specifications.iter().any(known) {
                return Err(DecodeError::Repeated {
                    what: Component::DereferenceSpecifications,
                });
            }
            specifications.push(DereferenceSpecification { attribute, wanted });
        }
        if specifications.is_empty() {
            return Err(DecodeError::EmptyList {
                what: Component::DereferenceSpecifications,
            });
        }
        Ok(DereferenceRequest { specifications })
    }

    /// Appends the request control's value.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_nested(out, SEQUENCE, |out| {
            for specification in &self.specifications {
                put_nested(out, SEQUENCE, |out| {
                    put_octets(out, OCTET_STRING, specification.attribute.as_bytes());
                    put_attribute_selection(out, &specification.wanted);
                });
            }
        });
    }
}

/// The identifier octet of `attrVals [0]`.
const ATTRIBUTES: u8 = 0xA0;

impl<'a> DereferenceResponse<'a> {
    /// Decodes the response control's value.
    pub fn decode(value: &'a [u8]) -> Result<Self, DecodeError> {
        let mut list = sequence_of(value)?;
        let mut results = Vec::new();
        while !list.is_empty() {
            let mut parts = list.nested(SEQUENCE)?;
            let attribute = parts.text(OCTET_STRING)?;
            let name = parts.text(OCTET_STRING)?;
            let mut attributes = Vec::new();
            if parts.peek_tag() == Some(ATTRIBUTES) {
                let mut found = parts.nested(ATTRIBUTES)?;
                while !found.is_empty() {
                    attributes.push(PartialAttribute::decode(&mut found)?);
                }
            }
            parts.finish_extensible()?;
            results.push(DereferenceResult {
                attribute,
                name,
                attributes,
            });
        }
        Ok(DereferenceResponse { results })
    }

    /// Appends the response control's value.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_nested(out, SEQUENCE, |out| {
            for result in &self.results {
                let mut attributes = Vec::new();
                result
                    .attributes
                    .iter()
                    .for_each(|it| it.encode(&mut attributes));
                put_dereference_result(out, result.attribute, result.name, &attributes);
            }
        });
    }
}

/// Appends one result from attributes that are encoded already.
pub fn put_dereference_result(out: &mut Vec<u8>, attribute: &str, name: &str, attributes: &[u8]) {
    put_nested(out, SEQUENCE, |out| {
        put_octets(out, OCTET_STRING, attribute.as_bytes());
        put_octets(out, OCTET_STRING, name.as_bytes());
        if !attributes.is_empty() {
            put_octets(out, ATTRIBUTES, attributes);
        }
    });
}
