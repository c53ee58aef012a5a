//! Rules that are tried change no answer, and tell of every request that they would answer
//! otherwise.

use kit::client::{Entry, Modification};
use kit::process::until;
use kit::{Client, Pando, SUFFIX, ldif, people};
use protocol::control::{SortKey, SortRequest};
use protocol::{DeleteRequest, OwnedControl, Request, Scope, oid};

use super::access_rules::{ADA, RULES, served_with};

const GRACE: &str = "uid=grace,ou=People,dc=example,dc=com";
const COUNTS: &str = "cn=Candidate,cn=monitor";

const AFTER: &[&str] = &[
    "rule bind
on subtree \"uid=ada,ou=People,dc=example,dc=com\"
for userPassword
let anyone authenticate",
    "rule desk
on subtree \"ou=People,dc=example,dc=com\"
for children, entry, all
let entry \"uid=ada,ou=People,dc=example,dc=com\" write, add, delete, rename",
    "rule sorting
on everything
for use sort
let anonymous use",
    "rule base
on entry \"dc=example,dc=com\"
for entry, dc, objectClass
let anyone read",
];

/// A request, and the whole answer as text.
type Asks = fn(&mut Client) -> String;

/// Requests of ada, then of nobody; none of them changes anything.
const REQUESTS: &[(&str, &[Asks])] = &[
    (
        ADA,
        &[
            |it| search(it, SUFFIX, Scope::BaseObject, "(dc=example)"),
            |it| search(it, GRACE, Scope::BaseObject, "(objectClass=*)"),
            |it| search(it, SUFFIX, Scope::WholeSubtree, "(mail=*)"),
            |it| search(it, SUFFIX, Scope::WholeSubtree, "(&(sn=edsger)(!(cn=a)))"),
            |it| search(it, SUFFIX, Scope::SingleLevel, "(ou=People)"),
            |it| {
                search(
                    it,
                    "ou=Nowhere,dc=example,dc=com",
                    Scope::BaseObject,
                    "(cn=*)",
                )
            },
            |it| it.compare(GRACE, "sn", "grace").to_string(),
            |it| it.compare(ADA, "mail", "ada@example.com").to_string(),
            |it| modify(it, ADA, Modification::replace("mail", &["a@example.com"])),
            |it| modify(it, ADA, Modification::add("description", &["new"])),
            |it| {
                modify(
                    it,
                    GRACE,
                    Modification::delete("mail", &["grace@example.com"]),
                )
            },
            |it| add(it, &people::person("new")),
            |it| add(it, &people::unit("New")),
            |it| delete(it, GRACE),
            |it| delete(it, "ou=Groups,dc=example,dc=com"),
            |it| rename(it, "uid=edsger,ou=People,dc=example,dc=com", "uid=dijkstra"),
            sorted,
        ],
    ),
    (
        "",
        &[
            |it| search(it, SUFFIX, Scope::BaseObject, "(objectClass=*)"),
            |it| search(it, SUFFIX, Scope::WholeSubtree, "(objectClass=*)"),
            |it| search(it, ADA, Scope::BaseObject, "(objectClass=*)"),
            |it| add(it, &people::unit("New")),
            |it| Client::bind(it, GRACE, "grace").to_string(),
            |it| Client::bind(it, ADA, "ada").to_string(),
        ],
    ),
];

fn search(client: &mut Client, base: &str, scope: Scope, filter: &str) -> String {
    let found = client.search(base, scope, filter, &["*"]);
    let entries: Vec<String> = found.entries.iter().map(ldif::print).collect();
    format!("{} {}", found.outcome, entries.concat())
}

fn sorted(client: &mut Client) -> String {
    let key = SortKey {
        attribute: "ou",
        ordering_rule: None,
        reverse: false,
    };
    let value = SortRequest { keys: vec![key] };
    let sort = OwnedControl::with_value(oid::SORT_REQUEST, true, |out| value.encode(out));
    let scope = Scope::SingleLevel;
    let found = client.search_with(SUFFIX, scope, "(ou=*)", &["1.1"], &[sort], |_| {});
    found.outcome.to_string()
}

/// A control by which a write is decided and has no effect.
fn without_effect() -> [OwnedControl; 1] {
    [OwnedControl::new(oid::NO_OPERATION, true)]
}

fn modify(client: &mut Client, name: &str, change: Modification) -> String {
    let done = client.modify_with(name, &[change], &without_effect());
    done.code.to_string()
}

fn add(client: &mut Client, entry: &Entry) -> String {
    let done = client.add_with(entry, &without_effect());
    done.code.to_string()
}

fn delete(client: &mut Client, entry: &str) -> String {
    let request = Request::Delete(DeleteRequest { entry });
    client
        .call(&request, &without_effect())
        .outcome
        .code
        .to_string()
}

fn rename(client: &mut Client, name: &str, rdn: &str) -> String {
    let done = client
        .session()
        .rename(name, rdn, true, None, &without_effect());
    done.expect("the server answers").code.to_string()
}

/// Makes rules the candidate of a node that judges every request.
fn try_rules(pando: &Pando, rules: &[&str]) {
    let candidate = Entry::of(
        "cn=candidate,cn=config",
        &[
            ("objectClass", &["pandoCandidate"]),
            ("cn", &["candidate"]),
            ("pandoCandidateText", &[&rules.join("\n\n")]),
            ("pandoCandidateShare", &["100"]),
        ],
    );
    pando.admin().add(&candidate).expect_success();
}

/// Number of requests that the candidate decides otherwise, once so many are judged.
fn different(admin: &mut Client, judged: u64) -> u64 {
    let mut count = |name: &str| -> u64 {
        let entry = admin.read(&format!("cn={name},{COUNTS}")).expect("a count");
        entry.text("monitorCounter").parse().expect("a number")
    };
    until("the request is judged", || {
        (count("Judged Requests") >= judged).then_some(())
    });
    assert_eq!(count("Judged Requests"), judged);
    count("Different Requests")
}

fn client(pando: &Pando, name: &str) -> Client {
    let mut client = Client::connect(pando.address());
    if !name.is_empty() {
        client.bind(name, "ada").expect_success();
    }
    client
}

#[test]
fn each_request_that_is_answered_otherwise_is_counted() {
    let (tried, decided) = (served_with(RULES), served_with(AFTER));
    try_rules(&tried, AFTER);
    let mut admin = tried.admin();
    let (mut judged, mut before, mut otherwise) = (0, 0, 0);
    for (who, requests) in REQUESTS {
        let (mut here, mut there) = (client(&tried, who), client(&decided, who));
        judged += u64::from(!who.is_empty());
        for (at, ask) in requests.iter().enumerate() {
            let (now, later) = (ask(&mut here), ask(&mut there));
            judged += 1;
            let different = different(&mut admin, judged);
            assert!(
                now == later || different == before + 1,
                "request {at} of {who:?} is not counted\nby the rules in force: {now}\nby the \
                 candidate: {later}"
            );
            otherwise += u64::from(now != later);
            before = different;
        }
    }
    assert!(otherwise >= 12, "{otherwise} of {judged} requests");
    assert!(before < judged, "{before} of {judged} requests");
}

#[test]
fn rules_that_are_equal_never_differ() {
    let (tried, decided) = (served_with(RULES), served_with(RULES));
    try_rules(&tried, RULES);
    let mut admin = tried.admin();
    let mut judged = 0;
    for (who, requests) in REQUESTS {
        let (mut here, mut there) = (client(&tried, who), client(&decided, who));
        judged += requests.len() as u64 + u64::from(!who.is_empty());
        for ask in *requests {
            assert_eq!(
                ask(&mut here),
                ask(&mut there),
                "answers are as without a candidate"
            );
        }
    }
    assert_eq!(different(&mut admin, judged), 0);
}
