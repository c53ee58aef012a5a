//! Errors of a template: in its text, and of entries that it cannot make.

use std::fmt;

/// An error in a template, with its line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateError {
    /// Line in the template, from 1; 0 when the error is of no line.
    pub line: u64,
    /// The expected and the actual text.
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

/// Returns the error `message` at a line of the template, from 1; 0 when the error is of no line.
pub(crate) fn error(line: u64, message: impl Into<String>) -> TemplateError {
    TemplateError {
        line,
        message: message.into(),
    }
}

/// The error of an entry that cannot be made, although the template describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GenerateError {
    /// Line in the template.
    pub line: u64,
    /// The reason, as text for people.
    pub message: String,
}

impl fmt::Display for GenerateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "template line {}: {}", self.line, self.message)
    }
}

impl std::error::Error for GenerateError {}
