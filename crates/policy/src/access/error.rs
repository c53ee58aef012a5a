//! Errors in the text of access rules: where, what was expected, what was given.

use std::fmt;

/// Lowest similarity (0 to 1) with which a known word is proposed for an unknown one.
const SIMILAR: f64 = 0.6;

/// Length in octets of a word for which a known one is looked for at most: comparing takes time in
/// proportion to both lengths.
const WORD_MAX: usize = 64;

/// A place in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Position {
    /// Number of the line, from 1.
    pub line: usize,
    /// Number of the character in its line, from 1.
    pub column: usize,
}

/// Places of ascending bytes in a text, each found from the one before.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Lines {
    /// First byte of the line found last.
    start: usize,
    /// Number of the lines before it.
    before: usize,
}

impl Lines {
    /// Returns the place of the byte `at`, a boundary of characters.
    pub(super) fn position(&mut self, text: &str, at: usize) -> Position {
        if at < self.start {
            *self = Lines::default();
        }
        let passed = &text[self.start..at];
        self.before += passed.matches('\n').count();
        self.start += passed.rfind('\n').map_or(0, |it| it + 1);
        Position {
            line: self.before + 1,
            column: text[self.start..at].chars().count() + 1,
        }
    }
}

/// An error in the text of access rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleError {
    /// Place in the text; `None` when the rules did not come from one text.
    pub position: Option<Position>,
    /// One line: the thing, what was expected, what was given.
    pub message: String,
}

impl RuleError {
    /// Returns the error with the name of the file that the text is from, as editors understand
    /// it: `FILE:LINE:COLUMN: MESSAGE`.
    pub fn in_file(&self, file: &str) -> String {
        format!("{file}:{self}")
    }
}

impl fmt::Display for RuleError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(Position { line, column }) = self.position {
            write!(out, "{line}:{column}: ")?;
        }
        out.write_str(&self.message)
    }
}

impl std::error::Error for RuleError {}

/// Returns `; did you mean "…"?` with the known word that is most similar to a given one; empty
/// when none is similar.
pub(super) fn nearest<'w>(given: &str, known: impl IntoIterator<Item = &'w str>) -> String {
    if given.len() > WORD_MAX {
        return String::new();
    }
    let given = given.to_ascii_lowercase();
    let scored = known.into_iter().map(|it| {
        let similarity = strsim::normalized_damerau_levenshtein(&given, &it.to_ascii_lowercase());
        (similarity, it)
    });
    let best = scored.max_by(|a, b| a.0.total_cmp(&b.0));
    match best.filter(|it| it.0 >= SIMILAR) {
        Some((_, word)) => format!("; did you mean \"{word}\"?"),
        None => String::new(),
    }
}
