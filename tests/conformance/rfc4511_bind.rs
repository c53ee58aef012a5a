//! RFC 4511 §4.2 to §4.4, with RFC 4513 §5: bind and unbind.

use kit::{ADMIN, PASSWORD, Subject};
use protocol::{Authentication, BindRequest, Request, ResultCode, Scope};

use crate::{ADA, EDSGER, with_people};

/// §4.2: version 3 is the version; another one is a protocol error.
#[test]
fn s4_2_other_versions_are_refused() {
    let subject = Subject::from_env();
    for version in [1, 4, 127] {
        let mut client = subject.client();
        let authentication = Authentication::Simple(b"");
        let request = BindRequest {
            version,
            name: "",
            authentication,
        };
        let outcome = client.call(&Request::Bind(request), &[]).outcome;
        outcome.expect(ResultCode::PROTOCOL_ERROR);
    }
}

/// §4.2: a mechanism the server does not have is authMethodNotSupported.
#[test]
fn s4_2_unknown_sasl_mechanism() {
    let subject = Subject::from_env();
    let mut client = subject.client();
    let authentication = Authentication::Sasl {
        mechanism: "NO-SUCH-MECHANISM",
        credentials: None,
    };
    let request = BindRequest {
        version: 3,
        name: "",
        authentication,
    };
    let outcome = client.call(&Request::Bind(request), &[]).outcome;
    outcome.expect(ResultCode::AUTH_METHOD_NOT_SUPPORTED);
}

/// §4.2: a client may bind again, as someone else.
#[test]
fn s4_2_1_bind_replaces_bind() {
    let (_subject, mut client) = with_people();
    assert_eq!(client.who_am_i().to_lowercase(), format!("dn:{ADMIN}"));
    client.bind(ADA, "ada").expect_success();
    assert_eq!(
        client.who_am_i().to_lowercase(),
        format!("dn:{}", ADA.to_lowercase())
    );
    client.bind("", "").expect_success();
    assert_eq!(client.who_am_i(), "");
}

/// §4.2.1: a bind that fails leaves the session anonymous.
#[test]
fn s4_2_1_failed_bind_leaves_anonymous() {
    let (_subject, mut client) = with_people();
    client
        .bind(ADA, "wrong")
        .expect(ResultCode::INVALID_CREDENTIALS);
    assert_eq!(client.who_am_i(), "");
}

/// §4.3: unbind has no response; the server closes.
#[test]
fn s4_3_unbind_closes() {
    let subject = Subject::from_env();
    let mut client = subject.client();
    client.send(&Request::Unbind, &[]);
    assert!(client.is_closed_by_server());
}

/// RFC 4513 §5.1.1: no name and no password is an anonymous bind.
#[test]
fn rfc4513_s5_1_1_anonymous() {
    let subject = Subject::from_env();
    let mut client = subject.client();
    client.bind("", "").expect_success();
    assert_eq!(client.who_am_i(), "");
}

/// RFC 4513 §5.1.2: a name with an empty password is refused by default.
#[test]
fn rfc4513_s5_1_2_unauthenticated_is_refused() {
    let (subject, _) = with_people();
    let mut client = subject.client();
    client
        .bind(ADA, "")
        .expect(ResultCode::UNWILLING_TO_PERFORM);
}

/// RFC 4513 §5.1.3: name and password; nothing tells a wrong name from a wrong password.
#[test]
fn rfc4513_s5_1_3_name_and_password() {
    let (subject, _) = with_people();
    let mut client = subject.client();
    client.bind(ADA, "ada").expect_success();
    client.bind(ADMIN, PASSWORD).expect_success();
    let wrong = client
        .bind(ADA, "ADA")
        .expect(ResultCode::INVALID_CREDENTIALS);
    let nobody = "uid=nobody,ou=People,dc=example,dc=com";
    let missing = client
        .bind(nobody, "x")
        .expect(ResultCode::INVALID_CREDENTIALS);
    let without = client
        .bind(EDSGER, "x")
        .expect(ResultCode::INVALID_CREDENTIALS);
    assert_eq!(wrong.diagnostic, missing.diagnostic);
    assert_eq!(wrong.diagnostic, without.diagnostic);
    assert_eq!((missing.matched.as_str(), wrong.matched.as_str()), ("", ""));
}

/// RFC 4513 §4: before any bind the session is anonymous.
#[test]
fn rfc4513_s4_sessions_begin_anonymous() {
    let (subject, _) = with_people();
    let mut client = subject.client();
    assert_eq!(client.who_am_i(), "");
    let found = client.search(ADA, Scope::BaseObject, "(objectClass=*)", &["*"]);
    assert!(!found.only().has("userPassword"));
}
