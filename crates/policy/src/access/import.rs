//! Access rules of other servers, carried over as rules of this language.
//!
//! Nothing is widened: what cannot be said here gives less than it did there, and the report says
//! so for each clause.

pub mod aci;
pub mod slapd;

use std::fmt;

use crate::access::right::RightWord;
use crate::access::rules::{Clause, Grant, Item, Reach, Rule, Target, Then, Things, Who};

/// Rules of the program's sets that every imported set begins with.
const OWN_RULES: [&str; 4] = [
    "administrator",
    "uses",
    "administrator-uses",
    "configuration",
];

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

/// Returns the rules of a set about the administrator, whom no rule binds elsewhere either, about
/// uses, and about the configuration, which has other entries there.
fn own_rules(mut rules: Vec<Rule>) -> Vec<Rule> {
    rules.retain(|it| OWN_RULES.contains(&it.name.as_str()));
    rules
}

/// Returns the clause that ends a rule and gives nothing, whatever was given before.
fn nothing() -> Clause {
    Clause {
        denies: true,
        subject: Who::Anyone,
        rights: vec![Grant {
            only: false,
            right: RightWord::Everything,
            items: Vec::new(),
        }],
        then: Then::Stop,
    }
}

/// Returns everything of an entry, secrets too.
fn everything() -> Vec<Item> {
    let all = [
        Things::Entry,
        Things::Children,
        Things::All,
        Things::Secrets,
    ];
    all.into_iter().map(Item::Only).collect()
}

fn subtree(dn: &str) -> Target {
    Target::Below {
        reach: Reach::Subtree,
        dn: dn.to_owned(),
    }
}

/// Returns a filter in the parentheses that other servers let one leave out.
fn parenthesised(filter: &str) -> String {
    match filter.starts_with('(') {
        true => filter.to_owned(),
        false => format!("({filter})"),
    }
}
