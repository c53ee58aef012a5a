//! Valid and invalid values of each syntax.

use crate::syntax::{self, Syntax};

/// Checks the syntax with this last number of 1.3.6.1.4.1.1466.115.121.1 on valid and invalid
/// values.
#[track_caller]
fn check(number: u8, valid: &[&str], invalid: &[&str]) {
    check_oid(
        &format!("1.3.6.1.4.1.1466.115.121.1.{number}"),
        valid,
        invalid,
    );
}

#[track_caller]
fn check_oid(oid: &str, valid: &[&str], invalid: &[&str]) {
    let syntax = Syntax::by_oid(oid).unwrap();
    for value in valid {
        assert_eq!(
            syntax.check(value.as_bytes()),
            Ok(()),
            "{}: {value:?}",
            syntax.description
        );
    }
    for value in invalid {
        assert!(
            syntax.check(value.as_bytes()).is_err(),
            "{}: {value:?}",
            syntax.description
        );
    }
}

#[test]
fn every_listed_syntax_is_there() {
    let numbers = [
        3, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28,
        30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 49, 50, 51, 52, 53, 54, 55,
        56, 57, 58,
    ];
    for number in numbers {
        let oid = format!("1.3.6.1.4.1.1466.115.121.1.{number}");
        assert!(Syntax::by_oid(&oid).is_some(), "{oid}");
    }
}

#[test]
fn numbers() {
    check(7, &["TRUE", "FALSE"], &["true", "", "1", "TRUE "]);
    let long = "12345678901234567890123456789012345678901234567890";
    check(
        27,
        &["0", "1321", "-1", long],
        &["", "-", "+1", "007", "-0", "1.5", "0x1", " 1", "1 "],
    );
    check(
        6,
        &["'0101111101'B", "''B"],
        &["'012'B", "'01'", "01", "", "'B"],
    );
    check(36, &["15 079 672 281", "0", " "], &["", "1-2", "a"]);
}

#[test]
fn text() {
    check(
        15,
        &["This is a value of Directory String", "Žofín", " "],
        &[""],
    );
    assert!(
        Syntax::by_oid(syntax::OID_DIRECTORY_STRING)
            .unwrap()
            .check(b"\xc3")
            .is_err()
    );
    check(26, &["", "a@b.example", "\u{7f}"], &["é"]);
    check(
        44,
        &["This is a PrintableString.", "a'()+,-./:?= 0"],
        &["", "a_b", "a@b", "a*"],
    );
    check(50, &["+1 512 315 0280", "+49 (0)30/1234-5"], &["", "1#2"]);
    check(11, &["US", "au"], &["", "U", "USA", "U$"]);
    check(
        41,
        &["1234 Main St.$Anytown, CA 12345$USA", "\\241M$PO\\5CBox"],
        &["", "a\\x", "a\\"],
    );
    check(39, &["mcimail$a!b", "x $ y"], &["mail", "$x", "a_b$c"]);
    check(
        14,
        &["telephone", "mhs $ telephone", "any"],
        &["", "pigeon", "telephone $"],
    );
    check(
        22,
        &["+61 3 9896 7801", "1$b4Width$fineResolution"],
        &["", "1$color"],
    );
    check(52, &["1234$de$abc"], &["1234", "1$2", "1$$3"]);
    check(
        21,
        &["person#(sn$EQ)#oneLevel", "2.5.6.6#?TRUE#wholeSubtree"],
        &["person#x", "#x#y"],
    );
    check(58, &["a*", "*b*c*", "*a"], &["", "abc", "*", "**"]);
}

#[test]
fn identifiers() {
    check(
        38,
        &["1.2.3.4", "cn", "x-y1", "0.9"],
        &["", "1", "1.", "1..2", "01.2", "1cn", "-a", "a b"],
    );
    check(
        12,
        &["", "UID=jsmith,DC=example,DC=net", "CN=a\\,b+OU=c"],
        &["a", "=b", "cn=a,"],
    );
    check(
        34,
        &["1.3.6.1.4.1.1466.0=#04024869,O=Test,C=GB#'0101'B", "o=x"],
        &["o", "x#'01'B"],
    );
    check_oid(
        syntax::OID_UUID,
        &[
            "597ae2f6-16a6-1027-98f4-d28b5365dc14",
            "597AE2F6-16a6-1027-98f4-d28b5365dc14",
        ],
        &[
            "",
            "597ae2f616a6102798f4d28b5365dc14",
            "597ae2f6-16a6-1027-98f4-d28b5365dc1g",
        ],
    );
}

#[test]
fn definitions() {
    check(
        3,
        &["( 2.5.18.1 NAME 'createTimestamp' )"],
        &["", "2.5.18.1", "( 1.2", "( 1.2 DESC 'x )"],
    );
    check(
        37,
        &["( 2.5.6.2 NAME 'country' MUST c MAY ( a $ b ) )"],
        &["( a ) )", "(a))"],
    );
    check(54, &["(1.2 DESC 'a ) b')"], &["x"]);
    check(
        45,
        &["{ base \"ou=a\", minimum 1 }", "{}"],
        &["", "base", "{ \"a }"],
    );
}

#[test]
fn times() {
    check(
        24,
        &["199412161032Z", "199412160532-0500"],
        &["1994", "199413161032Z", "19941216"],
    );
    check(
        53,
        &["9412161032Z", "9412160532-0500"],
        &["94121610", "9413161032Z"],
    );
}
