//! LDAP URLs (RFC 4516): `ldap://host:port/dn?attributes?scope?filter?extensions`.
//!
//! `ldaps` and `ldapi` are the schemes of common use; an `ldapi` host is a percent-encoded path.
//! Scope `subordinate` is that of draft-sermersheim-ldap-subordinate-scope.

use std::fmt;
use std::str::FromStr;

use crate::error_text::TextError;
use crate::filter_text::parse_filter;
use crate::name::parse_name;
use crate::request::Scope;

/// How the server is reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum UrlScheme {
    /// TCP, cleartext unless StartTLS is asked for.
    #[default]
    Ldap,
    /// TLS from the first byte.
    Ldaps,
    /// A Unix socket; the host is its path.
    Ldapi,
}

impl UrlScheme {
    /// The scheme in the text before `://`.
    pub const fn name(self) -> &'static str {
        match self {
            UrlScheme::Ldap => "ldap",
            UrlScheme::Ldaps => "ldaps",
            UrlScheme::Ldapi => "ldapi",
        }
    }
}

/// A parsed URL, all parts without percent-encoding. Missing parts have the RFC's defaults: all
/// user attributes, base scope, `(objectClass=*)`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LdapUrl {
    /// How the server is reached.
    pub scheme: UrlScheme,
    /// Name or address, an IPv6 address without its brackets; a path for `ldapi`. Empty for a
    /// server that the reader knows.
    pub host: String,
    /// The port, when given; see [`LdapUrl::port_or_default`].
    pub port: Option<u16>,
    /// The base, which parses as a distinguished name.
    pub dn: String,
    /// Attribute descriptions asked for.
    pub attributes: Vec<String>,
    /// The scope, when given.
    pub scope: Option<Scope>,
    /// The filter, when given; it parses.
    pub filter: Option<String>,
    /// Extensions, in the order of the text.
    pub extensions: Vec<UrlExtension>,
}

/// One extension of a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UrlExtension {
    /// Whether a reader that does not know the extension must not use the URL.
    pub critical: bool,
    /// Name or OID.
    pub kind: String,
    /// The text after `=`.
    pub value: Option<String>,
}

impl LdapUrl {
    /// The port given, or the scheme's: 389, 636; 0 for `ldapi`, which has none.
    pub fn port_or_default(&self) -> u16 {
        self.port.unwrap_or(match self.scheme {
            UrlScheme::Ldap => 389,
            UrlScheme::Ldaps => 636,
            UrlScheme::Ldapi => 0,
        })
    }

    /// Reads a URL.
    pub fn parse(text: &str) -> Result<LdapUrl, TextError> {
        let schemes = [UrlScheme::Ldap, UrlScheme::Ldaps, UrlScheme::Ldapi];
        let (scheme_name, rest) = text.split_once("://").unwrap_or_default();
        let named = |scheme: &UrlScheme| scheme.name().eq_ignore_ascii_case(scheme_name);
        let Some(scheme) = schemes.into_iter().find(named) else {
            let message = "expected 'ldap://', 'ldaps://' or 'ldapi://'";
            return Err(TextError::new(0, message));
        };
        let mut url = LdapUrl {
            scheme,
            ..LdapUrl::default()
        };
        let authority_length = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(authority_length);
        let mut parts = Parts {
            rest: Some(path),
            at: text.len() - path.len(),
        };
        url.read_authority(authority, scheme_name.len() + 3)?;
        if let Some(path) = path.strip_prefix('/') {
            parts = Parts {
                rest: Some(path),
                at: parts.at + 1,
            };
        } else if !path.is_empty() {
            return Err(TextError::expected(
                "'/' after the host",
                text.as_bytes(),
                parts.at,
            ));
        }
        url.read_parts(&mut parts)?;
        Ok(url)
    }

    fn read_authority(&mut self, authority: &str, at: usize) -> Result<(), TextError> {
        if self.scheme == UrlScheme::Ldapi {
            self.host = decode(authority, at)?;
            return Ok(());
        }
        let (host, port) = match authority.strip_prefix('[') {
            Some(rest) => {
                let Some((address, port)) = rest.split_once(']') else {
                    let end = at + authority.len();
                    return Err(TextError::new(end, "expected ']' after the IPv6 address"));
                };
                if address.parse::<std::net::Ipv6Addr>().is_err() {
                    let message = format!("expected an IPv6 address, got '{address}'");
                    return Err(TextError::new(at + 1, message));
                }
                (address.to_owned(), port)
            }
            None => {
                let (host, port) =
                    authority.split_at(authority.find(':').unwrap_or(authority.len()));
                let host = decode(host, at)?;
                if host.contains(':') {
                    let message = format!("expected a host name, got '{host}'");
                    return Err(TextError::new(at, message));
                }
                (host, port)
            }
        };
        self.host = host;
        self.port = match port.strip_prefix(':') {
            None if port.is_empty() => None,
            Some("") => None,
            digits => Some(parse_port(digits, port, at + authority.len() - port.len())?),
        };
        Ok(())
    }

    fn read_parts(&mut self, parts: &mut Parts<'_>) -> Result<(), TextError> {
        if let Some((dn, at)) = parts.next() {
            self.dn = decode(dn, at)?;
            parse_name(&self.dn).map_err(|error| error.within(at, "the distinguished name"))?;
        }
        if let Some((attributes, at)) = parts.next().filter(|(text, _)| !text.is_empty()) {
            for attribute in attributes.split(',') {
                self.attributes
                    .push(decode_word(attribute, at, "an attribute description")?);
            }
        }
        if let Some((scope, at)) = parts.next().filter(|(text, _)| !text.is_empty()) {
            self.scope = Some(parse_scope(scope, at)?);
        }
        if let Some((filter, at)) = parts.next().filter(|(text, _)| !text.is_empty()) {
            let filter = decode(filter, at)?;
            parse_filter(&filter).map_err(|error| error.within(at, "the filter"))?;
            self.filter = Some(filter);
        }
        if let Some((extensions, at)) = parts.next().filter(|(text, _)| !text.is_empty()) {
            for extension in extensions.split(',') {
                self.extensions.push(parse_extension(extension, at)?);
            }
        }
        match parts.next() {
            None => Ok(()),
            Some((_, at)) => Err(TextError::new(
                at - 1,
                "expected the end after the extensions",
            )),
        }
    }
}

impl FromStr for LdapUrl {
    type Err = TextError;

    fn from_str(text: &str) -> Result<LdapUrl, TextError> {
        LdapUrl::parse(text)
    }
}

/// Prints the shortest text: parts at the end that have their defaults are left out.
impl fmt::Display for LdapUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://", self.scheme.name())?;
        if self.host.contains(':') && self.scheme != UrlScheme::Ldapi {
            write!(f, "[{}]", self.host)?;
        } else {
            encode(f, &self.host, "")?;
        }
        if let Some(port) = self.port {
            write!(f, ":{port}")?;
        }
        let parts_after = [
            !self.attributes.is_empty(),
            self.scope.is_some(),
            self.filter.is_some(),
            !self.extensions.is_empty(),
        ];
        let last = parts_after
            .iter()
            .rposition(|is_there| *is_there)
            .map_or(0, |at| at + 1);
        if last == 0 && self.dn.is_empty() {
            return Ok(());
        }
        f.write_str("/")?;
        encode(f, &self.dn, ",=+;!'()*@:")?;
        for part in 1..=last {
            f.write_str("?")?;
            match part {
                1 => print_list(f, &self.attributes, |f, it| encode(f, it, ";=*+@:"))?,
                2 => f.write_str(self.scope.map_or("", scope_name))?,
                3 => encode(
                    f,
                    self.filter.as_deref().unwrap_or_default(),
                    "=()&|!*<>~:,;+@'",
                )?,
                _ => print_list(f, &self.extensions, |f, it| write!(f, "{it}"))?,
            }
        }
        Ok(())
    }
}

impl fmt::Display for UrlExtension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.critical { "!" } else { "" })?;
        encode(f, &self.kind, "")?;
        if let Some(value) = &self.value {
            f.write_str("=")?;
            encode(f, value, "=;:@()*+'")?;
        }
        Ok(())
    }
}

impl TextError {
    /// The error in a part of a URL, where percent-encoding makes offsets inside the part
    /// meaningless.
    fn within(self, at: usize, part: &str) -> TextError {
        TextError::new(at, format!("{part}: {}", self.message))
    }
}

/// The parts between question marks, with their places.
struct Parts<'a> {
    rest: Option<&'a str>,
    at: usize,
}

impl<'a> Parts<'a> {
    fn next(&mut self) -> Option<(&'a str, usize)> {
        let (rest, at) = (self.rest?, self.at);
        let (part, rest) = match rest.split_once('?') {
            Some((part, rest)) => (part, Some(rest)),
            None => (rest, None),
        };
        self.rest = rest;
        self.at = at + part.len() + 1;
        Some((part, at))
    }
}

fn parse_port(digits: Option<&str>, came: &str, at: usize) -> Result<u16, TextError> {
    let is_number = |digits: &&str| digits.bytes().all(|byte| byte.is_ascii_digit());
    let port = digits
        .filter(is_number)
        .and_then(|digits| digits.parse::<u16>().ok());
    port.filter(|port| *port != 0).ok_or_else(|| {
        TextError::new(
            at,
            format!("expected ':' and a port from 1 to 65535, got '{came}'"),
        )
    })
}

fn parse_scope(text: &str, at: usize) -> Result<Scope, TextError> {
    let is = |name: &str| text.eq_ignore_ascii_case(name);
    match () {
        () if is("base") => Ok(Scope::BaseObject),
        () if is("one") || is("onelevel") => Ok(Scope::SingleLevel),
        () if is("sub") || is("subtree") => Ok(Scope::WholeSubtree),
        () if is("subordinate") || is("subord") || is("children") => Ok(Scope::Subordinate),
        () => {
            let message = format!("expected 'base', 'one', 'sub' or 'subordinate', got '{text}'");
            Err(TextError::new(at, message))
        }
    }
}

fn scope_name(scope: Scope) -> &'static str {
    match scope {
        Scope::BaseObject => "base",
        Scope::SingleLevel => "one",
        Scope::WholeSubtree => "sub",
        Scope::Subordinate => "subordinate",
    }
}

fn parse_extension(text: &str, at: usize) -> Result<UrlExtension, TextError> {
    let (critical, text) = match text.strip_prefix('!') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (kind, value) = match text.split_once('=') {
        Some((kind, value)) => (kind, Some(decode(value, at)?)),
        None => (text, None),
    };
    Ok(UrlExtension {
        critical,
        kind: decode_word(kind, at, "an extension's name")?,
        value,
    })
}

fn decode_word(text: &str, at: usize, what: &str) -> Result<String, TextError> {
    let word = decode(text, at)?;
    if word.is_empty() {
        return Err(TextError::new(at, format!("expected {what}, got nothing")));
    }
    Ok(word)
}

/// Removes the percent-encoding of RFC 3986 §2.1; `at` is the offset of `text` in the URL.
fn decode(text: &str, at: usize) -> Result<String, TextError> {
    let Some(first) = text.find('%') else {
        return Ok(text.to_owned());
    };
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [byte, tail @ ..] = rest {
        rest = tail;
        if *byte != b'%' {
            bytes.push(*byte);
            continue;
        }
        let hex = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
        let pair = match tail {
            [high, low, after @ ..] => hex(*high).zip(hex(*low)).map(|pair| (pair, after)),
            _ => None,
        };
        let Some(((high, low), after)) = pair else {
            let place = at + text.len() - tail.len();
            return Err(TextError::new(place, "expected two hex digits after '%'"));
        };
        bytes.push(high << 4 | low);
        rest = after;
    }
    String::from_utf8(bytes)
        .map_err(|_| TextError::new(at + first, "expected UTF-8 in percent-encoding"))
}

/// Prints with percent-encoding of all but RFC 3986's unreserved characters and `also`, which are
/// the reserved characters without a meaning in the current part.
fn encode(f: &mut fmt::Formatter<'_>, text: &str, also: &str) -> fmt::Result {
    for byte in text.bytes() {
        let character = char::from(byte);
        let is_plain = byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~');
        if is_plain || byte.is_ascii() && also.contains(character) {
            fmt::Write::write_char(f, character)?;
        } else {
            write!(f, "%{byte:02x}")?;
        }
    }
    Ok(())
}

fn print_list<T>(
    f: &mut fmt::Formatter<'_>,
    items: &[T],
    print: impl Fn(&mut fmt::Formatter<'_>, &T) -> fmt::Result,
) -> fmt::Result {
    for (index, item) in items.iter().enumerate() {
        f.write_str(if index == 0 { "" } else { "," })?;
        print(f, item)?;
    }
    Ok(())
}

#[cfg(test)]
#[path = "url/tests.rs"]
mod tests;
