//! `ldapsearch -E sync=…` and `-E ps=…` against a running server.

use kit::process::until;
use kit::tools;
use kit::{Pando, SUFFIX, people};
use std::fs::File;
use std::process::{Child, Command, Stdio};

/// An `ldapsearch` that follows changes and writes into a file.
struct Staying {
    child: Child,
    file: std::path::PathBuf,
}

impl Staying {
    fn start(pando: &Pando, name: &str, extension: &str) -> Staying {
        let file = pando.folder.join(name);
        let out = File::create(&file).expect("our own folder");
        let child = Command::new("stdbuf")
            .args([
                "-oL",
                "ldapsearch",
                "-x",
                "-H",
                &pando.url(),
                "-b",
                SUFFIX,
                "-E",
                extension,
            ])
            .args(["(objectClass=*)", "description"])
            .env("LDAPNOINIT", "1")
            .stdin(Stdio::null())
            .stdout(out)
            .stderr(Stdio::null())
            .spawn()
            .expect("ldapsearch is installed");
        Staying { child, file }
    }

    fn says(&self, text: &str) {
        self.says_times(text, 1);
    }

    fn says_twice(&self, text: &str) {
        self.says_times(text, 2);
    }

    fn says_times(&self, text: &str, times: usize) {
        until(text, || {
            let said = std::fs::read_to_string(&self.file).ok()?;
            (said.matches(text).count() >= times).then_some(())
        });
    }
}

impl Drop for Staying {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

#[test]
fn ldapsearch_shows_changes_as_they_happen() {
    let pando = Pando::start();
    let mut admin = pando.admin();
    let sync = Staying::start(&pando, "sync", "!sync=rp");
    sync.says(&format!("dn: {SUFFIX}"));
    sync.says("refresh done, switching to persist stage");
    let ps = Staying::start(&pando, "ps", "!ps=15/0/1");
    ps.says(&format!("dn: {SUFFIX}"));
    let mut people = people::unit("People");
    people.push("description", b"those we know".to_vec());
    admin.add(&people).expect_success();
    for it in [&sync, &ps] {
        it.says(&format!("dn: ou=People,{SUFFIX}"));
        it.says("description: those we know");
    }
    admin.delete(&people.name).expect_success();
    sync.says("deleted");
    // The tool prints the name alone once more for the deletion.
    ps.says_twice(&format!("dn: ou=People,{SUFFIX}"));
    ps.says("control: 2.16.840.1.113730.3.4.7");
}

#[test]
fn ldapsearch_goes_on_from_a_cookie() {
    let pando = Pando::start();
    let search = |extension: &str| {
        let url = pando.url();
        let args = ["-x", "-H", &url, "-b", SUFFIX, "-E", extension, "1.1"];
        tools::run("ldapsearch", &args, "").expect(0).out
    };
    let first = search("!sync=ro");
    let cookie = first
        .lines()
        .find_map(|line| {
            line.split_once("rid=")
                .map(|(_, rest)| format!("rid={rest}"))
        })
        .unwrap_or_else(|| panic!("no cookie in:\n{first}"));
    let csn = cookie.trim_end().to_owned();
    pando.admin().add(&people::unit("People")).expect_success();
    let second = search(&format!("!sync=ro/{csn}"));
    assert!(
        second.contains(&format!("dn: ou=People,{SUFFIX}")),
        "{second}"
    );
    assert!(!second.contains(&format!("dn: {SUFFIX}\n")), "{second}");
}
