//! The entries at and below a name, and whether rules are about all of them or none.

use std::ops::RangeInclusive;

use protocol::Scope;
use schema::{Name, Truth};

use crate::access::compile::{CompiledRule, CompiledTarget};
use crate::access::rules::Reach;

/// The entries of a region.
#[derive(Debug, Clone, Copy)]
pub(in crate::access) struct Area<'n> {
    pub(in crate::access) base: &'n Name,
    pub(in crate::access) reach: Reach,
}

impl Area<'_> {
    /// Returns whether a rule's target matches every entry, or none.
    pub(in crate::access) fn matches(&self, rule: &CompiledRule) -> Truth {
        self.judge(rule, |target| self.within(target))
    }

    /// Returns the same for the entries directly below the base, without those that a target names.
    /// Adds their names to `apart`.
    pub(super) fn matches_others(&self, rule: &CompiledRule, apart: &mut Vec<Name>) -> Truth {
        self.judge(rule, |target| match target {
            CompiledTarget::Below(Reach::Entry | Reach::Subtree, name)
                if name.depth() == self.base.depth() + 1 && name.is_within(self.base) =>
            {
                apart.push(name.clone());
                Truth::False
            }
            target => self.within(target),
        })
    }

    fn judge(
        &self,
        rule: &CompiledRule,
        mut within: impl FnMut(&CompiledTarget) -> Truth,
    ) -> Truth {
        let mut found = Truth::False;
        for target in &rule.targets {
            match within(target) {
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
                pattern.judge(self.base, &[]).truth()
            }
            CompiledTarget::Pattern(pattern) if pattern.matches_all_within(self.base) => {
                Truth::True
            }
            CompiledTarget::Pattern(pattern)
                if !pattern.may_match_within(self.base, self.depths()) =>
            {
                Truth::False
            }
            CompiledTarget::Pattern(_) => Truth::Undefined,
        }
    }

    /// Returns whether all entries of another region lie in this one.
    pub(super) fn covers(&self, other: Area<'_>) -> bool {
        other.below(self.reach, self.base) == Truth::True
    }

    /// The numbers of RDNs that names of entries in the region have.
    fn depths(&self) -> RangeInclusive<usize> {
        let (own, depth) = (levels(self.reach), self.base.depth());
        own.first + depth..=own.last.saturating_add(depth)
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

/// Returns the reach with the same entries as a scope of a search.
pub(super) fn reach_of(scope: Scope) -> Reach {
    match scope {
        Scope::BaseObject => Reach::Entry,
        Scope::SingleLevel => Reach::One,
        Scope::WholeSubtree => Reach::Subtree,
        Scope::Subordinate => Reach::Children,
    }
}
