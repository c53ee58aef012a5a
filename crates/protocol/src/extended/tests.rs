//! Tests of the values of extended operations.

use super::*;
use crate::ber::{INTEGER, SEQUENCE, put_integer, put_nested};
use crate::control::Control;
use crate::{DeleteRequest, LdapResult, ModifyDnRequest, Request, ResultCode};

/// Decodes these bytes to this, and encodes this to these bytes.
macro_rules! check {
    ($type:ident, $bytes:expr, $value:expr) => {{
        let value = $value;
        assert_eq!($type::decode($bytes), Ok(value.clone()));
        let mut out = Vec::new();
        value.encode(&mut out);
        assert_eq!(out, $bytes, "{}", out.escape_ascii());
    }};
}

#[test]
fn password_modify() {
    check!(
        PasswordModifyRequest,
        b"\x30\x00",
        PasswordModifyRequest::default()
    );
    let all = PasswordModifyRequest {
        user_identity: Some("cn=a"),
        old_password: Some(b"o"),
        new_password: Some(b"n"),
    };
    check!(
        PasswordModifyRequest,
        b"\x30\x0c\x80\x04cn=a\x81\x01o\x82\x01n",
        all
    );
    assert_eq!(
        format!("{all:?}"),
        "PasswordModifyRequest { user_identity: Some(\"cn=a\"), has_old_password: true, \
         has_new_password: true }"
    );
    let response = PasswordModifyResponse {
        generated_password: Some(b"gen"),
    };
    check!(PasswordModifyResponse, b"\x30\x05\x80\x03gen", response);
    assert!(!format!("{response:?}").contains("103"));
}

#[test]
fn cancel() {
    check!(
        CancelRequest,
        b"\x30\x03\x02\x01\x07",
        CancelRequest { cancel_id: 7 }
    );
    assert!(CancelRequest::decode(b"\x30\x03\x02\x01\xff").is_err());
    assert!(CancelRequest::decode(b"\x30\x00").is_err());
}

#[test]
fn end_of_a_transaction() {
    let commit = EndTransactionRequest {
        commit: true,
        identifier: b"t",
    };
    check!(EndTransactionRequest, b"\x30\x03\x04\x01t", commit);
    let as_it_came = EndTransactionRequest::decode(b"\x30\x03\x8b\x01t");
    assert_eq!(as_it_came, Ok(commit));
    assert!(EndTransactionRequest::decode(b"\x30\x03\x80\x01t").is_err());
    let abort = EndTransactionRequest {
        commit: false,
        identifier: b"",
    };
    check!(
        EndTransactionRequest,
        b"\x30\x05\x01\x01\x00\x04\x00",
        abort
    );
    check!(
        EndTransactionResponse,
        b"\x30\x00",
        EndTransactionResponse::default()
    );
    let failed = EndTransactionResponse {
        message_id: Some(9),
        ..Default::default()
    };
    check!(EndTransactionResponse, b"\x30\x03\x02\x01\x09", failed);
    let control = Control {
        oid: "1.2",
        critical: false,
        value: Some(b"v"),
    };
    let updates_controls = vec![UpdateControls {
        message_id: 5,
        controls: vec![control],
    }];
    let done = EndTransactionResponse {
        message_id: None,
        updates_controls,
    };
    let bytes = b"\x30\x13\x30\x11\x30\x0f\x02\x01\x05\x30\x0a\x30\x08\x04\x031.2\x04\x01v";
    check!(EndTransactionResponse, bytes, done);
}

#[test]
fn bulk_update() {
    let style = "1.3.6.1.1.17.7";
    check!(
        StartBulkUpdateRequest,
        b"\x30\x10\x04\x0e1.3.6.1.1.17.7",
        StartBulkUpdateRequest { style }
    );
    let operations_max = 300;
    check!(
        StartBulkUpdateResponse,
        b"\x02\x02\x01\x2c",
        StartBulkUpdateResponse { operations_max }
    );
    let delete = BulkOperation {
        request: Request::Delete(DeleteRequest { entry: "cn=a" }),
        controls: vec![Control {
            oid: "1.2",
            critical: true,
            value: None,
        }],
    };
    let rename = BulkOperation {
        request: Request::ModifyDn(ModifyDnRequest {
            entry: "cn=b",
            new_rdn: "cn=c",
            delete_old_rdn: true,
            new_superior: None,
        }),
        controls: Vec::new(),
    };
    let request = BulkUpdateRequest {
        sequence_number: 1,
        operations: vec![delete, rename],
    };
    let bytes = b"\x30\x2c\x02\x01\x01\x30\x27\
        \x30\x12\x4a\x04cn=a\xa0\x0a\x30\x08\x04\x031.2\x01\x01\xff\
        \x30\x11\x6c\x0f\x04\x04cn=b\x04\x04cn=c\x01\x01\xff";
    check!(BulkUpdateRequest, bytes, request);
    assert_eq!(BulkUpdateRequest::decode_number(bytes), Ok(1));
    let empty = BulkUpdateRequest {
        sequence_number: 2,
        operations: Vec::new(),
    };
    check!(BulkUpdateRequest, b"\x30\x05\x02\x01\x02\x30\x00", empty);
    let result = LdapResult::new(ResultCode::NO_SUCH_OBJECT, "no");
    check!(
        BulkUpdateResponse,
        b"\x30\x10\x30\x0e\x02\x01\x02\x30\x09\x0a\x01\x20\x04\x00\x04\x02no",
        BulkUpdateResponse {
            results: vec![(2, result)]
        }
    );
    let sequence_number = 3;
    check!(
        EndBulkUpdateRequest,
        b"\x30\x03\x02\x01\x03",
        EndBulkUpdateRequest { sequence_number }
    );
}

#[test]
fn bulk_updates_that_are_none() {
    // A number below 1, an operation that is no update, an update without content, bytes after the
    // list.
    for junk in [
        &b"\x30\x05\x02\x01\x00\x30\x00"[..],
        b"\x30\x09\x02\x01\x01\x30\x04\x30\x02\x42\x00",
        b"\x30\x07\x02\x01\x01\x30\x02\x30\x00",
        b"\x30\x05\x02\x01\x01\x30\x00\x00",
        b"",
    ] {
        let decoded = BulkUpdateRequest::decode(junk);
        assert!(
            decoded.is_err(),
            "{} became {decoded:?}",
            junk.escape_ascii()
        );
    }
    let one = b"\x30\x06\x4a\x04cn=a";
    let mut list = Vec::new();
    put_nested(&mut list, SEQUENCE, |out| {
        put_integer(out, INTEGER, 1);
        put_nested(out, SEQUENCE, |out| {
            out.extend(one.repeat(BULK_OPERATIONS_MAX + 1));
        });
    });
    let error = BulkUpdateRequest::decode(&list).expect_err("too many");
    assert!(error.to_string().contains("update operations"), "{error}");
}

#[test]
fn refresh() {
    let request = RefreshRequest {
        entry: "cn=a",
        ttl_s: 60,
    };
    check!(RefreshRequest, b"\x30\x09\x80\x04cn=a\x81\x01\x3c", request);
    check!(
        RefreshResponse,
        b"\x30\x03\x81\x01\x3c",
        RefreshResponse { ttl_s: 60 }
    );
    assert!(RefreshRequest::decode(b"\x30\x06\x80\x04cn=a").is_err());
    assert!(RefreshRequest::decode(b"\x30\x09\x80\x04cn=a\x81\x01\xff").is_err());
}

#[test]
fn controls_behind_a_malformed_operation() {
    // A modify whose content is no modify, with a control.
    let bytes = b"\x30\x13\x02\x01\x07\x66\x02\x04\x00\xa0\x0a\x30\x08\x04\x031.2\x01\x01\xff";
    let controls = crate::decode_controls_of(bytes).expect("controls");
    assert_eq!((controls[0].oid, controls[0].critical), ("1.2", true));
    assert_eq!(crate::decode_controls_of(&bytes[..9]), None);
}
