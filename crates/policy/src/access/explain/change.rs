//! The smallest change that turns a decision: of conditions on the subject, or of the rules.

use std::fmt;

use schema::Truth;

use crate::access::compile::RuleSet;
use crate::access::condition::Condition;
use crate::access::decide::{Question, Ruling, SubjectRules};
use crate::access::facts::{EntryFacts, SubjectFacts};
use crate::access::pattern::Captures;
use crate::access::right::Right;
use crate::access::rules::{Place, Who};
use crate::access::walk::{Judged, Step};

/// Clauses of which it is tried at most whether another answer to them turns a decision: each may
/// take a walk over all rules.
const TURNS_MAX: usize = 100;

/// A condition on the subject that would have to change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flip {
    /// The condition, as rules spell it.
    pub condition: String,
    /// Whether it would have to be true.
    pub to: bool,
}

impl fmt::Display for Flip {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = if self.to { "is" } else { "is not" };
        write!(out, "the subject {verb}: {}", self.condition)
    }
}

/// A change of the rules that turns a decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RuleChange {
    /// The clause gives the right that was refused, or no longer gives the one that was allowed.
    Clause {
        /// Name of the rule.
        rule: String,
        /// The clause as text.
        clause: String,
    },
    /// The rule has one more clause, which gives the right.
    Rule {
        /// Name of the rule.
        rule: String,
    },
    /// There is a rule about the question; no rule is so far.
    NewRule,
}

impl RuleChange {
    /// Returns the change that turns a decision of these rules.
    pub(super) fn of(set: &RuleSet, ruling: Ruling) -> RuleChange {
        let rule = ruling.place.and_then(|it| set.rules().nth(it.rule));
        let (Some(rule), Some(place)) = (rule, ruling.place) else {
            return RuleChange::NewRule;
        };
        let (clause, rule) = (place.clause.and_then(|it| rule.clauses.get(it)), &rule.name);
        let rule = rule.clone();
        match clause {
            Some(clause) => RuleChange::Clause {
                rule,
                clause: clause.to_string(),
            },
            None => RuleChange::Rule { rule },
        }
    }
}

impl fmt::Display for RuleChange {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RuleChange::Clause { rule, clause } => {
                write!(out, "rule {rule} said otherwise in: {clause}")
            }
            RuleChange::Rule { rule } => write!(out, "rule {rule} had a clause that gives it"),
            RuleChange::NewRule => out.write_str("a rule were about it"),
        }
    }
}

/// The changes that may turn one decision.
pub(super) struct Changes<'a> {
    pub(super) rules: &'a SubjectRules,
    pub(super) entry: &'a dyn EntryFacts,
    pub(super) facts: &'a dyn SubjectFacts,
    pub(super) question: Question<'a>,
    pub(super) right: Right,
}

impl Changes<'_> {
    /// Returns the fewest conditions of one clause whose change turns the decision. Only a clause
    /// that the decision asked can turn it; of those the first [`TURNS_MAX`] are tried.
    pub(super) fn fewest_flips(&self, steps: &[Step], allowed: bool) -> Option<Vec<Flip>> {
        let asked = steps.iter().filter_map(|it| match it {
            Step::Subject(at, _) => Some(*at),
            _ => None,
        });
        let mut fewest: Option<Vec<Flip>> = None;
        for at in asked.take(TURNS_MAX) {
            for to in [true, false] {
                let fewer = |it: &Vec<Flip>| fewest.as_ref().is_none_or(|so| it.len() < so.len());
                let flips = self.flips(at, to).filter(|it| !it.is_empty()).filter(fewer);
                if flips.is_some() && self.turns(at, to, allowed) {
                    fewest = flips;
                }
            }
            if fewest.as_ref().is_some_and(|it| it.len() == 1) {
                break;
            }
        }
        fewest
    }

    /// Returns whether the decision is another one when the subject of a clause matches, or does
    /// not.
    fn turns(&self, at: Place, to: bool, allowed: bool) -> bool {
        let mut judged = self.rules.on_entry(self.entry, self.question, None);
        judged.forced = Some((at, to.into()));
        judged.ruling(self.right).allowed != allowed
    }

    /// Returns the fewest conditions that must change for the subject of a clause to match, or not
    /// to; `None` when that is impossible.
    pub(super) fn flips(&self, at: Place, to: bool) -> Option<Vec<Flip>> {
        let rule = &self.rules.inner().rules[at.rule];
        let clause = at.clause?;
        // Targets do not depend on values.
        let about = Question::about(self.question.object);
        let mut judged = self.rules.on_entry(self.entry, about, None);
        judged.target(at.rule);
        let search = Search {
            changes: self,
            captures: judged.captures(),
        };
        let (who, condition) = (
            &rule.source.clauses[clause].subject,
            &rule.clauses[clause].subject,
        );
        search.flips(who, condition, to)
    }
}

struct Search<'a> {
    changes: &'a Changes<'a>,
    captures: Option<&'a Captures>,
}

impl Search<'_> {
    /// Returns the fewest changes that give a condition this truth. The depth of the condition
    /// bounds the recursion.
    fn flips(&self, who: &Who, condition: &Condition, to: bool) -> Option<Vec<Flip>> {
        match (who, condition) {
            (Who::Real(inner), condition) => {
                let mut flips = self.flips(inner, condition, to)?;
                flips
                    .iter_mut()
                    .for_each(|it| it.condition = format!("real {}", it.condition));
                Some(flips)
            }
            (Who::Not(inner), Condition::Not(condition)) => self.flips(inner, condition, !to),
            (Who::All(parts), Condition::All(conditions)) => {
                let parts = parts
                    .iter()
                    .zip(conditions)
                    .map(|(it, of)| self.flips(it, of, to));
                if to { every(parts) } else { fewest(parts) }
            }
            (Who::Any(parts), Condition::Any(conditions)) => {
                let parts = parts
                    .iter()
                    .zip(conditions)
                    .map(|(it, of)| self.flips(it, of, to));
                if to { fewest(parts) } else { every(parts) }
            }
            (one, condition) => self.flip(one, condition, to),
        }
    }

    fn flip(&self, who: &Who, condition: &Condition, to: bool) -> Option<Vec<Flip>> {
        let asker = self.changes.rules.asker();
        let bound = condition.bind(asker, self.changes.facts);
        let truth = bound.judge(asker, self.changes.entry, self.captures);
        if truth == Truth::from(to) {
            return Some(Vec::new());
        }
        let condition = who.to_string();
        let possible = !matches!(who, Who::Anyone);
        possible.then(|| vec![Flip { condition, to }])
    }
}

fn every(parts: impl Iterator<Item = Option<Vec<Flip>>>) -> Option<Vec<Flip>> {
    let parts = parts.collect::<Option<Vec<Vec<Flip>>>>()?;
    Some(parts.into_iter().flatten().collect())
}

fn fewest(parts: impl Iterator<Item = Option<Vec<Flip>>>) -> Option<Vec<Flip>> {
    parts.flatten().min_by_key(Vec::len)
}
