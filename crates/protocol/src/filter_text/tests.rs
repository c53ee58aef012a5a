//! Tests of filters as text.

use super::*;
use crate::ber::Reader;
use proptest::prelude::*;

/// The printed form of a filter after a way through its BER form.
#[track_caller]
fn printed(text: &str) -> String {
    let ber = parse_filter(text).unwrap_or_else(|error| panic!("{text:?}: {error}"));
    decoded(&ber).to_string()
}

fn decoded(ber: &[u8]) -> Filter<'_> {
    let mut reader = Reader::new(ber);
    let filter = Filter::decode(&mut reader, FILTER_DEPTH_MAX).unwrap();
    reader.finish().unwrap();
    filter
}

#[track_caller]
fn fails(text: &str, at: usize, message: &str) {
    let error = parse_filter(text).unwrap_err();
    assert_eq!(
        (error.at, error.message.as_str()),
        (at, message),
        "{text:?}"
    );
}

/// RFC 4515 §4.
#[test]
fn examples_of_the_rfc_print_as_written() {
    for text in [
        "(cn=Babs Jensen)",
        "(!(cn=Tim Howes))",
        "(&(objectClass=Person)(|(sn=Jensen)(cn=Babs J*)))",
        "(o=univ*of*mich*)",
        "(seeAlso=)",
        "(cn:caseExactMatch:=Fred Flintstone)",
        "(cn:=Betty Rubble)",
        "(sn:dn:2.4.6.8.10:=Barney Rubble)",
        "(o:dn:=Ace Industry)",
        "(:1.2.3:=Wilma Flintstone)",
        "(:dn:2.4.6.8.10:=Dino)",
        "(o=Parens R Us \\28for all your parenthetical needs\\29)",
        "(cn=*\\2a*)",
        "(filename=C:\\5cMyFile)",
        "(bin=\\00\\00\\00\\04)",
        "(1.3.6.1.4.1.1466.0=\\04\\02Hi)",
        "(createTimestamp>=20200101000000Z)",
        "(uid<=a)",
        "(cn~=smyth)",
        "(objectClass=*)",
        "(&)",
        "(|)",
        "(cn;lang-de=*a*b*)",
    ] {
        assert_eq!(printed(text), text);
    }
    assert_eq!(printed("(sn=Lu\\c4\\8di\\c4\\87)"), "(sn=Lučić)");
    assert_eq!(printed("(sn=\\ff)"), "(sn=\\ff)");
}

#[test]
fn encodes_as_rfc_4511_says() {
    assert_eq!(
        parse_filter("(a=b)").unwrap(),
        b"\xa3\x06\x04\x01a\x04\x01b"
    );
    assert_eq!(parse_filter("(a=*)").unwrap(), b"\x87\x01a");
    assert_eq!(
        parse_filter("(a=x*y*z)").unwrap(),
        b"\xa4\x0e\x04\x01a\x30\x09\x80\x01x\x81\x01y\x82\x01z"
    );
    assert_eq!(
        parse_filter("(a:DN:2.5:=v)").unwrap(),
        b"\xa9\x0e\x81\x032.5\x82\x01a\x83\x01v\x84\x01\xff"
    );
    assert_eq!(parse_filter("(!(&))").unwrap(), b"\xa2\x02\xa0\x00");
}

#[test]
fn leniencies() {
    assert_eq!(printed("uid=ada"), "(uid=ada)");
    assert_eq!(printed(" (uid=ada)\n"), "(uid=ada)");
    assert_eq!(printed("( & (a=b)\n ( | (c=d) ) )"), "(&(a=b)(|(c=d)))");
    assert_eq!(printed("(a= b )"), "(a= b )");
    assert_eq!(printed("(a=x**y)"), "(a=x*y)");
    assert_eq!(printed("(a=**)"), "(a=*)");
    assert_eq!(printed("(a=b=c>=d)"), "(a=b=c>=d)");
}

#[test]
fn errors_say_where_and_what() {
    fails("", 0, "expected an attribute description, got the end");
    fails("(", 1, "expected an attribute description, got the end");
    fails("()", 1, "expected an attribute description, got ')'");
    fails("(a=b", 4, "expected ')', got the end");
    fails("(a=b))", 5, "expected the end of the filter, got ')'");
    fails("(a=b)(c=d)", 5, "expected the end of the filter, got '('");
    fails(
        "(a b=c)",
        2,
        "expected '=', '>=', '<=', '~=' or ':', got ' '",
    );
    fails("(a>b)", 2, "expected '=', '>=', '<=', '~=' or ':', got '>'");
    fails(
        "(a=b(c)",
        4,
        "expected an escaped character or ')', got '('",
    );
    fails(
        "(a=b\0)",
        4,
        "expected an escaped character or ')', got '\\u{0}'",
    );
    fails("(a=\\2)", 5, "expected two hex digits after '\\', got ')'");
    fails("(a=\\zz)", 4, "expected two hex digits after '\\', got 'z'");
    fails("(a>=x*)", 5, "expected '\\2a' here, got '*'");
    fails("(!)", 2, "expected '(', got ')'");
    fails("(!(a=b)(c=d))", 7, "expected ')', got '('");
    fails("(&a=b)", 2, "expected ')', got 'a'");
    fails(
        "(:=x)",
        2,
        "expected an attribute description or a matching rule before ':=', got '='",
    );
    fails(
        "(:dn:=x)",
        5,
        "expected an attribute description or a matching rule before ':=', got '='",
    );
    fails("(a:dn:b:c:=x)", 8, "expected '=', got 'c'");
    fails(
        "(a::=x)",
        3,
        "expected 'dn', a matching rule or '=', got ':'",
    );
}

#[test]
fn depth_is_limited() {
    let nested = |levels: usize| format!("{}(a=b){}", "(!".repeat(levels), ")".repeat(levels));
    let depth = usize::from(FILTER_DEPTH_MAX);
    assert_eq!(printed(&nested(depth)), nested(depth));
    fails(
        &nested(depth + 1),
        2 * depth + 1,
        "expected a filter nested less deep",
    );
    assert!(parse_filter(&"(&".repeat(1_000_000)).is_err());
    assert!(parse_filter_within("(a=b)", 0).is_ok());
    assert!(parse_filter_within("(!(a=b))", 0).is_err());
}

#[test]
fn number_of_filters_is_limited() {
    let list = |items: usize| format!("(|{})", "(a=b)".repeat(items));
    assert!(parse_filter(&list(FILTERS_MAX - 1)).is_ok());
    assert!(parse_filter(&list(FILTERS_MAX)).is_err());
}

/// Text of any filter, nested a few levels.
fn any_filter() -> impl Strategy<Value = String> {
    let attribute = "[a-z]{1,4}(;[a-z]{1,3})?|[0-2]\\.[0-9]{1,3}";
    let value =
        proptest::collection::vec(any::<u8>(), 0..6).prop_map(|value| Escaped(&value).to_string());
    let operator = prop_oneof![
        Just("="),
        Just(">="),
        Just("<="),
        Just("~="),
        Just(":="),
        Just("=*"),
        Just(":dn:=")
    ];
    let item = (attribute, operator, value).prop_map(|(a, o, v)| format!("({a}{o}{v})"));
    item.prop_recursive(4, 24, 4, |inner| {
        let list = proptest::collection::vec(inner.clone(), 0..4).prop_map(|it| it.concat());
        prop_oneof![
            (prop_oneof![Just("&"), Just("|")], list).prop_map(|(o, list)| format!("({o}{list})")),
            inner.prop_map(|filter| format!("(!{filter})")),
        ]
    })
}

proptest! {
    #[test]
    fn prints_what_it_parsed(text in any_filter()) {
        prop_assert_eq!(printed(&text), text);
    }

    #[test]
    fn odd_text_never_panics(text in r"([ab:;.=<>~*()&|! ü\x00]|\\[0-9a-f]{2}|dn){0,24}") {
        crate::fuzz_text::filter(text.as_bytes());
    }
}
