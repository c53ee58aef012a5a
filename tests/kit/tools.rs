//! Debian's client tools and the program's subcommands, run as from a shell.

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
    /// Exit status; 128 + signal for a killed program, 124 for one that ran out of time.
    pub status: i32,
    /// Text of standard output.
    pub out: String,
    /// Text of standard error.
    pub err: String,
}

impl Answer {
    /// Panics with both streams unless the exit status is `status`.
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

    /// Parses standard output as LDIF entries.
    pub fn entries(&self) -> Vec<Entry> {
        ldif::parse(&self.out)
    }
}

/// Runs `program` with `input` on standard input, for two minutes at most.
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
    // A program that ends early closes its input, which is no error.
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

/// Debian's LDAP tools for one server.
#[derive(Clone)]
pub struct Tools {
    url: String,
    bind: Vec<String>,
}

impl Tools {
    /// Returns tools that connect to `url` anonymously.
    pub fn anonymous(url: &str) -> Self {
        Tools {
            url: url.to_owned(),
            bind: Vec::new(),
        }
    }

    /// Returns tools that bind as `dn` first.
    pub fn bound(url: &str, dn: &str, password: &str) -> Self {
        let bind = ["-D", dn, "-w", password].map(str::to_owned).to_vec();
        Tools {
            url: url.to_owned(),
            bind,
        }
    }

    /// Returns tools that bind as the administrator.
    pub fn admin(url: &str) -> Self {
        Self::bound(url, ADMIN, PASSWORD)
    }

    /// Runs a tool with further arguments and input.
    pub fn run(&self, tool: &str, args: &[&str], input: &str) -> Answer {
        let mut all = vec!["-x".to_owned(), "-H".to_owned(), self.url.clone()];
        all.extend(self.bind.iter().cloned());
        all.extend(args.iter().map(|&arg| arg.to_owned()));
        run(tool, &all, input)
    }

    /// Runs `ldapsearch` without comments and line folding.
    pub fn search(&self, args: &[&str]) -> Answer {
        let mut all = vec!["-LLL", "-o", "ldif_wrap=no"];
        all.extend(args);
        self.run("ldapsearch", &all, "")
    }

    /// Runs `ldapadd` with LDIF text.
    pub fn add(&self, ldif: &str) -> Answer {
        self.run("ldapadd", &[], ldif)
    }

    /// Runs `ldapmodify` with LDIF text.
    pub fn modify(&self, ldif: &str) -> Answer {
        self.run("ldapmodify", &[], ldif)
    }
}

/// Runs `postmap -q key` on an LDAP map, with a configuration folder of its own.
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
