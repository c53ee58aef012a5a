//! Value patterns for names, filters and values of load jobs.

/// A compiled value pattern.
#[derive(Clone, Debug)]
pub struct Pattern {}

/// What is wrong with a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatternError {
    /// Octet of the text at which it was noticed.
    pub at: usize,
    /// What was expected and what was found.
    pub message: String,
}

impl Pattern {
    /// Reads a pattern.
    pub fn parse(_text: &str) -> Result<Pattern, PatternError> {
        unimplemented!()
    }
}
