//! Settings and certificates that a serving node reads again.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Stdio;

use kit::process::until;
use kit::tools::Answer;
use kit::{Client, Pando, SUFFIX, Secure, people};
use protocol::{ResultCode, Scope};
use rustix::process::Signal;

fn set(pando: &Pando, settings: &str) {
    let listen = "listen = [\"ldap://127.0.0.1:0\"]\n";
    let path = pando.node().join("pando.toml");
    fs::write(path, format!("{listen}{settings}")).expect("written");
}

/// Serves a node with three people and these settings.
fn served(settings: &str) -> Pando {
    let mut pando = Pando::init();
    set(&pando, settings);
    pando.serve_as_configured();
    let mut admin = pando.admin();
    for name in ["ada", "bob", "cy"] {
        let mut person = people::person(name);
        person.name = format!("uid={name},{SUFFIX}");
        admin.add(&person).expect_success();
    }
    pando
}

fn search(client: &mut Client) -> ResultCode {
    let found = client.search(
        SUFFIX,
        Scope::WholeSubtree,
        "(objectClass=person)",
        &["1.1"],
    );
    found.outcome.code
}

fn reload(pando: &Pando) -> Answer {
    pando.run_on_node(&["reload"], &[])
}

#[test]
fn a_hangup_reads_the_settings_again() {
    let mut pando = served("");
    let mut before = pando.client();
    assert_eq!(search(&mut before), ResultCode::SUCCESS);
    set(
        &pando,
        "[limits]\nsize_entries_max = 1\n[connections]\nper_address_max = 2\n",
    );
    pando.process().signal(Signal::HUP);
    let said = pando
        .process()
        .wait_for("the settings are read again", |line| {
            line.contains("settings and certificate read again")
                .then(|| line.to_owned())
        });
    assert!(said.contains("changed: connections, limits"), "{said}");
    // Older connections keep their limits; new ones have the new limits.
    assert_eq!(search(&mut before), ResultCode::SUCCESS);
    let mut after = pando.client();
    assert_eq!(search(&mut after), ResultCode::SIZE_LIMIT_EXCEEDED);
    assert!(pando.stop().success());
    pando.assert_clean();
}

#[test]
fn reload_tells_what_has_changed_and_what_waits() {
    let mut pando = served("");
    let unchanged = reload(&pando)
        .expect(0)
        .says("no setting has changed")
        .out
        .clone();
    assert!(!unchanged.contains("after a restart"), "{unchanged}");
    set(
        &pando,
        "allow_cleartext_binds = true\n[log]\nlevel = \"debug\"\n[threads]\nserving = 3\n",
    );
    let changed = reload(&pando).expect(0);
    changed
        .says("changed: log.level, allow_cleartext_binds")
        .says("after a restart: threads");
    // Until then the line is repeated.
    reload(&pando).expect(0).says("after a restart: threads");
    drop(pando.client());
    set(&pando, "[threads]\nserving = 3\n");
    pando.stop();
    reload(&pando).expect(1).says("no process serves the node");
}

#[test]
fn wrong_settings_leave_the_old_ones() {
    let mut pando = served("[limits]\nsize_entries_max = 1\n");
    for (wrong, said) in [
        (
            "[limits]\nsize_entries_max = -1\n",
            "pando.toml:3: limits.size_entries_max",
        ),
        ("[limits\n", "pando.toml:2"),
        ("[log]\nlavel = \"info\"\n", "lavel"),
        ("[[subject_limits]]\nentry = \"no name\"\n", "no name"),
    ] {
        set(&pando, wrong);
        reload(&pando)
            .expect(1)
            .says("the old settings stay: ")
            .says(said);
        assert_eq!(search(&mut pando.client()), ResultCode::SIZE_LIMIT_EXCEEDED);
    }
    let log = pando.process().log();
    assert!(
        log.contains("settings not read again, the old ones stay"),
        "{log}"
    );
    assert!(pando.process().is_alive());
}

#[test]
fn a_limit_survives_a_change_of_the_configuration() {
    let pando = served("");
    set(&pando, "[limits]\nsize_entries_max = 1\n");
    reload(&pando).expect(0);
    pando.run_on_node(&["index", "add"], &["title"]).expect(0);
    assert_eq!(search(&mut pando.client()), ResultCode::SIZE_LIMIT_EXCEEDED);
}

#[test]
fn only_the_administrator_reloads() {
    let pando = served("");
    let outcome = pando.client().extended(protocol::oid::RELOAD, None);
    outcome.expect(ResultCode::INSUFFICIENT_ACCESS_RIGHTS);
}

#[test]
fn a_certificate_is_read_again_at_once_and_a_wrong_one_is_refused() {
    let secure = Secure::start();
    let (node, url) = (secure.pando.node(), secure.url.clone());
    let shown = || {
        let mut openssl = std::process::Command::new("openssl");
        let at = url
            .strip_prefix("ldaps://")
            .expect("an ldaps URL")
            .trim_end_matches('/');
        openssl
            .args(["s_client", "-connect", at])
            .stdin(Stdio::null());
        kit::tools::run_command(&mut openssl, "").out
    };
    let before = shown();
    fs::write(node.join("server.pem"), "no certificate").expect("written");
    reload(&secure.pando).expect(1).says("server.pem");
    let other = Secure::start();
    for name in ["server.pem", "server.key"] {
        fs::copy(other.pando.node().join(name), node.join(name)).expect("copied");
    }
    reload(&secure.pando)
        .expect(0)
        .says("certificate read again");
    assert_ne!(part(&before), part(&shown()));
}

/// Returns the certificate in the output of `openssl s_client`.
fn part(text: &str) -> &str {
    let at = text.find("-----BEGIN CERTIFICATE").expect("a certificate");
    &text[at..text.find("-----END CERTIFICATE").expect("its end")]
}

/// The encoded request Who am I? (RFC 4532) with message id 1.
const WHO_AM_I: [u8; 32] = *b"\x30\x1e\x02\x01\x01\x77\x19\x80\x171.3.6.1.4.1.4203.1.11.3";

/// A closed log has no effect: the stop is orderly all the same.
#[test]
fn a_closed_standard_error_does_not_end_the_stop() {
    let pando = Pando::init();
    let mut command = std::process::Command::new(kit::pando::program());
    command
        .arg("serve")
        .arg(pando.node())
        .args(["--listen", "ldap://127.0.0.1:0", "--log-level", "info"])
        .stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program starts");
    let mut log = child.stderr.take().expect("piped");
    let mut heard = String::new();
    until("it listens", || {
        let mut bytes = [0; 4096];
        let count = log.read(&mut bytes).expect("the log");
        heard.push_str(&String::from_utf8_lossy(&bytes[..count]));
        heard.contains("listening on ldapi://").then_some(())
    });
    let (_, address) = heard
        .split_once("listening on ldap://")
        .expect("its address");
    let address = address.split_whitespace().next().expect("a word");
    let mut client = TcpStream::connect(address).expect("it listens");
    client.write_all(&WHO_AM_I).expect("it reads");
    let mut answer = [0; 14];
    client.read_exact(&mut answer).expect("it answers");
    drop(log);
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, Signal::TERM).expect("ours");
    let mut farewell = Vec::new();
    client.read_to_end(&mut farewell).expect("no reset");
    let notice = b"1.3.6.1.4.1.1466.20036";
    assert!(
        farewell.windows(notice.len()).any(|it| it == notice),
        "no farewell"
    );
    let status = child.wait().expect("ours");
    assert!(status.success(), "{status:?}");
    let log = pando.node().join("data/log");
    assert!(!log.exists(), "the log is not sealed");
    pando.assert_clean();
}
