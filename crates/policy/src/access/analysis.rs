//! What is suspicious in a set of rules, without asking about any entry.

#[cfg(test)]
mod tests;

use std::fmt;

use schema::{Name, Truth};

use crate::access::compile::{CompiledRule, CompiledTarget, Inner, RuleSet};
use crate::access::condition::Condition;
use crate::access::decide::SubjectRules;
use crate::access::objects::{Bits, Object, ObjectSet};
use crate::access::region::{Area, effect};
use crate::access::right::Right;
use crate::access::rules::{Place, Reach, Then};
use crate::access::walk::{Clause, Judged, Span, walk};
use crate::secrets::Secrets;

/// Something suspicious in a set of rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finding {
    /// Earlier rules decide everything that the rule is about.
    DeadRule {
        /// Name of the rule.
        rule: String,
    },
    /// An earlier clause of the rule is for everybody, and nothing comes behind it.
    DeadClause {
        /// Name of the rule.
        rule: String,
        /// The clause as text.
        clause: String,
    },
    /// Somebody who has not authenticated may compare, search or read secret attributes.
    OpenSecrets {
        /// Names of the attribute types.
        attributes: Vec<String>,
    },
}

impl fmt::Display for Finding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Finding::DeadRule { rule } => {
                write!(
                    out,
                    "rule {rule} is never asked: earlier rules decide all that it is about"
                )
            }
            Finding::DeadClause { rule, clause } => {
                write!(
                    out,
                    "rule {rule}, {clause}: never asked, as a clause before is for everybody"
                )
            }
            Finding::OpenSecrets { attributes } => {
                write!(
                    out,
                    "anonymous clients may use secrets: {}",
                    attributes.join(", ")
                )
            }
        }
    }
}

impl RuleSet {
    /// Returns what is suspicious in the rules; `secrets` are the secret attribute types.
    pub fn findings(&self, secrets: &Secrets) -> Vec<Finding> {
        let rules = &self.inner.rules;
        let mut findings = Vec::new();
        for (number, rule) in rules.iter().enumerate() {
            if is_dead(&rules[..number], rule) {
                let rule = rule.source.name.clone();
                findings.push(Finding::DeadRule { rule });
            }
            findings.extend(dead_clauses(rule));
        }
        let mut open = ObjectSet::default();
        for right in [Right::Compare, Right::Search, Right::Read] {
            let inner = &*self.inner;
            let mut judged = Anonymous { inner, right };
            open.join(&walk(&mut judged, &inner.objects).perhaps);
        }
        let types = secrets.types().iter();
        let open = types.filter(|it| open.contains(Object::Attribute(**it)));
        let schema = &self.inner.schema;
        let attributes: Vec<String> = open
            .map(|it| schema.type_of(*it).name().to_owned())
            .collect();
        if !attributes.is_empty() {
            findings.push(Finding::OpenSecrets { attributes });
        }
        findings
    }
}

impl SubjectRules {
    /// Returns whether the subject may write rules about everything at and below `base`: who may
    /// not is locked out by a set that takes effect there.
    pub fn administers(&self, base: &Name) -> bool {
        let region = self.region(base.clone(), protocol::Scope::WholeSubtree);
        region
            .held(Right::Administer)
            .always
            .contains(Object::Entry)
    }
}

/// Returns whether earlier rules decide about everything that a rule is about.
pub(super) fn is_dead(earlier: &[CompiledRule], rule: &CompiledRule) -> bool {
    rule.targets.iter().all(|target| {
        let mut left = rule.about.objects().perhaps;
        let deciding = earlier
            .iter()
            .filter(|it| always_ends(it) && holds(it, target));
        deciding.for_each(|it| left.remove(&it.about.objects().surely));
        left.has_none()
    })
}

/// Returns whether a rule matches every entry of a target.
fn holds(rule: &CompiledRule, target: &CompiledTarget) -> bool {
    let (root, name);
    let area = match target {
        CompiledTarget::Below(reach, of) => {
            name = of;
            Area {
                base: name,
                reach: *reach,
            }
        }
        CompiledTarget::Everything | CompiledTarget::Pattern(_) => {
            root = Name::root();
            Area {
                base: &root,
                reach: Reach::Subtree,
            }
        }
    };
    area.matches(rule) == Truth::True
}

/// Returns whether no subject gets beyond a rule.
fn always_ends(rule: &CompiledRule) -> bool {
    for clause in &rule.clauses {
        let everybody = clause.subject == Condition::Known(Truth::True);
        match clause.then {
            Then::NextRule | Then::Gather => return false,
            Then::Stop if everybody => return true,
            Then::Stop | Then::Continue => (),
        }
    }
    true
}

fn dead_clauses(rule: &CompiledRule) -> impl Iterator<Item = Finding> {
    let ends = rule.clauses.iter().position(|it| {
        let everybody = it.subject == Condition::Known(Truth::True);
        everybody && matches!(it.then, Then::Stop | Then::NextRule)
    });
    let behind = ends.map_or(rule.clauses.len(), |it| it + 1);
    rule.source.clauses[behind..]
        .iter()
        .map(|it| Finding::DeadClause {
            rule: rule.source.name.clone(),
            clause: it.to_string(),
        })
}

/// One right of somebody who has not authenticated, on any entry.
struct Anonymous<'i> {
    inner: &'i Inner,
    right: Right,
}

impl Judged<ObjectSet> for Anonymous<'_> {
    fn rules(&self) -> usize {
        self.inner.rules.len()
    }

    fn about(&self, rule: usize) -> Span<ObjectSet> {
        self.inner.rules[rule].about.objects()
    }

    fn target(&mut self, rule: usize) -> Truth {
        match holds(&self.inner.rules[rule], &CompiledTarget::Everything) {
            true => Truth::True,
            false => Truth::Undefined,
        }
    }

    fn clauses(&self, rule: usize) -> usize {
        self.inner.rules[rule].clauses.len()
    }

    fn clause(&self, at: Place) -> Clause<ObjectSet> {
        effect(self.inner, at, self.right)
    }

    fn subject(&mut self, at: Place) -> Truth {
        let clause = at.clause.expect("a clause");
        self.inner.rules[at.rule].clauses[clause]
            .subject
            .judge_anonymous()
    }
}
