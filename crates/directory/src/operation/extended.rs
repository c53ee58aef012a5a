//! Extended operations (RFC 4511 §4.12): which one is requested, its decoded value, and its success
//! response.

pub(crate) mod begin;

use crate::context::Context;
use protocol::{
    DecodeError, ExtendedRequest, LdapResult, MessageId, ResultCode, extended, oid, response,
};
use state::stop::Stop;

/// The extended operations this server supports, as the root DSE lists them.
pub(crate) const SUPPORTED: [&str; 13] = [
    oid::START_TLS,
    oid::PASSWORD_MODIFY,
    oid::WHO_AM_I,
    oid::CANCEL,
    oid::START_TRANSACTION,
    oid::END_TRANSACTION,
    oid::START_BULK_UPDATE,
    oid::END_BULK_UPDATE,
    oid::BULK_UPDATE,
    oid::REFRESH,
    oid::COMPACT,
    oid::CANCEL_COMPACTION,
    oid::RELOAD,
];

/// Which extended operation was asked for.
pub(crate) enum Kind<'a> {
    WhoAmI,
    StartTls,
    PasswordModify(extended::PasswordModifyRequest<'a>),
    Cancel(MessageId),
    /// The identifier that the client chose, if any.
    StartTransaction(Option<&'a [u8]>),
    EndTransaction(extended::EndTransactionRequest<'a>),
    StartBulkUpdate(extended::StartBulkUpdateRequest<'a>),
    /// The value, decoded at its turn in the stream.
    BulkUpdate(&'a [u8]),
    EndBulkUpdate(extended::EndBulkUpdateRequest),
    Refresh(extended::RefreshRequest<'a>),
    Compact,
    CancelCompaction,
    Reload,
}

/// Decodes the request; refuses unknown names (RFC 4511 §4.12) and malformed values with
/// `protocolError`.
pub(crate) fn kind<'a>(request: &ExtendedRequest<'a>) -> Result<Kind<'a>, Stop> {
    let bad_value = |text: &str| Stop::refuse(ResultCode::PROTOCOL_ERROR, text.to_owned());
    match request.name {
        oid::WHO_AM_I if request.value.is_none() => Ok(Kind::WhoAmI),
        oid::WHO_AM_I => bad_value("Who am I? takes no value (RFC 4532 §2.1)"),
        oid::START_TLS if request.value.is_none() => Ok(Kind::StartTls),
        oid::START_TLS => bad_value("StartTLS takes no value (RFC 4511 §4.14.1)"),
        oid::PASSWORD_MODIFY => {
            let empty = extended::PasswordModifyRequest::default();
            match request.value.map(extended::PasswordModifyRequest::decode) {
                None => Ok(Kind::PasswordModify(empty)),
                Some(Ok(decoded)) => Ok(Kind::PasswordModify(decoded)),
                Some(Err(error)) => bad_value(&format!("Password Modify: {error}")),
            }
        }
        oid::CANCEL => match request.value.map(extended::CancelRequest::decode) {
            Some(Ok(decoded)) => Ok(Kind::Cancel(decoded.cancel_id)),
            Some(Err(error)) => bad_value(&format!("Cancel: {error}")),
            None => bad_value("Cancel needs the id of the operation to cancel (RFC 3909 §2.1)"),
        },
        oid::START_TRANSACTION => Ok(Kind::StartTransaction(request.value)),
        oid::END_TRANSACTION => {
            let decode = extended::EndTransactionRequest::decode;
            needed(request, "End Transaction", decode).map(Kind::EndTransaction)
        }
        oid::START_BULK_UPDATE => {
            let decode = extended::StartBulkUpdateRequest::decode;
            needed(request, "Start LBURP", decode).map(Kind::StartBulkUpdate)
        }
        oid::BULK_UPDATE => needed(request, "LBURP update", Ok).map(Kind::BulkUpdate),
        oid::END_BULK_UPDATE => {
            let decode = extended::EndBulkUpdateRequest::decode;
            needed(request, "End LBURP", decode).map(Kind::EndBulkUpdate)
        }
        oid::REFRESH => {
            needed(request, "Refresh", extended::RefreshRequest::decode).map(Kind::Refresh)
        }
        oid::COMPACT | oid::CANCEL_COMPACTION if request.value.is_some() => {
            bad_value("compacting takes no value")
        }
        oid::COMPACT => Ok(Kind::Compact),
        oid::CANCEL_COMPACTION => Ok(Kind::CancelCompaction),
        oid::RELOAD if request.value.is_none() => Ok(Kind::Reload),
        oid::RELOAD => bad_value("reading the settings again takes no value"),
        unknown => Stop::refuse(
            ResultCode::PROTOCOL_ERROR,
            format!("extended operation {unknown} is not known"),
        ),
    }
}

/// The decoded value of an operation that requires one.
fn needed<'a, T>(
    request: &ExtendedRequest<'a>,
    what: &str,
    decode: impl Fn(&'a [u8]) -> Result<T, DecodeError>,
) -> Result<T, Stop> {
    let text = match request.value.map(decode) {
        Some(Ok(decoded)) => return Ok(decoded),
        Some(Err(error)) => format!("{what}: {error}"),
        None => format!("{what}: expected a value, got none"),
    };
    Stop::refuse(ResultCode::PROTOCOL_ERROR, text)
}

/// Who am I? (RFC 4532).
pub(crate) fn who_am_i(context: &Context<'_>, id: MessageId, out: &mut Vec<u8>) {
    let value = context.subject.authzid();
    write_success(out, id, None, Some(value.as_bytes()));
}

/// Writes the success response; some operations have a response name or value of their own.
pub(crate) fn write_success(
    out: &mut Vec<u8>,
    id: MessageId,
    name: Option<&str>,
    value: Option<&[u8]>,
) {
    response::write_extended_result(out, id, &LdapResult::success(), name, value, &[]);
}
