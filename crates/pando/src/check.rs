//! `pando check`: compares every table of a database, served or not, with every other.

use crate::channel::Channel;
use crate::cli::Check;
use crate::node_folder::data_folder;
use crate::report::{Problem, note, say};
use protocol::counted;

/// Runs the check; exit status 1 if it finds a problem.
pub fn check(it: &Check) -> Result<(), Problem> {
    let data = data_folder(&it.dir)?;
    let report = match Channel::is_served(&it.dir) {
        true => replica::check::check_served(&data),
        false if it.forget_lost => replica::check::check_forgetting_lost(&data),
        false => replica::check::check(&data),
    };
    let report = report.map_err(Problem::failed)?;
    if let Some(log) = &report.recovered {
        note(format_args!(
            "the server was not stopped: read {} with {} in its log beyond the \
             checkpoint at position {}, and executed them up to position {}",
            counted(log.records, "record"),
            counted(log.writes, "write"),
            log.checkpoint,
            log.position
        ));
    }
    if report.deleted_subtrees > 0 {
        note(format_args!(
            "not cleared away yet, and counted here: {}; the server goes on with that when it is \
             started",
            counted(report.deleted_subtrees, "deleted subtree")
        ));
    }
    for problem in &report.problems {
        note(problem);
    }
    if report.problem_count == 0 {
        return say(format_args!(
            "{}, digest {}: no problem found",
            counted(report.entries, "entry"),
            report.digest
        ));
    }
    note(format_args!(
        "pando: {} in {}; bring a backup back with pando restore, or save what \
         can be read with pando export --salvage",
        counted(report.problem_count, "problem"),
        counted(report.entries, "entry")
    ));
    Err(Problem::Reported)
}
