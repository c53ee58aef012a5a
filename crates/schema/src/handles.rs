//! Handles that outlive a change of the schema: a definition with an unchanged meaning keeps its
//! handle, and a handle never gets another meaning.
//!
//! A schema that is read anew from its entries numbers its definitions in the order of the entries.
//! Without kept handles, one more definition in an early entry would move all later ones, and
//! everything resolved before would be wrong.

use std::collections::HashMap;
use std::sync::Arc;

use crate::error::SchemaError;
use crate::id::{ClassId, TypeId};
use crate::matching::MatchingRule;
use crate::name_table::NameTable;
use crate::schema::{AttributeType, ContentRule, Definitions, ObjectClass, Schema, allowed};

/// The properties on which the octets of resolved names and values depend.
type Meaning<'d> = (
    &'d str,
    Option<&'static str>,
    Option<&'static str>,
    Option<&'static str>,
    bool,
);

impl Schema {
    /// Returns this schema with the handles of `before` for the definitions that both have. A
    /// definition that `before` lacks gets an unused handle. An attribute type whose first name,
    /// syntax, matching rule or collective nature changed counts as another type. Handles of
    /// removed definitions still lead to the definition as it was, but no name does.
    ///
    /// # Errors
    /// [`SchemaError::Full`] when no handle is left.
    pub fn with_handles_of(&self, before: &Schema) -> Result<Schema, SchemaError> {
        let (old, new) = (&before.definitions, &self.definitions);
        let types = matched(
            &old.types,
            &new.types,
            |old, new| old.oid.eq_ignore_ascii_case(&new.oid) && meaning(old) == meaning(new),
            |it| it.oid.to_ascii_lowercase(),
            "attribute types",
        )?;
        let classes = matched(
            &old.classes,
            &new.classes,
            |old, new| old.oid.eq_ignore_ascii_case(&new.oid),
            |it| it.oid.to_ascii_lowercase(),
            "object classes",
        )?;
        if is_identity(&types, old.types.len()) && is_identity(&classes, old.classes.len()) {
            return Ok(self.clone());
        }
        let definitions = renumbered(old, new, &Map { types, classes });
        let schema = Schema {
            definitions: Arc::new(definitions),
            dictionary: Arc::default(),
        };
        schema.with_dictionary(&self.dictionary_rows())
    }
}

/// Map from the handles of the newer schema to those that replace them.
struct Map {
    types: Vec<u16>,
    classes: Vec<u16>,
}

impl Map {
    fn type_id(&self, id: TypeId) -> TypeId {
        TypeId(self.types[usize::from(id.0)])
    }

    fn class_id(&self, id: ClassId) -> ClassId {
        ClassId(self.classes[usize::from(id.0)])
    }

    fn type_ids(&self, ids: &[TypeId]) -> Vec<TypeId> {
        ids.iter().map(|it| self.type_id(*it)).collect()
    }

    fn class_ids(&self, ids: &[ClassId]) -> Vec<ClassId> {
        ids.iter().map(|it| self.class_id(*it)).collect()
    }
}

fn meaning(it: &AttributeType) -> (Meaning<'_>, String) {
    let oid = |rule: Option<&'static MatchingRule>| rule.map(|it| it.oid);
    let values = (
        it.syntax.oid,
        oid(it.equality),
        oid(it.ordering),
        oid(it.substring),
        it.collective,
    );
    // Normal forms of names contain the first name.
    (values, it.name().to_ascii_lowercase())
}

/// Returns a handle for each newer definition: that of an equal older one, or an unused one.
fn matched<T>(
    old: &[Arc<T>],
    new: &[Arc<T>],
    same: impl Fn(&T, &T) -> bool,
    key: impl Fn(&T) -> String,
    what: &'static str,
) -> Result<Vec<u16>, SchemaError> {
    let mut by_key: HashMap<String, Vec<usize>> = HashMap::new();
    for (at, it) in old.iter().enumerate() {
        by_key.entry(key(it)).or_default().push(at);
    }
    let mut free = old.len();
    let handle = |it: &Arc<T>| {
        let candidates = by_key.get(&key(it)).map_or(&[][..], Vec::as_slice);
        let kept = candidates.iter().find(|at| same(&old[**at], it)).copied();
        let at = kept.unwrap_or_else(|| {
            free += 1;
            free - 1
        });
        let handle = u16::try_from(at).ok().filter(|it| *it < u16::MAX);
        handle.ok_or(SchemaError::Full { what })
    };
    new.iter().map(handle).collect()
}

/// Returns whether every handle stays the same and none is removed.
fn is_identity(handles: &[u16], before: usize) -> bool {
    let stays = |(at, handle): (usize, &u16)| at == usize::from(*handle);
    handles.len() >= before && handles.iter().enumerate().all(stays)
}

fn renumbered(old: &Definitions, new: &Definitions, map: &Map) -> Definitions {
    // The pattern names every field, so that a new field with handles cannot be forgotten here.
    let Definitions {
        types,
        type_names,
        classes,
        class_names,
        content_rules,
        name_forms,
        structure_rules,
        syntaxes,
        matching_rules,
        object_class,
        extensible_object,
        types_gone: _,
        classes_gone: _,
    } = new;
    let types: Vec<Arc<AttributeType>> = types.iter().map(|it| renumbered_type(it, map)).collect();
    let classes: Vec<Arc<ObjectClass>> =
        classes.iter().map(|it| renumbered_class(it, map)).collect();
    let (types, types_gone) = placed(&old.types, types, &map.types);
    let (classes, classes_gone) = placed(&old.classes, classes, &map.classes);
    let content_rules = content_rules.iter();
    let content_rules = content_rules.map(|it| renumbered_content_rule(it, map));
    Definitions {
        types,
        type_names: names(type_names, &map.types),
        classes,
        class_names: names(class_names, &map.classes),
        content_rules: content_rules.collect(),
        name_forms: name_forms.clone(),
        structure_rules: structure_rules.clone(),
        syntaxes: syntaxes.clone(),
        matching_rules: matching_rules.clone(),
        object_class: object_class.map(|it| map.type_id(it)),
        extensible_object: extensible_object.map(|it| map.class_id(it)),
        types_gone: types_gone.into_iter().map(TypeId).collect(),
        classes_gone: classes_gone.into_iter().map(ClassId).collect(),
    }
}

/// Returns the definitions at their handles, and the handles that only older definitions have.
fn placed<T>(old: &[Arc<T>], new: Vec<Arc<T>>, handles: &[u16]) -> (Vec<Arc<T>>, Vec<u16>) {
    let highest = handles.iter().map(|it| usize::from(*it) + 1).max();
    let mut slots: Vec<Option<Arc<T>>> = vec![None; highest.unwrap_or(0).max(old.len())];
    for (it, handle) in new.into_iter().zip(handles) {
        slots[usize::from(*handle)] = Some(it);
    }
    let mut gone = Vec::new();
    let kept = slots.into_iter().enumerate().map(|(at, slot)| {
        slot.unwrap_or_else(|| {
            gone.push(at as u16);
            Arc::clone(&old[at])
        })
    });
    (kept.collect(), gone)
}

fn names(table: &NameTable, handles: &[u16]) -> NameTable {
    table.mapped(&|handle| handles[usize::from(handle)])
}

fn renumbered_type(it: &AttributeType, map: &Map) -> Arc<AttributeType> {
    Arc::new(AttributeType {
        superior: it.superior.map(|it| map.type_id(it)),
        ..it.clone()
    })
}

fn renumbered_class(it: &ObjectClass, map: &Map) -> Arc<ObjectClass> {
    let ascending = |ids: &[TypeId]| {
        let mut ids = map.type_ids(ids);
        ids.sort_unstable();
        ids
    };
    let (all_must, all_may) = (ascending(&it.all_must), ascending(&it.all_may));
    let mut all_superiors = map.class_ids(&it.all_superiors);
    all_superiors.sort_unstable();
    Arc::new(ObjectClass {
        oid: it.oid.clone(),
        names: it.names.clone(),
        kind: it.kind,
        superiors: map.class_ids(&it.superiors),
        all_superiors,
        must: map.type_ids(&it.must),
        may: map.type_ids(&it.may),
        allowed: allowed(&all_must, &all_may),
        all_must,
        all_may,
        definition: it.definition.clone(),
        structural_alone: it.structural_alone,
    })
}

fn renumbered_content_rule(it: &ContentRule, map: &Map) -> Arc<ContentRule> {
    Arc::new(ContentRule {
        class: map.class_id(it.class),
        auxiliaries: map.class_ids(&it.auxiliaries),
        must: map.type_ids(&it.must),
        may: map.type_ids(&it.may),
        not: map.type_ids(&it.not),
        definition: it.definition.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::DefinitionKind;
    use crate::definition_parse::parse_definition;
    use crate::dictionary::DictionaryRow;

    const TEXT: &str = "EQUALITY caseIgnoreMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.15";
    const NUMBER: &str = "EQUALITY integerMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.27";

    /// Returns a schema with these types (OID, name, more), and one class `every` that allows all.
    fn schema(types: &[(&str, &str, &str)], rows: &[DictionaryRow]) -> Schema {
        let mut definitions: Vec<_> = types
            .iter()
            .map(|(oid, name, more)| {
                let text = format!("( {oid} NAME '{name}' {more} )");
                parse_definition(DefinitionKind::AttributeType, &text).unwrap()
            })
            .collect();
        let names: Vec<&str> = types.iter().map(|(_, name, _)| *name).collect();
        let class = format!(
            "( 1.2.9 NAME 'every' AUXILIARY MAY ( {} ) )",
            names.join(" $ ")
        );
        definitions.push(parse_definition(DefinitionKind::ObjectClass, &class).unwrap());
        let schema = Schema::standard().extended(&definitions).unwrap();
        schema.with_dictionary(rows).unwrap()
    }

    fn handle(schema: &Schema, name: &str) -> TypeId {
        schema.attribute_type(name).unwrap()
    }

    #[test]
    fn handles_stay_when_definitions_come_before() {
        let before = schema(&[("1.2.1", "a", TEXT), ("1.2.2", "b", "SUP a")], &[]);
        let (before, number, rows) = before
            .with_number(&before.describe("b;x-y").unwrap())
            .unwrap();
        let types = [
            ("1.2.3", "z", TEXT),
            ("1.2.1", "a", TEXT),
            ("1.2.2", "b", "SUP a"),
        ];
        let after = schema(&types, &rows).with_handles_of(&before).unwrap();
        for name in ["cn", "a", "b"] {
            assert_eq!(handle(&after, name), handle(&before, name), "{name}");
            assert_eq!(after.type_of(handle(&after, name)).name(), name);
        }
        let every = after.class_of(after.object_class("every").unwrap());
        for name in ["a", "b", "z"] {
            assert_eq!(after.type_of(handle(&after, name)).name(), name);
            assert!(every.allows(handle(&after, name)), "{name}");
        }
        assert!(!every.allows(handle(&after, "cn")));
        assert!(after.is_subtype(handle(&after, "b"), handle(&after, "a")));
        assert_eq!(after.known(number).unwrap().type_id, handle(&before, "b"));
        assert_eq!(after.numbers_of(handle(&before, "a")).len(), 2);
        assert_eq!(
            after.attribute_types().count(),
            before.attribute_types().count() + 1
        );
    }

    #[test]
    fn handles_of_what_is_gone_mean_nothing_else() {
        let before = schema(&[("1.2.1", "a", TEXT), ("1.2.2", "b", TEXT)], &[]);
        let without = schema(&[("1.2.2", "b", TEXT)], &[]);
        let without = without.with_handles_of(&before).unwrap();
        let gone = handle(&before, "a");
        assert_eq!(without.attribute_type("a"), None);
        assert_eq!(without.type_of(gone).name(), "a");
        assert!(!without.is_in_force(gone));
        assert!(without.is_in_force(handle(&before, "b")));
        assert!(without.attribute_types().all(|(id, _)| id != gone));
        // A new type does not get it either, nor one of the same OID with another meaning.
        let others = schema(&[("1.2.1", "a", NUMBER), ("1.2.5", "e", TEXT)], &[]);
        let others = others.with_handles_of(&without).unwrap();
        assert_ne!(handle(&others, "a"), gone);
        assert_ne!(handle(&others, "e"), gone);
        // A type that comes back unchanged gets it again.
        let again = schema(&[("1.2.5", "e", TEXT), ("1.2.1", "a", TEXT)], &[]);
        let again = again.with_handles_of(&others).unwrap();
        assert_eq!(handle(&again, "a"), gone);
        assert!(again.is_in_force(gone));
    }
}
