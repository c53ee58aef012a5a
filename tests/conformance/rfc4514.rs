//! RFC 4514: distinguished names as text, spelled by clients and returned by servers.

use crate::prelude::*;

pub(crate) fn clauses(book: &mut Book) {
    spellings(book);
    escapes(book);
    wrong(book);
    returned(book);
}

/// Rows of section, words, statement, and a spelling of the RDN `uid=ada`.
const SPELLINGS: &[(&str, &str, &str, &str)] = &[
    (
        "2.3",
        "type-by-oid",
        "A type may be given as an OID.",
        "0.9.2342.19200300.100.1.1=ada",
    ),
    ("2.3", "type-in-capitals", "Types know no case.", "UID=ada"),
    (
        "2.3",
        "type-by-other-name",
        "A type may be given by any of its names.",
        "userid=ada",
    ),
    (
        "2.4",
        "value-in-capitals",
        "Values are compared by their rule.",
        "uid=ADA",
    ),
    (
        "2.4",
        "pairs-of-digits",
        "Octets may be escaped as pairs of digits.",
        r"uid=\61d\61",
    ),
    (
        "2.4",
        "hexadecimal-string",
        "A value may be given as #, then its BER.",
        "uid=#0403616461",
    ),
    (
        "2.4",
        "hexadecimal-of-utf8-string",
        "A UTF8String in BER.",
        "uid=#0C03616461",
    ),
    (
        "3",
        "space-around-equals",
        "Spaces around = (RFC 2253 §4).",
        "uid = ada",
    ),
    (
        "3",
        "space-before-comma",
        "Spaces before a comma (RFC 2253 §4).",
        "uid=ada ",
    ),
    ("3", "space-first", "Spaces before the name.", " uid=ada"),
];

fn spellings(book: &mut Book) {
    for (section, words, text, rdn) in SPELLINGS {
        let mut section = book.section("rfc4514", section);
        let clause = section.clause(words, text, move |it| {
            let ada = it.person("ada", &[])?;
            let name = format!("{rdn},{}", it.home()?);
            equal_name(&it.get(&name, &["1.1"])?.name, &ada)
        });
        if rdn.contains('#') {
            clause.slapd("slapd refuses the # form where the type has a string syntax");
        }
    }
    let mut section = book.section("rfc4514", "2.2");
    section.clause(
        "values-of-an-rdn-in-any-order",
        "The values of an RDN come in any order.",
        |it| {
            it.put(
                "cn=Two+sn=Fold",
                &[("objectClass", "person"), ("cn", "Two"), ("sn", "Fold")],
            )?;
            let home = it.home()?;
            it.exists(&format!("SN=fold+CN=two,{home}"))
        },
    );
    section.clause(
        "space-around-plus",
        "Spaces around + do not count (RFC 2253 §4).",
        |it| {
            it.put(
                "cn=Two+sn=Fold",
                &[("objectClass", "person"), ("cn", "Two"), ("sn", "Fold")],
            )?;
            let home = it.home()?;
            it.exists(&format!("cn=Two + sn=Fold,{home}"))
        },
    );
    let mut section = book.section("rfc4514", "3");
    section.clause(
        "space-around-commas",
        "Spaces around commas do not count (RFC 2253 §4).",
        |it| {
            let ada = it.person("ada", &[])?;
            it.exists(&ada.replace(',', " , "))
        },
    );
    section.clause(
        "semicolons-separate",
        "Semicolons separate RDNs for old clients (RFC 2253 §4), or the name is refused.",
        |it| {
            let ada = it.person("ada", &[])?.replace(',', ";");
            let found = it.search(&ada, Scope::BaseObject, EVERYTHING, &["1.1"])?;
            let right = [ResultCode::SUCCESS, ResultCode::INVALID_DN_SYNTAX];
            found.outcome.is_one_of(&right).map(|_| ())
        },
    );
}

/// Rows of words, a value, and spellings of the value in a name.
const ESCAPES: &[(&str, &str, &[&str])] = &[
    ("comma", "a,b", &[r"a\,b", r"a\2cb", r"a\2Cb"]),
    ("plus", "a+b", &[r"a\+b", r"a\2bb"]),
    ("quotation-mark", "a\"b", &[r#"a\"b"#, r"a\22b"]),
    ("backslash", r"a\b", &[r"a\\b", r"a\5cb"]),
    ("less-than", "a<b", &[r"a\<b", r"a\3cb"]),
    ("greater-than", "a>b", &[r"a\>b", r"a\3eb"]),
    ("semicolon", "a;b", &[r"a\;b", r"a\3bb"]),
    ("equals", "a=b", &["a=b", r"a\=b", r"a\3db"]),
    ("number-sign-first", "#ab", &[r"\#ab", r"\23ab"]),
    ("number-sign-inside", "a#b", &["a#b", r"a\23b", r"a\#b"]),
    ("space-inside", "a b", &["a b", r"a\20b", r"a\ b"]),
    ("space-first", " ab", &[r"\20ab", r"\ ab"]),
    ("space-last", "ab ", &[r"ab\20", r"ab\ "]),
    ("utf8", "Lučić", &["Lučić", r"Lu\C4\8Di\C4\87", "LUČIĆ"]),
    ("utf8-beyond-16-bits", "a𝛑b", &["a𝛑b", r"a\F0\9D\9B\91b"]),
    ("slash", "a/b", &["a/b", r"a\2fb"]),
    ("asterisk", "a*b", &["a*b", r"a\2ab"]),
    ("parentheses", "(ab)", &["(ab)", r"\28ab\29"]),
];

fn escapes(book: &mut Book) {
    let mut section = book.section("rfc4514", "2.4");
    for (words, value, ways) in ESCAPES {
        for (at, way) in ways.iter().enumerate() {
            section.clause(
                format_args!("{words}-in-way-{}", at + 1),
                format_args!("{way} writes the value {value}."),
                move |it| {
                    let home = it.home()?;
                    let name = format!("cn={way},{home}");
                    let entry = Entry::of(&name, &[("objectClass", &["device"]), ("cn", &[value])]);
                    it.admin()?.add(&entry, &[])?.ok()?;
                    let came = it.get(&name, &["cn"])?.value("cn")?;
                    equal(came.as_str(), *value, "cn")?;
                    // Every other spelling leads to the same entry.
                    for other in *ways {
                        it.exists(&format!("cn={other},{home}"))?;
                    }
                    Ok(())
                },
            );
        }
    }
    for (words, way) in [
        ("first", r"\20ab"),
        ("last", r"ab\20"),
        ("last-escaped", r"ab\ "),
    ] {
        section.clause(
            format_args!("space-{words}"),
            format_args!("cn={way} can be added and found again."),
            move |it| {
                let name = format!("cn={way},{}", it.home()?);
                let entry = Entry::of(
                    &name,
                    &[("objectClass", &["device"]), ("serialNumber", &["1"])],
                );
                let outcome = it.admin()?.add(&entry, &[])?;
                if outcome.code == ResultCode::OBJECT_CLASS_VIOLATION {
                    return Err(Finding::NotOffered(
                        "values of the RDN added by the server".into(),
                    ));
                }
                outcome.ok()?;
                it.exists(&name)
            },
        );
    }
}

/// Rows of words, and texts that are no names.
const WRONG: &[(&str, &str)] = &[
    ("no-equals", "ada"),
    ("empty-rdn", "uid=ada,,dc=example"),
    ("no-type", "=ada,dc=example"),
    ("backslash-at-the-end", r"uid=ada\"),
    ("odd-hexadecimal", "uid=#040,dc=example"),
    ("no-hexadecimal", "uid=#0z,dc=example"),
    ("half-a-pair", r"uid=\6,dc=example"),
    ("comma-only", ","),
    ("plus-only", "+"),
    ("trailing-comma", "dc=example,"),
    ("trailing-plus", "uid=ada+,dc=example"),
    ("bare-quotation-mark", "uid=a\"b,dc=example"),
    ("bare-less-than", "uid=a<b,dc=example"),
    ("bare-greater-than", "uid=a>b,dc=example"),
    ("type-with-a-space", "u id=ada,dc=example"),
    ("type-that-begins-with-a-digit", "1uid=ada,dc=example"),
    ("type-with-an-underscore", "u_id=ada,dc=example"),
    ("oid-with-an-empty-arc", "2..5=ada,dc=example"),
];

fn wrong(book: &mut Book) {
    let mut section = book.section("rfc4514", "3");
    for (words, text) in WRONG {
        section.clause(
            format_args!("wrong-{words}"),
            format_args!("{text} is no name: invalidDNSyntax."),
            move |it| {
                let mut session = it.session()?;
                let found = session.search(text, Scope::BaseObject, EVERYTHING, &[])?;
                found.is(ResultCode::INVALID_DN_SYNTAX).map(|_| ())
            },
        );
    }
}

/// A client that implements only §3 must be able to parse the names that the server returns.
fn returned(book: &mut Book) {
    let mut section = book.section("rfc4514", "2");
    for (words, value) in [
        ("comma", "a,b"),
        ("plus", "a+b"),
        ("quotation-mark", "a\"b"),
        ("backslash", r"a\b"),
        ("less-than", "a<b"),
        ("semicolon", "a;b"),
        ("number-sign-first", "#ab"),
        ("space-first", " ab"),
        ("space-last", "ab "),
        ("utf8", "Lučić"),
    ] {
        section.clause(
            format_args!("returned-name-with-{words}"),
            format_args!("The name returned for the value {value} is escaped as §2.4 says."),
            move |it| {
                let home = it.home()?;
                let pairs: String = value.bytes().map(|byte| format!("\\{byte:02x}")).collect();
                let name = format!("cn={pairs},{home}");
                let entry = Entry::of(&name, &[("objectClass", &["device"]), ("cn", &[value])]);
                it.admin()?.add(&entry, &[])?.ok()?;
                let came = it.get(&name, &["1.1"])?.name;
                let parsed = match protocol::parse_name(&came) {
                    Ok(parsed) => parsed,
                    Err(error) => {
                        return Finding::wrong("a correct name", format!("{came}: {error}"));
                    }
                };
                let first = parsed.rdns.first().and_then(|rdn| rdn.values.iter().next());
                let Some(first) = first else {
                    return Finding::wrong("a name with an RDN", came);
                };
                let text = String::from_utf8_lossy(&first.value).into_owned();
                equal(text.as_str(), value, "the value in the returned name")
            },
        );
    }
}
