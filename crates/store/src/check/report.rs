//! The report of a check: its problems and figures.

/// Problems kept as text; further ones are only counted.
const PROBLEMS_MAX: usize = 100;

/// The result of a check.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// The first problems, as text for people. Empty for a sound database.
    pub problems: Vec<String>,
    /// Number of all problems.
    pub problem_count: u64,
    /// Number of entries read.
    pub entries: u64,
    /// Number of index rows read.
    pub index_rows: u64,
}

impl Report {
    /// Counts a problem, and keeps the first ones as text.
    pub fn add(&mut self, problem: impl FnOnce() -> String) {
        self.problem_count += 1;
        if self.problems.len() < PROBLEMS_MAX {
            self.problems.push(problem());
        }
    }

    /// Counts a problem unless `holds`.
    pub(super) fn expect(&mut self, holds: bool, problem: impl FnOnce() -> String) {
        if !holds {
            self.add(problem);
        }
    }
}
