//! Access rules written by somebody to whom a part of the directory was handed over: what lies
//! inside is theirs, and no way leads out of it.

use crate::access_rules::{ADA, served_with, user};
use kit::client::{Entry, Modification, Outcome};
use kit::{Client, Pando};
use protocol::extended::EndTransactionRequest;
use protocol::{
    Change, ChangeOperation, ModifyRequest, OwnedAttribute, OwnedControl, Request, ResultCode,
    Scope, oid,
};

const PEOPLE: &str = "ou=People,dc=example,dc=com";
const GROUPS: &str = "ou=Groups,dc=example,dc=com";
const GRACE: &str = "uid=grace,ou=People,dc=example,dc=com";
const EDSGER: &str = "uid=edsger,ou=People,dc=example,dc=com";
const CONTAINER: &str = "cn=access,cn=config";

/// Ada looks after the people. What these rules give is left open for rules below.
const RULES: &[&str] = &[
    "rule bind
on everything
for userPassword
let anyone authenticate",
    "rule closed
on entry \"uid=edsger,ou=People,dc=example,dc=com\"
for telephoneNumber
let entry \"uid=ada,ou=People,dc=example,dc=com\" write then next rule
let anyone none",
    "rule people
on subtree \"ou=People,dc=example,dc=com\"
for entry, children, all
let entry \"uid=ada,ou=People,dc=example,dc=com\" write, administer, add, delete, rename then \
     next rule
let users read entry, read objectClass, read cn then next rule
let anyone none then next rule",
    "rule readable
on everything
for entry, cn, ou, dc, objectClass
let users read then next rule
let anyone none then next rule",
];

/// The entry of a rule within an area.
fn rule(name: &str, within: &str, text: &str) -> Entry {
    let text = format!("rule {name}\nwithin \"{within}\"\n{text}\n");
    whole_rule(name, &text, 1)
}

fn whole_rule(name: &str, text: &str, order: i64) -> Entry {
    Entry::of(
        &format!("cn={name},{CONTAINER}"),
        &[
            ("objectClass", &["pandoAccessRule"]),
            ("cn", &[name]),
            ("pandoAccessText", &[text]),
            ("pandoAccessOrder", &[&order.to_string()]),
        ],
    )
}

fn phones() -> Entry {
    let text = format!("on subtree \"{PEOPLE}\"\nfor telephoneNumber\nlet users write");
    rule("phones", PEOPLE, &text)
}

fn refused(outcome: &Outcome, code: ResultCode, said: &str) {
    assert_eq!(outcome.code, code, "{outcome}");
    assert!(outcome.diagnostic.contains(said), "{outcome}");
}

fn denied(outcome: &Outcome, said: &str) {
    refused(outcome, ResultCode::INSUFFICIENT_ACCESS_RIGHTS, said);
}

fn served() -> (Pando, Client, Client) {
    let pando = served_with(RULES);
    let (ada, grace) = (user(&pando, ADA), user(&pando, GRACE));
    (pando, ada, grace)
}

fn names_below(client: &mut Client, base: &str) -> Vec<String> {
    let found = client.search(base, Scope::WholeSubtree, "(objectClass=*)", &[]);
    let names = found.entries.into_iter().map(|it| it.name);
    names.collect()
}

#[test]
fn a_delegate_writes_rules_inside_and_they_hold() {
    let (pando, mut ada, mut grace) = served();
    let change = [Modification::replace("telephoneNumber", &["+1"])];
    denied(&grace.modify(GRACE, &change), "");
    ada.add(&phones()).expect_success();
    grace.modify(GRACE, &change).expect_success();
    // What a rule from above decides stays decided.
    denied(&grace.modify(EDSGER, &change), "closed");
    // The rule is read, changed and deleted by its author.
    let name = phones().name;
    let read = ada.read(&name).expect("the author reads the rule");
    let text = read.texts("pandoAccessText")[0].to_owned();
    let narrower = text.replace("let users", "let self");
    let exchange = [
        Modification::delete("pandoAccessText", &[&text]),
        Modification::add("pandoAccessText", &[&narrower]),
        Modification::replace("pandoAccessOrder", &["-5"]),
    ];
    ada.modify(&name, &exchange).expect_success();
    grace.modify(GRACE, &change).expect_success();
    denied(&grace.modify(ADA, &change), "");
    // Its place is behind all rules from above, whatever its order says.
    denied(&grace.modify(EDSGER, &change), "closed");
    ada.delete(&name).expect_success();
    denied(&grace.modify(GRACE, &change), "");
    drop(pando);
}

#[test]
fn a_delegate_sees_the_rules_inside_alone() {
    let (pando, mut ada, mut grace) = served();
    let mut admin = pando.admin();
    ada.add(&phones()).expect_success();
    let text = format!("on subtree \"{GROUPS}\"\nfor cn\nlet users read");
    admin
        .add(&rule("elsewhere", GROUPS, &text))
        .expect_success();
    assert_eq!(names_below(&mut ada, CONTAINER), [phones().name]);
    for base in [
        "cn=config",
        "cn=indexes,cn=config",
        "cn=administrator,cn=config",
    ] {
        assert_eq!(names_below(&mut ada, base), [""; 0], "{base}");
    }
    // The set before, with all rules, is in the container.
    let container = ada.search(CONTAINER, Scope::BaseObject, "(objectClass=*)", &[]);
    assert!(container.entries.is_empty());
    for hidden in ["cn=rule0", "cn=elsewhere", "cn=none"] {
        let name = format!("{hidden},{CONTAINER}");
        assert!(ada.read(&name).is_none(), "{hidden}");
        let change = [Modification::replace("pandoAccessOrder", &["1"])];
        denied(&ada.modify(&name, &change), "\"none\"");
        denied(&ada.delete(&name), "\"none\"");
        let text = format!("rule x\nwithin \"{PEOPLE}\"\non subtree \"{PEOPLE}\"\nlet self read");
        let taken = [Modification::replace("pandoAccessText", &[&text])];
        denied(&ada.modify(&name, &taken), "\"none\"");
    }
    for base in [CONTAINER, &phones().name] {
        assert_eq!(names_below(&mut grace, base), [""; 0], "{base}");
    }
    let all = ada.search(
        "",
        Scope::WholeSubtree,
        "(objectClass=pandoAccessRule)",
        &[],
    );
    assert!(all.entries.is_empty());
    denied(&grace.delete(&phones().name), "");
    denied(&grace.add(&rule("mine", PEOPLE, &text)), "");
}

#[test]
fn no_rule_leads_out_of_the_area() {
    let (pando, mut ada, _) = served();
    let inside = format!("on subtree \"{PEOPLE}\"");
    let within = |area: &str, text: &str| rule("x", area, text);
    // Areas that are not ada's, and targets outside of hers.
    for area in ["", "dc=example,dc=com", GROUPS, "cn=config"] {
        let text = format!("on subtree \"{area}\"\nfor cn\nlet users read");
        denied(&ada.add(&within(area, &text)), "within");
    }
    let everywhere = "rule x\non everything\nfor cn\nlet users read\n";
    denied(&ada.add(&whole_rule("x", everywhere, 0)), "within");
    for target in [
        "everything",
        "subtree \"dc=example,dc=com\"",
        "pattern \"uid=*,ou=People,dc=example,dc=com\"",
        "entry \"cn=config\"",
    ] {
        let text = format!("on {target}\nfor cn\nlet users read");
        denied(&ada.add(&within(PEOPLE, &text)), "at or below");
    }
    // Words for rights that ada lacks, and secrets.
    for (clauses, said) in [
        ("for entry\nlet users proxy", "proxy"),
        ("let users manage", "you have yourself"),
        ("let users everything", "you have yourself"),
        ("for entry\nlet users administer, move-in", "move-in"),
        ("for secrets\nlet users read", "you have yourself"),
        ("for userPassword\nlet users write", "you have yourself"),
        ("for mail\ndeny users read", "deny"),
        ("for use sync\nlet users use", "uses"),
        ("for mail\nlet having (mail=a*) read", "search"),
    ] {
        denied(
            &ada.add(&within(PEOPLE, &format!("{inside}\n{clauses}"))),
            said,
        );
    }
    // A rule that is fine is not changed into one of these.
    ada.add(&phones()).expect_success();
    let text = format!("rule phones\n{inside}\nlet users read\n");
    let lifted = [Modification::replace("pandoAccessText", &[&text])];
    denied(&ada.modify(&phones().name, &lifted), "within");
    let read = ada.read(&phones().name).expect("unchanged");
    assert!(read.texts("pandoAccessText")[0].contains("within"));
    drop(pando);
}

#[test]
fn the_entry_of_a_rule_stays_one() {
    let (pando, mut ada, mut grace) = served();
    let mut identity = phones();
    identity.push("userPassword", b"secret".to_vec());
    denied(&ada.add(&identity), "userPassword");
    let mut classes = phones();
    classes.push("objectClass", b"simpleSecurityObject".to_vec());
    denied(&ada.add(&classes), "object class");
    let mut aliased = phones();
    aliased.push("cn", b"administrator".to_vec());
    denied(&ada.add(&aliased), "cn");
    // The name in the text is that of the entry, and of no other rule.
    let text =
        format!("rule closed\nwithin \"{PEOPLE}\"\non subtree \"{PEOPLE}\"\nlet self write\n");
    for name in ["other", "closed"] {
        let refused = ada.add(&whole_rule(name, &text, 1));
        assert_eq!(refused.code, ResultCode::CONSTRAINT_VIOLATION, "{refused}");
    }
    ada.add(&phones()).expect_success();
    let name = phones().name;
    for change in [
        Modification::add("objectClass", &["simpleSecurityObject"]),
        Modification::add("userPassword", &["secret"]),
        Modification::replace("cn", &["phones", "other"]),
        Modification::add("description;lang-en", &["x"]),
    ] {
        denied(
            &ada.modify(&name, &[change]),
            "expected no other attributes",
        );
    }
    denied(&ada.rename(&name, "cn=renamed", true, None), "");
    denied(&ada.rename(&name, "cn=phones", true, Some(PEOPLE)), "");
    denied(&ada.rename(ADA, "uid=ada", true, Some(CONTAINER)), "");
    let below = Entry::of(
        &format!("cn=below,{name}"),
        &[("objectClass", &["pandoConfig"]), ("cn", &["below"])],
    );
    denied(&ada.add(&below), "");
    let beside = Entry::of(
        "cn=beside,cn=config",
        &[("objectClass", &["pandoConfig"]), ("cn", &["beside"])],
    );
    denied(&ada.add(&beside), "");
    denied(
        &grace.modify(&name, &[Modification::replace("description", &["x"])]),
        "",
    );
    let mut nobody = Client::connect(pando.address());
    let bound = nobody.bind(&name, "secret");
    assert_eq!(bound.code, ResultCode::INVALID_CREDENTIALS, "{bound}");
}

#[test]
fn what_was_handed_over_is_handed_on_and_nobody_is_locked_out() {
    let (pando, mut ada, mut grace) = served();
    let edsgers = "uid=edsger,ou=People,dc=example,dc=com";
    let text = format!(
        "on subtree \"{edsgers}\"\nfor entry, description\nlet entry \"{GRACE}\" administer, write"
    );
    ada.add(&rule("hand-on", edsgers, &text)).expect_success();
    let text = format!("on entry \"{edsgers}\"\nfor description\nlet users write");
    grace.add(&rule("all", edsgers, &text)).expect_success();
    let outside = format!("on entry \"{PEOPLE}\"\nfor description\nlet users write");
    denied(&grace.add(&rule("out", PEOPLE, &outside)), "within");
    // Grace would lose the right by deleting the rule that gives it, or by one in front of it.
    let hand_on = format!("cn=hand-on,{CONTAINER}");
    denied(&grace.delete(&hand_on), "any more");
    let text = format!("on entry \"{edsgers}\"\nfor entry\nlet anyone none");
    let mut before = rule("before", edsgers, &text);
    before
        .attributes
        .retain(|(name, _)| name != "pandoAccessOrder");
    before.push("pandoAccessOrder", b"-1".to_vec());
    denied(&grace.add(&before), "any more");
    // Who handed it on takes it back; the rules that were written stay the giver's to delete.
    ada.delete(&hand_on).expect_success();
    denied(&grace.delete(&format!("cn=all,{CONTAINER}")), "");
    ada.delete(&format!("cn=all,{CONTAINER}")).expect_success();
    drop(pando);
}

/// Sends an update as a part of a transaction, and returns whether it was taken.
fn queue(client: &mut Client, request: &Request<'_>, transaction: &[u8]) -> ResultCode {
    let control = OwnedControl {
        oid: oid::TRANSACTION_SPECIFICATION.into(),
        critical: true,
        value: Some(transaction.to_vec()),
    };
    client.call(request, &[control]).outcome.code
}

#[test]
fn a_change_that_was_decided_about_another_rule_is_not_made() {
    let (pando, mut ada, mut grace) = served();
    ada.add(&phones()).expect_success();
    let name = phones().name;
    let started = ada.extended(oid::START_TRANSACTION, None);
    let transaction = started.value.expect("an identifier");
    let text = phones().texts("pandoAccessText")[0].replace("let users", "let self");
    let attribute = OwnedAttribute::new("pandoAccessText", [&text]);
    let request = Request::Modify(ModifyRequest {
        object: &name,
        changes: vec![Change {
            operation: ChangeOperation::Replace,
            attribute: attribute.as_partial(),
        }],
    });
    assert_eq!(queue(&mut ada, &request, &transaction), ResultCode::SUCCESS);
    // Meanwhile the entry becomes a rule of the administrator.
    let mut admin = pando.admin();
    admin.delete(&name).expect_success();
    let own =
        format!("rule phones\non subtree \"{PEOPLE}\"\nfor telephoneNumber\nlet anyone none\n");
    admin.add(&whole_rule("phones", &own, 0)).expect_success();
    let mut end = Vec::new();
    EndTransactionRequest {
        commit: true,
        identifier: &transaction,
    }
    .encode(&mut end);
    let ended = ada.extended(oid::END_TRANSACTION, Some(&end));
    assert_eq!(ended.code, ResultCode::ASSERTION_FAILED, "{ended}");
    let change = [Modification::replace("telephoneNumber", &["+1"])];
    denied(&grace.modify(GRACE, &change), "phones");
}

#[test]
fn nodes_of_an_earlier_level_have_no_areas() {
    let mut pando = Pando::init_knowing(2);
    pando.serve();
    let mut admin = pando.admin();
    let container: &[(&str, &[&str])] = &[("objectClass", &["pandoConfig"]), ("cn", &["access"])];
    admin.add(&Entry::of(CONTAINER, container)).expect_success();
    let early = admin.add(&phones());
    refused(&early, ResultCode::CONSTRAINT_VIOLATION, "format level 3");
}

#[test]
fn rights_under_a_condition_are_not_given_on_without_it() {
    let rules = [
        RULES[0].to_owned(),
        format!(
            "rule people\non subtree \"{PEOPLE}\"\n\
             let entry \"{ADA}\" from 127.0.0.1 write, administer then continue\n\
             let entry \"{ADA}\" read, add-value mail then next rule\n\
             let anyone none then next rule"
        ),
    ];
    let pando = served_with(&[&rules[0], &rules[1]]);
    let mut ada = user(&pando, ADA);
    let of = |attribute: &str, right: &str| {
        let text = format!("on subtree \"{PEOPLE}\"\nfor {attribute}\nlet users {right}");
        rule(&format!("{attribute}-{right}"), PEOPLE, &text)
    };
    ada.add(&of("cn", "read")).expect_success();
    ada.add(&of("mail", "add-value")).expect_success();
    denied(&ada.add(&of("mail", "write")), "wherever you are");
    denied(&ada.add(&of("cn", "add-value")), "wherever you are");
    // Without the address there is no area either.
    let change = [Modification::replace("description", &["x"])];
    let mut elsewhere = Client::connect_from([127, 0, 0, 2], pando.address());
    elsewhere.bind(ADA, "ada").expect_success();
    let name = of("cn", "read").name;
    denied(&elsewhere.modify(&name, &change), "");
}
