//! Controls of searches: RFC 2696, 2891, 3876, 3672, 6171 and dereference.

use protocol::ber::{self, Reader};

use crate::prelude::*;
use crate::rfc4511_search::people;

pub(crate) fn clauses(book: &mut Book) {
    paging(book);
    paging_problems(book);
    of_the_root_dse(book);
    sorting(book);
    sorting_problems(book);
    matched_values(book);
    subentries(book);
    dont_use_copy(book);
}

fn crowd(it: &mut Case<'_>, size: usize) -> Examined {
    for number in 0..size {
        it.person(&format!("p{number:02}"), &[])?;
    }
    Ok(())
}

/// Returns one page of the people below home: their names, and the cookie for the next page.
fn page(it: &mut Case<'_>, size: i64, cookie: &[u8]) -> Result<(Vec<String>, Vec<u8>), Finding> {
    let value = sequence(&[integer(size), octets(cookie)]);
    let controls = [control(oid::PAGED_RESULTS, true, value)];
    let found = it.search_home("(uid=*)", &["1.1"], &controls)?.ok()?;
    Ok((rdn_values(&found), cookie_of(&found)?))
}

fn cookie_of(found: &Found) -> Result<Vec<u8>, Finding> {
    let answer = found.outcome.control_value(oid::PAGED_RESULTS)?;
    let cookie = Reader::new(answer)
        .nested(ber::SEQUENCE)
        .and_then(|mut it| {
            it.integer(ber::INTEGER)?;
            Ok(it.expect(ber::OCTET_STRING)?.to_vec())
        });
    match cookie {
        Ok(cookie) => Ok(cookie),
        Err(error) => Finding::wrong("a size and a cookie", error),
    }
}

fn paging(book: &mut Book) {
    let mut section = book.section_needing("rfc2696", "3", &[Need::Control(oid::PAGED_RESULTS)]);
    for size in [1, 4, 5, 11, 12, 13] {
        section.clause(
            format_args!("pages-of-{size}-are-the-whole"),
            format_args!("12 entries in pages of {size}: each comes once, no page is longer."),
            move |it| {
                crowd(it, 12)?;
                let (mut all, mut cookie) = (Vec::new(), Vec::new());
                for _ in 0..20 {
                    let (names, next) = page(it, size, &cookie)?;
                    let fits = i64::try_from(names.len()).is_ok_and(|count| count <= size);
                    ensure(fits, format_args!("at most {size}"), names.len())?;
                    all.extend(names);
                    cookie = next;
                    if cookie.is_empty() {
                        break;
                    }
                }
                all.sort();
                all.dedup();
                equal(all.len(), 12, "different entries")
            },
        );
    }
    section.clause(
        "cookie-of-the-last-page-is-empty",
        "A page that holds everything has an empty cookie.",
        |it| {
            crowd(it, 3)?;
            let (names, cookie) = page(it, 100, b"")?;
            equal(names.len(), 3, "entries")?;
            ensure(cookie.is_empty(), "an empty cookie", cookie)
        },
    );
    section.clause(
        "nothing-found-has-an-empty-cookie",
        "A paged search that finds nothing answers with an empty cookie.",
        |it| {
            let (names, cookie) = page(it, 5, b"")?;
            ensure(
                names.is_empty() && cookie.is_empty(),
                "nothing, empty cookie",
                (names, cookie),
            )
        },
    );
    section.clause(
        "size-of-zero-with-a-cookie-ends-the-search",
        "A page of size zero with the cookie abandons the paged search.",
        |it| {
            crowd(it, 6)?;
            let (_, cookie) = page(it, 2, b"")?;
            let value = sequence(&[integer(0), octets(cookie)]);
            let controls = [control(oid::PAGED_RESULTS, true, value)];
            let found = it.search_home("(uid=*)", &["1.1"], &controls)?;
            found.ok()?.count(0).map(|_| ())
        },
    );
}

/// Searches the root DSE alone.
fn root(it: &mut Case<'_>, controls: &[OwnedControl]) -> Result<Found, Finding> {
    let (base, scope) = ("", Scope::BaseObject);
    it.admin()?
        .search_with(base, scope, EVERYTHING, &["1.1"], controls, |_| {})
}

/// The controls apply to any search, also to one of an entry that is not stored.
fn of_the_root_dse(book: &mut Book) {
    const ROOT: &str = "slapd answers for its root DSE before any control is looked at";
    let mut section = book.section_needing("rfc2696", "3", &[Need::Control(oid::PAGED_RESULTS)]);
    section
        .clause(
            "root-dse-is-a-page",
            "A search of the root DSE is answered with the control, its cookie empty.",
            |it| {
                let value = sequence(&[integer(10), octets("")]);
                let found = root(it, &[control(oid::PAGED_RESULTS, true, value)])?.ok()?;
                let cookie = cookie_of(&found)?;
                ensure(cookie.is_empty(), "an empty cookie", cookie)?;
                found.count(1).map(|_| ())
            },
        )
        .slapd(ROOT);
    let mut section = book.section_needing("rfc2891", "2", &[Need::Control(oid::SORT_REQUEST)]);
    section
        .clause(
            "root-dse-is-sorted",
            "A sorted search of the root DSE is answered with the response control.",
            |it| {
                let keys = sequence(&[key("cn", Some("2.5.13.3"), false)]);
                let found = root(it, &[control(oid::SORT_REQUEST, true, keys)])?.ok()?;
                sort_result(&found, 0)?;
                found.count(1).map(|_| ())
            },
        )
        .slapd(ROOT);
}

fn paging_problems(book: &mut Book) {
    let mut section = book.section_needing("rfc2696", "3", &[Need::Control(oid::PAGED_RESULTS)]);
    let refused = |it: &mut Case<'_>, value: Vec<u8>| -> Result<Outcome, Finding> {
        people(it)?;
        let controls = [control(oid::PAGED_RESULTS, true, value)];
        let home = it.home()?;
        let scope = Scope::WholeSubtree;
        let admin = it.admin()?;
        Ok(admin
            .search_with(&home, scope, EVERYTHING, &[], &controls, |_| {})?
            .outcome)
    };
    section.clause(
        "junk-is-a-protocol-error",
        "A value that is no size and cookie is protocolError.",
        move |it| {
            refused(it, vec![4, 1, 1])?
                .is(ResultCode::PROTOCOL_ERROR)
                .map(|_| ())
        },
    );
    section.clause(
        "cookie-of-nobody-is-refused",
        "A cookie that the server did not give out is refused.",
        move |it| {
            let value = sequence(&[integer(5), octets("this is no cookie of yours")]);
            refused(it, value)?.refused().map(|_| ())
        },
    );
    section.clause(
        "no-control-no-answer",
        "A search without the control is answered without it.",
        |it| {
            let found = it.search_home(EVERYTHING, &["1.1"], &[])?.ok()?;
            ensure(
                !found.outcome.has_control(oid::PAGED_RESULTS),
                "no control",
                "one",
            )
        },
    );
}

/// Encodes a sort key: attribute, rule, reverse.
fn key(attribute: &str, rule: Option<&str>, reverse: bool) -> Vec<u8> {
    let mut parts = vec![octets(attribute)];
    parts.extend(rule.map(|rule| tagged(0x80, rule)));
    if reverse {
        parts.push(tagged(0x81, [0xFF]));
    }
    sequence(&parts)
}

fn sorted(it: &mut Case<'_>, keys: &[Vec<u8>], critical: bool) -> Result<Found, Finding> {
    for (uid, sn, title) in [
        ("a", "Zuse", "2"),
        ("b", "hopper", "1"),
        ("c", "Knuth", "2"),
    ] {
        it.person(uid, &[("sn", sn), ("title", title)])?;
    }
    it.person("d", &[("sn", "dijkstra")])?;
    let controls = [control(oid::SORT_REQUEST, critical, sequence(keys))];
    it.search_home("(uid=*)", &["1.1"], &controls)
}

fn in_order(found: &Found) -> String {
    let names: Vec<String> = found.entries.iter().map(|it| rdn_value(&it.name)).collect();
    names.join(" ")
}

fn sorting(book: &mut Book) {
    let mut section = book.section_needing("rfc2891", "1", &[Need::Control(oid::SORT_REQUEST)]);
    const RULE: Option<&str> = Some("2.5.13.3");
    type Keys = fn() -> Vec<Vec<u8>>;
    let rows: [(&str, &str, Keys, &str); 4] = [
        (
            "by-a-rule",
            "Entries come in the order of the rule.",
            || vec![key("sn", RULE, false)],
            "d b c a",
        ),
        (
            "in-reverse",
            "reverseOrder turns it round.",
            || vec![key("sn", RULE, true)],
            "a c b d",
        ),
        (
            "missing-values-come-last",
            "Entries without the attribute come last.",
            || vec![key("title", RULE, false), key("sn", RULE, false)],
            "b c a d",
        ),
        (
            "second-key",
            "A second key orders what the first leaves equal.",
            || vec![key("title", RULE, false), key("sn", RULE, true)],
            "b a c d",
        ),
    ];
    for (words, text, keys, expected) in rows {
        section.clause(words, text, move |it| {
            let found = sorted(it, &keys(), true)?.ok()?;
            equal(in_order(&found).as_str(), expected, "the order")
        });
    }
    section.clause(
        "response-says-success",
        "The response control carries sortResult success.",
        |it| {
            let found = sorted(it, &[key("sn", RULE, false)], true)?.ok()?;
            sort_result(&found, 0)
        },
    );
}

fn sort_result(found: &Found, expected: i64) -> Examined {
    let value = found.outcome.control_value(oid::SORT_RESPONSE)?;
    let came = Reader::new(value)
        .nested(ber::SEQUENCE)
        .and_then(|mut it| it.integer(ber::ENUMERATED));
    equal(came.ok(), Some(expected), "sortResult")
}

fn sorting_problems(book: &mut Book) {
    let mut section = book.section_needing("rfc2891", "2", &[Need::Control(oid::SORT_REQUEST)]);
    section.clause(
        "unknown-attribute-not-critical",
        "A key that cannot be used leaves the entries unsorted when the control is not critical.",
        |it| {
            let found = sorted(it, &[key("noSuchType", None, false)], false)?.ok()?;
            equal(found.entries.len(), 4, "entries")
        },
    )
    .slapd("slapd stops the search whatever the criticality");
    section.clause(
        "unknown-rule-critical",
        "A critical control with an unknown rule stops the search.",
        |it| {
            let found = sorted(it, &[key("sn", Some("1.2.3.4.5"), false)], true)?;
            found.outcome.clone().refused()?;
            found.count(0).map(|_| ())
        },
    );
    section.clause(
        "junk-is-a-protocol-error",
        "A value that is no list of keys is protocolError.",
        |it| {
            let controls = [control(oid::SORT_REQUEST, true, vec![2, 1, 1])];
            let found = it.search_home(EVERYTHING, &["1.1"], &controls)?;
            found.is(ResultCode::PROTOCOL_ERROR).map(|_| ())
        },
    );
}

fn matched_values(book: &mut Book) {
    let mut section = book.section_needing("rfc3876", "2", &[Need::Control(oid::MATCHED_VALUES)]);
    let rows = [
        (
            "equality",
            "(description=goto considered)",
            "Goto considered",
        ),
        ("substrings", "(description=the*)", "The humble programmer"),
        (
            "several-filters",
            "(|(description=goto*)(description=the*))",
            "Goto considered The humble programmer",
        ),
        ("nothing-matches", "(description=x)", ""),
        (
            "present",
            "(description=*)",
            "Goto considered The humble programmer",
        ),
    ];
    for (words, filter, expected) in rows {
        section.clause(
            words,
            format_args!("Only values that match {filter} are returned."),
            move |it| {
                people(it)?;
                let parsed = protocol::parse_filter(filter).expect("it is correct");
                // The parts of an `or` are the list of simple filters; a single filter has no `or`.
                let list = match parsed.split_first() {
                    Some((0xA1, _)) => Reader::new(&parsed).element().map(|it| it.1.to_vec()),
                    _ => Ok(parsed.clone()),
                };
                let value = sequence(&[list.expect("it was encoded just now")]);
                let controls = [control(oid::MATCHED_VALUES, true, value)];
                let found = it
                    .search_home("(uid=edsger)", &["description"], &controls)?
                    .one()?;
                equal(
                    found.texts("description").join(" ").as_str(),
                    expected,
                    "values",
                )
            },
        );
    }
    section.clause(
        "other-attributes-are-filtered-too",
        "Attributes that no filter is about come without values.",
        |it| {
            people(it)?;
            let filter = protocol::parse_filter("(description=goto*)").expect("it is correct");
            let controls = [control(oid::MATCHED_VALUES, true, sequence(&[filter]))];
            let select = ["description", "sn"];
            let found = it.search_home("(uid=edsger)", &select, &controls)?.one()?;
            ensure(found.values("sn").is_empty(), "no values of sn", &found)
        },
    );
}

/// Adds a subentry `cn=…` below home.
fn subentry(it: &mut Case<'_>) -> Result<String, Finding> {
    it.person("ada", &[])?;
    let classes = [
        ("objectClass", "subentry"),
        ("objectClass", "extensibleObject"),
    ];
    it.put(
        "cn=hidden",
        &[&classes[..], &[("subtreeSpecification", "{}")]].concat(),
    )
}

fn subentries(book: &mut Book) {
    let needs = [Need::Control(oid::SUBENTRIES), Need::Class("subentry")];
    let mut section = book.section_needing("rfc3672", "3", &needs);
    let rows = [
        ("without-the-control-subentries-are-hidden", None, "ada"),
        ("visible-true-shows-subentries-only", Some(true), "hidden"),
        ("visible-false-shows-entries-only", Some(false), "ada"),
    ];
    for (words, visible, expected) in rows {
        section.clause(
            words,
            format_args!("A search of the subtree finds: {expected}."),
            move |it| {
                subentry(it)?;
                let visible = visible.map(|it| control(oid::SUBENTRIES, true, boolean(it)));
                let controls: Vec<OwnedControl> = visible.into_iter().collect();
                let filter = "(|(uid=*)(cn=hidden))";
                let found = it.search_home(filter, &["1.1"], &controls)?.ok()?;
                equal(rdn_values(&found).join(" ").as_str(), expected, "entries")
            },
        );
    }
    section.clause(
        "base-search-reads-a-subentry",
        "A base search of a subentry returns it without the control.",
        |it| {
            let name = subentry(it)?;
            it.exists(&name)
        },
    );
}

fn dont_use_copy(book: &mut Book) {
    let mut section = book.section_needing("rfc6171", "3", &[Need::Control(oid::DONT_USE_COPY)]);
    section.clause(
        "search-is-answered-from-the-original",
        "A search with the control is answered, or referred, never from a copy.",
        |it| {
            let ada = it.person("ada", &[])?;
            let controls = [bare(oid::DONT_USE_COPY, true)];
            let scope = Scope::BaseObject;
            let found = it
                .admin()?
                .search_with(&ada, scope, EVERYTHING, &[], &controls, |_| {})?;
            found.one().map(|_| ())
        },
    );
    section.clause(
        "compare-is-answered-from-the-original",
        "So is a compare.",
        |it| {
            let ada = it.person("ada", &[])?;
            let controls = [bare(oid::DONT_USE_COPY, true)];
            let outcome = it.admin()?.compare(&ada, "sn", b"ada", &controls)?;
            outcome.is(ResultCode::COMPARE_TRUE).map(|_| ())
        },
    );
    section.clause(
        "value-is-refused",
        "The control has no value: protocolError.",
        |it| {
            let ada = it.person("ada", &[])?;
            let controls = [control(oid::DONT_USE_COPY, true, vec![1])];
            let outcome = it.admin()?.compare(&ada, "sn", b"ada", &controls)?;
            outcome.is(ResultCode::PROTOCOL_ERROR).map(|_| ())
        },
    );
}
