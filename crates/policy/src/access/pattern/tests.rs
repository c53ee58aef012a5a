//! Which names match which patterns, and what the stars stand for.

use super::*;

/// Names of any length.
const ANY_DEPTH: RangeInclusive<usize> = 0..=usize::MAX;

/// Returns the captures as text, with spaces between them.
fn captures(pattern: &str, dn: &str) -> Option<String> {
    let schema = Schema::standard();
    let pattern = NamePattern::compile(&schema, pattern).unwrap();
    let name = schema.resolve_name(dn).unwrap();
    let Matching::Yes(captures) = pattern.judge(&name, &[b"ada".to_vec()]) else {
        return None;
    };
    if pattern.highest_capture() == 0 {
        assert!(pattern.may_match_within(&name, ANY_DEPTH), "{dn}");
        let parent = name.parent().unwrap_or_default();
        assert!(pattern.may_match_within(&parent, ANY_DEPTH), "{dn}");
    }
    let texts = captures
        .into_iter()
        .map(|it| String::from_utf8(it).unwrap());
    Some(texts.collect::<Vec<_>>().join(" "))
}

#[test]
fn stars_stand_for_text_within_a_value() {
    let found = |pattern, dn, text: &str| assert_eq!(captures(pattern, dn).as_deref(), Some(text));
    found(
        "uid=*,ou=*,dc=example",
        "UID=Ada, OU=People, DC=Example",
        "ada people",
    );
    found("userid=a*a,dc=example", "uid=ADA,dc=example", "d");
    found("cn=*-*-x,dc=a", "cn=1-2-3-X,dc=a", "1 2-3");
    found("**,dc=example", "uid=ada,ou=people,dc=example", "");
    found("**,uid=*,dc=a", "uid=b,dc=a", "b");
    found("**", "dc=a", "");
    found("", "", "");
    found("uid=$1,dc=a", "uid=Ada,dc=a", "");
    found("uid=x$1*,dc=a", "uid=xada2,dc=a", "2");
    found("cn=\\2a*,dc=a", "cn=*b,dc=a", "b");
    found(
        "cn=a\\,*+x,dc=a".replace("+x", "").as_str(),
        "cn=a\\,b,dc=a",
        "b",
    );
}

#[test]
fn other_names_do_not_match() {
    for (pattern, dn) in [
        ("uid=*,dc=a", "uid=x,ou=y,dc=a"),
        ("uid=*,dc=a", "cn=x,dc=a"),
        ("uid=*,dc=a", "dc=a"),
        ("uid=*,dc=a", "uid=x+cn=y,dc=a"),
        ("uid=a*a,dc=a", "uid=a,dc=a"),
        ("uid=$2,dc=a", "uid=ada,dc=a"),
        ("**,dc=b", "dc=a"),
    ] {
        assert_eq!(captures(pattern, dn), None, "{pattern} {dn}");
    }
    let schema = Schema::standard();
    let within = |pattern, base| {
        let pattern = NamePattern::compile(&schema, pattern).unwrap();
        pattern.may_match_within(&schema.resolve_name(base).unwrap(), ANY_DEPTH)
    };
    assert!(within("uid=*,dc=a", "") && within("uid=*,dc=a", "dc=a"));
    assert!(!within("uid=*,dc=a", "dc=b") && !within("uid=*,dc=a", "cn=x,uid=y,dc=a"));
    assert!(within("**,dc=a", "cn=x,uid=y,dc=a") && !within("**,dc=a", "dc=b"));
    let at = |pattern, depths| {
        let pattern = NamePattern::compile(&schema, pattern).unwrap();
        pattern.may_match_within(&schema.resolve_name("dc=a").unwrap(), depths)
    };
    assert!(at("uid=*,dc=a", 2..=2) && !at("uid=*,ou=b,dc=a", 2..=2));
    assert!(at("**,uid=*,dc=a", 2..=2) && !at("**,uid=*,ou=b,dc=a", 2..=2));
    assert!(at("uid=*,ou=b,dc=a", 2..=3) && at("**,dc=a", 3..=3));
}

/// Of an RDN with several values it is not known whether a star stands for one of them.
#[test]
fn names_with_several_values_in_an_rdn_may_match() {
    let schema = Schema::standard();
    let truth = |pattern: &str, dn: &str| {
        let pattern = NamePattern::compile(&schema, pattern).unwrap();
        let name = schema.resolve_name(dn).unwrap();
        assert!(
            pattern.may_match_within(&name, ANY_DEPTH) || pattern.judge(&name, &[]) == Matching::No
        );
        assert!(!pattern.matches_all_within(&name));
        pattern.judge(&name, &[]).truth()
    };
    let pair = "uid=ada+cn=b,dc=a";
    assert_eq!(truth("uid=*,dc=a", pair), Truth::Undefined);
    assert_eq!(truth("cn=*,dc=a", pair), Truth::Undefined);
    assert_eq!(truth("**,uid=*,dc=a", pair), Truth::Undefined);
    assert_eq!(truth("sn=*,dc=a", pair), Truth::False);
    assert_eq!(truth("uid=*,dc=b", pair), Truth::False);
    assert_eq!(truth("uid=ada,dc=a", pair), Truth::False);
    assert_eq!(truth("cn=b+uid=ada,dc=*", pair), Truth::True);
}

/// Long texts between many stars are found without trying any twice.
#[test]
fn patterns_take_time_in_proportion_to_names() {
    let schema = Schema::standard();
    let text = format!("cn=*{}b*,dc=a", "a".repeat(20_000));
    let pattern = NamePattern::compile(&schema, &text).unwrap();
    let name = schema.resolve_name(&format!("cn={},dc=a", "a".repeat(200_000)));
    // With each place compared by itself this would take 4 * 10^9 steps for each round.
    for _ in 0..100 {
        assert_eq!(pattern.judge(name.as_ref().unwrap(), &[]), Matching::No);
    }
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let schema = Schema::standard();
    for text in [
        "nope=*",
        "uid",
        "uid=*+cn=*",
        "cn=a *",
        "uid=$0",
        "**dc=a",
        "createTimestamp=2*",
        "cn=,dc",
    ] {
        assert!(NamePattern::compile(&schema, text).is_err(), "{text}");
    }
}
