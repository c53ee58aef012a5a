//! `pando audit verify`: the first line that is not the one that was written.

use super::head_of_node;
use super::source::{Source, each_line};
use crate::cli::AuditVerify;
use crate::report::{Problem, note, say};
use audit::{Hash, Head, Verifier, Written, hex};
use protocol::counted;
use std::time::Duration;

/// Maximum number of problems that are printed.
const SHOWN_MAX: u64 = 20;
/// Number of looks for lines that a server has committed and not written yet, and the time between
/// two: five seconds in all.
const LOOKS_MAX: u32 = 250;
const PAUSE: Duration = Duration::from_millis(20);

/// A line that the files must lead to.
struct Wanted {
    line: u64,
    hash: String,
    /// The source of the end of the chain.
    by: &'static str,
}

/// The lines that the files have.
#[derive(Default)]
struct Found {
    verifier: Verifier,
    first: Option<u64>,
    lines: u64,
    problems: Vec<String>,
    count: u64,
    /// Hash of the wanted line, if it was there.
    wanted: Option<Hash>,
}

/// Runs the command; exit status 1 if it finds a problem.
pub fn verify(it: &AuditVerify) -> Result<(), Problem> {
    let given = it.head.as_deref().map(parse_head).transpose()?;
    let node = Source::of(&it.files)?.node;
    // Before the files: they may have more lines by then, and no fewer.
    let stored = node.as_deref().map(head_of_node).transpose()?.flatten();
    let wanted = given.or_else(|| {
        stored.map(|head| Wanted {
            line: head.line,
            hash: hex(&head.hash),
            by: "the database",
        })
    });
    let mut found = examine(&Source::of(&it.files)?, wanted.as_ref())?;
    for _ in 0..LOOKS_MAX {
        let lags = wanted.as_ref().is_some_and(|it| found.last() < it.line);
        if node.is_none() || !lags || !found.problems.is_empty() {
            break;
        }
        std::thread::park_timeout(PAUSE);
        found = examine(&Source::of(&it.files)?, wanted.as_ref())?;
    }
    if let Some(wanted) = &wanted {
        found.compare(wanted);
    }
    let reported = found.report("");
    match Source::of(&it.files)?.attempts()? {
        Some(attempts) if !attempts.files.is_empty() => {
            let found = examine(&attempts, None)?;
            reported.and(found.report(" about failed binds and denials"))
        }
        _ => reported,
    }
}

fn parse_head(text: &str) -> Result<Wanted, Problem> {
    let parts = text.split_once(':');
    let is_hash = |it: &str| it.len() == 64 && it.bytes().all(|it| it.is_ascii_hexdigit());
    let read = parts.and_then(|(line, hash)| Some((line.parse().ok()?, hash)));
    match read.filter(|it| is_hash(it.1)) {
        Some((line, hash)) => Ok(Wanted {
            line,
            hash: hash.to_ascii_lowercase(),
            by: "--head",
        }),
        None => Err(Problem::usage(format_args!(
            "--head: expected a line's number, a colon and 64 hexadecimal digits, got {text:?}"
        ))),
    }
}

fn examine(source: &Source, wanted: Option<&Wanted>) -> Result<Found, Problem> {
    let mut found = Found::default();
    for (at, path) in source.files.iter().enumerate() {
        let is_torn = each_line(path, &mut |number, line| {
            match found.verifier.take(line) {
                Ok(written) => found.note(&written, wanted),
                Err(finding) => {
                    found.lines += 1;
                    found.add(format!("{}, row {number}: {finding}", path.display()));
                    if let Some(head) = found.verifier.head() {
                        found.note_hash(&head, wanted);
                    }
                }
            }
            Ok(())
        })?;
        let is_last = at + 1 == source.files.len();
        if is_torn && !(is_last && source.node.is_some()) {
            found.add(format!("{}: the last row has no end", path.display()));
        }
    }
    Ok(found)
}

impl Found {
    fn note(&mut self, written: &Written, wanted: Option<&Wanted>) {
        if let Written::Line(line) = written {
            self.lines += 1;
            self.first.get_or_insert(line.line);
        }
        if let Some(head) = self.verifier.head() {
            self.note_hash(&head, wanted);
        }
    }

    fn note_hash(&mut self, head: &Head, wanted: Option<&Wanted>) {
        if wanted.is_some_and(|it| it.line == head.line) {
            self.wanted = Some(head.hash);
        }
    }

    fn add(&mut self, problem: String) {
        self.count += 1;
        if self.count <= SHOWN_MAX {
            self.problems.push(problem);
        }
    }

    fn last(&self) -> u64 {
        self.verifier.head().map_or(0, |it| it.line)
    }

    /// Compares the lines with one that they must lead to.
    fn compare(&mut self, wanted: &Wanted) {
        let Wanted { line, hash, by } = wanted;
        let last = self.last();
        match self.wanted {
            Some(found) if hex(&found) == *hash => {}
            Some(_) => self.add(format!(
                "line {line} is not the one that {by} knows: it or a line before it was changed"
            )),
            None if last < *line => self.add(format!(
                "the last line is {last}, and {by} knows of line {line}: lines {} to {line} are \
                 missing at the end",
                last + 1
            )),
            None => self.add(format!("there is no line {line}, which {by} knows of")),
        }
    }

    /// Prints what was found; `about` says which lines it was found in.
    fn report(self, about: &str) -> Result<(), Problem> {
        for problem in &self.problems {
            note(problem);
        }
        let lines = format!("{}{about}", counted(self.lines, "line"));
        if self.count == 0 {
            let Some((first, head)) = self.first.zip(self.verifier.head()) else {
                return say("no lines");
            };
            return say(format_args!(
                "{lines}, from {first} to {}, position {}: no problem found",
                head.line, head.position
            ));
        }
        note(format_args!(
            "pando: {} in {lines}; the first one is the first of these messages",
            counted(self.count, "problem")
        ));
        Err(Problem::Reported)
    }
}
