//! RFC 4514: distinguished names as text.

use kit::Entry;
use protocol::{ResultCode, Scope};

use crate::{ADA, with_people};

#[track_caller]
fn same(name: &str) {
    let (_subject, mut client) = with_people();
    let found = client.search(name, Scope::BaseObject, "(objectClass=*)", &["uid"]);
    assert_eq!(found.only().text("uid"), "ada", "{name}");
}

/// §2.3: attribute types by OID.
#[test]
fn s2_3_types_by_oid() {
    same("0.9.2342.19200300.100.1.1=ada,2.5.4.11=People,dc=example,dc=com");
}

/// §2.4: pairs of hexadecimal digits.
#[test]
fn s2_4_hexadecimal_pairs() {
    same(r"uid=\61d\61,ou=\50eople,dc=example,dc=com");
}

/// §2.4: the BER encoding in hexadecimal.
#[test]
fn s2_4_hexadecimal_strings() {
    let (subject, mut client) = with_people();
    let name = "uid=#0403616461,ou=People,dc=example,dc=com";
    let found = client.search(name, Scope::BaseObject, "(objectClass=*)", &["uid"]);
    // slapd 2.5 refuses this form where the type has a string syntax.
    if subject.is_pando() || found.outcome.code != ResultCode::INVALID_DN_SYNTAX {
        assert_eq!(found.only().text("uid"), "ada");
    }
}

/// §2.4: special characters are escaped, and the same name whatever the way.
#[test]
fn s2_4_special_characters() {
    let (_subject, mut client) = with_people();
    let value = r#" #a,b+c"d\e<f>g;h=i "#;
    let entry = Entry::of(
        r#"cn=\ #a\,b\+c\"d\\e\<f\>g\;h\=i\ ,dc=example,dc=com"#,
        &[
            ("objectClass", &["person"]),
            ("cn", &[value]),
            ("sn", &["x"]),
        ],
    );
    client.add(&entry).expect_success();
    let other = r"cn=\20\23a\2cb\2bc\22d\5ce\3cf\3eg\3bh\3di\20,dc=example,dc=com";
    assert!(client.read(other).is_some());
    client.delete(other).expect_success();
}

/// §2.4: values outside ASCII are UTF-8.
#[test]
fn s2_4_utf8() {
    let (_subject, mut client) = with_people();
    let entry = Entry::of(
        "cn=Lučić,dc=example,dc=com",
        &[
            ("objectClass", &["person"]),
            ("cn", &["Lučić"]),
            ("sn", &["x"]),
        ],
    );
    client.add(&entry).expect_success();
    assert!(
        client
            .read(r"cn=Lu\C4\8Di\C4\87,dc=example,dc=com")
            .is_some()
    );
    assert!(client.read("CN=LUČIĆ,dc=example,dc=com").is_some());
}

/// §3: types know no case, values follow their matching rule.
#[test]
fn s3_case() {
    same(&ADA.to_uppercase());
}

/// RFC 2253 §4 leniency that servers keep: spaces around separators.
#[test]
fn rfc2253_s4_spaces_around_separators() {
    same("uid = ada , ou = People , dc = example , dc = com");
}

/// §3: what is no name is invalidDNSyntax.
#[test]
fn s3_what_is_no_name() {
    let (_subject, mut client) = with_people();
    for name in [
        "ada",
        "uid=ada,,dc=example",
        "=ada",
        "uid=ada\\",
        "uid=#0z,dc=example",
        ",",
        "+",
    ] {
        let found = client.search(name, Scope::BaseObject, "(objectClass=*)", &[]);
        assert!(
            found.outcome.code == ResultCode::INVALID_DN_SYNTAX,
            "{name}: {:?}",
            found.outcome
        );
    }
}
