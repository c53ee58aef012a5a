//! Rules find the entry they say, and nothing that an identity brings along changes which.

use schema::Schema;

use super::{Kind, Mapping, Outside, Sought};

fn mapping(texts: &[&str]) -> Mapping {
    let names: Vec<String> = (1..=texts.len()).map(|it| format!("r{it}")).collect();
    let rules: Vec<(&str, &str)> = names
        .iter()
        .map(String::as_str)
        .zip(texts.iter().copied())
        .collect();
    Mapping::compile(&Schema::standard(), &rules).unwrap()
}

/// The name, or base and filter, that an identity leads to.
fn of(texts: &[&str], identity: &Outside<'_>) -> Result<Option<String>, String> {
    let schema = Schema::standard();
    let mapping = mapping(texts);
    let mapped = mapping.of(&schema, identity)?;
    Ok(mapped.map(|it| match it.sought {
        Sought::Entry { name, .. } => String::from_utf8_lossy(name.leaf().unwrap()).into_owned(),
        Sought::Search { reach, filter, .. } => {
            let mut reader = protocol::ber::Reader::new(&filter);
            let filter = protocol::Filter::decode(&mut reader, 8).unwrap();
            format!("{} {filter}", reach.word())
        }
    }))
}

fn mail(values: &[&'static str]) -> Outside<'static> {
    let none = Outside::of(Kind::Certificate);
    values
        .iter()
        .fold(none, |it, value| it.with("mail", *value))
}

#[test]
fn the_first_rule_that_matches_decides() {
    let rules = [
        "certificate mail \"*@staff.example.com\" is \"uid=$1,ou=Staff,dc=example,dc=com\"",
        "certificate mail \"*@*.com\" in one \"ou=Guests,dc=example,dc=com\" \
         where (&(mail=$1@$2.com)(cn=*))",
        "unix uid \"*\" in subtree \"dc=example,dc=com\" where (uidNumber=$1)",
    ];
    let found = |identity: &Outside<'_>| of(&rules, identity).unwrap();
    let text = |it: Option<String>| it.unwrap_or_default();
    assert_eq!(text(found(&mail(&["Ada@Staff.Example.COM"]))), "uid=ada");
    assert_eq!(
        text(found(&mail(&["bob@example.com"]))),
        "one (&(mail=bob@example.com)(cn=*))"
    );
    assert_eq!(found(&mail(&["bob@example.org"])), None);
    assert_eq!(found(&mail(&["@staff.example.com"])), None);
    assert_eq!(
        found(&Outside::of(Kind::Unix).with("mail", "a@staff.example.com")),
        None
    );
    let unix = Outside::of(Kind::Unix).with("uid", "1000");
    assert_eq!(text(found(&unix)), "subtree (uidNumber=1000)");
    // Without a rule for SASL names, the built-in one.
    let sasl = Outside::of(Kind::Sasl).with("name", "ada");
    assert_eq!(text(found(&sasl)), "subtree (uid=ada)");
    let own = ["sasl name \"*\" is \"cn=$1,dc=example,dc=com\""];
    assert_eq!(text(of(&own, &sasl).unwrap()), "cn=ada");
}

#[test]
fn all_patterns_of_a_rule_must_match() {
    let rules = ["token iss \"https://id.example.com\" sub \"*\" is \"uid=$1,dc=example,dc=com\""];
    let token = |iss: &'static str| Outside::of(Kind::Token).with("sub", "ada").with("iss", iss);
    assert_eq!(
        of(&rules, &token("https://id.example.com"))
            .unwrap()
            .as_deref(),
        Some("uid=ada")
    );
    assert_eq!(
        of(&rules, &token("https://id.example.com.evil")).unwrap(),
        None
    );
    assert_eq!(of(&rules, &token("HTTPS://id.example.com")).unwrap(), None);
}

#[test]
fn names_are_compared_by_the_schema() {
    let rules = [
        "certificate subject \"cn=*,ou=People,o=Example\" issuer \"**,o=Example\" \
         is \"cn=$1,dc=example,dc=com\"",
    ];
    let certificate = |subject: &'static str| {
        let issuer = "2.5.4.3=CA,2.5.4.10=EXAMPLE";
        Outside::of(Kind::Certificate)
            .with("subject", subject)
            .with("issuer", issuer)
    };
    let found = |subject| of(&rules, &certificate(subject));
    assert_eq!(
        found("2.5.4.3=Ada  Lovelace,2.5.4.11=people,2.5.4.10=Example")
            .unwrap()
            .as_deref(),
        Some("cn=ada lovelace")
    );
    assert_eq!(found("cn=Ada,ou=Other,o=Example").unwrap(), None);
    assert_eq!(found("cn=Ada,ou=People,o=Example,c=DE").unwrap(), None);
    // It is not certain which value of an RDN is meant, so no later rule is asked.
    assert!(found("cn=Ada+cn=Bob,ou=People,o=Example").is_err());
    assert!(
        found("1.2.3.4.5.6=x,o=Example").is_err()
            || found("1.2.3.4.5.6=x,o=Example").unwrap().is_none()
    );
}

#[test]
fn captures_stay_values() {
    let rules = [
        "sasl name \"*\" in subtree \"dc=example,dc=com\" where (uid=$1)",
        "kerberos principal \"*@EXAMPLE.COM\" is \"uid=$1,dc=example,dc=com\"",
    ];
    for hostile in [
        "*",
        "ada)(uid=*",
        "a\\2a",
        "ada,dc=evil",
        "a+b=c",
        "\u{0}",
        "ü",
    ] {
        let sasl = Outside::of(Kind::Sasl).with("name", hostile);
        let schema = Schema::standard();
        let mapping = mapping(&rules);
        let mapped = mapping.of(&schema, &sasl).unwrap().unwrap();
        let Sought::Search { filter, .. } = mapped.sought else {
            panic!("expected a search");
        };
        let mut reader = protocol::ber::Reader::new(&filter);
        let filter = protocol::Filter::decode(&mut reader, 8).unwrap();
        let protocol::Filter::Equality { value, .. } = filter else {
            panic!("expected an equality for {hostile:?}");
        };
        assert_eq!(value, hostile.as_bytes());
        let principal = format!("{hostile}@EXAMPLE.COM");
        let kerberos = Outside::of(Kind::Kerberos).with("principal", principal.as_str());
        if let Ok(Some(mapped)) = mapping.of(&schema, &kerberos) {
            let Sought::Entry { name, is_literal } = mapped.sought else {
                panic!("expected a name");
            };
            assert!(!is_literal && name.depth() == 3, "{hostile:?}");
        }
    }
    let other = Outside::of(Kind::Kerberos).with("principal", "ada@EXAMPLE.COM.EVIL");
    assert_eq!(of(&rules, &other).unwrap(), None);
}

#[test]
fn several_values_that_match_are_refused() {
    let rules = [
        "certificate mail \"*@example.com\" is \"uid=$1,dc=example,dc=com\"",
        "certificate mail \"*\" is \"uid=guest,dc=example,dc=com\"",
    ];
    let error = of(&rules, &mail(&["ada@example.com", "bob@example.com"])).unwrap_err();
    assert_eq!(
        error,
        "rule r1: mail: expected one value that matches, got several"
    );
    let one = of(&rules, &mail(&["ada@example.com", "ada@example.org"])).unwrap();
    assert_eq!(one.as_deref(), Some("uid=ada"));
}

#[test]
fn who_is_meant_alone_is_known() {
    let schema = Schema::standard();
    let texts = [
        "certificate fingerprint \"00ff\" is \"cn=admin,dc=example,dc=com\"",
        "certificate fingerprint \"*\" is \"cn=admin,dc=example,dc=com\"",
    ];
    let open = "certificate subject \"**,o=Example\" is \"cn=admin,dc=example,dc=com\"";
    let open = mapping(&[open]);
    let anybody = Outside::of(Kind::Certificate).with("subject", "cn=Eve,o=Example");
    let mapped = open.of(&schema, &anybody).unwrap().unwrap();
    assert!(matches!(
        mapped.sought,
        Sought::Entry {
            is_literal: false,
            ..
        }
    ));
    let mapping = mapping(&texts);
    for (fingerprint, literal) in [("00FF", true), ("0100", false)] {
        let identity = Outside::of(Kind::Certificate).with("fingerprint", fingerprint);
        let mapped = mapping.of(&schema, &identity).unwrap().unwrap();
        assert!(matches!(mapped.sought, Sought::Entry { is_literal, .. } if is_literal == literal));
    }
}

#[test]
fn texts_that_are_no_rules_are_refused() {
    let schema = Schema::standard();
    for (text, why) in [
        ("", "expected certificate, unix, kerberos, token, sasl, got"),
        (
            "certificate is \"dc=a\"",
            "expected subject, issuer, mail, dns, uri, upn, fingerprint",
        ),
        ("certificate name \"*\" is \"dc=a\"", "got \"name\""),
        (
            "certificate mail * is \"dc=a\"",
            "expected a pattern in quotation marks",
        ),
        (
            "sasl name \"**\" is \"dc=a\"",
            "expected text between two stars",
        ),
        ("sasl name \"a\\\" is \"dc=a\"", "behind the last backslash"),
        (
            "sasl name \"*\" is \"uid=$2,dc=a\"",
            "expected $1 to $1, one for each star of the rule, got $2",
        ),
        ("sasl name \"*\" is \"$1=a,dc=a\"", "is \"$1=a,dc=a\""),
        ("sasl name \"*\" is \"\"", "expected the name of an entry"),
        (
            "sasl name \"*\" in \"dc=a\" where (uid=$1)",
            "expected entry, one, children, subtree",
        ),
        (
            "sasl name \"*\" in subtree \"dc=a\"",
            "expected where and a filter",
        ),
        (
            "sasl name \"*\" in subtree \"dc=a\" where ($1=a)",
            "expected",
        ),
        (
            "sasl name \"*\" is \"uid=$1,dc=a\" more",
            "nothing behind it",
        ),
        (
            "sasl name \"*\" is \"uid=$1,dc=a\"\nsasl name \"*\" is \"dc=a\"",
            "nothing behind it",
        ),
        ("token is \"dc=a\"", "expected the name of a claim"),
        (
            "certificate subject \"nosuchtype=*\" is \"dc=a\"",
            "expected RDNs",
        ),
    ] {
        let error = Mapping::compile(&schema, &[("r", text)]).unwrap_err();
        assert!(
            error.starts_with("r: ") && error.contains(why),
            "{text}: {error}"
        );
    }
}
