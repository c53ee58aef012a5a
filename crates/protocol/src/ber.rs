//! The basic encoding rules as LDAP restricts them (RFC 4511 §5.1): reading and writing elements.
//!
//! Invariants:
//! - only definite lengths are read; lengths and integers need not be minimal;
//! - written elements have minimal lengths, minimal integers and TRUE as 0xFF;
//! - no read leaves the slice a `Reader` was made of.

mod attribute;

pub use attribute::{OwnedAttribute, PartialAttribute, Values, ValuesIter, put_partial_attribute};

use crate::error::{Component, DecodeError, saturated};

/// BOOLEAN.
pub const BOOLEAN: u8 = 0x01;
/// INTEGER.
pub const INTEGER: u8 = 0x02;
/// OCTET STRING, primitive.
pub const OCTET_STRING: u8 = 0x04;
/// NULL.
pub const NULL: u8 = 0x05;
/// ENUMERATED.
pub const ENUMERATED: u8 = 0x0A;
/// SEQUENCE and SEQUENCE OF, constructed.
pub const SEQUENCE: u8 = 0x30;
/// SET and SET OF, constructed.
pub const SET: u8 = 0x31;

/// Default maximum nesting of elements.
pub const DEPTH_MAX: u8 = 64;

/// Reads elements one after the other from a slice, borrowing their contents.
#[derive(Debug, Clone)]
pub struct Reader<'a> {
    rest: &'a [u8],
    /// Levels that `nested` may still open. Reaching 0 ends the descent.
    depth_left: usize,
}

impl<'a> Reader<'a> {
    /// A reader over `bytes` that follows nesting to [`DEPTH_MAX`].
    #[inline]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self::with_depth(bytes, DEPTH_MAX)
    }

    /// A reader over `bytes` that opens at most `depth_max` levels of nesting.
    #[inline]
    pub fn with_depth(bytes: &'a [u8], depth_max: u8) -> Self {
        Reader {
            rest: bytes,
            depth_left: usize::from(depth_max),
        }
    }

    /// Whether every byte has been read.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The bytes not read yet.
    #[inline]
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// The identifier octet of the next element.
    #[inline(always)]
    pub fn peek_tag(&self) -> Option<u8> {
        self.rest.first().copied()
    }

    /// The next element: identifier octet and content.
    #[inline(always)]
    pub fn element(&mut self) -> Result<(u8, &'a [u8]), DecodeError> {
        let [tag, length, rest @ ..] = self.rest else {
            return Err(DecodeError::Truncated);
        };
        if *tag & 0x1F == 0x1F {
            return Err(DecodeError::HighTagNumber);
        }
        let (length, rest) = match *length {
            short @ 0..=0x7F => (usize::from(short), rest),
            first => long_length(first, rest)?,
        };
        let (content, rest) = rest
            .split_at_checked(length)
            .ok_or(DecodeError::Truncated)?;
        self.rest = rest;
        Ok((*tag, content))
    }

    /// The content of the next element, which must have this identifier octet.
    #[inline(always)]
    pub fn expect(&mut self, tag: u8) -> Result<&'a [u8], DecodeError> {
        match self.peek_tag() {
            Some(found) if found == tag => self.element().map(|(_, content)| content),
            Some(found) => Err(DecodeError::UnexpectedTag {
                expected: tag,
                found,
            }),
            None => Err(DecodeError::MissingElement { expected: tag }),
        }
    }

    /// The content of the next element if it has this identifier octet; otherwise nothing is read.
    #[inline(always)]
    pub fn optional(&mut self, tag: u8) -> Result<Option<&'a [u8]>, DecodeError> {
        if self.peek_tag() == Some(tag) {
            self.expect(tag).map(Some)
        } else {
            Ok(None)
        }
    }

    /// A signed integer of at most eight octets, tagged as INTEGER, ENUMERATED or implicitly.
    #[inline(always)]
    pub fn integer(&mut self, tag: u8) -> Result<i64, DecodeError> {
        decode_integer(self.expect(tag)?)
    }

    /// An integer from 0 to 2^31-1 (`maxInt`, RFC 4511 §4.1.1); `what` names it in the error.
    #[inline(always)]
    pub fn max_int(&mut self, tag: u8, what: Component) -> Result<u32, DecodeError> {
        match self.expect(tag)? {
            [small @ 0..=0x7F] => Ok(u32::from(*small)),
            content => max_int(content, what),
        }
    }

    /// A boolean; any octet but zero is true.
    #[inline(always)]
    pub fn boolean(&mut self, tag: u8) -> Result<bool, DecodeError> {
        decode_boolean(self.expect(tag)?)
    }

    /// A boolean that is false when the element is missing.
    #[inline]
    pub fn boolean_or_false(&mut self, tag: u8) -> Result<bool, DecodeError> {
        self.optional(tag)?.map_or(Ok(false), decode_boolean)
    }

    /// A UTF-8 string (LDAPString, RFC 4511 §4.1.2).
    #[inline(always)]
    pub fn text(&mut self, tag: u8) -> Result<&'a str, DecodeError> {
        decode_text(self.expect(tag)?)
    }

    /// A UTF-8 string if the next element has this identifier octet.
    #[inline]
    pub fn optional_text(&mut self, tag: u8) -> Result<Option<&'a str>, DecodeError> {
        self.optional(tag)?.map(decode_text).transpose()
    }

    /// A reader over the content of the next element, one level deeper.
    #[inline(always)]
    pub fn nested(&mut self, tag: u8) -> Result<Reader<'a>, DecodeError> {
        let content = self.expect(tag)?;
        self.deeper(content)
    }

    /// A reader over `content`, which this reader has handed out, one level deeper.
    #[inline(always)]
    pub fn deeper(&self, content: &'a [u8]) -> Result<Reader<'a>, DecodeError> {
        match self.depth_left.checked_sub(1) {
            Some(depth_left) => Ok(Reader {
                rest: content,
                depth_left,
            }),
            None => Err(DecodeError::NestedTooDeep),
        }
    }

    /// Checks that nothing follows.
    #[inline(always)]
    pub fn finish(&self) -> Result<(), DecodeError> {
        if self.rest.is_empty() {
            Ok(())
        } else {
            Err(DecodeError::TrailingBytes {
                count: saturated(self.rest.len()),
            })
        }
    }

    /// Ends a SEQUENCE: trailing components that are not known are ignored (RFC 4511 §4), but they
    /// must be elements.
    #[inline(always)]
    pub fn finish_extensible(mut self) -> Result<(), DecodeError> {
        self.skip_extensions()
    }

    #[inline(always)]
    pub(crate) fn skip_extensions(&mut self) -> Result<(), DecodeError> {
        if self.rest.is_empty() {
            Ok(())
        } else {
            self.skip_all()
        }
    }

    #[cold]
    fn skip_all(&mut self) -> Result<(), DecodeError> {
        while !self.rest.is_empty() {
            self.element()?;
        }
        Ok(())
    }
}

/// The long form of a length (X.690 §8.1.3.5): its value and the bytes after it.
#[cold]
fn long_length(first: u8, rest: &[u8]) -> Result<(usize, &[u8]), DecodeError> {
    if first == 0x80 {
        return Err(DecodeError::IndefiniteLength);
    }
    let octets = usize::from(first & 0x7F);
    let (octets, rest) = rest
        .split_at_checked(octets)
        .ok_or(DecodeError::Truncated)?;
    let mut length = 0_u64;
    for octet in octets {
        if length >> 56 != 0 {
            return Err(DecodeError::beyond(usize::MAX));
        }
        length = length << 8 | u64::from(*octet);
    }
    let length = usize::try_from(length).map_err(|_| DecodeError::beyond(usize::MAX))?;
    Ok((length, rest))
}

#[cold]
fn max_int(content: &[u8], what: Component) -> Result<u32, DecodeError> {
    let value = decode_integer(content)?;
    match i32::try_from(value) {
        Ok(small @ 0..) => Ok(small as u32),
        _ => Err(DecodeError::out_of_range(what, value)),
    }
}

/// A signed integer from the content octets of an INTEGER or ENUMERATED.
#[inline(always)]
pub fn decode_integer(content: &[u8]) -> Result<i64, DecodeError> {
    match content {
        [one] => Ok(i64::from(*one as i8)),
        [first, rest @ ..] if rest.len() < 8 => {
            let mut value = i64::from(*first as i8);
            for octet in rest {
                value = value << 8 | i64::from(*octet);
            }
            Ok(value)
        }
        _ => Err(DecodeError::IntegerLength {
            octets: saturated(content.len()),
        }),
    }
}

/// A boolean from the content octets of a BOOLEAN; any octet but zero is true.
#[inline(always)]
pub fn decode_boolean(content: &[u8]) -> Result<bool, DecodeError> {
    match content {
        [octet] => Ok(*octet != 0),
        _ => Err(DecodeError::BooleanLength {
            octets: saturated(content.len()),
        }),
    }
}

/// UTF-8 text from the content octets of a string.
#[inline(always)]
pub fn decode_text(content: &[u8]) -> Result<&str, DecodeError> {
    std::str::from_utf8(content).map_err(|_| DecodeError::NotUtf8)
}

/// Bytes taken by an identifier octet and the minimal length octets for this much content.
#[inline]
pub const fn header_length(content_length: usize) -> usize {
    2 + extra_length_octets(content_length)
}

/// Number of length octets after the first one: 0 below 128, else as many as the length needs.
#[inline]
const fn extra_length_octets(content_length: usize) -> usize {
    match content_length {
        0..=0x7F => 0,
        0x80..=0xFF => 1,
        0x100..=0xFFFF => 2,
        0x1_0000..=0xFF_FFFF => 3,
        _ => (usize::BITS - content_length.leading_zeros()).div_ceil(8) as usize,
    }
}

/// Writes an identifier octet and the minimal length octets.
#[inline]
pub fn put_header(out: &mut Vec<u8>, tag: u8, content_length: usize) {
    if content_length < 0x80 {
        out.extend_from_slice(&[tag, content_length as u8]);
    } else {
        out.push(tag);
        put_long_length(out, content_length);
    }
}

fn put_long_length(out: &mut Vec<u8>, content_length: usize) {
    let octets = extra_length_octets(content_length);
    out.push(0x80 | octets as u8);
    let all = content_length.to_be_bytes();
    out.extend(all.iter().skip(all.len().saturating_sub(octets)));
}

/// Writes an element with these content octets.
#[inline]
pub fn put_octets(out: &mut Vec<u8>, tag: u8, content: &[u8]) {
    put_header(out, tag, content.len());
    out.extend_from_slice(content);
}

/// Writes an integer or enumerated value with as few octets as it needs.
#[inline]
pub fn put_integer(out: &mut Vec<u8>, tag: u8, value: i64) {
    if let Ok(small) = i8::try_from(value) {
        out.extend_from_slice(&[tag, 1, small as u8]);
    } else {
        let all = value.to_be_bytes();
        let octets = integer_length(value);
        out.extend_from_slice(&[tag, octets as u8]);
        out.extend(all.iter().skip(all.len().saturating_sub(octets)));
    }
}

/// Content octets of a minimally encoded integer: 1 to 8.
#[inline]
pub const fn integer_length(value: i64) -> usize {
    let significant = i64::BITS - (if value < 0 { !value } else { value }).leading_zeros() + 1;
    significant.div_ceil(8) as usize
}

/// Writes a boolean.
#[inline]
pub fn put_boolean(out: &mut Vec<u8>, tag: u8, value: bool) {
    out.extend_from_slice(&[tag, 1, if value { 0xFF } else { 0 }]);
}

/// Writes a constructed element whose content `fill` appends; the minimal length is patched in
/// afterwards, which moves content of 128 bytes and more once.
#[inline]
pub fn put_nested(out: &mut Vec<u8>, tag: u8, fill: impl FnOnce(&mut Vec<u8>)) {
    out.extend_from_slice(&[tag, 0]);
    let content_start = out.len();
    fill(out);
    patch_length(out, content_start, 1);
}

/// Gives the element whose content starts at `content_start` its minimal length, in the place of
/// the `reserved` length octets (at least one) before it.
pub(crate) fn patch_length(out: &mut Vec<u8>, content_start: usize, reserved: usize) {
    let content_length = out.len().saturating_sub(content_start);
    let extra = extra_length_octets(content_length);
    let length_start = content_start.saturating_sub(reserved);
    let new_start = length_start.saturating_add(1).saturating_add(extra);
    if new_start > content_start {
        out.resize(new_start.saturating_add(content_length), 0);
    }
    if new_start != content_start {
        out.copy_within(
            content_start..content_start.saturating_add(content_length),
            new_start,
        );
        out.truncate(new_start.saturating_add(content_length));
    }
    write_length(out, length_start, content_length, extra);
}

/// Overwrites `1 + extra` length octets at `at`.
#[inline]
pub(crate) fn write_length(out: &mut [u8], at: usize, content_length: usize, extra: usize) {
    let all = content_length.to_be_bytes();
    let octets = out.get_mut(at..).unwrap_or_default();
    let Some((first, octets)) = octets.split_first_mut() else {
        return;
    };
    if extra == 0 {
        *first = content_length as u8;
        return;
    }
    *first = 0x80 | extra as u8;
    for (octet, value) in octets
        .iter_mut()
        .zip(all.iter().skip(all.len().saturating_sub(extra)))
    {
        *octet = *value;
    }
}

#[cfg(test)]
mod tests;
