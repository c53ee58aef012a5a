//! Decisions for all entries of a search at once.
//!
//! The rules are judged on the search's base and scope. What has the same answer for every entry
//! there needs no question for each of them; the rest has to be asked of each entry.

#[cfg(test)]
mod tests;

use protocol::Scope;
use schema::{Name, Truth, TypeId};

use crate::access::compile::{CompiledRule, CompiledTarget, Inner};
use crate::access::condition::reaches;
use crate::access::decide::SubjectRules;
use crate::access::objects::{Bits, Object, ObjectSet};
use crate::access::right::Right;
use crate::access::rules::{Place, Reach};
use crate::access::walk::{Clause, Judged, Span, walk};

/// The rules for one subject in one region: a base and a scope.
#[derive(Debug)]
pub struct Region<'r> {
    rules: &'r SubjectRules,
    base: &'r Name,
    reach: Reach,
    /// Whether the target of each rule matches every entry of the region, or none.
    targets: Vec<Truth>,
}

/// The objects to which a right holds in a region.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// In every entry, with every value.
    pub always: ObjectSet,
    /// In some entries, or for some values: each has to be asked about.
    pub sometimes: ObjectSet,
}

impl SubjectRules {
    /// Judges the rules on all entries of a region.
    pub fn region<'r>(&'r self, base: &'r Name, scope: Scope) -> Region<'r> {
        let reach = match scope {
            Scope::BaseObject => Reach::Entry,
            Scope::SingleLevel => Reach::One,
            Scope::WholeSubtree => Reach::Subtree,
            Scope::Subordinate => Reach::Children,
        };
        let area = Area { base, reach };
        let targets = self.inner().rules.iter().map(|it| area.matches(it));
        Region {
            rules: self,
            base,
            reach,
            targets: targets.collect(),
        }
    }
}

impl Region<'_> {
    /// Returns the objects to which the subject has a right.
    pub fn held(&self, right: Right) -> Held {
        let mut judged = InRegion {
            region: self,
            right,
        };
        let Span { surely, perhaps } = walk(&mut judged, &self.rules.inner().objects);
        Held {
            sometimes: perhaps.without(&surely),
            always: surely,
        }
    }

    /// Returns the attribute types, ascending, to which the subject lacks a right in every entry,
    /// if it has the right to every entry itself and nothing depends on the entry or the value.
    /// `None` means that entries have to be asked about one by one.
    pub fn all_but(&self, right: Right) -> Option<Vec<TypeId>> {
        let held = self.held(right);
        let attributes_depend = held.sometimes.attributes().next().is_some();
        let uniform = held.always.contains(Object::Entry) && !attributes_depend;
        let hidden = || self.rules.inner().objects.without(&held.always);
        uniform.then(|| hidden().attributes().collect())
    }

    /// Numbers of the rules that have to be judged on each entry: their targets match a part of the
    /// region, or a clause of theirs depends on the entry.
    pub fn open_rules(&self) -> Vec<usize> {
        let open = |rule: &usize| {
            let clauses = 0..self.rules.inner().rules[*rule].clauses.len();
            let mut subjects = clauses.map(|clause| {
                self.subject(Place {
                    rule: *rule,
                    clause: Some(clause),
                })
            });
            match self.targets[*rule] {
                Truth::False => false,
                Truth::Undefined => true,
                Truth::True => subjects.any(|it| it == Truth::Undefined),
            }
        };
        (0..self.targets.len()).filter(open).collect()
    }

    fn subject(&self, at: Place) -> Truth {
        let asker = &self.rules.asker;
        let owned = |role| match asker.name(role) {
            Some(name) if !reaches(self.reach, self.base, name) => Truth::False,
            Some(_) if self.reach == Reach::Entry => Truth::True,
            Some(_) => Truth::Undefined,
            None => Truth::False,
        };
        self.rules.condition(at).judge_region(&owned)
    }
}

/// One right, judged in a region for all objects at once.
struct InRegion<'r> {
    region: &'r Region<'r>,
    right: Right,
}

impl InRegion<'_> {
    fn compiled(&self, rule: usize) -> &CompiledRule {
        &self.region.rules.inner().rules[rule]
    }
}

impl Judged<ObjectSet> for InRegion<'_> {
    fn rules(&self) -> usize {
        self.region.targets.len()
    }

    fn about(&self, rule: usize) -> Span<ObjectSet> {
        self.compiled(rule).about.objects()
    }

    fn target(&mut self, rule: usize) -> Truth {
        self.region.targets[rule]
    }

    fn clauses(&self, rule: usize) -> usize {
        self.compiled(rule).clauses.len()
    }

    fn clause(&self, at: Place) -> Clause<ObjectSet> {
        effect(self.region.rules.inner(), at, self.right)
    }

    fn subject(&mut self, at: Place) -> Truth {
        self.region.subject(at)
    }
}

/// Returns a clause with the objects to which it gives or takes a right.
pub(super) fn effect(inner: &Inner, at: Place, right: Right) -> Clause<ObjectSet> {
    let clause = &inner.rules[at.rule].clauses[at.clause.expect("a clause")];
    let mut effect = Span::default();
    for it in clause.effects.iter().filter(|it| it.rights.contains(right)) {
        effect.join(&match &it.on {
            None => Span::of(inner.objects.clone()),
            Some(cover) => cover.objects(),
        });
    }
    Clause {
        denies: clause.denies,
        then: clause.then,
        effect,
    }
}

/// The entries of a region.
pub(super) struct Area<'n> {
    pub(super) base: &'n Name,
    pub(super) reach: Reach,
}

impl Area<'_> {
    /// Returns whether a rule's target matches every entry, or none.
    pub(super) fn matches(&self, rule: &CompiledRule) -> Truth {
        let mut found = Truth::False;
        for target in &rule.targets {
            match self.within(target) {
                Truth::True => found = Truth::True,
                Truth::Undefined if found == Truth::False => found = Truth::Undefined,
                _ => (),
            }
        }
        match found {
            Truth::True if rule.filter.is_some() => Truth::Undefined,
            other => other,
        }
    }

    fn within(&self, target: &CompiledTarget) -> Truth {
        match target {
            CompiledTarget::Everything => Truth::True,
            CompiledTarget::Below(reach, name) => self.below(*reach, name),
            CompiledTarget::Pattern(pattern) if self.reach == Reach::Entry => {
                pattern.captures(self.base, &[]).is_some().into()
            }
            CompiledTarget::Pattern(pattern) if pattern.matches_all_within(self.base) => {
                Truth::True
            }
            CompiledTarget::Pattern(pattern) if !pattern.may_match_within(self.base) => {
                Truth::False
            }
            CompiledTarget::Pattern(_) => Truth::Undefined,
        }
    }

    /// Compares the levels of the region's entries with those that the target means.
    fn below(&self, reach: Reach, name: &Name) -> Truth {
        let (own, other) = (levels(self.reach), levels(reach));
        if self.base.is_within(name) {
            let steps = self.base.depth() - name.depth();
            let (first, last) = (own.first + steps, own.last.saturating_add(steps));
            return match () {
                () if last < other.first || first > other.last => Truth::False,
                () if first >= other.first && last <= other.last => Truth::True,
                () => Truth::Undefined,
            };
        }
        let steps = name.depth().saturating_sub(self.base.depth());
        match name.is_within(self.base) && other.first + steps <= own.last {
            true => Truth::Undefined,
            false => Truth::False,
        }
    }
}

/// Levels below a name.
struct Levels {
    first: usize,
    last: usize,
}

fn levels(reach: Reach) -> Levels {
    let (first, last) = match reach {
        Reach::Entry => (0, 0),
        Reach::One => (1, 1),
        Reach::Children => (1, usize::MAX),
        Reach::Subtree => (0, usize::MAX),
    };
    Levels { first, last }
}
