//! Distinguished names as text (RFC 4514): read as spelled, written with the required escapes.
//!
//! Reading copies nothing unless a value has escapes, and allocates nothing for RDNs of one value,
//! because every request of every client passes here. Beyond RFC 4514 the parser accepts the
//! spellings of older clients (RFC 2253 §4): spaces around `,` `=` `+`, `;` as separator, quoted
//! values, `OID.` before a numeric attribute type. The schema gives types and values their meaning.

use std::borrow::Cow;
use std::fmt::{self, Write as _};

use crate::error_text::TextError;

/// A distinguished name as spelled. No RDNs: the empty name (the root DSE).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name<'a> {
    /// The leaf first, as in the text.
    pub rdns: Vec<Rdn<'a>>,
}

/// One relative distinguished name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rdn<'a> {
    /// The RDN as it stood in the text, without spaces around it.
    pub spelled: &'a str,
    /// Attribute values of the RDN, at least one.
    pub values: RdnValues<'a>,
}

/// The attribute values of an RDN: never empty, and on the heap only beyond the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RdnValues<'a> {
    first: AttributeValue<'a>,
    rest: Vec<AttributeValue<'a>>,
}

/// One `type=value` of an RDN.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttributeValue<'a> {
    /// Name or numeric OID of the attribute type, as spelled, without an `OID.` prefix.
    pub attribute: &'a str,
    /// The value without escapes; for the `#` form, the content of the BER string.
    pub value: Cow<'a, [u8]>,
}

/// Reads a distinguished name. Text of nothing but spaces is the empty name.
pub fn parse_name(text: &str) -> Result<Name<'_>, TextError> {
    Ok(Name {
        rdns: rdns(text).collect::<Result<_, _>>()?,
    })
}

/// Reads exactly one RDN, as in the `newrdn` of a modify DN request.
pub fn parse_rdn(text: &str) -> Result<Rdn<'_>, TextError> {
    let mut rdns = rdns(text);
    let Some(rdn) = rdns.next() else {
        return Err(TextError::expected(
            "a relative distinguished name",
            text.as_bytes(),
            0,
        ));
    };
    match rdns.next() {
        None => rdn,
        Some(_) => rdn.and(Err(TextError::new(0, "expected one RDN, got several"))),
    }
}

/// Calls `visit` on each RDN, leaf first, and stops at the first error of either.
/// Allocates nothing unless an RDN has several values or a value has escapes.
pub fn for_each_rdn<'a, E: From<TextError>>(
    text: &'a str,
    mut visit: impl FnMut(Rdn<'a>) -> Result<(), E>,
) -> Result<(), E> {
    for rdn in rdns(text) {
        visit(rdn?)?;
    }
    Ok(())
}

/// The RDNs of a name, leaf first. Ends after the first error.
pub fn rdns(text: &str) -> Rdns<'_> {
    let mut parser = Parser {
        text,
        bytes: text.as_bytes(),
        at: 0,
    };
    parser.skip_spaces();
    let more = parser.at < text.len();
    Rdns { parser, more }
}

/// Iterator over the RDNs of a name; see [`rdns`].
#[derive(Clone, Debug)]
pub struct Rdns<'a> {
    parser: Parser<'a>,
    /// Whether another RDN has to follow.
    more: bool,
}

impl<'a> Iterator for Rdns<'a> {
    type Item = Result<Rdn<'a>, TextError>;

    fn next(&mut self) -> Option<Self::Item> {
        if !self.more {
            return None;
        }
        let rdn = self.parser.rdn();
        self.more = rdn.is_ok() && matches!(self.parser.peek(), Some(b',' | b';'));
        if self.more {
            self.parser.at += 1;
        }
        Some(rdn)
    }
}

impl std::iter::FusedIterator for Rdns<'_> {}

impl<'a> RdnValues<'a> {
    /// The values of an RDN made by a program, not read from text.
    pub fn new(first: AttributeValue<'a>, rest: Vec<AttributeValue<'a>>) -> RdnValues<'a> {
        RdnValues { first, rest }
    }

    /// The first value, as spelled.
    pub fn first(&self) -> &AttributeValue<'a> {
        &self.first
    }

    /// All values, in the order of the text.
    pub fn iter(&self) -> impl Iterator<Item = &AttributeValue<'a>> + Clone {
        std::iter::once(&self.first).chain(&self.rest)
    }

    /// Number of values, at least 1.
    #[expect(clippy::len_without_is_empty, reason = "never empty")]
    pub fn len(&self) -> usize {
        1 + self.rest.len()
    }
}

/// Appends `value` with the escapes of RFC 4514 §2.4. Bytes that are not UTF-8 become hex pairs, so
/// the result is always text and parses to equal bytes.
pub fn escape_value(out: &mut String, value: &[u8]) {
    let last = value.len().saturating_sub(1);
    let mut at = 0;
    for chunk in value.utf8_chunks() {
        for character in chunk.valid().chars() {
            match character {
                '"' | '+' | ',' | ';' | '<' | '>' | '\\' => out.extend(['\\', character]),
                ' ' if at == 0 || at == last => out.push_str("\\ "),
                '#' if at == 0 => out.push_str("\\#"),
                '\0' => out.push_str("\\00"),
                _ => out.push(character),
            }
            at += character.len_utf8();
        }
        for byte in chunk.invalid() {
            // Writing to a String cannot fail.
            let _ = write!(out, "\\{byte:02x}");
        }
        at += chunk.invalid().len();
    }
}

/// An RDN as RFC 4514 §2 writes it: as it is spelled, if it is spelled so already. Spaces around
/// types and values, quotes, `OID.` before a type and `#` before BER are for reading only (§3, RFC
/// 2253 §4). A text that is no RDN stays as it is.
pub fn string_form(rdn: &str) -> Cow<'_, str> {
    if !may_be_loose(rdn.as_bytes()) {
        return Cow::Borrowed(rdn);
    }
    match parse_rdn(rdn) {
        Ok(parsed) => Cow::Owned(parsed.to_string()),
        Err(_) => Cow::Borrowed(rdn),
    }
}

/// The first RDN of a DN in its string form ([`string_form`]); empty for the empty DN.
pub fn leaf_form(dn: &str) -> String {
    match rdns(dn).next() {
        Some(Ok(rdn)) => string_form(rdn.spelled).into_owned(),
        _ => String::new(),
    }
}

/// A DN with each of its RDNs in the string form ([`string_form`]).
pub fn dn_form(dn: &str) -> String {
    let forms: Vec<_> = rdns(dn)
        .flatten()
        .map(|it| string_form(it.spelled))
        .collect();
    forms.join(",")
}

/// `false` only for an RDN without any of the spellings that are accepted but not written.
fn may_be_loose(rdn: &[u8]) -> bool {
    let is_odd = |pair: &[u8]| {
        matches!(
            pair,
            [b' ', b'=' | b'+'] | [b'=' | b'+', b' '] | [b'=', b'#' | b'"']
        )
    };
    rdn.starts_with(b" ")
        || rdn.ends_with(b" ")
        || rdn.windows(2).any(is_odd)
        || rdn.windows(4).any(|it| it.eq_ignore_ascii_case(b"oid."))
}

impl fmt::Display for AttributeValue<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut value = String::with_capacity(self.value.len());
        escape_value(&mut value, &self.value);
        write!(f, "{}={value}", self.attribute)
    }
}

/// The values with their escapes, not the text as spelled.
impl fmt::Display for Rdn<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, value) in self.values.iter().enumerate() {
            let separator = if index == 0 { "" } else { "+" };
            write!(f, "{separator}{value}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, rdn) in self.rdns.iter().enumerate() {
            let separator = if index == 0 { "" } else { "," };
            write!(f, "{separator}{rdn}")?;
        }
        Ok(())
    }
}

/// Meaning of a byte inside a plain value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Plain,
    Space,
    Escape,
    /// `,` `;` `+`: the value ends.
    End,
    /// `"` `<` `>` NUL: only escaped.
    Forbidden,
}

fn class(byte: u8) -> Class {
    match byte {
        b' ' => Class::Space,
        b'\\' => Class::Escape,
        b',' | b';' | b'+' => Class::End,
        b'"' | b'<' | b'>' | 0 => Class::Forbidden,
        _ => Class::Plain,
    }
}

/// For a text that is obviously no DN, such as a domain or a user name.
const NO_DN: &str = "expected a DN such as dc=acme,dc=example, got a text without '='";

#[derive(Clone, Debug)]
struct Parser<'a> {
    text: &'a str,
    bytes: &'a [u8],
    /// 0 <= at <= bytes.len()
    at: usize,
}

impl<'a> Parser<'a> {
    /// Reads one RDN and stops at the end or at the separator after it.
    fn rdn(&mut self) -> Result<Rdn<'a>, TextError> {
        self.skip_spaces();
        let start = self.at;
        let (first, mut end) = self.attribute_value()?;
        let mut rest = Vec::new();
        while self.peek() == Some(b'+') {
            self.at += 1;
            let (value, value_end) = self.attribute_value()?;
            rest.push(value);
            end = value_end;
        }
        Ok(Rdn {
            spelled: self.slice(start, end),
            values: RdnValues { first, rest },
        })
    }

    /// Reads `type=value` and the spaces around it; also returns the end of the value's text.
    fn attribute_value(&mut self) -> Result<(AttributeValue<'a>, usize), TextError> {
        self.skip_spaces();
        let attribute = self.attribute()?;
        self.skip_spaces();
        if self.peek() != Some(b'=') {
            if !self.bytes.contains(&b'=') {
                return Err(TextError::new(self.at, NO_DN));
            }
            return Err(self.expected("'=' after the attribute type"));
        }
        self.at += 1;
        self.skip_spaces();
        let (value, end) = match self.peek() {
            Some(b'#') => self.hex_value()?,
            Some(b'"') => self.quoted_value()?,
            _ => self.plain_value()?,
        };
        self.skip_spaces();
        match self.peek() {
            None | Some(b',' | b';' | b'+') => Ok((AttributeValue { attribute, value }, end)),
            Some(_) => Err(self.expected("',' or '+' after the value")),
        }
    }

    fn attribute(&mut self) -> Result<&'a str, TextError> {
        let start = self.at;
        while self.peek().is_some_and(is_attribute_byte) {
            self.at += 1;
        }
        let spelled = self.slice(start, self.at);
        match spelled.as_bytes() {
            [] => Err(self.expected("an attribute type")),
            [b'o' | b'O', b'i' | b'I', b'd' | b'D', b'.', b'0'..=b'9', ..] => {
                Ok(spelled.get(4..).unwrap_or_default())
            }
            [b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z', ..] => Ok(spelled),
            _ => Err(TextError::expected("an attribute type", self.bytes, start)),
        }
    }

    /// A value without quotes. Spaces before its end do not belong to it unless escaped.
    fn plain_value(&mut self) -> Result<(Cow<'a, [u8]>, usize), TextError> {
        let start = self.at;
        let mut end = start;
        let mut value = Cow::Borrowed(&[][..]);
        // Everything before `copied` is in `value`, as soon as there was an escape.
        let mut copied = start;
        while let Some(byte) = self.peek() {
            match class(byte) {
                Class::Plain => {
                    self.at += 1;
                    end = self.at;
                }
                Class::Space => self.at += 1,
                Class::End => break,
                Class::Forbidden => return Err(self.expected("an escaped character")),
                Class::Escape => {
                    let plain = self.bytes.get(copied..self.at).unwrap_or_default();
                    let character = self.escape()?;
                    let owned = value.to_mut();
                    owned.extend_from_slice(plain);
                    owned.push(character);
                    copied = self.at;
                    end = self.at;
                }
            }
        }
        let plain = self.bytes.get(copied..end).unwrap_or_default();
        match &mut value {
            Cow::Owned(owned) => owned.extend_from_slice(plain),
            Cow::Borrowed(borrowed) => *borrowed = plain,
        }
        Ok((value, end))
    }

    /// RFC 2253 §4: `"` … `"`, in which only `"` and `\` need an escape.
    fn quoted_value(&mut self) -> Result<(Cow<'a, [u8]>, usize), TextError> {
        self.at += 1;
        let start = self.at;
        let mut owned: Option<Vec<u8>> = None;
        let mut copied = start;
        loop {
            match self.peek() {
                None => return Err(self.expected("'\"' at the end of the quoted value")),
                Some(b'"') => break,
                Some(b'\\') => {
                    let plain = self.bytes.get(copied..self.at).unwrap_or_default();
                    let character = self.escape()?;
                    let value = owned.get_or_insert_default();
                    value.extend_from_slice(plain);
                    value.push(character);
                    copied = self.at;
                }
                Some(_) => self.at += 1,
            }
        }
        let plain = self.bytes.get(copied..self.at).unwrap_or_default();
        self.at += 1;
        let value = match owned {
            None => Cow::Borrowed(plain),
            Some(mut value) => {
                value.extend_from_slice(plain);
                Cow::Owned(value)
            }
        };
        Ok((value, self.at))
    }

    /// The `#` form: hex pairs of a BER-encoded string, of which the content is the value.
    fn hex_value(&mut self) -> Result<(Cow<'a, [u8]>, usize), TextError> {
        let start = self.at;
        self.at += 1;
        let mut ber = Vec::new();
        while self.peek().is_some_and(|byte| byte.is_ascii_hexdigit()) {
            ber.push(self.hex_pair()?);
        }
        match ber_string(&ber) {
            Some(content) => Ok((Cow::Owned(content.to_vec()), self.at)),
            None => Err(TextError::new(
                start,
                "expected the hex pairs of a BER string after '#'",
            )),
        }
    }

    /// After a `\`: a special character, or the hex pair of any byte (RFC 4514 §3, `pair`).
    fn escape(&mut self) -> Result<u8, TextError> {
        self.at += 1;
        match self.peek() {
            Some(byte @ (b'"' | b'+' | b',' | b';' | b'<' | b'>' | b'\\' | b' ' | b'#' | b'=')) => {
                self.at += 1;
                Ok(byte)
            }
            Some(byte) if byte.is_ascii_hexdigit() => self.hex_pair(),
            _ => Err(self.expected("a special character or two hex digits after '\\'")),
        }
    }

    fn hex_pair(&mut self) -> Result<u8, TextError> {
        let mut byte = 0;
        for _ in 0..2 {
            let Some(digit) = self.peek().and_then(|byte| char::from(byte).to_digit(16)) else {
                return Err(self.expected("a hex digit"));
            };
            byte = byte << 4 | digit as u8;
            self.at += 1;
        }
        Ok(byte)
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn skip_spaces(&mut self) {
        while self.peek() == Some(b' ') {
            self.at += 1;
        }
    }

    fn slice(&self, start: usize, end: usize) -> &'a str {
        self.text
            .get(start..end)
            .expect("both ends are next to ASCII characters or the text's end")
    }

    fn expected(&self, what: &str) -> TextError {
        TextError::expected(what, self.bytes, self.at)
    }
}

/// RFC 4512 §1.4 `oid`, and the underscore that some directories use.
fn is_attribute_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_')
}

/// The content of a whole BER string of any of the universal string and time types.
fn ber_string(ber: &[u8]) -> Option<&[u8]> {
    let [4 | 12 | 18..=20 | 22..=27, rest @ ..] = ber else {
        return None;
    };
    let (length, content) = match rest {
        [length @ 0..=0x7f, content @ ..] => (usize::from(*length), content),
        [0x81, a, content @ ..] => (usize::from(*a), content),
        [0x82, a, b, content @ ..] => (usize::from(u16::from_be_bytes([*a, *b])), content),
        [0x83, a, b, c, content @ ..] => (
            usize::try_from(u32::from_be_bytes([0, *a, *b, *c])).ok()?,
            content,
        ),
        _ => return None,
    };
    (content.len() == length).then_some(content)
}

#[cfg(test)]
#[path = "name/tests.rs"]
mod tests;
