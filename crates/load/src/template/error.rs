//! Errors of a template: in its text, and of entries that it cannot make.

use std::fmt;

/// An error in a template, with its line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateError {
    /// Line in the template, from 1; 0 when no line is to blame.
    pub line: u64,
    /// The text that was expected, and the text that was found.
    pub message: String,
}

impl fmt::Display for TemplateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => f.write_str(&self.message),
            line => write!(f, "line {line}: {}", self.message),
        }
    }
}

impl std::error::Error for TemplateError {}

/// The error `message` at a line of the template, counted from 1; 0 when no line is to blame.
pub(crate) fn error(line: u64, message: impl Into<String>) -> TemplateError {
    TemplateError {
        line,
        message: message.into(),
    }
}

/// An entry that the template describes cannot be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GenerateError {
    /// Line in the template.
    pub line: u64,
    /// The reason, for people.
    pub message: String,
}

impl fmt::Display for GenerateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "template line {}: {}", self.line, self.message)
    }
}

impl std::error::Error for GenerateError {}
