//! Everything of one entry to which a subject has a right, in one walk over the rules.

use schema::Truth;

use crate::access::decide::{OnEntry, Question, SubjectRules};
use crate::access::facts::EntryFacts;
use crate::access::objects::{Object, ObjectSet};
use crate::access::region::effect;
use crate::access::right::{Right, RightSet};
use crate::access::rules::Place;
use crate::access::walk::{Clause, Judged, Span, walk};

/// Rules judged on one entry, for all objects at once.
struct AllObjects<'a> {
    on: OnEntry<'a>,
    rules: &'a SubjectRules,
    right: Right,
}

impl SubjectRules {
    /// Returns the objects of an entry to which the subject surely has a right: with every value,
    /// if they are attributes.
    pub fn objects_of(&self, entry: &dyn EntryFacts, right: Right) -> ObjectSet {
        let question = Question::about(Object::Entry);
        let mut judged = AllObjects {
            on: self.on_entry(entry, question, None),
            rules: self,
            right,
        };
        walk(&mut judged, &self.inner().objects).surely
    }
}

impl Judged<ObjectSet> for AllObjects<'_> {
    fn rules(&self) -> usize {
        self.rules.inner().rules.len()
    }

    fn about(&self, rule: usize) -> Span<ObjectSet> {
        self.rules.inner().rules[rule].about.objects()
    }

    fn target(&mut self, rule: usize) -> Truth {
        <OnEntry<'_> as Judged<RightSet>>::target(&mut self.on, rule)
    }

    fn clauses(&self, rule: usize) -> usize {
        self.rules.inner().rules[rule].clauses.len()
    }

    fn clause(&self, at: Place) -> Clause<ObjectSet> {
        effect(self.rules.inner(), at, self.right)
    }

    fn subject(&mut self, at: Place) -> Truth {
        <OnEntry<'_> as Judged<RightSet>>::subject(&mut self.on, at)
    }
}
