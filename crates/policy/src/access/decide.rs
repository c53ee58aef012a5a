//! Decisions: whether one subject has one right to one thing of one entry.

mod memo;

use std::sync::Arc;

use schema::Truth;

use crate::access::compile::{
    Asked, CompiledRule, CompiledTarget, Cover, Inner, OwnName, RuleSet, has_names,
};
use crate::access::condition::{Condition, reaches};
use crate::access::facts::{Asker, EntryFacts, Identity, SubjectFacts};
use crate::access::objects::{Answer, Object};
use crate::access::pattern::{Captures, Matching};
use crate::access::right::{Right, RightSet};
use crate::access::rules::{Place, Then};
use crate::access::steps::Fact;
use crate::access::walk::{Clause, Judged, Span, Step, walk};
use crate::access::words::Way;

use memo::Answered;
pub(super) use memo::Memo;

/// Minutes in a week: the longest time for which a subject's conditions hold.
const WEEK_MINUTES: u16 = 7 * 24 * 60;

/// The rules for one subject: what depends on the subject alone has been judged. Cloning copies a
/// pointer, and threads may share it.
#[derive(Debug, Clone)]
pub struct SubjectRules {
    set: RuleSet,
    bound: Arc<Bound>,
}

/// What was judged for one subject.
#[derive(Debug)]
struct Bound {
    asker: Asker,
    /// What is left of the condition of each clause of each rule.
    conditions: Vec<Vec<Condition>>,
    /// Answers from which the conditions follow.
    answered: Answered,
    steady_minutes: u16,
}

/// A question about one thing of an entry.
#[derive(Debug, Clone, Copy)]
pub struct Question<'v> {
    /// The thing.
    pub object: Object,
    /// The value of the attribute; `None` for all values, or when there is none.
    pub value: Option<&'v [u8]>,
}

impl Question<'_> {
    /// Returns a question about a thing with all its values.
    pub fn about(object: Object) -> Question<'static> {
        Question {
            object,
            value: None,
        }
    }
}

/// A decision, with the place in the rules that made it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ruling {
    /// Whether the right is given.
    pub allowed: bool,
    /// The clause that gave or took the right, or at which the search for one ended; `None` when no
    /// rule is about the question.
    pub place: Option<Place>,
}

impl RuleSet {
    /// Judges what depends on the subject alone. The result holds until the identity, a group or
    /// the subject's entry changes, and for [`SubjectRules::steady_minutes`] at most.
    ///
    /// Asks about each group and each filter once, however many clauses name it.
    pub fn of_subject(&self, asker: Asker, facts: &dyn SubjectFacts) -> SubjectRules {
        let facts = Memo::of(facts);
        let (mut conditions, mut steady_minutes) = (Vec::new(), WEEK_MINUTES);
        for rule in &self.inner.rules {
            let bound = rule.clauses.iter().map(|clause| {
                if let Some(minute) = asker.minute {
                    clause.subject.for_each_hours(&mut |hours| {
                        steady_minutes = steady_minutes.min(hours.steady_for(minute));
                    });
                }
                clause.subject.bind(&asker, &facts)
            });
            conditions.push(bound.collect());
        }
        let bound = Bound {
            asker,
            conditions,
            answered: facts.into_answered(),
            steady_minutes,
        };
        SubjectRules {
            set: self.clone(),
            bound: Arc::new(bound),
        }
    }
}

impl SubjectRules {
    /// The rules.
    pub fn set(&self) -> &RuleSet {
        &self.set
    }

    /// The subject, as it was when its conditions were judged.
    pub fn asker(&self) -> &Asker {
        &self.bound.asker
    }

    /// Returns whether the facts on which the conditions depended are the same still: then judging
    /// the subject again would come to the same.
    pub fn still_hold(&self, facts: &dyn SubjectFacts) -> bool {
        self.bound.answered.are_those_of(facts)
    }

    /// Returns whether the same was judged: every decision of the two is equal.
    pub fn is_equal(&self, other: &SubjectRules) -> bool {
        let (own, other_bound) = (&self.bound, &other.bound);
        self.set.is_copy_of(&other.set)
            && own.asker == other_bound.asker
            && own.conditions == other_bound.conditions
    }

    /// Number of the questions that [`SubjectRules::still_hold`] asks.
    pub fn questions(&self) -> usize {
        self.bound.answered.len()
    }

    /// Minutes after the asker's minute for which no `at` in the rules changes its answer.
    pub fn steady_minutes(&self) -> u16 {
        self.bound.steady_minutes
    }

    /// Judges the rules for an operation that the subject does as another identity (RFC 4370): it
    /// acts as `other`, comes by `via proxied` too, and stays who it really is. Whether it may is
    /// another question: for [`Right::Proxy`] of the entry of `other`.
    pub fn acting_as(&self, other: Identity, facts: &dyn SubjectFacts) -> SubjectRules {
        let own = self.asker();
        let asker = Asker {
            acting: other,
            ways: own.ways.and(Way::Proxied),
            ..own.clone()
        };
        self.set.of_subject(asker, facts)
    }

    /// Decides whether the subject has `right` to a thing of an entry, and by which clause.
    ///
    /// A right that depends on what is undefined is refused, and so is one to all values of an
    /// attribute unless every value has it.
    pub fn decide(&self, entry: &dyn EntryFacts, question: Question<'_>, right: Right) -> Ruling {
        let mut judged = self.on_entry(entry, question, None);
        let ruling = judged.ruling(right);
        let own = matches!(right, Right::AddValue | Right::DeleteValue) && judged.value_is_own();
        match ruling.allowed || !own {
            true => ruling,
            false => match judged.ruling(Right::SelfValue) {
                by_own_value if by_own_value.allowed => by_own_value,
                _ => ruling,
            },
        }
    }

    /// Returns all rights to a thing of an entry: those that the rules surely give.
    pub fn rights(&self, entry: &dyn EntryFacts, question: Question<'_>) -> RightSet {
        let mut judged = self.on_entry(entry, question, None);
        walk(&mut judged, &RightSet::ALL).surely
    }

    pub(super) fn inner(&self) -> &Inner {
        &self.set.inner
    }

    pub(super) fn condition(&self, at: Place) -> &Condition {
        let clause = at.clause.expect("only clauses have conditions");
        &self.bound.conditions[at.rule][clause]
    }

    /// Returns the rules judged on an entry; the walk notes its steps if there is room for them.
    pub(super) fn on_entry<'a>(
        &'a self,
        entry: &'a dyn EntryFacts,
        question: Question<'a>,
        steps: Option<Vec<Step>>,
    ) -> OnEntry<'a> {
        let mut normal = None;
        if let (Object::Attribute(id), Some(value)) = (question.object, question.value) {
            let schema = &self.inner().schema;
            if has_names(schema, id) || self.set.tells_values(question.object) {
                let mut octets = Vec::new();
                let done = schema.normalise_equality(id, value, &mut octets);
                normal = done.ok().map(|()| octets);
            }
        }
        OnEntry {
            rules: self,
            entry,
            question,
            normal,
            captures: None,
            forced: None,
            cause: Cause::default(),
            steps,
        }
    }
}

/// Rules judged on one entry, for one question.
pub(super) struct OnEntry<'a> {
    rules: &'a SubjectRules,
    entry: &'a dyn EntryFacts,
    question: Question<'a>,
    /// Normal form of the question's value.
    normal: Option<Vec<u8>>,
    /// What the stars of the rule's target stand for.
    captures: Option<Captures>,
    /// A clause whose subject is taken to match, or not to.
    pub(super) forced: Option<(Place, Truth)>,
    cause: Cause,
    /// The steps of the walk, if they are wanted.
    pub(super) steps: Option<Vec<Step>>,
}

/// The places that made a decision.
#[derive(Debug, Clone, Copy, Default)]
struct Cause {
    granted: Option<Place>,
    denied: Option<Place>,
    stays_denied: Option<Place>,
    /// The first refusal, else the first end.
    ended: Option<Ruling>,
}

impl OnEntry<'_> {
    /// Decides about one right.
    pub(super) fn ruling(&mut self, right: Right) -> Ruling {
        self.begin();
        let given = walk(self, &RightSet::of(&[right]));
        self.end(!given.surely.is_empty())
    }

    /// Forgets the steps of the walk before.
    pub(super) fn begin(&mut self) {
        self.cause = Cause::default();
    }

    /// Returns the decision that the walk has come to.
    pub(super) fn end(&self, allowed: bool) -> Ruling {
        Ruling {
            allowed,
            place: self.cause.ended.and_then(|it| it.place),
        }
    }

    /// Returns the answer to a question of a walk.
    pub(super) fn answer(&mut self, fact: Fact) -> Truth {
        match fact {
            Fact::Target(rule) => self.target(rule),
            Fact::Subject(rule, clause) => {
                if self.compiled(rule).clauses[clause].has_captures {
                    // Finds what the stars of the target stand for.
                    self.target(rule);
                }
                let clause = Some(clause);
                self.subject(Place { rule, clause })
            }
        }
    }

    /// What the stars of the target judged last stand for.
    pub(super) fn captures(&self) -> Option<&Captures> {
        self.captures.as_ref()
    }

    fn value_is_own(&self) -> bool {
        let own = self.rules.asker().acting.name();
        own.is_some_and(|it| self.normal.as_deref() == Some(it.bytes()))
    }

    fn asked(&self) -> Asked<'_> {
        match self.question.value {
            None => Asked::Any,
            Some(_) => Asked::One {
                normal: self.normal.as_deref(),
                own: match &self.rules.asker().acting {
                    Identity::Anonymous => OwnName::Nobody,
                    Identity::Unknown => OwnName::Unknown,
                    Identity::Entry(name) | Identity::Administrator(name) => {
                        OwnName::Is(name.bytes())
                    }
                },
            },
        }
    }

    fn compiled(&self, rule: usize) -> &CompiledRule {
        &self.rules.inner().rules[rule]
    }

    /// Returns the rights if the question's object is among those of a cover.
    fn held(&self, cover: &Cover, rights: RightSet) -> Span<RightSet> {
        match cover.holds(self.question.object, self.asked()) {
            Answer::No => Span::default(),
            Answer::Yes => Span::of(rights),
            Answer::Perhaps => Span {
                surely: RightSet::NONE,
                perhaps: rights,
            },
        }
    }
}

impl Judged<RightSet> for OnEntry<'_> {
    fn rules(&self) -> usize {
        self.rules.inner().rules.len()
    }

    fn about(&self, rule: usize) -> Span<RightSet> {
        self.held(&self.compiled(rule).about, RightSet::ALL)
    }

    fn target(&mut self, rule: usize) -> Truth {
        let rule = &self.rules.inner().rules[rule];
        self.captures = None;
        let name = self.entry.name();
        let mut matches = Truth::False;
        for target in &rule.targets {
            let truth = match target {
                CompiledTarget::Everything => Truth::True,
                CompiledTarget::Below(reach, base) => reaches(*reach, base, name).into(),
                CompiledTarget::Pattern(pattern) => {
                    let matching = pattern.judge(name, &[]);
                    let truth = matching.truth();
                    if let Matching::Yes(captures) = matching {
                        self.captures = Some(captures);
                    }
                    truth
                }
            };
            match truth {
                Truth::False => (),
                Truth::Undefined => matches = Truth::Undefined,
                Truth::True => {
                    if matches == Truth::Undefined {
                        // Another target may have matched before, with other captures.
                        self.captures = None;
                    }
                    matches = Truth::True;
                    break;
                }
            }
        }
        match (&rule.filter, matches) {
            (None, _) | (_, Truth::False) => matches,
            (Some(filter), Truth::True) => self.entry.matches(filter),
            (Some(filter), Truth::Undefined) => match self.entry.matches(filter) {
                Truth::False => Truth::False,
                _ => Truth::Undefined,
            },
        }
    }

    fn clauses(&self, rule: usize) -> usize {
        self.compiled(rule).clauses.len()
    }

    fn clause(&self, at: Place) -> Clause<RightSet> {
        let compiled = self.compiled(at.rule);
        let clause = &compiled.clauses[at.clause.expect("a clause")];
        let mut effect = Span::default();
        for it in &clause.effects {
            effect.join(&match &it.on {
                None => Span::of(it.rights),
                Some(cover) => self.held(cover, it.rights),
            });
        }
        Clause {
            denies: clause.denies,
            then: clause.then,
            effect,
        }
    }

    fn subject(&mut self, at: Place) -> Truth {
        if let Some((forced, truth)) = self.forced
            && forced == at
        {
            return truth;
        }
        let condition = self.rules.condition(at);
        condition.judge(self.rules.asker(), self.entry, self.captures.as_ref())
    }

    fn note(&mut self, step: Step) {
        if let Some(steps) = &mut self.steps {
            steps.push(step);
        }
        let cause = &mut self.cause;
        match step {
            Step::Effect { at, denies, then } => match (denies, then) {
                (true, Then::Gather) => cause.stays_denied = cause.stays_denied.or(Some(at)),
                (true, _) => cause.denied = Some(at),
                (false, _) => {
                    cause.granted = Some(at);
                    cause.denied = None;
                }
            },
            Step::End { at, allowed } => {
                let place = match allowed {
                    true => cause.granted.or(at),
                    false => cause.stays_denied.or(cause.denied).or(at),
                };
                let first = cause.ended.is_none_or(|it| it.allowed && !allowed);
                if first {
                    cause.ended = Some(Ruling { allowed, place });
                }
            }
            Step::NotAbout(_) | Step::Target(..) | Step::Subject(..) => (),
        }
    }
}

#[cfg(test)]
mod cases;
#[cfg(test)]
pub(crate) mod tests;
#[cfg(test)]
mod unknown;
