//! `pando conformance`: runs clauses of the standards against a server.

use crate::cli::Conformance;
use crate::password_input::first_line;
use crate::reach::Target;
use crate::report::{Problem, note, say};
use ::conformance::{Choice, Site};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Runs the clauses and prints the result; exit status 1 if a clause failed.
pub fn conformance(it: &Conformance) -> Result<(), Problem> {
    let clauses = ::conformance::clauses();
    let choice = Choice {
        only: it.only.clone(),
        threads: it.threads,
        patience: Duration::from_secs(it.seconds),
    };
    if !clauses.iter().any(|clause| choice.takes(clause)) {
        let what = it.only.join(", ");
        return Err(Problem::usage(format_args!(
            "--only: no clause starts with {what}; --list shows all"
        )));
    }
    if it.list {
        for clause in clauses.iter().filter(|clause| choice.takes(clause)) {
            say(format_args!("{}\t{}", clause.id, clause.text))?;
        }
        return Ok(());
    }
    let site = open(it)?;
    if site.run_base().is_none() {
        note("without -D and a password, clauses that write are left out");
    }
    let report = ::conformance::run(&site, &clauses, &choice);
    let cleaned = ::conformance::clean_up(&site);
    if it.json {
        say(report.json())?;
    } else {
        say(report.text(it.verbose))?;
    }
    if let Err(finding) = cleaned {
        let place = site.run_base().unwrap_or_default();
        return Err(Problem::failed(format_args!(
            "{place} could not be removed: {finding}"
        )));
    }
    match report.failed() {
        0 => Ok(()),
        _ => Err(Problem::Reported),
    }
}

fn open(it: &Conformance) -> Result<Site, Problem> {
    let target = Target::new("--url", &it.url, false, it.ca.as_deref())?;
    let password = match (&it.bind_password, &it.bind_password_file) {
        (Some(password), _) => Some(password.clone()),
        (None, Some(file)) => {
            let line = String::from_utf8(first_line(file)?);
            Some(line.map_err(|_| Problem::file(file, "expected a password in UTF-8"))?)
        }
        (None, None) => None,
    };
    let admin = match (&it.bind_dn, password) {
        (Some(name), Some(password)) => Some((name.clone(), password)),
        (Some(_), None) => {
            return Err(Problem::usage("-D: expected a password too, by -y or -w"));
        }
        (None, _) => None,
    };
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let mark = format!(
        "{:x}-{}",
        since.unwrap_or_default().as_millis(),
        std::process::id()
    );
    let connect = Box::new(move || target.connect());
    Site::open(connect, admin, it.base.clone(), &mark, &it.assume)
        .map_err(|finding| Problem::failed(format_args!("{}: {finding}", it.url)))
}
