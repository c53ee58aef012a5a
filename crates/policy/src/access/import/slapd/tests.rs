//! Directives of slapd, and the rules and reports that they become.

use super::*;
use crate::access::compile::RuleSet;
use crate::access::import::OWN_RULES;
use crate::access::parse::parse;
use crate::access::print::print;

fn carried(conf: &str) -> Import {
    let schema = Schema::standard();
    let secrets = Secrets::of(&schema, &[]);
    let import = of_conf(&schema, &secrets, conf);
    let text = print(&import.rules);
    assert_eq!(parse(&text).unwrap().rules, import.rules, "{text}");
    let compiled = RuleSet::compile(&schema, &secrets, &import.rules);
    compiled.unwrap_or_else(|error| panic!("{error}\n{text}"));
    import
}

/// Checks the rules behind those about the administrator and the configuration, and the report.
#[track_caller]
fn check(conf: &str, rules: &str, report: &[&str]) {
    let import = carried(conf);
    assert_eq!(print(&import.rules[OWN_RULES.len()..]), rules);
    let lines: Vec<String> = import.report.iter().map(ReportLine::to_string).collect();
    assert_eq!(lines, report);
}

#[test]
fn the_usual_rules_are_carried() {
    check(
        "database mdb\nsuffix \"dc=example,dc=com\"\n# passwords\naccess to attrs=userPassword\n\
         \tby self write\n  by anonymous auth by * none\naccess to * by * read\n",
        "\
rule slapd-1
on subtree \"dc=example,dc=com\"
for userPassword
let self write, authenticate
let anonymous disclose, authenticate
let anyone none

rule slapd-2
on subtree \"dc=example,dc=com\"
for entry, children, all, secrets
let anyone read entry, children, all, authenticate entry, children, all
",
        &[
            "slapd-1: carried: to attrs=userPassword by self write",
            "slapd-1: carried: to attrs=userPassword by anonymous auth",
            "slapd-1: carried: to attrs=userPassword by * none",
            "slapd-2: approximated: to * by * read (without secrets)",
        ],
    );
}

#[test]
fn every_kind_of_subject_is_carried() {
    let carried = |by: &str, subject: &str| {
        let conf = format!("access to dn.base=\"dc=a\" filter=(cn=x) attrs=cn by {by} read\n");
        let rules = format!(
            "rule slapd-1\non entry \"dc=a\" where (cn=x)\nfor cn\n\
             let {subject} read, authenticate\ndeny anyone everything\n"
        );
        let report =
            format!("slapd-1: carried: to dn.base=dc=a filter=(cn=x) attrs=cn by {by} read");
        check(&conf, &rules, &[&report]);
    };
    carried("users", "users");
    carried("dn.subtree=ou=x,dc=a", "subtree \"ou=x,dc=a\"");
    carried("dn.regex=^uid=[^,]+,dc=a$", "pattern \"uid=*,dc=a\"");
    carried("dnattr=manager", "manager");
    carried(
        "group/groupOfNames/uniqueMember=cn=g",
        "group \"cn=g\" by uniqueMember",
    );
    carried("realself", "real self");
    carried("users ssf=71", "users, (via tls or via local)");
    carried("users tls_ssf=128", "users via tls");
    carried("* peername.ip=10.0.0.0%255.0.0.0", "from 10.0.0.0/8");
}

#[test]
fn patterns_and_their_captures_are_carried() {
    check(
        "access to dn.regex=\"^(.+,)?ou=([^,]+),dc=a$\" attrs=@person,children \
         by dn.exact,expand=\"uid=$2,dc=a\" write by * break\n\
         access to attrs=member by users selfwrite by * none\n",
        "\
rule slapd-1
on pattern \"**,ou=*,dc=a\"
for @person, userPassword, children
let pattern \"uid=$1,dc=a\" write, authenticate, add, move-in, delete, move-out, rename
let anyone none then next rule

rule slapd-2
on everything
for member
let users self-value
let anyone none
",
        &[
            "slapd-1: approximated: to dn.regex=^(.+,)?ou=([^,]+),dc=a$ attrs=@person,children \
             by dn.exact,expand=uid=$2,dc=a write (less is given of entries whose RDN has several \
             values)",
            "slapd-1: approximated: to dn.regex=^(.+,)?ou=([^,]+),dc=a$ attrs=@person,children \
             by * break (less is given of entries whose RDN has several values)",
            "slapd-2: approximated: to attrs=member by users selfwrite (only for adding and \
             deleting the subject's own name)",
            "slapd-2: carried: to attrs=member by * none",
        ],
    );
}

#[test]
fn what_cannot_be_said_gives_nothing() {
    let rules = |conf: &str| {
        let import = carried(conf);
        print(&import.rules[OWN_RULES.len()..])
    };
    let fates = |conf: &str| {
        let import = carried(conf);
        import.report.iter().map(|it| it.fate).collect::<Vec<_>>()
    };
    let set = "access to attrs=cn by set=\"user/x\" read by users write by * none\n";
    assert_eq!(
        rules(set),
        "rule slapd-1\non everything\nfor cn\nlet users read, authenticate\nlet anyone none\n"
    );
    assert_eq!(
        fates(set),
        [Fate::Impossible, Fate::Approximated, Fate::Carried]
    );
    for target in [
        "dn.regex=\"a.b\"",
        "dn.regex=\"^[^,]+,dc=a$\"",
        "attrs=nope",
        "filter=(nope=1)",
        "val.regex=x",
        "dn.this=x",
    ] {
        let conf = format!("access to {target} by * write\n");
        assert!(
            rules(&conf).ends_with("\ndeny anyone everything\n"),
            "{target}"
        );
        assert_eq!(fates(&conf), [Fate::Impossible], "{target}");
    }
    for who in [
        "domain=a",
        "dynacl/aci",
        "tls_ssf=256",
        "dn.exact=\"\"",
        "sockurl=x",
        "wrong",
        "dnattr=cn",
        "group/groupOfURLs/memberURL=cn=g",
        "dn.regex=^[^,]+,dc=a$",
    ] {
        let conf = format!("access to attrs=cn by {who} write\n");
        assert_eq!(fates(&conf), [Fate::Impossible], "{who}");
    }
}

/// Checks the names and targets of the rules behind the program's own.
#[track_caller]
fn check_targets(conf: &str, targets: &[&str]) {
    let import = carried(conf);
    let found: Vec<String> = import.rules[OWN_RULES.len()..]
        .iter()
        .map(|it| {
            let targets: Vec<String> = it.targets.iter().map(ToString::to_string).collect();
            format!("{}: {}", it.name, targets.join(", "))
        })
        .collect();
    assert_eq!(found, targets, "{conf}");
}

/// slapd asks about an entry no rules of the database around its own.
#[test]
fn databases_inside_others_come_first_and_end() {
    check_targets(
        "access to attrs=mail by * read\n\
         database mdb\nsuffix dc=a\naccess to * by users write\n\
         database mdb\nsuffix ou=x,dc=a\naccess to attrs=cn by users read\n\
         database mdb\nsuffix ou=y,dc=a\n",
        &[
            "slapd-1: subtree \"ou=x,dc=a\"",
            "slapd-2: subtree \"ou=x,dc=a\"",
            "slapd-3-end: subtree \"ou=x,dc=a\"",
            "slapd-4: subtree \"ou=y,dc=a\"",
            "slapd-5-end: subtree \"ou=y,dc=a\"",
            "slapd-6: subtree \"dc=a\"",
            "slapd-7: everything",
        ],
    );
    check_targets(
        "database Frontend\naccess to attrs=mail by * read\n\
         database Config\naccess to * by * write\n\
         database {1}mdb\nsuffix dc=a\nsuffix ou=z,dc=b\naccess to attrs=cn by users write\n\
         database mdb\nsuffix dc=b\naccess to attrs=cn by users read\n\
         database mdb\naccess to * by * write\n",
        &[
            "slapd-1: subtree \"ou=z,dc=b\"",
            "slapd-2: subtree \"ou=z,dc=b\"",
            "slapd-3-end: subtree \"ou=z,dc=b\"",
            "slapd-4: subtree \"dc=a\"",
            "slapd-5: subtree \"dc=b\"",
            "slapd-7: everything",
        ],
    );
}

#[test]
fn targets_are_cut_to_the_suffix() {
    let check = |target: &str, targets: &[&str]| {
        let conf =
            format!("database mdb\nsuffix dc=a,dc=b\naccess to {target} by users read by * none\n");
        let targets: Vec<String> = targets.iter().map(|it| format!("slapd-1: {it}")).collect();
        let targets: Vec<&str> = targets.iter().map(String::as_str).collect();
        check_targets(&conf, &targets);
    };
    let whole = ["subtree \"dc=a,dc=b\""];
    check("dn.subtree=\"dc=b\"", &whole);
    check("dn.children=\"\"", &whole);
    check("dn.one=\"dc=b\"", &["entry \"dc=a,dc=b\""]);
    check("dn.one=\"\"", &[]);
    check("dn.base=\"dc=b\"", &[]);
    check("dn.subtree=\"dc=c\"", &[]);
    check("dn.one=\"dc=a,dc=b\"", &["one \"dc=a,dc=b\""]);
    check(
        "dn.regex=\"^cn=[^,]+,dc=a,dc=b$\"",
        &["pattern \"cn=*,dc=a,dc=b\""],
    );
    check("dn.regex=\"^cn=[^,]+,dc=b$\"", &whole);
}

#[test]
fn suffixes_are_whole_values_that_the_schema_knows() {
    let schema = Schema::standard();
    let secrets = Secrets::of(&schema, &[]);
    let ldif = "\
dn: olcDatabase={1}mdb,cn=config
olcDatabase: {1}mdb
olcSuffix: {0}o=My Org,c=DE
olcAccess: to * by users read

dn: olcDatabase={2}mdb,cn=config
olcDatabase: {2}mdb
olcSuffix: nope=x
olcAccess: to * by * write
";
    let import = of_config(&schema, &secrets, ldif).unwrap();
    let rules = print(&import.rules[OWN_RULES.len()..]);
    assert!(
        rules.starts_with("rule slapd-1\non subtree \"o=My Org,c=DE\"\n"),
        "{rules}"
    );
    assert_eq!(import.rules.len(), OWN_RULES.len() + 1);
    assert_eq!(
        import.report[1].to_string(),
        "slapd-2: impossible: to * by * write (its database has no suffix that this schema knows, \
         and so no entries)"
    );
}

/// Rules in a file that is not here may take what the rules behind it give.
#[test]
fn files_that_are_not_here_are_reported() {
    let conf = "include /etc/ldap/schema/core.schema\ndatabase mdb\nsuffix dc=a\n\
                access to attrs=cn by * read\ninclude /etc/ldap/acl.conf\naccess to * by * read\n";
    check_targets(
        conf,
        &[
            "slapd-1: subtree \"dc=a\"",
            "slapd-2: subtree \"dc=a\"",
            "slapd-3: subtree \"dc=a\"",
        ],
    );
    let report = carried(conf).report;
    let lines: Vec<String> = report
        .iter()
        .filter(|it| it.given.starts_with("include"))
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        lines,
        [
            "slapd-2: impossible: include /etc/ldap/acl.conf (the file is not here, so nothing is \
             given from here on: put its text in the place of the line)",
            "slapd-4: impossible: include /etc/ldap/schema/core.schema (the file is not here; by \
             its name it has no rules)",
        ]
    );
}

#[test]
fn configuration_entries_are_read_in_the_order_in_which_slapd_asks() {
    let schema = Schema::standard();
    let secrets = Secrets::of(&schema, &[]);
    let ldif = "\
dn: olcDatabase={-1}frontend,cn=config
olcDatabase: {-1}frontend
olcAccess: {0}to attrs=cn by * none

dn: olcDatabase={0}config,cn=config
olcDatabase: {0}config
olcAccess: {0}to * by * manage

dn: olcDatabase={1}mdb,cn=config
olcDatabase: {1}mdb
olcSuffix: dc=a
olcAccess: {1}to dn.base=\"dc=b\" by * write
olcAccess:: ezB9dG8gYXR0cnM9c24gYnkgdXNlcnMgd3JpdGU=
";
    let import = of_config(&schema, &secrets, ldif).unwrap();
    assert_eq!(
        print(&import.rules[OWN_RULES.len()..]),
        "\
rule slapd-1
on subtree \"dc=a\"
for sn
let users write, authenticate
deny anyone everything

rule slapd-3
on everything
for cn
let anyone none
"
    );
    assert!(of_config(&schema, &secrets, "dn\n").is_err());
}
