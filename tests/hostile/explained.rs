//! Explanations of decisions about access agree with get effective rights and with what operations
//! do, on random rules; and they are answered to nobody who may not ask.

use kit::client::{Entry, Found, Modification};
use kit::random::Random;
use kit::{Client, Pando, SUFFIX};
use protocol::control::{AccessExplanation, AccessQuestion, EffectiveRightsRequest};
use protocol::{
    DerefAliases, Filter, OwnedControl, Request, ResultCode, Scope, SearchRequest, oid,
};

use crate::access_rules::{ADA, served_with, user};

const GRACE: &str = "uid=grace,ou=People,dc=example,dc=com";
const PEOPLE: &str = "ou=People,dc=example,dc=com";
const BIND: &str = "rule bind\non everything\nfor userPassword\nlet anyone authenticate";

/// Random sets in one run.
const ROUNDS: usize = 12;

const TARGETS: [&str; 7] = [
    "everything",
    "subtree \"ou=People,dc=example,dc=com\"",
    "entry \"uid=ada,ou=People,dc=example,dc=com\"",
    "children \"dc=example,dc=com\" where (sn=ada)",
    "pattern \"uid=*,ou=People,dc=example,dc=com\"",
    "subtree \"dc=example,dc=com\" where (description=*)",
    "one \"ou=People,dc=example,dc=com\", subtree \"ou=Groups,dc=example,dc=com\"",
];
const ABOUT: [&str; 6] = [
    "",
    "for entry, cn",
    "for mail, objectClass, entry",
    "for @person",
    "for all, !mail",
    "for entry, user",
];
const SUBJECTS: [&str; 11] = [
    "anyone",
    "users",
    "anonymous",
    "self",
    "not self",
    "entry \"uid=grace,ou=People,dc=example,dc=com\"",
    "group \"cn=hr,dc=example,dc=com\"",
    "from 127.0.0.0/8",
    "via tls",
    "users via cleartext",
    "having (sn=ada)",
];
const RIGHTS: [&str; 8] = [
    "read",
    "search",
    "compare",
    "write",
    "none",
    "disclose",
    "only read",
    "only search",
];
const THEN: [&str; 6] = [
    "",
    "",
    "",
    " then continue",
    " then next rule",
    " then gather",
];

fn random_rule(random: &mut Random, name: &str) -> String {
    let mut text = format!("rule {name}\non {}\n", random.pick(&TARGETS));
    let about = random.pick(&ABOUT);
    if !about.is_empty() {
        text += about;
        text.push('\n');
    }
    for _ in 0..=random.below(3) {
        let word = if random.chance(15) { "deny" } else { "let" };
        let (subject, right) = (random.pick(&SUBJECTS), random.pick(&RIGHTS));
        text += &format!("{word} {subject} {right}{}\n", random.pick(&THEN));
    }
    text
}

/// Replaces the rules behind the first one; those without a meaning are left out.
fn replace_rules(admin: &mut Client, random: &mut Random) -> String {
    let mut kept = String::new();
    for number in 1..5 {
        let name = format!("cn=rule{number},cn=access,cn=config");
        if admin.read(&name).is_some() {
            admin.delete(&name).expect_success();
        }
        let text = random_rule(random, &format!("rule{number}"));
        let attributes: &[(&str, &[&str])] = &[
            ("objectClass", &["pandoAccessRule"]),
            ("cn", &[&format!("rule{number}")]),
            ("pandoAccessText", &[&text]),
            ("pandoAccessOrder", &[&number.to_string()]),
        ];
        if admin.add(&Entry::of(&name, attributes)).code == ResultCode::SUCCESS {
            kept += &text;
        }
    }
    kept
}

/// A question about a right of a client to an entry.
struct Question<'q> {
    subject: &'q str,
    entry: &'q str,
    right: &'q str,
    object: &'q str,
}

fn ask(client: &mut Client, question: &Question<'_>) -> Found {
    let subject = match question.subject {
        "" => String::new(),
        dn => format!("dn:{dn}"),
    };
    let asked = AccessQuestion {
        subject: &subject,
        right: question.right,
        object: question.object,
        address: Some("127.0.0.1"),
        ways: Some(vec!["cleartext"]),
        ..AccessQuestion::default()
    };
    let control = OwnedControl::with_value(oid::ACCESS_EXPLANATION, true, |out| asked.encode(out));
    client.call(&base_search(question.entry, &[]), &[control])
}

fn base_search<'r>(base: &'r str, select: &[&'r str]) -> Request<'r> {
    Request::Search(SearchRequest {
        base,
        scope: Scope::BaseObject,
        deref_aliases: DerefAliases::Never,
        size_limit: 0,
        time_limit_s: 0,
        types_only: false,
        filter: Filter::And(Vec::new()),
        attributes: select.to_vec(),
    })
}

/// Whether the server says that it gives the right.
fn explained(admin: &mut Client, question: &Question<'_>) -> bool {
    let found = ask(admin, question);
    let mut controls = found.outcome.controls.iter();
    let control = controls.find(|(known, _)| known == oid::ACCESS_EXPLANATION);
    let value = control
        .and_then(|(_, value)| value.as_deref())
        .expect("an explanation");
    let explanation = AccessExplanation::decode(value).expect("it can be read");
    let decides = explanation
        .reasons
        .iter()
        .any(|it| it.rule == explanation.rule);
    assert!(decides || explanation.rule.is_empty(), "{explanation:?}");
    explanation.allowed
}

/// The words of get effective rights about an attribute: `search:1,read:0,…`.
fn effective(admin: &mut Client, subject: &str, entry: &str, attribute: &str) -> String {
    let authzid = match subject {
        "" => String::new(),
        dn => format!("dn:{dn}"),
    };
    let asked = EffectiveRightsRequest {
        authorization_id: &authzid,
        attributes: vec![attribute],
    };
    let control =
        OwnedControl::with_value(oid::GET_EFFECTIVE_RIGHTS, true, |out| asked.encode(out));
    let found = admin.call(&base_search(entry, &["aclRights"]), &[control]);
    let name = format!("aclRights;attributeLevel;{attribute}");
    found.entries[0].texts(&name).concat()
}

/// Compares everything about one attribute of an entry.
fn compare(admin: &mut Client, client: &mut Client, subject: &str, entry: &str, attribute: &str) {
    let mut is_given = |right: &str, object: &str| {
        let question = Question {
            subject,
            entry,
            right,
            object,
        };
        explained(admin, &question)
    };
    let [search, read, compare] = ["search", "read", "compare"].map(|it| is_given(it, attribute));
    let adds = is_given("add-value", attribute);
    let [discloses, based, returned] =
        ["disclose", "search", "read"].map(|it| is_given(it, "entry"));
    let told = effective(admin, subject, entry, attribute);
    let said = format!(
        "search:{},read:{},compare:{}",
        u8::from(search),
        u8::from(read),
        u8::from(compare)
    );
    assert!(
        told.starts_with(&said),
        "{subject} {entry} {attribute}: {told}, {said}"
    );

    let denied = ResultCode::INSUFFICIENT_ACCESS_RIGHTS;
    let compared = client.compare(entry, attribute, "x").code;
    if discloses {
        assert_eq!(
            compared != denied,
            compare,
            "compare {subject} {entry} {attribute}"
        );
    } else {
        assert_ne!(compared, ResultCode::COMPARE_FALSE);
    }
    // A value that is there already, so that nothing changes.
    let value = admin.read(entry).expect("it is there").texts(attribute)[0].to_owned();
    let added = client.modify(entry, &[Modification::add(attribute, &[&value])]);
    assert_eq!(
        added.code != denied,
        adds,
        "add {subject} {entry} {attribute}: {added}"
    );
    let found = client.call(&base_search(entry, &[attribute]), &[]);
    let shows = discloses && based && returned;
    assert_eq!(found.entries.len(), usize::from(shows), "{subject} {entry}");
    for it in &found.entries {
        assert_eq!(
            !it.values(attribute).is_empty(),
            read,
            "read {subject} {entry} {attribute}"
        );
    }
}

#[test]
fn explanations_agree_with_effective_rights_and_operations() {
    let pando = served_with(&[BIND]);
    let mut admin = pando.admin();
    let mut random = Random::announced("explanations_agree_with_effective_rights_and_operations");
    let mut clients = [
        ("", Client::connect(pando.address())),
        (ADA, user(&pando, ADA)),
        (GRACE, user(&pando, GRACE)),
    ];
    for _ in 0..ROUNDS {
        eprintln!("{}", replace_rules(&mut admin, &mut random));
        for (subject, client) in &mut clients {
            for (entry, attribute) in [(ADA, "cn"), (ADA, "mail"), (GRACE, "mail"), (PEOPLE, "ou")]
            {
                compare(&mut admin, client, subject, entry, attribute);
            }
        }
    }
}

fn explain_use(to: &str) -> [String; 2] {
    let rule = format!("rule asking\non subtree \"{PEOPLE}\"\nfor use explain\nlet {to} use");
    [BIND.to_owned(), rule]
}

#[test]
fn explanations_are_for_whom_a_rule_lets_have_them() {
    let rules = explain_use(&format!("entry \"{ADA}\""));
    let pando = served_with(&[&rules[0], &rules[1]]);
    let question = |entry: &'static str| Question {
        subject: ADA,
        entry,
        right: "read",
        object: "cn",
    };
    let mut ada = user(&pando, ADA);
    let answered = ask(&mut ada, &question(GRACE));
    assert_eq!(
        answered.outcome.code,
        ResultCode::SUCCESS,
        "{}",
        answered.outcome
    );
    assert!(answered.entries.is_empty() && answered.outcome.controls.len() == 1);
    let mut grace = user(&pando, GRACE);
    let mut nobody = Client::connect(pando.address());
    for (client, entry) in [
        (&mut grace, GRACE),
        (&mut nobody, GRACE),
        (&mut user(&pando, ADA), SUFFIX),
        (&mut user(&pando, ADA), "cn=config"),
    ] {
        let refused = ask(client, &question(entry));
        let code = refused.outcome.code;
        assert_eq!(code, ResultCode::INSUFFICIENT_ACCESS_RIGHTS, "{entry}");
        assert!(refused.outcome.controls.is_empty());
    }
    for (right, object, subject) in [
        ("raed", "cn", ADA),
        ("read", "noSuchType", ADA),
        ("use", "sing", ADA),
    ] {
        let entry = GRACE;
        let wrong = ask(
            &mut ada,
            &Question {
                subject,
                entry,
                right,
                object,
            },
        );
        assert_eq!(
            wrong.outcome.code,
            ResultCode::PROTOCOL_ERROR,
            "{right} {object}"
        );
    }
    let unknown = Question {
        subject: "uid=missing,dc=example,dc=com",
        ..question(GRACE)
    };
    assert_eq!(
        ask(&mut ada, &unknown).outcome.code,
        ResultCode::NO_SUCH_OBJECT
    );
}

#[test]
fn the_built_in_rules_are_explained_to_the_administrator_alone() {
    let mut pando = Pando::init();
    pando.serve();
    let mut admin = pando.admin();
    let question = |right, object| Question {
        subject: "",
        entry: SUFFIX,
        right,
        object,
    };
    assert!(explained(&mut admin, &question("read", "entry")));
    assert!(!explained(
        &mut admin,
        &question("add-value", "description")
    ));
    assert!(!explained(&mut admin, &question("read", "userPassword")));
    assert!(explained(&mut admin, &question("use", "sort")));
    assert!(!explained(&mut admin, &question("use", "explain")));
    let mut nobody = Client::connect(pando.address());
    let refused = ask(&mut nobody, &question("read", "entry"));
    assert_eq!(refused.outcome.code, ResultCode::INSUFFICIENT_ACCESS_RIGHTS);
}
