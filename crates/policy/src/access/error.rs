//! Errors in the text of access rules: where, what was expected, what was given.

use std::fmt;

/// Lowest similarity (0 to 1) with which a known word is proposed for an unknown one.
const SIMILAR: f64 = 0.6;

/// A place in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Position {
    /// Number of the line, from 1.
    pub line: usize,
    /// Number of the character in its line, from 1.
    pub column: usize,
}

impl Position {
    /// Returns the place of the byte `at` in a text.
    pub(super) fn of(text: &str, at: usize) -> Position {
        let before = text.get(..at).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |it| it + 1);
        Position {
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
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
