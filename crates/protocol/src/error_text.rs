//! Errors of parsing text: names, filters, URLs, base64.

use std::fmt;

/// An error in a text: its place, what was expected and what was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextError {
    /// Byte offset in the given text.
    pub at: usize,
    /// Lower case, no full stop: "expected …, got …".
    pub message: String,
}

impl TextError {
    /// An error at byte `at`.
    pub fn new(at: usize, message: impl Into<String>) -> TextError {
        TextError {
            at,
            message: message.into(),
        }
    }

    /// The usual error: the expected and the actual text at byte `at` of `text`.
    pub(crate) fn expected(what: &str, text: &[u8], at: usize) -> TextError {
        TextError::new(at, format!("expected {what}, got {}", came(text, at)))
    }

    /// This error with its offset in a text that begins `offset` bytes earlier.
    pub(crate) fn moved(mut self, offset: usize) -> TextError {
        self.at = self.at.saturating_add(offset);
        self
    }
}

impl fmt::Display for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (at byte {})", self.message, self.at)
    }
}

impl std::error::Error for TextError {}

/// The character at byte `at` for an error message, quoted; or "the end".
fn came(text: &[u8], at: usize) -> String {
    let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) else {
        return "the end".to_owned();
    };
    // A character has at most four bytes; an incomplete or invalid one is shown as its first byte.
    let head = rest.get(..4).unwrap_or(rest);
    let shown = match head
        .utf8_chunks()
        .next()
        .and_then(|chunk| chunk.valid().chars().next())
    {
        Some(character) => character.escape_default().to_string(),
        None => head
            .first()
            .map(|byte| byte.escape_ascii().to_string())
            .unwrap_or_default(),
    };
    format!("'{shown}'")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_what_came() {
        assert_eq!(came(b"abc", 1), "'b'");
        assert_eq!(came(b"abc", 3), "the end");
        assert_eq!(came(b"abc", 9), "the end");
        assert_eq!(came("aß".as_bytes(), 1), "'\\u{df}'");
        assert_eq!(came(b"\xff", 0), "'\\xff'");
        assert_eq!(came(b"\n", 0), "'\\n'");
    }

    #[test]
    fn prints_place_last() {
        let error = TextError::expected("'='", b"cn", 2).moved(3);
        assert_eq!(error.to_string(), "expected '=', got the end (at byte 5)");
    }
}
