//! SASL mechanisms, spoken by Debian's Cyrus SASL below its LDAP tools.

use std::process::Command;

use kit::client::Modification;
use kit::tools::{self, Answer};
use kit::{Pando, Secure, people};

const ADA: &str = "uid=ada,ou=People,dc=example,dc=com";

/// Keeps passwords in the form that SCRAM needs.
const SCRAM: &str = "[passwords]\nscheme = \"{SCRAM-SHA-256}\"\n";

/// Adds people to a served node; ada's password is `secret`.
fn fill(pando: &Pando) {
    let mut admin = pando.admin();
    for entry in people::sample() {
        admin.add(&entry).expect_success();
    }
    let change = [Modification::replace("userPassword", &["secret"])];
    admin.modify(ADA, &change).expect_success();
}

/// Binds with a mechanism under TLS; `bound` is a setting of libldap about the channel.
fn bind_bound(server: &Secure, mechanism: &str, bound: &str, more: &[&str]) -> Answer {
    let mut command = Command::new("timeout");
    command
        .args(["--kill-after=5", "120", "ldapwhoami", "-Q", "-Y", mechanism])
        .args(["-H", &server.url])
        .args(more)
        .env("LDAPTLS_CACERT", &server.certificate)
        .env("LDAPSASL_CBINDING", bound)
        .env("LC_ALL", "C.UTF-8");
    tools::run_command(&mut command, "")
}

/// The mechanisms that the root DSE names under TLS.
fn offered(server: &Secure) -> Vec<String> {
    let mut command = Command::new("ldapsearch");
    command
        .args(["-x", "-LLL", "-H", &server.url, "-b", "", "-s", "base"])
        .arg("supportedSASLMechanisms")
        .env("LDAPTLS_CACERT", &server.certificate);
    let answer = tools::run_command(&mut command, "").expect(0);
    let lines = answer.out.lines();
    let named = lines.filter_map(|it| it.strip_prefix("supportedSASLMechanisms: "));
    named.map(str::to_owned).collect()
}

#[test]
fn scram_is_bound_to_the_channel() {
    let server = Secure::start_with(SCRAM);
    fill(&server.pando);
    let names = ["SCRAM-SHA-256-PLUS", "SCRAM-SHA-256", "PLAIN"];
    assert_eq!(offered(&server), names);
    let bind = |mechanism, bound, password| {
        bind_bound(&server, mechanism, bound, &["-U", "ada", "-w", password])
    };
    let plus = "SCRAM-SHA-256-PLUS";
    bind(plus, "tls-endpoint", "secret")
        .expect(0)
        .says("dn:uid=ada,ou=People");
    bind(plus, "tls-endpoint", "wrong").expect(49);
    // A client that binds to no channel is let in by the mechanism without -PLUS.
    bind("SCRAM-SHA-256", "none", "secret").expect(0);
    let plaintext = server.pando.url();
    let args = [
        "-Q",
        "-Y",
        "SCRAM-SHA-256",
        "-H",
        &plaintext,
        "-U",
        "ada",
        "-w",
        "secret",
    ];
    tools::run("ldapwhoami", &args, "").expect(0);
}

/// A node without TLS, with these settings and the people.
fn plaintext(settings: &str) -> Pando {
    let settings = format!("listen = [\"ldap://127.0.0.1:0\"]\n{settings}");
    let mut pando = Pando::init();
    std::fs::write(pando.node().join("pando.toml"), settings).expect("our own folder");
    pando.serve_as_configured();
    fill(&pando);
    pando
}

/// Replaces the access rules of a node.
fn apply(pando: &Pando, rules: &str) {
    let file = pando.node().join("rules");
    std::fs::write(&file, rules).expect("our own folder");
    let file = file.to_string_lossy().into_owned();
    pando.run_on_node(&["access", "apply"], &[&file]).expect(0);
}

/// Rules under which ada acts as grace.
const PROXY: &str = "rule passwords
on everything
for userPassword
let anyone authenticate

rule people
on subtree \"ou=People,dc=example,dc=com\" where (uid=grace)
let entry \"uid=ada,ou=People,dc=example,dc=com\" proxy, read
let self read

rule all
on subtree \"dc=example,dc=com\"
let users read
";

#[test]
fn clients_act_as_others_by_the_right_proxy() {
    let pando = plaintext(SCRAM);
    apply(&pando, PROXY);
    let url = pando.url();
    let bind = |password: &str, other: &str| {
        let args = ["-Q", "-Y", "SCRAM-SHA-256", "-H", &url, "-U", "ada"];
        let more = ["-w", password, "-X", other];
        tools::run("ldapwhoami", &[&args[..], &more].concat(), "")
    };
    let grace = "dn:uid=grace,ou=People";
    bind("secret", "u:grace").expect(0).says(grace);
    let by_name = "dn:UID=Grace, ou=people,dc=example,dc=com";
    bind("secret", by_name).expect(0).says(grace);
    bind("secret", "u:ada").expect(0).says("dn:uid=ada");
    // One answer to an identity that ada may not act as and to one that is not known.
    let told = "you may not act as this authorization identity, or it is not known here";
    for other in ["u:edsger", "u:nobody", "dn:cn=admin,dc=example,dc=com"] {
        bind("secret", other).expect(49).says(told);
    }
    // Who has the wrong password is told nothing of them.
    let refused = bind("wrong", "u:grace").expect(49);
    assert!(!refused.err.contains("authorization"), "{refused:?}");
}

#[test]
fn the_system_lets_its_owner_act_as_others() {
    let pando = plaintext("");
    let socket = pando
        .node()
        .join("ldapi")
        .to_string_lossy()
        .replace('/', "%2F");
    let url = format!("ldapi://{socket}");
    let args = ["-Q", "-Y", "EXTERNAL", "-H", &url];
    let whoami = |more: &[&str]| tools::run("ldapwhoami", &[&args[..], more].concat(), "");
    whoami(&[]).expect(0).says("dn:cn=admin,");
    whoami(&["-X", "u:ada"])
        .expect(0)
        .says("dn:uid=ada,ou=People");
    whoami(&["-X", "u:nobody"]).expect(49);
}

#[test]
fn rules_tell_plain_from_scram() {
    let server = Secure::start_with(SCRAM);
    fill(&server.pando);
    let rules = "rule passwords
on everything
for userPassword
let anyone authenticate

rule mail
on subtree \"ou=People,dc=example,dc=com\"
for mail
let self via scram read
let self via simple read

rule all
on subtree \"dc=example,dc=com\"
let users read
";
    apply(&server.pando, rules);
    let search = |how: &[&str]| {
        let mut command = Command::new("ldapsearch");
        command
            .args([
                "-LLL",
                "-H",
                &server.url,
                "-b",
                ADA,
                "-s",
                "base",
                "-w",
                "secret",
            ])
            .args(how)
            .arg("mail")
            .env("LDAPTLS_CACERT", &server.certificate);
        tools::run_command(&mut command, "").expect(0).out
    };
    let sasl = |name| search(&["-Q", "-Y", name, "-O", "none", "-U", "ada"]);
    assert!(sasl("SCRAM-SHA-256").contains("mail: "));
    assert!(!sasl("PLAIN").contains("mail: "));
    assert!(search(&["-x", "-D", ADA]).contains("mail: "));
}

#[test]
fn nobody_says_who_came() {
    let mut pando = plaintext("[log]\noperations = true\n[sasl]\nanonymous = true\n");
    let url = pando.url();
    let args = ["-Q", "-Y", "ANONYMOUS", "-O", "none", "-H", &url];
    tools::run("ldapwhoami", &args, "")
        .expect(0)
        .says("anonymous");
    kit::process::until("the log says who came", || {
        let log = pando.process().log();
        log.contains("dn=\"anonymous@").then_some(())
    });
    // Without the setting it is not offered.
    let without = plaintext("");
    let args = ["-Q", "-Y", "ANONYMOUS", "-O", "none", "-H", &without.url()];
    tools::run("ldapwhoami", &args, "").expect(7);
}

#[test]
fn scram_works_beside_argon2id() {
    let pando = plaintext("[passwords]\nscram_verifiers = \"{SCRAM-SHA-256}\"\n");
    let stored = pando.admin().read(ADA).expect("ada is there");
    let stored = stored.texts("userPassword").join(" ");
    assert!(stored.contains("{ARGON2ID}") && stored.contains("{SCRAM-SHA-256}"));
    let url = pando.url();
    let scram = |password: &str| {
        let args = ["-Q", "-Y", "SCRAM-SHA-256", "-H", &url, "-U", "ada"];
        tools::run("ldapwhoami", &[&args[..], &["-w", password]].concat(), "")
    };
    let simple = |password: &str| {
        tools::run(
            "ldapwhoami",
            &["-x", "-H", &url, "-D", ADA, "-w", password],
            "",
        )
    };
    scram("secret").expect(0);
    simple("secret").expect(0);
    let args = ["-x", "-H", &url, "-D", ADA, "-w", "secret", "-s", "second"];
    tools::run("ldappasswd", &args, "").expect(0);
    scram("secret").expect(49);
    simple("secret").expect(49);
    scram("second").expect(0);
    simple("second").expect(0);
}
