//! Decisions for all entries of a search at once.
//!
//! The rules are judged on the search's base and scope. What has the same answer for every entry
//! there needs no question for each of them; the rest has to be asked of each entry.

mod area;
mod shown;
#[cfg(test)]
pub(super) mod tests;

use protocol::Scope;
use schema::{Name, Truth};

use crate::access::compile::{CompiledRule, Inner};
use crate::access::condition::reaches;
use crate::access::decide::SubjectRules;
use crate::access::objects::{Answer, Bits, Object, ObjectSet};
use crate::access::right::Right;
use crate::access::rules::{Place, Reach};
use crate::access::walk::{Clause, Judged, Span, walk};

pub(super) use area::Area;
pub use shown::{Hidden, Shown};

/// The rules for one subject in one region: a base and a scope. It borrows nothing, and holds as
/// long as the [`SubjectRules`] from which it was made.
#[derive(Debug, Clone)]
pub struct Region {
    rules: SubjectRules,
    base: Name,
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

impl Held {
    /// Returns whether the right holds to an object: in every entry and for every value, in none,
    /// or depending on them.
    pub fn answer(&self, object: Object) -> Answer {
        if self.always.contains(object) {
            return Answer::Yes;
        }
        match self.sometimes.contains(object) {
            true => Answer::Perhaps,
            false => Answer::No,
        }
    }
}

impl SubjectRules {
    /// Judges the rules on all entries of a region, there or not.
    pub fn region(&self, base: Name, scope: Scope) -> Region {
        let reach = area::reach_of(scope);
        let area = Area { base: &base, reach };
        let targets = self.inner().rules.iter().map(|it| area.matches(it));
        Region {
            targets: targets.collect(),
            rules: self.clone(),
            base,
            reach,
        }
    }

    /// Judges the rules on the entries directly below a name, there or not, without those that the
    /// target of a rule names. Returns the names of the latter, too, each once.
    pub(super) fn region_of_others(&self, base: Name) -> (Region, Vec<Name>) {
        let (reach, mut apart) = (Reach::One, Vec::new());
        let area = Area { base: &base, reach };
        let rules = self.inner().rules.iter();
        let targets = rules
            .map(|it| area.matches_others(it, &mut apart))
            .collect();
        apart.sort_unstable();
        apart.dedup();
        let region = Region {
            targets,
            rules: self.clone(),
            base,
            reach,
        };
        (region, apart)
    }
}

impl Region {
    /// The rules that were judged.
    pub fn rules(&self) -> &SubjectRules {
        &self.rules
    }

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

    /// Returns whether the subject has a right to an object, as far as the region alone tells.
    pub fn answer(&self, right: Right, object: Object) -> Answer {
        self.held(right).answer(object)
    }

    /// Returns whether every entry of another region lies in this one. Then what holds always or
    /// never here holds so there.
    pub fn covers(&self, base: &Name, scope: Scope) -> bool {
        let reach = area::reach_of(scope);
        self.area().covers(Area { base, reach })
    }

    /// Returns the rules judged on a part of this region: only rules that are open here are judged
    /// again. `None` if the other region does not lie in this one.
    pub fn held_in(&self, base: &Name, scope: Scope) -> Option<Region> {
        if !self.covers(base, scope) {
            return None;
        }
        let reach = area::reach_of(scope);
        let area = Area { base, reach };
        let rules = self.rules.inner().rules.iter().zip(&self.targets);
        let targets = rules.map(|(rule, known)| match known {
            Truth::Undefined => area.matches(rule),
            known => *known,
        });
        Some(Region {
            rules: self.rules.clone(),
            targets: targets.collect(),
            base: base.clone(),
            reach,
        })
    }

    /// Returns what the subject sees of the region's entries, by a right that is asked of entries
    /// and of attributes, such as [`Right::Read`]. Filters ask for attributes alone: see
    /// [`Region::held`] with [`Right::Search`].
    pub fn shown(&self, right: Right) -> Shown {
        let held = self.held(right);
        let inner = self.rules.inner();
        match held.answer(Object::Entry) {
            Answer::No => Shown::Nothing,
            Answer::Yes if held.sometimes.attributes().next().is_none() => {
                let generation = self.rules.set().generation();
                Shown::All {
                    but: Hidden::all_but(held.always, &inner.objects, generation),
                }
            }
            Answer::Yes | Answer::Perhaps => Shown::Ask,
        }
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

    fn area(&self) -> Area<'_> {
        Area {
            base: &self.base,
            reach: self.reach,
        }
    }

    /// Whether the target of a rule matches every entry, or none.
    pub(super) fn target(&self, rule: usize) -> Truth {
        self.targets[rule]
    }

    /// Whether the subject of a clause matches in every entry, or in none.
    pub(super) fn subject(&self, at: Place) -> Truth {
        let asker = self.rules.asker();
        let owned = |role| {
            asker.about_name(role, |name| match self.reach {
                reach if !reaches(reach, &self.base, name) => Truth::False,
                Reach::Entry => Truth::True,
                _ => Truth::Undefined,
            })
        };
        self.rules.condition(at).judge_region(&owned)
    }
}

/// One right, judged in a region for all objects at once.
struct InRegion<'r> {
    region: &'r Region,
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
