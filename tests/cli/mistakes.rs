//! Common mistakes of users, and the messages about them.

use kit::SUFFIX;

use super::{Shell, one_line};

#[test]
fn wrong_words() {
    let shell = Shell::new();
    let nothing = shell.pando(&[]).expect(2);
    assert!(nothing.err.contains("Usage:"), "{nothing:?}");
    shell.pando(&["sreve", "x"]).expect(2).says("serve");
    shell.pando(&["serve"]).expect(2).says("<DIR>");
    shell
        .pando(&["export", "x", "--no-such-flag"])
        .expect(2)
        .says("--no-such-flag");
    shell.pando(&["init", "x"]).expect(2).says("--suffix");
}

#[test]
fn init_in_the_wrong_place() {
    let shell = Shell::with_node();
    shell.folder.write("password", "a password\n");
    let again = [
        "init",
        "node",
        "--suffix",
        SUFFIX,
        "--admin-password-file",
        "password",
    ];
    one_line(shell.pando(&again), 1, &["node", "empty"]);
    let bad = [
        "init",
        "bad",
        "--suffix",
        "no name",
        "--admin-password-file",
        "password",
    ];
    one_line(shell.pando(&bad), 2, &["no name"]);
    let unknown = [
        &again[..1],
        &["bad"],
        &again[2..],
        &["--index", "noSuchType"],
    ]
    .concat();
    one_line(shell.pando(&unknown), 2, &["noSuchType"]);
    assert!(
        !shell.folder.join("bad").exists(),
        "nothing half made is left behind"
    );
    let missing = [
        "init",
        "new",
        "--suffix",
        SUFFIX,
        "--admin-password-file",
        "nowhere",
    ];
    one_line(shell.pando(&missing), 1, &["nowhere"]);
    // There is no terminal for a prompt.
    one_line(
        shell.pando(&["init", "new", "--suffix", SUFFIX]),
        2,
        &["PANDO_ADMIN_PASSWORD"],
    );
}

#[test]
fn folders_without_a_node() {
    let shell = Shell::new();
    shell.folder.write("a.ldif", "");
    for args in [
        &["serve", "nowhere"][..],
        &["check", "nowhere"],
        &["export", "nowhere"],
        &["import", "nowhere", "a.ldif"],
        &["index", "status", "nowhere"],
        &["schema", "show", "nowhere"],
    ] {
        one_line(shell.pando(args), 1, &["nowhere", "pando init"]);
    }
}

#[test]
fn settings_errors_name_file_line_and_setting() {
    let shell = Shell::with_node();
    let check = |text: &str, parts: &[&str]| {
        shell.folder.write("node/pando.toml", text);
        one_line(shell.pando(&["serve", "node"]), 2, parts);
    };
    check(
        "listen = [\"ldap://127.0.0.1:0\"]\nlisten_on = 1\n",
        &["pando.toml:2", "listen_on"],
    );
    check(
        "listen = [\"http://127.0.0.1:0\"]\n",
        &["pando.toml:1", "listen", "http"],
    );
    check(
        "\n[threads]\nserving = \"many\"\n",
        &["pando.toml:3", "threads.serving", "many"],
    );
    check(
        "[log]\nlevel = \"loud=very\"\n",
        &["pando.toml:2", "log.level"],
    );
    check("listen = [\n", &["pando.toml:"]);
    check(
        "[tls]\ncertificate = \"a.pem\"\n",
        &["pando.toml", "tls.key"],
    );
}

#[test]
fn listeners_that_cannot_be() {
    let shell = Shell::with_node();
    let listen = |url: &str| shell.pando(&["serve", "node", "--listen", url]);
    one_line(listen("http://127.0.0.1:0"), 2, &["http"]);
    one_line(listen("ldap://127.0.0.1:70000"), 2, &["70000"]);
    one_line(listen("ldaps://127.0.0.1:0"), 2, &["tls.certificate"]);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("loopback has free ports");
    let url = format!("ldap://{}", taken.local_addr().expect("bound"));
    one_line(listen(&url), 1, &[&url[7..]]);
}

#[test]
fn one_process_serves_a_folder() {
    let mut pando = kit::Pando::start();
    let answer = pando.run_on_node(&["serve"], &["--listen", "ldap://127.0.0.1:0"]);
    one_line(answer, 1, &["in use"]);
    assert!(pando.process().is_alive());
    pando
        .client()
        .search(SUFFIX, protocol::Scope::BaseObject, "(dc=*)", &[])
        .only();
}

#[test]
fn files_that_cannot_be_read() {
    let shell = Shell::with_node();
    one_line(
        shell.pando(&["import", "node", "nowhere.ldif"]),
        1,
        &["nowhere.ldif"],
    );
    one_line(
        shell.pando(&["generate", "nowhere.template"]),
        1,
        &["nowhere.template"],
    );
    shell
        .folder
        .write("bad.schema", "attributetype ( 1.2.3 NAME 'x'\n  SYNTAX )\n");
    one_line(
        shell.pando(&["schema", "check", "bad.schema"]),
        1,
        &["bad.schema:"],
    );
    shell
        .folder
        .write("bad.template", "branch: dc=x\nsubordinateTemplate: y:1\n");
    let answer = shell.pando(&["generate", "bad.template"]);
    one_line(answer, 1, &["bad.template", "y"]);
    shell.folder.write("junk.ldif", "this is no LDIF\n");
    shell
        .pando(&["import", "node", "junk.ldif"])
        .expect(1)
        .says("rejects");
    let rejects = shell.folder.read("node/pando-rejects.ldif");
    assert!(
        rejects.contains("junk.ldif") && rejects.contains("this is no LDIF"),
        "{rejects}"
    );
}

#[test]
fn names_that_mean_nothing() {
    let shell = Shell::with_node();
    one_line(
        shell.pando(&["index", "add", "node", "noSuchType"]),
        1,
        &["noSuchType"],
    );
    one_line(
        shell.pando(&["index", "add", "node", "cn", "wonderful"]),
        2,
        &["wonderful"],
    );
    one_line(
        shell.pando(&["schema", "show", "node", "noSuchType"]),
        1,
        &["noSuchType"],
    );
    one_line(
        shell.pando(&["export", "node", "ou=Nowhere,dc=example,dc=com"]),
        1,
        &["Nowhere"],
    );
    one_line(shell.pando(&["export", "node", "no name"]), 2, &["no name"]);
    one_line(
        shell.pando(&["export", "node", "--filter", "(uid=ada"]),
        2,
        &["(uid=ada"],
    );
    let args = ["passwd", "--scheme", "{ROT13}", "--password-file", "-"];
    one_line(shell.pando_with_input(&args, "x\n"), 2, &["{ROT13}"]);
    one_line(shell.pando(&["bench", "wonderful"]), 2, &["wonderful"]);
    let answer = shell.pando(&["bench", "search", "--url", "ldap://127.0.0.1:1"]);
    assert_eq!(answer.status, 1, "{answer:?}");
    assert!(answer.err.contains("127.0.0.1:1"), "{answer:?}");
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let shell = Shell::new();
    let template = "branch: dc=x\nsubordinateTemplate: unit:1000000\n\n\
        template: unit\nrdnAttr: ou\nobjectClass: organizationalUnit\nou: <sequential>\n";
    shell.folder.write("many.template", template);
    let program = kit::pando::program().to_string_lossy().into_owned();
    let path = shell
        .folder
        .join("many.template")
        .to_string_lossy()
        .into_owned();
    let script = "set -o pipefail; \"$1\" generate \"$2\" | head -n 1";
    let answer = kit::tools::run("bash", &["-c", script, "bash", &program, &path], "");
    assert!(!answer.err.contains("pando:"), "{answer:?}");
    assert_eq!(answer.out.lines().count(), 1);
    answer.expect(0);
}

#[test]
fn messages_name_what_they_are_about() {
    let shell = Shell::with_node();
    shell.folder.write("password", "a password\n");
    let nobody = format!("uid=nobody,{SUFFIX}");
    let passwd = ["passwd", "node", &nobody, "--password-file", "password"];
    one_line(shell.pando(&passwd), 1, &[&nobody, "noSuchObject"]);
    let secure = kit::Secure::start();
    let answer = shell.pando(&["status", "--url", &secure.url]);
    assert!(
        answer.out.contains("is not trusted; name it") && answer.out.contains("--ca"),
        "{answer:?}"
    );
}

#[test]
fn options_without_an_effect_are_refused() {
    let shell = Shell::with_node();
    shell.folder.write("a.ldif", "");
    let define = ["import", "node", "a.ldif", "--define", "A=1"];
    shell.pando(&define).expect(2).says("--template");
    one_line(
        shell.pando(&["import", "node", "a.ldif", "--resume"]),
        2,
        &["--resume", "no interrupted import"],
    );
    let drop = ["index", "drop", "node", "cn", "approximate"];
    one_line(shell.pando(&drop), 1, &["cn", "no approximate index"]);
    shell
        .folder
        .write("node/pando.toml", "[log]\nlevel = \"loud\"\n");
    one_line(
        shell.pando(&["serve", "node"]),
        2,
        &["pando.toml:2", "log.level", "loud"],
    );
}

#[test]
fn the_first_rejected_entries_are_named() {
    let shell = Shell::with_node();
    let bad: String = (0..5)
        .map(|at| format!("dn: cn=bad{at},{SUFFIX}\nobjectClass: nothing{at}\n\n"))
        .collect();
    shell.folder.write("bad.ldif", &bad);
    let answer = shell.pando(&["import", "node", "bad.ldif"]).expect(1);
    for at in 0..3 {
        assert!(answer.err.contains(&format!("nothing{at}")), "{answer:?}");
    }
    assert!(!answer.err.contains("nothing3"), "{answer:?}");
    assert!(answer.err.contains("rejected: bad.ldif"), "{answer:?}");
}
