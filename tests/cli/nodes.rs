//! The subcommands `init`, `serve`, `passwd`, `schema`, `index`, `check`.

use kit::tools::{Answer, Tools};
use kit::{Pando, SUFFIX};

use super::{Shell, one_line};

/// Sets a password with `pando passwd`, by default the administrator's.
#[track_caller]
fn set_password(pando: &Pando, whose: &[&str], password: &str) {
    let file = pando.folder.write("new", format!("{password}\n"));
    let file = file.to_string_lossy();
    let args = [whose, &["--password-file", &file]].concat();
    pando.run_on_node(&["passwd"], &args).expect(0);
}

/// Returns the URL at which the node listens on this machine.
fn socket_url(pando: &Pando) -> String {
    let socket = pando.node().join("ldapi");
    format!("ldapi://{}", socket.to_string_lossy().replace('/', "%2F"))
}

/// Binds with a SASL mechanism and returns the authorization identity.
fn sasl_bind(url: &str, mechanism: &str, more: &[&str]) -> Answer {
    let args = [&["-Q", "-Y", mechanism, "-H", url][..], more].concat();
    kit::tools::run("ldapwhoami", &args, "")
}

/// Checks that the root DSE names the mechanism.
#[track_caller]
fn is_offered(url: &str, mechanism: &str) {
    let root = ["-b", "", "-s", "base", "supportedSASLMechanisms"];
    let offered = Tools::anonymous(url).search(&root).expect(0);
    offered.says(&format!("supportedSASLMechanisms: {mechanism}"));
}

#[test]
fn init_makes_a_node_to_serve() {
    let shell = Shell::with_node();
    assert!(shell.folder.join("node/data").is_dir());
    shell.pando(&["check", "node"]).expect(0).says("no problem");
    let export = shell.pando(&["export", "node"]).expect(0);
    assert_eq!(export.entries().len(), 1);
    assert_eq!(export.entries()[0].name, SUFFIX);
}

#[test]
fn init_without_base_or_with_two_suffixes() {
    let shell = Shell::new();
    shell.folder.write("password", "a password\n");
    let password = ["--admin-password-file", "password"];
    let args = [
        &["init", "bare", "--suffix", SUFFIX, "--no-base"],
        &password[..],
    ]
    .concat();
    shell.pando(&args).expect(0);
    assert_eq!(
        shell.pando(&["export", "bare"]).expect(0).entries().len(),
        0
    );
    let args = ["init", "two", "--suffix", SUFFIX, "--suffix", "o=Other"];
    shell.pando(&[&args[..], &password].concat()).expect(0);
    assert_eq!(shell.pando(&["export", "two"]).expect(0).entries().len(), 2);
}

#[test]
fn passwords_are_set_while_it_serves_and_while_it_does_not() {
    let mut pando = super::node_with_people();
    let ada = "uid=ada,ou=People,dc=example,dc=com";
    set_password(&pando, &[ada], "countess");
    pando.serve();
    let bound = |password: &str| {
        Tools::bound(&pando.url(), ada, password)
            .run("ldapwhoami", &[], "")
            .status
    };
    assert_eq!(bound("countess"), 0);
    assert_eq!(bound("ada"), 49);
    set_password(&pando, &[ada], "lady");
    assert_eq!(bound("lady"), 0);
    set_password(&pando, &[], "lady");
    Tools::bound(&pando.url(), kit::ADMIN, "lady")
        .run("ldapwhoami", &[], "")
        .expect(0);
}

#[test]
fn hashes_are_printed() {
    let shell = Shell::new();
    for scheme in ["{SSHA}", "{SSHA512}", "{ARGON2ID}", "{ARGON2}"] {
        let args = ["passwd", "--password-file", "-", "--scheme", scheme];
        let answer = shell.pando_with_input(&args, "secret\n").expect(0);
        assert!(answer.out.starts_with(scheme), "{answer:?}");
    }
}

#[test]
fn owner_is_administrator_on_the_socket() {
    let pando = Pando::start();
    let answer = sasl_bind(&socket_url(&pando), "EXTERNAL", &[]);
    answer.expect(0).says(kit::ADMIN);
}

#[test]
fn the_owner_acts_as_itself_and_as_known_entries() {
    let pando = Pando::start();
    for entry in kit::people::sample() {
        pando.admin().add(&entry).expect_success();
    }
    let url = socket_url(&pando);
    for own in [
        format!("dn:{}", kit::ADMIN),
        format!("dn:{}", kit::ADMIN.to_uppercase()),
    ] {
        let answer = sasl_bind(&url, "EXTERNAL", &["-X", &own]);
        answer.expect(0).says(kit::ADMIN);
    }
    let answer = sasl_bind(&url, "EXTERNAL", &["-X", "u:ada"]);
    answer
        .expect(0)
        .says("dn:uid=ada,ou=People,dc=example,dc=com");
    for other in ["u:nobody", "dn:cn=nobody,dc=example,dc=com", "nonsense"] {
        sasl_bind(&url, "EXTERNAL", &["-X", other]).expect(49);
    }
}

#[test]
fn users_bind_with_plain_on_the_socket() {
    let pando = Pando::start();
    for entry in kit::people::sample() {
        pando.admin().add(&entry).expect_success();
    }
    let url = socket_url(&pando);
    // libldap excludes PLAIN by default.
    let bind = |name: &str, password: &str| {
        sasl_bind(&url, "PLAIN", &["-O", "none", "-U", name, "-w", password])
    };
    bind("ada", "ada").expect(0).says("dn:uid=ada,ou=People");
    bind("u:grace", "grace").expect(0).says("dn:uid=grace");
    bind("ada", "wrong").expect(49);
    bind("nobody", "ada").expect(49);
    is_offered(&url, "PLAIN");
}

/// Binds through Debian's Cyrus SASL.
#[test]
fn users_bind_with_scram() {
    let mut pando = Pando::init();
    for mechanism in ["SCRAM-SHA-256", "SCRAM-SHA-512"] {
        let settings = format!(
            "listen = [\"ldap://127.0.0.1:0\"]\n\n[passwords]\nscheme = \"{{{mechanism}}}\"\n"
        );
        std::fs::write(pando.node().join("pando.toml"), settings).expect("written");
        pando.serve_as_configured();
        let mut admin = pando.admin();
        for entry in kit::people::sample() {
            admin.add(&entry);
        }
        let ada = format!("uid=ada,ou=People,{}", kit::SUFFIX);
        let change = [kit::client::Modification::replace(
            "userPassword",
            &["secret"],
        )];
        admin.modify(&ada, &change).expect_success();
        let kept = admin.read(&ada).expect("ada is there").text("userPassword");
        assert!(kept.starts_with(&format!("{{{mechanism}}}")), "{kept}");
        let url = pando.url();
        let bind =
            |name: &str, password: &str| sasl_bind(&url, mechanism, &["-U", name, "-w", password]);
        bind("ada", "secret").expect(0).says("dn:uid=ada,ou=People");
        bind("u:ada", "secret").expect(0);
        for (name, password) in [("ada", "wrong"), ("edsger", "secret"), ("nobody", "secret")] {
            bind(name, password).expect(49);
        }
        // A simple bind is verified against the same value.
        pando.client().bind(&ada, "secret").expect_success();
        let refused = pando.client().bind(&ada, "wrong");
        refused.expect(protocol::ResultCode::INVALID_CREDENTIALS);
        is_offered(&url, mechanism);
        pando.stop();
    }
}

#[test]
fn schema_is_shown_and_extended() {
    let shell = Shell::with_node();
    let schema = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/mail.schema");
    shell
        .pando(&["schema", "show", "node", "inetOrgPerson"])
        .expect(0)
        .says("'inetOrgPerson'");
    shell.pando(&["schema", "check", schema]).expect(0);
    shell.pando(&["schema", "add", "node", schema]).expect(0);
    shell
        .pando(&["schema", "show", "node", "maildrop"])
        .expect(0)
        .says("'maildrop'");
    // Adding a schema file again succeeds.
    shell.pando(&["schema", "add", "node", schema]).expect(0);
    shell.folder.write(
        "other.schema",
        "attributetype ( 1.3.6.1.4.1.32473.1.1.2 NAME 'maildrop'\n\
         \tSYNTAX 1.3.6.1.4.1.1466.115.121.1.27 )\n",
    );
    let answer = shell.pando(&["schema", "add", "node", "other.schema"]);
    one_line(answer, 1, &["maildrop"]);
}

#[test]
fn schema_files_of_openldap_are_read() {
    let shell = Shell::with_node();
    for name in [
        "java",
        "corba",
        "ppolicy",
        "dyngroup",
        "misc",
        "openldap",
        "collective",
    ] {
        let path = format!("/etc/ldap/schema/{name}.schema");
        if std::path::Path::new(&path).exists() {
            shell.pando(&["schema", "check", &path]).expect(0);
        }
    }
}

#[test]
fn indexes_come_and_go() {
    let shell = Shell::with_node();
    shell
        .pando(&["index", "status", "node"])
        .expect(0)
        .says("objectClass");
    shell
        .pando(&["index", "add", "node", "description", "equality,substring"])
        .expect(0);
    shell
        .pando(&["index", "status", "node"])
        .expect(0)
        .says("description");
    shell
        .pando(&["index", "rebuild", "node", "description"])
        .expect(0);
    shell
        .pando(&["index", "status", "node"])
        .expect(0)
        .says("equality,substring");
    // Kinds are added to the present ones, and dropped one by one.
    let kinds = |now: &str| {
        let status = shell.pando(&["index", "status", "node"]).expect(0).out;
        let mut lines = status.lines();
        let own = lines.find(|it| it.starts_with("description"));
        let own = own.unwrap_or_default().split_whitespace().nth(1);
        assert_eq!(own, Some(now), "{status}");
    };
    for (action, given, now) in [
        ("add", "presence", "equality,presence,substring"),
        ("drop", "equality,presence", "substring"),
    ] {
        shell
            .pando(&["index", action, "node", "description", given])
            .expect(0);
        kinds(now);
    }
    shell.pando(&["check", "node"]).expect(0);
    shell
        .pando(&["index", "drop", "node", "description"])
        .expect(0);
    let answer = shell.pando(&["index", "rebuild", "node", "description"]);
    answer.expect(1).says("pando index status");
    let status = shell.pando(&["index", "status", "node"]).expect(0);
    assert!(!status.out.contains("description"), "{}", status.out);
    shell.pando(&["check", "node"]).expect(0);
}

#[test]
fn an_index_is_built_while_it_serves() {
    let mut pando = Pando::init();
    let people: String = (0..5_000)
        .map(|number| {
            let mut person = kit::people::person(&format!("p{number}"));
            person.name = format!("uid=p{number},{SUFFIX}");
            person.push("employeeNumber", format!("{number}").into_bytes());
            kit::ldif::print(&person)
        })
        .collect();
    let file = pando.folder.write("people.ldif", people);
    pando
        .run_on_node(&["import"], &[&file.to_string_lossy()])
        .expect(0);
    pando.serve();
    let kinds = "equality,presence,substring,ordering,approximate";
    pando
        .run_on_node(&["index", "add"], &["employeeNumber", kinds])
        .expect(0);
    let tools = pando.tools();
    let wait_for = |what: &str| {
        kit::process::until(what, || {
            let found = tools.search(&["-b", SUFFIX, "(employeeNumber=4711)", "uid"]);
            let count = found.expect(0).entries().len();
            assert_eq!(count, 1, "answers are right at every moment");
            let status = pando.run_on_node(&["index", "status"], &[]).expect(0).out;
            let own = |it: &&str| it.starts_with("employeeNumber") && it.contains("ready");
            status.lines().find(own).map(|_| ())
        });
    };
    wait_for("the index is ready");
    let rule = "dn: cn=number,cn=rules,cn=config\nobjectClass: pandoUnique\n\
                pandoUniqueAttribute: employeeNumber\n";
    tools.run("ldapadd", &[], rule).expect(0);
    // A rebuilt index is complete, and searches use it meanwhile.
    pando
        .run_on_node(&["index", "rebuild"], &["employeeNumber"])
        .expect(0);
    wait_for("the index is ready again");
    for (filter, count) in [
        ("(employeeNumber=4711)", 1),
        ("(employeeNumber=*71*)", 100),
        ("(employeeNumber=*)", 5_000),
        ("(employeeNumber~=4711)", 1),
    ] {
        let found = tools.search(&["-b", SUFFIX, filter, "1.1"]).expect(0);
        assert_eq!(found.entries().len(), count, "{filter}");
    }
    // A definition of another client may have another name.
    let rooms = "dn: cn=of rooms,cn=indexes,cn=config\nobjectClass: pandoIndex\n\
                 pandoIndexAttribute: roomNumber\npandoIndexKind: equality\n";
    tools.run("ldapadd", &[], rooms).expect(0);
    for action in ["rebuild", "drop"] {
        pando
            .run_on_node(&["index", action], &["roomNumber"])
            .expect(0);
    }
    pando.stop();
    pando.assert_clean();
}

#[test]
fn prompts_say_whose_password_is_asked_for() {
    let shell = Shell::with_node();
    let program = kit::pando::program();
    // `script` gives a command a terminal.
    let typed = |command: &str, status: i32| {
        let command = format!("{} {command}", program.display());
        let folder = shell.folder.path().display();
        let line =
            format!("cd {folder} && script --quiet --return --command '{command}' /dev/null");
        kit::tools::run("sh", &["-c", &line], "secret\nsecret\n").expect(status)
    };
    typed("init another --suffix dc=acme", 0).says("Password of cn=admin,dc=acme: ");
    typed("init third --suffix dc=acme --admin cn=root,dc=acme", 0)
        .says("Password of cn=root,dc=acme: ");
    typed("passwd node", 0).says(&format!("New password of cn=admin,{SUFFIX}: "));
    let nobody = format!("uid=nobody,{SUFFIX}");
    typed(&format!("passwd node {nobody}"), 1).says(&format!("New password of {nobody}: "));
    typed("passwd", 0)
        .says("Password to hash: ")
        .says("Again: ");
}

#[test]
fn a_number_below_one_is_named_with_what_was_expected() {
    let shell = Shell::with_node();
    for command in [
        ["backup", "node", "to", "--keep", "0"],
        ["import", "node", "x", "--at-once", "0"],
    ] {
        let answer = shell.pando(&command).expect(2);
        answer.says("expected a number, at least 1, got 0");
    }
    let args = [
        "init",
        "other",
        "--suffix",
        "acme.example",
        "--admin-password-file",
        "password",
    ];
    let answer = shell.pando(&args);
    one_line(
        answer,
        2,
        &["acme.example", "expected a DN such as dc=acme,dc=example"],
    );
}
