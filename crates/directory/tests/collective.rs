//! Collective attributes (RFC 3671) and the subtrees they are lent to (RFC 3672).

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod kit;

use kit::Client;
use protocol::{ChangeOperation, CompareRequest, LdapResult, Request, ResultCode, Scope};

const BASE: &str = "dc=example,dc=com";

#[track_caller]
fn done(result: LdapResult) {
    assert_eq!(result.code, ResultCode::SUCCESS, "{}", result.diagnostic);
}

fn lend(client: &mut Client, name: &str, subtree: &str, attributes: &[(&str, &[&str])]) {
    let subtree = [subtree];
    let classes: &[&str] = &["subentry", "collectiveAttributeSubentry"];
    let mut all = vec![("objectClass", classes), ("subtreeSpecification", &subtree)];
    all.extend_from_slice(attributes);
    done(client.add(&format!("cn={name},{BASE}"), &all));
}

fn found(client: &mut Client, filter: &str) -> Vec<String> {
    let answer = client.search(BASE, Scope::WholeSubtree, filter, &["1.1"]);
    assert_eq!(answer.result.code, ResultCode::SUCCESS);
    let mut names: Vec<String> = answer.names().into_iter().map(str::to_owned).collect();
    names.sort_unstable();
    names
}

fn values(client: &mut Client, name: &str, selected: &str, attribute: &str) -> Vec<String> {
    let found = client.search(name, Scope::BaseObject, "(objectClass=*)", &[selected]);
    found
        .values(attribute)
        .into_iter()
        .map(str::to_owned)
        .collect()
}

/// Two people, one of them below ou=far; Berlin is lent to persons, Rome to what is below ou=far.
fn client() -> Client {
    let mut client = Client::admin();
    client.add_person("Ada");
    let unit = [("objectClass", &["organizationalUnit"][..])];
    done(client.add("ou=far,dc=example,dc=com", &unit));
    let person: &[(&str, &[&str])] = &[("objectClass", &["person"]), ("sn", &["x"])];
    done(client.add("cn=Bob,ou=far,dc=example,dc=com", person));
    let berlin = "{ specificationFilter item:person }";
    lend(
        &mut client,
        "one",
        berlin,
        &[("c-l", &["Berlin"]), ("c-ou", &["All"])],
    );
    let rome = "{ base \"ou=far\", minimum 1 }";
    lend(&mut client, "two", rome, &[("c-l", &["Rome"])]);
    client
}

const ADA: &str = "cn=Ada,dc=example,dc=com";
const BOB: &str = "cn=Bob,ou=far,dc=example,dc=com";

#[test]
fn entries_show_what_is_lent_to_them() {
    let mut client = client();
    assert_eq!(values(&mut client, ADA, "*", "c-l"), ["Berlin"]);
    assert_eq!(values(&mut client, BOB, "*", "c-l"), ["Berlin", "Rome"]);
    assert_eq!(values(&mut client, BOB, "l", "c-l"), ["Berlin", "Rome"]);
    assert_eq!(values(&mut client, BOB, "c-ou", "c-ou"), ["All"]);
    assert_eq!(values(&mut client, BOB, "c-ou", "c-l"), [""; 0]);
    assert_eq!(values(&mut client, BASE, "*", "c-l"), [""; 0]);
    assert_eq!(
        values(&mut client, "ou=far,dc=example,dc=com", "*", "c-l"),
        [""; 0]
    );
    let lenders = "collectiveAttributeSubentries";
    assert_eq!(values(&mut client, ADA, "*", lenders), [""; 0]);
    assert_eq!(
        values(&mut client, ADA, "+", lenders),
        ["cn=one,dc=example,dc=com"]
    );
    assert_eq!(values(&mut client, BOB, lenders, lenders).len(), 2);
    let mut client = client.reopen();
    assert_eq!(values(&mut client, ADA, "*", "c-l"), ["Berlin"]);
}

#[test]
fn lent_values_are_found_and_compared() {
    let mut client = client();
    assert_eq!(
        found(&mut client, "(&(c-l=berlin)(objectClass=person))"),
        [ADA, BOB]
    );
    assert_eq!(
        found(&mut client, "(&(sn=*)(l=BERLIN)(!(c-l=Rome)))"),
        [ADA]
    );
    assert_eq!(found(&mut client, "(&(sn=x)(c-l=r*))"), [BOB]);
    assert_eq!(
        found(&mut client, "(&(objectClass=person)(c-ou=all))"),
        [ADA, BOB]
    );
    assert_eq!(found(&mut client, "(c-ou=none)"), [""; 0]);
    assert_eq!(
        found(&mut client, "(&(objectClass=organizationalUnit)(c-l=*))"),
        [""; 0]
    );
    let mut compare = |value: &str| {
        let request = CompareRequest {
            entry: BOB,
            attribute: "c-l",
            value: value.as_bytes(),
        };
        client.call(&Request::Compare(request), &[]).result.code
    };
    assert_eq!(compare("rome"), ResultCode::COMPARE_TRUE);
    assert_eq!(compare("oslo"), ResultCode::COMPARE_FALSE);
}

#[test]
fn entries_may_exclude_what_they_do_not_want() {
    let mut client = client();
    let exclude = |value: &'static str| (ChangeOperation::Replace, "collectiveExclusions", value);
    let set = |client: &mut Client, (operation, attribute, value): (_, &str, &str)| {
        done(client.modify(BOB, &[(operation, attribute, &[value][..])]));
    };
    set(&mut client, exclude("c-l"));
    assert_eq!(values(&mut client, BOB, "*", "c-l"), [""; 0]);
    assert_eq!(values(&mut client, BOB, "*", "c-ou"), ["All"]);
    assert_eq!(found(&mut client, "(&(sn=x)(c-l=*))"), [""; 0]);
    set(&mut client, exclude("2.5.18.0"));
    assert_eq!(values(&mut client, BOB, "*", "c-ou"), [""; 0]);
}

#[test]
fn nothing_but_a_lender_holds_collective_attributes() {
    let mut client = client();
    let add = (ChangeOperation::Add, "c-l", &["Oslo"][..]);
    let refused = client.modify(ADA, &[add]);
    assert_eq!(refused.code, ResultCode::OBJECT_CLASS_VIOLATION);
    let extensible = (
        ChangeOperation::Add,
        "objectClass",
        &["extensibleObject"][..],
    );
    let refused = client.modify(ADA, &[extensible, add]);
    assert_eq!(refused.code, ResultCode::OBJECT_CLASS_VIOLATION);
    let forged = (
        ChangeOperation::Add,
        "collectiveAttributeSubentries",
        &[ADA][..],
    );
    let refused = client.modify(ADA, &[forged]);
    assert_eq!(refused.code, ResultCode::CONSTRAINT_VIOLATION);
}
