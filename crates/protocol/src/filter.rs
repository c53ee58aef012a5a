//! Search filters in their binary form (RFC 4511 §4.5.1.7).
//!
//! The text form of RFC 4515 is `filter_text.rs`.

use crate::ber::{
    OCTET_STRING, Reader, SEQUENCE, decode_text, put_boolean, put_nested, put_octets,
};
use crate::error::{Component, DecodeError};

/// Default maximum nesting of `and`, `or` and `not`.
pub const FILTER_DEPTH_MAX: u8 = 32;

/// Maximum number of filters and substring pieces in one filter, itself included. An item of two
/// octets takes 80 bytes of memory, so a message of 16 MiB could otherwise take 640 MiB.
pub const FILTERS_MAX: usize = 65_536;

/// Identifier octets of the filter choices.
pub mod tag {
    /// `and [0]`.
    pub const AND: u8 = 0xA0;
    /// `or [1]`.
    pub const OR: u8 = 0xA1;
    /// `not [2]`.
    pub const NOT: u8 = 0xA2;
    /// `equalityMatch [3]`.
    pub const EQUALITY: u8 = 0xA3;
    /// `substrings [4]`.
    pub const SUBSTRINGS: u8 = 0xA4;
    /// `greaterOrEqual [5]`.
    pub const GREATER_OR_EQUAL: u8 = 0xA5;
    /// `lessOrEqual [6]`.
    pub const LESS_OR_EQUAL: u8 = 0xA6;
    /// `present [7]`, primitive.
    pub const PRESENT: u8 = 0x87;
    /// `approxMatch [8]`.
    pub const APPROX: u8 = 0xA8;
    /// `extensibleMatch [9]`.
    pub const EXTENSIBLE: u8 = 0xA9;
}

/// A condition on entries, with attributes and values as spelled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Filter<'a> {
    /// True if all parts are; the empty list is true (RFC 4526).
    And(Vec<Filter<'a>>),
    /// At least one of them; the empty list is false (RFC 4526).
    Or(Vec<Filter<'a>>),
    /// True if this part is false.
    Not(Box<Filter<'a>>),
    /// Some value equals this one.
    Equality {
        /// The attribute description.
        attribute: &'a str,
        /// The assertion value.
        value: &'a [u8],
    },
    /// Some value contains these pieces in this order. There is at least one piece.
    Substrings {
        /// The attribute description.
        attribute: &'a str,
        /// Beginning of the value.
        initial: Option<&'a [u8]>,
        /// Pieces between beginning and end, in order and without overlap.
        any: Vec<&'a [u8]>,
        /// End of the value.
        last: Option<&'a [u8]>,
    },
    /// Some value is not less than this one.
    GreaterOrEqual {
        /// The attribute description.
        attribute: &'a str,
        /// The assertion value.
        value: &'a [u8],
    },
    /// Some value is not greater than this one.
    LessOrEqual {
        /// The attribute description.
        attribute: &'a str,
        /// The assertion value.
        value: &'a [u8],
    },
    /// The attribute has a value.
    Present(&'a str),
    /// Some value resembles this one.
    Approx {
        /// The attribute description.
        attribute: &'a str,
        /// The assertion value.
        value: &'a [u8],
    },
    /// Some value matches by the named rule.
    Extensible {
        /// The matching rule; without it, the attribute's equality rule.
        rule: Option<&'a str>,
        /// The attribute description; without it, every attribute the rule applies to.
        attribute: Option<&'a str>,
        /// The assertion value.
        value: &'a [u8],
        /// Whether the values in the entry's name count too.
        dn_attributes: bool,
    },
    /// A choice unknown to this server. It evaluates to Undefined, because "the type of filtering
    /// requested is not implemented" (RFC 4511 §4.5.1.7).
    Unrecognised {
        /// The identifier octet.
        tag: u8,
        /// The content octets.
        content: &'a [u8],
    },
}

impl<'a> Filter<'a> {
    /// Reads one filter that nests at most `depth_max` levels of `and`, `or` and `not`.
    #[inline]
    pub fn decode(reader: &mut Reader<'a>, depth_max: u8) -> Result<Self, DecodeError> {
        let (tag, content) = reader.element()?;
        let mut budget = Budget {
            depth_max,
            parts_left: FILTERS_MAX - 1,
        };
        choice(tag, reader.deeper(content)?, depth_max, &mut budget)
    }

    /// Writes the filter.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Filter::And(filters) => put_filters(out, tag::AND, filters),
            Filter::Or(filters) => put_filters(out, tag::OR, filters),
            Filter::Not(filter) => put_nested(out, tag::NOT, |out| filter.encode(out)),
            Filter::Equality { attribute, value } => {
                put_assertion(out, tag::EQUALITY, attribute, value);
            }
            Filter::Substrings {
                attribute,
                initial,
                any,
                last,
            } => {
                put_nested(out, tag::SUBSTRINGS, |out| {
                    put_octets(out, OCTET_STRING, attribute.as_bytes());
                    put_nested(out, SEQUENCE, |out| put_pieces(out, *initial, any, *last));
                });
            }
            Filter::GreaterOrEqual { attribute, value } => {
                put_assertion(out, tag::GREATER_OR_EQUAL, attribute, value);
            }
            Filter::LessOrEqual { attribute, value } => {
                put_assertion(out, tag::LESS_OR_EQUAL, attribute, value);
            }
            Filter::Present(attribute) => put_octets(out, tag::PRESENT, attribute.as_bytes()),
            Filter::Approx { attribute, value } => {
                put_assertion(out, tag::APPROX, attribute, value);
            }
            Filter::Extensible {
                rule,
                attribute,
                value,
                dn_attributes,
            } => {
                put_nested(out, tag::EXTENSIBLE, |out| {
                    put_extensible(out, *rule, *attribute, value, *dn_attributes);
                });
            }
            Filter::Unrecognised { tag, content } => put_octets(out, *tag, content),
        }
    }
}

/// Remaining limits while a filter is decoded.
struct Budget {
    depth_max: u8,
    parts_left: usize,
}

impl Budget {
    fn take_part(&mut self) -> Result<(), DecodeError> {
        match self.parts_left.checked_sub(1) {
            Some(left) => self.parts_left = left,
            None => {
                return Err(DecodeError::TooMany {
                    what: Component::Filters,
                    limit: FILTERS_MAX as u32,
                });
            }
        }
        Ok(())
    }

    fn depth_below(&self, depth_left: u8) -> Result<u8, DecodeError> {
        depth_left.checked_sub(1).ok_or(DecodeError::FilterTooDeep {
            limit: self.depth_max,
        })
    }
}

/// The filter with this identifier octet; recursion ends when `depth_left` is used up.
#[inline]
fn choice<'a>(
    tag: u8,
    content: Reader<'a>,
    depth_left: u8,
    budget: &mut Budget,
) -> Result<Filter<'a>, DecodeError> {
    match tag {
        tag::EQUALITY => {
            let (attribute, value) = assertion(content)?;
            Ok(Filter::Equality { attribute, value })
        }
        tag::PRESENT => decode_text(content.rest()).map(Filter::Present),
        _ => other_choice(tag, content, depth_left, budget),
    }
}

fn other_choice<'a>(
    tag: u8,
    content: Reader<'a>,
    depth_left: u8,
    budget: &mut Budget,
) -> Result<Filter<'a>, DecodeError> {
    match tag {
        tag::AND => filters(content, depth_left, budget).map(Filter::And),
        tag::OR => filters(content, depth_left, budget).map(Filter::Or),
        tag::NOT => not(content, depth_left, budget),
        tag::SUBSTRINGS => substrings(content, budget),
        tag::GREATER_OR_EQUAL => {
            let (attribute, value) = assertion(content)?;
            Ok(Filter::GreaterOrEqual { attribute, value })
        }
        tag::LESS_OR_EQUAL => {
            let (attribute, value) = assertion(content)?;
            Ok(Filter::LessOrEqual { attribute, value })
        }
        tag::APPROX => {
            let (attribute, value) = assertion(content)?;
            Ok(Filter::Approx { attribute, value })
        }
        tag::EXTENSIBLE => extensible(content),
        tag => Ok(Filter::Unrecognised {
            tag,
            content: content.rest(),
        }),
    }
}

fn filters<'a>(
    mut content: Reader<'a>,
    depth_left: u8,
    budget: &mut Budget,
) -> Result<Vec<Filter<'a>>, DecodeError> {
    let depth_left = budget.depth_below(depth_left)?;
    let mut filters = Vec::new();
    while !content.is_empty() {
        budget.take_part()?;
        let (tag, inner) = content.element()?;
        filters.push(choice(tag, content.deeper(inner)?, depth_left, budget)?);
    }
    Ok(filters)
}

fn not<'a>(
    mut content: Reader<'a>,
    depth_left: u8,
    budget: &mut Budget,
) -> Result<Filter<'a>, DecodeError> {
    let depth_left = budget.depth_below(depth_left)?;
    budget.take_part()?;
    let (tag, inner) = content.element()?;
    let filter = choice(tag, content.deeper(inner)?, depth_left, budget)?;
    // `not` is a tagged element, not a SEQUENCE: nothing may follow what it negates.
    content.finish()?;
    Ok(Filter::Not(Box::new(filter)))
}

/// An AttributeValueAssertion (RFC 4511 §4.1.6): attribute description and assertion value.
#[inline(always)]
pub(crate) fn assertion(mut parts: Reader<'_>) -> Result<(&str, &[u8]), DecodeError> {
    let attribute = parts.text(OCTET_STRING)?;
    let value = parts.expect(OCTET_STRING)?;
    parts.finish_extensible()?;
    Ok((attribute, value))
}

/// A SubstringFilter: `initial` only first, `final` only last, at least one piece.
fn substrings<'a>(mut parts: Reader<'a>, budget: &mut Budget) -> Result<Filter<'a>, DecodeError> {
    let attribute = parts.text(OCTET_STRING)?;
    let mut pieces = parts.nested(SEQUENCE)?;
    parts.finish_extensible()?;
    if pieces.is_empty() {
        return Err(DecodeError::EmptyList {
            what: Component::Substrings,
        });
    }
    let initial = pieces.optional(0x80)?;
    let mut any = Vec::new();
    while let Some(piece) = pieces.optional(0x81)? {
        budget.take_part()?;
        any.push(piece);
    }
    let last = pieces.optional(0x82)?;
    match pieces.peek_tag() {
        None => Ok(Filter::Substrings {
            attribute,
            initial,
            any,
            last,
        }),
        Some(0x80..=0x82) => Err(DecodeError::SubstringsOutOfOrder),
        Some(tag) => Err(DecodeError::UnknownChoice {
            what: Component::Substring,
            tag,
        }),
    }
}

fn extensible(mut parts: Reader<'_>) -> Result<Filter<'_>, DecodeError> {
    let rule = parts.optional_text(0x81)?;
    let attribute = parts.optional_text(0x82)?;
    let value = parts.expect(0x83)?;
    let dn_attributes = parts.boolean_or_false(0x84)?;
    parts.finish_extensible()?;
    // RFC 4511 §4.5.1.7.7: without a rule the type must be there.
    if rule.is_none() && attribute.is_none() {
        return Err(DecodeError::NoRuleAndNoAttribute);
    }
    Ok(Filter::Extensible {
        rule,
        attribute,
        value,
        dn_attributes,
    })
}

fn put_filters(out: &mut Vec<u8>, tag: u8, filters: &[Filter<'_>]) {
    put_nested(out, tag, |out| {
        for filter in filters {
            filter.encode(out);
        }
    });
}

fn put_assertion(out: &mut Vec<u8>, tag: u8, attribute: &str, value: &[u8]) {
    put_nested(out, tag, |out| {
        put_octets(out, OCTET_STRING, attribute.as_bytes());
        put_octets(out, OCTET_STRING, value);
    });
}

fn put_pieces(out: &mut Vec<u8>, initial: Option<&[u8]>, any: &[&[u8]], last: Option<&[u8]>) {
    if let Some(initial) = initial {
        put_octets(out, 0x80, initial);
    }
    for piece in any {
        put_octets(out, 0x81, piece);
    }
    if let Some(last) = last {
        put_octets(out, 0x82, last);
    }
}

fn put_extensible(
    out: &mut Vec<u8>,
    rule: Option<&str>,
    attribute: Option<&str>,
    value: &[u8],
    dn_attributes: bool,
) {
    if let Some(rule) = rule {
        put_octets(out, 0x81, rule.as_bytes());
    }
    if let Some(attribute) = attribute {
        put_octets(out, 0x82, attribute.as_bytes());
    }
    put_octets(out, 0x83, value);
    if dn_attributes {
        put_boolean(out, 0x84, true);
    }
}

#[cfg(test)]
mod tests;
