//! Parsing distinguished names under a schema.
//!
//! Values of names may be names again, so this file and the normal forms of values
//! (`matching/normalise.rs`) call each other, under a limit of depth.

#[cfg(test)]
mod tests;

use smallvec::SmallVec;

use super::{Name, RDN_SEPARATOR, VALUE_SEPARATOR};
use crate::description::Description;
use crate::error::{DescribeError, InvalidValue, NameError};
use crate::id::TypeId;
use crate::matching::normalise::{NESTED_NAMES_MAX, value_in_name};
use crate::schema::Schema;

/// The octet behind each zero octet of a value.
const ESCAPED_ZERO: u8 = 0xff;

/// A resolved RDN.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedRdn {
    /// The normal form, as in [`Name::rdn`].
    pub normal: Vec<u8>,
    /// The naming attributes with their values as given, unescaped, in the given order.
    pub values: Vec<(Description, Vec<u8>)>,
}

impl Schema {
    /// Resolves the text of a distinguished name (RFC 4514). The empty text is the root's name.
    ///
    /// # Errors
    /// The text is not a name, an attribute type is unknown, or a value does not obey its syntax.
    pub fn resolve_name(&self, text: &str) -> Result<Name, NameError> {
        // Types may be spelled shorter than their first names ("o", "organizationName"), but seldom
        // are: in most cases this is the only allocation.
        let mut name = Name {
            bytes: Vec::with_capacity(text.len() + 16),
            ends: SmallVec::new(),
        };
        let ends = &mut name.ends;
        put_name(self, text, NESTED_NAMES_MAX, &mut name.bytes, &mut |end| {
            ends.push(end as u32)
        })?;
        Ok(name)
    }

    /// Makes `name` the name of the entry `rdn` (text as in [`Schema::resolve_name`]) below a name
    /// that is already resolved.
    ///
    /// # Errors
    /// The errors of [`Schema::resolve_name`]; `name` is then invalid.
    pub fn resolve_below(
        &self,
        superior: &Name,
        rdn: &str,
        name: &mut Name,
    ) -> Result<(), NameError> {
        name.bytes.clone_from(&superior.bytes);
        name.ends.clone_from(&superior.ends);
        if !superior.bytes.is_empty() {
            name.bytes.extend_from_slice(&RDN_SEPARATOR);
        }
        let ends = &mut name.ends;
        put_name(self, rdn, NESTED_NAMES_MAX, &mut name.bytes, &mut |end| {
            ends.push(end as u32)
        })
    }

    /// Resolves the text of exactly one RDN.
    ///
    /// # Errors
    /// The errors of [`Schema::resolve_name`]; the text has no RDN or several.
    pub fn resolve_rdn(&self, text: &str) -> Result<ResolvedRdn, NameError> {
        let rdn = protocol::parse_rdn(text).map_err(NameError::BadSyntax)?;
        let mut normal = Vec::with_capacity(text.len() + 16);
        put_rdn(self, &rdn, NESTED_NAMES_MAX, &mut normal)?;
        let values = rdn.values.iter().map(|it| {
            let type_id = naming_type(self, it.attribute)?;
            Ok((Description::of_type(type_id), it.value.to_vec()))
        });
        Ok(ResolvedRdn {
            values: values.collect::<Result<_, NameError>>()?,
            normal,
        })
    }
}

/// Appends the octets of the name spelled `text`; `ended` is called with the end of each RDN in
/// `out`. Values may be names, down to `depth_max` levels.
pub(crate) fn put_name(
    schema: &Schema,
    text: &str,
    depth_max: u8,
    out: &mut Vec<u8>,
    ended: &mut impl FnMut(usize),
) -> Result<(), NameError> {
    if text.bytes().any(needs_parser) {
        return put_parsed_name(schema, text, depth_max, out, ended);
    }
    if text.bytes().all(|byte| byte == b' ') {
        return Ok(());
    }
    // Without quotes and escapes every comma separates RDNs: they are read from the top down.
    let mut first = true;
    for rdn in text.as_bytes().rsplit(|byte| *byte == b',') {
        if !first {
            out.extend_from_slice(&RDN_SEPARATOR);
        }
        first = false;
        let attribute_end = rdn.iter().position(|byte| *byte == b'=');
        let Some(attribute_end) = attribute_end else {
            return put_parsed_name(schema, text, depth_max, out, ended);
        };
        let attribute = trim_spaces(&rdn[..attribute_end]);
        let value = trim_spaces(&rdn[attribute_end + 1..]);
        // Commas and equals signs are ASCII, so the parts are valid UTF-8.
        let attribute = std::str::from_utf8(attribute).unwrap_or("");
        put_value(schema, attribute, value, depth_max, out)?;
        ended(out.len());
    }
    Ok(())
}

/// Returns whether an octet may be part of an escape or quote, or needs the full parser.
fn needs_parser(byte: u8) -> bool {
    matches!(
        byte,
        b'\\' | b'"' | b'+' | b';' | b'#' | b'<' | b'>' | 0 | b'\n' | b'\r' | b'\t'
    )
}

fn trim_spaces(mut text: &[u8]) -> &[u8] {
    while let [b' ', rest @ ..] | [rest @ .., b' '] = text {
        text = rest;
    }
    text
}

fn put_parsed_name(
    schema: &Schema,
    text: &str,
    depth_max: u8,
    out: &mut Vec<u8>,
    ended: &mut impl FnMut(usize),
) -> Result<(), NameError> {
    let name = protocol::parse_name(text).map_err(NameError::BadSyntax)?;
    for (level, rdn) in name.rdns.iter().rev().enumerate() {
        if level > 0 {
            out.extend_from_slice(&RDN_SEPARATOR);
        }
        put_rdn(schema, rdn, depth_max, out)?;
        ended(out.len());
    }
    Ok(())
}

fn put_rdn(
    schema: &Schema,
    rdn: &protocol::Rdn<'_>,
    depth_max: u8,
    out: &mut Vec<u8>,
) -> Result<(), NameError> {
    if rdn.values.len() == 1 {
        let value = rdn.values.first();
        return put_value(schema, value.attribute, &value.value, depth_max, out);
    }
    let mut parts = Vec::with_capacity(rdn.values.len());
    for value in rdn.values.iter() {
        let mut part = Vec::new();
        put_value(schema, value.attribute, &value.value, depth_max, &mut part)?;
        parts.push(part);
    }
    parts.sort();
    if parts.windows(2).any(|pair| pair[0] == pair[1]) {
        let message = format!("expected different values in an RDN, got {:?}", rdn.spelled);
        return Err(NameError::BadSyntax(protocol::TextError { at: 0, message }));
    }
    out.extend_from_slice(&parts.join(&VALUE_SEPARATOR[..]));
    Ok(())
}

/// Appends `type=value` in normal form.
#[inline]
fn put_value(
    schema: &Schema,
    attribute: &str,
    value: &[u8],
    depth_max: u8,
    out: &mut Vec<u8>,
) -> Result<(), NameError> {
    let type_id = naming_type(schema, attribute)?;
    let attribute_type = schema.type_of(type_id);
    let start = out.len();
    out.extend_from_slice(attribute_type.name().as_bytes());
    out[start..].make_ascii_lowercase();
    out.push(b'=');
    let value_start = out.len();
    let done = match attribute_type.equality {
        Some(rule) => value_in_name(schema, rule.family, value, depth_max, out),
        None => Err(InvalidValue::NoEqualityRule),
    };
    if let Err(reason) = done {
        let attribute = attribute_type.name().to_owned();
        return Err(NameError::Value {
            type_id,
            attribute,
            reason,
        });
    }
    escape_zeros(out, value_start);
    Ok(())
}

fn escape_zeros(out: &mut Vec<u8>, start: usize) {
    let zeros = out[start..].iter().filter(|byte| **byte == 0).count();
    if zeros > 0 {
        let plain = out.split_off(start);
        for byte in plain {
            out.push(byte);
            if byte == 0 {
                out.push(ESCAPED_ZERO);
            }
        }
    }
}

#[inline]
fn naming_type(schema: &Schema, attribute: &str) -> Result<TypeId, NameError> {
    match schema.attribute_type(attribute) {
        Some(type_id) => Ok(type_id),
        None => naming_type_with_prefix(schema, attribute),
    }
}

/// Resolves `OID.2.5.4.3`, a spelling that RFC 2253 §4 allows.
#[cold]
fn naming_type_with_prefix(schema: &Schema, attribute: &str) -> Result<TypeId, NameError> {
    let oid = attribute
        .get(..4)
        .filter(|prefix| prefix.eq_ignore_ascii_case("oid."));
    let known = oid.and_then(|_| schema.attribute_type(&attribute[4..]));
    known.ok_or_else(|| {
        NameError::Attribute(
            match crate::syntaxes::identifier::oid(attribute.as_bytes()) {
                Ok(()) => DescribeError::UnknownType(attribute.to_owned()),
                Err(_) => DescribeError::BadSyntax(attribute.to_owned()),
            },
        )
    })
}
