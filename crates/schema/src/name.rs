//! Distinguished names, resolved under the schema and normalised.
//!
//! Normal form of an RDN: the type's first name in lower case (its OID if it has none), `=`, and
//! the value's normal form under its equality rule. An RDN of several values has them sorted.
//!
//! Invariant: equal names, and only they, have equal octets. A zero octet in a value is written
//! `00 FF`; `00 01` separates the values of an RDN, `00 02` the RDNs of a name.

use std::fmt;

use smallvec::SmallVec;

use crate::description::Description;
use crate::error::{DescribeError, InvalidValue, NameError};
use crate::matching::{NESTED_NAMES_MAX, value_in_name};
use crate::schema::{Schema, TypeId};

#[cfg(test)]
mod tests;

const VALUE_SEPARATOR: [u8; 2] = [0, 1];
const RDN_SEPARATOR: [u8; 2] = [0, 2];
const ESCAPED_ZERO: u8 = 0xff;

/// A normalised distinguished name, from the top (the suffix) down. Names order so that a name
/// stands before all names below it, and those together.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Name {
    bytes: Vec<u8>,
    /// Where each RDN ends in `bytes`, separators not counted. Follows from `bytes`.
    ends: SmallVec<[u32; 8]>,
}

/// One RDN, resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedRdn {
    /// The normal form, as [`Name::rdn`] gives it.
    pub normal: Vec<u8>,
    /// The naming attributes with their values as given, without escapes, in the order given.
    pub values: Vec<(Description, Vec<u8>)>,
}

impl Schema {
    /// Resolves the text of a distinguished name (RFC 4514). The empty text is the root.
    ///
    /// # Errors
    /// The text is not a name, or an attribute type is unknown, or a value not of its type.
    pub fn resolve_name(&self, text: &str) -> Result<Name, NameError> {
        // Types may be spelled shorter than their first names ("o", "organizationName"), but
        // seldom are: mostly this is the one allocation.
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

    /// Makes `name` the name of the entry `rdn` (text as in [`Schema::resolve_name`]) below one
    /// that is resolved already.
    ///
    /// # Errors
    /// As [`Schema::resolve_name`]; `name` is of no use then.
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
    /// As [`Schema::resolve_name`]; none or several RDNs are an error too.
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

impl Name {
    /// The empty name, of the root DSE.
    pub fn root() -> Name {
        Name::default()
    }

    /// The name with these [`Name::bytes`]: the inverse of that function. Octets that did not come
    /// from there give some name or other, never a panic.
    pub fn from_bytes(bytes: &[u8]) -> Name {
        let mut ends = SmallVec::new();
        let mut at = 0;
        while at + 1 < bytes.len() {
            if bytes[at] != 0 {
                at += 1;
                continue;
            }
            if bytes[at..at + 2] == RDN_SEPARATOR {
                ends.push(at as u32);
            }
            at += 2;
        }
        if !bytes.is_empty() {
            ends.push(bytes.len() as u32);
        }
        Name {
            bytes: bytes.to_vec(),
            ends,
        }
    }

    /// Number of RDNs; 0 for the root.
    pub fn depth(&self) -> usize {
        self.ends.len()
    }

    /// The RDN at a level, 0 being the topmost.
    ///
    /// # Panics
    /// If there is no such level.
    pub fn rdn(&self, level: usize) -> &[u8] {
        let start = match level {
            0 => 0,
            _ => self.ends[level - 1] as usize + RDN_SEPARATOR.len(),
        };
        &self.bytes[start..self.ends[level] as usize]
    }

    /// The RDNs, topmost first.
    pub fn rdns(&self) -> impl DoubleEndedIterator<Item = &[u8]> + ExactSizeIterator {
        (0..self.depth()).map(|level| self.rdn(level))
    }

    /// The RDN of the entry itself; `None` for the root.
    pub fn leaf(&self) -> Option<&[u8]> {
        self.depth().checked_sub(1).map(|level| self.rdn(level))
    }

    /// The name one level up; `None` for the root.
    pub fn parent(&self) -> Option<Name> {
        self.depth().checked_sub(1).map(|depth| self.prefix(depth))
    }

    /// The topmost `depth` RDNs as a name.
    ///
    /// # Panics
    /// If there are fewer.
    pub fn prefix(&self, depth: usize) -> Name {
        let ends = SmallVec::from_slice(&self.ends[..depth]);
        Name {
            bytes: self.prefix_bytes(depth).to_vec(),
            ends,
        }
    }

    /// Whether this is `superior` itself or a name below it.
    pub fn is_within(&self, superior: &Name) -> bool {
        let depth = superior.depth();
        depth <= self.depth() && self.prefix_bytes(depth) == superior.bytes
    }

    /// Whether the topmost RDNs are those of `superior`: the same as [`Name::is_within`].
    pub fn starts_with(&self, superior: &Name) -> bool {
        self.is_within(superior)
    }

    /// The name one level down.
    ///
    /// `rdn` is a normal form, from [`ResolvedRdn::normal`] or [`Name::rdn`].
    pub fn child(&self, rdn: &[u8]) -> Name {
        let mut bytes = Vec::with_capacity(self.bytes.len() + RDN_SEPARATOR.len() + rdn.len());
        bytes.extend_from_slice(&self.bytes);
        if !bytes.is_empty() {
            bytes.extend_from_slice(&RDN_SEPARATOR);
        }
        bytes.extend_from_slice(rdn);
        let mut ends = self.ends.clone();
        ends.push(bytes.len() as u32);
        Name { bytes, ends }
    }

    /// Octets that stand for this name and no other.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The [`Name::bytes`] of the topmost `depth` RDNs.
    ///
    /// # Panics
    /// If there are fewer.
    pub fn prefix_bytes(&self, depth: usize) -> &[u8] {
        match depth {
            0 => &[],
            _ => &self.bytes[..self.ends[depth - 1] as usize],
        }
    }
}

/// Whether the name with octets `name` is the one with octets `superior` or below it. Works on
/// normal forms of values of distinguished name syntax without making names of them.
pub(crate) fn is_within(name: &[u8], superior: &[u8]) -> bool {
    superior.is_empty() || below(name, superior).is_some() || name == superior
}

/// What is left of `name` below `superior`; `None` if it is not below.
pub(crate) fn below<'a>(name: &'a [u8], superior: &[u8]) -> Option<&'a [u8]> {
    let rest = name.strip_prefix(superior)?;
    let rest = if superior.is_empty() {
        rest
    } else {
        rest.strip_prefix(&RDN_SEPARATOR)?
    };
    (!rest.is_empty()).then_some(rest)
}

/// The normal form in the syntax of RFC 4514: the same name, spelled as nobody may have spelled it.
impl fmt::Display for Name {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, rdn) in self.rdns().rev().enumerate() {
            if at > 0 {
                out.write_str(",")?;
            }
            let mut text = String::new();
            for_each_value(rdn, |attribute, value| {
                if !text.is_empty() {
                    text.push('+');
                }
                text.push_str(attribute);
                text.push('=');
                protocol::escape_value(&mut text, value);
            });
            out.write_str(&text)?;
        }
        Ok(())
    }
}

/// Whether octets of a name hold exactly one RDN.
pub(crate) fn is_one_rdn(bytes: &[u8]) -> bool {
    !bytes.is_empty() && !bytes.windows(2).any(|pair| pair == RDN_SEPARATOR)
}

/// Calls `visit` with the attribute name and the normal value (zero octets as they are) of every
/// value of an RDN's normal form.
pub(crate) fn for_each_value(rdn: &[u8], mut visit: impl FnMut(&str, &[u8])) {
    let mut plain = Vec::with_capacity(rdn.len());
    let mut rest = rdn;
    while !rest.is_empty() {
        plain.clear();
        let mut at = 0;
        while at < rest.len() && rest[at..].get(..2) != Some(&VALUE_SEPARATOR) {
            plain.push(rest[at]);
            at += if rest[at] == 0 { 2 } else { 1 };
        }
        rest = rest.get(at + 2..).unwrap_or(&[]);
        let equals = plain
            .iter()
            .position(|byte| *byte == b'=')
            .unwrap_or(plain.len());
        let attribute = std::str::from_utf8(&plain[..equals]).unwrap_or("");
        visit(attribute, plain.get(equals + 1..).unwrap_or(&[]));
    }
}

/// Appends the octets of the name spelled `text`; `ended` hears where each RDN ends in `out`.
/// Values may hold names, `depth_max` deep.
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
    // Nothing is quoted or escaped, so every comma separates: read from the top down.
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
        // Commas and equals signs are ASCII, so cutting there leaves UTF-8.
        let attribute = std::str::from_utf8(attribute).unwrap_or("");
        put_value(schema, attribute, value, depth_max, out)?;
        ended(out.len());
    }
    Ok(())
}

/// Octets that mean something else than themselves in a name, or need a closer look.
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

/// RFC 2253 §4 lets an OID be written `OID.2.5.4.3`.
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
