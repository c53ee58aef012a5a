//! Proof that the tables of a database agree.

use crate::recover::{self, Recovered};
use state::class_check;
use state::config;
use state::history;
use state::rules;
use state::stop::Failure;
use std::path::Path;
use store::{PageProblems, Store};

/// What a check found.
#[derive(Debug)]
pub struct CheckReport {
    /// The first disagreements, in words.
    pub problems: Vec<String>,
    /// How many there are.
    pub problem_count: u64,
    /// Entries looked at.
    pub entries: u64,
    /// Deleted subtrees of which entries are still stored, and among those that were looked at.
    pub deleted_subtrees: u64,
    /// The state digest, 32 hexadecimal digits.
    pub digest: String,
    /// The log beyond the last checkpoint, all of which could be read and executed; `None` for a
    /// database that was closed and has no log.
    pub recovered: Option<Recovered>,
}

impl CheckReport {
    /// The report on a database whose pages are damaged: its entries were compared with their
    /// checksums, but no table with another, because walking over such pages may end the process.
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
/// recomputes the digest. What a server that was not stopped has left in its log is executed first;
/// nothing else is changed.
///
/// # Errors
/// The database cannot be opened or read, or another process has it open.
pub fn check(data: &Path) -> Result<CheckReport, Failure> {
    check_after(data, recover::open_store)
}

/// Compares every table of the database in a data folder with every other, after giving up
/// acknowledged writes whose records at the end of the log are damaged.
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
    // Who only reads is read ahead for.
    let store = Store::read_only(data, false)?;
    let report = examine(&store)?;
    Ok(CheckReport {
        recovered,
        ..report
    })
}

/// The same of a database that a process serves: of the state at the beginning, whose pages are not
/// used again before the end.
///
/// # Errors
/// The database cannot be read, or was opened anew meanwhile.
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
    // Each goes on after what stopped the one before: what it found is not to be lost.
    let history = history::check::check(&snapshot, &mut |problem| report.add(|| problem));
    let classes = class_check::check(&snapshot, &catalog, &mut |problem| report.add(|| problem));
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
