//! Distinguished names: equal spellings, and structure.

use std::sync::LazyLock;

use proptest::prelude::*;

use super::*;
use crate::name::{below, for_each_value, is_one_rdn, is_within};

static SCHEMA: LazyLock<Schema> = LazyLock::new(Schema::standard);

fn name(text: &str) -> Name {
    SCHEMA
        .resolve_name(text)
        .unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[track_caller]
fn check(text: &str, expected: &[u8]) {
    let found = name(text);
    assert_eq!(
        found.bytes().escape_ascii().to_string(),
        expected.escape_ascii().to_string()
    );
    assert_eq!(Name::from_bytes(found.bytes()), found);
}

#[test]
fn octets_from_the_top_down() {
    check("", b"");
    check("   ", b"");
    check("dc=com", b"dc=com");
    check(
        "UID=User.123,OU=Oracle,DC=Com",
        b"dc=com\0\x02ou=oracle\0\x02uid=user.123",
    );
    check(" uid = a ,  dc = B ", b"dc=b\0\x02uid=a");
    check("commonName=a b,O=x", b"o=x\0\x02cn=a b");
    check("OID.2.5.4.3=a", b"cn=a");
    check("2.5.4.3=a", b"cn=a");
    check("cn=a=b", b"cn=a=b");
}

#[test]
fn what_needs_the_parser() {
    check("cn=a\\,b,o=x", b"o=x\0\x02cn=a,b");
    check("cn=\"a,b\";o=x", b"o=x\0\x02cn=a,b");
    check("ou=Sales+cn=B,o=x", b"o=x\0\x02cn=b\0\x01ou=sales");
    check("cn=Lu\\C4\\8Di\\C4\\87", "cn=lučić".as_bytes());
    check("cn=Lučić", "cn=lučić".as_bytes());
    check("cn=a\\20\\20", b"cn=a");
    check("cn=#04024869", b"cn=hi");
}

#[test]
fn zero_octets_are_escaped() {
    // An entryUUID is 16 octets in normal form.
    check(
        "entryUUID=00000000-0000-0000-0000-0000000000ff",
        &[b"entryuuid=".as_slice(), &[0, 0xff].repeat(15), &[0xff]].concat(),
    );
    check("seeAlso=cn\\=a\\,o\\=b", b"seealso=o=b\0\xff\x02cn=a");
    let mut values = Vec::new();
    let rdn = name("seeAlso=cn\\=a\\,o\\=b+cn=c").rdn(0).to_vec();
    for_each_value(&rdn, |attribute, value| {
        values.push((attribute.to_owned(), value.to_vec()))
    });
    let expected = [
        ("cn", b"c".to_vec()),
        ("seealso", b"o=b\0\x02cn=a".to_vec()),
    ];
    assert_eq!(
        values,
        expected.map(|(attribute, value)| (attribute.to_owned(), value))
    );
}

#[test]
fn errors() {
    let error = |text: &str| SCHEMA.resolve_name(text).unwrap_err();
    assert!(matches!(error("abc"), NameError::BadSyntax(_)));
    assert!(matches!(error("cn=a,,o=b"), NameError::BadSyntax(_)));
    assert!(matches!(error("cn=a,"), NameError::BadSyntax(_)));
    assert!(matches!(error("cn=a+cn=A"), NameError::BadSyntax(_)));
    assert!(matches!(
        error("foo=a"),
        NameError::Attribute(DescribeError::UnknownType(_))
    ));
    assert!(matches!(
        error("c n=a"),
        NameError::Attribute(DescribeError::BadSyntax(_))
    ));
    assert!(matches!(error("cn="), NameError::Value { .. }));
    assert!(matches!(error("uidNumber=x"), NameError::Value { .. }));
    assert!(matches!(
        error("jpegPhoto=x"),
        NameError::Value {
            reason: InvalidValue::NoEqualityRule,
            ..
        }
    ));
}

#[test]
fn structure() {
    let (leaf, top) = (name("cn=a,ou=b,dc=c"), name("dc=c"));
    assert_eq!(leaf.depth(), 3);
    assert_eq!(leaf.rdn(0), b"dc=c");
    assert_eq!(leaf.leaf(), Some(&b"cn=a"[..]));
    assert_eq!(leaf.parent(), Some(name("ou=b,dc=c")));
    assert_eq!(top.parent(), Some(Name::root()));
    assert_eq!(Name::root().parent(), None);
    assert_eq!(Name::root().leaf(), None);
    assert_eq!(leaf.prefix_bytes(2), name("ou=b,dc=c").bytes());
    assert_eq!(top.child(b"ou=b").child(b"cn=a"), leaf);
    assert_eq!(Name::root().child(b"dc=c"), top);
    assert_eq!(
        leaf.rdns().rev().collect::<Vec<_>>(),
        [b"cn=a", b"ou=b", b"dc=c"]
    );
    assert!(leaf.is_within(&top) && leaf.is_within(&leaf) && leaf.starts_with(&Name::root()));
    assert!(!top.is_within(&leaf));
    assert!(!name("cn=a,dc=cc").is_within(&top));
    assert!(!name("cn=a,dc=c+ou=x").is_within(&top));
    assert!(top < name("ou=z,dc=c") && name("ou=z,dc=c") < name("dc=d"));
}

#[test]
fn relations_of_octets() {
    let below = |one: &str, other: &str| below(name(one).bytes(), name(other).bytes()).is_some();
    assert!(below("cn=a,dc=c", "dc=c"));
    assert!(below("cn=a,dc=c", ""));
    assert!(!below("dc=c", "dc=c"));
    assert!(!below("dc=cc", "dc=c"));
    assert!(is_within(name("dc=c").bytes(), name("dc=c").bytes()));
    assert!(is_one_rdn(b"cn=a\0\x01ou=b"));
    assert!(!is_one_rdn(name("cn=a,dc=c").bytes()));
    assert!(!is_one_rdn(b""));
}

#[test]
fn the_printed_normal_form_is_the_same_name() {
    for text in [
        "",
        "dc=c",
        "CN=Foo\\, Bar+ou=X,DC=Com",
        "cn=\\23a\\00b ,o=\\20x",
    ] {
        let name = SCHEMA.resolve_name(text).unwrap();
        let printed = name.to_string();
        assert_eq!(SCHEMA.resolve_name(&printed).unwrap(), name, "{printed}");
    }
    let name = SCHEMA.resolve_name("CN=Foo\\, Bar+ou=X,DC=Com").unwrap();
    assert_eq!(name.to_string(), "cn=foo\\, bar+ou=x,dc=com");
}

#[test]
fn one_rdn() {
    let rdn = SCHEMA.resolve_rdn("CN=Foo\\, Bar+ou=X").unwrap();
    assert_eq!(rdn.normal, b"cn=foo, bar\0\x01ou=x");
    let type_of = |text: &str| Description::of_type(SCHEMA.attribute_type(text).unwrap());
    let expected = vec![
        (type_of("cn"), b"Foo, Bar".to_vec()),
        (type_of("ou"), b"X".to_vec()),
    ];
    assert_eq!(rdn.values, expected);
    assert!(SCHEMA.resolve_rdn("").is_err());
    assert!(SCHEMA.resolve_rdn("cn=a,cn=b").is_err());
}

proptest! {
    #[test]
    fn short_way_and_parser_agree(text in "(cn|OU|o|foo)? ?=?[a-cA-C ,=.é]{0,14}") {
        let mut parsed = (Vec::new(), Vec::new());
        let done = put_parsed_name(&SCHEMA, &text, 4, &mut parsed.0, &mut |end| parsed.1.push(end));
        match SCHEMA.resolve_name(&text) {
            Ok(name) => {
                prop_assert!(done.is_ok());
                prop_assert_eq!(name.bytes(), &parsed.0[..]);
                prop_assert_eq!(name.depth(), parsed.1.len());
            }
            Err(_) => prop_assert!(done.is_err()),
        }
    }

    #[test]
    fn escaped_values_come_back(value: String, octets in proptest::collection::vec(0u8..4, 0..6)) {
        let mut text = "cn=".to_owned();
        protocol::escape_value(&mut text, value.as_bytes());
        let direct = SCHEMA.normalise_equality(
            SCHEMA.attribute_type("cn").unwrap(), value.as_bytes(), &mut Vec::new());
        prop_assert_eq!(SCHEMA.resolve_name(&text).is_ok(), direct.is_ok());
        let name = Name::root().child(b"o=x").child(&octets.repeat(2));
        prop_assert!(Name::from_bytes(name.bytes()).depth() <= name.bytes().len());
    }
}
