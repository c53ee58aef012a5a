//! Facts that are asked for once, however many clauses need them.

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
    filters: RefCell<Vec<Matching>>,
}

/// Whether the entry of a subject matches a filter.
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
}

impl SubjectFacts for Memo<'_> {
    fn matches(&self, subject: &Name, filter: &Filter) -> Truth {
        let is_same = |it: &&Matching| it.subject == *subject && it.filter == *filter;
        let known = self
            .filters
            .borrow()
            .iter()
            .find(is_same)
            .map(|it| it.truth);
        known.unwrap_or_else(|| {
            let truth = self.facts.matches(subject, filter);
            let mut filters = self.filters.borrow_mut();
            if filters.len() < FILTERS_MAX {
                filters.push(Matching {
                    subject: subject.clone(),
                    filter: filter.clone(),
                    truth,
                });
            }
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
