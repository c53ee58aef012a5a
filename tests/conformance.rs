//! The clauses of the standards, each a test of its own name, against one running server.
//!
//! `PANDO_TEST_SUBJECT` picks the server (`pando`, `openldap`). A clause about a feature that slapd
//! lacks shows as ignored. On Pando it fails, unless [`LEFT_OUT`] has it, and so does an OID of
//! `tests/announced.txt` that Pando no longer announces. Where slapd is known to deviate, its
//! clause gives the reason; if slapd passes it after all, that is reported, so that the list stays
//! true.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use conformance::{Clause, Site, Transport, Verdict};
use kit::{ADMIN, PASSWORD, Subject};
use libtest_mimic::{Arguments, Failed, Trial};

/// Clauses that Pando does not pass yet, each with the reason.
const OPEN: &[(&str, &str)] = &[];

/// Clauses without meaning on the subject, each with the reason.
const LEFT_OUT: &[(&str, &str)] = &[(
    "rfc4511-4.14.1-starttls-has-no-value",
    "StartTLS is announced with a certificate only, and the subject has none",
)];

/// Every control, extended operation and feature that Pando has announced: a line `control 1.2.3`
/// for each. Lines are never removed.
const ANNOUNCED: &str = "tests/announced.txt";

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let mut trials = vec![Trial::test("clauses_are_many_and_named_once", named_once)];
    if arguments.list {
        trials.push(Trial::test("announced_oids_stay", || Ok(())));
        for clause in conformance::clauses() {
            trials.push(Trial::test(clause.id, || Ok(())));
        }
        return libtest_mimic::run(&arguments, trials).exit_code();
    }
    let subject = Subject::for_conformance();
    let site = Arc::new(site(&subject));
    if subject.is_pando() {
        let site = Arc::clone(&site);
        trials.push(Trial::test("announced_oids_stay", move || announced(&site)));
    }
    for clause in conformance::clauses() {
        let is_pando = subject.is_pando();
        let excused = !is_pando || LEFT_OUT.iter().any(|(id, _)| *id == clause.id);
        let ignored = excused && site.leaves_out(&clause).is_some();
        let site = Arc::clone(&site);
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
    let (expected, came) = match conformance::run_one(site, clause) {
        Verdict::Failed { expected, came } => (expected, came),
        Verdict::NotOffered(what) if is_pando => {
            return Err(format!("{}\n  Pando no longer offers: {what}", clause.text).into());
        }
        Verdict::Passed | Verdict::NotOffered(_) => match excuse.filter(|_| !is_pando) {
            Some(reason) => {
                return Err(format!("slapd passes; known otherwise: {reason}").into());
            }
            None => return Ok(()),
        },
    };
    match excuse {
        Some(_) => Ok(()),
        None => Err(format!("{}\n  expected {expected}\n  came     {came}", clause.text).into()),
    }
}

/// Checks that Pando announces every OID that it ever announced, and that [`ANNOUNCED`] has all
/// that it announces. With `PANDO_TEST_REWRITE` in the environment, missing lines are added to the
/// file.
fn announced(site: &Site) -> Result<(), Failed> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("..")
        .join(ANNOUNCED);
    let text = std::fs::read_to_string(&path)?;
    let noted: BTreeSet<String> = text.lines().map(str::to_owned).collect();
    let offers = &site.offers;
    let lists = [
        ("control", &offers.controls),
        ("extension", &offers.extensions),
        ("feature", &offers.features),
    ];
    let spelled = |(kind, oids): (&str, &Vec<String>)| -> Vec<String> {
        oids.iter().map(|oid| format!("{kind} {oid}")).collect()
    };
    let now: BTreeSet<String> = lists.into_iter().flat_map(spelled).collect();
    let gone: Vec<_> = noted.difference(&now).collect();
    if !gone.is_empty() {
        return Err(format!("Pando no longer announces {gone:?}").into());
    }
    let new: Vec<_> = now.difference(&noted).collect();
    if std::env::var_os("PANDO_TEST_REWRITE").is_some() {
        let lines = now.iter().map(|line| format!("{line}\n"));
        std::fs::write(&path, lines.collect::<String>())?;
    } else if !new.is_empty() {
        let again = "PANDO_TEST_REWRITE=1 cargo test -p pando-tests --test conformance announced";
        return Err(format!("{ANNOUNCED} lacks {new:?}: run {again}").into());
    }
    Ok(())
}

/// Names are file names and filters of clauses: they must be plain and unique.
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
