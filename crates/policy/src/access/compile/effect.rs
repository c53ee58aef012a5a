//! Whether the rights in a clause are rights to anything that its rule is about.

use super::{Compiler, Cover};
use crate::access::objects::{Bits, Object, ObjectSet};
use crate::access::right::{Right, RightSet, RightWord};
use crate::access::rules::{Clause, Grant, Then};
use crate::access::words::Use;

/// Rights to an entry itself.
pub(in crate::access) const TO_ENTRIES: RightSet = RightSet::of(&[
    Right::Disclose,
    Right::Authenticate,
    Right::Compare,
    Right::Search,
    Right::Read,
    Right::Add,
    Right::Delete,
    Right::Rename,
    Right::MoveIn,
    Right::MoveOut,
    Right::Proxy,
    Right::Manage,
    Right::Administer,
]);

/// Rights to the place below an entry.
pub(in crate::access) const TO_CHILDREN: RightSet = RightSet::of(&[
    Right::Add,
    Right::Delete,
    Right::Rename,
    Right::MoveIn,
    Right::MoveOut,
    Right::Manage,
]);

/// Rights to every attribute; [`Right::SelfValue`] is one to attributes with names as values.
const TO_ATTRIBUTES: RightSet = RightSet::of(&[
    Right::Disclose,
    Right::Authenticate,
    Right::Compare,
    Right::Search,
    Right::Read,
    Right::AddValue,
    Right::DeleteValue,
    Right::Manage,
]);

impl Compiler<'_> {
    /// Checks that a clause of a rule about `about` changes something in each part.
    ///
    /// # Errors
    /// The part without an effect.
    pub(super) fn check_effects(&self, about: &Cover, clause: &Clause) -> Result<(), String> {
        for grant in &clause.rights {
            if grant.right == RightWord::None {
                let alone = clause.rights.len() == 1 && grant.items.is_empty() && !grant.only;
                let ends = matches!(clause.then, Then::Stop | Then::NextRule);
                if alone && ends && !clause.denies {
                    continue;
                }
                return Err(format!(
                    "expected \"none\" alone in a \"let\" that ends the rule, got \"{clause}\", \
                     where it has no effect"
                ));
            }
            if !self.has_effect(about, grant, clause.denies)? {
                return Err(format!(
                    "expected rights to something that the rule is about, got \"{grant}\", which \
                     has no effect"
                ));
            }
        }
        Ok(())
    }

    /// Returns whether a grant gives or takes rights to anything that a rule is about.
    pub(super) fn has_effect(
        &self,
        about: &Cover,
        grant: &Grant,
        denies: bool,
    ) -> Result<bool, String> {
        let rights = match denies || grant.only {
            true => grant.right.exactly(),
            false => grant.right.with_lower(),
        };
        let mut objects = about.objects().perhaps;
        if !grant.items.is_empty() {
            objects.meet(&self.items(&grant.items)?.objects().perhaps);
        }
        Ok(!(self.rights_to(&objects) & rights).is_empty())
    }

    /// Returns the rights that there are to one of these objects at least.
    fn rights_to(&self, objects: &ObjectSet) -> RightSet {
        let mut rights = RightSet::NONE;
        let mut add = |has: bool, more: RightSet| {
            if has {
                rights = rights | more;
            }
        };
        add(objects.contains(Object::Entry), TO_ENTRIES);
        add(objects.contains(Object::Children), TO_CHILDREN);
        let mut uses = Use::ALL.into_iter().map(Object::Use);
        let has_use = uses.any(|it| objects.contains(it));
        add(has_use, RightSet::of(&[Right::Use]));
        add(objects.attributes().next().is_some(), TO_ATTRIBUTES);
        let has_names = objects.attributes().any(|it| self.has_names(it));
        add(has_names, RightSet::of(&[Right::SelfValue]));
        rights
    }
}
