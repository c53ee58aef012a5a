//! Virtual list view: a window on sorted results (draft-ietf-ldapext-ldapv3-vlv-09).

use super::sequence_of;
use crate::ber::{
    ENUMERATED, INTEGER, OCTET_STRING, SEQUENCE, put_integer, put_nested, put_octets,
};
use crate::error::{Component, DecodeError};
use crate::response::result_code;
use crate::result_code::ResultCode;

/// `VirtualListViewRequest`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VirtualListViewRequest<'a> {
    /// Entries wanted before the target.
    pub before_count: u32,
    /// Entries wanted after the target.
    pub after_count: u32,
    /// The entry on which the view is centred.
    pub target: ViewTarget<'a>,
    /// Context id from the server's last response for this list.
    pub context_id: Option<&'a [u8]>,
}

/// The entry on which a view is centred.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ViewTarget<'a> {
    /// By position, in proportion to the length of the list that the client assumes.
    ByOffset {
        /// The position, counted from 1. 0 is decoded; the server refuses it.
        offset: u32,
        /// Length of the list as the client knows it; 0 for unknown.
        content_count: u32,
    },
    /// The first entry whose first sort key is not less than this value.
    GreaterThanOrEqual(&'a [u8]),
}

/// `VirtualListViewResponse`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VirtualListViewResponse<'a> {
    /// Position of the target, counted from 1; one more than the length if no entry is great
    /// enough.
    pub target_position: u32,
    /// Length of the list as the server knows it; 0 for unknown.
    pub content_count: u32,
    /// Result of the view.
    pub code: ResultCode,
    /// Context id for the client's next request for this list.
    pub context_id: Option<&'a [u8]>,
}

impl<'a> VirtualListViewRequest<'a> {
    /// Decodes the request control's value.
    pub fn decode(value: &'a [u8]) -> Result<Self, DecodeError> {
        let mut parts = sequence_of(value)?;
        let before_count = parts.max_int(INTEGER, Component::BeforeCount)?;
        let after_count = parts.max_int(INTEGER, Component::AfterCount)?;
        let (tag, content) = parts.element()?;
        let target = match tag {
            0xA0 => {
                let mut position = parts.deeper(content)?;
                let offset = position.max_int(INTEGER, Component::Offset)?;
                let content_count = position.max_int(INTEGER, Component::ContentCount)?;
                position.finish_extensible()?;
                ViewTarget::ByOffset {
                    offset,
                    content_count,
                }
            }
            0x81 => ViewTarget::GreaterThanOrEqual(content),
            tag => {
                return Err(DecodeError::UnknownChoice {
                    what: Component::ViewTarget,
                    tag,
                });
            }
        };
        let context_id = parts.optional(OCTET_STRING)?;
        parts.finish_extensible()?;
        Ok(VirtualListViewRequest {
            before_count,
            after_count,
            target,
            context_id,
        })
    }

    /// Appends the request control's value.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_nested(out, SEQUENCE, |out| {
            put_integer(out, INTEGER, i64::from(self.before_count));
            put_integer(out, INTEGER, i64::from(self.after_count));
            match self.target {
                ViewTarget::ByOffset {
                    offset,
                    content_count,
                } => put_nested(out, 0xA0, |out| {
                    put_integer(out, INTEGER, i64::from(offset));
                    put_integer(out, INTEGER, i64::from(content_count));
                }),
                ViewTarget::GreaterThanOrEqual(value) => put_octets(out, 0x81, value),
            }
            if let Some(context_id) = self.context_id {
                put_octets(out, OCTET_STRING, context_id);
            }
        });
    }
}

impl<'a> VirtualListViewResponse<'a> {
    /// Decodes the response control's value.
    pub fn decode(value: &'a [u8]) -> Result<Self, DecodeError> {
        let mut parts = sequence_of(value)?;
        let target_position = parts.max_int(INTEGER, Component::TargetPosition)?;
        let content_count = parts.max_int(INTEGER, Component::ContentCount)?;
        let code = result_code(&mut parts)?;
        let context_id = parts.optional(OCTET_STRING)?;
        parts.finish_extensible()?;
        Ok(VirtualListViewResponse {
            target_position,
            content_count,
            code,
            context_id,
        })
    }

    /// Appends the response control's value.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_nested(out, SEQUENCE, |out| {
            put_integer(out, INTEGER, i64::from(self.target_position));
            put_integer(out, INTEGER, i64::from(self.content_count));
            put_integer(out, ENUMERATED, i64::from(self.code.0));
            if let Some(context_id) = self.context_id {
                put_octets(out, OCTET_STRING, context_id);
            }
        });
    }
}
