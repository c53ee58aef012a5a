//! Tests of the values of extended operations.

use super::*;
use crate::control::Control;

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
