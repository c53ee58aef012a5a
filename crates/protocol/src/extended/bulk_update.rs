//! Bulk update (LBURP, RFC 4373): a numbered stream of lists of updates.

use crate::DecodeError;
use crate::Request;
use crate::ber::{INTEGER, OCTET_STRING, Reader, SEQUENCE, put_integer, put_nested, put_octets};
use crate::control::{
    CONTROLS, Control, OwnedControl, control_sequence, put_controls, sequence_of,
};
use crate::error::Component;
use crate::request::{put_request, tag};
use crate::response::{LdapResult, ldap_result, put_ldap_result};

/// Maximum number of operations in one request; each takes some 200 bytes of memory for 4 bytes
/// sent.
pub const BULK_OPERATIONS_MAX: usize = 16_384;

/// `StartLBURPRequestValue` (RFC 4373 §5.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StartBulkUpdateRequest<'a> {
    /// OID of the stream's style; [`crate::oid::INCREMENTAL_UPDATE_STYLE`] is the only one.
    pub style: &'a str,
}

/// `StartLBURPResponseValue` (RFC 4373 §5.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StartBulkUpdateResponse {
    /// Maximum number of operations in one request.
    pub operations_max: u32,
}

/// `LBURPUpdateRequestValue` (RFC 4373 §5.3).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BulkUpdateRequest<'a> {
    /// Position of the request in the stream, from 1.
    pub sequence_number: u32,
    /// The updates in the order of execution.
    pub operations: Vec<BulkOperation<'a>>,
}

/// One update of a list (RFC 4373 §5.3.2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BulkOperation<'a> {
    /// An add, modify, delete or modify DN.
    pub request: Request<'a>,
    /// Controls of the update.
    pub controls: Vec<Control<'a>>,
}

/// `OperationResults` (RFC 4373 §5.4.1): the updates of a request that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BulkUpdateResponse {
    /// Position of the update in the request, from 1, and its result.
    pub results: Vec<(u32, LdapResult)>,
}

/// `EndLBURPRequestValue` (RFC 4373 §5.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EndBulkUpdateRequest {
    /// One more than the sequence number of the last update request.
    pub sequence_number: u32,
}

impl<'a> StartBulkUpdateRequest<'a> {
    /// Decodes the request's value.
    pub fn decode(value: &'a [u8]) -> Result<Self, DecodeError> {
        let mut parts = sequence_of(value)?;
        let style = parts.text(OCTET_STRING)?;
        parts.finish_extensible()?;
        Ok(StartBulkUpdateRequest { style })
    }

    /// Appends the request's value.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_nested(out, SEQUENCE, |out| {
            put_octets(out, OCTET_STRING, self.style.as_bytes());
        });
    }
}

impl StartBulkUpdateResponse {
    /// Decodes the response's value.
    pub fn decode(value: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(value);
        let operations_max = reader.max_int(INTEGER, Component::OperationsMax)?;
        reader.finish()?;
        Ok(StartBulkUpdateResponse { operations_max })
    }

    /// Appends the response's value.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_integer(out, INTEGER, i64::from(self.operations_max));
    }
}

impl<'a> BulkUpdateRequest<'a> {
    /// Decodes the request's value.
    pub fn decode(value: &'a [u8]) -> Result<Self, DecodeError> {
        let mut parts = sequence_of(value)?;
        let sequence_number = sequence_number(&mut parts)?;
        let mut list = parts.nested(SEQUENCE)?;
        let mut operations = Vec::new();
        while !list.is_empty() {
            if operations.len() == BULK_OPERATIONS_MAX {
                return Err(DecodeError::TooMany {
                    what: Component::UpdateOperations,
                    limit: BULK_OPERATIONS_MAX as u32,
                });
            }
            operations.push(BulkOperation::decode(list.nested(SEQUENCE)?)?);
        }
        parts.finish_extensible()?;
        Ok(BulkUpdateRequest {
            sequence_number,
            operations,
        })
    }

    /// Decodes only the number, so that the order can be checked before the request is decoded.
    pub fn decode_number(value: &[u8]) -> Result<u32, DecodeError> {
        sequence_number(&mut sequence_of(value)?)
    }

    /// Appends the request's value.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_nested(out, SEQUENCE, |out| {
            put_integer(out, INTEGER, i64::from(self.sequence_number));
            put_nested(out, SEQUENCE, |out| {
                self.operations.iter().for_each(|it| it.encode(out));
            });
        });
    }
}

impl<'a> BulkOperation<'a> {
    fn decode(mut parts: Reader<'a>) -> Result<Self, DecodeError> {
        let (operation, content) = parts.element()?;
        let content = parts.deeper(content)?;
        let request = match operation {
            tag::ADD | tag::MODIFY | tag::DELETE | tag::MODIFY_DN => {
                Request::decode(operation, content)?
            }
            tag => return Err(DecodeError::UnknownOperation { tag }),
        };
        let controls = match parts.peek_tag() {
            Some(CONTROLS) => control_sequence(&mut parts, CONTROLS)?,
            _ => Vec::new(),
        };
        parts.finish_extensible()?;
        Ok(BulkOperation { request, controls })
    }

    fn encode(&self, out: &mut Vec<u8>) {
        let controls: Vec<OwnedControl> = self.controls.iter().map(Control::to_owned).collect();
        put_nested(out, SEQUENCE, |out| {
            put_request(out, &self.request);
            put_controls(out, &controls);
        });
    }
}

impl BulkUpdateResponse {
    /// Decodes the response's value.
    pub fn decode(value: &[u8]) -> Result<Self, DecodeError> {
        let mut list = sequence_of(value)?;
        let mut results = Vec::new();
        while !list.is_empty() {
            let mut parts = list.nested(SEQUENCE)?;
            let number = parts.max_int(INTEGER, Component::OperationNumber)?;
            let mut result = parts.nested(SEQUENCE)?;
            results.push((number, ldap_result(&mut result)?));
            result.finish_extensible()?;
            parts.finish_extensible()?;
        }
        Ok(BulkUpdateResponse { results })
    }

    /// Appends the response's value.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_nested(out, SEQUENCE, |out| {
            for (number, result) in &self.results {
                put_nested(out, SEQUENCE, |out| {
                    put_integer(out, INTEGER, i64::from(*number));
                    put_nested(out, SEQUENCE, |out| put_ldap_result(out, result));
                });
            }
        });
    }
}

impl EndBulkUpdateRequest {
    /// Decodes the request's value.
    pub fn decode(value: &[u8]) -> Result<Self, DecodeError> {
        let mut parts = sequence_of(value)?;
        let sequence_number = sequence_number(&mut parts)?;
        parts.finish_extensible()?;
        Ok(EndBulkUpdateRequest { sequence_number })
    }

    /// Appends the request's value.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_nested(out, SEQUENCE, |out| {
            put_integer(out, INTEGER, i64::from(self.sequence_number));
        });
    }
}

/// A sequence number: 1 to maxInt.
fn sequence_number(parts: &mut Reader<'_>) -> Result<u32, DecodeError> {
    match parts.max_int(INTEGER, Component::SequenceNumber)? {
        0 => Err(DecodeError::out_of_range(Component::SequenceNumber, 0)),
        number => Ok(number),
    }
}
