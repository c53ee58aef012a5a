//! Rules that holders of the right `administer` may write: within the part of the directory that
//! was handed over to them, giving rights that they hold themselves.
//!
//! A rule is an oracle, too: who writes one and sees whom it lets in learns what its conditions
//! are about. So conditions may only use attributes that the author may search by.

#[cfg(test)]
mod tests;

use protocol::Scope;
use schema::{Filter, Name, Schema, Selector, TypeId};

use crate::access::compile::{
    CompiledClause, CompiledRule, CompiledTarget, RuleSet, TO_CHILDREN, TO_ENTRIES,
};
use crate::access::condition::Condition;
use crate::access::decide::SubjectRules;
use crate::access::facts::{Asker, Identity, Origin};
use crate::access::objects::{Answer, Bits, Object, ObjectSet};
use crate::access::right::Right;
use crate::access::rules::{Reach, Rule};
use crate::access::words::Ways;
use crate::secrets::Secrets;

/// Octets of the text of a rule within an area at most.
pub const TEXT_MAX: usize = 16 << 10;

/// Rules within an area, and areas in it, that somebody other than the administrator may add.
pub const RULES_MAX: usize = 100;

impl SubjectRules {
    /// Returns whether the subject may write rules about anything.
    pub fn may_administer(&self) -> bool {
        let region = self.region(Name::root(), Scope::WholeSubtree);
        region.held(Right::Administer).answer(Object::Entry) != Answer::No
    }

    /// Returns the area of a rule if the subject may write rules there: the rule can be read,
    /// replaced and deleted then. `None` for every rule without an area, which is the
    /// administrator's.
    pub fn governed(&self, rule: &Rule) -> Option<Name> {
        let area = rule.within.as_deref()?;
        let area = self.inner().schema.resolve_name(area).ok()?;
        self.administers(&area).then_some(area)
    }

    /// Checks that the subject may write a rule, and returns the rule's area. `lasting` are the
    /// rules for the subject wherever it is, by whichever way it came and at any time: what it has
    /// under such a condition only, it cannot give on without it. `secrets` are the secret
    /// attribute types of the schema of these rules.
    ///
    /// # Errors
    /// The right in the rule that goes beyond the subject's own.
    pub fn require_writable(
        &self,
        lasting: &SubjectRules,
        secrets: &Secrets,
        rule: &Rule,
    ) -> Result<Name, String> {
        let schema = &self.inner().schema;
        let alone = RuleSet::compile(schema, secrets, std::slice::from_ref(rule));
        let alone = alone.map_err(|error| error.to_string())?;
        let Some(area) = self.governed(rule) else {
            return Err(match &rule.within {
                None => "expected \"within\" and the name of an entry about which you may write \
                         rules, got a rule without it, which is the administrator's"
                    .to_owned(),
                Some(dn) => format!(
                    "expected \"within\" and the name of an entry about which you may write \
                     rules, got \"{dn}\""
                ),
            });
        };
        let author = Author {
            rules: lasting,
            schema,
            secrets,
        };
        let compiled = &alone.inner.rules[0];
        for target in &compiled.targets {
            author.require_held(compiled, target)?;
        }
        for clause in &compiled.clauses {
            author.require_known(&clause.subject, compiled, &area)?;
        }
        Ok(area)
    }
}

impl Asker {
    /// Returns the same identity, of which it is not known where it is, how it came, and when.
    pub fn anyhow(self) -> Asker {
        Asker {
            real: Identity::Unknown,
            origin: Origin::Unknown,
            ways: Ways::UNKNOWN,
            minute: None,
            ..self
        }
    }
}

/// Somebody who writes a rule.
struct Author<'a> {
    rules: &'a SubjectRules,
    schema: &'a Schema,
    secrets: &'a Secrets,
}

impl Author<'_> {
    /// Checks that every right that a rule gives to the entries of a target is the author's, too,
    /// and that the author may search by what the rule's filter asks for.
    fn require_held(&self, rule: &CompiledRule, target: &CompiledTarget) -> Result<(), String> {
        let (base, scope) = region_of(target);
        let region = self.rules.region(base.clone(), scope);
        let given = |right: Right| {
            let mut objects = ObjectSet::default();
            for clause in &rule.clauses {
                objects.join(&objects_given(rule, clause, right));
            }
            objects
        };
        for right in Right::ALL {
            let given = given(right);
            if given.has_none() {
                continue;
            }
            let lacking = given.without(&region.held(right).always);
            if let Some(lacking) = self.name_of_one(&lacking) {
                return Err(format!(
                    "expected rights that you have yourself to all entries of the target, wherever \
                     you are, got {right} of {lacking}"
                ));
            }
        }
        match &rule.filter {
            Some(filter) => self.require_searched(filter, &base, scope),
            None => Ok(()),
        }
    }

    /// Checks that the author may search by what a condition on subjects asks for. The depth of
    /// the condition bounds the recursion.
    fn require_known(
        &self,
        condition: &Condition,
        rule: &CompiledRule,
        area: &Name,
    ) -> Result<(), String> {
        match condition {
            Condition::Not(inner) => self.require_known(inner, rule, area),
            Condition::All(parts) | Condition::Any(parts) => {
                let mut parts = parts.iter();
                parts.try_for_each(|it| self.require_known(it, rule, area))
            }
            // The subject's entry may lie anywhere.
            Condition::Having(_, filter) => {
                self.require_searched(filter, &Name::root(), Scope::WholeSubtree)
            }
            Condition::Named(_, attribute) => rule.targets.iter().try_for_each(|target| {
                let (base, scope) = region_of(target);
                self.require_search_by(*attribute, &base, scope)
            }),
            Condition::NamedAbove(_, attribute) => {
                let above = area.parent().unwrap_or_else(Name::root);
                self.require_search_by(*attribute, &above, Scope::WholeSubtree)
            }
            Condition::Group(_, group) => match group.by {
                Some(by) => self.require_search_by(by, &group.name, Scope::BaseObject),
                None => Ok(()),
            },
            Condition::Known(_)
            | Condition::Anonymous(_)
            | Condition::Users(_)
            | Condition::Administrator(_)
            | Condition::Own(_)
            | Condition::Below(..)
            | Condition::Pattern(..)
            | Condition::From(_)
            | Condition::FromLocal
            | Condition::Via(_)
            | Condition::At(_) => Ok(()),
        }
    }

    /// Checks that the author may search by every attribute of a filter in a region. The depth of
    /// the filter bounds the recursion.
    fn require_searched(&self, filter: &Filter, base: &Name, scope: Scope) -> Result<(), String> {
        let by = |it: &Selector| self.require_search_by(it.type_id, base, scope);
        match filter {
            Filter::And(parts) => {
                (parts.iter()).try_for_each(|it| self.require_searched(it, base, scope))
            }
            Filter::Or(parts) => {
                (parts.iter()).try_for_each(|it| self.require_searched(it, base, scope))
            }
            Filter::Not(part) => self.require_searched(part, base, scope),
            Filter::Equality(it)
            | Filter::GreaterOrEqual(it)
            | Filter::LessOrEqual(it)
            | Filter::Approx(it) => by(&it.selector),
            Filter::Substrings(it) => by(&it.selector),
            Filter::Present(it) => by(it),
            Filter::Extensible(it) if it.attribute_named => it.selectors.iter().try_for_each(by),
            Filter::True | Filter::False => Ok(()),
            Filter::Extensible(_) | Filter::Among(_) | Filter::Member(_) | Filter::Undefined(_) => {
                Err(
                    "expected filters that name the attributes they ask for, got another"
                        .to_owned(),
                )
            }
        }
    }

    /// Checks that the author may search by an attribute and its subtypes in all of a region.
    fn require_search_by(&self, wanted: TypeId, base: &Name, scope: Scope) -> Result<(), String> {
        let region = self.rules.region(base.clone(), scope);
        let held = region.held(Right::Search).always;
        let types = self.schema.attribute_types().map(|(id, _)| id);
        let mut meant = types.filter(|it| self.schema.is_subtype(*it, wanted));
        let hidden =
            |it: &TypeId| self.secrets.contains(*it) || !held.contains(Object::Attribute(*it));
        match meant.find(hidden) {
            None => Ok(()),
            Some(hidden) => Err(format!(
                "expected conditions about attributes by which you may search there, got {}",
                self.schema.type_of(hidden).name()
            )),
        }
    }

    /// Returns the words for one of the objects; `None` if there is none.
    fn name_of_one(&self, objects: &ObjectSet) -> Option<String> {
        if objects.contains(Object::Entry) {
            return Some("the entry".to_owned());
        }
        if objects.contains(Object::Children) {
            return Some("the place below it".to_owned());
        }
        let attribute = objects.attributes().next();
        attribute.map(|it| self.schema.type_of(it).name().to_owned())
    }
}

/// Returns the objects to which a clause gives a right, in an entry of its target.
fn objects_given(rule: &CompiledRule, clause: &CompiledClause, right: Right) -> ObjectSet {
    let about = rule.about.objects().perhaps;
    let mut given = ObjectSet::default();
    for effect in clause.effects.iter().filter(|it| it.rights.contains(right)) {
        given.join(&match &effect.on {
            None => about.clone(),
            Some(cover) => about.within(&cover.objects().perhaps),
        });
    }
    // Nothing asks for the other rights of these.
    let idle = [
        (Object::Entry, TO_ENTRIES.contains(right)),
        (Object::Children, TO_CHILDREN.contains(right)),
    ];
    let idle = idle.into_iter().filter(|(_, is_right)| !is_right);
    given.remove(&ObjectSet::of(idle.map(|(object, _)| object)));
    given
}

/// Returns a region that has every entry of a target.
fn region_of(target: &CompiledTarget) -> (Name, Scope) {
    match target {
        CompiledTarget::Everything | CompiledTarget::Pattern(_) => {
            (Name::root(), Scope::WholeSubtree)
        }
        CompiledTarget::Below(reach, base) => {
            let scope = match reach {
                Reach::Entry => Scope::BaseObject,
                Reach::One => Scope::SingleLevel,
                Reach::Children => Scope::Subordinate,
                Reach::Subtree => Scope::WholeSubtree,
            };
            (base.clone(), scope)
        }
    }
}
