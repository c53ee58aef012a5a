//! Fuzz bodies: for any input bytes nothing panics, and a decoded value encodes to bytes that
//! decode to an equal value. Each fuzz target calls one of them.

pub use crate::fuzz_text::{filter as filter_text, ldif, name, url};

use crate::ber::Reader;
use crate::control::{
    AccessExplanation, AccessQuestion, AccountUsability, Assertion, AssuredReplicationRequest,
    AssuredReplicationResponse, DereferenceRequest, DereferenceResponse, EffectiveRightsRequest,
    EntryChangeNotification, Explanation, MatchedValues, MatchingEntryCountRequest,
    MatchingEntryCountResponse, PagedResults, PasswordPolicyResponse, PersistentSearch, Position,
    ProxiedAuthorization, QueueLength, ReadEntryRequest, ReadEntryResponse, SessionTracking,
    SortRequest, SortResponse, Subentries, SyncDone, SyncInfo, SyncRequest, SyncStateValue,
    VirtualListViewRequest, VirtualListViewResponse,
};
use crate::extended::{
    BulkUpdateRequest, BulkUpdateResponse, CancelRequest, EndBulkUpdateRequest,
    EndTransactionRequest, EndTransactionResponse, PasswordModifyRequest, PasswordModifyResponse,
    RefreshRequest, RefreshResponse, StartBulkUpdateRequest, StartBulkUpdateResponse,
};
use crate::filter::{FILTER_DEPTH_MAX, Filter};
use crate::proxy::{self, Progress};
use crate::sasl::{Bearer, ClientFinal, ClientFirst, Plain};
use crate::{
    Control, DecodeLimits, Message, OwnedControl, Response, ResponseMessage, ResultKind,
    begin_search_entry, decode_header, finish_search_entry, frame, peek_response,
    write_bind_result, write_extended_result, write_intermediate, write_request, write_result,
    write_search_reference,
};

/// PROXY headers: the number of bytes requested is never more than the header has.
pub fn proxy(bytes: &[u8]) {
    let mut taken = 0;
    while taken <= bytes.len() {
        match proxy::decode(bytes.get(..taken).unwrap_or_default()) {
            Err(_) => return,
            Ok(Progress::More(count)) => {
                assert!(count > 0 && taken + count <= proxy::BYTES_MAX);
                taken += count;
            }
            Ok(Progress::Whole(header)) => {
                let mut encoded = Vec::new();
                header.encode(&mut encoded);
                assert_eq!(proxy::decode(&encoded), Ok(Progress::Whole(header)));
                return;
            }
        }
    }
}

/// Requests, and finding them in a stream.
pub fn message(bytes: &[u8]) {
    let limits = DecodeLimits::default();
    let whole = frame(bytes, limits.message_bytes_max);
    let header = decode_header(bytes);
    let Ok(message) = Message::decode(bytes, &limits) else {
        return;
    };
    assert_eq!(whole, Ok(Some(bytes.len())), "a message is one frame");
    assert_eq!(header, Some((message.id, message.request.tag())));
    let mut encoded = Vec::new();
    write_request(
        &mut encoded,
        message.id,
        &message.request,
        &owned(&message.controls),
    );
    assert_eq!(
        Message::decode(&encoded, &limits),
        Ok(message),
        "{}",
        bytes.escape_ascii()
    );
}

/// Responses.
pub fn response(bytes: &[u8]) {
    let peeked = peek_response(bytes);
    let Ok(message) = ResponseMessage::decode(bytes) else {
        return;
    };
    let code = message
        .response
        .result()
        .map(|it| u8::try_from(it.code.0).unwrap_or(u8::MAX));
    assert_eq!(
        peeked.map(|(id, _, code)| (id, code)),
        Some((message.id, code))
    );
    let mut encoded = Vec::new();
    write_response(&mut encoded, &message);
    assert_eq!(
        ResponseMessage::decode(&encoded),
        Ok(message),
        "{}",
        bytes.escape_ascii()
    );
}

/// Appends a response with the functions a server uses.
fn write_response(out: &mut Vec<u8>, message: &ResponseMessage<'_>) {
    let id = message.id;
    let controls = &owned(&message.controls)[..];
    match &message.response {
        Response::SearchEntry { name, attributes } => {
            let mark = begin_search_entry(out, id, name.as_bytes());
            attributes
                .iter()
                .for_each(|attribute| attribute.encode(out));
            finish_search_entry(out, mark, controls);
        }
        Response::SearchReference(urls) => write_search_reference(out, id, urls, controls),
        Response::SearchDone(it) => write_result(out, id, ResultKind::SearchDone, it, controls),
        Response::Bind {
            result,
            server_credentials,
        } => {
            write_bind_result(out, id, result, *server_credentials, controls);
        }
        Response::Modify(it) => write_result(out, id, ResultKind::Modify, it, controls),
        Response::Add(it) => write_result(out, id, ResultKind::Add, it, controls),
        Response::Delete(it) => write_result(out, id, ResultKind::Delete, it, controls),
        Response::ModifyDn(it) => write_result(out, id, ResultKind::ModifyDn, it, controls),
        Response::Compare(it) => write_result(out, id, ResultKind::Compare, it, controls),
        Response::Extended {
            result,
            name,
            value,
        } => {
            write_extended_result(out, id, result, *name, *value, controls);
        }
        Response::Intermediate { name, value } => {
            write_intermediate(out, id, *name, *value, controls);
        }
    }
}

fn owned(controls: &[Control<'_>]) -> Vec<OwnedControl> {
    controls.iter().map(Control::to_owned).collect()
}

/// Filters in binary form; a filter with a text form is unchanged after printing and parsing.
pub fn filter(bytes: &[u8]) {
    let mut reader = Reader::new(bytes);
    let Ok(filter) = Filter::decode(&mut reader, FILTER_DEPTH_MAX) else {
        return;
    };
    let mut encoded = Vec::new();
    filter.encode(&mut encoded);
    let mut again = Reader::new(&encoded);
    assert_eq!(Filter::decode(&mut again, FILTER_DEPTH_MAX), Ok(filter));
    assert!(again.is_empty(), "a filter is one element");
}

/// Decodes a value, and if that works encodes it and decodes it again.
macro_rules! round_trip {
    ($bytes:expr => $($type:ident)*) => {$(
        if let Ok(value) = $type::decode($bytes) {
            let mut encoded = Vec::new();
            value.encode(&mut encoded);
            assert_eq!($type::decode(&encoded), Ok(value), "{}", $bytes.escape_ascii());
        }
    )*};
}

/// Values of controls, and of the intermediate response that belongs to them.
pub fn controls(bytes: &[u8]) {
    round_trip!(bytes =>
        AccessExplanation AccessQuestion AccountUsability Assertion
        AssuredReplicationRequest AssuredReplicationResponse
        DereferenceRequest DereferenceResponse EffectiveRightsRequest EntryChangeNotification
        Explanation MatchedValues MatchingEntryCountRequest MatchingEntryCountResponse
        PagedResults PasswordPolicyResponse PersistentSearch Position ProxiedAuthorization
        QueueLength ReadEntryRequest ReadEntryResponse SessionTracking
        SortRequest SortResponse Subentries SyncDone SyncInfo SyncRequest SyncStateValue
        VirtualListViewRequest VirtualListViewResponse
    );
}

/// Values of extended requests and responses, credentials of SASL mechanisms, and controls after an
/// operation of any kind.
pub fn extended(bytes: &[u8]) {
    if let Some(controls) = crate::decode_controls_of(bytes) {
        assert!(controls.len() <= crate::control::CONTROLS_MAX);
    }
    round_trip!(bytes =>
        Bearer BulkUpdateRequest BulkUpdateResponse CancelRequest ClientFinal ClientFirst
        EndBulkUpdateRequest
        EndTransactionRequest EndTransactionResponse PasswordModifyRequest PasswordModifyResponse
        Plain RefreshRequest RefreshResponse StartBulkUpdateRequest StartBulkUpdateResponse
    );
}

#[cfg(test)]
mod tests;
