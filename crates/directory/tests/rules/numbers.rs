//! Numbers that new entries get.

use crate::kit::{ADMIN, Client, PASSWORD};
use crate::{BASE, rule, unit};
use protocol::ChangeOperation::{Add, Delete, Replace};
use protocol::{LdapResult, ResultCode, Scope};

const OK: ResultCode = ResultCode::SUCCESS;

/// A directory that gives `uidNumber` out of some ranges.
fn with_rule(ranges: &[&str]) -> Client {
    let mut client = Client::admin();
    unit(&mut client, "People");
    numbers(&mut client, "uidNumber", ranges, &[]).unwrap();
    client
}

fn numbers(
    client: &mut Client,
    attribute: &str,
    ranges: &[&str],
    more: &[(&str, &[&str])],
) -> Result<(), String> {
    let mut attributes: Vec<(&str, &[&str])> = vec![
        ("objectClass", &["pandoNumbers"]),
        ("pandoNumberClass", &["posixAccount"]),
        ("pandoNumberRequest", &["-1"]),
    ];
    let attribute = [attribute];
    attributes.push(("pandoNumberAttribute", &attribute));
    if !ranges.is_empty() {
        attributes.push(("pandoNumberRange", ranges));
    }
    attributes.extend(more);
    let name = format!("{}-{}", attribute[0], ranges.join(" "));
    rule(client, &name, &attributes)
}

fn account(client: &mut Client, name: &str, more: &[(&str, &[&str])]) -> LdapResult {
    let mut attributes: Vec<(&str, &[&str])> = vec![
        ("objectClass", &["account", "posixAccount"]),
        ("cn", &["x"]),
        ("gidNumber", &["100"]),
        ("homeDirectory", &["/home"]),
    ];
    attributes.extend(more);
    client.add(&format!("uid={name},{BASE}"), &attributes)
}

fn uid_number(client: &mut Client, name: &str) -> String {
    let dn = format!("uid={name},{BASE}");
    let found = client.search(&dn, Scope::BaseObject, "(uid=*)", &["uidNumber"]);
    found.values("uidNumber").concat()
}

/// Adds an account without a number and returns the one it got.
fn next(client: &mut Client, name: &str) -> String {
    let result = account(client, name, &[]);
    assert_eq!(result.code, OK, "{}", result.diagnostic);
    uid_number(client, name)
}

#[test]
fn new_entries_get_the_next_number() {
    let mut client = with_rule(&["1000-1999"]);
    assert_eq!(next(&mut client, "a"), "1000");
    assert_eq!(next(&mut client, "b"), "1001");
    // A number that is given stands, and is passed over later.
    assert_eq!(
        account(&mut client, "c", &[("uidNumber", &["1002"])]).code,
        OK
    );
    assert_eq!(next(&mut client, "d"), "1003");
    let asked = account(&mut client, "e", &[("uidNumber", &["-1"])]);
    assert_eq!(
        (asked.code, uid_number(&mut client, "e")),
        (OK, "1004".into())
    );
    // The number of a deleted entry is not given again.
    let gone = client.delete_with(&format!("uid=e,{BASE}"), &[]);
    assert_eq!(gone.result.code, OK);
    assert_eq!(next(&mut client, "f"), "1005");
    let mut client = client.reopen();
    assert_eq!(client.bind(ADMIN, PASSWORD).code, OK);
    assert_eq!(next(&mut client, "g"), "1006");
}

#[test]
fn a_refused_write_costs_no_number() {
    let mut client = with_rule(&["1000-1999"]);
    let refused = account(&mut client, "a", &[("noSuchType", &["x"])]);
    assert_ne!(refused.code, OK);
    // This write is checked as far as the object classes.
    let refused = account(&mut client, "a", &[("sn", &["not allowed"])]);
    assert_eq!(refused.code, ResultCode::OBJECT_CLASS_VIOLATION);
    assert_eq!(next(&mut client, "a"), "1000");
}

#[test]
fn ranges_are_used_in_their_order_until_they_end() {
    let mut client = with_rule(&["20-21", "10-11"]);
    let given: Vec<String> = ["a", "b", "c", "d"]
        .iter()
        .map(|name| next(&mut client, name))
        .collect();
    assert_eq!(given, ["10", "11", "20", "21"]);
    let refused = account(&mut client, "e", &[]);
    assert_eq!(refused.code, ResultCode::UNWILLING_TO_PERFORM);
    assert_eq!(
        refused.diagnostic,
        "all numbers for uidNumber in 10-11, 20-21 are given away; add a pandoNumberRange to the \
         rule in cn=rules,cn=config"
    );
    let rule = "cn=uidNumber-20-21 10-11,cn=rules,cn=config";
    let longer = [
        (Delete, "pandoNumberRange", &["20-21"][..]),
        (Add, "pandoNumberRange", &["20-"][..]),
    ];
    assert_eq!(client.modify(rule, &longer).code, OK);
    assert_eq!(next(&mut client, "e"), "22");
}

#[test]
fn numbers_begin_behind_those_that_many_entries_hold() {
    let account = |number: u64| {
        format!(
            "dn: uid=n{number},{BASE}\nobjectClass: account\nobjectClass: posixAccount\ncn: x\n\
             uidNumber: {number}\ngidNumber: 1\nhomeDirectory: /home\n\n"
        )
    };
    let held = (10..20).chain(1000..2200);
    let mut client = Client::filled(&held.map(account).collect::<String>());
    numbers(&mut client, "uidNumber", &["10-19", "1000-"], &[]).unwrap();
    assert_eq!(next(&mut client, "a"), "2200");
    assert_eq!(next(&mut client, "b"), "2201");
    // A number that was passed over is not given when it becomes free.
    for held in ["n10", "n1500"] {
        let gone = client.delete_with(&format!("uid={held},{BASE}"), &[]);
        assert_eq!(gone.result.code, OK);
    }
    assert_eq!(next(&mut client, "c"), "2202");
}

#[test]
fn an_entry_that_gets_the_class_gets_a_number() {
    let mut client = with_rule(&["1000-1999"]);
    let plain: [(&str, &[&str]); 1] = [("objectClass", &["account"])];
    let dn = format!("uid=a,{BASE}");
    assert_eq!(client.add(&dn, &plain).code, OK);
    assert_eq!(uid_number(&mut client, "a"), "");
    let class = [
        (Add, "objectClass", &["posixAccount"][..]),
        (Add, "cn", &["x"][..]),
        (Add, "gidNumber", &["100"][..]),
        (Add, "homeDirectory", &["/home"][..]),
    ];
    assert_eq!(client.modify(&dn, &class).code, OK);
    assert_eq!(uid_number(&mut client, "a"), "1000");
    // Afterwards only who asks for another one gets it.
    assert_eq!(client.modify(&dn, &[(Replace, "cn", &["y"])]).code, OK);
    assert_eq!(uid_number(&mut client, "a"), "1000");
    let asks = (Replace, "uidNumber", &["-1"][..]);
    assert_eq!(client.modify(&dn, &[asks]).code, OK);
    assert_eq!(uid_number(&mut client, "a"), "1001");
}

#[test]
fn numbers_that_share_their_values_with_others_are_passed_over() {
    let mut client = with_rule(&["1000-1999"]);
    let unique: [(&str, &[&str]); 2] = [
        ("objectClass", &["pandoUnique"]),
        ("pandoUniqueAttribute", &["uidNumber", "gidNumber"]),
    ];
    rule(&mut client, "both", &unique).unwrap();
    let group: [(&str, &[&str]); 3] = [
        ("objectClass", &["namedObject", "posixGroup"]),
        ("cn", &["staff"]),
        ("gidNumber", &["1000"]),
    ];
    assert_eq!(client.add(&format!("cn=staff,{BASE}"), &group).code, OK);
    let attributes: [(&str, &[&str]); 4] = [
        ("objectClass", &["account", "posixAccount"]),
        ("cn", &["x"]),
        ("gidNumber", &["7"]),
        ("homeDirectory", &["/home"]),
    ];
    let added = client.add(&format!("uid=a,{BASE}"), &attributes);
    assert_eq!(added.code, OK, "{}", added.diagnostic);
    assert_eq!(uid_number(&mut client, "a"), "1001");
}

#[test]
fn a_number_from_before_the_rules_is_no_obstacle_to_other_changes() {
    let mut client = Client::admin();
    for name in ["a", "b"] {
        let added = account(&mut client, name, &[("uidNumber", &["1000"])]);
        assert_eq!(added.code, OK, "{}", added.diagnostic);
    }
    numbers(&mut client, "uidNumber", &["1000-1999"], &[]).unwrap();
    let unique: [(&str, &[&str]); 2] = [
        ("objectClass", &["pandoUnique"]),
        ("pandoUniqueAttribute", &["uidNumber"]),
    ];
    rule(&mut client, "uidNumber", &unique).unwrap();
    let change = (Replace, "description", &["changed"][..]);
    let changed = client.modify(&format!("uid=a,{BASE}"), &[change]);
    assert_eq!(changed.code, OK, "{}", changed.diagnostic);
}

#[test]
fn rules_that_make_no_sense_are_refused() {
    let mut client = with_rule(&["1000-1999"]);
    let mut refused = |attribute: &str, ranges: &[&str], part: &str| {
        let problem = numbers(&mut client, attribute, ranges, &[]).unwrap_err();
        assert!(problem.contains(part), "{problem}");
    };
    refused("uidNumber", &["5-1"], "expected a range such as");
    refused("uidNumber", &["1-5", "5-9"], "overlap");
    refused("uidNumber", &["1500-2500"], "two rules for uidNumber");
    refused("shadowMax", &["1-5"], "needs an equality index");
    refused("mail", &["1-5"], "syntax Integer");
    numbers(&mut client, "uidNumber", &["3000-3999"], &[]).unwrap();
}

#[test]
fn rules_for_subtrees_have_numbers_of_their_own() {
    let mut client = Client::admin();
    unit(&mut client, "People");
    unit(&mut client, "Guests");
    for (place, range) in [("People", "10-19"), ("Guests", "20-29")] {
        let base = format!("ou={place},{BASE}");
        numbers(
            &mut client,
            "uidNumber",
            &[range],
            &[("pandoBase", &[&base])],
        )
        .unwrap();
    }
    assert_eq!(next(&mut client, "a,ou=Guests"), "20");
    assert_eq!(next(&mut client, "a,ou=People"), "10");
    // Without a rule the number is the client's business, as ever.
    let refused = account(&mut client, "a", &[]);
    assert_eq!(refused.code, ResultCode::OBJECT_CLASS_VIOLATION);
}
