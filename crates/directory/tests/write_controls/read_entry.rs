//! Pre-read and post-read (RFC 4527).

use crate::{ADA, ada, assertion, entry_in, read_entry, with_ada};
use protocol::{ChangeOperation, OwnedControl, ResultCode, oid};

const REPLACE: ChangeOperation = ChangeOperation::Replace;

fn pair(name: &str, values: &[&str]) -> (String, Vec<String>) {
    let values = values.iter().map(|it| (*it).to_owned());
    (name.to_owned(), values.collect())
}

#[test]
fn a_modify_shows_both_sides_of_itself() {
    let mut client = with_ada();
    let change = (REPLACE, "sn", &["King"][..]);
    let asked = [
        read_entry(oid::PRE_READ, &["sn"]),
        read_entry(oid::POST_READ, &["sn", "entryDN"]),
    ];
    let answer = client.modify_with(ADA, &[change], &asked);
    assert_eq!(answer.result.code, ResultCode::SUCCESS);
    let before = (ADA.to_owned(), vec![pair("sn", &["Lovelace"])]);
    assert_eq!(entry_in(&answer, oid::PRE_READ), before);
    let after = vec![pair("sn", &["King"]), pair("entryDN", &[ADA])];
    assert_eq!(entry_in(&answer, oid::POST_READ), (ADA.to_owned(), after));
}

#[test]
fn the_other_updates_show_what_they_can() {
    let mut client = with_ada();
    let attributes: [(&str, &[&str]); 2] = [("objectClass", &["person"]), ("sn", &["Bob"])];
    let dn = "cn=Bob,dc=example,dc=com";
    let answer = client.add_with(dn, &attributes, &[read_entry(oid::POST_READ, &["*", "+"])]);
    let (name, added) = entry_in(&answer, oid::POST_READ);
    assert_eq!(name, dn);
    for wanted in [
        "objectClass",
        "cn",
        "entryUUID",
        "modifyTimestamp",
        "numSubordinates",
    ] {
        assert!(
            added.iter().any(|(it, _)| it == wanted),
            "{wanted}: {added:?}"
        );
    }
    let both = [
        read_entry(oid::PRE_READ, &["cn"]),
        read_entry(oid::POST_READ, &["cn"]),
    ];
    let answer = client.rename_with(dn, "cn=Rob", None, &both);
    assert_eq!(
        entry_in(&answer, oid::PRE_READ),
        (dn.to_owned(), vec![pair("cn", &["Bob"])])
    );
    let dn = "cn=Rob,dc=example,dc=com";
    assert_eq!(
        entry_in(&answer, oid::POST_READ),
        (dn.to_owned(), vec![pair("cn", &["Rob"])])
    );
    let answer = client.rename_with(dn, "cn=Tob", Some(ADA), &both);
    let dn = "cn=Tob,cn=Ada,dc=example,dc=com";
    assert_eq!(entry_in(&answer, oid::POST_READ).0, dn);
    let answer = client.delete_with(dn, &[read_entry(oid::PRE_READ, &["1.1"])]);
    assert_eq!(
        entry_in(&answer, oid::PRE_READ),
        (dn.to_owned(), Vec::new())
    );
}

#[test]
fn an_attribute_of_this_very_change_is_shown() {
    let mut client = with_ada();
    // Nobody used carLicense;lang-de before: it gets its number in this record.
    let change = (REPLACE, "description;lang-x-new", &["1"][..]);
    let answer = client.modify_with(
        ADA,
        &[change],
        &[read_entry(oid::POST_READ, &["description"])],
    );
    let (_, attributes) = entry_in(&answer, oid::POST_READ);
    assert_eq!(attributes, [pair("description;lang-x-new", &["1"])]);
}

#[test]
fn what_may_not_be_read_is_not_returned() {
    let mut client = with_ada();
    let mut own = client.another();
    assert_eq!(own.bind(ADA, "ada").code, ResultCode::SUCCESS);
    let change = (REPLACE, "userPassword", &["new"][..]);
    let asked = [
        read_entry(oid::PRE_READ, &["userPassword", "sn"]),
        read_entry(oid::POST_READ, &["*"]),
    ];
    let answer = own.modify_with(ADA, &[change], &asked);
    assert_eq!(answer.result.code, ResultCode::SUCCESS);
    assert_eq!(
        entry_in(&answer, oid::PRE_READ).1,
        [pair("sn", &["Lovelace"])]
    );
    let (_, after) = entry_in(&answer, oid::POST_READ);
    assert!(
        after.iter().all(|(it, _)| it != "userPassword"),
        "{after:?}"
    );
    let change = (REPLACE, "sn", &["King"][..]);
    let answer = client.modify_with(
        ADA,
        &[change],
        &[read_entry(oid::PRE_READ, &["userPassword"])],
    );
    assert_eq!(entry_in(&answer, oid::PRE_READ).1.len(), 1);
}

#[test]
fn a_refused_update_returns_nothing() {
    let mut client = with_ada();
    let change = (ChangeOperation::Delete, "description", &[][..]);
    let asked = [read_entry(oid::PRE_READ, &[])];
    let answer = client.modify_with(ADA, &[change], &asked);
    assert_eq!(answer.result.code, ResultCode::NO_SUCH_ATTRIBUTE);
    assert_eq!(answer.controls, []);
    let change = (REPLACE, "sn", &["King"][..]);
    let asked = [read_entry(oid::PRE_READ, &[]), assertion("(cn=eve)")];
    let answer = client.modify_with(ADA, &[change], &asked);
    assert_eq!(answer.result.code, ResultCode::ASSERTION_FAILED);
    assert_eq!(answer.controls, []);
}

#[test]
fn junk_and_wrong_places_are_refused() {
    let mut client = with_ada();
    let change = (REPLACE, "sn", &["x"][..]);
    let junk = OwnedControl::with_value(oid::POST_READ, true, |out| out.extend(b"\x04\x01x"));
    let answer = client.modify_with(ADA, &[change], &[junk]);
    assert_eq!(answer.result.code, ResultCode::PROTOCOL_ERROR);
    let unfit = ResultCode::UNAVAILABLE_CRITICAL_EXTENSION;
    let answer = client.delete_with(ADA, &[read_entry(oid::POST_READ, &[])]);
    assert_eq!(answer.result.code, unfit);
    let answer = client.add_with(ADA, &[("sn", &["x"])], &[read_entry(oid::PRE_READ, &[])]);
    assert_eq!(answer.result.code, unfit);
    assert_eq!(ada(&mut client, "sn"), ["Lovelace"]);
}
