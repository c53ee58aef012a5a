//! Controls (RFC 4511 §4.1.11): the envelope of each, and the values of those that have one.

mod access_explanation;
mod account_usability;
mod assertion;
mod assured_replication;
mod dereference;
mod effective_rights;
mod explain;
mod matched_values;
mod matching_entry_count;
mod paged_results;
mod password_policy;
mod persistent_search;
mod position;
mod proxied_authorization;
mod queue_length;
mod read_entry;
mod session_tracking;
mod sorting;
mod subentries;
mod sync;
mod virtual_list_view;

pub use access_explanation::{AccessExplanation, AccessQuestion, AccessReason};
pub use account_usability::{AccountTrouble, AccountUsability};
pub use assertion::Assertion;
pub use assured_replication::{
    AssuredReplicationRequest, AssuredReplicationResponse, LocalLevel, RemoteLevel,
};
pub use dereference::{
    DereferenceRequest, DereferenceResponse, DereferenceResult, DereferenceSpecification,
    put_dereference_result,
};
pub use effective_rights::EffectiveRightsRequest;
pub use explain::{ExplainedPart, ExplainedRegion, Explanation};
pub use matched_values::MatchedValues;
pub use matching_entry_count::{EntryCount, MatchingEntryCountRequest, MatchingEntryCountResponse};
pub use paged_results::PagedResults;
pub use password_policy::{PasswordPolicyError, PasswordPolicyResponse, PasswordPolicyWarning};
pub use persistent_search::{ChangeType, EntryChangeNotification, PersistentSearch};
pub use position::Position;
pub use proxied_authorization::ProxiedAuthorization;
pub use queue_length::QueueLength;
pub use read_entry::{ReadEntryRequest, ReadEntryResponse, put_read_entry};
pub use session_tracking::SessionTracking;
pub use sorting::{SORT_KEYS_MAX, SortKey, SortRequest, SortResponse};
pub use subentries::Subentries;
pub use sync::{SyncDone, SyncInfo, SyncMode, SyncRequest, SyncState, SyncStateValue};
pub use virtual_list_view::{ViewTarget, VirtualListViewRequest, VirtualListViewResponse};

use std::borrow::Cow;

use crate::ber::{BOOLEAN, OCTET_STRING, Reader, SEQUENCE, put_boolean, put_nested, put_octets};
use crate::error::{Component, DecodeError};

pub use crate::oid;

/// The most controls one message may carry.
pub const CONTROLS_MAX: usize = 128;

/// Identifier octet of a message's `controls [0]`.
pub(crate) const CONTROLS: u8 = 0xA0;

/// A control as received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Control<'a> {
    /// Object identifier of the control.
    pub oid: &'a str,
    /// Whether the operation must be refused when the control is not recognised.
    pub critical: bool,
    /// Value of the control, in a form that the OID defines; `None` if it has none.
    pub value: Option<&'a [u8]>,
}

/// A control to send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnedControl {
    /// Object identifier of the control.
    pub oid: Cow<'static, str>,
    /// Whether the operation must be refused when the control is not recognised.
    pub critical: bool,
    /// Value of the control, in a form that the OID defines; `None` if it has none.
    pub value: Option<Vec<u8>>,
}

impl OwnedControl {
    /// A control without a value.
    pub fn new(oid: impl Into<Cow<'static, str>>, critical: bool) -> Self {
        OwnedControl {
            oid: oid.into(),
            critical,
            value: None,
        }
    }

    /// A control with the value that `encode` appends.
    pub fn with_value(
        oid: impl Into<Cow<'static, str>>,
        critical: bool,
        encode: impl FnOnce(&mut Vec<u8>),
    ) -> Self {
        let mut value = Vec::new();
        encode(&mut value);
        OwnedControl {
            oid: oid.into(),
            critical,
            value: Some(value),
        }
    }

    /// This control, borrowed.
    pub fn as_control(&self) -> Control<'_> {
        Control {
            oid: &self.oid,
            critical: self.critical,
            value: self.value.as_deref(),
        }
    }
}

impl<'a> Control<'a> {
    /// The value; an error if there is none.
    pub fn required_value(&self) -> Result<&'a [u8], DecodeError> {
        self.value.ok_or(DecodeError::MissingElement {
            expected: OCTET_STRING,
        })
    }

    /// A copy of this control that owns its parts.
    pub fn to_owned(&self) -> OwnedControl {
        OwnedControl {
            oid: Cow::Owned(self.oid.to_owned()),
            critical: self.critical,
            value: self.value.map(<[u8]>::to_vec),
        }
    }
}

/// A reader over the components of a value that is one SEQUENCE and nothing else.
pub(crate) fn sequence_of(value: &[u8]) -> Result<Reader<'_>, DecodeError> {
    let mut outer = Reader::new(value);
    let parts = outer.nested(SEQUENCE)?;
    outer.finish()?;
    Ok(parts)
}

/// Reads a message's controls, if there are any.
#[inline(always)]
pub(crate) fn decode_controls<'a>(
    message: &mut Reader<'a>,
) -> Result<Vec<Control<'a>>, DecodeError> {
    if message.peek_tag() != Some(CONTROLS) {
        Ok(Vec::new())
    } else {
        control_sequence(message, CONTROLS)
    }
}

/// Reads a SEQUENCE OF Control with this identifier octet.
pub(crate) fn control_sequence<'a>(
    message: &mut Reader<'a>,
    tag: u8,
) -> Result<Vec<Control<'a>>, DecodeError> {
    let mut list = message.nested(tag)?;
    let mut controls = Vec::new();
    while !list.is_empty() {
        if controls.len() == CONTROLS_MAX {
            return Err(DecodeError::TooMany {
                what: Component::Controls,
                limit: CONTROLS_MAX as u32,
            });
        }
        let mut parts = list.nested(SEQUENCE)?;
        let oid = parts.text(OCTET_STRING)?;
        let critical = parts.boolean_or_false(BOOLEAN)?;
        let value = parts.optional(OCTET_STRING)?;
        parts.finish_extensible()?;
        controls.push(Control {
            oid,
            critical,
            value,
        });
    }
    Ok(controls)
}

/// Writes a message's controls; nothing when there are none.
#[inline]
pub(crate) fn put_controls(out: &mut Vec<u8>, controls: &[OwnedControl]) {
    if !controls.is_empty() {
        put_nested(out, CONTROLS, |out| put_control_list(out, controls));
    }
}

pub(crate) fn put_control_list(out: &mut Vec<u8>, controls: &[OwnedControl]) {
    for control in controls {
        put_nested(out, SEQUENCE, |out| {
            put_octets(out, OCTET_STRING, control.oid.as_bytes());
            if control.critical {
                put_boolean(out, BOOLEAN, true);
            }
            if let Some(value) = &control.value {
                put_octets(out, OCTET_STRING, value);
            }
        });
    }
}

#[cfg(test)]
mod tests;
