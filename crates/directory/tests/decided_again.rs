//! Changes that rules allow by what the entry holds, while the entry changes between the decision
//! and the execution.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod kit;

use directory::{Clock, Options};
use kit::gate::Gate;
use kit::{ADMIN, Answer, Client, PASSWORD, options, success};
use protocol::ChangeOperation::{self, Delete, Replace};
use protocol::ResultCode;
use std::sync::Arc;

const ADA: &str = "cn=ada,dc=example,dc=com";
const BOB: &str = "cn=bob,dc=example,dc=com";
const RULES: &str = "cn=access,cn=config";

type Changes<'c> = &'c [(ChangeOperation, &'c str, &'c [&'c str])];

/// A directory in which bob changes everything of whoever is no boss, and has one manager.
fn ruled(gate: &Arc<Gate>) -> Client {
    let mut admin = Client::admin();
    let rules = [
        "rule bind\non everything\nfor userPassword\nlet anyone authenticate",
        "rule boss\non everything where (title=boss)\nlet users read",
        "rule managed\non everything\nfor mobile\nlet manager write\nlet users read",
        "rule open\non everything\nlet entry \"cn=bob,dc=example,dc=com\" manage\nlet users read",
    ];
    for name in ["ada", "bob"] {
        let values: &[(&str, &[&str])] = &[
            ("objectClass", &["inetOrgPerson"]),
            ("sn", &[name]),
            ("manager", &[BOB]),
            ("userPassword", &[name]),
        ];
        success(&admin.add(&format!("cn={name},dc=example,dc=com"), values));
    }
    success(&admin.add(RULES, &[("objectClass", &["pandoConfig"])]));
    for (number, text) in rules.into_iter().enumerate() {
        let order = number.to_string();
        let values: &[(&str, &[&str])] = &[
            ("objectClass", &["pandoAccessRule"]),
            ("pandoAccessText", &[text]),
            ("pandoAccessOrder", &[&order]),
        ];
        success(&admin.add(&format!("cn=r{number},{RULES}"), values));
    }
    let slow = Options {
        clock: Arc::clone(gate) as Arc<dyn Clock>,
        ..options()
    };
    let mut admin = admin.reopen_with(&slow);
    success(&admin.bind(ADMIN, PASSWORD));
    admin
}

/// The answers to bob's changes of ada, which were decided before, and are executed after, one by
/// the administrator; and the administrator.
fn overtaken(by: Changes<'_>, changes: &[Changes<'_>]) -> (Client, Vec<Answer>) {
    let gate = Arc::new(Gate::default());
    let mut admin = ruled(&gate);
    let mut bob = admin.another();
    success(&bob.bind(BOB, "bob"));
    gate.set(true);
    let first = admin.begin_modify(ADA, by, &[]);
    let begun: Vec<_> = changes
        .iter()
        .map(|it| bob.begin_modify(ADA, it, &[]))
        .collect();
    gate.set(false);
    success(&admin.finish(first).result);
    let answers = begun.into_iter().map(|it| bob.finish(it)).collect();
    (admin, answers)
}

fn values(admin: &mut Client, attribute: &str) -> Vec<String> {
    let answer = admin.search(
        ADA,
        protocol::Scope::BaseObject,
        "(objectClass=*)",
        &[attribute],
    );
    let values = answer.entries[0].1.iter().flat_map(|it| it.1.clone());
    values.collect()
}

#[test]
fn a_right_that_ended_meanwhile_is_not_used() {
    for (by, change) in [
        (
            &[(Replace, "title", &["boss"][..])],
            &[(Replace, "description", &["seized"][..])],
        ),
        (
            &[(Delete, "manager", &[][..])],
            &[(Replace, "mobile", &["1234"][..])],
        ),
    ] {
        let (mut admin, answers) = overtaken(by, &[change]);
        let code = answers[0].result.code;
        assert_eq!(code, ResultCode::INSUFFICIENT_ACCESS_RIGHTS, "{change:?}");
        assert_eq!(values(&mut admin, change[0].1), Vec::<String>::new());
    }
}

#[test]
fn a_right_that_stands_is_used_and_the_client_notices_nothing() {
    let by = &[(Replace, "street", &["elsewhere"][..])];
    let change = &[(Replace, "description", &["moved"][..])];
    let (mut admin, answers) = overtaken(by, &[change]);
    success(&answers[0].result);
    assert_eq!(values(&mut admin, "description"), ["moved"]);
    assert_eq!(values(&mut admin, "street"), ["elsewhere"]);
}

/// Each of them waits for the one before it, which may have to be decided again.
#[test]
fn changes_of_one_client_keep_their_order() {
    let by = &[(Replace, "street", &["elsewhere"][..])];
    let one = |value: &'static [&'static str]| [(Replace, "description", value)];
    let changes = [one(&["a"]), one(&["b"]), one(&["c"]), one(&["d"])];
    let changes: Vec<Changes<'_>> = changes.iter().map(|it| &it[..]).collect();
    let (mut admin, answers) = overtaken(by, &changes);
    answers.iter().for_each(|it| success(&it.result));
    assert_eq!(values(&mut admin, "description"), ["d"]);
}

#[test]
fn a_transaction_that_was_overtaken_is_refused() {
    let gate = Arc::new(Gate::default());
    let mut admin = ruled(&gate);
    let mut bob = admin.another();
    success(&bob.bind(BOB, "bob"));
    let inside = bob.begin_transaction();
    let change = &[(Replace, "description", &["seized"][..])];
    success(
        &bob.modify_with(ADA, change, std::slice::from_ref(&inside))
            .result,
    );
    success(&admin.modify(ADA, &[(Replace, "title", &["boss"])]));
    let answer = bob.commit(&inside);
    assert_eq!(answer.result.code, ResultCode::ASSERTION_FAILED);
    assert_eq!(values(&mut admin, "description"), Vec::<String>::new());
}
