//! RFC 4517 with RFC 4518: syntaxes and how values match.

use kit::client::Modification;
use kit::people;
use protocol::ResultCode;

use crate::{ADA, uids, with_people};

/// §4.2.11: caseIgnoreMatch; RFC 4518 §2.6.1: insignificant spaces.
#[test]
fn s4_2_11_case_ignore() {
    let (_subject, mut client) = with_people();
    let change = Modification::replace("description", &["  Wrote   the first   program "]);
    client.modify(ADA, &[change]).expect_success();
    assert_eq!(
        uids(&mut client, "(description=wrote the FIRST program)"),
        ["ada"]
    );
    assert_eq!(
        uids(&mut client, "(description=wrote the  first program  )"),
        ["ada"]
    );
    assert_eq!(
        uids(&mut client, "(description=wrotethefirstprogram)"),
        [""; 0]
    );
}

/// §4.2.5: caseExactMatch where the type says so.
#[test]
fn s4_2_5_case_exact() {
    let (_subject, mut client) = with_people();
    let change = Modification::add("labeledURI", &["http://example.com/Ada"]);
    client.modify(ADA, &[change]).expect_success();
    assert_eq!(
        uids(&mut client, "(labeledURI=http://example.com/Ada)"),
        ["ada"]
    );
    assert_eq!(
        uids(&mut client, "(labeledURI=http://example.com/ada)"),
        [""; 0]
    );
}

/// §4.2.15: distinguishedNameMatch compares names, not texts.
#[test]
fn s4_2_15_distinguished_name() {
    let (_subject, mut client) = with_people();
    let change = Modification::add("manager", &["uid=Grace, ou=PEOPLE, dc=example, dc=com"]);
    client.modify(ADA, &[change]).expect_success();
    assert_eq!(
        uids(
            &mut client,
            "(manager=UID=grace,ou=People,dc=example,dc=com)"
        ),
        ["ada"]
    );
    let change = Modification::add("seeAlso", &["no name"]);
    client
        .modify(ADA, &[change])
        .expect(ResultCode::INVALID_ATTRIBUTE_SYNTAX);
}

/// §4.2.19: integerMatch; §3.3.16: no leading zeros, no words.
#[test]
fn s4_2_19_integer() {
    let (_subject, mut client) = with_people();
    let mut account = people::person("account");
    account.push("objectClass", b"posixAccount".to_vec());
    account.push("uidNumber", b"1000".to_vec());
    account.push("gidNumber", b"100".to_vec());
    account.push("homeDirectory", b"/home/account".to_vec());
    client.add(&account).expect_success();
    assert_eq!(uids(&mut client, "(uidNumber=1000)"), ["account"]);
    for wrong in ["ten", "", "1 000", "1.5", "0x10"] {
        let outcome = client.modify(
            &account.name,
            &[Modification::replace("uidNumber", &[wrong])],
        );
        assert!(
            outcome.code == ResultCode::INVALID_ATTRIBUTE_SYNTAX,
            "{wrong}: {outcome:?}"
        );
    }
}

/// §4.2.29: telephoneNumberMatch ignores spaces and hyphens.
#[test]
fn s4_2_29_telephone_number() {
    let (_subject, mut client) = with_people();
    let change = Modification::add("telephoneNumber", &["+49 30 123-4567"]);
    client.modify(ADA, &[change]).expect_success();
    assert_eq!(uids(&mut client, "(telephoneNumber=+49301234567)"), ["ada"]);
    assert_eq!(uids(&mut client, "(telephoneNumber=*1234*)"), ["ada"]);
}

/// §4.2.27: octetStringMatch compares bytes.
#[test]
fn s4_2_27_octet_string() {
    let (subject, _) = with_people();
    let mut client = subject.admin();
    client
        .compare(ADA, "userPassword", "ada")
        .expect(ResultCode::COMPARE_TRUE);
    client
        .compare(ADA, "userPassword", "ADA")
        .expect(ResultCode::COMPARE_FALSE);
}
