//! `pando access shadow`, `differences` and `activate`: rules are known before they decide.

use kit::client::Modification;
use kit::process::until;
use kit::{Client, Pando, SUFFIX, people};
use protocol::{ResultCode, Scope};
use serde_json::Value;

use super::one_line;

const ADA: &str = "uid=ada,ou=People,dc=example,dc=com";
const GRACE: &str = "uid=grace,ou=People,dc=example,dc=com";

/// Mail is for its owner alone, who may change it.
const RULES: &str = "\
rule passwords
on everything
for userPassword
let anyone authenticate

rule mail
on subtree \"ou=People,dc=example,dc=com\"
for mail
let self write
let anyone none

rule rest
on everything
let users read
";

/// A node with people, by the built-in rules.
fn served() -> Pando {
    let mut pando = Pando::init();
    pando.folder.write("rules", RULES);
    pando.serve();
    let mut admin = pando.admin();
    for entry in people::sample() {
        admin.add(&entry).expect_success();
    }
    pando
}

fn ada(pando: &Pando) -> Client {
    let mut client = Client::connect(pando.address());
    client.bind(ADA, "ada").expect_success();
    client
}

/// The counts of a node, as soon as it has judged this many requests.
fn counted(pando: &Pando, judged: u64) -> Value {
    until("requests are judged", || {
        let told = pando.run_on_node(&["access", "differences"], &["--json"]);
        let told: Value = serde_json::from_str(&told.expect(0).out).expect("JSON");
        (told["judged_requests"].as_u64() >= Some(judged)).then_some(told)
    })
}

/// The number of requests with a difference of this kind, and its examples.
fn found<'t>(told: &'t Value, kind: [&str; 4]) -> (u64, &'t Value) {
    let all = told["differences"].as_array().expect("a list");
    let words = |it: &Value| {
        ["operation", "subject", "right", "decided"].map(|key| it[key].as_str().map(str::to_owned))
    };
    let wanted = kind.map(|it| Some(it.to_owned()));
    let same = all.iter().filter(|it| words(it) == wanted);
    let requests = same.clone().map(|it| it["requests"].as_u64().unwrap());
    let examples = same.clone().map(|it| &it["examples"]).next();
    (requests.sum(), examples.unwrap_or(&Value::Null))
}

#[test]
fn candidates_judge_beside_the_rules_and_take_their_place() {
    let pando = served();
    let access = |action: &str, args: &[&str]| pando.run_on_node(&["access", action], args);
    one_line(access("differences", &[]), 1, &["no candidate"]);
    one_line(access("activate", &[]), 1, &["no candidate"]);
    let mut client = ada(&pando);
    access("shadow", &["rules", "--share", "100"])
        .expect(0)
        .says("candidate: 3 rules");
    let shown = access("show", &["--set", "candidate"]).expect(0);
    assert_eq!(shown.out, RULES);

    // Answers are those of the rules in force.
    let found_by = |client: &mut Client| {
        let mail = client.search(SUFFIX, Scope::WholeSubtree, "(uid=grace)", &["mail"]);
        mail.only().texts("mail").len()
    };
    assert_eq!(found_by(&mut client), 1);
    assert_eq!(found_by(&mut client), 1);
    let own = [Modification::replace("mail", &["new@example.com"])];
    let refused = client.modify(ADA, &own);
    assert_eq!(refused.code, ResultCode::INSUFFICIENT_ACCESS_RIGHTS);
    let mut nobody = Client::connect(pando.address());
    let all = nobody.search(SUFFIX, Scope::BaseObject, "(objectClass=*)", &["1.1"]);
    assert_eq!(all.entries.len(), 1);

    let told = counted(&pando, 4);
    assert_eq!(told["judged_requests"], 4);
    assert_eq!(told["different_requests"], 4);
    assert_eq!(told["requests_left_out"], 0);
    let (requests, examples) = found(&told, ["search", "users", "read", "allowed"]);
    assert_eq!(requests, 2, "{told:#}");
    let example = format!("\"{ADA}\" via cleartext simple from 127.0.0.1, read, \"{GRACE}\", mail");
    assert_eq!(examples, &serde_json::json!([example]));
    for kind in [
        ["modify", "self", "add-value", "refused"],
        ["modify", "self", "delete-value", "refused"],
        ["search", "anonymous", "disclose", "allowed"],
        ["search", "anonymous", "read", "allowed"],
    ] {
        assert_eq!(found(&told, kind).0, 1, "{kind:?} {told:#}");
    }
    let text = access("differences", &[]).expect(0).out;
    let line = "2 searches of users: read allowed by rule \"readable\" clause 1, would be refused \
                by rule \"mail\" clause 2\n";
    assert!(text.contains(line), "{text}");
    // The example is a question that the server explains.
    let explained = access("explain", &[&example]).expect(0).out;
    assert!(explained.contains(": allowed\n"), "{explained}");

    let activated = access("activate", &[]).expect(0);
    assert_eq!(activated.out, "access rules: 3 new\n");
    assert_eq!(found_by(&mut client), 0);
    client.modify(ADA, &own).expect_success();
    one_line(access("differences", &[]), 1, &["no candidate"]);
    access("undo", &[]).expect(0);
    assert_eq!(found_by(&mut client), 1);
}

#[test]
fn candidates_are_checked_replaced_and_removed() {
    let pando = served();
    let shadow = |file: &str, text: &str, args: &[&str]| {
        pando.folder.write(file, text);
        pando.run_on_node(&["access", "shadow"], &[&[file], args].concat())
    };
    let wrong = "rule a\non everything\nfor mial\nlet users read\n";
    one_line(shadow("wrong", wrong, &[]), 1, &["wrong:3:1", "\"mail\""]);
    one_line(shadow("empty", "", &[]), 1, &["empty", "got none"]);
    shadow("rules", RULES, &["--share", "0"])
        .expect(2)
        .says("1..=100");
    let open = "rule a\non everything\nfor all, secrets\nlet anyone read\n";
    shadow("open", open, &[]).expect(1).says("--force");
    // A client without the program is refused the same.
    let mut admin = pando.admin();
    let entry = kit::Entry::of(
        "cn=candidate,cn=config",
        &[
            ("objectClass", &["pandoCandidate"]),
            ("cn", &["candidate"]),
            ("pandoCandidateText", &[wrong]),
        ],
    );
    assert_ne!(admin.add(&entry).code, ResultCode::SUCCESS);

    shadow("open", open, &["--force", "--share", "100"]).expect(0);
    let mut client = ada(&pando);
    let mut read = |count: usize| {
        for _ in 0..count {
            client.search(ADA, Scope::BaseObject, "(objectClass=*)", &["cn"]);
        }
    };
    read(3);
    counted(&pando, 4);
    // Counts of other rules are forgotten.
    shadow("rules", RULES, &["--share", "100"]).expect(0);
    read(1);
    assert_eq!(counted(&pando, 1)["judged_requests"], 1);

    // Nobody else learns of it.
    for base in ["cn=Candidate,cn=monitor", "cn=candidate,cn=config"] {
        let hidden = client.search(base, Scope::BaseObject, "(objectClass=*)", &[]);
        assert_eq!(hidden.outcome.code, ResultCode::NO_SUCH_OBJECT, "{base}");
        assert_eq!(hidden.outcome.matched, "");
    }
    let off = || pando.run_on_node(&["access", "shadow"], &["--off"]);
    off().expect(0).says("candidate: removed");
    one_line(off(), 1, &["no candidate"]);
}

/// Where judging may take a part of the time only, requests are left out, and told.
#[test]
fn judging_is_limited_to_its_share() {
    let pando = served();
    pando
        .run_on_node(&["access", "shadow"], &["rules", "--share", "1"])
        .expect(0);
    let mut client = ada(&pando);
    let told = until("requests are judged and left out", || {
        for _ in 0..50 {
            client.search(ADA, Scope::BaseObject, "(objectClass=*)", &["cn"]);
        }
        let told = counted(&pando, 1);
        (told["requests_left_out"].as_u64() > Some(0)).then_some(told)
    });
    assert!(told["judged_requests"].as_u64() > Some(0), "{told}");
}
