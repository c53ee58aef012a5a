//! Tests of LDAP URLs.

use super::*;
use proptest::prelude::*;

#[track_caller]
fn parsed(text: &str) -> LdapUrl {
    LdapUrl::parse(text).unwrap_or_else(|error| panic!("{text:?}: {error}"))
}

#[track_caller]
fn fails(text: &str, at: usize, message: &str) {
    let error = LdapUrl::parse(text).unwrap_err();
    assert_eq!(
        (error.at, error.message.as_str()),
        (at, message),
        "{text:?}"
    );
}

/// RFC 4516 §4.
#[test]
fn examples_of_the_rfc() {
    let url = parsed("ldap:///o=University%20of%20Michigan,c=US");
    assert_eq!(
        (url.host.as_str(), url.dn.as_str()),
        ("", "o=University of Michigan,c=US")
    );

    let url = parsed("ldap://ldap1.example.net/o=University%20of%20Michigan,c=US?postalAddress");
    assert_eq!(
        (url.host.as_str(), url.attributes),
        ("ldap1.example.net", vec!["postalAddress".to_owned()])
    );

    let url = parsed("ldap://ldap1.example.net:6666/o=U,c=US??sub?(cn=Babs%20Jensen)");
    assert_eq!(
        (url.port, url.scope),
        (Some(6666), Some(Scope::WholeSubtree))
    );
    assert_eq!(
        (url.filter.as_deref(), url.attributes.len()),
        (Some("(cn=Babs Jensen)"), 0)
    );

    let url = parsed("LDAP://ldap1.example.com/c=GB?objectClass?ONE");
    assert_eq!(
        (url.scheme, url.scope),
        (UrlScheme::Ldap, Some(Scope::SingleLevel))
    );

    let url = parsed("ldap://ldap2.example.com/o=Question%3f,c=US?mail");
    assert_eq!(url.dn, "o=Question?,c=US");

    let url = parsed("ldap://ldap3.example.com/o=Babsco,c=US???(four-octet=%5c00%5c00%5c00%5c04)");
    assert_eq!(url.filter.as_deref(), Some("(four-octet=\\00\\00\\00\\04)"));

    let url = parsed("ldap://ldap.example.com/o=An%20Example%5C2C%20Inc.,c=US");
    assert_eq!(url.dn, "o=An Example\\2C Inc.,c=US");

    let url = parsed("ldap:///??sub??e-bindname=cn=Manager%2cdc=example%2cdc=com");
    let expected = UrlExtension {
        critical: false,
        kind: "e-bindname".to_owned(),
        value: Some("cn=Manager,dc=example,dc=com".to_owned()),
    };
    assert_eq!(url.extensions, [expected]);
    let url = parsed("ldap:///??sub??!e-bindname=cn=Manager%2cdc=example%2cdc=com");
    assert!(url.extensions[0].critical);
}

#[test]
fn hosts_and_ports() {
    assert_eq!(parsed("ldap://").port_or_default(), 389);
    assert_eq!(parsed("ldaps://h").port_or_default(), 636);
    assert_eq!(parsed("ldap://h:/").port_or_default(), 389);
    let url = parsed("ldap://[2001:db8::7]:1389/c=GB");
    assert_eq!((url.host.as_str(), url.port), ("2001:db8::7", Some(1389)));
    assert_eq!(url.to_string(), "ldap://[2001:db8::7]:1389/c=GB");
    let url = parsed("ldapi://%2Frun%2Fldapi/dc=x");
    assert_eq!((url.host.as_str(), url.dn.as_str()), ("/run/ldapi", "dc=x"));
    assert_eq!(url.to_string(), "ldapi://%2frun%2fldapi/dc=x");
}

#[test]
fn prints_the_shortest_text() {
    for text in [
        "ldap://",
        "ldap:///dc=x",
        "ldaps://h:1636",
        "ldap://h/dc=a%20b,dc=x?cn,mail;lang-de?one?(&(cn=*)(sn=a%3f))?!x=1,y",
        "ldap://h/??sub",
        "ldap://h/???(cn=*)",
        "ldap://h/????bindname=cn=a%2cdc=x",
        "ldap:///cn=L%c3%bcx",
    ] {
        assert_eq!(parsed(text).to_string(), text);
    }
    assert_eq!(parsed("ldap://h/?").to_string(), "ldap://h");
    assert_eq!(parsed("ldap://h/dc=x????").to_string(), "ldap://h/dc=x");
}

#[test]
fn errors_say_where_and_what() {
    fails("", 0, "expected 'ldap://', 'ldaps://' or 'ldapi://'");
    fails(
        "http://h",
        0,
        "expected 'ldap://', 'ldaps://' or 'ldapi://'",
    );
    fails("ldap:h", 0, "expected 'ldap://', 'ldaps://' or 'ldapi://'");
    fails("ldap://h?dc=x", 8, "expected '/' after the host, got '?'");
    fails("ldap://[::1", 11, "expected ']' after the IPv6 address");
    fails("ldap://[::x]", 8, "expected an IPv6 address, got '::x'");
    // This host would print as an IPv6 address, which it is not.
    fails("ldap://a%3ab/", 7, "expected a host name, got 'a:b'");
    fails(
        "ldap://h:0",
        8,
        "expected ':' and a port from 1 to 65535, got ':0'",
    );
    fails(
        "ldap://h:99999",
        8,
        "expected ':' and a port from 1 to 65535, got ':99999'",
    );
    fails(
        "ldap://h:+1",
        8,
        "expected ':' and a port from 1 to 65535, got ':+1'",
    );
    fails(
        "ldap://[::1]x",
        12,
        "expected ':' and a port from 1 to 65535, got 'x'",
    );
    fails("ldap://h/dc=%2", 13, "expected two hex digits after '%'");
    fails("ldap://h/dc=%ff", 12, "expected UTF-8 in percent-encoding");
    fails(
        "ldap://h/x",
        9,
        "the distinguished name: expected a DN such as dc=acme,dc=example, got a text without '='",
    );
    fails(
        "ldap://h/?a,,b",
        10,
        "expected an attribute description, got nothing",
    );
    fails(
        "ldap://h/??all",
        11,
        "expected 'base', 'one', 'sub' or 'subordinate', got 'all'",
    );
    fails(
        "ldap://h/???(a",
        12,
        "the filter: expected '=', '>=', '<=', '~=' or ':', got the end",
    );
    fails(
        "ldap://h/????!",
        13,
        "expected an extension's name, got nothing",
    );
    fails(
        "ldap://h/????a?",
        14,
        "expected the end after the extensions",
    );
}

proptest! {
    #[test]
    fn odd_text_never_panics(
        text in "ldap[si]?://([a-c:/?%=,!()*ü\\[\\]]|%[0-9a-f]{2}|sub|dc=x){0,16}",
    ) {
        crate::fuzz_text::url(text.as_bytes());
    }
}
