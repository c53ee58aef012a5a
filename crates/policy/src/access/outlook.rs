//! Decisions about the entries of a region, kept for one subject and found again.
//!
//! Facts that the region tells of its entries are found out once. For the rest the rules are
//! walked, for one entry after the other, and each walk is kept with the facts that it asked for:
//! entries of which these facts are the same have the same rights, and the rules need not be walked
//! again.

#[cfg(test)]
mod tests;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use schema::{Name, Truth};

use crate::access::decide::{OnEntry, Question, Ruling, SubjectRules};
use crate::access::facts::EntryFacts;
use crate::access::objects::{Answer, Bits, Object, ObjectSet};
use crate::access::region::{Held, Region, effect};
use crate::access::right::{Right, RightSet};
use crate::access::rules::Place;
use crate::access::steps::{Fact, Steps, Trail};
use crate::access::walk::{Clause, Judged, Span, Step, walk};

/// Kinds of questions of which an outlook keeps the decisions at most.
const QUESTIONS_MAX: usize = 64;

/// The things of an entry that a subject surely has a right to, with every value.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Seen {
    /// Things that it may read: the entry itself, and attributes.
    pub read: ObjectSet,
    /// Things that it may search by.
    pub search: ObjectSet,
    /// Whether it may learn that the entry exists.
    pub discloses: bool,
}

/// Knowledge of an entry's [`Seen`].
#[derive(Debug)]
pub enum Found {
    /// The number that [`Outlook::learn`] was given for it.
    Known(u32),
    /// It was found out by walks over the rules, which the trail can find again.
    Walked(Seen, Option<Trail>),
}

/// The decisions of one subject's rules about the entries of a region.
#[derive(Debug)]
pub struct Outlook {
    region: Region,
    read: Held,
    search: Held,
    discloses: Answer,
    seen: RefCell<Steps>,
    decided: RefCell<Vec<Decided>>,
    /// Places that the decisions take at most.
    places: Cell<usize>,
}

/// Decisions about one kind of question.
#[derive(Debug)]
struct Decided {
    object: Object,
    right: Right,
    rulings: Vec<Ruling>,
    steps: Steps,
}

impl SubjectRules {
    /// Returns room for decisions about the entries directly below a name, there or not, without
    /// those that the target of a rule names, and the names of the latter.
    ///
    /// A directory has few of them. Together with the others they would keep the rules open that
    /// are about them alone, and each of these would be asked about every entry.
    pub fn outlook_below(&self, base: Name) -> (Outlook, Vec<Name>) {
        let (region, apart) = self.region_of_others(base);
        (region.outlook(), apart)
    }
}

impl Region {
    /// Returns the region with room for decisions about its entries.
    pub fn outlook(self) -> Outlook {
        let of_entries = |held: Held| {
            let seen = |set: &ObjectSet| {
                let entry = set.contains(Object::Entry).then_some(Object::Entry);
                let attributes = set.attributes().map(Object::Attribute);
                ObjectSet::of(attributes.chain(entry))
            };
            Held {
                always: held.always.clone(),
                sometimes: seen(&held.sometimes),
            }
        };
        Outlook {
            read: of_entries(self.held(Right::Read)),
            search: of_entries(self.held(Right::Search)),
            discloses: self.answer(Right::Disclose, Object::Entry),
            region: self,
            seen: RefCell::default(),
            decided: RefCell::default(),
            places: Cell::new(0),
        }
    }
}

impl Outlook {
    /// Returns whether the subject sees the same of every entry.
    pub fn is_uniform(&self) -> bool {
        let open = |held: &Held| !held.sometimes.has_none();
        !open(&self.read) && !open(&self.search) && self.discloses != Answer::Perhaps
    }

    /// Returns what the subject may see of an entry of the region.
    #[inline]
    pub fn seen(&self, entry: &dyn EntryFacts) -> Found {
        let mut judged = None;
        let steps = self.seen.borrow();
        let known = steps.follow(|fact| self.on(&mut judged, entry).answer(fact));
        match known {
            Some(number) => Found::Known(number),
            None => self.walked(entry, !steps.is_full()),
        }
    }

    /// Gives the walk that found something out this number. Each trail is for one result only.
    pub fn learn(&self, trail: &Trail, number: u32) {
        self.seen.borrow_mut().learn(trail, number);
    }

    /// Decides about a right to a thing of an entry of the region, like
    /// [`SubjectRules::decide`](super::decide::SubjectRules::decide) about all values.
    pub fn decide(&self, entry: &dyn EntryFacts, object: Object, right: Right) -> Ruling {
        let mut judged = None;
        let mut all = self.decided.borrow_mut();
        let known = all
            .iter_mut()
            .find(|it| (it.object, it.right) == (object, right));
        let full = known.as_ref().is_some_and(|it| it.steps.is_full());
        if let Some(decided) = &known
            && let Some(number) =
                (decided.steps).follow(|fact| self.on(&mut judged, entry).answer(fact))
            && let Some(ruling) = decided.rulings.get(number as usize)
        {
            return *ruling;
        }
        let question = Question::about(object);
        if full || known.is_none() && all.len() >= QUESTIONS_MAX {
            return self.region.rules().decide(entry, question, right);
        }
        let mut walked = Walked::new(self, entry, question, right);
        let ruling = walked.ruling();
        let decided = match all
            .iter_mut()
            .position(|it| (it.object, it.right) == (object, right))
        {
            Some(at) => &mut all[at],
            None => {
                let (rulings, steps) = (Vec::new(), Steps::default());
                self.places.set(self.places.get() + 8);
                all.push(Decided {
                    object,
                    right,
                    rulings,
                    steps,
                });
                all.last_mut().expect("it was just added")
            }
        };
        let known = decided.rulings.iter().position(|it| *it == ruling);
        let number = known.unwrap_or_else(|| {
            self.places.set(self.places.get() + 2);
            decided.rulings.push(ruling);
            decided.rulings.len() - 1
        });
        if let Ok(number) = u32::try_from(number) {
            self.places.set(self.places.get() + walked.trail.len() + 1);
            decided.steps.learn(&walked.trail, number);
        }
        ruling
    }

    /// Places that the kept decisions take in memory.
    pub fn places(&self) -> usize {
        self.places.get()
    }

    /// Rules judged on an entry, to answer single questions.
    fn on<'j, 'a>(
        &'a self,
        judged: &'j mut Option<OnEntry<'a>>,
        entry: &'a dyn EntryFacts,
    ) -> &'j mut OnEntry<'a> {
        let question = Question::about(Object::Entry);
        judged.get_or_insert_with(|| self.region.rules().on_entry(entry, question, None))
    }

    #[cold]
    fn walked(&self, entry: &dyn EntryFacts, keeps: bool) -> Found {
        let question = Question::about(Object::Entry);
        let mut walked = Walked::new(self, entry, question, Right::Read);
        let mut held = |right: Right, known: &Held| {
            let mut all = known.always.clone();
            if !known.sometimes.has_none() {
                walked.right = right;
                all.join(&walk(&mut walked, &known.sometimes).surely);
            }
            all
        };
        let (read, search) = (
            held(Right::Read, &self.read),
            held(Right::Search, &self.search),
        );
        let discloses = match self.discloses {
            Answer::Perhaps => {
                walked.right = Right::Disclose;
                let entry = ObjectSet::of([Object::Entry]);
                !walk(&mut walked, &entry).surely.has_none()
            }
            known => known == Answer::Yes,
        };
        let seen = Seen {
            read,
            search,
            discloses,
        };
        Found::Walked(seen, keeps.then_some(walked.trail))
    }
}

/// Rules judged on one entry, as far as its region does not tell, with the facts asked for.
struct Walked<'a> {
    region: &'a Region,
    on: OnEntry<'a>,
    right: Right,
    known: HashMap<Fact, Truth>,
    trail: Trail,
}

impl<'a> Walked<'a> {
    fn new(
        outlook: &'a Outlook,
        entry: &'a dyn EntryFacts,
        question: Question<'a>,
        right: Right,
    ) -> Walked<'a> {
        let region = &outlook.region;
        Walked {
            region,
            on: region.rules().on_entry(entry, question, None),
            right,
            known: HashMap::new(),
            trail: Trail::default(),
        }
    }

    fn ruling(&mut self) -> Ruling {
        self.on.begin();
        let given = walk(self, &RightSet::of(&[self.right]));
        self.on.end(!given.surely.is_empty())
    }

    fn ask(&mut self, fact: Fact) -> Truth {
        if let Some(known) = self.known.get(&fact) {
            return *known;
        }
        let truth = self.on.answer(fact);
        self.known.insert(fact, truth);
        self.trail.push(fact, truth);
        truth
    }

    fn target(&mut self, rule: usize) -> Truth {
        match self.region.target(rule) {
            Truth::Undefined => {
                let alike = self.region.rules().inner().rules[rule].alike;
                self.ask(Fact::Target(alike))
            }
            known => known,
        }
    }

    fn subject(&mut self, at: Place) -> Truth {
        match self.region.subject(at) {
            Truth::Undefined => {
                let clause = at.clause.expect("only clauses have conditions");
                let rules = &self.region.rules().inner().rules;
                let (rule, clause) = rules[at.rule].clauses[clause].alike;
                self.ask(Fact::Subject(rule, clause))
            }
            known => known,
        }
    }
}

impl Judged<ObjectSet> for Walked<'_> {
    fn rules(&self) -> usize {
        self.region.rules().inner().rules.len()
    }

    fn about(&self, rule: usize) -> Span<ObjectSet> {
        self.region.rules().inner().rules[rule].about.objects()
    }

    fn target(&mut self, rule: usize) -> Truth {
        Walked::target(self, rule)
    }

    fn clauses(&self, rule: usize) -> usize {
        self.region.rules().inner().rules[rule].clauses.len()
    }

    fn clause(&self, at: Place) -> Clause<ObjectSet> {
        effect(self.region.rules().inner(), at, self.right)
    }

    fn subject(&mut self, at: Place) -> Truth {
        Walked::subject(self, at)
    }
}

impl Judged<RightSet> for Walked<'_> {
    fn rules(&self) -> usize {
        self.region.rules().inner().rules.len()
    }

    fn about(&self, rule: usize) -> Span<RightSet> {
        <OnEntry<'_> as Judged<RightSet>>::about(&self.on, rule)
    }

    fn target(&mut self, rule: usize) -> Truth {
        Walked::target(self, rule)
    }

    fn clauses(&self, rule: usize) -> usize {
        self.region.rules().inner().rules[rule].clauses.len()
    }

    fn clause(&self, at: Place) -> Clause<RightSet> {
        <OnEntry<'_> as Judged<RightSet>>::clause(&self.on, at)
    }

    fn subject(&mut self, at: Place) -> Truth {
        Walked::subject(self, at)
    }

    fn note(&mut self, step: Step) {
        <OnEntry<'_> as Judged<RightSet>>::note(&mut self.on, step);
    }
}
