//! Texts of rules: what is read, what is refused with which words, and that printing keeps them.

use crate::access::parse::{TEXT_MAX, parse};
use crate::access::print::print;
use crate::access::rules::{CLAUSES_MAX, RULES_MAX};
use crate::access::testing::{Dice, rules};

/// Returns the text of the rules in `text`.
fn again(text: &str) -> String {
    let read = parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(read.rules.len(), read.places.len());
    print(&read.rules)
}

/// Checks that a clause below a rule about everything is read, and printed as `printed`.
#[track_caller]
fn clause(given: &str, printed: &str) {
    let head = "rule a\non everything\n";
    assert_eq!(
        again(&format!("{head}{given}\n")),
        format!("{head}{printed}\n")
    );
}

/// The errors of the texts of `mistakes_are_shown_where_they_are`, in their order.
const MISTAKES: [&str; 23] = [
    "1:1: expected \"rule\" and a name, got \"role\"; did you mean \"rule\"?",
    "1:6: expected a name of letters, digits, \"-\", \"_\" and \".\", got \"a!\"",
    "2:14: expected \"let\" or \"deny\", got the end of the line",
    "2:1: expected \"on\" and a target, got \"let\"",
    "2:4: expected a target, got \"sub\"",
    "2:21: expected \")\" at the end of the filter, got the end of the line",
    "2:27: expected the end of the line, got \"b\"",
    "3:9: expected a use of the server, got \"snyc\"; did you mean \"sync\"?",
    "3:5: expected an attribute type (without options), \"@\" and a class, \"all\", \"user\", \
     \"operational\", \"secrets\", \"entry\" or \"children\", got \"cn;lang-en\"",
    "3:13: expected \"self\" or a value in quotation marks, got the end of the line",
    "4:1: expected a name of its own for each rule, got a again",
    "3:11: expected a right, got \"raed\"; did you mean \"read\"?",
    "3:12: expected a subject, got \"read\"; did you mean \"real\"?",
    "3:12: expected \")\", got \"read\"",
    "3:10: expected \"local\", an address or a network such as 10.0.0.0/8, got \"10/8\"",
    "3:9: expected a transport or a way to authenticate, got \"tsl\"; did you mean \"tls\"?",
    "3:8: expected times of the week such as \"Mon-Fri 08:00-18:00, Sat 09:00-12:00\", got \
     \"Mo\"",
    "3:16: expected \"parent\", got \"paren\"; did you mean \"parent\"?",
    "3:21: expected \"continue\", \"next rule\" or \"gather\", got \"contineu\"; did you mean \
     \"continue\"?",
    "3:19: expected the end of the line, got \"sn\"",
    "3:11: expected a closing quotation mark, got none",
    "4:1: expected \"let\", \"deny\" or \"rule\", got \"lat\"; did you mean \"let\"?",
    "3:133: expected at most 32 conditions in each other, got \"not\"",
];

#[test]
fn rules_with_comments_and_long_lines_are_read() {
    let text = "\
# Data of the staff.
rule staff-data
on   subtree \"ou=People,dc=example,dc=com\" where (objectClass=person)  # not the groups

for  cn, mail,
     @posixAccount, !sn
let  group \"cn=hr,ou=Groups,dc=example,dc=com\" via tls   write
let  self                                                read, write mail
# Between clauses.
let  manager, from 10.0.0.0/8                            read
let  users
       # A comment in a line.
       read
rule b
  on pattern \"uid=*,**\", one \"\",
    everything
    deny anyone everything
";
    let printed = "\
rule staff-data
on subtree \"ou=People,dc=example,dc=com\" where (objectClass=person)
for cn, mail, @posixAccount, !sn
let group \"cn=hr,ou=Groups,dc=example,dc=com\" via tls write
let self read, write mail
let manager from 10.0.0.0/8 read
let users read

rule b
on pattern \"uid=*,**\", one \"\", everything
deny anyone everything
";
    assert_eq!(again(text), printed);
    assert_eq!(again(printed), printed);
    let places = &parse(text).unwrap().places[0];
    let clauses: Vec<usize> = places.clauses.iter().map(|it| it.line).collect();
    assert_eq!(
        (places.rule.line, places.on.line, places.about.line),
        (2, 3, 5)
    );
    assert_eq!(clauses, [7, 8, 10, 11]);
}

#[test]
fn every_subject_is_read() {
    for text in [
        "anyone",
        "anonymous",
        "users",
        "administrator",
        "self",
        "entry \"cn=a\"",
        "one \"\"",
        "children \"cn=a\"",
        "subtree \"cn=\"\"a\"\"\"",
        "pattern \"uid=$1,ou=*\"",
        "group \"cn=g\"",
        "group \"cn=g\" by uniqueMember",
        "manager",
        "owner of parent",
        "2.5.4.31",
        "having (&(a=b)(c=\\28))",
        "from 2001:db8::/32",
        "from local",
        "via scram",
        "at \"Mon-Fri 08:00-18:00\"",
        "real entry \"cn=a\"",
        "not self",
        "not not self",
        "users via tls from 10.0.0.0/8, manager",
        "self or manager or users via tls",
        "not (self or manager), users",
        "(self or users), (manager or owner)",
        "real (users via tls)",
        "(a, b), c",
        "a or (b or c)",
        "a or b, c",
    ] {
        clause(&format!("let {text} read"), &format!("let {text} read"));
    }
    clause(
        "let users and via tls at \"Sun\" read",
        "let users via tls at \"Sun 00:00-24:00\" read",
    );
    clause("let ((users)) read", "let users read");
    clause("let (a or b) read", "let a or b read");
}

#[test]
fn every_right_is_read() {
    for text in [
        "none",
        "read",
        "only read",
        "write mail",
        "write cn, sn, read, only add-value member value self",
        "add, delete, rename, move-in, move-out, proxy, manage, administer, use",
        "write cn value \"a \"\"b\"\"\", !sn, @person, secrets, entry, children",
        "read then continue",
        "read then next rule",
        "write mail then gather",
    ] {
        clause(&format!("let users {text}"), &format!("let users {text}"));
        clause(&format!("deny users {text}"), &format!("deny users {text}"));
    }
}

#[test]
fn every_use_is_read() {
    let text = "rule a\non everything\nfor use sync, tree-delete, no-copy\nlet users use\n";
    assert_eq!(again(text), text);
    let text = "rule a\non everything\nfor use everything\nlet users use\n";
    assert_eq!(again(text), text);
}

#[test]
fn mistakes_are_shown_where_they_are() {
    assert_eq!(again("\n# no rules\n"), "");
    let of_text = [
        "role a",
        "rule a!",
        "rule a\non everything",
        "rule a\nlet users read",
        "rule a\non sub \"\"",
        "rule a\non everything where (cn=*",
        "rule a\non everything where (cn=a)b)",
        "rule a\non everything\nfor use snyc",
        "rule a\non everything\nfor cn;lang-en",
        "rule a\non everything\nfor cn value",
        "rule a\non everything\nlet users read\nrule a\non everything\nlet users read",
    ];
    let of_clause = [
        "let users raed",
        "let users, read",
        "let (users read",
        "let from 10/8 read",
        "let via tsl read",
        "let at \"Mo\" read",
        "let manager of paren read",
        "let users read then contineu",
        "let users read cn sn",
        "let entry \"cn=a read",
        "let users read\nlat users read",
        &format!("let {} users read", "not ".repeat(40)),
    ];
    let of_clause = of_clause.map(|it| format!("rule a\non everything\n{it}"));
    let texts = of_text
        .iter()
        .copied()
        .chain(of_clause.iter().map(String::as_str));
    let errors = texts.map(|text| parse(text).expect_err(text).to_string());
    let errors: Vec<String> = errors.collect();
    assert_eq!(errors.join("\n"), MISTAKES.join("\n"));
}

#[test]
fn random_rules_print_to_what_they_are() {
    for seed in 0..2000 {
        let rules = rules(&mut Dice(seed), 3);
        let text = print(&rules);
        let read = parse(&text).unwrap_or_else(|error| panic!("seed {seed}: {error}\n{text}"));
        assert_eq!(read.rules, rules, "seed {seed}\n{text}");
    }
}

/// Sizes at which a set is refused, at once and with a reason.
#[test]
fn sets_have_limits() {
    let rule = |name: usize, clauses: usize| {
        let clauses = "let users read\n".repeat(clauses);
        format!("rule r{name}\non everything\n{clauses}")
    };
    let wrong = |text: &str| parse(text).unwrap_err().to_string();
    let octets = wrong(&"#".repeat(TEXT_MAX + 1));
    assert_eq!(
        octets,
        "expected 4194304 octets of access rules at most, got 4194305"
    );
    let many: String = (0..=RULES_MAX).map(|it| rule(it, 1)).collect();
    let expected = "expected 10000 rules and 50000 clauses at most, got more";
    assert_eq!(wrong(&many), format!("30001:1: {expected}"));
    let long = rule(0, CLAUSES_MAX) + &rule(1, 1);
    assert_eq!(wrong(&long), format!("50003:1: {expected}"));
    let deep = "not ".repeat(31);
    assert!(parse(&format!("rule a\non everything\nlet {deep}users read")).is_ok());
    let error = wrong(&format!("rule a\non everything\nlet not {deep}users read"));
    assert!(
        error.contains("at most 32 conditions in each other"),
        "{error}"
    );
}
