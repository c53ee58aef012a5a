//! Search filters as text (RFC 4515).
//!
//! Beyond the RFC: white space around filters, and one item without parentheses, as `ldapsearch`
//! users write it. `(&)` and `(|)` are true and false (RFC 4526).

use std::fmt;

use crate::ber::{OCTET_STRING, SEQUENCE, put_boolean, put_nested, put_octets};
use crate::error_text::TextError;
use crate::filter::{FILTER_DEPTH_MAX, FILTERS_MAX, Filter, tag};

/// Identifier octets inside `SubstringFilter.substrings` (RFC 4511 §4.5.1).
mod piece {
    pub(super) const INITIAL: u8 = 0x80;
    pub(super) const ANY: u8 = 0x81;
    pub(super) const FINAL: u8 = 0x82;
}

/// Identifier octets inside `MatchingRuleAssertion` (RFC 4511 §4.5.1).
mod assertion {
    pub(super) const MATCHING_RULE: u8 = 0x81;
    pub(super) const TYPE: u8 = 0x82;
    pub(super) const MATCH_VALUE: u8 = 0x83;
    pub(super) const DN_ATTRIBUTES: u8 = 0x84;
}

/// Reads a filter into its BER form, for [`Filter::decode`]; `and`, `or` and `not` may nest as
/// deep as [`FILTER_DEPTH_MAX`].
pub fn parse_filter(text: &str) -> Result<Vec<u8>, TextError> {
    parse_filter_within(text, FILTER_DEPTH_MAX)
}

/// Like [`parse_filter`], with another limit for the nesting of `and`, `or` and `not`.
pub fn parse_filter_within(text: &str, depth_max: u8) -> Result<Vec<u8>, TextError> {
    let mut out = Vec::with_capacity(text.len() + 16);
    let mut parser = Parser {
        text: text.as_bytes(),
        at: 0,
        filters: 0,
    };
    parser.skip_space();
    match parser.peek() {
        Some(b'(') => parser.filter(&mut out, depth_max)?,
        _ => parser.item(&mut out)?,
    }
    parser.skip_space();
    match parser.peek() {
        None => Ok(out),
        Some(_) => Err(parser.expected("the end of the filter")),
    }
}

struct Parser<'t> {
    text: &'t [u8],
    /// 0 <= at <= text.len()
    at: usize,
    /// Number of filters begun.
    filters: usize,
}

/// The text after an operator: its bytes without escapes, and the positions of `*`.
struct Pattern {
    bytes: Vec<u8>,
    stars: Vec<usize>,
}

impl<'t> Parser<'t> {
    /// `( … )` and the white space after it.
    fn filter(&mut self, out: &mut Vec<u8>, depth: u8) -> Result<(), TextError> {
        self.pass(b'(', "'('")?;
        self.skip_space();
        match self.peek() {
            Some(b'&') => self.list(out, tag::AND, depth)?,
            Some(b'|') => self.list(out, tag::OR, depth)?,
            Some(b'!') => self.not(out, depth)?,
            _ => self.item(out)?,
        }
        self.pass(b')', "')'")?;
        self.skip_space();
        Ok(())
    }

    fn list(&mut self, out: &mut Vec<u8>, tag: u8, depth: u8) -> Result<(), TextError> {
        let depth = self.deeper(depth)?;
        let mut result = Ok(());
        put_nested(out, tag, |out| {
            while result.is_ok() && self.peek() == Some(b'(') {
                result = self.filter(out, depth);
            }
        });
        result
    }

    fn not(&mut self, out: &mut Vec<u8>, depth: u8) -> Result<(), TextError> {
        let depth = self.deeper(depth)?;
        let mut result = Ok(());
        put_nested(out, tag::NOT, |out| result = self.filter(out, depth));
        result
    }

    /// Skips the operator; returns the number of levels that may be nested below it.
    fn deeper(&mut self, depth: u8) -> Result<u8, TextError> {
        self.count_filter()?;
        let Some(depth) = depth.checked_sub(1) else {
            return Err(TextError::new(
                self.at,
                "expected a filter nested less deep",
            ));
        };
        self.at += 1;
        self.skip_space();
        Ok(depth)
    }

    fn count_filter(&mut self) -> Result<(), TextError> {
        self.filters += 1;
        if self.filters > FILTERS_MAX {
            let message = format!("expected at most {FILTERS_MAX} filters, got more");
            return Err(TextError::new(self.at, message));
        }
        Ok(())
    }

    /// A condition on one attribute, up to the closing parenthesis or the end.
    fn item(&mut self, out: &mut Vec<u8>) -> Result<(), TextError> {
        self.count_filter()?;
        let attribute = self.description();
        if self.peek() == Some(b':') {
            return self.extensible(out, attribute);
        }
        if attribute.is_empty() {
            return Err(self.expected("an attribute description"));
        }
        let rest = self.text.get(self.at..).unwrap_or_default();
        let (tag, length) = match rest {
            [b'=', ..] => (tag::EQUALITY, 1),
            [b'>', b'=', ..] => (tag::GREATER_OR_EQUAL, 2),
            [b'<', b'=', ..] => (tag::LESS_OR_EQUAL, 2),
            [b'~', b'=', ..] => (tag::APPROX, 2),
            _ => return Err(self.expected("'=', '>=', '<=', '~=' or ':'")),
        };
        self.at += length;
        if tag == tag::EQUALITY {
            let pattern = self.pattern()?;
            put_pattern(out, attribute, &pattern);
            return Ok(());
        }
        let value = self.value()?;
        put_assertion(out, tag, attribute, &value);
        Ok(())
    }

    /// `type:dn:rule:=value`, of which `dn` and either of the others may be missing.
    fn extensible(&mut self, out: &mut Vec<u8>, attribute: &[u8]) -> Result<(), TextError> {
        let mut dn_attributes = false;
        let mut rule = None;
        loop {
            self.pass(b':', "':'")?;
            if self.peek() == Some(b'=') {
                break;
            }
            let start = self.at;
            match self.description() {
                [] => return Err(self.expected("'dn', a matching rule or '='")),
                word if !dn_attributes && rule.is_none() && word.eq_ignore_ascii_case(b"dn") => {
                    dn_attributes = true;
                }
                word if rule.is_none() => rule = Some(word),
                _ => return Err(TextError::expected("'='", self.text, start)),
            }
        }
        if attribute.is_empty() && rule.is_none() {
            return Err(self.expected("an attribute description or a matching rule before ':='"));
        }
        self.at += 1;
        let value = self.value()?;
        put_nested(out, tag::EXTENSIBLE, |out| {
            if let Some(rule) = rule {
                put_octets(out, assertion::MATCHING_RULE, rule);
            }
            if !attribute.is_empty() {
                put_octets(out, assertion::TYPE, attribute);
            }
            put_octets(out, assertion::MATCH_VALUE, &value);
            // FALSE is the default, which is not encoded (RFC 4511 §5.1 (4)).
            if dn_attributes {
                put_boolean(out, assertion::DN_ATTRIBUTES, true);
            }
        });
        Ok(())
    }

    /// An attribute description or matching rule; empty if there is none.
    fn description(&mut self) -> &'t [u8] {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let length = rest
            .iter()
            .take_while(|byte| is_description_byte(**byte))
            .count();
        self.at += length;
        rest.get(..length).unwrap_or_default()
    }

    /// A value in which `*` must be escaped.
    fn value(&mut self) -> Result<Vec<u8>, TextError> {
        let start = self.at;
        let pattern = self.pattern()?;
        if pattern.stars.is_empty() {
            return Ok(pattern.bytes);
        }
        let passed = self.text.get(start..).unwrap_or_default();
        let star = passed
            .iter()
            .position(|byte| *byte == b'*')
            .unwrap_or_default();
        Err(TextError::new(
            start + star,
            "expected '\\2a' here, got '*'",
        ))
    }

    fn pattern(&mut self) -> Result<Pattern, TextError> {
        let mut pattern = Pattern {
            bytes: Vec::new(),
            stars: Vec::new(),
        };
        loop {
            match self.peek() {
                None | Some(b')') => return Ok(pattern),
                Some(b'(' | 0) => return Err(self.expected("an escaped character or ')'")),
                Some(b'*') => pattern.stars.push(pattern.bytes.len()),
                Some(b'\\') => pattern.bytes.push(self.escape()?),
                Some(byte) => pattern.bytes.push(byte),
            }
            self.at += 1;
        }
    }

    /// A backslash and two hex digits, of which the last is left to be passed.
    fn escape(&mut self) -> Result<u8, TextError> {
        let mut byte = 0;
        for _ in 0..2 {
            self.at += 1;
            let Some(digit) = self.peek().and_then(|byte| char::from(byte).to_digit(16)) else {
                return Err(self.expected("two hex digits after '\\'"));
            };
            byte = byte << 4 | digit as u8;
        }
        Ok(byte)
    }

    fn pass(&mut self, byte: u8, what: &str) -> Result<(), TextError> {
        if self.peek() != Some(byte) {
            return Err(self.expected(what));
        }
        self.at += 1;
        Ok(())
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.at += 1;
        }
    }

    fn expected(&self, what: &str) -> TextError {
        TextError::expected(what, self.text, self.at)
    }
}

/// RFC 4512 §2.5 and §1.4, and the underscore that some directories use.
fn is_description_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b';' | b'.' | b'_')
}

fn put_assertion(out: &mut Vec<u8>, tag: u8, attribute: &[u8], value: &[u8]) {
    put_nested(out, tag, |out| {
        put_octets(out, OCTET_STRING, attribute);
        put_octets(out, OCTET_STRING, value);
    });
}

/// Appends the assertion after `=`: equality without a star, presence if there is only a star, else
/// substrings. Empty pieces between two stars match anywhere and are left out.
fn put_pattern(out: &mut Vec<u8>, attribute: &[u8], pattern: &Pattern) {
    let Pattern { bytes, stars } = pattern;
    let (Some(first), Some(last)) = (stars.first(), stars.last()) else {
        return put_assertion(out, tag::EQUALITY, attribute, bytes);
    };
    if bytes.is_empty() {
        return put_octets(out, tag::PRESENT, attribute);
    }
    let put_piece = |out: &mut Vec<u8>, tag: u8, from: usize, to: usize| {
        if let Some(bytes) = bytes.get(from..to).filter(|bytes| !bytes.is_empty()) {
            put_octets(out, tag, bytes);
        }
    };
    put_nested(out, tag::SUBSTRINGS, |out| {
        put_octets(out, OCTET_STRING, attribute);
        put_nested(out, SEQUENCE, |out| {
            put_piece(out, piece::INITIAL, 0, *first);
            for (from, to) in stars.iter().zip(stars.iter().skip(1)) {
                put_piece(out, piece::ANY, *from, *to);
            }
            put_piece(out, piece::FINAL, *last, bytes.len());
        });
    });
}

/// The filter as text of RFC 4515, on one line. A choice that is not known has no text in the RFC;
/// it is shown as `(?=unrecognised 0x…)`, which does not parse.
impl fmt::Display for Filter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Filter::And(filters) => print_list(f, "&", filters),
            Filter::Or(filters) => print_list(f, "|", filters),
            Filter::Not(filter) => write!(f, "(!{filter})"),
            Filter::Equality { attribute, value } => {
                write!(f, "({attribute}={})", Escaped(value))
            }
            Filter::Substrings {
                attribute,
                initial,
                any,
                last,
            } => {
                write!(f, "({attribute}={}*", Escaped(initial.unwrap_or_default()))?;
                for piece in any {
                    write!(f, "{}*", Escaped(piece))?;
                }
                write!(f, "{})", Escaped(last.unwrap_or_default()))
            }
            Filter::GreaterOrEqual { attribute, value } => {
                write!(f, "({attribute}>={})", Escaped(value))
            }
            Filter::LessOrEqual { attribute, value } => {
                write!(f, "({attribute}<={})", Escaped(value))
            }
            Filter::Present(attribute) => write!(f, "({attribute}=*)"),
            Filter::Approx { attribute, value } => write!(f, "({attribute}~={})", Escaped(value)),
            Filter::Extensible {
                rule,
                attribute,
                value,
                dn_attributes,
            } => {
                write!(f, "({}", attribute.unwrap_or_default())?;
                f.write_str(if *dn_attributes { ":dn" } else { "" })?;
                if let Some(rule) = rule {
                    write!(f, ":{rule}")?;
                }
                write!(f, ":={})", Escaped(value))
            }
            Filter::Unrecognised { tag, .. } => write!(f, "(?=unrecognised 0x{tag:02x})"),
        }
    }
}

fn print_list(f: &mut fmt::Formatter<'_>, operator: &str, filters: &[Filter<'_>]) -> fmt::Result {
    write!(f, "({operator}")?;
    for filter in filters {
        write!(f, "{filter}")?;
    }
    f.write_str(")")
}

/// A value with the escapes of RFC 4515 §3. Control characters are escaped too, so that a filter
/// in a log stays on its line, and bytes that are not UTF-8, so that it is text.
struct Escaped<'a>(&'a [u8]);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for chunk in self.0.utf8_chunks() {
            for character in chunk.valid().chars() {
                match character {
                    '\0'..='\x1f' | '\x7f' | '(' | ')' | '*' | '\\' => {
                        write!(f, "\\{:02x}", u32::from(character))?;
                    }
                    _ => fmt::Write::write_char(f, character)?,
                }
            }
            for byte in chunk.invalid() {
                write!(f, "\\{byte:02x}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "filter_text/tests.rs"]
mod tests;
