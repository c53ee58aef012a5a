//! Problems that a check found.

/// Problems kept in words; all are counted.
const PROBLEMS_MAX: usize = 100;

/// The result of a check.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// The first problems, in words. Empty for a sound database.
    pub problems: Vec<String>,
    /// How many problems there are.
    pub problem_count: u64,
    /// Entries looked at.
    pub entries: u64,
    /// Index rows looked at.
    pub index_rows: u64,
}

impl Report {
    /// Counts a problem, and keeps the first ones in words.
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
