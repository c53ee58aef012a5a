//! Debian's client tools and the program's own subcommands, run as a person runs them.

use std::ffi::OsStr;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use crate::ldif;
use crate::{ADMIN, Entry, PASSWORD};

/// Exit status and output of a program.
#[derive(Debug)]
pub struct Answer {
    /// Its exit status; 128 + signal when it was killed, 124 when it ran out of time.
    pub status: i32,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

impl Answer {
    /// Panics with everything said unless the exit status is `status`.
    #[track_caller]
    pub fn expect(self, status: i32) -> Self {
        assert_eq!(
            self.status, status,
            "\nout: {}\nerr: {}",
            self.out, self.err
        );
        self
    }

    /// Panics unless both streams together contain `text`.
    #[track_caller]
    pub fn says(self, text: &str) -> Self {
        assert!(
            self.out.contains(text) || self.err.contains(text),
            "does not say {text:?}\nout: {}\nerr: {}",
            self.out,
            self.err
        );
        self
    }

    /// Standard output as LDIF entries.
    pub fn entries(&self) -> Vec<Entry> {
        ldif::parse(&self.out)
    }
}

/// Runs `program`, ended after two minutes, with `input` on standard input.
pub fn run<S: AsRef<OsStr>>(program: impl AsRef<OsStr>, args: &[S], input: &str) -> Answer {
    let mut command = Command::new("timeout");
    command
        .args(["--kill-after=5", "120"])
        .arg(program)
        .args(args);
    command.env("LDAPNOINIT", "1").env("LC_ALL", "C.UTF-8");
    run_command(&mut command, input)
}

/// Runs a prepared command with `input` on standard input.
pub fn run_command(command: &mut Command, input: &str) -> Answer {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"));
    let mut stdin = child.stdin.take().expect("standard input is piped");
    let input = input.to_owned();
    // A program that ends early closes its input; that is its right.
    let writer = thread::spawn(move || stdin.write_all(input.as_bytes()).ok());
    let output = child
        .wait_with_output()
        .expect("the child is ours to wait for");
    writer.join().expect("writing to a pipe does not panic");
    Answer {
        status: output.status.code().unwrap_or(137),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// Debian's LDAP tools aimed at one server.
#[derive(Clone)]
pub struct Tools {
    url: String,
    bind: Vec<String>,
}

impl Tools {
    /// Tools that talk to `url` anonymously.
    pub fn anonymous(url: &str) -> Self {
        Tools {
            url: url.to_owned(),
            bind: Vec::new(),
        }
    }

    /// Tools that bind as `dn` first.
    pub fn bound(url: &str, dn: &str, password: &str) -> Self {
        let bind = ["-D", dn, "-w", password].map(str::to_owned).to_vec();
        Tools {
            url: url.to_owned(),
            bind,
        }
    }

    /// Tools that bind as the administrator.
    pub fn admin(url: &str) -> Self {
        Self::bound(url, ADMIN, PASSWORD)
    }

    /// Runs one tool with further arguments and input.
    pub fn run(&self, tool: &str, args: &[&str], input: &str) -> Answer {
        let mut all = vec!["-x".to_owned(), "-H".to_owned(), self.url.clone()];
        all.extend(self.bind.iter().cloned());
        all.extend(args.iter().map(|&arg| arg.to_owned()));
        run(tool, &all, input)
    }

    /// `ldapsearch` without comments and line folding.
    pub fn search(&self, args: &[&str]) -> Answer {
        let mut all = vec!["-LLL", "-o", "ldif_wrap=no"];
        all.extend(args);
        self.run("ldapsearch", &all, "")
    }

    /// `ldapadd` of LDIF text.
    pub fn add(&self, ldif: &str) -> Answer {
        self.run("ldapadd", &[], ldif)
    }

    /// `ldapmodify` of LDIF text.
    pub fn modify(&self, ldif: &str) -> Answer {
        self.run("ldapmodify", &[], ldif)
    }
}

/// `postmap -q key` on an LDAP map, with a configuration folder of its own.
pub fn postmap(config: &Path, map: &Path, key: &str) -> Answer {
    let args = [
        "-c",
        &config.to_string_lossy(),
        "-q",
        key,
        &format!("ldap:{}", map.display()),
    ]
    .map(str::to_owned);
    run("/usr/sbin/postmap", &args, "")
}
