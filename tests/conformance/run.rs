//! Running clauses: their choice, parallel execution, time limit, and cleaning up.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use protocol::{OwnedControl, ResultCode, Scope, oid};

use crate::case::{Case, EVERYTHING};
use crate::{Clause, Finding, Report, Site};

/// The verdict on a clause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The server behaves as the standard demands.
    Passed,
    /// The server behaves otherwise.
    Failed {
        /// Behaviour that the standard demands.
        expected: String,
        /// Behaviour of the server.
        came: String,
    },
    /// The clause does not apply to this server: the missing feature.
    NotOffered(String),
}

/// Choice of clauses, and limits of their execution.
#[derive(Debug, Clone)]
pub struct Choice {
    /// Prefixes of the names of chosen clauses; empty for all.
    pub only: Vec<String>,
    /// Number of clauses that run at a time.
    pub threads: usize,
    /// Time after the start at which no further clause begins.
    pub patience: Duration,
}

impl Choice {
    /// Returns whether the clause is chosen.
    pub fn takes(&self, clause: &Clause) -> bool {
        self.only.is_empty() || self.only.iter().any(|start| clause.id.starts_with(start))
    }
}

/// Runs the chosen clauses and reports on each.
pub fn run(site: &Site, clauses: &[Clause], choice: &Choice) -> Report {
    let started = Instant::now();
    let chosen: Vec<&Clause> = clauses.iter().filter(|it| choice.takes(it)).collect();
    let next = AtomicUsize::new(0);
    let verdicts = Mutex::new(vec![None; chosen.len()]);
    std::thread::scope(|scope| {
        for _ in 0..choice.threads.clamp(1, 64) {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(clause) = chosen.get(at) else { break };
                    let verdict = match started.elapsed() < choice.patience {
                        true => run_one(site, clause),
                        false => Verdict::NotOffered("the time was over".to_owned()),
                    };
                    let mut all = verdicts.lock().expect("nobody panics holding it");
                    all[at] = Some(verdict);
                }
            });
        }
    });
    let verdicts = verdicts.into_inner().expect("nobody panics holding it");
    let mut report = Report::new(&site.offers.vendor, site.is_openldap());
    for (clause, verdict) in chosen.into_iter().zip(verdicts) {
        report.add(clause, verdict.expect("every clause had its turn"));
    }
    report
}

/// Runs one clause.
pub fn run_one(site: &Site, clause: &Clause) -> Verdict {
    if let Some(reason) = site.leaves_out(clause) {
        return Verdict::NotOffered(reason);
    }
    match (clause.examine)(&mut Case::new(site, clause)) {
        Ok(()) => Verdict::Passed,
        Err(Finding::Wrong { expected, came }) => Verdict::Failed { expected, came },
        Err(Finding::NotOffered(what)) => Verdict::NotOffered(what),
    }
}

/// Removes all entries that the clauses of this run added.
pub fn clean_up(site: &Site) -> Result<(), Finding> {
    let Some(run) = site.run_base() else {
        return Ok(());
    };
    let mut admin = site.admin(Instant::now() + Duration::from_secs(120))?;
    // Referral objects and subentries are found and deleted only by requests that name them.
    let offered = |oid: &&str| site.offers.controls.iter().any(|it| it == oid);
    let manage = offered(&oid::MANAGE_DSA_IT).then(|| OwnedControl {
        oid: oid::MANAGE_DSA_IT.into(),
        critical: false,
        value: None,
    });
    let manage: Vec<OwnedControl> = manage.into_iter().collect();
    let subentries = OwnedControl {
        oid: oid::SUBENTRIES.into(),
        critical: false,
        value: Some(vec![1, 1, 0xFF]),
    };
    // A search for subentries returns nothing else, so they come first.
    let mut passes = vec![manage.clone()];
    if offered(&oid::SUBENTRIES) {
        passes.insert(0, manage.iter().cloned().chain([subentries]).collect());
    }
    for controls in &passes {
        let scope = Scope::WholeSubtree;
        let found = admin.search_with(run, scope, EVERYTHING, &["1.1"], controls, |_| {})?;
        let mut names: Vec<&str> = found.entries.iter().map(|it| it.name.as_str()).collect();
        // Children are deleted before their parents.
        names.sort_by_key(|name| std::cmp::Reverse(protocol::rdns(name).count()));
        for name in names {
            let outcome = admin.delete(name, &manage)?;
            outcome.is_one_of(&[ResultCode::SUCCESS, ResultCode::NO_SUCH_OBJECT])?;
        }
    }
    Ok(())
}
