//! Tests of distinguished names as text.

use super::*;
use proptest::prelude::*;

/// `type=value` pairs, leaf first, `+` between values and `,` between RDNs, values as debug text.
fn shown(text: &str) -> String {
    let name = parse_name(text).unwrap_or_else(|error| panic!("{text:?}: {error}"));
    let rdn = |rdn: &Rdn| {
        let value = |it: &AttributeValue| format!("{}={}", it.attribute, it.value.escape_ascii());
        rdn.values.iter().map(value).collect::<Vec<_>>().join(" + ")
    };
    name.rdns.iter().map(rdn).collect::<Vec<_>>().join(" , ")
}

#[track_caller]
fn fails(text: &str, at: usize, message: &str) {
    let error = parse_name(text).unwrap_err();
    assert_eq!(
        (error.at, error.message.as_str()),
        (at, message),
        "{text:?}"
    );
}

/// RFC 4514 §4.
#[test]
fn examples_of_the_rfc() {
    assert_eq!(
        shown("UID=jsmith,DC=example,DC=net"),
        "UID=jsmith , DC=example , DC=net"
    );
    assert_eq!(
        shown("OU=Sales+CN=J.  Smith,DC=example,DC=net"),
        "OU=Sales + CN=J.  Smith , DC=example , DC=net"
    );
    assert_eq!(
        shown(r#"CN=James \"Jim\" Smith\, III,DC=example,DC=net"#),
        r#"CN=James \"Jim\" Smith, III , DC=example , DC=net"#
    );
    assert_eq!(
        shown(r"CN=Before\0dAfter,DC=net"),
        r"CN=Before\rAfter , DC=net"
    );
    assert_eq!(
        shown("1.3.6.1.4.1.1466.0=#04024869"),
        "1.3.6.1.4.1.1466.0=Hi"
    );
    assert_eq!(shown(r"CN=Lu\C4\8Di\C4\87"), r"CN=Lu\xc4\x8di\xc4\x87");
}

#[test]
fn empty_names() {
    assert_eq!(parse_name("").unwrap().rdns, []);
    assert_eq!(parse_name("  ").unwrap().rdns, []);
    assert_eq!(shown("cn="), "cn=");
    assert_eq!(shown("cn=,dc=x"), "cn= , dc=x");
}

/// Spellings of RFC 2253 §4 and of clients.
#[test]
fn leniencies() {
    assert_eq!(shown(" cn = a b  , dc = x "), "cn=a b , dc=x");
    assert_eq!(shown("cn=a;dc=x"), "cn=a , dc=x");
    assert_eq!(shown("cn=a + sn=b,dc=x"), "cn=a + sn=b , dc=x");
    assert_eq!(shown(r#"cn="a, b; c" , dc=x"#), "cn=a, b; c , dc=x");
    assert_eq!(shown(r#"cn=" a\"b ""#), r#"cn= a\"b "#);
    assert_eq!(
        shown("oid.2.5.4.3=a,OID.2.5.4.4=b"),
        "2.5.4.3=a , 2.5.4.4=b"
    );
    assert_eq!(shown(r"cn=\ a\ "), "cn= a ");
    assert_eq!(shown(r"cn=a\  ,dc=x"), "cn=a  , dc=x");
    assert_eq!(shown("cn=a=b#c"), "cn=a=b#c");
    assert_eq!(shown(r"cn=\#a\=b"), "cn=#a=b");
}

#[test]
fn spelled_is_the_text_without_spaces_around() {
    let name = parse_name(r"  cn=A\, b +  Sn = c  ; dc=x\   ").unwrap();
    let spelled: Vec<_> = name.rdns.iter().map(|rdn| rdn.spelled).collect();
    assert_eq!(spelled, [r"cn=A\, b +  Sn = c", r"dc=x\ "]);
}

#[test]
fn copies_only_what_is_escaped() {
    let name = parse_name(r#"cn=plain+sn="quoted"+uid=es\2ccaped"#).unwrap();
    let borrowed = |it: &AttributeValue| matches!(it.value, Cow::Borrowed(_));
    let values = &name.rdns[0].values;
    assert_eq!(
        values.iter().map(borrowed).collect::<Vec<_>>(),
        [true, true, false]
    );
    assert_eq!((values.len(), values.first().attribute), (3, "cn"));
}

#[test]
fn hex_values_of_several_string_types() {
    assert_eq!(shown("cn=#0c024869+sn=#13024869"), "cn=Hi + sn=Hi");
    let long = format!("cn=#048180{}", "41".repeat(128));
    assert_eq!(
        parse_name(&long).unwrap().rdns[0]
            .values
            .first()
            .value
            .len(),
        128
    );
    let wrong = "expected the hex pairs of a BER string after '#'";
    fails("cn=#", 3, wrong);
    fails("cn=#0403486900ff", 3, wrong);
    fails("cn=#30024869", 3, wrong);
    fails("cn=#040", 7, "expected a hex digit, got the end");
    fails(
        "cn=#04024869x",
        12,
        "expected ',' or '+' after the value, got 'x'",
    );
}

#[test]
fn errors_say_where_and_what() {
    fails(
        "cn",
        2,
        "expected a DN such as dc=acme,dc=example, got a text without '='",
    );
    fails(
        "dc=a,cn",
        7,
        "expected '=' after the attribute type, got the end",
    );
    fails("cn=a,", 5, "expected an attribute type, got the end");
    fails("cn=a,,dc=x", 5, "expected an attribute type, got ','");
    fails("cn=a+", 5, "expected an attribute type, got the end");
    fails("=a", 0, "expected an attribute type, got '='");
    fails("-cn=a", 0, "expected an attribute type, got '-'");
    fails("c n=a", 2, "expected '=' after the attribute type, got 'n'");
    fails("ünit=a", 0, "expected an attribute type, got '\\u{fc}'");
    fails("cn=a\0b", 4, "expected an escaped character, got '\\u{0}'");
    fails("cn=a<b", 4, "expected an escaped character, got '<'");
    fails("cn=a\"b", 4, "expected an escaped character, got '\\\"'");
    fails(
        "cn=\"a",
        5,
        "expected '\"' at the end of the quoted value, got the end",
    );
    fails(
        "cn=a\\",
        5,
        "expected a special character or two hex digits after '\\', got the end",
    );
    fails(
        "cn=a\\x",
        5,
        "expected a special character or two hex digits after '\\', got 'x'",
    );
    fails("cn=a\\4", 6, "expected a hex digit, got the end");
}

#[test]
fn one_rdn() {
    assert_eq!(parse_rdn(" cn=a+sn=b ").unwrap().spelled, "cn=a+sn=b");
    assert!(parse_rdn("").is_err());
    assert!(parse_rdn("cn=a,dc=x").is_err());
    assert!(parse_rdn("cn=a,").is_err());
}

#[test]
fn visitor_stops_at_the_first_error() {
    let mut seen = Vec::new();
    let result = for_each_rdn("cn=a,dc=x,!", |rdn| {
        seen.push(rdn.spelled);
        Ok::<(), TextError>(())
    });
    assert_eq!((result.unwrap_err().at, seen), (10, vec!["cn=a", "dc=x"]));
}

/// RFC 4514 §2.4.
#[test]
fn escapes_what_must_be_escaped() {
    let escaped = |value: &[u8]| {
        let mut out = String::new();
        escape_value(&mut out, value);
        out
    };
    assert_eq!(escaped(b"a b#c=d"), "a b#c=d");
    assert_eq!(escaped(b" a "), "\\ a\\ ");
    assert_eq!(escaped(b" "), "\\ ");
    assert_eq!(escaped(b"#a"), "\\#a");
    assert_eq!(escaped(br#"",+;<>\"#), r#"\"\,\+\;\<\>\\"#);
    assert_eq!(escaped(b"a\0b"), "a\\00b");
    assert_eq!(escaped(b"a\xffb"), "a\\ffb");
    assert_eq!(escaped("Lučić".as_bytes()), "Lučić");
    assert_eq!(escaped("ü ".as_bytes()), "ü\\ ");
}

#[test]
fn what_is_for_reading_only_is_not_written() {
    for (read, written) in [
        ("cn=Ada Lovelace", "cn=Ada Lovelace"),
        ("cn=Lovelace\\, Ada+uid=ada", "cn=Lovelace\\, Ada+uid=ada"),
        ("cn=Lovelace\\2C Ada", "cn=Lovelace\\2C Ada"),
        ("cn=a\\ ", "cn=a\\ "),
        (" uid=b ", "uid=b"),
        ("cn = a", "cn=a"),
        ("cn=a + uid=b", "cn=a+uid=b"),
        ("cn=\"a, b\"", "cn=a\\, b"),
        ("OID.2.5.4.3=a", "2.5.4.3=a"),
        ("2.5.4.3=#040161", "2.5.4.3=a"),
        ("no name", "no name"),
    ] {
        assert_eq!(string_form(read), written);
    }
}

proptest! {
    #[test]
    fn the_string_form_is_the_same_rdn(
        text in r#"(cn|oid\.2\.5\.4\.3) ?= ?([a-c =+"\\]|\\[0-9a-f]{2}){0,8}"#
    ) {
        if let Ok(rdn) = parse_rdn(&text) {
            let form = string_form(&text);
            let again = parse_rdn(&form).unwrap();
            prop_assert_eq!(&again.values, &rdn.values);
            prop_assert_eq!(string_form(&form), form.clone());
        }
    }

    #[test]
    fn any_value_survives(values in proptest::collection::vec(any::<Vec<u8>>(), 1..4)) {
        let value = |value: &Vec<u8>| AttributeValue {
            attribute: "cn",
            value: Cow::Owned(value.clone()),
        };
        let text = values.iter().map(|it| value(it).to_string()).collect::<Vec<_>>().join(",");
        let name = parse_name(&text).unwrap();
        let read: Vec<_> = name.rdns.iter().map(|rdn| rdn.values.first().value.to_vec()).collect();
        prop_assert_eq!(read, values);
    }

    #[test]
    fn odd_text_never_panics(text in r#"([a-c0#=,;+ "<\\ü]|oid\.|\\[0-9a-f,]{2}){0,20}"#) {
        crate::fuzz_text::name(text.as_bytes());
    }
}
