//! Command line tools of the UnboundID LDAP SDK, run as from a shell.

use std::fs;

use kit::tools::Answer;
use kit::{ADMIN, PASSWORD, Pando, SUFFIX, people};

use crate::java::{java, sdk};
use crate::{with_many_people, with_people};

/// Runs a tool as the administrator.
#[track_caller]
fn tool(pando: &Pando, name: &str, args: &[&str]) -> Answer {
    let port = pando.address().port().to_string();
    let whom = ["--hostname", "127.0.0.1", "--port", &port];
    let who = ["--bindDN", ADMIN, "--bindPassword", PASSWORD];
    run(name, &[&whom, &who, args].concat())
}

#[track_caller]
fn run(name: &str, args: &[&str]) -> Answer {
    let jar = sdk();
    java(&[&["-jar", &jar, name], args].concat(), &[])
}

/// Options that measure rates for a second, by two threads.
const BRIEFLY: [&str; 6] = [
    "--numThreads",
    "2",
    "--intervalDuration",
    "1",
    "--numIntervals",
    "1",
];

/// Checks a table of rates: operations a second, milliseconds each, errors a second.
#[track_caller]
fn expect_rate(answer: &Answer, errors_column: usize) {
    let rows: Vec<Vec<f64>> = answer
        .out
        .lines()
        .map(|line| {
            let words = line.split_whitespace().map(|word| word.replace(',', ""));
            words.filter_map(|word| word.parse().ok()).collect()
        })
        .filter(|row: &Vec<f64>| row.len() > errors_column)
        .collect();
    assert!(!rows.is_empty(), "no figures in {answer:?}");
    for row in rows {
        assert!(row[0] > 0.0, "nothing was done: {answer:?}");
        assert!(row[errors_column] == 0.0, "errors: {answer:?}");
    }
}

#[test]
fn rates_of_searches_and_modifications() {
    let pando = with_many_people();
    let base = ["--baseDN", SUFFIX, "--filter", "(uid=p[0-2999])"];
    let read = ["--attribute", "cn"];
    let searches = tool(&pando, "searchrate", &[&base[..], &read, &BRIEFLY].concat()).expect(0);
    expect_rate(&searches, 3);
    let waiting = ["--asynchronous", "--maxOutstandingRequests", "50"];
    let searches = tool(
        &pando,
        "searchrate",
        &[&base[..], &waiting, &BRIEFLY].concat(),
    )
    .expect(0);
    expect_rate(&searches, 3);
    let entries = ["--entryDN", "uid=p[0-2999],ou=People,dc=example,dc=com"];
    let what = ["--attribute", "description", "--valueLength", "12"];
    let changes = tool(&pando, "modrate", &[&entries[..], &what, &BRIEFLY].concat()).expect(0);
    expect_rate(&changes, 2);
}

#[test]
fn rate_of_authentications() {
    let pando = with_people();
    let who = ["--baseDN", SUFFIX, "--filter", "(uid=ada)"];
    let how = ["--credentials", "ada"];
    let binds = tool(&pando, "authrate", &[&who[..], &how, &BRIEFLY].concat()).expect(0);
    expect_rate(&binds, 2);
}

/// Returns the lines that a tool printed, without comments.
fn lines(answer: &Answer) -> Vec<&str> {
    let lines = answer.out.lines();
    lines.filter(|line| !line.starts_with('#')).collect()
}

#[test]
fn search_in_pages_and_order() {
    let pando = with_many_people();
    let base = ["--baseDN", SUFFIX, "--simplePageSize", "700"];
    let how = ["--sortOrder", "-uid", "--outputFormat", "values-only"];
    let found = tool(
        &pando,
        "ldapsearch",
        &[&base[..], &how, &["(objectClass=person)", "uid"]].concat(),
    )
    .expect(0);
    let uids = lines(&found);
    let mut expected: Vec<String> = (0..3000).map(|number| format!("p{number}")).collect();
    expected.sort();
    expected.reverse();
    assert!(uids == expected, "{} lines, out of order", uids.len());
    let count = ["--matchingEntryCountControl", "examineCount=10000"];
    tool(
        &pando,
        "ldapsearch",
        &[&base[..2], &count, &["(uid=p1*)"]].concat(),
    )
    .says("1111");
}

#[test]
fn effective_rights() {
    let pando = with_people();
    let whose = format!("dn:uid=ada,ou=People,{SUFFIX}");
    let asked = ["--baseDN", SUFFIX, "--getEffectiveRightsAuthzID", &whose];
    let which = [
        "--getEffectiveRightsAttribute",
        "mail",
        "(uid=ada)",
        "aclRights",
    ];
    let found = tool(&pando, "ldapsearch", &[&asked[..], &which].concat()).expect(0);
    found
        .says("aclRights;entryLevel: add:0,delete:0,read:1,write:0,proxy:1")
        .says("aclRights;attributeLevel;mail: search:1,read:1,compare:1,write:0");
}

#[test]
fn modify_compare_delete() {
    let pando = with_people();
    let changes = "dn: uid=eva,ou=People,dc=example,dc=com\nchangetype: add\n\
                   objectClass: inetOrgPerson\ncn: Eva\nsn: Eva\n\n\
                   dn: uid=ada,ou=People,dc=example,dc=com\nchangetype: modify\n\
                   replace: sn\nsn: Byron\n\n\
                   dn: uid=grace,ou=People,dc=example,dc=com\nchangetype: modrdn\n\
                   newrdn: uid=hopper\ndeleteoldrdn: 1\n\n\
                   dn: uid=edsger,ou=People,dc=example,dc=com\nchangetype: delete\n";
    let file = pando.folder.write("changes.ldif", changes);
    let file = ["--ldifFile", &file.to_string_lossy()].map(str::to_owned);
    let file: Vec<&str> = file.iter().map(String::as_str).collect();
    tool(
        &pando,
        "ldapmodify",
        &[&file[..], &["--noOperation"]].concat(),
    )
    .says("16654 (no operation)");
    tool(
        &pando,
        "ldapmodify",
        &[&file[..], &["--useTransaction"]].concat(),
    )
    .expect(0);
    let ada = "uid=ada,ou=People,dc=example,dc=com";
    let compare = |value: &str| tool(&pando, "ldapcompare", &[value, ada]).expect(0);
    compare("sn:byron").says("compare true");
    compare("sn:ada").says("compare false");
    tool(
        &pando,
        "ldappasswordmodify",
        &[
            "--userIdentity",
            "uid=hopper,ou=People,dc=example,dc=com",
            "--newPassword",
            "new",
        ],
    )
    .expect(0);
    let tree = ["--serverSideSubtreeDelete", "ou=People,dc=example,dc=com"];
    tool(&pando, "ldapdelete", &tree).expect(0);
    let names = tool(
        &pando,
        "ldapsearch",
        &[
            "--baseDN",
            SUFFIX,
            "--outputFormat",
            "dns-only",
            "(objectClass=*)",
        ],
    )
    .expect(0);
    assert_eq!(lines(&names), [SUFFIX, "ou=Groups,dc=example,dc=com"]);
}

/// Runs `ldap-diff` from one server to the other, and returns its output.
fn difference(source: &Pando, target: &Pando) -> String {
    let file = source.folder.join("difference.ldif");
    let output = file.to_string_lossy().into_owned();
    let ports = [source, target].map(|pando| pando.address().port().to_string());
    let mut args = Vec::new();
    for (side, port) in ["source", "target"].iter().zip(&ports) {
        for (name, value) in [
            ("Hostname", "127.0.0.1"),
            ("Port", port),
            ("BindDN", ADMIN),
            ("BindPassword", PASSWORD),
        ] {
            args.push(format!("--{side}{name}"));
            args.push(value.to_owned());
        }
    }
    let what = [
        "--baseDN",
        SUFFIX,
        "--numPasses",
        "1",
        "--outputLDIF",
        &output,
    ];
    args.extend(what.map(str::to_owned));
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    run("ldap-diff", &args).expect(0);
    fs::read_to_string(file).expect("the tool has written it")
}

/// Number of records in a text of LDIF.
fn records(text: &str) -> usize {
    text.lines().filter(|line| line.starts_with("dn: ")).count()
}

#[test]
fn differences_of_two_directories() {
    let (one, other) = (Pando::start(), Pando::start());
    for pando in [&one, &other] {
        let mut admin = pando.admin();
        admin.add(&people::unit("People")).expect_success();
        for uid in ["ada", "grace", "edsger"] {
            admin.add(&people::person(uid)).expect_success();
        }
    }
    assert_eq!(records(&difference(&one, &other)), 0);
    let changes = "dn: uid=ada,ou=People,dc=example,dc=com\nchangetype: modify\n\
                   replace: sn\nsn: Byron\n\n\
                   dn: uid=edsger,ou=People,dc=example,dc=com\nchangetype: delete\n\n\
                   dn: ou=New,dc=example,dc=com\nchangetype: add\n\
                   objectClass: organizationalUnit\nou: New\n";
    other.tools().modify(changes).expect(0);
    let found = difference(&one, &other);
    assert_eq!(records(&found), 3, "{found}");
    for line in ["sn: Byron", "changetype: delete", "ou: New"] {
        assert!(found.contains(line), "{line} is missing in:\n{found}");
    }
    // Applied to the first server, the output makes both equal.
    one.tools().modify(&found).expect(0);
    assert_eq!(records(&difference(&one, &other)), 0);
}
