//! Access rules of other servers, carried over as rules of this language.
//!
//! Nothing is widened: what cannot be said here gives less than it did there, and the report says
//! so for each clause.

pub mod slapd;

use std::fmt;

use crate::access::rules::Rule;

/// Rules carried over from another server.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Import {
    /// The rules, in the order in which they are asked.
    pub rules: Vec<Rule>,
    /// One line for each clause of the other server, in its order.
    pub report: Vec<ReportLine>,
}

/// What became of one clause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportLine {
    /// Name of the rule into which the clause went.
    pub rule: String,
    /// The clause as it was given.
    pub given: String,
    /// What became of it.
    pub fate: Fate,
    /// What is different, if something is; empty for what was carried.
    pub note: String,
}

/// The fate of a clause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It means the same here.
    Carried,
    /// It gives less here.
    Approximated,
    /// It cannot be said here; nothing is given by it.
    Impossible,
}

impl fmt::Display for ReportLine {
    /// Writes `RULE: FATE: CLAUSE (NOTE)`.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fate = match self.fate {
            Fate::Carried => "carried",
            Fate::Approximated => "approximated",
            Fate::Impossible => "impossible",
        };
        write!(out, "{}: {fate}: {}", self.rule, self.given)?;
        match self.note.is_empty() {
            true => Ok(()),
            false => write!(out, " ({})", self.note),
        }
    }
}
