//! The subcommands as typed in a shell: output, exit status, and messages about mistakes. Exit
//! status 2 is for invalid arguments, 1 for failures; either comes with one line that gives the
//! expected and the actual state, and the remedy.

mod access;
mod audit;
mod cluster;
mod conformance;
mod data;
mod handshakes;
mod mistakes;
mod nodes;
mod options;
mod schemas;
mod secrets;
mod shadow;
mod slapd_rules;
mod streams;
mod watch;

use std::process::Command;

use kit::tools::{self, Answer};
use kit::{Folder, Pando, SUFFIX};

/// A working folder, and the program.
struct Shell {
    folder: Folder,
}

impl Shell {
    fn new() -> Self {
        Shell {
            folder: Folder::new(),
        }
    }

    /// Runs the program; `PANDO_ADMIN_PASSWORD` is not set.
    fn pando(&self, args: &[&str]) -> Answer {
        self.pando_with_input(args, "")
    }

    fn pando_with_input(&self, args: &[&str], input: &str) -> Answer {
        let mut command = Command::new("timeout");
        command
            .args(["--kill-after=5", "120"])
            .arg(kit::pando::program())
            .args(args);
        command
            .current_dir(self.folder.path())
            .env_remove("PANDO_ADMIN_PASSWORD");
        tools::run_command(&mut command, input)
    }

    /// A node `node` in the folder.
    fn with_node() -> Self {
        let shell = Self::new();
        shell.folder.write("password", "a password\n");
        let args = [
            "init",
            "node",
            "--suffix",
            SUFFIX,
            "--admin-password-file",
            "password",
        ];
        shell.pando(&args).expect(0);
        shell
    }
}

/// Checks the exit status, and for one line that contains all of `parts`.
#[track_caller]
fn one_line(answer: Answer, status: i32, parts: &[&str]) {
    let answer = answer.expect(status);
    let lines: Vec<&str> = answer.err.lines().collect();
    assert_eq!(lines.len(), 1, "one line, please: {}", answer.err);
    for part in parts {
        assert!(lines[0].contains(part), "{part:?} is not in {:?}", lines[0]);
    }
    assert!(!lines[0].contains("panicked"), "{}", lines[0]);
}

#[test]
fn help_and_version() {
    let shell = Shell::new();
    shell.pando(&["--version"]).expect(0).says("pando 0.");
    let help = shell.pando(&["help"]).expect(0);
    for subcommand in [
        "init",
        "serve",
        "demo",
        "import",
        "migrate",
        "export",
        "generate",
        "bench",
        "conformance",
        "backup",
        "restore",
        "verify",
        "check",
        "schema",
        "access",
        "passwd",
        "index",
        "status",
        "explain",
        "completions",
    ] {
        assert!(
            help.out.contains(&format!("  {subcommand} ")),
            "{subcommand} in {}",
            help.out
        );
        let own = shell.pando(&["help", subcommand]).expect(0);
        assert!(own.out.contains("Usage: pando"), "{}", own.out);
        assert!(
            own.out.lines().all(|line| line.chars().count() <= 100),
            "{}",
            own.out
        );
    }
}

#[test]
fn completions_and_manual_pages() {
    let shell = Shell::new();
    for name in ["bash", "zsh", "fish"] {
        shell.pando(&["completions", name]).expect(0).says("pando");
    }
    shell.pando(&["man", "pages"]).expect(0);
    let page = shell.folder.read("pages/pando.1");
    assert!(page.contains(".TH"), "{page}");
    assert!(shell.folder.join("pages/pando-import.1").exists());
}

#[test]
fn sample_settings_are_those_of_init() {
    let shell = Shell::with_node();
    let sample = include_str!("../../examples/pando.toml");
    assert_eq!(
        shell.folder.read("node/pando.toml"),
        sample,
        "PANDO_TEST_REWRITE=1 cargo test -p pando-server settings writes examples/pando.toml"
    );
}

#[test]
fn demo_shows_commands_that_work() {
    let folder = Folder::new();
    let program = kit::pando::program();
    let mut command = Command::new(&program);
    command
        .args(["demo", "--listen", "ldap://127.0.0.1:0"])
        .current_dir(folder.path());
    let mut demo = kit::process::Running::start("pando demo", &mut command);
    demo.wait_for("Stop it", |line| line.contains("Stop it").then_some(()));
    let log = demo.log();
    let shown: Vec<&str> = log
        .lines()
        .filter_map(|line| line.strip_prefix("  "))
        .collect();
    assert!(shown.len() >= 4, "{log}");
    for command in shown {
        // No folder of PATH has the program: `make demo` runs it by its path.
        let answer = tools::run("sh", &["-c", command], "").expect(0);
        let finds = answer.out.contains("dn:") || answer.out.contains("operations");
        assert!(finds, "{command} shows nothing: {answer:?}");
    }
    assert!(demo.stop().success());
}

#[test]
fn demo_of_a_cluster_shows_commands_that_work() {
    let folder = Folder::new();
    let program = kit::pando::program();
    let mut command = Command::new(&program);
    command
        .args(["demo", "nodes", "--cluster", "3", "--people", "100"])
        .args(["--listen", "ldap://127.0.0.1:0"])
        .current_dir(folder.path());
    let mut demo = kit::process::Running::start("pando demo", &mut command);
    demo.wait_for("Stop all", |line| line.contains("Stop all").then_some(()));
    let log = demo.log();
    let shown: Vec<&str> = log
        .lines()
        .filter_map(|line| line.strip_prefix("  "))
        .collect();
    assert_eq!(shown.len(), 6, "{log}");
    let run = |command: &str| {
        let script = format!("cd {} && {command}", folder.path().display());
        tools::run("sh", &["-c", &script], "").expect(0).out
    };
    for command in &shown[..3] {
        assert!(run(command).contains("title: "), "{command}");
    }
    run(shown[3]);
    kit::process::until("the change at another node", || {
        run(shown[4]).contains("title: Chief").then_some(())
    });
    assert!(run(shown[5]).contains("3 nodes"));
    let nodes = ["node1", "node2", "node3"].map(|it| folder.join("nodes").join(it));
    assert!(kit::etcd::process(&nodes[0]).is_some());
    assert!(demo.stop().success());
    for node in &nodes {
        assert_eq!(kit::etcd::process(node), None, "all have ended");
    }
}

/// Makes a node with the sample people, not served.
fn node_with_people() -> Pando {
    let pando = Pando::init();
    let people: String = kit::people::sample().iter().map(kit::ldif::print).collect();
    let file = pando.folder.write("people.ldif", people);
    pando
        .run_on_node(&["import"], &[&file.to_string_lossy()])
        .expect(0);
    pando
}
