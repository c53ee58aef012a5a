//! Searches that follow aliases: what they find, once each, and what they may cost.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod kit;

use kit::{ADMIN, Answer, Client, PASSWORD};
use protocol::control::PagedResults;
use protocol::{DerefAliases, OwnedControl, ResultCode, Scope, oid};
use std::fmt::Write as _;

const BASE: &str = "dc=example,dc=com";

/// An entry of an LDIF: a unit, an alias, or a person by the first attribute of its name.
fn unit(out: &mut String, name: &str) {
    let ou = name.split([',', '=']).nth(1).unwrap();
    let _ = write!(
        out,
        "dn: {name}\nobjectClass: organizationalUnit\nou: {ou}\n\n"
    );
}

fn alias(out: &mut String, name: &str, target: &str) {
    let cn = name.split([',', '=']).nth(1).unwrap();
    let _ = write!(
        out,
        "dn: {name}\nobjectClass: alias\nobjectClass: extensibleObject\ncn: {cn}\n\
         aliasedObjectName: {target}\n\n"
    );
}

fn person(out: &mut String, name: &str) {
    let cn = name.split([',', '=']).nth(1).unwrap();
    let _ = write!(
        out,
        "dn: {name}\nobjectClass: person\ncn: {cn}\nsn: {cn}\n\n"
    );
}

fn follow(client: &mut Client, base: &str, scope: Scope, controls: &[OwnedControl]) -> Answer {
    let always = |it: &mut protocol::SearchRequest<'_>| it.deref_aliases = DerefAliases::Always;
    client.search_with(base, scope, "(objectClass=*)", &["1.1"], always, controls)
}

/// The names found, sorted, of a search that succeeds.
fn names(client: &mut Client, base: &str, scope: Scope) -> Vec<String> {
    let found = follow(client, base, scope, &[]);
    let result = &found.result;
    assert_eq!(result.code, ResultCode::SUCCESS, "{}", result.diagnostic);
    sorted(&found)
}

fn sorted(found: &Answer) -> Vec<String> {
    let mut names: Vec<String> = found.names().iter().map(|it| it.to_string()).collect();
    names.sort();
    names
}

#[test]
fn an_alias_that_leads_nowhere_hides_nothing_else() {
    let mut ldif = "version: 1\n\n".to_owned();
    unit(&mut ldif, &format!("ou=a,{BASE}"));
    person(&mut ldif, &format!("cn=Ada,ou=a,{BASE}"));
    person(&mut ldif, &format!("cn=Bob,{BASE}"));
    let (one, two) = (format!("cn=one,ou=a,{BASE}"), format!("cn=two,ou=a,{BASE}"));
    alias(&mut ldif, &one, &two);
    alias(&mut ldif, &two, &one);
    alias(
        &mut ldif,
        &format!("cn=lost,ou=a,{BASE}"),
        &format!("cn=nobody,{BASE}"),
    );
    alias(
        &mut ldif,
        &format!("cn=robert,ou=a,{BASE}"),
        &format!("cn=Bob,{BASE}"),
    );
    let mut client = Client::filled(&ldif);
    let found = names(&mut client, &format!("ou=a,{BASE}"), Scope::WholeSubtree);
    let expected = ["cn=Ada,ou=a", "cn=Bob", "ou=a"].map(|it| format!("{it},{BASE}"));
    assert_eq!(found, expected);
    // At the base there is nothing else to answer with.
    let looped = follow(&mut client, &one, Scope::WholeSubtree, &[]);
    assert_eq!(looped.result.code, ResultCode::ALIAS_PROBLEM);
}

#[test]
fn classes_mean_the_same_by_name_and_by_oid() {
    let mut ldif = "version: 1\n\n".to_owned();
    person(&mut ldif, &format!("cn=Bob,{BASE}"));
    unit(&mut ldif, &format!("ou=a,{BASE}"));
    alias(
        &mut ldif,
        &format!("cn=one,ou=a,{BASE}"),
        &format!("cn=Bob,{BASE}"),
    );
    let ldif = ldif.replace("objectClass: alias", "objectClass: 2.5.6.1");
    let mut client = Client::filled(&ldif);
    let base = format!("ou=a,{BASE}");
    let expected = ["cn=Bob", "ou=a"].map(|it| format!("{it},{BASE}"));
    assert_eq!(names(&mut client, &base, Scope::WholeSubtree), expected);
    let two = format!("cn=two,ou=a,{BASE}");
    let done = client.add(
        &two,
        &[
            ("objectClass", &["2.5.6.1", "EXTENSIBLEOBJECT"]),
            ("aliasedObjectName", &[&format!("ou=a,{BASE}")]),
        ],
    );
    assert_eq!(done.code, ResultCode::SUCCESS, "{}", done.diagnostic);
    let found = client.search(&two, Scope::BaseObject, "(cn=two)", &["objectClass"]);
    assert_eq!(found.values("objectClass"), ["alias", "EXTENSIBLEOBJECT"]);
    assert_eq!(names(&mut client, &base, Scope::WholeSubtree), expected);
    // The first referral of the directory.
    let far = format!("ou=far,{BASE}");
    let url = "ldap://far.example/ou=far,o=elsewhere";
    let classes: &[&str] = &["2.16.840.1.113730.3.2.6", "extensibleObject"];
    let done = client.add(&far, &[("objectClass", classes), ("ref", &[url])]);
    assert_eq!(done.code, ResultCode::SUCCESS, "{}", done.diagnostic);
    let below = format!("cn=x,{far}");
    let found = client.search(&below, Scope::BaseObject, "(objectClass=*)", &["1.1"]);
    assert_eq!(found.result.code, ResultCode::REFERRAL);
}

#[test]
fn what_an_alias_to_above_leads_to_comes_once() {
    let mut ldif = "version: 1\n\n".to_owned();
    unit(&mut ldif, &format!("ou=a,{BASE}"));
    unit(&mut ldif, &format!("ou=b,ou=a,{BASE}"));
    person(&mut ldif, &format!("cn=Ada,ou=b,ou=a,{BASE}"));
    person(&mut ldif, &format!("cn=Bob,{BASE}"));
    // First a part, then what holds it and the base.
    unit(&mut ldif, &format!("ou=c,{BASE}"));
    person(&mut ldif, &format!("cn=Carol,ou=c,{BASE}"));
    alias(
        &mut ldif,
        &format!("cn=aside,ou=b,ou=a,{BASE}"),
        &format!("ou=c,{BASE}"),
    );
    alias(&mut ldif, &format!("cn=up,ou=b,ou=a,{BASE}"), BASE);
    let mut client = Client::filled(&ldif);
    let everything = client.search(
        BASE,
        Scope::WholeSubtree,
        "(!(objectClass=alias))",
        &["1.1"],
    );
    let everything = sorted(&everything);
    assert!(everything.len() >= 7, "{everything:?}");
    for scope in [Scope::WholeSubtree, Scope::Subordinate] {
        let found = names(&mut client, &format!("ou=a,{BASE}"), scope);
        assert_eq!(found, everything);
    }
    // The base itself, where it is not searched, and what it holds, where it is.
    let done = client.add(
        &format!("cn=here,ou=c,{BASE}"),
        &[
            ("objectClass", &["alias", "extensibleObject"]),
            ("aliasedObjectName", &[&format!("ou=c,{BASE}")]),
        ],
    );
    assert_eq!(done.code, ResultCode::SUCCESS, "{}", done.diagnostic);
    let found = names(&mut client, &format!("ou=c,{BASE}"), Scope::Subordinate);
    let expected = ["cn=Carol,ou=c", "ou=c"].map(|it| format!("{it},{BASE}"));
    assert_eq!(found, expected);
}

#[test]
fn one_level_below_what_aliases_lead_to_comes_once() {
    let mut ldif = "version: 1\n\n".to_owned();
    unit(&mut ldif, &format!("ou=a,{BASE}"));
    person(&mut ldif, &format!("cn=Ada,ou=a,{BASE}"));
    unit(&mut ldif, &format!("ou=b,{BASE}"));
    person(&mut ldif, &format!("cn=Bob,ou=b,{BASE}"));
    for (rdn, target) in [
        ("cn=child", "cn=Ada,ou=a"),
        ("cn=below", "cn=Bob,ou=b"),
        ("cn=again", "cn=Bob,ou=b"),
        ("cn=above", "ou=b"),
        ("cn=base", "ou=a"),
    ] {
        alias(
            &mut ldif,
            &format!("{rdn},ou=a,{BASE}"),
            &format!("{target},{BASE}"),
        );
    }
    let mut client = Client::filled(&ldif);
    let found = names(&mut client, &format!("ou=a,{BASE}"), Scope::SingleLevel);
    let expected = ["cn=Ada,ou=a", "cn=Bob,ou=b", "ou=a", "ou=b"];
    assert_eq!(found, expected.map(|it| format!("{it},{BASE}")));
}

#[test]
fn pages_go_through_all_that_aliases_lead_to() {
    let mut ldif = "version: 1\n\n".to_owned();
    unit(&mut ldif, &format!("ou=a,{BASE}"));
    for name in ["ou=b", "ou=c"] {
        unit(&mut ldif, &format!("{name},{BASE}"));
        person(&mut ldif, &format!("cn=Ada,{name},{BASE}"));
        person(&mut ldif, &format!("cn=Bob,{name},{BASE}"));
        let cn = &name[3..];
        alias(
            &mut ldif,
            &format!("cn={cn},ou=a,{BASE}"),
            &format!("{name},{BASE}"),
        );
    }
    let mut client = Client::filled(&ldif);
    let base = format!("ou=a,{BASE}");
    let expected = names(&mut client, &base, Scope::WholeSubtree);
    assert_eq!(expected.len(), 7);
    let (mut found, mut cookie) = (Vec::new(), Vec::new());
    loop {
        let asked = PagedResults {
            size: 2,
            cookie: &cookie,
        };
        let page = OwnedControl::with_value(oid::PAGED_RESULTS, true, |out| asked.encode(out));
        let answer = follow(&mut client, &base, Scope::WholeSubtree, &[page]);
        assert_eq!(answer.result.code, ResultCode::SUCCESS);
        found.extend(sorted(&answer));
        let value = answer.controls[0].1.as_deref().unwrap();
        cookie = PagedResults::decode(value).unwrap().cookie.to_vec();
        if cookie.is_empty() {
            break;
        }
    }
    found.sort();
    assert_eq!(found, expected);
}

#[test]
fn following_aliases_is_a_part_of_what_a_search_costs() {
    let mut ldif = "version: 1\n\n".to_owned();
    unit(&mut ldif, &format!("ou=a,{BASE}"));
    for at in 0..5 {
        alias(
            &mut ldif,
            &format!("cn={at},ou=a,{BASE}"),
            &format!("ou=a,{BASE}"),
        );
    }
    let mut options = kit::options();
    options.limits.administrator.candidates_max = 3;
    let mut client = Client::filled(&ldif).reopen_with(&options);
    assert_eq!(client.bind(ADMIN, PASSWORD).code, ResultCode::SUCCESS);
    let stopped = follow(
        &mut client,
        &format!("ou=a,{BASE}"),
        Scope::WholeSubtree,
        &[],
    );
    assert_eq!(stopped.result.code, ResultCode::ADMIN_LIMIT_EXCEEDED);
    let text = &stopped.result.diagnostic;
    assert!(text.contains("limit of 3 entries looked at"), "{text}");
    assert!(stopped.entries.is_empty());
}

#[test]
fn aliases_to_thousands_of_places_are_followed_and_to_more_are_not() {
    let mut ldif = "version: 1\n\n".to_owned();
    for name in ["ou=some", "ou=many", "ou=targets"] {
        unit(&mut ldif, &format!("{name},{BASE}"));
    }
    for at in 0..10_000 {
        let target = format!("cn={at},ou=targets,{BASE}");
        person(&mut ldif, &target);
        alias(&mut ldif, &format!("cn={at},ou=many,{BASE}"), &target);
        if at < 3_000 {
            alias(&mut ldif, &format!("cn={at},ou=some,{BASE}"), &target);
        }
    }
    let mut client = Client::filled(&ldif);
    let found = names(&mut client, &format!("ou=some,{BASE}"), Scope::WholeSubtree);
    assert_eq!(found.len(), 3_001);
    for scope in [Scope::WholeSubtree, Scope::SingleLevel] {
        let refused = follow(&mut client, &format!("ou=many,{BASE}"), scope, &[]).result;
        assert_eq!(refused.code, ResultCode::ADMIN_LIMIT_EXCEEDED);
        let text = refused.diagnostic;
        assert!(text.contains("more than 10000 places"), "{text}");
    }
    // Aliases into the subtree that is searched add no places.
    let all = names(&mut client, BASE, Scope::WholeSubtree);
    assert!(all.len() > 10_000);
}
