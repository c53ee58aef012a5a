//! Writing requests, as a client does.

use super::{AddRequest, Authentication, BindRequest, ModifyDnRequest, ModifyRequest, Request};
use super::{CompareRequest, ExtendedRequest, SearchRequest};
use crate::ber::{
    BOOLEAN, ENUMERATED, INTEGER, OCTET_STRING, SEQUENCE, put_boolean, put_integer, put_nested,
    put_octets,
};
use crate::control::{OwnedControl, put_controls};
use crate::message_id::MessageId;

/// Appends one request message.
pub fn write_request(
    out: &mut Vec<u8>,
    id: MessageId,
    request: &Request<'_>,
    controls: &[OwnedControl],
) {
    put_nested(out, SEQUENCE, |out| {
        put_integer(out, INTEGER, i64::from(id));
        put_request(out, request);
        put_controls(out, controls);
    });
}

pub(crate) fn put_request(out: &mut Vec<u8>, request: &Request<'_>) {
    let tag = request.tag();
    match request {
        Request::Bind(it) => put_nested(out, tag, |out| bind(out, it)),
        Request::Unbind => put_octets(out, tag, &[]),
        Request::Search(it) => put_nested(out, tag, |out| search(out, it)),
        Request::Modify(it) => put_nested(out, tag, |out| modify(out, it)),
        Request::Add(it) => put_nested(out, tag, |out| add(out, it)),
        Request::Delete(it) => put_octets(out, tag, it.entry.as_bytes()),
        Request::ModifyDn(it) => put_nested(out, tag, |out| modify_dn(out, it)),
        Request::Compare(it) => put_nested(out, tag, |out| compare(out, it)),
        Request::Abandon(id) => put_integer(out, tag, i64::from(*id)),
        Request::Extended(it) => put_nested(out, tag, |out| extended(out, it)),
    }
}

fn bind(out: &mut Vec<u8>, request: &BindRequest<'_>) {
    put_integer(out, INTEGER, request.version);
    put_octets(out, OCTET_STRING, request.name.as_bytes());
    match request.authentication {
        Authentication::Simple(password) => put_octets(out, 0x80, password),
        Authentication::Sasl {
            mechanism,
            credentials,
        } => put_nested(out, 0xA3, |out| {
            put_octets(out, OCTET_STRING, mechanism.as_bytes());
            if let Some(credentials) = credentials {
                put_octets(out, OCTET_STRING, credentials);
            }
        }),
        Authentication::Unknown(tag) => put_octets(out, tag, &[]),
    }
}

fn search(out: &mut Vec<u8>, request: &SearchRequest<'_>) {
    put_octets(out, OCTET_STRING, request.base.as_bytes());
    put_integer(out, ENUMERATED, request.scope as i64);
    put_integer(out, ENUMERATED, request.deref_aliases as i64);
    put_integer(out, INTEGER, i64::from(request.size_limit));
    put_integer(out, INTEGER, i64::from(request.time_limit_s));
    put_boolean(out, BOOLEAN, request.types_only);
    request.filter.encode(out);
    put_attribute_selection(out, &request.attributes);
}

/// Writes an AttributeSelection (RFC 4511 §4.5.1.8).
pub(crate) fn put_attribute_selection(out: &mut Vec<u8>, attributes: &[&str]) {
    put_nested(out, SEQUENCE, |out| {
        for attribute in attributes {
            put_octets(out, OCTET_STRING, attribute.as_bytes());
        }
    });
}

fn modify(out: &mut Vec<u8>, request: &ModifyRequest<'_>) {
    put_octets(out, OCTET_STRING, request.object.as_bytes());
    put_nested(out, SEQUENCE, |out| {
        for change in &request.changes {
            put_nested(out, SEQUENCE, |out| {
                put_integer(out, ENUMERATED, change.operation as i64);
                change.attribute.encode(out);
            });
        }
    });
}

fn add(out: &mut Vec<u8>, request: &AddRequest<'_>) {
    put_octets(out, OCTET_STRING, request.entry.as_bytes());
    put_nested(out, SEQUENCE, |out| {
        for attribute in &request.attributes {
            attribute.encode(out);
        }
    });
}

fn modify_dn(out: &mut Vec<u8>, request: &ModifyDnRequest<'_>) {
    put_octets(out, OCTET_STRING, request.entry.as_bytes());
    put_octets(out, OCTET_STRING, request.new_rdn.as_bytes());
    put_boolean(out, BOOLEAN, request.delete_old_rdn);
    if let Some(superior) = request.new_superior {
        put_octets(out, 0x80, superior.as_bytes());
    }
}

fn compare(out: &mut Vec<u8>, request: &CompareRequest<'_>) {
    put_octets(out, OCTET_STRING, request.entry.as_bytes());
    put_nested(out, SEQUENCE, |out| {
        put_octets(out, OCTET_STRING, request.attribute.as_bytes());
        put_octets(out, OCTET_STRING, request.value);
    });
}

fn extended(out: &mut Vec<u8>, request: &ExtendedRequest<'_>) {
    put_octets(out, 0x80, request.name.as_bytes());
    if let Some(value) = request.value {
        put_octets(out, 0x81, value);
    }
}
