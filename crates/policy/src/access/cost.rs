//! Costs of deciding by a set of rules, told without asking about any entry.
//!
//! A condition costs most where it needs the values of each entry, and least where one subject is
//! asked about once. The unit is a step: one look at a rule, a clause, a target, an assertion of a
//! filter, or a fact of an entry that a condition needs.

#[cfg(test)]
mod tests;

use schema::Name;

use crate::access::analysis::is_dead;
use crate::access::compile::{CompiledRule, CompiledTarget, RuleSet};
use crate::access::condition::Condition;
use crate::access::objects::{Bits, Object, ObjectSet};
use crate::access::rules::Reach;
use crate::access::words::Use;

/// A kind of fact that a rule needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Need {
    /// The subject's identity.
    Identity,
    /// The subject's address, or the ways by which it came.
    Connection,
    /// The present time.
    Time,
    /// The groups of the subject.
    Groups,
    /// A filter on the subject's entry.
    SubjectEntry,
    /// The name above an entry.
    Place,
    /// The name of each entry.
    Name,
    /// The names of the superior's values of an attribute.
    Superior,
    /// The names that are values of an attribute of each entry.
    Names,
    /// A filter on each entry.
    Values,
}

/// How often a fact is found out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Pace {
    /// Once for a subject, and again when a group, the subject's entry or the time changes.
    Subject,
    /// Once for a subject and all entries directly below one name.
    Region,
    /// For each entry.
    Entry,
}

impl Need {
    /// How often the fact is found out.
    pub fn pace(self) -> Pace {
        match self {
            Need::Identity | Need::Connection | Need::Time | Need::Groups | Need::SubjectEntry => {
                Pace::Subject
            }
            Need::Place => Pace::Region,
            Need::Name | Need::Superior | Need::Names | Need::Values => Pace::Entry,
        }
    }

    /// The fact in words.
    pub fn words(self) -> &'static str {
        match self {
            Need::Identity => "who asks",
            Need::Connection => "from where and how the client came",
            Need::Time => "the time",
            Need::Groups => "groups",
            Need::SubjectEntry => "a filter on the subject's entry",
            Need::Place => "the name above the entry",
            Need::Name => "the entry's name",
            Need::Superior => "names in the superior",
            Need::Names => "names in the entry",
            Need::Values => "a filter on the entry",
        }
    }

    /// Whether an entry is read for the fact, its own or that of its superior.
    fn is_read(self) -> bool {
        matches!(self, Need::Superior | Need::Names | Need::Values)
    }
}

/// The cost of a target or a clause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartCost {
    /// The part as text.
    pub text: String,
    /// The facts needed, in ascending order of their cost.
    pub needs: Vec<Need>,
    /// Steps at most, for one right to one entry.
    pub steps: usize,
}

impl PartCost {
    /// How often the dearest fact is found out; `None` if no fact is needed.
    pub fn pace(&self) -> Option<Pace> {
        self.needs.iter().map(|it| it.pace()).max()
    }
}

/// The cost of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleCost {
    /// Name of the rule.
    pub rule: String,
    /// The cost of the line `on`.
    pub target: PartCost,
    /// The costs of the clauses.
    pub clauses: Vec<PartCost>,
    /// Whether the rule makes every search of other subjects than the administrator judge each of
    /// its entries by itself.
    pub divides_all: bool,
}

impl RuleCost {
    /// Steps at most, for one right to one entry.
    pub fn steps(&self) -> usize {
        let clauses: usize = self.clauses.iter().map(|it| it.steps).sum();
        1 + self.target.steps + clauses
    }
}

impl RuleSet {
    /// Returns the cost of each rule.
    pub fn costs(&self) -> Vec<RuleCost> {
        let rules = &self.inner.rules;
        let cost = |(at, rule)| RuleCost::of(rule, &rules[..at]);
        rules.iter().enumerate().map(cost).collect()
    }
}

impl RuleCost {
    /// The cost of a rule behind others.
    fn of(rule: &CompiledRule, earlier: &[CompiledRule]) -> RuleCost {
        let source = &rule.source;
        let clauses = rule.clauses.iter().zip(&source.clauses);
        let clauses: Vec<PartCost> = clauses
            .map(|(it, spelled)| of_subject(&it.subject, spelled.to_string()))
            .collect();
        let target = of_target(rule);
        let is_read = |it: &PartCost| it.needs.iter().any(|it| it.is_read());
        let asks_entries = is_read(&target) || clauses.iter().any(is_read);
        let divides_all =
            asks_entries && is_everywhere(rule) && is_seen(rule) && !is_dead(earlier, rule);
        RuleCost {
            rule: source.name.clone(),
            target,
            clauses,
            divides_all,
        }
    }
}

/// Whether a target of the rule is every entry.
fn is_everywhere(rule: &CompiledRule) -> bool {
    rule.targets.iter().any(|it| match it {
        CompiledTarget::Everything => true,
        CompiledTarget::Below(reach, base) => {
            base.depth() == 0 && matches!(reach, Reach::Subtree | Reach::Children)
        }
        CompiledTarget::Pattern(pattern) => pattern.matches_all_within(&Name::root()),
    })
}

/// Whether the rule is about a thing that searches show or use: an entry or an attribute.
fn is_seen(rule: &CompiledRule) -> bool {
    let unseen = Use::ALL.into_iter().map(Object::Use);
    let unseen = ObjectSet::of(unseen.chain([Object::Children]));
    !rule.about.objects().perhaps.without(&unseen).has_none()
}

fn of_target(rule: &CompiledRule) -> PartCost {
    let mut needs: Vec<Need> = rule
        .targets
        .iter()
        .filter_map(|target| match target {
            CompiledTarget::Everything => None,
            CompiledTarget::Below(Reach::One | Reach::Children, _) => Some(Need::Place),
            CompiledTarget::Below(_, base) if base.depth() == 0 => Some(Need::Place),
            // Beside the base there are entries that are no target.
            CompiledTarget::Below(Reach::Entry | Reach::Subtree, _)
            | CompiledTarget::Pattern(_) => Some(Need::Name),
        })
        .collect();
    let source = &rule.source;
    let targets: Vec<String> = source.targets.iter().map(ToString::to_string).collect();
    let mut text = format!("on {}", targets.join(", "));
    let mut steps = rule.targets.len();
    if let (Some(filter), Some(spelled)) = (&rule.filter, &source.filter) {
        needs.push(Need::Values);
        steps += filter.weight();
        text = format!("{text} where {spelled}");
    }
    PartCost {
        text,
        needs: ordered(needs),
        steps,
    }
}

fn of_subject(subject: &Condition, text: String) -> PartCost {
    let mut needs = Vec::new();
    add_needs(subject, &mut needs);
    let of_entries = needs.iter().filter(|it| it.pace() == Pace::Entry).count();
    PartCost {
        text,
        steps: 1 + of_entries,
        needs: ordered(needs),
    }
}

/// Adds a need for each part of a condition. The depth of the condition bounds the recursion.
fn add_needs(condition: &Condition, needs: &mut Vec<Need>) {
    needs.push(match condition {
        Condition::Known(_) => return,
        Condition::Not(inner) => return add_needs(inner, needs),
        Condition::All(parts) | Condition::Any(parts) => {
            return parts.iter().for_each(|it| add_needs(it, needs));
        }
        Condition::Anonymous(_)
        | Condition::Users(_)
        | Condition::Administrator(_)
        | Condition::Below(..) => Need::Identity,
        Condition::Pattern(_, pattern) if pattern.highest_capture() == 0 => Need::Identity,
        Condition::Pattern(..) | Condition::Own(_) => Need::Name,
        Condition::Group(..) => Need::Groups,
        Condition::Having(..) => Need::SubjectEntry,
        Condition::Named(..) => Need::Names,
        Condition::NamedAbove(..) => Need::Superior,
        Condition::From(_) | Condition::FromLocal | Condition::Via(_) => Need::Connection,
        Condition::At(_) => Need::Time,
    });
}

fn ordered(mut needs: Vec<Need>) -> Vec<Need> {
    needs.sort_unstable();
    needs.dedup();
    needs
}
