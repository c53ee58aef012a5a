//! Every clause of the standards as a test of its own name, against one running server.
//!
//! `PANDO_TEST_SUBJECT` picks the server (`pando`, `openldap`). A clause that the server does not
//! offer shows as ignored. Where slapd is known to do otherwise, its clause says why; if slapd
//! passes it after all, that is reported, so that the list stays true.

use std::process::ExitCode;
use std::sync::Arc;

use conformance::{Clause, Site, Transport, Verdict};
use kit::{ADMIN, PASSWORD, Subject};
use libtest_mimic::{Arguments, Failed, Trial};

/// Clauses that Pando does not pass yet, each with the reason.
const OPEN: &[(&str, &str)] = &[];

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let mut trials = vec![Trial::test("clauses_are_many_and_named_once", named_once)];
    if arguments.list {
        for clause in conformance::clauses() {
            trials.push(Trial::test(clause.id, || Ok(())));
        }
        return libtest_mimic::run(&arguments, trials).exit_code();
    }
    let subject = Subject::for_conformance();
    let site = Arc::new(site(&subject));
    for clause in conformance::clauses() {
        let ignored = site.leaves_out(&clause).is_some();
        let (site, is_pando) = (Arc::clone(&site), subject.is_pando());
        let name = clause.id.clone();
        let trial = Trial::test(name, move || examine(&site, &clause, is_pando));
        trials.push(trial.with_ignored_flag(ignored));
    }
    let conclusion = libtest_mimic::run(&arguments, trials);
    if let Err(finding) = conformance::clean_up(&site) {
        eprintln!("cleaning up: {finding}");
        return ExitCode::FAILURE;
    }
    drop(subject);
    conclusion.exit_code()
}

fn site(subject: &Subject) -> Site {
    let address = subject.address();
    let connect = Box::new(move || {
        let stream = std::net::TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        Ok(Box::new(stream) as Box<dyn Transport>)
    });
    let admin = Some((ADMIN.to_owned(), PASSWORD.to_owned()));
    let assumed = subject.unannounced();
    Site::open(connect, admin, None, "test", &assumed)
        .unwrap_or_else(|finding| panic!("the subject cannot be examined: {finding}"))
}

fn examine(site: &Site, clause: &Clause, is_pando: bool) -> Result<(), Failed> {
    let excuse = match is_pando {
        true => OPEN.iter().find(|(id, _)| *id == clause.id).map(|it| it.1),
        false => clause.slapd,
    };
    let Verdict::Failed { expected, came } = conformance::run_one(site, clause) else {
        if let Some(reason) = excuse.filter(|_| !is_pando) {
            return Err(format!("slapd passes; known otherwise: {reason}").into());
        }
        return Ok(());
    };
    match excuse {
        Some(_) => Ok(()),
        None => Err(format!("{}\n  expected {expected}\n  came     {came}", clause.text).into()),
    }
}

/// Names are file names and filters: they must be plain, and each stands for one clause.
fn named_once() -> Result<(), Failed> {
    let mut ids: Vec<String> = conformance::clauses().into_iter().map(|it| it.id).collect();
    let count = ids.len();
    ids.sort();
    if let Some(twice) = ids.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(format!("{} twice", twice[0]).into());
    }
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '.';
    if let Some(odd) = ids.iter().find(|id| !id.chars().all(plain)) {
        return Err(format!("{odd}: small letters, digits, hyphens").into());
    }
    if count < 600 {
        return Err(format!("{count} clauses").into());
    }
    Ok(())
}
