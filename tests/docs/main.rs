//! The command blocks of README.md and of every page below docs/, run as by a reader.
//!
//! Each page is a test of its own: its blocks run in order, in one shell, in a folder and
//! namespaces of the page's own, so that the ports and paths in pages are free. The output printed
//! in a page is compared with that of the command. Four kinds of comments in a page's source,
//! invisible in the rendered page, control this test:
//!
//! - `<!-- first: … -->` has commands that prepare what the page assumes;
//! - `<!-- not run: … -->` before a block gives the reason why it cannot be run here;
//! - `<!-- run with: OLD → NEW; … -->` before a block makes its work small enough for a test;
//! - `<!-- other output: … -->` before a block names the other server whose output it has.

mod expected;
mod page;
mod shell;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex};

use libtest_mimic::{Arguments, Failed, Trial};
use page::{Block, Page, Step};
use shell::Shell;

/// Number of blocks run and of blocks left out, over all pages.
#[derive(Default)]
struct Count {
    run: usize,
    /// Place and reason of each block left out.
    left_out: Vec<String>,
}

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let count = Arc::new(Mutex::new(Count::default()));
    let mut trials = vec![Trial::test("mistakes of a page are found", finds_mistakes)];
    for path in pages() {
        let name = path
            .strip_prefix(root())
            .expect("a page is in the repository")
            .display()
            .to_string();
        let count = Arc::clone(&count);
        let title = name.clone();
        trials.push(Trial::test(title, move || follow(&name, &path, &count)));
    }
    let conclusion = libtest_mimic::run(&arguments, trials);
    let mut count = count.lock().expect("no page panics while it counts");
    count.left_out.sort();
    println!(
        "{} blocks run, {} left out:",
        count.run,
        count.left_out.len()
    );
    for block in &count.left_out {
        println!("  {block}");
    }
    conclusion.exit_code()
}

/// Runs the commands of a page, and fails with every difference.
fn follow(name: &str, path: &Path, count: &Mutex<Count>) -> Result<(), Failed> {
    let text = fs::read_to_string(path).map_err(|error| format!("{name}: {error}"))?;
    let page = Page::parse(&text);
    let mut findings: Vec<String> = page
        .mistakes
        .iter()
        .map(|(line, mistake)| format!("{name}:{line}: {mistake}"))
        .collect();
    let has_commands = page.steps.iter().any(|it| it.is_run());
    let mut shell = if has_commands {
        Some(Shell::enter()?)
    } else {
        None
    };
    for step in &page.steps {
        match (step, &mut shell) {
            (Step::LeftOut { line, reason }, _) => {
                let mut count = count.lock().expect("no page panics while it counts");
                count.left_out.push(format!("{name}:{line}: {reason}"));
            }
            (Step::Prepare(block), Some(shell)) => run(shell, name, block, &mut findings),
            (Step::Run(block), Some(shell)) => {
                run(shell, name, block, &mut findings);
                count.lock().expect("no page panics while it counts").run += 1;
            }
            (_, None) => {}
        }
    }
    if findings.is_empty() {
        Ok(())
    } else {
        Err(findings.join("\n").into())
    }
}

fn run(shell: &mut Shell, name: &str, block: &Block, findings: &mut Vec<String>) {
    for command in &block.commands {
        if let Err(finding) = shell.run(command) {
            let line = command.line;
            findings.push(format!("{name}:{line}: {}\n{finding}", command.text));
        }
    }
}

/// Pages with one mistake each, which must all be found.
fn finds_mistakes() -> Result<(), Failed> {
    for text in [
        "<!-- not run: -->\n```console\n$ false\n```\n",
        "<!-- other output: -->\n```console\n$ true\n```\n",
        "<!-- not run: a reason, and no block -->\n\ntext\n",
        "<!-- run with: 10 → 1 -->\n```console\n$ true\n```\n",
        "<!-- run on: another machine -->\n",
        "```\n$ true\n```\n",
        "```console\nan output without a command\n```\n",
    ] {
        if Page::parse(text).mistakes.is_empty() {
            return Err(format!("no mistake is found in:\n{text}").into());
        }
    }
    let mut shell = Shell::enter()?;
    for (text, is_right) in [
        ("$ true", true),
        ("$ false", false),
        ("$ echo 5 KiB in 2 s\n7,301 MiB in 0.1 ms", true),
        ("$ echo 5 entries\n5 rows", false),
        ("$ echo digest 0f9b\ndigest …", true),
    ] {
        let page = Page::parse(&format!("```console\n{text}\n```\n"));
        let mut findings = Vec::new();
        for step in &page.steps {
            if let Step::Run(block) = step {
                run(&mut shell, "page", block, &mut findings);
            }
        }
        if findings.is_empty() != is_right {
            return Err(format!("{text}: {findings:?}").into());
        }
    }
    Ok(())
}

/// Returns the folder of the repository.
fn root() -> PathBuf {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    tests
        .parent()
        .expect("the tests are in the repository")
        .to_path_buf()
}

/// Returns README.md and the pages below docs/, by name. Decisions contain no commands to run.
fn pages() -> Vec<PathBuf> {
    let mut pages = vec![root().join("README.md")];
    let mut folders = vec![root().join("docs")];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder).expect("docs/ can be read");
        for entry in entries {
            let path = entry.expect("docs/ can be read").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|it| it == "md") {
                pages.push(path);
            }
        }
    }
    pages.sort();
    pages
}
