//! Reading responses, for clients and tests.

use super::{LdapResult, tag};
use crate::ber::{ENUMERATED, INTEGER, OCTET_STRING, PartialAttribute, Reader, SEQUENCE};
use crate::control::{self, Control};
use crate::error::{Component, DecodeError};
use crate::message::{self, DecodeLimits};
use crate::message_id::{MessageId, message_id};
use crate::result_code::ResultCode;

/// One response with its envelope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResponseMessage<'a> {
    /// Message id of the answered request; 0 for an unsolicited notification.
    pub id: MessageId,
    /// The answer.
    pub response: Response<'a>,
    /// The controls in the order given.
    pub controls: Vec<Control<'a>>,
}

/// An answer of the server, one of possibly many to one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Response<'a> {
    /// One entry found (RFC 4511 §4.5.2).
    SearchEntry {
        /// The entry's name.
        name: &'a str,
        /// The entry's attributes, as far as asked for and allowed.
        attributes: Vec<PartialAttribute<'a>>,
    },
    /// URLs with which to continue a search (RFC 4511 §4.5.3).
    SearchReference(Vec<&'a str>),
    /// The end of a search.
    SearchDone(LdapResult),
    /// The end of a bind, or the server's turn in a SASL exchange.
    Bind {
        /// Result of the bind.
        result: LdapResult,
        /// Credentials of the SASL mechanism; `None` if it sends none.
        server_credentials: Option<&'a [u8]>,
    },
    /// The end of a modify.
    Modify(LdapResult),
    /// The end of an add.
    Add(LdapResult),
    /// The end of a delete.
    Delete(LdapResult),
    /// The end of a rename or move.
    ModifyDn(LdapResult),
    /// The end of a compare.
    Compare(LdapResult),
    /// The end of an extended operation, or an unsolicited notification.
    Extended {
        /// Result of the operation.
        result: LdapResult,
        /// An OID, if the operation defines one for its response.
        name: Option<&'a str>,
        /// The response's value, in a form the operation defines.
        value: Option<&'a [u8]>,
    },
    /// A response before the final one (RFC 4511 §4.13).
    Intermediate {
        /// OID of its kind.
        name: Option<&'a str>,
        /// Value of the response, in a form that the OID defines; `None` if it has none.
        value: Option<&'a [u8]>,
    },
}

impl<'a> ResponseMessage<'a> {
    /// Decodes exactly one message of at most the default limits.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let limits = DecodeLimits {
            message_bytes_max: usize::MAX,
            ..DecodeLimits::DEFAULT
        };
        let (id, mut body) = message::open(bytes, &limits)?;
        let (tag, content) = body.element()?;
        let response = Response::decode(tag, body.deeper(content)?)?;
        let controls = control::decode_controls(&mut body)?;
        body.finish_extensible()?;
        Ok(ResponseMessage {
            id,
            response,
            controls,
        })
    }
}

impl<'a> Response<'a> {
    /// The result, if this response ends an operation.
    pub const fn result(&self) -> Option<&LdapResult> {
        match self {
            Response::SearchDone(result)
            | Response::Bind { result, .. }
            | Response::Modify(result)
            | Response::Add(result)
            | Response::Delete(result)
            | Response::ModifyDn(result)
            | Response::Compare(result)
            | Response::Extended { result, .. } => Some(result),
            Response::SearchEntry { .. }
            | Response::SearchReference(_)
            | Response::Intermediate { .. } => None,
        }
    }

    fn decode(operation: u8, mut parts: Reader<'a>) -> Result<Self, DecodeError> {
        let response = match operation {
            tag::SEARCH_ENTRY => return search_entry(parts),
            tag::SEARCH_REFERENCE => return search_reference(parts),
            tag::SEARCH_DONE => Response::SearchDone(ldap_result(&mut parts)?),
            tag::BIND => Response::Bind {
                result: ldap_result(&mut parts)?,
                server_credentials: parts.optional(0x87)?,
            },
            tag::MODIFY => Response::Modify(ldap_result(&mut parts)?),
            tag::ADD => Response::Add(ldap_result(&mut parts)?),
            tag::DELETE => Response::Delete(ldap_result(&mut parts)?),
            tag::MODIFY_DN => Response::ModifyDn(ldap_result(&mut parts)?),
            tag::COMPARE => Response::Compare(ldap_result(&mut parts)?),
            tag::EXTENDED => Response::Extended {
                result: ldap_result(&mut parts)?,
                name: parts.optional_text(0x8A)?,
                value: parts.optional(0x8B)?,
            },
            tag::INTERMEDIATE => Response::Intermediate {
                name: parts.optional_text(0x80)?,
                value: parts.optional(0x81)?,
            },
            tag => return Err(DecodeError::UnknownOperation { tag }),
        };
        parts.finish_extensible()?;
        Ok(response)
    }
}

fn search_entry(mut parts: Reader<'_>) -> Result<Response<'_>, DecodeError> {
    let (name, attributes) = entry_parts(&mut parts)?;
    parts.finish_extensible()?;
    Ok(Response::SearchEntry { name, attributes })
}

/// The parts of a SearchResultEntry (RFC 4511 §4.5.2).
pub(crate) fn entry_parts<'a>(
    parts: &mut Reader<'a>,
) -> Result<(&'a str, Vec<PartialAttribute<'a>>), DecodeError> {
    let name = parts.text(OCTET_STRING)?;
    let mut list = parts.nested(SEQUENCE)?;
    let mut attributes = Vec::new();
    while !list.is_empty() {
        attributes.push(PartialAttribute::decode(&mut list)?);
    }
    Ok((name, attributes))
}

fn search_reference(mut list: Reader<'_>) -> Result<Response<'_>, DecodeError> {
    let mut urls = Vec::new();
    while !list.is_empty() {
        urls.push(list.text(OCTET_STRING)?);
    }
    if urls.is_empty() {
        return Err(DecodeError::EmptyList {
            what: Component::ReferenceUrls,
        });
    }
    Ok(Response::SearchReference(urls))
}

/// The components of an LDAPResult (RFC 4511 §4.1.9).
pub(crate) fn ldap_result(parts: &mut Reader<'_>) -> Result<LdapResult, DecodeError> {
    let code = result_code(parts)?;
    let matched = parts.text(OCTET_STRING)?.to_owned();
    let diagnostic = parts.text(OCTET_STRING)?.to_owned();
    let mut referrals = Vec::new();
    if parts.peek_tag() == Some(0xA3) {
        let mut list = parts.nested(0xA3)?;
        while !list.is_empty() {
            referrals.push(list.text(OCTET_STRING)?.to_owned());
        }
    }
    Ok(LdapResult {
        code,
        matched,
        diagnostic,
        referrals,
    })
}

/// An ENUMERATED result code: 0 to 65535.
pub(crate) fn result_code(parts: &mut Reader<'_>) -> Result<ResultCode, DecodeError> {
    let value = parts.integer(ENUMERATED)?;
    let number = u16::try_from(value)
        .map_err(|_| DecodeError::out_of_range(Component::ResultCode, value))?;
    Ok(ResultCode(number))
}

/// Message id, operation and, if it ends an operation, result code of a response, without looking
/// at the rest. The code is given as 255 when it does not fit an octet.
#[inline]
pub fn peek_response(bytes: &[u8]) -> Option<(MessageId, u8, Option<u8>)> {
    let mut body = Reader::new(bytes).nested(SEQUENCE).ok()?;
    let id = message_id(&mut body, INTEGER).ok()?;
    let (tag, content) = body.element().ok()?;
    let code = match tag {
        tag::SEARCH_ENTRY | tag::SEARCH_REFERENCE | tag::INTERMEDIATE => None,
        _ => {
            let code = Reader::new(content).integer(ENUMERATED).ok()?;
            Some(u8::try_from(code).unwrap_or(u8::MAX))
        }
    };
    Some((id, tag, code))
}
