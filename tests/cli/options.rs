//! Options of the command line: help and docs/reference/command-line.md list the same ones.

use std::collections::BTreeSet;

use super::Shell;

/// A subcommand and one of its options as spelled in help and page: `-o, --output FILE`.
type Found = BTreeSet<(String, String)>;

#[test]
fn the_reference_page_has_every_option() {
    let shell = Shell::new();
    let mut found = Found::new();
    let mut commands: Vec<Vec<String>> = subcommands(&shell, &[]);
    while let Some(command) = commands.pop() {
        let below = subcommands(&shell, &command);
        if below.is_empty() {
            found.extend(options(&shell, &command));
        }
        commands.extend(below);
    }
    assert!(found.len() > 100, "{}", found.len());
    let page = on_page(include_str!("../../docs/reference/command-line.md"));
    let missing: Vec<_> = found.difference(&page).collect();
    let unknown: Vec<_> = page.difference(&found).collect();
    assert!(
        missing.is_empty() && unknown.is_empty(),
        "docs/reference/command-line.md\nlacks: {missing:#?}\nhas what is no option: {unknown:#?}"
    );
}

/// Returns the help of a subcommand, with each option on one line.
fn help(shell: &Shell, command: &[String]) -> String {
    let mut words: Vec<&str> = command.iter().map(String::as_str).collect();
    words.push("-h");
    shell.pando(&words).expect(0).out
}

/// Returns the subcommands below a subcommand, as words to type.
fn subcommands(shell: &Shell, command: &[String]) -> Vec<Vec<String>> {
    let text = help(shell, command);
    let listed = text.lines().skip_while(|line| *line != "Commands:").skip(1);
    listed
        .take_while(|line| !line.is_empty())
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .map(|name| [command, &[name.to_owned()]].concat())
        .collect()
}

fn options(shell: &Shell, command: &[String]) -> Found {
    let text = help(shell, command);
    let listed = text.lines().skip_while(|line| *line != "Options:").skip(1);
    let names = listed.filter_map(|line| {
        let name = line.trim_start();
        let is_one = line.len() - name.len() <= 6 && name.starts_with('-');
        let name = name.split("  ").next()?.replace(['<', '>'], "");
        let is_help = name.ends_with("--help") || name.ends_with("--version");
        (is_one && !is_help).then(|| name.replace("...", "…"))
    });
    let command = command.join(" ");
    names.map(|name| (command.clone(), name)).collect()
}

/// Returns the options on the page, below a heading for each subcommand.
fn on_page(page: &str) -> Found {
    let mut command = "";
    let mut found = Found::new();
    for line in page.lines() {
        if let Some(heading) = line.strip_prefix("### ") {
            command = heading;
        } else if let Some(rest) = line.strip_prefix("- `-") {
            let name = rest.split('`').next().unwrap_or(rest);
            found.insert((command.to_owned(), format!("-{name}")));
        }
    }
    found
}
