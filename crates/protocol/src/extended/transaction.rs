//! The end of a transaction (RFC 5805 §2.3).

use crate::DecodeError;
use crate::ber::{
    BOOLEAN, INTEGER, OCTET_STRING, SEQUENCE, decode_boolean, put_boolean, put_integer, put_nested,
    put_octets,
};
use crate::control::{Control, OwnedControl, control_sequence, put_control_list, sequence_of};
use crate::message_id::{MessageId, message_id};

/// `txnEndReq`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EndTransactionRequest<'a> {
    /// True: execute the updates. False: drop them.
    pub commit: bool,
    /// Identifier of the transaction.
    pub identifier: &'a [u8],
}

/// `txnEndRes`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EndTransactionResponse<'a> {
    /// Message id of the failed update, if one failed.
    pub message_id: Option<MessageId>,
    /// The response controls of the updates.
    pub updates_controls: Vec<UpdateControls<'a>>,
}

/// The response controls of one update of a transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpdateControls<'a> {
    /// Message id of the update's request.
    pub message_id: MessageId,
    /// Response controls of the update.
    pub controls: Vec<Control<'a>>,
}

/// Tag of `responseValue` in an extended response, here in that of Start Transaction.
const RESPONSE_VALUE: u8 = 0x8b;

impl<'a> EndTransactionRequest<'a> {
    /// Decodes the request's value.
    ///
    /// The LDAP SDK of UnboundID sends the identifier with the tag of the field that it came in
    /// (`RESPONSE_VALUE`). Other servers ignore that tag, so this server accepts it, too.
    pub fn decode(value: &'a [u8]) -> Result<Self, DecodeError> {
        let mut parts = sequence_of(value)?;
        let commit = parts.optional(BOOLEAN)?.map_or(Ok(true), decode_boolean)?;
        let tag = match parts.peek_tag() {
            Some(RESPONSE_VALUE) => RESPONSE_VALUE,
            _ => OCTET_STRING,
        };
        let identifier = parts.expect(tag)?;
        parts.finish_extensible()?;
        Ok(EndTransactionRequest { commit, identifier })
    }

    /// Appends the request's value.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_nested(out, SEQUENCE, |out| {
            if !self.commit {
                put_boolean(out, BOOLEAN, false);
            }
            put_octets(out, OCTET_STRING, self.identifier);
        });
    }
}

impl<'a> EndTransactionResponse<'a> {
    /// Decodes the response's value.
    pub fn decode(value: &'a [u8]) -> Result<Self, DecodeError> {
        let mut parts = sequence_of(value)?;
        let failed = match parts.peek_tag() {
            Some(INTEGER) => Some(message_id(&mut parts, INTEGER)?),
            _ => None,
        };
        let mut updates_controls = Vec::new();
        if parts.peek_tag() == Some(SEQUENCE) {
            let mut list = parts.nested(SEQUENCE)?;
            while !list.is_empty() {
                let mut update = list.nested(SEQUENCE)?;
                let message_id = message_id(&mut update, INTEGER)?;
                let controls = control_sequence(&mut update, SEQUENCE)?;
                update.finish_extensible()?;
                updates_controls.push(UpdateControls {
                    message_id,
                    controls,
                });
            }
        }
        parts.finish_extensible()?;
        Ok(EndTransactionResponse {
            message_id: failed,
            updates_controls,
        })
    }

    /// Appends the response's value.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_nested(out, SEQUENCE, |out| {
            if let Some(id) = self.message_id {
                put_integer(out, INTEGER, i64::from(id));
            }
            if !self.updates_controls.is_empty() {
                put_nested(out, SEQUENCE, |out| {
                    self.updates_controls
                        .iter()
                        .for_each(|update| update.encode(out));
                });
            }
        });
    }
}

impl UpdateControls<'_> {
    fn encode(&self, out: &mut Vec<u8>) {
        let controls: Vec<OwnedControl> = self.controls.iter().map(Control::to_owned).collect();
        put_nested(out, SEQUENCE, |out| {
            put_integer(out, INTEGER, i64::from(self.message_id));
            put_nested(out, SEQUENCE, |out| put_control_list(out, &controls));
        });
    }
}
