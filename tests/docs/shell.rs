//! A shell with namespaces of its own: network, processes, hosts, and the folders that pages write
//! to.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use kit::{Folder, pando, tools};

use crate::expected;
use crate::page;

/// Time limit of a command, and of a server until it prints its address.
const PATIENCE: Duration = Duration::from_secs(40);

/// A running shell. Dropping it ends all processes started in it.
pub struct Shell {
    child: Child,
    typed: ChildStdin,
    /// Receives a line for each finished command: its number and exit status.
    ended: Receiver<String>,
    /// Number of commands typed so far.
    count: usize,
    /// Folder that the page sees as `/mnt`, its working folder. It stands after `child`, which ends
    /// first.
    folder: Folder,
}

impl Shell {
    /// Starts a shell in a new folder.
    pub fn enter() -> Result<Self, String> {
        let folder = Folder::new();
        let unshare = namespaces()?;
        let files = crate::root().join("tests/docs/files");
        let setup = files.join("enter");
        let mut command = Command::new("unshare");
        command.args(unshare).arg("bash").arg(setup);
        command.arg(crate::root()).arg(pando::program());
        command.arg(folder.path());
        let mut child = command
            .env_clear()
            .env("PANDO_ADMIN_PASSWORD", "secret")
            .env("LC_ALL", "C.UTF-8")
            .env("PATH", format!("/mnt/bin:{}", path()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("starting `unshare`: {error}"))?;
        let typed = child.stdin.take().expect("standard input is piped");
        let said = child.stdout.take().expect("standard output is piped");
        let (sender, ended) = mpsc::channel();
        thread::spawn(move || {
            for line in BufReader::new(said).lines().map_while(Result::ok) {
                sender.send(line).ok();
            }
        });
        let shell = Shell {
            child,
            typed,
            ended,
            count: 0,
            folder,
        };
        match shell.ended.recv_timeout(PATIENCE) {
            Ok(line) if line == "ready" => Ok(shell),
            _ => Err("the shell of the page did not start: see standard error".to_owned()),
        }
    }

    /// Types a command and waits for its end, or, for a server, until it listens. An error
    /// describes the difference from the page.
    pub fn run(&mut self, command: &page::Command) -> Result<(), String> {
        let begins = |word: &&str| command.text.starts_with(*word);
        let is_server = ["pando serve", "pando demo"].iter().any(begins);
        let follows = begins(&"pando migrate") && !command.text.contains("--once");
        let mut text = command.text.clone();
        if (is_server || follows) && !text.ends_with('&') {
            // The page means another terminal.
            text += " &";
        }
        let output = self.type_in(&text, command.shows_a_failure())?;
        let mut shown = command.output.clone();
        if is_server {
            shown.push("listening on …".to_owned());
        }
        let deadline = Instant::now() + PATIENCE;
        let (_silent, pause) = mpsc::channel::<()>();
        while let Some(line) = expected::missing(&shown, &read(&output)) {
            if !text.trim_end().ends_with('&') || Instant::now() > deadline {
                return Err(format!("does not print {line:?}:\n{}", read(&output)));
            }
            pause.recv_timeout(Duration::from_millis(5)).ok();
        }
        Ok(())
    }

    /// Executes a text in the shell, and returns the file with its output. An error when the exit
    /// status is not 0, unless the command may fail.
    fn type_in(&mut self, text: &str, may_fail: bool) -> Result<PathBuf, String> {
        self.count += 1;
        let number = self.count;
        let output = self.folder.join(&format!("test/{number}.out"));
        self.folder
            .write(&format!("test/{number}"), format!("{text}\n"));
        let line = format!(
            ". /mnt/test/{number} >/mnt/test/{number}.out 2>&1 </dev/null; echo \"{number} $?\"\n"
        );
        let written = self.typed.write_all(line.as_bytes());
        written.map_err(|error| format!("the shell has ended: {error}"))?;
        match self.ended.recv_timeout(PATIENCE) {
            Ok(status) if may_fail || status == format!("{number} 0") => Ok(output),
            Ok(status) => {
                let status = status.rsplit(' ').next().unwrap_or(&status);
                Err(format!("exit status {status}:\n{}", read(&output)))
            }
            Err(_) => Err(format!("does not end:\n{}", read(&output))),
        }
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        // `--kill-child` ends the first process of the namespace, and with it all others.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Returns the output of a command so far.
fn read(output: &Path) -> String {
    String::from_utf8_lossy(&fs::read(output).unwrap_or_default()).into_owned()
}

/// Returns the options of `unshare` that this machine allows.
fn namespaces() -> Result<Vec<&'static str>, String> {
    let common = [
        "--net",
        "--mount",
        "--propagation=private",
        "--pid",
        "--fork",
        "--kill-child",
        "--mount-proc",
    ];
    let mapped = ["--user", "--map-root-user"];
    let mut said = String::new();
    for user in [&[][..], &mapped[..]] {
        let all = [user, &common[..]].concat();
        let answer = tools::run("unshare", &[&all[..], &["true"]].concat(), "");
        if answer.status == 0 {
            return Ok(all);
        }
        said += &format!("  unshare {}: {}\n", all.join(" "), answer.err.trim());
    }
    Err(format!(
        "the commands of a page run in namespaces of their own, which this machine forbids:\n{said}\
         run the test as root, or allow unprivileged user namespaces \
         (sysctl kernel.unprivileged_userns_clone=1 \
         kernel.apparmor_restrict_unprivileged_userns=0)"
    ))
}

/// Returns the search path of the test, with the folders of servers.
fn path() -> String {
    let path = std::env::var("PATH").unwrap_or_default();
    format!("{path}:/usr/sbin:/sbin")
}
