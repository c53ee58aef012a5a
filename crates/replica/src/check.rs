//! Checks that the tables of a database agree.

mod classes;

use crate::recover::{self, Recovered};
use state::config;
use state::history;
use state::rules;
use state::stop::Failure;
use std::path::Path;
use store::{PageProblems, Store};

/// Result of a check.
#[derive(Debug)]
pub struct CheckReport {
    /// The first problems, in words.
    pub problems: Vec<String>,
    /// Number of problems.
    pub problem_count: u64,
    /// Number of entries read.
    pub entries: u64,
    /// Number of deleted subtrees with entries still stored; those entries were read too.
    pub deleted_subtrees: u64,
    /// Digest of the state, as 32 hexadecimal digits.
    pub digest: String,
    /// The log after the last checkpoint, if all of it could be read and executed; `None` for a
    /// database that was closed and has no log.
    pub recovered: Option<Recovered>,
}

impl CheckReport {
    /// The report on a database with damaged pages. Its entries were compared with their checksums,
    /// but no table with another, because walking over damaged pages could end the process.
    fn of_pages(problems: PageProblems) -> CheckReport {
        CheckReport {
            problem_count: problems.count,
            problems: problems.words,
            entries: problems.entries,
            deleted_subtrees: 0,
            digest: String::new(),
            recovered: None,
        }
    }
}

/// Compares every table of the database in a data folder with every other, reads the history and
/// recomputes the digest. The log of a server that was not stopped is executed first; nothing else
/// is changed.
///
/// # Errors
/// The database cannot be opened or read, or another process has it open.
pub fn check(data: &Path) -> Result<CheckReport, Failure> {
    check_after(data, recover::open_store)
}

/// Like [`check`], after dropping acknowledged writes whose records at the end of the log are
/// damaged.
///
/// # Errors
/// The database cannot be opened or read, or another process has it open.
pub fn check_forgetting_lost(data: &Path) -> Result<CheckReport, Failure> {
    check_after(data, recover::open_store_without_lost)
}

fn check_after(
    data: &Path,
    open: impl FnOnce(&Path) -> Result<(Store, Option<Recovered>), Failure>,
) -> Result<CheckReport, Failure> {
    let problems = Store::examine_pages(data)?;
    if problems.count > 0 {
        return Ok(CheckReport::of_pages(problems));
    }
    let (_, recovered) = open(data)?;
    // Read-only access allows the system to read ahead.
    let store = Store::read_only(data, false)?;
    let report = examine(&store)?;
    Ok(CheckReport {
        recovered,
        ..report
    })
}

/// Like [`check`], for a database that a process serves: checks the state at the beginning, whose
/// pages are not reused before the end.
///
/// # Errors
/// The database cannot be read, or was opened by another process meanwhile.
pub fn check_served(data: &Path) -> Result<CheckReport, Failure> {
    let store = Store::read_only(data, true)?;
    let problems = store.examine_own_pages()?;
    if problems.count > 0 {
        return Ok(CheckReport::of_pages(problems));
    }
    let report = examine(&store)?;
    store.require_same_holder()?;
    Ok(report)
}

fn examine(store: &Store) -> Result<CheckReport, Failure> {
    let mut reader = store.reader()?;
    let snapshot = reader.snapshot()?;
    let dictionary = config::stored_dictionary(&snapshot)?;
    let catalog = config::load(&snapshot, &dictionary)?;
    let mut report = store::check(&snapshot, &catalog.indexes, &mut |_| ())?;
    // Each check runs after an error of the previous one too, so that its problems are reported.
    let history = history::check::check(&snapshot, &mut |problem| report.add(|| problem));
    let classes = classes::check(&snapshot, &catalog, &mut |problem| report.add(|| problem));
    let rules = rules::check::check(&snapshot, &catalog, &mut |problem| report.add(|| problem));
    for stopped in [history, classes, rules] {
        if let Err(failure) = stopped {
            report.add(|| format!("not everything could be looked at: {failure}"));
        }
    }
    Ok(CheckReport {
        problems: report.problems,
        problem_count: report.problem_count,
        entries: report.entries,
        deleted_subtrees: snapshot.detached_count()?,
        digest: format!("{:032x}", snapshot.digest()?),
        recovered: None,
    })
}
