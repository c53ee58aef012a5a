//! Turns definitions into a schema: every name resolved, every contradiction found.
//!
//! Names are registered first and resolved afterwards, so definitions may come in any order.

use std::borrow::Cow;
use std::sync::Arc;

use crate::definition::*;
use crate::definition_compare::conflict;
use crate::error::SchemaError;
use crate::id::{ClassId, TypeId};
use crate::matching::MatchingRule;
use crate::schema::{AttributeType, ContentRule, Definitions, ObjectClass, allowed};
use crate::syntax::{self, Syntax};

mod register;

/// Syntaxes whose values are always requested and returned with `;binary` (RFC 4523 §2).
const BINARY_TRANSFER: [&str; 4] = [
    syntax::OID_CERTIFICATE,
    syntax::OID_CERTIFICATE_LIST,
    syntax::OID_CERTIFICATE_PAIR,
    syntax::OID_SUPPORTED_ALGORITHM,
];

/// Returns the definitions of `base` with the given ones; `None` when they add nothing. With
/// `kept`, a conflict is added to it and the existing definition stands; without, it is an error.
pub(crate) fn extend(
    base: &Definitions,
    given: &[Definition],
    mut kept: Option<&mut Vec<SchemaError>>,
) -> Result<Option<Definitions>, SchemaError> {
    let mut settle = |result| match (result, &mut kept) {
        (Err(conflict @ SchemaError::Conflict { .. }), Some(kept)) => {
            kept.push(conflict);
            Ok(())
        }
        (result, _) => result,
    };
    let mut build = Build::of(base);
    for definition in given {
        match definition {
            Definition::AttributeType(it) => settle(build.register_type(it))?,
            Definition::ObjectClass(it) => settle(build.register_class(it))?,
            Definition::Syntax(it) => build.add_syntax(it)?,
            Definition::MatchingRule(it) => build.add_matching_rule(it)?,
            // These descriptions are computed from the types, never read.
            Definition::MatchingRuleUse(_) => {}
            Definition::ContentRule(_) | Definition::NameForm(_) | Definition::StructureRule(_) => {
            }
        }
    }
    for (id, repeated) in std::mem::take(&mut build.repeated_types) {
        settle(build.unite_type(id, repeated))?;
    }
    for (id, repeated) in std::mem::take(&mut build.repeated_classes) {
        settle(build.unite_class(id, repeated))?;
    }
    let new_elements = !build.types.is_empty() || !build.classes.is_empty();
    build.resolve_types()?;
    build.resolve_classes()?;
    for definition in given {
        match definition {
            Definition::ContentRule(it) => settle(build.add_content_rule(it))?,
            Definition::NameForm(it) => settle(build.add_name_form(it))?,
            Definition::StructureRule(it) => settle(build.add_structure_rule(it))?,
            _ => {}
        }
    }
    if !new_elements && build.to.others() == base.others() {
        return Ok(None);
    }
    build.to.object_class = build.to.type_names.find("objectClass").map(TypeId);
    build.to.extensible_object = build.to.class_names.find("extensibleObject").map(ClassId);
    Ok(Some(build.to))
}

/// Returns the definitions; those with a new OID lose the names that `base` has given to others, as
/// long as a name is left. For instance, 389's passwordHistory also claims to be pwdHistory.
pub(crate) fn without_taken_names(
    base: &Definitions,
    given: &[Definition],
    kept: &mut Vec<SchemaError>,
) -> Vec<Definition> {
    let mut definitions = given.to_vec();
    for definition in &mut definitions {
        let (table, oid, names) = match definition {
            Definition::AttributeType(it) => (&base.type_names, &it.oid, &mut it.names),
            Definition::ObjectClass(it) => (&base.class_names, &it.oid, &mut it.names),
            _ => continue,
        };
        let taken = names.iter().find(|name| table.find(name).is_some());
        let some_free = names.iter().any(|name| table.find(name).is_none());
        let Some(name) = taken.filter(|_| some_free && table.find(oid).is_none()) else {
            continue;
        };
        let difference = format!("the name {name} has another OID");
        kept.push(conflict(names, oid, difference));
        names.retain(|name| table.find(name).is_none());
    }
    definitions
}

impl Definitions {
    /// Numbers of definitions that are neither attribute types nor object classes, by kind.
    fn others(&self) -> [usize; 5] {
        [
            self.content_rules.len(),
            self.name_forms.len(),
            self.structure_rules.len(),
            self.syntaxes.len(),
            self.matching_rules.len(),
        ]
    }
}

struct Build<'a> {
    to: Definitions,
    /// Registered types that are not yet resolved; their handles follow those in `to`.
    types: Vec<Cow<'a, AttributeTypeDefinition>>,
    classes: Vec<Cow<'a, ObjectClassDefinition>>,
    /// Types with registered OIDs, with their handles.
    repeated_types: Vec<(u16, &'a AttributeTypeDefinition)>,
    repeated_classes: Vec<(u16, &'a ObjectClassDefinition)>,
}

impl<'a> Build<'a> {
    fn add_syntax(&mut self, given: &SyntaxDefinition) -> Result<(), SchemaError> {
        let known = Syntax::by_oid(&given.oid).is_some()
            || self
                .to
                .syntaxes
                .iter()
                .any(|syntax| syntax.oid == given.oid);
        if !known {
            self.to.syntaxes.push(Arc::new(given.clone()));
        }
        Ok(())
    }

    fn add_matching_rule(&mut self, given: &MatchingRuleDefinition) -> Result<(), SchemaError> {
        let known = MatchingRule::by_name(&given.oid).is_some()
            || self
                .to
                .matching_rules
                .iter()
                .any(|rule| rule.oid == given.oid);
        if !known {
            self.to.matching_rules.push(Arc::new(given.clone()));
        }
        Ok(())
    }

    /// Resolves the registered types, supertypes before subtypes.
    fn resolve_types(&mut self) -> Result<(), SchemaError> {
        let first = self.to.types.len();
        let pending = std::mem::take(&mut self.types);
        let mut resolved: Vec<Option<Arc<AttributeType>>> = vec![None; pending.len()];
        for start in 0..pending.len() {
            // The unresolved supertypes of `start`, nearest first.
            let mut chain = Vec::new();
            let mut at = Some(start);
            while let Some(index) = at.filter(|&index| resolved[index].is_none()) {
                if chain.contains(&index) {
                    return Err(SchemaError::Cycle {
                        definition: label_of_type(&pending[index]),
                    });
                }
                chain.push(index);
                let superior = self.superior_of(&pending[index])?;
                at = superior.and_then(|id| usize::from(id.0).checked_sub(first));
            }
            for index in chain.into_iter().rev() {
                let superior = self.superior_of(&pending[index])?;
                let parent = superior.map(|id| match usize::from(id.0).checked_sub(first) {
                    None => Arc::clone(&self.to.types[usize::from(id.0)]),
                    Some(i) => Arc::clone(resolved[i].as_ref().expect("supertypes come first")),
                });
                let it = self.resolve_type(&pending[index], superior, parent.as_deref())?;
                resolved[index] = Some(Arc::new(it));
            }
        }
        self.to.types.extend(resolved.into_iter().flatten());
        Ok(())
    }

    fn superior_of(&self, it: &AttributeTypeDefinition) -> Result<Option<TypeId>, SchemaError> {
        let Some(name) = &it.superior else {
            return Ok(None);
        };
        match self.to.type_names.find(name) {
            Some(id) => Ok(Some(TypeId(id))),
            None => Err(unknown(label_of_type(it), "supertype", name)),
        }
    }

    fn resolve_type(
        &self,
        it: &AttributeTypeDefinition,
        superior: Option<TypeId>,
        parent: Option<&AttributeType>,
    ) -> Result<AttributeType, SchemaError> {
        let label = || label_of_type(it);
        let rule =
            |name: &Option<String>, role, inherited: Option<&'static MatchingRule>| match name {
                None => Ok(inherited),
                Some(name) => self.rule(name, role, &label),
            };
        let syntax = match (&it.syntax, parent) {
            (Some(oid), _) => self.syntax(oid),
            (None, Some(parent)) => parent.syntax,
            (None, None) => {
                return Err(SchemaError::NoSyntax {
                    definition: label(),
                });
            }
        };
        let contradiction = |rule| SchemaError::Contradiction {
            definition: label(),
            rule,
        };
        if it.collective && it.usage != Usage::UserApplications {
            return Err(contradiction("a collective attribute is not operational"));
        }
        if it.collective && it.single_value {
            return Err(contradiction("a collective attribute is not single-valued"));
        }
        if parent.is_some_and(|parent| parent.usage != it.usage) {
            return Err(contradiction("a subtype has the usage of its supertype"));
        }
        Ok(AttributeType {
            oid: it.oid.clone(),
            names: it.names.clone(),
            superior,
            equality: rule(
                &it.equality,
                "equality rule",
                parent.and_then(|it| it.equality),
            )?,
            ordering: rule(
                &it.ordering,
                "ordering rule",
                parent.and_then(|it| it.ordering),
            )?,
            substring: rule(
                &it.substring,
                "substring rule",
                parent.and_then(|it| it.substring),
            )?,
            syntax,
            single_value: it.single_value,
            collective: it.collective,
            no_user_modification: it.no_user_modification,
            usage: it.usage,
            binary_transfer: BINARY_TRANSFER.contains(&syntax.oid),
            definition: it.clone(),
        })
    }

    /// Resolves a matching rule. One that is defined but not implemented is published, and not
    /// used.
    fn rule(
        &self,
        name: &str,
        role: &'static str,
        label: &dyn Fn() -> String,
    ) -> Result<Option<&'static MatchingRule>, SchemaError> {
        let defined = |rule: &Arc<MatchingRuleDefinition>| {
            rule.oid == name || rule.names.iter().any(|own| own.eq_ignore_ascii_case(name))
        };
        match MatchingRule::by_name(name) {
            Some(rule) => Ok(Some(rule)),
            None if self.to.matching_rules.iter().any(defined) => Ok(None),
            None => Err(unknown(label(), role, name)),
        }
    }

    /// Resolves a syntax by its OID, else by its `X-SUBST`, else to Octet String.
    fn syntax(&self, oid: &str) -> &'static Syntax {
        let substitute = || {
            let defined = self.to.syntaxes.iter().find(|syntax| syntax.oid == oid)?;
            let (_, values) = defined
                .extensions
                .iter()
                .find(|(keyword, _)| keyword.eq_ignore_ascii_case("X-SUBST"))?;
            Syntax::by_oid(values.first()?)
        };
        Syntax::by_oid(oid)
            .or_else(substitute)
            .unwrap_or(&syntax::OCTET_STRING)
    }

    /// Resolves the registered classes, superclasses before subclasses.
    fn resolve_classes(&mut self) -> Result<(), SchemaError> {
        let first = self.to.classes.len();
        let pending = std::mem::take(&mut self.classes);
        let mut resolved: Vec<Option<Arc<ObjectClass>>> = vec![None; pending.len()];
        let mut left = pending.len();
        while left > 0 {
            let before = left;
            for (index, it) in pending.iter().enumerate() {
                if resolved[index].is_some() {
                    continue;
                }
                let superiors = self.classes_named(&it.superiors, it, "superclass")?;
                let parents: Option<Vec<&Arc<ObjectClass>>> = superiors
                    .iter()
                    .map(|id| match usize::from(id.0).checked_sub(first) {
                        None => Some(&self.to.classes[usize::from(id.0)]),
                        Some(i) => resolved[i].as_ref(),
                    })
                    .collect();
                if let Some(parents) = parents {
                    let class = self.resolve_class(it, superiors, &parents)?;
                    resolved[index] = Some(Arc::new(class));
                    left -= 1;
                }
            }
            if left == before {
                let stuck = pending
                    .iter()
                    .zip(&resolved)
                    .find(|(_, done)| done.is_none());
                let (it, _) = stuck.expect("some class is left");
                return Err(SchemaError::Cycle {
                    definition: label_of_class(it),
                });
            }
        }
        self.to.classes.extend(resolved.into_iter().flatten());
        Ok(())
    }

    fn resolve_class(
        &self,
        it: &ObjectClassDefinition,
        superiors: Vec<ClassId>,
        parents: &[&Arc<ObjectClass>],
    ) -> Result<ObjectClass, SchemaError> {
        for parent in parents {
            let fits = match it.kind {
                ClassKind::Abstract => parent.kind == ClassKind::Abstract,
                ClassKind::Structural => {
                    parent.kind != ClassKind::Auxiliary || parent.structural_alone
                }
                ClassKind::Auxiliary => parent.kind != ClassKind::Structural,
            };
            if !fits {
                let rule = "an abstract class derives from abstract ones, a structural class never \
                            from an auxiliary one, an auxiliary class never from a structural one";
                return Err(SchemaError::Contradiction {
                    definition: label_of_class(it),
                    rule,
                });
            }
        }
        let label = || label_of_class(it);
        let must = self.types_named(&it.must, &label, "required attribute")?;
        let may = self.types_named(&it.may, &label, "allowed attribute")?;
        let inherit = |own: &[TypeId], of: fn(&ObjectClass) -> &Vec<TypeId>| {
            sorted(
                own.iter()
                    .copied()
                    .chain(parents.iter().flat_map(|it| of(it).iter().copied())),
            )
        };
        let all_must = inherit(&must, |it| &it.all_must);
        let all_may = inherit(&may, |it| &it.all_may);
        let all_superiors = sorted(
            superiors
                .iter()
                .copied()
                .chain(parents.iter().flat_map(|it| it.all_superiors.clone())),
        );
        Ok(ObjectClass {
            oid: it.oid.clone(),
            names: it.names.clone(),
            kind: it.kind,
            superiors,
            all_superiors,
            must,
            may,
            allowed: allowed(&all_must, &all_may),
            all_must,
            all_may,
            definition: it.clone(),
            structural_alone: it.kind == ClassKind::Auxiliary && is_true(it, STRUCTURAL_ALONE),
        })
    }

    fn classes_named(
        &self,
        names: &[String],
        of: &ObjectClassDefinition,
        role: &'static str,
    ) -> Result<Vec<ClassId>, SchemaError> {
        let find = |name: &String| match self.to.class_names.find(name) {
            Some(id) => Ok(ClassId(id)),
            None => Err(unknown(label_of_class(of), role, name)),
        };
        names.iter().map(find).collect()
    }

    fn types_named(
        &self,
        names: &[String],
        label: &dyn Fn() -> String,
        role: &'static str,
    ) -> Result<Vec<TypeId>, SchemaError> {
        let find = |name: &String| match self.to.type_names.find(name) {
            Some(id) => Ok(TypeId(id)),
            None => Err(unknown(label(), role, name)),
        };
        names.iter().map(find).collect()
    }

    fn add_content_rule(&mut self, it: &ContentRuleDefinition) -> Result<(), SchemaError> {
        let label = || it.names.first().unwrap_or(&it.oid).clone();
        let Some(class) = self.to.class_names.find(&it.oid).map(ClassId) else {
            return Err(unknown(label(), "structural class", &it.oid));
        };
        if let Some(existing) = self
            .to
            .content_rules
            .iter()
            .find(|rule| rule.class == class)
        {
            return match existing.definition == *it {
                true => Ok(()),
                false => Err(differently(&it.names, &it.oid, &existing.definition)),
            };
        }
        let contradiction = |rule| SchemaError::Contradiction {
            definition: label(),
            rule,
        };
        if self.to.classes[usize::from(class.0)].kind != ClassKind::Structural {
            return Err(contradiction("a content rule governs a structural class"));
        }
        let mut auxiliaries = Vec::with_capacity(it.auxiliaries.len());
        for name in &it.auxiliaries {
            match self.to.class_names.find(name).map(ClassId) {
                None => return Err(unknown(label(), "auxiliary class", name)),
                Some(id) => auxiliaries.push(id),
            }
        }
        let is_auxiliary =
            |id: &ClassId| self.to.classes[usize::from(id.0)].kind == ClassKind::Auxiliary;
        if !auxiliaries.iter().all(is_auxiliary) {
            return Err(contradiction("AUX lists auxiliary classes"));
        }
        let rule = ContentRule {
            class,
            auxiliaries,
            must: self.types_named(&it.must, &label, "required attribute")?,
            may: self.types_named(&it.may, &label, "allowed attribute")?,
            not: self.types_named(&it.not, &label, "precluded attribute")?,
            definition: it.clone(),
        };
        self.to.content_rules.push(Arc::new(rule));
        Ok(())
    }

    fn add_name_form(&mut self, it: &NameFormDefinition) -> Result<(), SchemaError> {
        let label = || it.names.first().unwrap_or(&it.oid).clone();
        if let Some(existing) = self.to.name_forms.iter().find(|form| form.oid == it.oid) {
            return match **existing == *it {
                true => Ok(()),
                false => Err(differently(&it.names, &it.oid, &**existing)),
            };
        }
        if self.to.class_names.find(&it.class).is_none() {
            return Err(unknown(label(), "structural class", &it.class));
        }
        self.types_named(&it.must, &label, "naming attribute")?;
        self.types_named(&it.may, &label, "naming attribute")?;
        self.to.name_forms.push(Arc::new(it.clone()));
        Ok(())
    }

    fn add_structure_rule(&mut self, it: &StructureRuleDefinition) -> Result<(), SchemaError> {
        let label = it
            .names
            .first()
            .cloned()
            .unwrap_or_else(|| it.rule_id.to_string());
        let rules = &self.to.structure_rules;
        if let Some(existing) = rules.iter().find(|rule| rule.rule_id == it.rule_id) {
            return match **existing == *it {
                true => Ok(()),
                false => Err(differently(&it.names, &label, &**existing)),
            };
        }
        let is_form = |form: &Arc<NameFormDefinition>| {
            form.oid == it.form
                || form
                    .names
                    .iter()
                    .any(|own| own.eq_ignore_ascii_case(&it.form))
        };
        if !self.to.name_forms.iter().any(is_form) {
            return Err(unknown(label, "name form", &it.form));
        }
        self.to.structure_rules.push(Arc::new(it.clone()));
        Ok(())
    }
}

fn sorted<T: Ord>(items: impl Iterator<Item = T>) -> Vec<T> {
    let mut items: Vec<T> = items.collect();
    items.sort_unstable();
    items.dedup();
    items
}

fn label_of_type(it: &AttributeTypeDefinition) -> String {
    it.names.first().unwrap_or(&it.oid).clone()
}

/// Returns whether an extension of the class has the value `TRUE`.
fn is_true(it: &ObjectClassDefinition, keyword: &str) -> bool {
    let mut values = extension(&it.extensions, keyword).iter();
    values.any(|value| value.eq_ignore_ascii_case("TRUE"))
}

fn label_of_class(it: &ObjectClassDefinition) -> String {
    it.names.first().unwrap_or(&it.oid).clone()
}

fn unknown(definition: String, role: &'static str, name: &str) -> SchemaError {
    SchemaError::Unknown {
        definition,
        role,
        name: name.to_string(),
    }
}

/// Returns the conflict of a rule or form with the definition `existing` in force.
fn differently<T: ToString>(names: &[String], oid: &str, existing: &T) -> SchemaError {
    conflict(names, oid, format!("{} is in force", existing.to_string()))
}
