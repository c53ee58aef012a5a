//! RFC 4515: escapes in filter text, as clients write them.

use kit::people;

use crate::{uids, with_people};

/// §3: `*`, `(`, `)`, `\` and NUL are written as hexadecimal pairs.
#[test]
fn s3_special_characters() {
    let (_subject, mut client) = with_people();
    let mut entry = people::person("special");
    entry.push("description", br"a*b(c)d\e".to_vec());
    client.add(&entry).expect_success();
    assert_eq!(
        uids(&mut client, r"(description=a\2ab\28c\29d\5ce)"),
        ["special"]
    );
    assert_eq!(uids(&mut client, r"(description=*\28c\29*)"), ["special"]);
    assert_eq!(uids(&mut client, r"(description=*\2a*)"), ["special"]);
}

/// §4: values outside ASCII, plain or in pairs.
#[test]
fn s4_utf8() {
    let (_subject, mut client) = with_people();
    let mut entry = people::person("lucic");
    entry.push("givenName", "Lučić".as_bytes().to_vec());
    client.add(&entry).expect_success();
    assert_eq!(uids(&mut client, r"(givenName=Lu\c4\8di\c4\87)"), ["lucic"]);
    assert_eq!(uids(&mut client, "(givenName=LUČIĆ)"), ["lucic"]);
}

/// RFC 4526: `(&)` is True, `(|)` is False.
#[test]
fn rfc4526_absolute_true_and_false() {
    let (_subject, mut client) = with_people();
    assert_eq!(uids(&mut client, "(&)").len(), 3);
    assert_eq!(uids(&mut client, "(|)").len(), 0);
    assert_eq!(uids(&mut client, "(!(|))").len(), 3);
}
