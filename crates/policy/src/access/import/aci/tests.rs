//! Instructions of 389 Directory Server, and the rules and reports that they become.

use super::*;
use crate::access::compile::RuleSet;
use crate::access::import::OWN_RULES;
use crate::access::parse::parse;
use crate::access::print::print;

/// Carries over one instruction at `dc=a`; returns the rules and the report as text.
fn carried(aci: &str) -> String {
    let schema = Schema::standard();
    let secrets = Secrets::of(&schema, &[]);
    let ldif = format!("dn: dc=a\ndc: a\naci: {aci}\n");
    let import = of_entries(&schema, &secrets, &ldif).unwrap();
    let text = print(&import.rules);
    assert_eq!(parse(&text).unwrap().rules, import.rules, "{text}");
    let compiled = RuleSet::compile(&schema, &secrets, &import.rules);
    compiled.unwrap_or_else(|error| panic!("{error}\n{text}"));
    let [line] = &import.report[..] else {
        panic!("{:?}", import.report)
    };
    let rules = print(&import.rules[OWN_RULES.len()..]);
    format!("{:?} {}\n{rules}", line.fate, line.note)
}

/// Checks the fate and note of an instruction, the entries that its rule is about, and the clauses.
#[track_caller]
fn check(aci: &str, fate: &str, on: &str, clauses: &[&str]) {
    let mut expected = format!("{fate}\n");
    for (number, clause) in clauses.iter().enumerate() {
        let name = if number == 0 { "1" } else { "1-2" };
        let about = "for entry, children, all, secrets";
        let before = if number == 0 { "" } else { "\n" };
        expected += &format!("{before}rule aci-{name}\non {on}\n{about}\n{clause} then gather\n");
    }
    assert_eq!(carried(aci), expected);
}

#[test]
fn the_usual_instructions_are_carried() {
    check(
        "(targetattr != \"userPassword || aci\")(version 3.0; acl \"read\"; \
         allow (read, search, compare) userdn=\"ldap:///all\";)",
        "Carried ",
        "subtree \"dc=a\"",
        &["let users read entry, user, !userPassword"],
    );
    check(
        "(target=\"ldap:///ou=people,dc=a\")(targetattr=\"mail || nope\")(targetfilter=\"cn=x\")\
         (targetscope=\"onelevel\")(version 3.0; acl \"w\"; allow (write,delete) \
         groupdn=\"ldap:///cn=g,dc=a || ldap:///cn=h,dc=a\" and ip=\"10.0.*.*\" or \
         userattr=\"parent[0,1].manager#USERDN\";)",
        "Carried ",
        "one \"ou=people,dc=a\" where (cn=x)",
        &[
            "let (group \"cn=g,dc=a\" or group \"cn=h,dc=a\") from 10.0.0.0/16 or (manager or \
           manager of parent) add-value entry, mail, delete-value entry, mail, delete entry, \
           children, rename entry, children",
        ],
    );
    check(
        "(targetattr=\"cn\")(version 3.0; acl \"s\"; allow (search, selfwrite) \
         userdn=\"ldap:///dc=a??sub?(sn=x)\" and authmethod=\"ssl\" and ssf>=\"56\";)",
        "Carried ",
        "subtree \"dc=a\"",
        &[
            "let (subtree \"dc=a\", having (sn=x)) via certificate via tls disclose entry, \
           cn, only search entry, cn",
        ],
    );
}

/// Who adds an entry writes its attributes, and could name anybody.
#[test]
fn attributes_of_the_entry_itself_do_not_let_it_be_added() {
    check(
        "(version 3.0; acl \"a\"; allow (add) userattr=\"manager#USERDN\";)",
        "Impossible userattr of the entry that is added, =\"manager#USERDN\" has no equivalent",
        "",
        &[],
    );
    check(
        "(version 3.0; acl \"a\"; allow (add,delete) userattr=\"parent[0,1].manager#USERDN\";)",
        "Carried ",
        "subtree \"dc=a\"",
        &[
            "let manager or manager of parent delete entry, children then gather\n\
             let manager of parent add entry, children",
        ],
    );
    check(
        "(version 3.0; acl \"a\"; deny (add) userattr=\"manager#USERDN\";)",
        "Carried ",
        "subtree \"dc=a\"",
        &["deny manager add entry, children"],
    );
}

#[test]
fn instructions_at_the_root_dse_are_about_it_alone() {
    let schema = Schema::standard();
    let secrets = Secrets::of(&schema, &[]);
    let rules = |aci: &str| {
        let ldif = format!("dn:\nobjectClass: top\naci: {aci}\n");
        let import = of_entries(&schema, &secrets, &ldif).unwrap();
        print(&import.rules[OWN_RULES.len()..])
    };
    let read = "(targetattr=\"*\")(version 3.0; acl \"r\"; allow (read) userdn=\"ldap:///all\";)";
    assert!(rules(read).starts_with("rule aci-1\non entry \"\"\n"));
    assert_eq!(rules(&format!("(target=\"ldap:///dc=a\"){read}")), "");
    assert_eq!(rules(&format!("(targetscope=\"onelevel\"){read}")), "");
    assert!(rules("(version 2.0; deny").starts_with("rule aci-1\non entry \"\"\n"));
}

#[test]
fn what_cannot_be_said_allows_less_and_denies_more() {
    check(
        "(targetattr=\"*\")(version 3.0; acl \"d\"; deny (write, proxy) not \
         userdn=\"ldap:///self\" and dns=\"x\"; allow (all) userdn!=\"ldap:///uid=*,dc=a\"; )",
        "Approximated dns=\"x\" has no equivalent; userdn!=\"ldap:///uid=*,dc=a\" has no \
         equivalent",
        "subtree \"dc=a\"",
        &[
            "deny not self add-value user, secrets, entry, delete-value user, secrets, entry, \
           self-value user, secrets, entry, proxy entry, children",
        ],
    );
    check(
        "(targattrfilters=\"x\")(version 3.0; acl \"d\"; deny (read) userdn=\"ldap:///anyone\"; \
         allow (compare) dns=\"a\" or userdn=\"ldap:///self\";)",
        "Approximated targattrfilters=\"x\" has no equivalent; dns=\"a\" has no equivalent",
        "subtree \"dc=a\"",
        &["deny anyone disclose entry, children, all, secrets, read entry, children, all, secrets"],
    );
    check(
        "(version 4.0; acl \"d\"; deny (read) )",
        "Impossible it cannot be read",
        "subtree \"dc=a\"",
        &["deny anyone everything"],
    );
    for ssf in ["ssf=\"56\"", "ssf<=\"56\"", "ssf>\"56\"", "ssf<\"56\""] {
        check(
            &format!("(version 3.0; acl \"s\"; allow (read) {ssf};)"),
            &format!("Impossible {ssf} has no equivalent"),
            "",
            &[],
        );
    }
    check(
        "(version 3.0; acl \"n\"; allow (read) userattr=\"cn#USERDN\";)",
        "Impossible userattr=\"cn#USERDN\" has no equivalent",
        "",
        &[],
    );
    check("nonsense", "Impossible it cannot be read", "", &[]);
    check(
        "(version 3.0; acl \"t\"; allow (read) timeofday<\"1200\";)",
        "Impossible timeofday<\"1200\" has no equivalent",
        "",
        &[],
    );
    check(
        "(target=\"ldap:///dc=b\")(version 3.0; acl \"t\"; allow (read) userdn=\"ldap:///all\";)",
        "Impossible target=\"ldap:///dc=b\" has no equivalent",
        "",
        &[],
    );
}
