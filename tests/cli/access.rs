//! `pando access`: rules as files that are shown, applied, undone, checked, tested, explained and
//! imported.

use kit::{Pando, SUFFIX};
use protocol::Scope;

use super::{Shell, one_line};

const RULES: &str = "\
# Staff is looked after by its own department.
rule staff
on subtree \"ou=People,dc=example,dc=com\" where (objectClass=person)
for mail, telephoneNumber
let group \"cn=hr,ou=Groups,dc=example,dc=com\" via tls write
let self read, write mail
let manager from 10.0.0.0/8 read

rule passwords
on everything
for userPassword
let self authenticate, only write
let anyone authenticate

rule rest
on everything
let users read
";

/// The rules as they are printed: without comments.
fn canonical() -> &'static str {
    RULES.split_once('\n').expect("a comment comes first").1
}

/// Names of the entries of rules, in their order.
fn names(pando: &Pando) -> Vec<String> {
    let mut admin = pando.admin();
    let filter = "(objectClass=pandoAccessRule)";
    let select = ["cn", "pandoAccessOrder"];
    let found = admin.search("cn=access,cn=config", Scope::SingleLevel, filter, &select);
    let mut placed: Vec<(i64, String)> = (found.entries.iter())
        .map(|it| {
            let order = it.texts("pandoAccessOrder")[0].parse().unwrap();
            (order, it.texts("cn")[0].to_owned())
        })
        .collect();
    placed.sort();
    placed.into_iter().map(|(_, name)| name).collect()
}

#[test]
fn rules_are_applied_shown_and_undone_on_a_running_server() {
    let mut pando = Pando::init();
    pando.folder.write("rules", RULES);
    pando.serve();
    let access = |action: &str, args: &[&str]| pando.run_on_node(&["access", action], args);
    let before = access("show", &[]).expect(0);
    assert!(
        before.out.starts_with("# no access rules"),
        "{}",
        before.out
    );
    access("undo", &[]).expect(1).says("no former access rules");

    let applied = access("apply", &["rules"]).expect(0);
    assert_eq!(applied.out, "access rules: 3 new\n");
    assert_eq!(access("show", &[]).expect(0).out, canonical());
    assert_eq!(names(&pando), ["staff", "passwords", "rest"]);
    let again = access("apply", &["rules"]).expect(0);
    assert_eq!(again.out, "access rules: 3 as before\n");

    let second = "rule Rest\non everything\nlet users search\n\nrule more\non everything\n\
                  for use sync\nlet users use\n";
    pando.folder.write("second", second);
    let applied = access("apply", &["second"]).expect(0);
    assert_eq!(applied.out, "access rules: 1 new, 1 changed, 2 removed\n");
    assert_eq!(access("show", &[]).expect(0).out, second);
    let former = access("show", &["--set", "former"]).expect(0);
    assert_eq!(former.out, canonical());
    // The undo of an undo is there, too.
    access("undo", &[]).expect(0);
    assert_eq!(access("show", &[]).expect(0).out, canonical());
    access("undo", &[]).expect(0);
    assert_eq!(access("show", &[]).expect(0).out, second);

    access("apply", &["--none"]).expect(0);
    assert_eq!(names(&pando), [""; 0]);
    access("undo", &[]).expect(0);
    assert_eq!(access("show", &[]).expect(0).out, second);
}

#[test]
fn rules_are_applied_to_a_folder_and_over_the_network() {
    let mut pando = Pando::init();
    let applied = pando.run_on_node(&["access", "apply"], &["--default"]);
    let proposed = pando.run(&["access", "show", "--set", "default"]).expect(0);
    let count = proposed.out.matches("\nrule ").count();
    assert_eq!(
        applied.expect(0).out,
        format!("access rules: {count} new\n")
    );
    let shown = pando.run_on_node(&["access", "show"], &[]).expect(0);
    pando.serve();
    pando.folder.write("password", kit::PASSWORD);
    let url = pando.url();
    let remote = |args: &[&str]| {
        let bind = ["--url", &url, "-D", kit::ADMIN, "-y", "password"];
        pando.run(&[args, &bind].concat())
    };
    assert_eq!(remote(&["access", "show"]).expect(0).out, shown.out);
    pando.folder.write("rules", RULES);
    remote(&["access", "apply", "rules"]).expect(0);
    assert_eq!(remote(&["access", "show"]).expect(0).out, canonical());
    remote(&["access", "undo"]).expect(0);
    assert_eq!(remote(&["access", "show"]).expect(0).out, shown.out);
    let anonymous = pando.run(&["access", "show", "--url", &url]);
    one_line(anonymous, 2, &["--bind-dn"]);
    // Who may not see the rules is not told that there are none.
    let ada = format!("uid=ada,{SUFFIX}");
    let text = format!(
        "dn: {ada}\nobjectClass: account\nobjectClass: simpleSecurityObject\nuid: ada\n\
         userPassword: hers\n"
    );
    pando.tools().add(&text).expect(0);
    pando.folder.write("hers", "hers\n");
    let bind = ["--url", &url, "-D", &ada, "-y", "hers"];
    let hidden = pando.run(&[&["access", "show"], &bind[..]].concat());
    one_line(hidden, 1, &["cn=config", "the administrator"]);
    let refused = pando.run(&[&["access", "apply", "rules"], &bind[..]].concat());
    one_line(refused, 1, &["cn=config", "the administrator"]);
}

/// Rules that hand the people over to bob, and leave open what others may decide.
const HANDED_OVER: &str = "\
rule passwords
on everything
for userPassword
let anyone authenticate

rule people
on subtree \"ou=People,dc=example,dc=com\"
let entry \"uid=bob,ou=People,dc=example,dc=com\" write, administer then next rule
let anyone none then next rule

rule explaining
on subtree \"ou=People,dc=example,dc=com\"
for use explain
let users use
";

const BOBS: &str = "\
rule phones
within \"ou=People,dc=example,dc=com\"
on subtree \"ou=People,dc=example,dc=com\"
for telephoneNumber
let users write
";

/// A node whose people are handed over to bob, and arguments by which bob reaches it.
fn handed_over() -> (Pando, [String; 6]) {
    let mut pando = Pando::init();
    pando.serve();
    pando.folder.write("rules", HANDED_OVER);
    pando.folder.write("bobs", BOBS);
    pando.folder.write("password", "bobs\n");
    let people = format!(
        "dn: ou=People,{SUFFIX}\nobjectClass: organizationalUnit\nou: People\n\n\
         dn: uid=bob,ou=People,{SUFFIX}\nobjectClass: inetOrgPerson\nuid: bob\ncn: Bob\nsn: B\n\
         userPassword: bobs\n"
    );
    pando.tools().add(&people).expect(0);
    pando
        .run_on_node(&["access", "apply"], &["rules"])
        .expect(0);
    let bind = ["--url", &pando.url(), "-D", BOB, "-y", "password"].map(str::to_owned);
    (pando, bind)
}

const BOB: &str = "uid=bob,ou=People,dc=example,dc=com";

fn by_bob(pando: &Pando, bind: &[String; 6], args: &[&str]) -> kit::tools::Answer {
    let bind: Vec<&str> = bind.iter().map(String::as_str).collect();
    pando.run(&[args, &bind].concat())
}

#[test]
fn rules_within_an_area_are_applied_by_whom_it_was_handed_over_to() {
    let (pando, bind) = handed_over();
    let remote = |args: &[&str]| by_bob(&pando, &bind, args);
    assert_eq!(remote(&["access", "show"]).expect(0).out, "");
    let applied = remote(&["access", "apply", "bobs"]).expect(0);
    assert_eq!(applied.out, "access rules: 1 new\n");
    assert_eq!(remote(&["access", "show"]).expect(0).out, BOBS);
    one_line(remote(&["access", "undo"]), 1, &["the administrator"]);
    let wider = BOBS.replace("let users write", "let users write, manage");
    pando.folder.write("bobs", wider);
    one_line(
        remote(&["access", "apply", "bobs"]),
        1,
        &["you have yourself"],
    );
    one_line(
        remote(&["access", "apply", "rules"]),
        1,
        &["within", "the administrator's"],
    );

    // The whole set has the rule behind the others, and keeps it unless that is forced.
    let shown = pando.run_on_node(&["access", "show"], &[]).expect(0);
    assert_eq!(shown.out, format!("{HANDED_OVER}\n{BOBS}"));
    let lost = pando.run_on_node(&["access", "apply"], &["rules"]);
    one_line(lost, 1, &["phones", "--force"]);
    pando.folder.write("all", &shown.out);
    let same = pando.run_on_node(&["access", "apply"], &["all"]).expect(0);
    assert_eq!(same.out, "access rules: 4 as before\n");
    pando
        .folder
        .write("turned", format!("{BOBS}\n{HANDED_OVER}"));
    let turned = pando.run_on_node(&["access", "apply"], &["turned"]);
    turned.expect(1).says("larger areas");

    pando
        .run_on_node(&["access", "apply"], &["rules", "--force"])
        .expect(0);
    assert_eq!(remote(&["access", "show"]).expect(0).out, "");
}

#[test]
fn a_server_explains_its_decisions() {
    let (pando, bind) = handed_over();
    let remote = |args: &[&str]| by_bob(&pando, &bind, args);
    let question = format!("\"{BOB}\", write, \"{BOB}\", telephoneNumber");
    for told in [
        remote(&["access", "explain", &question]),
        pando.run_on_node(&["access", "explain"], &[&question]),
    ] {
        let told = told.expect(0);
        assert!(
            told.out.starts_with("add-value of telephoneNumber of"),
            "{}",
            told.out
        );
        assert!(told.out.contains(": allowed\n"), "{}", told.out);
        assert!(told.out.contains("rule people, let entry"), "{}", told.out);
    }
    let refused = format!("\"{BOB}\", write, \"{SUFFIX}\", telephoneNumber");
    one_line(remote(&["access", "explain", &refused]), 1, &["explain"]);
    let told = pando
        .run_on_node(&["access", "explain"], &[&refused])
        .expect(0);
    assert!(told.out.contains("refused") && told.out.contains("a rule were about it"));
    one_line(
        pando.run(&["access", "explain", "rules"]),
        2,
        &["a question"],
    );
}

#[test]
fn a_new_directory_begins_with_the_rules_that_are_named() {
    let shell = Shell::new();
    shell.folder.write("password", "a password\n");
    shell.folder.write("rules", RULES);
    shell.folder.write(
        "open",
        "rule a\non everything\nfor all, secrets\nlet anyone read\n",
    );
    shell.folder.write("empty", "");
    let init = |dir: &str, access: &str| {
        let args = ["--suffix", SUFFIX, "--admin-password-file", "password"];
        shell.pando(&[&["init", dir, "--access", access], &args[..]].concat())
    };
    init("one", "default").expect(0);
    let shown = shell.pando(&["access", "show", "one"]).expect(0);
    let proposed = shell
        .pando(&["access", "show", "--set", "default"])
        .expect(0);
    assert_eq!(
        shown.out.matches("\nrule ").count() + 1,
        proposed.out.matches("\nrule ").count()
    );
    init("two", "rules").expect(0);
    assert_eq!(
        shell.pando(&["access", "show", "two"]).expect(0).out,
        canonical()
    );
    init("three", "built-in").expect(0);
    let none = shell.pando(&["access", "show", "three"]).expect(0);
    assert!(none.out.starts_with("# no access rules"), "{}", none.out);
    for (file, said) in [
        ("missing", "missing"),
        ("empty", "got none"),
        ("open", "nothing was made"),
    ] {
        let refused = init("four", file).expect(1);
        assert!(refused.err.contains(said), "{}", refused.err);
        assert!(!shell.folder.join("four").exists());
    }
}

#[test]
fn what_is_wrong_is_refused_and_changes_nothing() {
    let mut pando = Pando::init();
    pando.folder.write("rules", RULES);
    pando.serve();
    let apply = |file: &str, text: &str, args: &[&str]| {
        pando.folder.write(file, text);
        pando.run_on_node(&["access", "apply"], &[&[file], args].concat())
    };
    apply("rules", RULES, &[]).expect(0);
    let unreadable = apply("broken", "rule a\non everything\nlet usrs read\n", &[]);
    one_line(unreadable, 1, &["broken:3:1: ", "usrs"]);
    let text = "rule a\non everything\nfor mial\nlet users read\n\n\
                rule b\non subtree \"dc\"\nlet users read\n";
    let unknown = apply("unknown", text, &[]).expect(1);
    assert!(unknown.err.contains("unknown:3:"), "{}", unknown.err);
    assert!(
        unknown.err.contains("did you mean \"mail\"?"),
        "{}",
        unknown.err
    );
    assert!(unknown.err.contains("unknown:7:"), "{}", unknown.err);
    let empty = apply("empty", "# nothing\n", &[]);
    one_line(empty, 1, &["empty", "--none"]);
    let text = "rule a\non everything\nlet users read\n\nrule A\non everything\nlet users read\n";
    apply("twice", text, &[]).expect(1).says("more than case");
    let open = "rule a\non everything\nfor all, secrets\nlet anyone read\n";
    let refused = apply("open", open, &[]).expect(1);
    assert!(refused.err.contains("userPassword"), "{}", refused.err);
    assert!(refused.err.contains("--force"), "{}", refused.err);
    let shown = pando.run_on_node(&["access", "show"], &[]).expect(0);
    assert_eq!(shown.out, canonical());
    apply("open", open, &["--force"]).expect(0);
    let shown = pando.run_on_node(&["access", "show"], &[]).expect(0);
    assert_eq!(shown.out, open);
}

#[test]
fn a_server_that_cannot_take_one_rule_takes_none() {
    let mut pando = Pando::init();
    pando.folder.write("rules", RULES);
    let settings = pando.folder.read("node/pando.toml");
    let table = "\n[administrator_limits]\n";
    assert!(settings.contains(table), "{settings}");
    let settings = settings.replace(table, &format!("{table}transaction_updates_max = 3\n"));
    pando.folder.write("node/pando.toml", settings);
    pando.serve();
    let refused = pando.run_on_node(&["access", "apply"], &["rules"]);
    one_line(
        refused,
        1,
        &[
            "rules: cn=rest,cn=access,cn=config: ",
            "transaction_updates_max",
        ],
    );
    assert_eq!(names(&pando), [""; 0]);
}

#[test]
fn files_are_checked_without_a_server() {
    let shell = Shell::new();
    shell.folder.write("rules", RULES);
    let checked = shell.pando(&["access", "check", "rules"]).expect(0);
    assert_eq!(checked.out, "rules: 3 rules\n");
    let dead = "rule a\non everything\nlet anyone read\nlet users read\n\n\
                rule b\non subtree \"dc=example\"\nlet users read\n";
    shell.folder.write("dead", dead);
    let dead = shell.pando(&["access", "check", "dead"]).expect(1);
    assert!(dead.err.contains("dead:4:1: rule a"), "{}", dead.err);
    assert!(dead.err.contains("dead:6:1: rule b"), "{}", dead.err);
}

#[test]
fn rules_are_checked_under_the_schema_of_a_node() {
    let shell = Shell::with_node();
    let schema = "attributetype ( 1.3.6.1.4.1.4203.666.97.1 NAME 'acmeToken' \
                  EQUALITY caseExactMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 )\n";
    shell.folder.write("acme.schema", schema);
    shell.folder.write(
        "rules",
        "rule a\non everything\nfor acmeToken\nlet anyone read\n",
    );
    let check = |args: &[&str]| shell.pando(&[&["access", "check", "rules"], args].concat());
    one_line(check(&[]), 1, &["rules:3:1: ", "acmeToken"]);
    one_line(check(&["--schema", "node"]), 1, &["rules:3:1: "]);
    shell
        .pando(&["schema", "add", "node", "acme.schema"])
        .expect(0);
    check(&["--schema", "node"]).expect(0);
    shell
        .pando(&["schema", "secret", "node", "acmeToken"])
        .expect(0);
    let open = check(&["--schema", "node"]);
    one_line(open, 1, &["anonymous", "acmeToken"]);
    let refused = shell.pando(&["access", "apply", "node", "rules"]);
    refused.expect(1).says("--force");
}

/// Writes the rules and the entries of some people, and returns the facts of tests about them.
fn with_facts(shell: &Shell) -> String {
    shell.folder.write("rules", RULES);
    let people = format!("ou=People,{SUFFIX}");
    shell.folder.write(
        "staff.ldif",
        format!(
            "dn: uid=ada,{people}\nobjectClass: inetOrgPerson\nuid: ada\ncn: Ada\nsn: Ada\n\
             mail: ada@example.com\nmanager: uid=bob,{people}\n\n\
             dn: cn=hr,ou=Groups,{SUFFIX}\nobjectClass: groupOfNames\ncn: hr\n\
             member: cn=inner,ou=Groups,{SUFFIX}\n\n\
             dn: cn=inner,ou=Groups,{SUFFIX}\nobjectClass: groupOfNames\ncn: inner\n\
             member: uid=eve,{people}\n"
        ),
    );
    format!(
        "# who is who\nname ada \"uid=ada,{people}\"\nname bob \"uid=bob,{people}\"\n\
         name eve \"uid=eve,{people}\"\nname carl \"uid=carl,{people}\"\n\
         entries staff.ldif\nmember carl of \"cn=hr,ou=Groups,{SUFFIX}\"\n\n"
    )
}

#[test]
fn rules_are_tested_without_a_server() {
    let shell = Shell::new();
    let facts = with_facts(&shell);
    let right = "\
ada, write, ada, mail -> allowed by staff
ada, write, ada, telephoneNumber -> refused by staff
bob from 10.1.2.3, read, ada, mail, telephoneNumber -> allowed
bob, read, ada, mail -> refused
eve via tls, write, ada, mail -> allowed
carl via tls, write, ada, mail -> allowed
eve, read, ada, mail -> refused
eve, read, ada, cn -> allowed by rest
eve, add-value, ada, cn value \"Ada L.\" -> refused
anonymous, authenticate, ada, userPassword -> allowed by passwords
";
    shell.folder.write("tests", format!("{facts}{right}"));
    let passed = shell.pando(&["access", "test", "rules", "tests", "--strict"]);
    assert_eq!(passed.expect(0).out, "10 tests: 0 failed\n");

    let wrong = "eve, write, ada, mail, cn -> allowed\nada, read, ada, mail -> allowed by rest\n";
    shell.folder.write("wrong", format!("{facts}{wrong}"));
    let failed = shell.pando(&["access", "test", "rules", "wrong"]).expect(1);
    let lines: Vec<&str> = failed.out.lines().collect();
    let entry = format!("\"uid=ada,ou=people,{SUFFIX}\"");
    let first = format!(
        "wrong:9: add-value of mail of {entry}: expected allowed, got refused by rule staff, which \
         has no clause for it"
    );
    assert_eq!(lines[0], first);
    assert_eq!(lines.len(), 6, "{}", failed.out);
    let by = "expected allowed by rule rest, got allowed by rule staff: let self read, write mail";
    assert!(lines[4].contains(by), "{}", failed.out);
    assert_eq!(lines[5], "2 tests: 2 failed");
    failed.says("rules:9: rule passwords decides no test");
}

#[test]
fn decisions_are_explained() {
    let shell = Shell::new();
    let facts = with_facts(&shell);
    shell.folder.write("tests", facts);
    let explain = |question: &str| {
        let args = ["access", "explain", "rules", question, "--facts", "tests"];
        shell.pando(&args)
    };
    let refused = explain("eve, read, ada, mail").expect(0).out;
    assert!(refused.contains(": refused\n"), "{refused}");
    assert!(
        refused.contains("matches only if the subject is: via tls\n"),
        "{refused}"
    );
    let allowed = explain("ada, read, ada, mail").expect(0).out;
    assert!(
        allowed.contains("write mail: gives the right  <- decides\n"),
        "{allowed}"
    );
    let unknown = explain("dan, read, ada, mail");
    one_line(unknown, 1, &["question:1: ", "\"dan\""]);
}

#[test]
fn mistakes_in_tests_have_their_place() {
    let shell = Shell::new();
    shell.folder.write("rules", RULES);
    for (line, parts) in [
        ("ada, read, \"dc=a\", cn -> allowed", ["t:2:1: ", "\"ada\""]),
        (
            "users, read, \"dc=a\", cn -> allowed",
            ["t:2:1: ", "\"users\""],
        ),
        (
            "anonymous, raed, \"dc=a\", cn -> allowed",
            ["t:2:12: ", "\"raed\""],
        ),
        ("anonymous, read, \"dc\", cn -> allowed", ["t:2:18: ", "dc"]),
        (
            "anonymous, read, \"dc=a\", cm -> allowed",
            ["t:2:26: ", "\"cm\""],
        ),
        (
            "anonymous, use, \"dc=a\", sing -> allowed",
            ["t:2:25: ", "sync"],
        ),
        (
            "anonymous, read, \"dc=a\", cn -> yes",
            ["t:2:32: ", "\"refused\""],
        ),
        (
            "anonymous via tsl, read, \"dc=a\", cn -> refused",
            ["t:2:15: ", "scram"],
        ),
        (
            "anonymous at \"8\", read, \"dc=a\", cn -> refused",
            ["t:2:14: ", "Mon 08:30"],
        ),
        (
            "anonymous, read, \"dc=a\", cn -> refused by",
            ["t:2:42: ", "rule"],
        ),
        ("entries none.ldif", ["none.ldif", "No such file"]),
    ] {
        shell.folder.write("t", format!("# tests\n{line}\n"));
        one_line(shell.pando(&["access", "test", "rules", "t"]), 1, &parts);
    }
}

#[test]
fn rules_of_other_servers_are_imported() {
    let shell = Shell::with_node();
    shell.folder.write(
        "acl.conf",
        "access to attrs=userPassword\n  by self write\n  by anonymous auth\n  by * none\n",
    );
    let database = format!("database mdb\nsuffix \"{SUFFIX}\"\n");
    let conf = format!("include /etc/ldap/schema/core.schema\n{database}include acl.conf\n");
    shell.folder.write("slapd.conf", &conf);
    let import = |args: &[&str]| shell.pando(&[&["access", "import"], args].concat());
    let carried = import(&["--slapd", "slapd.conf", "--output", "rules"]).expect(0);
    let carried = carried.says("clauses: 3 carried, 0 approximated, 0 impossible");
    assert!(!carried.err.contains("core.schema"), "{}", carried.err);
    shell
        .folder
        .write("lost", format!("{conf}include lost.conf\n"));
    let lost = import(&["--slapd", "lost"]).expect(4);
    lost.says("impossible: include lost.conf");
    assert!(shell.folder.read("rules").contains("rule slapd-1\n"));
    let test = "name a \"uid=a,dc=example,dc=com\"\na, write, a, userPassword -> allowed\n";
    shell.folder.write("tests", test);
    shell.pando(&["access", "test", "rules", "tests"]).expect(0);
    // The administrator's own rules lead every imported set.
    shell.pando(&["access", "apply", "node", "rules"]).expect(0);

    shell.folder.write("excerpt", "access to * by * read\n");
    let narrower = import(&["--slapd", "excerpt", "--suffix", SUFFIX]).expect(3);
    assert!(
        narrower.out.contains(&format!("on subtree \"{SUFFIX}\"")),
        "{}",
        narrower.out
    );
    let refused = import(&["--slapd", "slapd.conf", "--suffix", SUFFIX]);
    one_line(refused, 2, &["--suffix", "database mdb"]);

    let sets = "dn: olcDatabase={1}mdb,cn=config\nolcDatabase: {1}mdb\n\
                olcAccess: {0}to * by set=\"user & [cn=a]\" write by * none\n";
    shell.folder.write("config.ldif", sets);
    let impossible = import(&["--olc", "config.ldif", "--suffix", SUFFIX]).expect(4);
    assert!(
        impossible.err.contains("impossible: to * by set="),
        "{}",
        impossible.err
    );
    assert!(
        impossible.out.contains(&format!("on subtree \"{SUFFIX}\"")),
        "{}",
        impossible.out
    );

    let aci = format!(
        "dn: {SUFFIX}\naci: (targetattr = \"cn\")(version 3.0; acl \"a\"; allow (read, search, \
         compare) userdn = \"ldap:///all\";)\n"
    );
    shell.folder.write("aci.ldif", aci);
    let carried = import(&["--aci", "aci.ldif"]).expect(0);
    assert!(carried.out.contains("then gather"), "{}", carried.out);
    one_line(import(&["--aci", "rules"]), 1, &["rules"]);
    import(&[]).expect(2);
}

#[test]
fn costs_of_rules_are_shown() {
    let shell = Shell::with_node();
    shell.folder.write("rules", RULES);
    let cost = |args: &[&str]| shell.pando(&[&["access", "cost"], args].concat());
    let told = cost(&["rules"]).expect(0).out;
    for line in [
        "rule staff: at most 8 steps\n",
        "  let self read, write mail: for each entry (the entry's name)\n",
        "  let users read: once for a subject (who asks)\n",
        "3 rules: at most 16 steps for a right to one entry\n",
    ] {
        assert!(told.contains(line), "{told}");
    }
    let built_in = cost(&["node"]).expect(0);
    assert!(built_in.err.contains("the built-in ones decide"));
    shell.pando(&["access", "apply", "node", "rules"]).expect(0);
    assert_eq!(cost(&["node"]).expect(0).out, told);
    let manager = "rule a\non everything\nlet manager read\n";
    shell.folder.write("manager", manager);
    cost(&["manager"])
        .expect(0)
        .says("no search has one answer");
    let told: serde_json::Value =
        serde_json::from_str(&cost(&["manager", "--json"]).expect(0).out).unwrap();
    assert_eq!(told["rules"][0]["divides_every_search"], true);
    assert_eq!(told["steps"], 4);
    one_line(cost(&["missing"]), 1, &["missing"]);
    one_line(cost(&[]), 2, &["folder"]);
}
