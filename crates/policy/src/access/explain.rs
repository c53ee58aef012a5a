//! Explanations: which clause decided, why earlier ones did not, and what would turn the decision.

mod change;
#[cfg(test)]
mod tests;

use std::fmt;

use schema::{Schema, Truth};

use crate::access::decide::{Memo, Question, Ruling, SubjectRules};
use crate::access::facts::{EntryFacts, SubjectFacts};
use crate::access::objects::Object;
use crate::access::right::Right;
use crate::access::rules::Place;
use crate::access::walk::Step;

pub use change::{Flip, RuleChange};

/// The explanation of one decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    /// The right that was asked for.
    pub right: Right,
    /// What it was asked for, e.g. `mail of uid=ada,dc=example`.
    pub thing: String,
    /// The decision.
    pub ruling: Ruling,
    /// What each rule and clause contributed, in the order in which they were asked.
    pub reasons: Vec<Reason>,
    /// The fewest conditions on the subject whose change turns the decision; `None` when no change
    /// within one of the first hundred clauses that were asked does.
    pub by_subject: Option<Vec<Flip>>,
    /// The smallest change of the rules that turns the decision.
    pub by_rules: RuleChange,
}

/// What one rule or clause contributed to a decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reason {
    /// The rule, and the clause if it is about one.
    pub place: Place,
    /// Name of the rule.
    pub rule: String,
    /// The clause as text; `None` if the reason is about the rule.
    pub clause: Option<String>,
    /// The contribution.
    pub why: Why,
}

/// A contribution to a decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    /// The rule is about other attributes, parts of the entry, or uses.
    OtherThing,
    /// The targets of the rule do not match the entry, or its filter does not.
    OtherTarget,
    /// It is not known whether the rule's filter matches.
    UnknownTarget,
    /// The subject of the clause does not match; these conditions would have to change.
    OtherSubject(Vec<Flip>),
    /// It is not known whether the subject of the clause matches, because of these conditions.
    UnknownSubject(Vec<Flip>),
    /// The clause matches, and neither gives nor takes the right.
    Silent,
    /// The clause gives the right.
    Gives,
    /// The clause takes the right.
    Takes,
}

impl SubjectRules {
    /// Explains the decision of [`SubjectRules::decide`] about the same question.
    pub fn explain(
        &self,
        entry: &dyn EntryFacts,
        facts: &dyn SubjectFacts,
        question: Question<'_>,
        right: Right,
    ) -> Explanation {
        let ruling = self.decide(entry, question, right);
        let mut judged = self.on_entry(entry, question, Some(Vec::new()));
        // One's own name as a value is decided by another right, see `decide`.
        let asked = match judged.ruling(right) == ruling {
            true => right,
            false => Right::SelfValue,
        };
        judged.steps = Some(Vec::new());
        judged.ruling(asked);
        let steps = judged.steps.take().unwrap_or_default();
        let changes = change::Changes {
            rules: self,
            entry,
            facts: &Memo::of(facts),
            question,
            right: asked,
        };
        let reasons = steps.iter().enumerate();
        let reasons =
            reasons.filter_map(|(at, step)| self.reason(*step, steps.get(at + 1), &changes));
        Explanation {
            right,
            thing: thing(&self.inner().schema, question.object, entry),
            ruling,
            reasons: reasons.collect(),
            by_subject: changes.fewest_flips(&steps, ruling.allowed),
            by_rules: RuleChange::of(self.set(), ruling),
        }
    }

    /// Returns what a step of the walk means; `next` is the step after it.
    fn reason(
        &self,
        step: Step,
        next: Option<&Step>,
        changes: &change::Changes<'_>,
    ) -> Option<Reason> {
        let of_rule = |rule| Place { rule, clause: None };
        let (place, why) = match step {
            Step::NotAbout(rule) => (of_rule(rule), Why::OtherThing),
            Step::Target(rule, Truth::False) => (of_rule(rule), Why::OtherTarget),
            Step::Target(rule, Truth::Undefined) => (of_rule(rule), Why::UnknownTarget),
            Step::Subject(at, Truth::False) => {
                let flips = changes.flips(at, true).unwrap_or_default();
                (at, Why::OtherSubject(flips))
            }
            Step::Subject(at, Truth::Undefined) => {
                let flips = changes.flips(at, true).unwrap_or_default();
                (at, Why::UnknownSubject(flips))
            }
            Step::Subject(at, Truth::True) => match next {
                Some(Step::Effect { .. }) => return None,
                _ => (at, Why::Silent),
            },
            Step::Effect { at, denies, .. } => (at, if denies { Why::Takes } else { Why::Gives }),
            Step::Target(_, Truth::True) | Step::End { .. } => return None,
        };
        let rule = &self.inner().rules[place.rule].source;
        let clause = place.clause.map(|it| rule.clauses[it].to_string());
        Some(Reason {
            place,
            rule: rule.name.clone(),
            clause,
            why,
        })
    }
}

/// Returns the words for what a question is about.
fn thing(schema: &Schema, object: Object, entry: &dyn EntryFacts) -> String {
    let name = entry.name();
    match object {
        Object::Entry => format!("the entry \"{name}\""),
        Object::Children => format!("the place below \"{name}\""),
        Object::Attribute(id) => format!("{} of \"{name}\"", schema.type_of(id).name()),
        Object::Use(it) => format!("{} at \"{name}\"", it.word()),
    }
}

impl Explanation {
    /// Returns the changes that turn the decision, each in words: of the subject, where there is
    /// one, and of the rules.
    pub fn changes(&self) -> Vec<String> {
        let of_subject = self.by_subject.iter().map(|it| all(it));
        of_subject.chain([self.by_rules.to_string()]).collect()
    }
}

impl fmt::Display for Explanation {
    /// Writes the decision, a line for each reason, and the changes that turn it.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = if self.ruling.allowed {
            "allowed"
        } else {
            "refused"
        };
        writeln!(out, "{} to {}: {verdict}", self.right, self.thing)?;
        for reason in &self.reasons {
            let decides = reason.place.clause.is_some() && self.ruling.place == Some(reason.place);
            let mark = if decides { "  <- decides" } else { "" };
            writeln!(out, "  {reason}{mark}")?;
        }
        let mut changes = self.changes().into_iter();
        changes.try_for_each(|it| writeln!(out, "would be different if {it}"))
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "rule {}", self.rule)?;
        if let Some(clause) = &self.clause {
            write!(out, ", {clause}")?;
        }
        write!(out, ": {}", self.why)
    }
}

impl fmt::Display for Why {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Why::OtherThing => out.write_str("is not about it"),
            Why::OtherTarget => out.write_str("does not match the entry"),
            Why::UnknownTarget => out.write_str("may match the entry or not"),
            Why::OtherSubject(flips) => write!(out, "matches only if {}", all(flips)),
            Why::UnknownSubject(flips) => write!(out, "cannot tell whether {}", all(flips)),
            Why::Silent => out.write_str("matches, and does not name the right"),
            Why::Gives => out.write_str("gives the right"),
            Why::Takes => out.write_str("takes the right"),
        }
    }
}

fn all(flips: &[Flip]) -> String {
    let flips: Vec<String> = flips.iter().map(Flip::to_string).collect();
    match flips.is_empty() {
        true => "other rules were asked".to_owned(),
        false => flips.join(", and "),
    }
}
