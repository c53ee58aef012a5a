//! Facts that are asked for once, however many clauses need them, and kept with their answers.

use std::cell::RefCell;
use std::collections::HashMap;

use schema::{Filter, Name, Truth};

use crate::access::facts::{Group, SubjectFacts};

/// Filters on entries of subjects that are remembered at most; they are compared one by one.
const FILTERS_MAX: usize = 64;

/// Facts with the answers that were given so far.
pub(in crate::access) struct Memo<'f> {
    facts: &'f dyn SubjectFacts,
    groups: RefCell<HashMap<(Name, Group), Truth>>,
    /// Every question about a filter.
    filters: RefCell<Vec<Matching>>,
}

/// Answers about a subject and about groups, as they were when they were asked for.
#[derive(Debug, Default)]
pub(in crate::access) struct Answered {
    groups: Vec<((Name, Group), Truth)>,
    filters: Vec<Matching>,
}

/// Whether the entry of a subject matches a filter.
#[derive(Debug)]
struct Matching {
    subject: Name,
    filter: Filter,
    truth: Truth,
}

impl Memo<'_> {
    pub(in crate::access) fn of(facts: &dyn SubjectFacts) -> Memo<'_> {
        Memo {
            facts,
            groups: RefCell::default(),
            filters: RefCell::default(),
        }
    }

    /// Returns all answers that were given.
    pub(in crate::access) fn into_answered(self) -> Answered {
        Answered {
            groups: self.groups.into_inner().into_iter().collect(),
            filters: self.filters.into_inner(),
        }
    }
}

impl Answered {
    /// Returns whether other facts give the same answers.
    pub(in crate::access) fn are_those_of(&self, facts: &dyn SubjectFacts) -> bool {
        let same_group = |((subject, group), truth): &((Name, Group), Truth)| {
            facts.is_member(subject, group) == *truth
        };
        let same_filter = |it: &Matching| facts.matches(&it.subject, &it.filter) == it.truth;
        self.groups.iter().all(same_group) && self.filters.iter().all(same_filter)
    }

    /// Number of the answers.
    pub(in crate::access) fn len(&self) -> usize {
        self.groups.len() + self.filters.len()
    }
}

impl SubjectFacts for Memo<'_> {
    fn matches(&self, subject: &Name, filter: &Filter) -> Truth {
        let is_same = |it: &&Matching| it.subject == *subject && it.filter == *filter;
        let filters = self.filters.borrow();
        let known = filters.iter().take(FILTERS_MAX).find(is_same);
        let known = known.map(|it| it.truth);
        drop(filters);
        known.unwrap_or_else(|| {
            let truth = self.facts.matches(subject, filter);
            self.filters.borrow_mut().push(Matching {
                subject: subject.clone(),
                filter: filter.clone(),
                truth,
            });
            truth
        })
    }

    fn is_member(&self, subject: &Name, group: &Group) -> Truth {
        let question = (subject.clone(), group.clone());
        let known = self.groups.borrow().get(&question).copied();
        known.unwrap_or_else(|| {
            let truth = self.facts.is_member(subject, group);
            self.groups.borrow_mut().insert(question, truth);
            truth
        })
    }
}
