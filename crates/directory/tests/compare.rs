//! Compare of passwords under a description with options.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod kit;

use kit::Client;
use policy::password::{Scheme, hash};
use protocol::{CompareRequest, Request, ResultCode};

const ADA: &str = "cn=ada,dc=example,dc=com";

#[test]
fn a_password_with_an_option_is_another() {
    let mut client = Client::admin();
    let slow = hash(Scheme::Argon2id, b"slow").unwrap();
    let entry = [
        ("objectClass", &["person"][..]),
        ("sn", &["ada"]),
        ("userPassword", &["plain"]),
        ("userPassword;x-fast", &["fast"]),
        ("userPassword;x-slow", &[slow.as_str()]),
    ];
    assert_eq!(client.add(ADA, &entry).code, ResultCode::SUCCESS);
    let mut compare = |attribute: &str, value: &[u8]| {
        let request = CompareRequest {
            entry: ADA,
            attribute,
            value,
        };
        client.call(&Request::Compare(request), &[]).result.code
    };
    for (attribute, value, code) in [
        ("userPassword", "plain", ResultCode::COMPARE_TRUE),
        ("userPassword", "fast", ResultCode::COMPARE_FALSE),
        ("userPassword;x-fast", "fast", ResultCode::COMPARE_TRUE),
        ("userPassword;x-fast", "plain", ResultCode::COMPARE_FALSE),
        ("userPassword;x-slow", "slow", ResultCode::COMPARE_TRUE),
        ("userPassword;x-slow", "plain", ResultCode::COMPARE_FALSE),
        (
            "userPassword;x-none",
            "plain",
            ResultCode::NO_SUCH_ATTRIBUTE,
        ),
    ] {
        let came = compare(attribute, value.as_bytes());
        assert_eq!(came, code, "{attribute} {value}");
    }
}
