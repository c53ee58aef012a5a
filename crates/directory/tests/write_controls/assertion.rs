//! The assertion control (RFC 4528).

use crate::kit::Client;
use crate::{ADA, BASE, ada, assertion, with_ada};
use protocol::{ChangeOperation, CompareRequest, OwnedControl, Request, ResultCode, Scope, oid};

const REPLACE: ChangeOperation = ChangeOperation::Replace;

fn set(client: &mut Client, value: &str, filter: &str) -> ResultCode {
    let change = (REPLACE, "description", &[value][..]);
    let answer = client.modify_with(ADA, &[change], &[assertion(filter)]);
    answer.result.code
}

#[test]
fn a_modify_tests_and_sets() {
    let mut client = with_ada();
    assert_eq!(
        set(&mut client, "1", "(!(description=*))"),
        ResultCode::SUCCESS
    );
    assert_eq!(
        set(&mut client, "2", "(description=1)"),
        ResultCode::SUCCESS
    );
    let late = set(&mut client, "3", "(description=1)");
    assert_eq!(late, ResultCode::ASSERTION_FAILED);
    assert_eq!(ada(&mut client, "description"), ["2"]);
}

#[test]
fn a_condition_about_groups_needs_their_index() {
    let mut client = with_ada();
    let group: [(&str, &[&str]); 2] = [("objectClass", &["groupOfNames"]), ("member", &[ADA])];
    let name = format!("cn=group,{BASE}");
    assert_eq!(client.add(&name, &group).code, ResultCode::SUCCESS);
    let conditions = [
        format!("(memberOf={name})"),
        format!("(|(cn=nobody)(isMemberOf={name}))"),
        format!("(memberOf:1.2.840.113556.1.4.1941:={name})"),
    ];
    for condition in &conditions {
        assert_eq!(set(&mut client, "1", condition), ResultCode::SUCCESS);
    }
    for attribute in ["member", "uniqueMember"] {
        let index = format!("cn={attribute},cn=indexes,cn=config");
        let gone = client.delete_with(&index, &[]).result;
        assert_eq!(gone.code, ResultCode::SUCCESS);
    }
    for condition in &conditions {
        let change = (REPLACE, "description", &["2"][..]);
        let refused = client.modify_with(ADA, &[change], &[assertion(condition)]);
        let result = refused.result;
        assert_eq!(result.code, ResultCode::UNWILLING_TO_PERFORM, "{condition}");
        let said = "needs an equality index on member";
        assert!(result.diagnostic.contains(said), "{}", result.diagnostic);
    }
    // A filter without groups needs no such index.
    assert_eq!(set(&mut client, "2", "(cn=Ada)"), ResultCode::SUCCESS);
}

#[test]
fn a_condition_may_be_about_the_present_time() {
    let mut client = with_ada();
    let recent = "(createTimestamp:relativeTimeGTOrderingMatch:=-1h)";
    let old = "(createTimestamp:relativeTimeLTOrderingMatch:=-1h)";
    assert_eq!(set(&mut client, "1", recent), ResultCode::SUCCESS);
    assert_eq!(set(&mut client, "2", old), ResultCode::ASSERTION_FAILED);
    let compare = CompareRequest {
        entry: ADA,
        attribute: "description",
        value: b"1",
    };
    for (filter, code) in [
        (recent, ResultCode::COMPARE_TRUE),
        (old, ResultCode::ASSERTION_FAILED),
    ] {
        let request = Request::Compare(compare);
        let answer = client.call(&request, &[assertion(filter)]);
        assert_eq!(answer.result.code, code);
        let code = match code {
            ResultCode::COMPARE_TRUE => ResultCode::SUCCESS,
            code => code,
        };
        let controls = [assertion(filter)];
        let read = |_: &mut protocol::SearchRequest<'_>| ();
        let found = client.search_with(ADA, Scope::BaseObject, "(cn=*)", &[], read, &controls);
        assert_eq!(found.result.code, code);
    }
}

#[test]
fn what_nobody_can_say_is_not_true() {
    let mut client = with_ada();
    for filter in ["(unknown=1)", "(!(unknown=1))", "(|)"] {
        let code = set(&mut client, "x", filter);
        assert_eq!(code, ResultCode::ASSERTION_FAILED, "{filter}");
    }
    assert_eq!(set(&mut client, "x", "(&)"), ResultCode::SUCCESS);
    assert_eq!(
        set(&mut client, "y", "(|(unknown=1)(cn=ada))"),
        ResultCode::SUCCESS
    );
}

#[test]
fn add_delete_and_rename_ask_it_too() {
    let mut client = with_ada();
    let bob: [(&str, &[&str]); 2] = [("objectClass", &["person"]), ("sn", &["Bob"])];
    let dn = "cn=Bob,dc=example,dc=com";
    let failed = ResultCode::ASSERTION_FAILED;
    let refused = client.add_with(dn, &bob, &[assertion("(sn=Alice)")]);
    assert_eq!(refused.result.code, failed);
    // The entry to be is what the filter sees, with the values of its name and its own name.
    let condition = assertion("(&(sn=bob)(cn=bob)(entryDN=cn=bob,dc=example,dc=com))");
    let done = client.add_with(dn, &bob, &[condition]);
    assert_eq!(done.result.code, ResultCode::SUCCESS, "{:?}", done.result);
    let refused = client.rename_with(dn, "cn=Rob", None, &[assertion("(cn=rob)")]);
    assert_eq!(refused.result.code, failed);
    let done = client.rename_with(dn, "cn=Rob", None, &[assertion("(cn=bob)")]);
    assert_eq!(done.result.code, ResultCode::SUCCESS);
    let dn = "cn=Rob,dc=example,dc=com";
    assert_eq!(
        client.delete_with(dn, &[assertion("(cn=bob)")]).result.code,
        failed
    );
    let done = client.delete_with(dn, &[assertion("(cn=rob)")]);
    assert_eq!(done.result.code, ResultCode::SUCCESS);
    // The entry that is missing is what is wrong, not the assertion.
    let missing = client.delete_with(dn, &[assertion("(cn=rob)")]);
    assert_eq!(missing.result.code, ResultCode::NO_SUCH_OBJECT);
}

#[test]
fn search_and_compare_look_at_their_target() {
    let mut client = with_ada();
    let mut search = |base: &str, scope, filter: &str| {
        let condition = [assertion(filter)];
        let found = client.search_with(base, scope, "(cn=*)", &["1.1"], |_| (), &condition);
        (found.result.code, found.entries.len())
    };
    let failed = (ResultCode::ASSERTION_FAILED, 0);
    let found = (ResultCode::SUCCESS, 1);
    assert_eq!(search(BASE, Scope::WholeSubtree, "(cn=ada)"), failed);
    assert_eq!(search(BASE, Scope::WholeSubtree, "(dc=example)"), found);
    assert_eq!(search(ADA, Scope::BaseObject, "(dc=example)"), failed);
    // The root DSE is the target of a search from the top.
    assert_eq!(
        search("", Scope::WholeSubtree, "(vendorName=slapd)"),
        failed
    );
    assert_eq!(
        search("", Scope::SingleLevel, "(vendorName=Pando)").0,
        found.0
    );
    assert_eq!(search("", Scope::BaseObject, "(vendorName=slapd)"), failed);
    let mut compare = |filter: &str| {
        let request = CompareRequest {
            entry: ADA,
            attribute: "sn",
            value: b"Lovelace",
        };
        let condition = [assertion(filter)];
        client
            .call(&Request::Compare(request), &condition)
            .result
            .code
    };
    assert_eq!(compare("(cn=ada)"), ResultCode::COMPARE_TRUE);
    assert_eq!(compare("(cn=eve)"), failed.0);
}

#[test]
fn what_is_hidden_cannot_be_asserted() {
    let mut client = with_ada();
    client.modify(ADA, &[(REPLACE, "description", &["1"])]);
    let mut eve = client.another();
    // Neither the assertion nor its negation is defined.
    for filter in ["(userPassword=*)", "(!(userPassword=*))"] {
        let condition = [assertion(filter)];
        let found = eve.search_with(ADA, Scope::BaseObject, "(cn=*)", &[], |_| (), &condition);
        assert_eq!(found.result.code, ResultCode::ASSERTION_FAILED, "{filter}");
    }
    // A write is judged by the same eyes: Ada may change her password, and not read it.
    let mut own = client.another();
    assert_eq!(own.bind(ADA, "ada").code, ResultCode::SUCCESS);
    let change = (REPLACE, "userPassword", &["new"][..]);
    let guess = own.modify_with(ADA, &[change], &[assertion("(userPassword=*)")]);
    assert_eq!(guess.result.code, ResultCode::ASSERTION_FAILED);
    let known = own.modify_with(ADA, &[change], &[assertion("(description=1)")]);
    assert_eq!(known.result.code, ResultCode::SUCCESS);
    let admin = client.delete_with(ADA, &[assertion("(userPassword=*)")]);
    assert_eq!(admin.result.code, ResultCode::SUCCESS);
}

#[test]
fn junk_is_refused_and_changes_nothing() {
    let mut client = with_ada();
    let change = (REPLACE, "description", &["x"][..]);
    let junk = |value: Option<&[u8]>| OwnedControl {
        oid: oid::ASSERTION.into(),
        critical: false,
        value: value.map(<[u8]>::to_vec),
    };
    let good = assertion("(cn=ada)");
    let trailing = [good.value.as_deref().unwrap(), b"x"].concat();
    let cases = [
        vec![junk(None)],
        vec![junk(Some(b""))],
        vec![junk(Some(b"\x87\x05cn"))],
        vec![junk(Some(&trailing))],
        vec![good.clone(), good],
    ];
    for controls in cases {
        let answer = client.modify_with(ADA, &[change], &controls);
        assert_eq!(
            answer.result.code,
            ResultCode::PROTOCOL_ERROR,
            "{controls:?}"
        );
    }
    assert_eq!(
        client
            .search(ADA, Scope::BaseObject, "(description=*)", &[])
            .entries
            .len(),
        0
    );
}
