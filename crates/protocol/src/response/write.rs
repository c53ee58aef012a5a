//! Writing responses. A plain success is one copy of 14 bytes; an entry's attributes are appended
//! by the caller and its lengths patched in afterwards.

use super::{LdapResult, ResultKind, tag};
use crate::ber::{
    ENUMERATED, INTEGER, OCTET_STRING, SEQUENCE, header_length, patch_length, put_header,
    put_integer, put_nested, put_octets, write_length,
};
use crate::control::{OwnedControl, put_controls};
use crate::message_id::MessageId;
use crate::oid;

/// Identifier octet of `referral [3]`.
const REFERRAL: u8 = 0xA3;

/// Appends a response that has only a result.
#[inline]
pub fn write_result(
    out: &mut Vec<u8>,
    id: MessageId,
    kind: ResultKind,
    result: &LdapResult,
    controls: &[OwnedControl],
) {
    let silent = result.matched.is_empty()
        && result.diagnostic.is_empty()
        && result.referrals.is_empty()
        && controls.is_empty();
    match (u8::try_from(result.code.0), u8::try_from(id)) {
        (Ok(code @ 0..0x80), Ok(id @ 0..0x80)) if silent => out.extend_from_slice(&[
            SEQUENCE,
            12,
            INTEGER,
            1,
            id,
            kind.tag(),
            7,
            ENUMERATED,
            1,
            code,
            4,
            0,
            4,
            0,
        ]),
        (Ok(code @ 0..0x80), _) if silent => {
            let id = id.to_be_bytes();
            let [b3, b2, b1, b0] = id;
            let tail = [kind.tag(), 7, ENUMERATED, 1, code, 4, 0, 4, 0];
            match id {
                [0, 0, 0..0x80, _] => out.extend_from_slice(&[SEQUENCE, 13, INTEGER, 2, b1, b0]),
                [0, 0..0x80, ..] => out.extend_from_slice(&[SEQUENCE, 14, INTEGER, 3, b2, b1, b0]),
                _ => out.extend_from_slice(&[SEQUENCE, 15, INTEGER, 4, b3, b2, b1, b0]),
            }
            out.extend_from_slice(&tail);
        }
        _ => write_full(out, id, kind.tag(), result, controls, |_| {}),
    }
}

/// Appends a BindResponse with the SASL credentials of the server (RFC 4511 §4.2.2).
pub fn write_bind_result(
    out: &mut Vec<u8>,
    id: MessageId,
    result: &LdapResult,
    server_credentials: Option<&[u8]>,
    controls: &[OwnedControl],
) {
    write_full(out, id, tag::BIND, result, controls, |out| {
        if let Some(credentials) = server_credentials {
            put_octets(out, 0x87, credentials);
        }
    });
}

/// Appends an ExtendedResponse (RFC 4511 §4.12).
pub fn write_extended_result(
    out: &mut Vec<u8>,
    id: MessageId,
    result: &LdapResult,
    name: Option<&str>,
    value: Option<&[u8]>,
    controls: &[OwnedControl],
) {
    write_full(out, id, tag::EXTENDED, result, controls, |out| {
        if let Some(name) = name {
            put_octets(out, 0x8A, name.as_bytes());
        }
        if let Some(value) = value {
            put_octets(out, 0x8B, value);
        }
    });
}

/// Appends an IntermediateResponse (RFC 4511 §4.13).
pub fn write_intermediate(
    out: &mut Vec<u8>,
    id: MessageId,
    name: Option<&str>,
    value: Option<&[u8]>,
    controls: &[OwnedControl],
) {
    write_message(out, id, tag::INTERMEDIATE, controls, |out| {
        if let Some(name) = name {
            put_octets(out, 0x80, name.as_bytes());
        }
        if let Some(value) = value {
            put_octets(out, 0x81, value);
        }
    });
}

/// Appends a SearchResultReference (RFC 4511 §4.5.3); `urls` must not be empty.
pub fn write_search_reference(
    out: &mut Vec<u8>,
    id: MessageId,
    urls: &[&str],
    controls: &[OwnedControl],
) {
    write_message(out, id, tag::SEARCH_REFERENCE, controls, |out| {
        for url in urls {
            put_octets(out, OCTET_STRING, url.as_bytes());
        }
    });
}

/// Appends the unsolicited notification that the connection ends (RFC 4511 §4.4.1).
pub fn write_notice_of_disconnection(out: &mut Vec<u8>, result: &LdapResult) {
    write_extended_result(
        out,
        0,
        result,
        Some(oid::NOTICE_OF_DISCONNECTION),
        None,
        &[],
    );
}

fn write_full(
    out: &mut Vec<u8>,
    id: MessageId,
    tag: u8,
    result: &LdapResult,
    controls: &[OwnedControl],
    more: impl FnOnce(&mut Vec<u8>),
) {
    write_message(out, id, tag, controls, |out| {
        put_ldap_result(out, result);
        more(out);
    });
}

/// The components of an LDAPResult (RFC 4511 §4.1.9).
pub(crate) fn put_ldap_result(out: &mut Vec<u8>, result: &LdapResult) {
    put_integer(out, ENUMERATED, i64::from(result.code.0));
    put_octets(out, OCTET_STRING, result.matched.as_bytes());
    put_octets(out, OCTET_STRING, result.diagnostic.as_bytes());
    if !result.referrals.is_empty() {
        put_nested(out, REFERRAL, |out| {
            for url in &result.referrals {
                put_octets(out, OCTET_STRING, url.as_bytes());
            }
        });
    }
}

fn write_message(
    out: &mut Vec<u8>,
    id: MessageId,
    tag: u8,
    controls: &[OwnedControl],
    fill: impl FnOnce(&mut Vec<u8>),
) {
    put_nested(out, SEQUENCE, |out| {
        put_integer(out, INTEGER, i64::from(id));
        put_nested(out, tag, fill);
        put_controls(out, controls);
    });
}

/// Length octets reserved for each of the three headers of an entry: right for 256 bytes to 64 KiB,
/// which most entries with all their attributes have; only others are moved when finished.
const RESERVED: usize = 3;

/// Offsets of an entry that is being written; made by [`begin_search_entry`].
#[must_use = "an entry begun must be finished, or the output is not LDAP"]
#[derive(Debug)]
pub struct EntryMark {
    /// The message's identifier octet.
    message: usize,
    /// The operation's identifier octet. message < operation
    operation: usize,
    /// The attribute list's identifier octet. operation < attributes
    attributes: usize,
}

impl EntryMark {
    /// The length `out` had before the entry: truncating `out` to this length removes the entry.
    pub const fn start(&self) -> usize {
        self.message
    }
}

/// Starts a SearchResultEntry (RFC 4511 §4.5.2) with this name. The caller appends encoded
/// PartialAttributes to `out`, then calls [`finish_search_entry`].
#[inline(always)]
pub fn begin_search_entry(out: &mut Vec<u8>, id: MessageId, name: &[u8]) -> EntryMark {
    let message = out.len();
    out.extend_from_slice(&[SEQUENCE, 0x82, 0, 0]);
    put_integer(out, INTEGER, i64::from(id));
    let operation = out.len();
    out.extend_from_slice(&[tag::SEARCH_ENTRY, 0x82, 0, 0]);
    put_header(out, OCTET_STRING, name.len());
    out.extend_from_slice(name);
    let attributes = out.len();
    out.extend_from_slice(&[SEQUENCE, 0x82, 0, 0]);
    EntryMark {
        message,
        operation,
        attributes,
    }
}

/// The encoded bytes before and after the attributes of a SearchResultEntry sent in parts, for
/// PartialAttributes of this total length.
pub fn large_search_entry(
    id: MessageId,
    name: &[u8],
    attributes: usize,
    controls: &[OwnedControl],
) -> (Vec<u8>, Vec<u8>) {
    let mut end = Vec::new();
    put_controls(&mut end, controls);
    let mut list = Vec::new();
    put_octets(&mut list, OCTET_STRING, name);
    put_header(&mut list, SEQUENCE, attributes);
    let mut operation = Vec::new();
    put_integer(&mut operation, INTEGER, i64::from(id));
    put_header(&mut operation, tag::SEARCH_ENTRY, list.len() + attributes);
    operation.append(&mut list);
    let mut begin = Vec::new();
    let content = operation.len() + attributes + end.len();
    put_header(&mut begin, SEQUENCE, content);
    begin.append(&mut operation);
    (begin, end)
}

/// Ends a SearchResultEntry: fixes its lengths and appends its controls.
#[inline]
pub fn finish_search_entry(out: &mut Vec<u8>, mark: EntryMark, controls: &[OwnedControl]) {
    let EntryMark {
        message,
        operation,
        attributes,
    } = mark;
    let list = out.len().saturating_sub(content_of(attributes));
    let total = out.len().saturating_sub(message);
    if total <= 0xFFFF && controls.is_empty() {
        if list >= 0x100 {
            let end = out.len();
            for at in [message, operation, attributes] {
                let length = end.saturating_sub(content_of(at));
                write_length(out, at.saturating_add(1), length, RESERVED - 1);
            }
        } else {
            close_up(out, &mark);
        }
        return;
    }
    patch_length(out, content_of(attributes), RESERVED);
    patch_length(out, content_of(operation), RESERVED);
    put_controls(out, controls);
    patch_length(out, content_of(message), RESERVED);
}

/// Offset of the content of an element at `at` with [`RESERVED`] length octets.
#[inline]
const fn content_of(at: usize) -> usize {
    at.saturating_add(1 + RESERVED)
}

/// Gives the three headers of an entry of at most 64 KiB their minimal lengths, moving every byte
/// at most once.
#[inline]
fn close_up(out: &mut Vec<u8>, mark: &EntryMark) {
    let element = |length: usize| header_length(length).saturating_add(length);
    let id = mark.operation.saturating_sub(content_of(mark.message));
    let name = mark.attributes.saturating_sub(content_of(mark.operation));
    let list = out.len().saturating_sub(content_of(mark.attributes));
    let operation = name.saturating_add(element(list));
    let message = id.saturating_add(element(operation));
    let mut to = mark.message;
    for (at, tag, length, inner) in [
        (mark.message, SEQUENCE, message, id),
        (mark.operation, tag::SEARCH_ENTRY, operation, name),
        (mark.attributes, SEQUENCE, list, list),
    ] {
        // to <= at, because no header grows: the overwritten bytes have been moved before.
        let header = header_length(length);
        if let Some(octet) = out.get_mut(to) {
            *octet = tag;
        }
        let start = content_of(at);
        write_length(out, to.saturating_add(1), length, header.saturating_sub(2));
        to = to.saturating_add(header);
        out.copy_within(start..start.saturating_add(inner), to);
        to = to.saturating_add(inner);
    }
    out.truncate(to);
}
