//! Rules for the content of an entry: object classes (RFC 4512 §2.4) and content rules (§4.1.6).
//!
//! A class implies its superclasses: an entry with the single value `inetOrgPerson` is a person.

use crate::definition::ClassKind;
use crate::error::Violation;
use crate::id::{ClassId, TypeId};
use crate::schema::{ContentRule, ObjectClass, Schema};

/// The parts of an entry that the class rules check.
#[derive(Debug, Clone, Copy)]
pub struct EntryShape<'a> {
    /// Values of `objectClass`.
    pub classes: &'a [&'a [u8]],
    /// Each attribute, user and operational, `objectClass` included, with its number of values.
    /// Descriptions with options are listed by their type; a type may be listed several times.
    pub attributes: &'a [(TypeId, usize)],
    /// Attribute types of the entry's RDN.
    pub rdn: &'a [TypeId],
}

/// The classes of an entry that obeys the rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Structure {
    /// The structural object class: the most subordinate of its chain.
    pub structural: ClassId,
    /// Every class of the entry, superclasses included, each once.
    pub classes: Vec<ClassId>,
}

impl Schema {
    /// Checks an entry against its object classes. `objectClass` itself counts as present when
    /// `shape.classes` has a value, and operational attributes need no class to allow them.
    ///
    /// # Errors
    /// The first rule that the entry violates.
    pub fn check_entry(&self, shape: &EntryShape<'_>) -> Result<Structure, Violation> {
        let classes = self.classes_of(shape.classes)?;
        let structural = self.structural_class(&classes)?;
        let rule = self.content_rules().find(|rule| rule.class == structural);
        if let Some(rule) = rule {
            self.check_auxiliaries(rule, &classes)?;
        }
        self.check_required(shape, &classes, rule)?;
        self.check_allowed(shape, &classes, rule)?;
        self.check_named(shape)?;
        Ok(Structure {
            structural,
            classes,
        })
    }

    /// Checks an entry without content rules: a content rule of the entry's class counts as
    /// allowing every attribute and every auxiliary class (draft-zeilenga-ldap-relax-03 §3.3).
    ///
    /// # Errors
    /// The first rule that the entry violates.
    pub fn check_entry_relaxed(&self, shape: &EntryShape<'_>) -> Result<Structure, Violation> {
        let classes = self.classes_of(shape.classes)?;
        let structural = self.structural_class(&classes)?;
        self.check_required(shape, &classes, None)?;
        let governed = self.content_rules().any(|rule| rule.class == structural);
        match self.check_allowed(shape, &classes, None) {
            Err(Violation::NotAllowed(_)) if governed => {}
            result => result?,
        }
        self.check_named(shape)?;
        Ok(Structure {
            structural,
            classes,
        })
    }

    /// Returns the structural class of an entry with these values of `objectClass`.
    ///
    /// # Errors
    /// An unknown class, no structural class, or several that are not in one chain.
    pub fn structural_class_of(&self, classes: &[&[u8]]) -> Result<ClassId, Violation> {
        self.structural_class(&self.classes_of(classes)?)
    }

    fn check_named(&self, shape: &EntryShape<'_>) -> Result<(), Violation> {
        match shape.rdn.iter().find(|id| !present(shape, **id)) {
            None => Ok(()),
            Some(id) => Err(Violation::NamingAttributeMissing(self.attribute_name(*id))),
        }
    }

    /// Returns the named classes and all their superclasses, each once.
    fn classes_of(&self, names: &[&[u8]]) -> Result<Vec<ClassId>, Violation> {
        if names.is_empty() {
            return Err(Violation::NoClass);
        }
        let mut classes = Vec::with_capacity(names.len() + 4);
        for name in names {
            let found = std::str::from_utf8(name)
                .ok()
                .and_then(|name| self.object_class(name));
            let Some(class) = found else {
                return Err(Violation::UnknownClass(
                    String::from_utf8_lossy(name).into_owned(),
                ));
            };
            for &id in std::iter::once(&class).chain(&self.class_of(class).all_superiors) {
                if !classes.contains(&id) {
                    classes.push(id);
                }
            }
        }
        Ok(classes)
    }

    /// Returns the most subordinate structural class; all others must be its superclasses. Without
    /// one, an auxiliary class that is structural when alone takes its place.
    fn structural_class(&self, classes: &[ClassId]) -> Result<ClassId, Violation> {
        let is_structural = |class: &ObjectClass| class.kind == ClassKind::Structural;
        if let Some(class) = self.lowest(classes, is_structural)? {
            return Ok(class);
        }
        self.lowest(classes, |class| class.structural_alone)?
            .ok_or_else(|| {
                let names = classes.iter().map(|id| self.class_of(*id).name());
                let names: Vec<&str> = names.filter(|it| *it != "top").collect();
                Violation::NoStructuralClass(names.join(", "))
            })
    }

    /// Returns the most subordinate of the chosen classes, all of which must be in one chain.
    fn lowest(
        &self,
        classes: &[ClassId],
        chosen: impl Fn(&ObjectClass) -> bool,
    ) -> Result<Option<ClassId>, Violation> {
        let mut lowest: Option<ClassId> = None;
        for &class in classes {
            if !chosen(self.class_of(class)) {
                continue;
            }
            lowest = match lowest {
                None => Some(class),
                Some(so_far) if self.is_subclass(class, so_far) => Some(class),
                Some(so_far) if self.is_subclass(so_far, class) => Some(so_far),
                Some(so_far) => {
                    return Err(Violation::SeveralStructuralChains(
                        self.class_of(so_far).name().to_string(),
                        self.class_of(class).name().to_string(),
                    ));
                }
            };
        }
        Ok(lowest)
    }

    fn check_auxiliaries(&self, rule: &ContentRule, classes: &[ClassId]) -> Result<(), Violation> {
        let allowed = |id: ClassId| {
            self.class_of(id).kind != ClassKind::Auxiliary
                || rule
                    .auxiliaries
                    .iter()
                    .any(|&listed| self.is_subclass(listed, id))
        };
        match classes.iter().find(|&&id| !allowed(id)) {
            None => Ok(()),
            Some(&id) => Err(Violation::ClassNotAllowed(
                self.class_of(id).name().to_string(),
            )),
        }
    }

    fn check_required(
        &self,
        shape: &EntryShape<'_>,
        classes: &[ClassId],
        rule: Option<&ContentRule>,
    ) -> Result<(), Violation> {
        let missing = |must: &[TypeId]| {
            let object_class = self.definitions.object_class;
            must.iter()
                .copied()
                .find(|&id| Some(id) != object_class && !present(shape, id))
        };
        for &class in classes {
            let class = self.class_of(class);
            if let Some(type_id) = missing(&class.must) {
                return Err(Violation::Missing {
                    class: class.name().to_string(),
                    attribute: self.attribute_name(type_id),
                });
            }
        }
        match rule.and_then(|rule| Some((rule, missing(&rule.must)?))) {
            None => Ok(()),
            Some((rule, type_id)) => Err(Violation::Missing {
                class: self.class_of(rule.class).name().to_string(),
                attribute: self.attribute_name(type_id),
            }),
        }
    }

    fn check_allowed(
        &self,
        shape: &EntryShape<'_>,
        classes: &[ClassId],
        rule: Option<&ContentRule>,
    ) -> Result<(), Violation> {
        let extensible = self.definitions.extensible_object;
        let extensible = extensible.is_some_and(|class| classes.contains(&class));
        // RFC 3671 §2.3: no other entry may hold collective attributes.
        let lender = self.object_class("collectiveAttributeSubentry");
        let lends = lender.is_some_and(|class| classes.contains(&class));
        for &(type_id, values) in shape.attributes {
            let attribute_type = self.type_of(type_id);
            if values > 1 && attribute_type.single_value {
                return Err(Violation::SeveralValues(self.attribute_name(type_id)));
            }
            if values == 0 || attribute_type.operational() {
                continue;
            }
            if attribute_type.collective && !lends {
                return Err(Violation::NotAllowed(self.attribute_name(type_id)));
            }
            let precluded = rule.is_some_and(|rule| rule.not.contains(&type_id));
            let allowed = extensible
                || attribute_type.collective
                || classes
                    .iter()
                    .any(|&class| self.class_of(class).allows(type_id))
                || rule.is_some_and(|rule| {
                    rule.may.contains(&type_id) || rule.must.contains(&type_id)
                });
            if precluded || !allowed {
                return Err(Violation::NotAllowed(self.attribute_name(type_id)));
            }
        }
        Ok(())
    }

    fn attribute_name(&self, type_id: TypeId) -> String {
        self.type_of(type_id).name().to_string()
    }
}

impl ObjectClass {
    /// Returns whether the class or one of its superclasses requires or allows the attribute.
    pub fn allows(&self, type_id: TypeId) -> bool {
        let word = self.allowed.get(usize::from(type_id.0) / 64);
        word.is_some_and(|word| word >> (type_id.0 % 64) & 1 == 1)
    }
}

fn present(shape: &EntryShape<'_>, type_id: TypeId) -> bool {
    shape
        .attributes
        .iter()
        .any(|&(present, values)| present == type_id && values > 0)
}

#[cfg(test)]
mod tests;
