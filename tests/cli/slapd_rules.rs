//! Access rules of slapd, decision by decision: Debian's slapd judges questions by random rules
//! (`slapacl`), and so do the rules that `pando access import` makes of them.

use kit::random::Random;
use kit::tools::{self, Answer};
use std::fmt::Write;
use std::fs;

use super::Shell;

/// Random configurations in one run.
const ROUNDS: usize = 25;

const DATA: &str = "\
dn: dc=example,dc=com
objectClass: top
objectClass: domain
dc: example

dn: ou=People,dc=example,dc=com
objectClass: organizationalUnit
ou: People

dn: uid=ada,ou=People,dc=example,dc=com
objectClass: inetOrgPerson
uid: ada
cn: Ada
sn: Lovelace
mail: ada@example.com
manager: uid=bob,ou=People,dc=example,dc=com
userPassword: secret

dn: uid=bob,ou=People,dc=example,dc=com
objectClass: inetOrgPerson
uid: bob
cn: Bob
sn: Babbage
userPassword: secret

dn: cn=hr,dc=example,dc=com
objectClass: groupOfNames
cn: hr
member: uid=eve,ou=People,dc=example,dc=com
member: uid=bob,ou=People,dc=example,dc=com
";

const ADA: &str = "uid=ada,ou=People,dc=example,dc=com";
const BOB: &str = "uid=bob,ou=People,dc=example,dc=com";
const EVE: &str = "uid=eve,ou=People,dc=example,dc=com";
const SUBJECTS: [&str; 4] = ["", ADA, BOB, EVE];
const ENTRIES: [&str; 4] = [
    "ou=People,dc=example,dc=com",
    ADA,
    BOB,
    "cn=hr,dc=example,dc=com",
];

/// A question in slapd's words, and in those of tests of access rules.
const QUESTIONS: [(&str, &str); 23] = [
    ("entry/disclose", "disclose, entry"),
    ("entry/search", "search, entry"),
    ("entry/read", "read, entry"),
    ("entry/add", "add, entry"),
    ("entry/delete", "delete, entry"),
    ("children/add", "add, children"),
    ("children/delete", "delete, children"),
    ("cn/compare", "compare, cn"),
    ("cn/search", "search, cn"),
    ("cn/read", "read, cn"),
    ("cn/add", "add-value, cn"),
    ("cn/delete", "delete-value, cn"),
    ("mail/search", "search, mail"),
    ("mail/read", "read, mail"),
    ("mail/add", "add-value, mail"),
    ("mail/delete", "delete-value, mail"),
    ("manager/compare", "compare, manager"),
    ("manager/read", "read, manager"),
    ("userPassword/auth", "authenticate, userPassword"),
    ("userPassword/compare", "compare, userPassword"),
    ("userPassword/read", "read, userPassword"),
    ("userPassword/add", "add-value, userPassword"),
    ("userPassword/delete", "delete-value, userPassword"),
];

const WHAT: [&str; 12] = [
    "*",
    "attrs=cn,mail",
    "attrs=userPassword",
    "attrs=entry,children",
    "attrs=@person",
    "dn.subtree=\"ou=People,dc=example,dc=com\"",
    "dn.children=\"ou=People,dc=example,dc=com\" attrs=mail,userPassword",
    "dn.base=\"uid=ada,ou=People,dc=example,dc=com\"",
    "dn.one=\"dc=example,dc=com\"",
    "filter=(sn=Lovelace)",
    "dn.subtree=\"dc=example,dc=com\" filter=(objectClass=person) attrs=entry,cn,manager",
    "dn.regex=\"^uid=[^,]+,ou=People,dc=example,dc=com$\" attrs=cn",
];
const WHO: [&str; 11] = [
    "*",
    "anonymous",
    "users",
    "self",
    "dn.exact=\"uid=bob,ou=People,dc=example,dc=com\"",
    "dn.subtree=\"ou=People,dc=example,dc=com\"",
    "dn.children=\"dc=example,dc=com\"",
    "group.exact=\"cn=hr,dc=example,dc=com\"",
    "dnattr=manager",
    "group/groupOfNames/member.exact=\"cn=hr,dc=example,dc=com\"",
    "set=\"user & [cn=hr,dc=example,dc=com]/member\"",
];
const ACCESS: [&str; 14] = [
    "none", "disclose", "auth", "compare", "search", "read", "write", "add", "delete", "manage",
    "=rsc", "+rx", "=w", "-r",
];
const CONTROL: [&str; 6] = ["", "", "", " stop", " continue", " break"];

fn one<'c>(random: &mut Random, choices: &[&'c str]) -> &'c str {
    choices[random.below(choices.len() as u64) as usize]
}

/// A random set of slapd's access directives.
fn directives(random: &mut Random) -> String {
    let mut text = String::new();
    for _ in 0..=random.below(4) {
        writeln!(text, "access to {}", one(random, &WHAT)).unwrap();
        for _ in 0..=random.below(3) {
            let (who, access) = (one(random, &WHO), one(random, &ACCESS));
            writeln!(text, "  by {who} {access}{}", one(random, &CONTROL)).unwrap();
        }
    }
    text
}

/// A slapd.conf of a database in the folder.
fn configuration(shell: &Shell, directives: &str) -> String {
    let database = shell.folder.join("database");
    format!(
        "include /etc/ldap/schema/core.schema\n\
         include /etc/ldap/schema/cosine.schema\n\
         include /etc/ldap/schema/inetorgperson.schema\n\
         modulepath /usr/lib/ldap\n\
         moduleload back_mdb\n\
         database mdb\n\
         suffix \"dc=example,dc=com\"\n\
         directory {}\n\
         maxsize 10485760\n\
         {directives}",
        database.display()
    )
}

/// Runs a tool of the copied slapd, as which it acts by its first argument.
fn slapd(shell: &Shell, args: &[&str]) -> Answer {
    let program = shell.folder.join("slapd");
    let mut command = std::process::Command::new(program);
    command
        .arg("-T")
        .args(args)
        .current_dir(shell.folder.path());
    tools::run_command(&mut command, "")
}

/// The answers of slapd to all questions by a subject about an entry.
fn answers(shell: &Shell, subject: &str, entry: &str) -> Vec<bool> {
    let mut args = vec!["acl", "-f", "slapd.conf", "-b", entry];
    if !subject.is_empty() {
        args.extend(["-D", subject]);
    }
    args.extend(QUESTIONS.map(|(question, _)| question));
    let said = slapd(shell, &args);
    let said = said.out + &said.err;
    let verdicts = said.lines().filter_map(|it| match it.rsplit_once(": ")?.1 {
        "ALLOWED" => Some(true),
        "DENIED" => Some(false),
        _ => None,
    });
    let verdicts: Vec<bool> = verdicts.collect();
    assert_eq!(verdicts.len(), QUESTIONS.len(), "{said}");
    verdicts
}

#[test]
fn imported_rules_decide_as_slapd_and_never_give_more() {
    let shell = Shell::new();
    // The program is copied: AppArmor confines the one in /usr/sbin.
    let copy = shell.folder.join("slapd");
    tools::run("cp", &["/usr/sbin/slapd".as_ref(), copy.as_path()], "").expect(0);
    fs::create_dir(shell.folder.join("database")).expect("the folder is new");
    shell.folder.write("data.ldif", DATA);
    shell.folder.write("slapd.conf", configuration(&shell, ""));
    slapd(&shell, &["add", "-f", "slapd.conf", "-l", "data.ldif"]).expect(0);
    let mut random = Random::announced("imported_rules_decide_as_slapd_and_never_give_more");
    let mut carried = 0;
    for round in 0..ROUNDS {
        let directives = directives(&mut random);
        shell
            .folder
            .write("slapd.conf", configuration(&shell, &directives));
        let imported = shell.pando(&[
            "access",
            "import",
            "--slapd",
            "slapd.conf",
            "--output",
            "rules",
        ]);
        let is_equal = match imported.status {
            0 => true,
            3 | 4 => false,
            other => panic!("{directives}import ended with {other}: {}", imported.err),
        };
        carried += usize::from(is_equal);
        let mut tests = "entries data.ldif\n".to_owned();
        for subject in SUBJECTS {
            for entry in ENTRIES {
                let verdicts = answers(&shell, subject, entry);
                for ((_, question), allowed) in QUESTIONS.iter().zip(verdicts) {
                    // What is approximated or impossible may give less.
                    if allowed && !is_equal {
                        continue;
                    }
                    let (right, thing) = question.split_once(", ").expect("two words");
                    let who = match subject {
                        "" => "anonymous".to_owned(),
                        dn => format!("\"{dn}\" via simple cleartext"),
                    };
                    let verdict = if allowed { "allowed" } else { "refused" };
                    let line = format!("{who}, {right}, \"{entry}\", {thing} -> {verdict}");
                    writeln!(tests, "{line}").unwrap();
                }
            }
        }
        shell.folder.write("tests", &tests);
        let decided = shell.pando(&["access", "test", "rules", "tests"]);
        assert!(
            decided.status == 0,
            "round {round}:\n{directives}\n{}\n{}\n{}",
            imported.err,
            shell.folder.read("rules"),
            decided.out
        );
    }
    eprintln!("{carried} of {ROUNDS} configurations were carried as a whole");
    assert!(carried > 0, "no configuration was carried as a whole");
}
