//! Rules about Rust files: header, size, line width, banned calls, unsafe code.

use syn::visit::Visit;

use crate::Findings;
use crate::tree::{self, File};

const FILE_LINES_MAX: usize = 600;
const FUNCTION_LINES_MAX: usize = 70;
const LINE_CHARACTERS_MAX: usize = 100;

/// A call that is banned.
struct Banned {
    call: &'static str,
    instead: &'static str,
    /// Prefixes of paths where the call is allowed.
    allowed_below: &'static [&'static str],
}

const BANNED: &[Banned] = &[
    Banned {
        call: "println!(",
        instead: "tracing; only the program and tools talk to a terminal",
        allowed_below: &["crates/pando/", "benches/", "tests/", "fuzz/"],
    },
    Banned {
        call: "SystemTime::now",
        instead: "the clock that is passed in: tests must own time",
        allowed_below: &[
            "crates/replica/src/clock.rs",
            "benches/",
            "crates/pando/",
            "tests/",
        ],
    },
    Banned {
        call: "thread::sleep",
        instead: "wait for the condition, with a deadline",
        allowed_below: &[],
    },
    Banned {
        call: "todo!(",
        instead: "finish it, or refuse with unwillingToPerform",
        allowed_below: &[],
    },
    Banned {
        call: "unimplemented!(",
        instead: "finish it, or refuse with unwillingToPerform",
        allowed_below: &[],
    },
    Banned {
        call: "dbg!(",
        instead: "an assertion or a trace event",
        allowed_below: &[],
    },
    Banned {
        call: "#[ignore",
        instead: "run it, or assert today's behaviour with a note",
        allowed_below: &[],
    },
    Banned {
        call: "#[should_panic",
        instead: "return an error and assert on it",
        allowed_below: &[],
    },
];

#[test]
fn every_file_says_first_what_it_is_for() {
    let mut findings = Findings::of("header");
    for file in tree::files(&[".rs"]) {
        if !file.text.starts_with("//! ") {
            findings.add(&file.path, "the first line must start with `//! `");
        }
    }
    findings.report();
}

#[test]
fn a_module_lies_beside_the_folder_of_its_parts() {
    let mut findings = Findings::of("module-file");
    for file in tree::files(&[".rs"]) {
        let is_crate = file.path.starts_with("crates/") && file.path.contains("/src/");
        if is_crate && let Some(folder) = file.path.strip_suffix("/mod.rs") {
            findings.add(&file.path, format!("expected {folder}.rs"));
        }
    }
    findings.report();
}

#[test]
fn files_hold_one_idea() {
    let mut findings = Findings::of("file-size");
    for file in tree::files(&[".rs"]) {
        let lines = file.text.lines().filter(|line| is_code(line)).count();
        if lines > FILE_LINES_MAX {
            findings.add(
                &file.path,
                format!("{lines} lines of code, limit {FILE_LINES_MAX}"),
            );
        }
    }
    findings.report();
}

#[test]
fn functions_fit_on_a_screen() {
    let mut findings = Findings::of("function-size");
    for file in tree::files(&[".rs"]) {
        for function in functions(&file) {
            if function.lines > FUNCTION_LINES_MAX {
                findings.add(
                    &format!("{}:{}", file.path, function.name),
                    format!(
                        "{} lines of code, limit {FUNCTION_LINES_MAX}",
                        function.lines
                    ),
                );
            }
        }
    }
    findings.report();
}

/// A tuple of arguments hides their number and has no name.
#[test]
fn arguments_have_names() {
    let mut findings = Findings::of("tuples");
    for file in tree::files(&[".rs"]) {
        let is_product = file.path.starts_with("crates/") && file.path.contains("/src/");
        if !is_product {
            continue;
        }
        let parsed = syn::parse_file(&file.text).expect("the file compiles");
        let mut tuples = Tuples(0);
        tuples.visit_file(&parsed);
        if tuples.0 > 0 {
            findings.add(&file.path, format!("{} parameters are tuples", tuples.0));
        }
    }
    findings.report();
}

/// Number of parameters of functions that are tuples.
struct Tuples(usize);

impl<'ast> Visit<'ast> for Tuples {
    fn visit_signature(&mut self, signature: &'ast syn::Signature) {
        let tuples = signature.inputs.iter().filter(|it| match it {
            syn::FnArg::Typed(typed) => matches!(*typed.pat, syn::Pat::Tuple(_)),
            syn::FnArg::Receiver(_) => false,
        });
        self.0 += tuples.count();
    }
}

#[test]
fn lines_fit_side_by_side() {
    let mut findings = Findings::of("line-width");
    for file in tree::files(&[".rs"]) {
        for (number, line) in file.text.lines().enumerate() {
            let width = line.chars().count();
            // A long URL or hexadecimal constant cannot be broken.
            let unbreakable = line.split_whitespace().any(|word| word.len() > 80);
            if width > LINE_CHARACTERS_MAX && !unbreakable {
                findings.add(
                    &format!("{}:{}", file.path, number + 1),
                    format!("{width} wide"),
                );
            }
        }
    }
    findings.report();
}

#[test]
fn banned_calls_are_absent() {
    let mut findings = Findings::of("banned-call");
    for file in tree::files(&[".rs"]) {
        for banned in BANNED {
            if banned
                .allowed_below
                .iter()
                .any(|below| file.path.starts_with(below))
            {
                continue;
            }
            for (number, line) in file.text.lines().enumerate() {
                if is_code(line) && line.contains(banned.call) {
                    let place = format!("{}:{}", file.path, number + 1);
                    findings.add(&place, format!("`{}`: {}", banned.call, banned.instead));
                }
            }
        }
    }
    findings.report();
}

/// Calls that make a file or a folder with a mode that depends on the umask.
const OPEN_TO_OTHERS: &[&str] = &[
    "fs::File::create(",
    " File::create(",
    "fs::write(",
    "fs::copy(",
    "fs::create_dir",
    ".create(true)",
    ".create_new(true)",
];
const FOR_EVERYBODY: &[&str] = &[
    // This file is the one place for them.
    "crates/store/src/private.rs",
    // Man pages and reports of measurements contain no entries.
    "crates/pando/src/man.rs",
    "crates/pando/src/bench.rs",
];

#[test]
fn files_are_made_for_their_owner_alone() {
    let mut findings = Findings::of("open-file");
    for file in tree::files(&[".rs"]) {
        let is_program = file.path.starts_with("crates/") && file.path.contains("/src/");
        let is_test = file.path.contains("/tests");
        if !is_program || is_test || FOR_EVERYBODY.contains(&&*file.path) {
            continue;
        }
        let code = file.text.split("#[cfg(test)]\nmod ").next();
        for (number, line) in code.unwrap_or("").lines().enumerate() {
            if is_code(line) && OPEN_TO_OTHERS.iter().any(|call| line.contains(call)) {
                let place = format!("{}:{}", file.path, number + 1);
                findings.add(&place, "use `store::private`: others may read this file");
            }
        }
    }
    findings.report();
}

#[test]
fn nothing_is_left_to_do() {
    let marks = [
        concat!("TO", "DO"),
        concat!("FIX", "ME"),
        concat!("XX", "X:"),
    ];
    let mut findings = Findings::of("left-open");
    for file in tree::files(&[
        ".rs", ".md", ".toml", ".sh", ".schema", "Makefile", ".ci/run",
    ]) {
        if file.path == "STYLE.md" {
            continue;
        }
        for (number, line) in file.text.lines().enumerate() {
            if marks.iter().any(|mark| line.contains(mark)) {
                let place = format!("{}:{}", file.path, number + 1);
                findings.add(&place, "finish it or open an issue");
            }
        }
    }
    findings.report();
}

#[test]
fn unsafe_code_lives_in_one_place() {
    let word = concat!("un", "safe");
    let mut findings = Findings::of("unsafe");
    for file in tree::files(&[".rs"]) {
        if file.path.starts_with("crates/store/src/lmdb") {
            missing_safety_comments(&file, word, &mut findings);
            continue;
        }
        for (number, line) in file.text.lines().enumerate() {
            let code = line.split("//").next().unwrap_or("");
            if [" {", " fn ", " impl "]
                .iter()
                .any(|after| code.contains(&format!("{word}{after}")))
            {
                let place = format!("{}:{}", file.path, number + 1);
                findings.add(
                    &place,
                    "allowed in crates/store/src/lmdb/ only (docs/adr/0001)",
                );
            }
        }
    }
    findings.report();
}

/// Every block needs a `// SAFETY:` sentence on one of the six lines before it or on its own.
fn missing_safety_comments(file: &File, word: &str, findings: &mut Findings) {
    let lines: Vec<&str> = file.text.lines().collect();
    for (number, line) in lines.iter().enumerate() {
        let code = line.split("//").next().unwrap_or("");
        if !code.contains(&format!("{word} {{")) && !code.contains(&format!("{word} impl ")) {
            continue;
        }
        let nearby = &lines[number.saturating_sub(6)..=number];
        if !nearby.iter().any(|line| line.contains("SAFETY:")) {
            let place = format!("{}:{}", file.path, number + 1);
            findings.add(&place, "needs a `// SAFETY:` comment");
        }
    }
}

#[test]
fn no_path_of_a_developers_machine() {
    let marks = [
        concat!("/ro", "ot/"),
        concat!("/wo", "rk/"),
        concat!("/Us", "ers/"),
        concat!("/tmp/tar", "get"),
        concat!("../sha", "red"),
    ];
    let endings = [
        ".rs",
        ".md",
        ".toml",
        ".sh",
        ".schema",
        ".template",
        ".conf",
        ".service",
        ".html",
        ".json",
        "Makefile",
        ".ci/run",
    ];
    let mut findings = Findings::of("machine-path");
    for file in tree::files(&endings) {
        for (number, line) in file.text.lines().enumerate() {
            if let Some(mark) = marks.iter().find(|mark| line.contains(**mark)) {
                findings.add(
                    &format!("{}:{}", file.path, number + 1),
                    format!("`{mark}`"),
                );
            }
        }
    }
    findings.report();
}

/// Returns whether a line is neither blank nor only a comment.
fn is_code(line: &str) -> bool {
    let line = line.trim_start();
    !line.is_empty() && !line.starts_with("//")
}

struct Function {
    name: String,
    lines: usize,
}

/// Returns the functions of a file formatted by rustfmt: each ends at the first `}` as deep as its
/// `fn`.
fn functions(file: &File) -> Vec<Function> {
    let lines: Vec<&str> = file.text.lines().collect();
    let mut found = Vec::new();
    for (start, line) in lines.iter().enumerate() {
        let Some(name) = function_name(line) else {
            continue;
        };
        let depth = line.len() - line.trim_start().len();
        let closing = format!("{}}}", " ".repeat(depth));
        let body = lines[start..].iter();
        let Some(length) = body.clone().position(|line| *line == closing) else {
            continue;
        };
        // A declaration without a body ends in `;` before any brace.
        let first_brace = body.clone().position(|line| line.trim_end().ends_with('{'));
        let first_end = body.clone().position(|line| line.trim_end().ends_with(';'));
        if first_end < first_brace && first_end.is_some() {
            continue;
        }
        let code = lines[start..=start + length]
            .iter()
            .filter(|line| is_code(line))
            .count();
        found.push(Function { name, lines: code });
    }
    found
}

fn function_name(line: &str) -> Option<String> {
    let code = line.trim_start();
    let at = if code.starts_with("fn ") {
        0
    } else {
        code.find(" fn ")? + 1
    };
    let qualifiers = code[..at].split_whitespace();
    let known = |word: &str| {
        word.starts_with("pub")
            || [
                "in",
                "const",
                "async",
                "extern",
                "\"C\"",
                concat!("un", "safe"),
            ]
            .contains(&word)
            || word.ends_with(')')
    };
    if !qualifiers.into_iter().all(known) {
        return None;
    }
    let name = code[at + 3..].split(['(', '<']).next()?;
    Some(name.to_owned())
}
