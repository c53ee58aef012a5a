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
