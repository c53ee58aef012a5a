//! Compiling rules: every name in them is resolved under a schema, once.
//!
//! A set of rules means what its schema means: after a change of the schema or of its dictionary of
//! attributes the rules are compiled again.

mod about;
mod effect;
mod subject;
mod within;

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use schema::{Filter, Name, Schema};

use crate::access::condition::Condition;
use crate::access::error::{Position, RuleError};
use crate::access::objects::{Bits, Object, ObjectSet};
use crate::access::parse::{RulePlaces, RuleText};
use crate::access::pattern::NamePattern;
use crate::access::right::RightSet;
use crate::access::rules::{
    About, CLAUSES_MAX, Clause, DEPTH_MAX, Grant, RULES_MAX, Reach, Rule, Target, Then,
};
use crate::access::words::Use;
use crate::secrets::Secrets;

pub(super) use about::{Asked, Cover, OwnName, has_names};
pub(super) use effect::{TO_CHILDREN, TO_ENTRIES};

/// Rules with every name resolved. Cloning copies a pointer.
#[derive(Debug, Clone)]
pub struct RuleSet {
    pub(super) inner: Arc<Inner>,
    generation: u64,
}

#[derive(Debug)]
pub(super) struct Inner {
    pub(super) schema: Schema,
    pub(super) rules: Vec<CompiledRule>,
    /// All objects there are.
    pub(super) objects: ObjectSet,
    /// The attributes of which rules tell values apart.
    told_apart: ObjectSet,
    /// Whether a condition depends on the time.
    pub(super) tells_time: bool,
    /// The uses that rules are about.
    uses: Vec<Use>,
}

/// A rule with every name resolved.
#[derive(Debug)]
pub(super) struct CompiledRule {
    /// The entry at and below which all targets lie; `None` if they may lie anywhere.
    pub(super) within: Option<Name>,
    pub(super) targets: Vec<CompiledTarget>,
    pub(super) filter: Option<Filter>,
    pub(super) about: Cover,
    pub(super) clauses: Vec<CompiledClause>,
    /// Number of the first rule with the same target and filter.
    pub(super) alike: usize,
    /// The rule as it was given.
    pub(super) source: Rule,
}

#[derive(Debug)]
pub(super) enum CompiledTarget {
    Everything,
    Below(Reach, Name),
    Pattern(NamePattern),
}

#[derive(Debug)]
pub(super) struct CompiledClause {
    pub(super) denies: bool,
    pub(super) subject: Condition,
    pub(super) effects: Vec<Effect>,
    pub(super) then: Then,
    /// Number of the first rule, and in it of the first clause, with the same condition: one about
    /// the stars of a target only if the targets are the same.
    pub(super) alike: (usize, usize),
    /// Whether the condition depends on the stars of the target.
    pub(super) has_captures: bool,
}

/// Rights that a clause gives or takes.
#[derive(Debug)]
pub(super) struct Effect {
    pub(super) rights: RightSet,
    /// What they are for; `None` for all that the rule is about.
    pub(super) on: Option<Cover>,
}

/// A part of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RulePart {
    /// The line `within`.
    Within,
    /// The line `on`.
    On,
    /// The line `for`.
    For,
    /// A clause, by its number from 0.
    Clause(usize),
}

/// An error in rules whose text was readable: a name that the schema does not know, and the like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompileError {
    /// Number of the rule, from 0.
    pub rule: usize,
    /// Name of the rule.
    pub name: String,
    /// The part of the rule.
    pub part: RulePart,
    /// The thing, what was expected, and what was given.
    pub message: String,
}

impl CompileError {
    /// Returns the error with its place in the text from which the rules were read.
    pub fn in_text(&self, text: &RuleText) -> RuleError {
        let place = |it: &RulePlaces| match self.part {
            RulePart::Within => Some(it.within),
            RulePart::On => Some(it.on),
            RulePart::For => Some(it.about),
            RulePart::Clause(number) => it.clauses.get(number).copied(),
        };
        let position: Option<Position> = text.places.get(self.rule).and_then(place);
        RuleError {
            position,
            message: self.message.clone(),
        }
    }
}

impl fmt::Display for CompileError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "access rule {}, ", self.name)?;
        match self.part {
            RulePart::Within => write!(out, "within: ")?,
            RulePart::On => write!(out, "on: ")?,
            RulePart::For => write!(out, "for: ")?,
            RulePart::Clause(number) => write!(out, "clause {}: ", number + 1)?,
        }
        out.write_str(&self.message)
    }
}

impl std::error::Error for CompileError {}

impl RuleSet {
    /// Resolves every name in rules. `secrets` are the secret attribute types of `schema`.
    ///
    /// # Errors
    /// The first part of a rule that means nothing under the schema, or has no effect in it; more
    /// than [`RULES_MAX`] rules or [`CLAUSES_MAX`] clauses, or conditions in more than
    /// [`DEPTH_MAX`] others.
    pub fn compile(
        schema: &Schema,
        secrets: &Secrets,
        rules: &[Rule],
    ) -> Result<RuleSet, CompileError> {
        let compiler = Compiler { schema, secrets };
        let (mut clauses, mut places) = (0, within::Places::default());
        let compiled = rules.iter().enumerate().map(|(number, rule)| {
            clauses += rule.clauses.len();
            let compiled = match within_limits(number, clauses) {
                Ok(()) => compiler.rule(rule),
                Err(message) => Err(in_part(RulePart::On)(message)),
            };
            let compiled = compiled.and_then(|it| match places.follows(it.within.as_ref()) {
                Ok(()) => Ok(it),
                Err(message) => Err(in_part(RulePart::Within)(message)),
            });
            compiled.map_err(|Wrong { part, message }| CompileError {
                rule: number,
                name: rule.name.clone(),
                part,
                message,
            })
        });
        let mut rules: Vec<CompiledRule> = compiled.collect::<Result<_, CompileError>>()?;
        number_alike(&mut rules);
        let is_about = |one: &Use| {
            let mut covers = rules.iter().map(|it| it.about.objects().perhaps);
            covers.any(|it| it.contains(Object::Use(*one)))
        };
        let inner = Inner {
            schema: schema.clone(),
            uses: Use::ALL.into_iter().filter(is_about).collect(),
            told_apart: told_apart(&rules),
            tells_time: tells_time(&rules),
            rules,
            objects: about::all_objects(schema),
        };
        Ok(RuleSet {
            inner: Arc::new(inner),
            generation: 0,
        })
    }

    /// Returns the same rules with a number that tells them from others: that of the schema and the
    /// rules they were compiled from. Answers of one generation mean nothing in another.
    pub fn with_generation(self, generation: u64) -> RuleSet {
        RuleSet { generation, ..self }
    }

    /// The number given by [`RuleSet::with_generation`]; 0 if none was.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Returns whether this is the same set, compiled by the same call: a copy of it.
    pub fn is_copy_of(&self, other: &RuleSet) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }

    /// Returns whether a condition depends on the time.
    pub fn tells_time(&self) -> bool {
        self.inner.tells_time
    }

    /// Returns whether rules tell values of an attribute apart.
    pub(super) fn tells_values(&self, object: Object) -> bool {
        self.inner.told_apart.contains(object)
    }

    /// Returns whether decisions about an attribute may depend on its value: rules tell its values
    /// apart, or a value may be the subject's own name.
    pub fn heeds_values(&self, object: Object) -> bool {
        let Object::Attribute(type_id) = object else {
            return false;
        };
        has_names(&self.inner.schema, type_id) || self.tells_values(object)
    }

    /// Number of the clauses in all rules.
    pub fn clause_count(&self) -> usize {
        self.inner.rules.iter().map(|it| it.clauses.len()).sum()
    }

    /// Returns whether a rule is about this use. No rule gives another one.
    pub fn decides(&self, one: Use) -> bool {
        self.inner.uses.contains(&one)
    }

    /// Returns whether a rule is about any use.
    pub fn decides_uses(&self) -> bool {
        !self.inner.uses.is_empty()
    }

    /// Iterates over the rules as they were given.
    pub fn rules(&self) -> impl ExactSizeIterator<Item = &Rule> {
        self.inner.rules.iter().map(|it| &it.source)
    }
}

/// Notes for each target and each condition the first one that is spelled alike.
fn number_alike(rules: &mut [CompiledRule]) {
    let mut targets: HashMap<String, usize> = HashMap::new();
    let mut subjects: HashMap<String, (usize, usize)> = HashMap::new();
    for (at, rule) in rules.iter_mut().enumerate() {
        let target = format!("{:?} {:?}", rule.source.targets, rule.source.filter);
        for (number, clause) in rule.clauses.iter_mut().enumerate() {
            let given = rule.source.clauses.get(number).map(|it| &it.subject);
            let key = match clause.has_captures {
                true => format!("{given:?} of {target}"),
                false => format!("{given:?}"),
            };
            clause.alike = *subjects.entry(key).or_insert((at, number));
        }
        rule.alike = *targets.entry(target).or_insert(at);
    }
}

/// Returns the attributes of which rules tell values apart.
fn told_apart(rules: &[CompiledRule]) -> ObjectSet {
    let mut told = ObjectSet::default();
    for rule in rules {
        told.join(&rule.about.told_apart());
        let effects = rule.clauses.iter().flat_map(|it| &it.effects);
        let covers = effects.filter_map(|it| it.on.as_ref());
        covers.for_each(|it| told.join(&it.told_apart()));
    }
    told
}

/// Returns whether a condition depends on the time.
fn tells_time(rules: &[CompiledRule]) -> bool {
    let mut tells = false;
    for clause in rules.iter().flat_map(|it| &it.clauses) {
        clause.subject.for_each_hours(&mut |_| tells = true);
    }
    tells
}

/// What a rule set is compiled with.
struct Compiler<'s> {
    schema: &'s Schema,
    secrets: &'s Secrets,
}

/// An error in one rule.
struct Wrong {
    part: RulePart,
    message: String,
}

fn in_part(part: RulePart) -> impl Fn(String) -> Wrong {
    move |message| Wrong { part, message }
}

/// Checks the number of a rule, from 0, and of the clauses up to it.
fn within_limits(rule: usize, clauses: usize) -> Result<(), String> {
    if rule >= RULES_MAX {
        return Err(format!("expected {RULES_MAX} rules at most, got more"));
    }
    match clauses > CLAUSES_MAX {
        true => Err(format!(
            "expected {CLAUSES_MAX} clauses in all rules at most, got more"
        )),
        false => Ok(()),
    }
}

/// Removes the rights that have no effect from the clauses of rules, and clauses that are left
/// without one; `none` takes the place of clauses that end a rule. What cannot be resolved stays.
pub(super) fn without_idle(schema: &Schema, secrets: &Secrets, rules: &mut [Rule]) {
    let compiler = Compiler { schema, secrets };
    for rule in rules {
        let Ok(about) = compiler.about(&rule.about) else {
            continue;
        };
        rule.clauses.retain_mut(|clause| {
            let denies = clause.denies;
            let works = |it: &Grant| compiler.has_effect(&about, it, denies).unwrap_or(true);
            clause.rights.retain(works);
            let empty = clause.rights.is_empty();
            if empty {
                clause.denies = false;
                clause.rights.push(Grant::NONE);
            }
            !empty || matches!(clause.then, Then::Stop | Then::NextRule)
        });
    }
}

impl Compiler<'_> {
    fn rule(&self, rule: &Rule) -> Result<CompiledRule, Wrong> {
        let targets = rule.targets.iter().map(|it| self.target(it));
        let targets = targets.collect::<Result<Vec<CompiledTarget>, String>>();
        let targets = targets.map_err(in_part(RulePart::On))?;
        let within = self.within(rule, &targets)?;
        let filter = rule.filter.as_deref();
        let filter = filter.map(|it| self::filter(self.schema, it));
        let filter = filter.transpose().map_err(in_part(RulePart::On))?;
        let about = self.about(&rule.about).map_err(in_part(RulePart::For))?;
        let stars = targets.iter().map(stars).min().unwrap_or(0);
        let clauses = rule.clauses.iter().enumerate().map(|(number, clause)| {
            let uses = matches!(rule.about, About::Uses(_) | About::EveryUse);
            let compiled = match clause.rights.iter().all(|it| it.items.is_empty()) || !uses {
                true => self.clause(clause, stars),
                false => Err("expected rights without attributes in a rule about uses".to_owned()),
            };
            let compiled = compiled.and_then(|it| {
                self.check_effects(&about, clause)?;
                Ok(it)
            });
            compiled.map_err(in_part(RulePart::Clause(number)))
        });
        let clauses = clauses.collect::<Result<Vec<CompiledClause>, Wrong>>()?;
        Ok(CompiledRule {
            within,
            targets,
            filter,
            about,
            clauses,
            alike: 0,
            source: rule.clone(),
        })
    }

    fn target(&self, target: &Target) -> Result<CompiledTarget, String> {
        Ok(match target {
            Target::Everything => CompiledTarget::Everything,
            Target::Below { reach, dn } => CompiledTarget::Below(*reach, self.name(dn)?),
            Target::Pattern(text) => {
                let pattern = NamePattern::compile(self.schema, text)?;
                if pattern.highest_capture() > 0 {
                    return Err(format!("expected no \"$\" in a target, got {text:?}"));
                }
                CompiledTarget::Pattern(pattern)
            }
        })
    }

    fn clause(&self, clause: &Clause, stars: usize) -> Result<CompiledClause, String> {
        if !clause.subject.is_within(DEPTH_MAX) {
            return Err(format!(
                "expected at most {DEPTH_MAX} conditions in each other, got more"
            ));
        }
        let effects = clause.rights.iter().map(|it| {
            let on = match it.items.is_empty() {
                true => None,
                false => Some(self.items(&it.items)?),
            };
            let rights = match (clause.denies, it.only) {
                (true, _) => it.right.denied(),
                (false, true) => it.right.exactly(),
                (false, false) => it.right.with_lower(),
            };
            Ok(Effect { rights, on })
        });
        let subject = self.subject(&clause.subject, stars)?;
        Ok(CompiledClause {
            denies: clause.denies,
            has_captures: subject.has_captures(),
            subject,
            effects: effects.collect::<Result<_, String>>()?,
            then: clause.then,
            alike: (0, 0),
        })
    }

    fn name(&self, dn: &str) -> Result<Name, String> {
        let name = self.schema.resolve_name(dn);
        name.map_err(|error| format!("expected the name of an entry, got \"{dn}\": {error}"))
    }
}

/// Resolves a filter of which every part is defined.
///
/// # Errors
/// What is wrong with the filter.
pub(super) fn filter(schema: &Schema, text: &str) -> Result<Filter, String> {
    let wrong =
        |reason: &str| format!("expected a filter that can be evaluated, got {text}: {reason}");
    let octets = protocol::parse_filter(text).map_err(|error| wrong(&error.to_string()))?;
    let mut reader = protocol::ber::Reader::new(&octets);
    let given = protocol::Filter::decode(&mut reader, protocol::FILTER_DEPTH_MAX);
    let given = given.map_err(|error| wrong(&error.to_string()))?;
    let filter = schema.resolve_filter(&given);
    match undefined(&filter) {
        Some(reason) => Err(wrong(reason)),
        None => Ok(filter),
    }
}

fn stars(target: &CompiledTarget) -> usize {
    match target {
        CompiledTarget::Pattern(pattern) => pattern.stars(),
        CompiledTarget::Everything | CompiledTarget::Below(..) => 0,
    }
}

/// Returns why a part of a filter is undefined. The depth of the filter bounds the recursion.
fn undefined(filter: &Filter) -> Option<&str> {
    match filter {
        Filter::Undefined(reason) => Some(reason),
        Filter::Not(inner) => undefined(inner),
        other => other.parts()?.iter().find_map(undefined),
    }
}

impl Compiler<'_> {
    /// Resolves the area of a rule, whose targets are given.
    fn within(&self, rule: &Rule, targets: &[CompiledTarget]) -> Result<Option<Name>, Wrong> {
        let Some(spelled) = &rule.within else {
            return Ok(None);
        };
        let area = self.name(spelled).map_err(in_part(RulePart::Within))?;
        let lies_in_it = |it: &CompiledTarget| match it {
            CompiledTarget::Below(_, base) => base.is_within(&area),
            CompiledTarget::Everything | CompiledTarget::Pattern(_) => area.depth() == 0,
        };
        if let Some(at) = targets.iter().position(|it| !lies_in_it(it)) {
            let text = format!(
                "expected a name at or below \"{spelled}\" behind \"entry\", \"one\", \"children\" \
                 or \"subtree\", got {}",
                rule.targets[at]
            );
            return Err(in_part(RulePart::On)(text));
        }
        if matches!(rule.about, About::Uses(_) | About::EveryUse) {
            // Who had a use without a rule would lose it by one, in all of the directory.
            let text = "expected no uses in a rule within an area, got some".to_owned();
            return Err(in_part(RulePart::For)(text));
        }
        match rule.clauses.iter().position(|it| it.denies) {
            Some(clause) => {
                let text = "expected \"let\" in a rule within an area, which takes nothing that \
                            rules before give, got \"deny\"";
                Err(in_part(RulePart::Clause(clause))(text.to_owned()))
            }
            None => Ok(Some(area)),
        }
    }
}
