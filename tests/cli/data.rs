//! The subcommands `import`, `export`, `generate`, `bench`.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use kit::client::Modification;
use kit::{EnoughAtEnd, Pando, SUFFIX, ldif, people};

use super::{Shell, node_with_people, one_line};

#[test]
fn export_chooses_entries_and_attributes() {
    let pando = node_with_people();
    let export = |args: &[&str]| pando.run_on_node(&["export"], args).expect(0).entries();
    assert_eq!(export(&[]).len(), 6);
    assert_eq!(export(&["ou=People,dc=example,dc=com"]).len(), 4);
    let found = export(&["--filter", "(uid=ada)", "--attributes", "cn,mail"]);
    assert_eq!(found.len(), 1);
    let mut names: Vec<&str> = found[0]
        .attributes
        .iter()
        .map(|(name, _)| &name[..])
        .collect();
    names.sort_unstable();
    assert_eq!(names, ["cn", "mail"]);
    assert!(export(&[])[0].has("entryUUID"));
    assert!(!export(&["--no-operational"])[0].has("entryUUID"));
}

#[test]
fn export_and_import_are_inverse_in_every_compression() {
    let pando = node_with_people();
    let plain = pando.export();
    for name in ["all.ldif", "all.ldif.gz", "all.ldif.zst"] {
        let file = pando.folder.join(name).to_string_lossy().into_owned();
        pando.run_on_node(&["export"], &["-o", &file]).expect(0);
        let other = Pando::init();
        other.run_on_node(&["import"], &[&file]).expect(0);
        assert_eq!(other.export(), plain, "{name}");
        other.assert_clean();
    }
    let packed = fs::read(pando.folder.join("all.ldif.gz")).expect("just written");
    assert_eq!(packed[..2], [0x1F, 0x8B], "gzip");
}

#[test]
fn export_without_operational_attributes_can_be_added_elsewhere() {
    let pando = node_with_people();
    let text = pando
        .run_on_node(&["export"], &["--no-operational"])
        .expect(0)
        .out;
    let slapd = kit::Slapd::start();
    let tools = kit::tools::Tools::admin(&format!("ldap://{}", slapd.address()));
    // slapd has the base entry already.
    let others = ldif::parse(&text)
        .into_iter()
        .filter(|entry| entry.name != SUFFIX);
    let text: String = others.map(|entry| ldif::print(&entry)).collect();
    tools.add(&text).expect(0);
}

#[test]
fn import_reads_standard_input() {
    let shell = Shell::with_node();
    let text: String = people::sample().iter().map(ldif::print).collect();
    shell
        .pando_with_input(&["import", "node", "-"], &text)
        .expect(0);
    assert_eq!(
        shell.pando(&["export", "node"]).expect(0).entries().len(),
        6
    );
}

#[test]
fn import_rejects_bad_entries_with_line_and_reason() {
    let shell = Shell::with_node();
    let text = format!(
        "dn: ou=People,{SUFFIX}\nobjectClass: organizationalUnit\nou: People\n\n\
         dn: uid=bad,ou=People,{SUFFIX}\nobjectClass: inetOrgPerson\nuid: bad\n\n\
         dn: uid=lost,ou=People,{SUFFIX}\nobjectClass: inetOrgPerson\ncn: x\nsn: x\n\
         noSuchType: 1\n\n\
         dn: uid=good,ou=People,{SUFFIX}\nobjectClass: inetOrgPerson\nuid: good\ncn: x\nsn: x\n"
    );
    shell.folder.write("some.ldif", text);
    let args = ["import", "node", "some.ldif", "--rejects", "rejects.ldif"];
    shell.pando(&args).expect(1).says("rejects.ldif");
    let exported = shell.pando(&["export", "node"]).expect(0);
    assert_eq!(exported.entries().len(), 3);
    assert!(exported.out.contains("uid=good"));
    let rejects = shell.folder.read("rejects.ldif");
    for part in ["uid=bad", "uid=lost", "noSuchType", "5", "9"] {
        assert!(rejects.contains(part), "{part:?} in {rejects}");
    }
    assert!(
        rejects.lines().any(|line| line.starts_with('#')),
        "reasons are comments: {rejects}"
    );
    // The mended file can be imported as it is.
    let mended = rejects
        .replace("noSuchType", "title")
        .replace("uid: bad\n", "cn: b\nsn: b\n");
    shell.folder.write("mended.ldif", mended);
    shell.pando(&["import", "node", "mended.ldif"]).expect(0);
    assert_eq!(
        shell.pando(&["export", "node"]).expect(0).entries().len(),
        5
    );
}

#[test]
fn the_rejects_file_can_be_imported_where_it_is() {
    let shell = Shell::with_node();
    let entry = |name: &str, class: &str| {
        format!("dn: ou={name},{SUFFIX}\nobjectClass: {class}\nou: {name}\n\n")
    };
    shell
        .folder
        .write("some.ldif", entry("one", "wrong") + &entry("two", "wrong"));
    shell.pando(&["import", "node", "some.ldif"]).expect(1);
    let (first, second) = ("node/pando-rejects.ldif", "node/pando-rejects-2.ldif");
    // A failed import leaves no database.
    shell.pando(&["import", "node", "nowhere.ldif"]).expect(1);
    // One of the mistakes is mended.
    let mend =
        |text: &str| text.replacen("objectClass: wrong", "objectClass: organizationalUnit", 1);
    let mended = mend(&shell.folder.read(first));
    shell.folder.write(first, &mended);
    shell
        .pando(&["import", "node", first])
        .expect(1)
        .says("1 entry imported")
        .says("pando-rejects-2.ldif has the reasons");
    assert_eq!(shell.folder.read(first), mended);
    let mended = mend(&shell.folder.read(second));
    shell.folder.write(second, mended);
    shell.pando(&["import", "node", second]).expect(0);
    assert!(shell.folder.join(first).exists());
    let exported = shell.pando(&["export", "node"]).expect(0);
    assert_eq!(exported.entries().len(), 3);
    // The import is refused before any old file is removed.
    let args = ["import", "node", "some.ldif", "--rejects", "./some.ldif"];
    one_line(shell.pando(&args), 2, &["--rejects ./some.ldif"]);
    assert!(shell.folder.join("some.ldif").exists());
}

#[test]
fn import_waits_for_nobody() {
    let mut pando = node_with_people();
    pando.serve();
    let file = pando.folder.join("people.ldif");
    let answer = pando.run_on_node(&["import"], &[&file.to_string_lossy()]);
    one_line(answer, 1, &["in use"]);
}

#[test]
fn a_served_node_is_checked_while_it_changes() {
    let mut pando = node_with_people();
    pando.serve();
    let mut admin = pando.admin();
    let unit = people::unit("unit");
    admin.add(&unit).expect_success();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let (pando, done) = (&pando, &done);
        let _ends = EnoughAtEnd(done);
        scope.spawn(move || {
            for count in 0_u32.. {
                if done.load(Ordering::Relaxed) {
                    return;
                }
                let change = Modification::replace("description", &[&count.to_string()]);
                admin.modify(&unit.name, &[change]).expect_success();
            }
        });
        for _ in 0..5 {
            let checked = pando.run_on_node(&["check"], &[]).expect(0);
            checked.says("no problem found");
        }
    });
}

const TEMPLATE: &str = "define suffix=dc=example,dc=com\n\
    define Count=100\n\n\
    branch: ou=People,[suffix]\nsubordinateTemplate: person:[Count]\n\n\
    template: person\nrdnAttr: uid\nobjectClass: inetOrgPerson\n\
    uid: user.<sequential:1>\ncn: <first> <last>\nsn: <random:alpha:8>\n";

#[test]
fn generated_entries_depend_on_seed_and_number_only() {
    let shell = Shell::new();
    shell.folder.write("people.template", TEMPLATE);
    let generate = |args: &[&str]| {
        let all = [&["generate", "people.template"], args].concat();
        shell.pando(&all).expect(0).out
    };
    let whole = generate(&[]);
    assert_eq!(ldif::parse(&whole).len(), 101);
    assert_eq!(generate(&[]), whole);
    assert_ne!(generate(&["--seed", "7"]), whole);
    let parts = [["0", "40"], ["40", "41"], ["41", "101"]];
    let joined: String = parts
        .map(|[from, to]| generate(&["--from", from, "--to", to]))
        .concat();
    assert_eq!(
        ldif::content(&ldif::parse(&joined)),
        ldif::content(&ldif::parse(&whole))
    );
    assert_eq!(ldif::parse(&generate(&["--define", "Count=5"])).len(), 6);
}

#[test]
fn generated_and_imported_templates_agree() {
    let shell = Shell::with_node();
    shell.folder.write("people.template", TEMPLATE);
    let text = shell.pando(&["generate", "people.template"]).expect(0).out;
    shell
        .pando(&["import", "node", "--template", "people.template"])
        .expect(0);
    let exported = shell.pando(&["export", "node"]).expect(0).entries();
    let exported: Vec<_> = exported
        .into_iter()
        .filter(|entry| entry.name != SUFFIX)
        .collect();
    assert_eq!(ldif::content(&exported), ldif::content(&ldif::parse(&text)));
}

/// Returns the first value of an attribute of each entry, sorted.
fn firsts(text: &str, attribute: &str) -> Vec<String> {
    let entries = ldif::parse(text).into_iter();
    let values = entries.filter_map(|it| it.texts(attribute).into_iter().next());
    let mut values: Vec<String> = values.collect();
    values.sort();
    values
}

#[test]
fn templates_of_slamd_count_as_they_do_there() {
    let shell = Shell::with_node();
    let template = "branch: ou=People,dc=example,dc=com\nsubordinateTemplate: T:2\n\n\
                    template: T\nrdnAttr: cn\nobjectClass: person\nsn: x\n\
                    cn: u<sequential:5>-<sequential:5>\n";
    shell.folder.write("slamd.template", template);
    let own = shell.pando(&["generate", "slamd.template"]).expect(0).out;
    assert_eq!(firsts(&own, "cn"), ["u5-5", "u6-6"]);
    let compat = ["generate", "slamd.template", "--slamd-compat"];
    let shared = shell.pando(&compat).expect(0).out;
    assert_eq!(firsts(&shared, "cn"), ["u5-6", "u7-8"]);
    let import = [
        "import",
        "node",
        "--template",
        "slamd.template",
        "--slamd-compat",
    ];
    shell.pando(&import).expect(0);
    let exported = shell.pando(&["export", "node"]).expect(0).out;
    assert_eq!(firsts(&exported, "cn"), ["u5-6", "u7-8"]);
}

#[test]
fn values_from_files_are_read_only_when_asked_for() {
    let shell = Shell::with_node();
    shell.folder.write("the motto", "from a file");
    let url = format!("file://{}/the%20motto", shell.folder.path().display());
    let entry = |name: &str, value: &str| {
        format!("dn: ou={name},{SUFFIX}\nobjectClass: organizationalUnit\nou: {name}\n{value}\n\n")
    };
    let given = entry("read", &format!("description:< {url}"));
    shell
        .folder
        .write("some.ldif", given + &entry("plain", "l: here"));
    let import = ["import", "node", "some.ldif", "--rejects", "rejects.ldif"];
    shell.pando(&import).expect(1);
    assert!(shell.folder.read("rejects.ldif").contains("--file-urls"));
    let allowed = ["import", "node", "rejects.ldif", "--file-urls"];
    shell.pando(&allowed).expect(0);
    let exported = shell.pando(&["export", "node"]).expect(0).out;
    assert_eq!(firsts(&exported, "description"), ["from a file"]);
    let missing = entry("missing", "description:< file:///no/such/file");
    shell.folder.write("missing.ldif", missing);
    shell
        .pando(&["import", "node", "missing.ldif", "--file-urls"])
        .expect(1);
    assert_eq!(
        shell.pando(&["export", "node"]).expect(0).entries().len(),
        3
    );
    // Paths in a template may be relative to it.
    let template = "branch: ou=made,dc=example,dc=com\ndescription:< file:the motto\n";
    shell.folder.write("made.template", template);
    let refused = shell.pando(&["generate", "made.template"]);
    one_line(refused, 1, &["line 2", "--file-urls"]);
    let made = shell.pando(&["generate", "made.template", "--file-urls"]);
    assert_eq!(firsts(&made.expect(0).out, "description"), ["from a file"]);
    let import = [
        "import",
        "node",
        "--template",
        "made.template",
        "--file-urls",
    ];
    shell.pando(&import).expect(0);
}

#[test]
fn lists_for_clients_are_generated() {
    let shell = Shell::new();
    let template = "branch: ou=People,dc=example,dc=com\nsubordinateTemplate: T:2\n\n\
                    template: T\nrdnAttr: uid\nobjectClass: inetOrgPerson\ncn: x\nsn: x\n\
                    uid: user<sequential:1>\nmail: {uid}@example.com\nuserPassword: secret\n";
    shell.folder.write("people.template", template);
    let list = |args: &[&str]| {
        let all = [&["generate", "people.template", "--format"], args].concat();
        shell.pando(&all).expect(0).out
    };
    assert_eq!(list(&["logins"]), "user1\tsecret\nuser2\tsecret\n");
    let by_mail = list(&["logins", "--attribute", "mail", "--to", "2"]);
    assert_eq!(by_mail, "user1@example.com\tsecret\n");
    for (kind, filters) in [
        ("equality", "(uid=user1)\n(uid=user2)\n"),
        ("initial", "(uid=use*)\n(uid=use*)\n"),
        ("any", "(uid=*ser*)\n(uid=*ser*)\n"),
        ("final", "(uid=*er1)\n(uid=*er2)\n"),
        ("presence", "(uid=*)\n(uid=*)\n"),
        ("greater-or-equal", "(uid>=user1)\n(uid>=user2)\n"),
    ] {
        assert_eq!(list(&["filters", "--filter-kind", kind]), filters);
    }
    assert_eq!(list(&["filters"]), "(uid=user1)\n(uid=user2)\n");
    let generate = ["generate", "people.template"];
    for (args, parts) in [
        (&["--attribute", "uid"][..], &["--format logins"][..]),
        (&["--filter-kind", "any"], &["--format filters"]),
        (
            &["--format", "logins", "--attribute", "title"],
            &["people.template", "title"],
        ),
    ] {
        one_line(shell.pando(&[&generate[..], args].concat()), 2, parts);
    }
}

#[test]
fn bench_checks_responses_and_reports() {
    let mut pando = node_with_people();
    pando.serve();
    let url = pando.url();
    let report = pando
        .folder
        .join("report.json")
        .to_string_lossy()
        .into_owned();
    let page = pando
        .folder
        .join("report.html")
        .to_string_lossy()
        .into_owned();
    let args = [
        "bench",
        "search",
        "--url",
        &url,
        "--base",
        SUFFIX,
        "--filter",
        "(uid=ada)",
        "--connections",
        "4",
        "--seconds",
        "1",
        "--warm-up",
        "0",
        "--json",
        &report,
        "--html",
        &page,
    ];
    pando.run(&args).expect(0).says("operations");
    assert!(
        pando
            .folder
            .read("report.json")
            .trim_start()
            .starts_with('{')
    );
    assert!(pando.folder.read("report.html").contains("<svg"));
    // A search without results is a failure, which the exit status reports.
    let args = [
        "bench",
        "search",
        "--url",
        &url,
        "--base",
        SUFFIX,
        "--filter",
        "(uid=nobody)",
        "--seconds",
        "1",
        "--warm-up",
        "0",
    ];
    pando.run(&args).expect(1);
}

#[test]
fn rejects_of_earlier_imports_are_never_overwritten() {
    let shell = Shell::with_node();
    for name in ["one", "two"] {
        let entry = format!("dn: ou={name},{SUFFIX}\nobjectClass: wrong\nou: {name}\n");
        shell.folder.write(&format!("{name}.ldif"), entry);
        let file = format!("{name}.ldif");
        shell.pando(&["import", "node", &file]).expect(1);
    }
    let (first, second) = ("node/pando-rejects.ldif", "node/pando-rejects-2.ldif");
    assert!(shell.folder.read(first).contains("ou=one,"));
    assert!(shell.folder.read(second).contains("ou=two,"));
    let named = ["import", "node", "two.ldif", "--rejects", first];
    one_line(shell.pando(&named), 2, &["expected a new file", first]);
    let good = format!("dn: ou=three,{SUFFIX}\nobjectClass: organizationalUnit\nou: three\n");
    shell.folder.write("good.ldif", good);
    shell.pando(&["import", "node", "good.ldif"]).expect(0);
    assert!(shell.folder.join(first).exists() && shell.folder.join(second).exists());
}

#[test]
fn a_mistyped_suffix_is_made_only_when_asked_for() {
    let shell = Shell::with_node();
    let entry = "dn: dc=exapmle,dc=com\nobjectClass: domain\ndc: exapmle\n";
    shell.folder.write("typo.ldif", entry);
    let refused = shell.pando(&["import", "node", "typo.ldif"]).expect(1);
    let said = "there is no naming context dc=exapmle,dc=com; the nearest is dc=example,dc=com; \
                --create-suffix makes it";
    refused.says(said);
    let exported = shell.pando(&["export", "node"]).expect(0).out;
    assert!(!exported.contains("exapmle"), "{exported}");
    let wanted = ["import", "node", "typo.ldif", "--create-suffix"];
    shell
        .pando(&wanted)
        .expect(0)
        .says("new naming context dc=exapmle,dc=com");
}

#[test]
fn slapd_reads_an_export() {
    let pando = node_with_people();
    let file = pando.folder.join("all.ldif");
    let path = file.to_string_lossy().into_owned();
    pando.run_on_node(&["export"], &["-o", &path]).expect(0);
    kit::Slapd::slapadd(&file).expect(0);
}

#[test]
fn a_mistyped_define_is_refused_with_the_names_there_are() {
    let shell = Shell::with_node();
    let text = format!(
        "define Count=2\nbranch: {SUFFIX}\nsubordinateTemplate: person:[Count]\n\n\
        template: person\nrdnAttr: uid\nobjectClass: account\nuid: <sequential>\n"
    );
    shell.folder.write("two.template", text);
    let wrong = ["--template", "two.template", "--define", "Cuont=3"];
    let import = [&["import", "node"][..], &wrong[..]].concat();
    one_line(shell.pando(&import), 2, &["--define cuont", "(count)"]);
    let generate = ["generate", "two.template", "--define", "Cuont=3"];
    one_line(shell.pando(&generate), 2, &["--define cuont", "(count)"]);
}

#[test]
fn examples_are_small_unless_asked_otherwise() {
    let shell = Shell::with_node();
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples");
    for name in ["oid-appendix-c", "oid-with-password", "small-entries"] {
        let template = format!("{examples}/{name}.template");
        let made = shell
            .pando(&["generate", &template, "--format", "dns"])
            .expect(0);
        assert!(made.out.lines().count() <= 10_000, "{name}");
    }
}
