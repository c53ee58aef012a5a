//! Rules about documents: paths in them exist, decisions are numbered, the changelog is kept.

use std::collections::BTreeMap;

use crate::Findings;
use crate::tree::{self, File};

/// First part of words in documents that are paths of the repository.
const REPOSITORY_FOLDERS: &[&str] = &[
    "crates/",
    "tests/",
    "docs/",
    "benches/",
    "fuzz/",
    "examples/",
    "packaging/",
    ".ci/",
];

const REQUIRED: &[&str] = &[
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "SECURITY.md",
    "STYLE.md",
    "LICENSE",
    "docs/SUMMARY.md",
];

#[test]
fn documents_exist() {
    let mut findings = Findings::of("documents");
    for path in REQUIRED {
        if !tree::root().join(path).is_file() {
            findings.add(path, "missing");
        }
    }
    findings.report();
}

#[test]
fn paths_named_in_documents_exist() {
    let mut findings = Findings::of("document-paths");
    for file in tree::files(&[".md"]) {
        // A changelog and dated results describe an older tree.
        if file.path == "CHANGELOG.md" || file.path.starts_with("benches/results/") {
            continue;
        }
        for (number, line) in file.text.lines().enumerate() {
            let place = format!("{}:{}", file.path, number + 1);
            for word in repository_paths(line) {
                if !exists(word) {
                    findings.add(&place, format!("`{word}` does not exist"));
                }
            }
            for target in link_targets(line) {
                if !link_exists(&file, target) {
                    findings.add(&place, format!("link to `{target}` leads nowhere"));
                }
            }
        }
    }
    findings.report();
}

#[test]
fn every_page_is_in_the_summary() {
    let summary = tree::read("docs/SUMMARY.md");
    let mut findings = Findings::of("summary");
    for file in tree::files(&[".md"]) {
        let Some(page) = file.path.strip_prefix("docs/") else {
            continue;
        };
        if page != "SUMMARY.md" && !summary.contains(&format!("({page})")) {
            findings.add(&file.path, "not listed in docs/SUMMARY.md");
        }
    }
    findings.report();
}

#[test]
fn decisions_have_a_number_and_a_status() {
    let mut findings = Findings::of("adr");
    let mut numbers: BTreeMap<String, String> = BTreeMap::new();
    for file in tree::files(&[".md"]) {
        let Some(name) = file.path.strip_prefix("docs/adr/") else {
            continue;
        };
        let number = name.get(..4).unwrap_or("").to_owned();
        if !number.chars().all(|c| c.is_ascii_digit()) || name.get(4..5) != Some("-") {
            findings.add(&file.path, "the name must be NNNN-title.md");
            continue;
        }
        if let Some(other) = numbers.insert(number, file.path.clone()) {
            findings.add(&file.path, format!("has the number of {other}"));
        }
        let has_status = file.text.lines().any(|line| {
            let line = line.trim_start_matches(['-', '*', ' ']);
            ["Proposed", "Accepted", "Superseded"].iter().any(|status| {
                line.replace("**", "")
                    .starts_with(&format!("Status: {status}"))
            })
        });
        if !has_status {
            findings.add(
                &file.path,
                "needs a line `Status: Proposed|Accepted|Superseded by …`",
            );
        }
    }
    findings.report();
}

#[test]
fn changelog_has_an_unreleased_section() {
    let text = tree::read("CHANGELOG.md");
    assert!(
        text.lines().any(|line| line == "## Unreleased"),
        "CHANGELOG.md needs a section `## Unreleased`"
    );
}

#[test]
fn lines_end_cleanly() {
    let mut findings = Findings::of("white-space");
    for file in tree::files(&[".rs", ".md", ".toml", ".schema", "Makefile", ".ci/run"]) {
        if !file.text.is_empty() && !file.text.ends_with('\n') {
            findings.add(&file.path, "no line end at the end of the file");
        }
        for (number, line) in file.text.lines().enumerate() {
            if line.ends_with([' ', '\t', '\r']) {
                let place = format!("{}:{}", file.path, number + 1);
                findings.add(&place, "white space at the end of the line");
            }
        }
    }
    findings.report();
}

/// Returns the words of `line` in backticks that look like a path of this repository.
fn repository_paths(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2).filter_map(|code| {
        let word = code.split_whitespace().next()?;
        let word = word.trim_end_matches([',', '.', ':', ';', ')']);
        let word = word.split("::").next()?;
        REPOSITORY_FOLDERS
            .iter()
            .any(|folder| word.starts_with(folder))
            .then_some(word)
    })
}

fn exists(path: &str) -> bool {
    // Of `path:line` and of patterns, the part before them must exist.
    let path = path.split([':', '*', '{', '<', '#']).next().unwrap_or(path);
    let path = if path.ends_with('/') || tree::root().join(path).exists() {
        path
    } else {
        // `docs/adr/0001` and `tests/model-*` name files by their beginning.
        return starts_something(path);
    };
    tree::root().join(path).exists()
}

fn starts_something(path: &str) -> bool {
    let (folder, start) = path.rsplit_once('/').unwrap_or((".", path));
    let Ok(entries) = std::fs::read_dir(tree::root().join(folder)) else {
        return false;
    };
    start.len() >= 3
        && entries.flatten().any(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            name.strip_prefix(start)
                .is_some_and(|rest| rest.starts_with(['-', '.']))
        })
}

/// Returns the targets of Markdown links in `line` that are not URLs.
fn link_targets(line: &str) -> impl Iterator<Item = &str> {
    line.split("](").skip(1).filter_map(|rest| {
        let target = rest.split(')').next()?;
        let local = !target.contains("://") && !target.starts_with(['#', '<']);
        (local && !target.is_empty() && !target.starts_with("mailto:")).then_some(target)
    })
}

fn link_exists(file: &File, target: &str) -> bool {
    let target = target.split('#').next().unwrap_or(target);
    let folder = tree::root().join(&file.path);
    folder
        .parent()
        .is_some_and(|folder| folder.join(target).exists())
}
