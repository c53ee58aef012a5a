//! Subtrees in which the first of two competing writes wins.

use super::*;
use kit::SUFFIX;

fn change(text: &str) -> [Modification; 1] {
    [Modification::replace("description", &[text])]
}

/// People, with a person `a`; `first_wins` lets the first of two competing writes win there.
fn people_with(first_wins: bool) -> (Pando, Client) {
    let (pando, mut admin) = served();
    admin.add(&person("a")).expect_success();
    if first_wins {
        let people = "ou=People,dc=example,dc=com";
        let rule = [Modification::add("pandoFirstWriterWins", &[people])];
        admin.modify("cn=config", &rule).expect_success();
    }
    (pando, admin)
}

/// A transaction that was begun with a change of `name`, which another client then changes too.
fn overtaken(pando: &Pando, admin: &mut Client, name: &str) -> Outcome {
    let transaction = start(admin);
    let part = [part_of(&transaction)];
    let changed = admin.modify_with(name, &change("later"), &part);
    changed.expect_success();
    let mut other = pando.admin();
    other.modify(name, &change("first")).expect_success();
    end(admin, &transaction, true)
}

#[test]
fn the_first_of_two_writes_wins_where_it_is_said() {
    let (pando, mut admin) = people_with(true);
    let refused = overtaken(&pando, &mut admin, &name("a"));
    let refused = refused.expect(ResultCode::ASSERTION_FAILED);
    let text = &refused.diagnostic;
    assert!(text.contains("changed the entry first"), "{text}");
    let a = admin.read(&name("a")).expect("it is there");
    assert_eq!(a.text("description"), "first");
    // The client has seen it now.
    admin.modify(&name("a"), &change("again")).expect_success();
    // The superior is outside of the subtree.
    overtaken(&pando, &mut admin, SUFFIX).expect_success();
}

#[test]
fn all_writes_are_done_where_nothing_is_said() {
    let (pando, mut admin) = people_with(false);
    overtaken(&pando, &mut admin, &name("a")).expect_success();
    let a = admin.read(&name("a")).expect("it is there");
    assert_eq!(a.text("description"), "later");
}

#[test]
fn writes_of_one_transaction_do_not_compete_with_each_other() {
    let (_pando, mut admin) = people_with(true);
    let transaction = start(&mut admin);
    let part = [part_of(&transaction)];
    for text in ["one", "two"] {
        let changed = admin.modify_with(&name("a"), &change(text), &part);
        changed.expect_success();
    }
    admin.add_with(&person("b"), &part).expect_success();
    let changed = admin.modify_with(&name("b"), &change("new"), &part);
    changed.expect_success();
    end(&mut admin, &transaction, true).expect_success();
    let a = admin.read(&name("a")).expect("it is there");
    assert_eq!(a.text("description"), "two");
    assert!(is_there(&mut admin, &name("b")));
}

#[test]
fn a_subtree_without_a_name_is_refused() {
    let (_pando, mut admin) = people_with(false);
    let rule = [Modification::add("pandoFirstWriterWins", &["nothing=here"])];
    let refused = admin.modify("cn=config", &rule);
    let refused = refused.expect(ResultCode::INVALID_ATTRIBUTE_SYNTAX);
    assert!(refused.diagnostic.contains("pandoFirstWriterWins"));
}
