//! The header with which messages of mechanisms for GSS-API and SASL begin (RFC 5801 §4): `n,,` or
//! `p=tls-exporter,a=u:ada,`.

use std::borrow::Cow;

use crate::DecodeError;
use crate::error::Component;

/// A client's words about binding the exchange to the channel (RFC 5802 §6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientBinding<'a> {
    /// `n`: the client cannot.
    None,
    /// `y`: the client can, and has not seen that the server can.
    Unoffered,
    /// `p=`: the exchange is bound by a binding of this type (RFC 5056 §7.1).
    Type(&'a str),
}

/// The header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Header<'a> {
    /// The text of the header, with both commas.
    pub text: &'a str,
    /// The client's words about the channel.
    pub binding: ClientBinding<'a>,
    /// Identity to act as; empty for the authenticated one.
    pub authorization: Cow<'a, str>,
}

impl<'a> Header<'a> {
    /// Decodes the header at the beginning of a message. Returns it with the text behind it.
    pub fn decode(message: &'a str) -> Result<(Self, &'a str), DecodeError> {
        let (binding, rest) = message.split_once(',').ok_or(DecodeError::Truncated)?;
        let (authorization, rest) = rest.split_once(',').ok_or(DecodeError::Truncated)?;
        let binding = match (binding, binding.strip_prefix("p=")) {
            ("n", _) => ClientBinding::None,
            ("y", _) => ClientBinding::Unoffered,
            (_, Some(name)) if !name.is_empty() => ClientBinding::Type(name),
            _ => return Err(unknown(binding)),
        };
        let authorization = match (authorization, authorization.strip_prefix("a=")) {
            ("", _) => Cow::Borrowed(""),
            (_, Some("")) => return Err(DecodeError::Truncated),
            (_, Some(name)) => name_of(name)?,
            (_, None) => return Err(unknown(authorization)),
        };
        let text = message.strip_suffix(rest).ok_or(DecodeError::Truncated)?;
        let header = Header {
            text,
            binding,
            authorization,
        };
        Ok((header, rest))
    }
}

/// The error for an attribute, a part of a message, that is not the expected one.
#[cold]
pub(super) fn unknown(part: &str) -> DecodeError {
    DecodeError::UnknownChoice {
        what: Component::SaslAttribute,
        tag: part.bytes().next().unwrap_or(0),
    }
}

/// Decodes a name, in which a comma is `=2C` and an equals sign `=3D`.
pub(super) fn name_of(text: &str) -> Result<Cow<'_, str>, DecodeError> {
    let mut rest = text;
    while let Some((_, after)) = rest.split_once('=') {
        if !after.starts_with("2C") && !after.starts_with("3D") {
            return Err(unknown("="));
        }
        rest = after;
    }
    Ok(match text.contains('=') {
        true => Cow::Owned(text.replace("=2C", ",").replace("=3D", "=")),
        false => Cow::Borrowed(text),
    })
}
