//! Checks a change of the schema against the stored entries. It is refused if an entry would have
//! an attribute without a definition, values that violate their definition, or a class whose
//! required attributes it lacks.
//!
//! The check is part of executing the write, so every copy of the directory decides alike: it
//! depends on the state alone. The limit on entries read applies only when the write is first
//! executed, because that number depends on which indexes are complete on the node.

use crate::apply::Occasion;
use crate::catalog::Catalog;
use crate::config;
use crate::stop::{Failure, Stop};
use crate::view::{View, VisibleEntry};
use policy::Subject;
use protocol::Filter;
use schema::{AttributeType, MatchingRule, ObjectClass, Schema, Truth, TypeId};
use store::{EntryId, Region, RegionScope, Snapshot};

/// A difference between two schemas that stored entries may violate.
struct Difference<'s> {
    /// Description of the difference.
    what: String,
    /// Filter for the entries that may violate the difference, under the old schema.
    filter: Filter<'s>,
    /// The condition under which an entry that matches `filter` violates the difference.
    concerns: Concern,
}

/// Condition under which an entry violates a difference.
enum Concern {
    All,
    /// The entry has more than one value of a type.
    Several(TypeId),
    /// The entry has an empty value of a type.
    Empty(TypeId),
    /// No class of the entry allows this type any more; the type's OID.
    Disallowed(String),
}

/// Refuses a schema that stored entries violate.
pub fn check(
    snapshot: &Snapshot<'_>,
    before: &Catalog,
    after: &Catalog,
    occasion: Occasion,
) -> Result<(), Failure> {
    let next = &after.schema;
    if before.schema.is_same(next) {
        return Ok(());
    }
    // These are the indexes that the configuration defines, complete or not: completeness differs
    // between nodes.
    let wanted = match config::wanted_indexes(snapshot, next, &after.known) {
        // An unusable configuration is refused later, when the indexes are adapted to it.
        Err(Failure::Configuration(_)) => Vec::new(),
        wanted => wanted?,
    };
    let indexed = wanted.iter().filter_map(|(attribute, _)| {
        let type_id = next.attribute_type(attribute)?;
        Some(next.type_of(type_id).oid.as_str())
    });
    let indexed: Vec<&str> = indexed.collect();
    let mut differences = Vec::new();
    for (type_id, old) in before.schema.attribute_types() {
        of_type(before, next, &indexed, type_id, old, &mut differences);
    }
    for (_, old) in before.schema.object_classes() {
        of_class(&before.schema, next, old, &mut differences);
    }
    let server = Subject::server();
    let view = View::new(snapshot, before, &server);
    let most = match occasion {
        Occasion::First => before.bounds.examined_entries,
        Occasion::Again => usize::MAX,
    };
    for difference in &differences {
        let found = find(&view, next, difference, most).map_err(|stop| match stop {
            Stop::Failed(failure) => failure,
            Stop::Refused(refusal) => Failure::Configuration(refusal.diagnostic),
        })?;
        if let Some(name) = found {
            let what = &difference.what;
            return Err(Failure::Configuration(format!("{what}: \"{name}\" has it")));
        }
    }
    Ok(())
}

fn of_type<'s>(
    before: &'s Catalog,
    next: &Schema,
    indexed: &[&str],
    type_id: TypeId,
    old: &'s AttributeType,
    out: &mut Vec<Difference<'s>>,
) {
    // A type that was never used has no number.
    if before.schema.numbers_of(type_id).is_empty() {
        return;
    }
    let name = old.name();
    let mut concerns = Concern::All;
    let what = match next.attribute_type(&old.oid).map(|it| next.type_of(it)) {
        None => format!("attribute type {name} is in use and cannot be taken away"),
        Some(new) => {
            let is_indexed = indexed.contains(&old.oid.as_str());
            let rules = [
                (old.equality, new.equality),
                (old.ordering, new.ordering),
                (old.substring, new.substring),
            ];
            let mut rules = rules.into_iter();
            if rules.any(|(old, new)| is_other_rule(old, new, is_indexed))
                || !new.syntax.accepts_all_of(old.syntax)
                || old.collective != new.collective
            {
                format!("attribute type {name} is in use: its syntax and rules cannot change")
            } else if !name.eq_ignore_ascii_case(new.name()) {
                // Stored names of entries contain this name.
                format!("attribute type {name} is in use: its first name cannot change")
            } else if new.single_value && !old.single_value {
                concerns = Concern::Several(type_id);
                format!("attribute type {name} cannot become SINGLE-VALUE")
            } else if new.syntax.oid != old.syntax.oid {
                concerns = Concern::Empty(type_id);
                let syntax = new.syntax.description;
                format!("attribute type {name} cannot become {syntax} beside an empty value")
            } else {
                return;
            }
        }
    };
    out.push(Difference {
        what,
        filter: Filter::Present(name),
        concerns,
    });
}

/// Returns whether values are compared differently. A rule added where there was none does not
/// change the values, but may change the order of an index; a rule with equal normal forms changes
/// nothing.
fn is_other_rule(old: Option<&MatchingRule>, new: Option<&MatchingRule>, is_indexed: bool) -> bool {
    match (old, new) {
        (None, Some(_)) => is_indexed,
        (Some(old), Some(new)) => !new.compares_like(old),
        (old, new) => old.is_some() != new.is_some(),
    }
}

fn of_class<'s>(
    schema: &'s Schema,
    next: &Schema,
    old: &'s ObjectClass,
    out: &mut Vec<Difference<'s>>,
) {
    let name = old.name();
    let members = || members_of(name);
    let Some(new) = next.object_class(&old.oid).map(|it| next.class_of(it)) else {
        out.push(Difference {
            what: format!("object class {name} is in use and cannot be taken away"),
            filter: members(),
            concerns: Concern::All,
        });
        return;
    };
    of_kind(old, new, out);
    let old_oids = |types: &[TypeId]| oids(schema, types);
    let asked = old_oids(&old.all_must);
    for oid in oids(next, &new.all_must) {
        if asked.contains(&oid) {
            continue;
        }
        let attribute = schema.attribute_type(oid).map(|it| schema.type_of(it));
        let filter = match attribute {
            Some(attribute) => Filter::And(vec![
                members(),
                Filter::Not(Box::new(Filter::Present(attribute.name()))),
            ]),
            None => members(),
        };
        let asks = next.attribute_type(oid).map(|it| next.type_of(it).name());
        let asks = asks.unwrap_or(oid);
        out.push(Difference {
            what: format!("object class {name} cannot ask for {asks}, which an entry lacks"),
            filter,
            concerns: Concern::All,
        });
    }
    let allows = [oids(next, &new.all_must), oids(next, &new.all_may)].concat();
    for type_id in old.all_must.iter().chain(&old.all_may) {
        let attribute = schema.type_of(*type_id);
        if allows.contains(&attribute.oid.as_str()) {
            continue;
        }
        let lost = attribute.name();
        out.push(Difference {
            what: format!("object class {name} cannot leave out {lost}, which is in use"),
            filter: Filter::And(vec![members(), Filter::Present(lost)]),
            concerns: Concern::Disallowed(attribute.oid.clone()),
        });
    }
}

/// Adds the differences that a changed kind of class makes for the entries that have it.
fn of_kind<'s>(old: &'s ObjectClass, new: &ObjectClass, out: &mut Vec<Difference<'s>>) {
    let name = old.name();
    if old.structural_alone && !new.structural_alone && new.kind == old.kind {
        out.push(Difference {
            what: format!("object class {name} is the structural class of entries"),
            filter: Filter::And(vec![
                members_of(name),
                Filter::Equality {
                    attribute: "structuralObjectClass",
                    value: name.as_bytes(),
                },
            ]),
            concerns: Concern::All,
        });
    }
    if new.kind != old.kind {
        out.push(Difference {
            what: format!("object class {name} is in use: its kind cannot change"),
            filter: members_of(name),
            concerns: Concern::All,
        });
    }
}

/// Returns a filter for the entries with an object class.
fn members_of(class: &str) -> Filter<'_> {
    Filter::Equality {
        attribute: "objectClass",
        value: class.as_bytes(),
    }
}

fn oids<'s>(schema: &'s Schema, types: &[TypeId]) -> Vec<&'s str> {
    let of = |it: &TypeId| schema.type_of(*it).oid.as_str();
    types.iter().map(of).collect()
}

/// Returns the name of an entry that violates a difference; `None` if there is none.
fn find(
    view: &View<'_>,
    next: &Schema,
    difference: &Difference<'_>,
    most: usize,
) -> Result<Option<String>, Stop> {
    let schema = &view.catalog.schema;
    let filter = schema.resolve_filter(&difference.filter);
    let region = Region {
        base: EntryId::ROOT,
        scope: RegionScope::Subtree,
    };
    let plan = view.plan(&filter, &region)?;
    let candidates = view.candidates(&plan, EntryId::ROOT)?;
    let mut scratch = Vec::new();
    for (count, met) in view.met(&candidates, EntryId::ROOT)?.enumerate() {
        if count == most {
            return Err(Failure::Configuration(format!(
                "{}: whether an entry has it cannot be told without a presence index among so many",
                difference.what
            ))
            .into());
        }
        let Some(entry) = met?.entry else {
            continue;
        };
        if entry.evaluate(&filter, &mut scratch)? == Truth::True
            && concerns(view, next, &difference.concerns, &entry)
        {
            return view.spelled_name(entry.id).map(Some);
        }
    }
    Ok(None)
}

fn concerns(
    view: &View<'_>,
    next: &Schema,
    concern: &Concern,
    entry: &VisibleEntry<'_, '_>,
) -> bool {
    match concern {
        Concern::All => true,
        Concern::Several(type_id) => {
            let mut numbers = view.catalog.schema.numbers_of(*type_id).iter();
            numbers.any(|it| {
                let attribute = entry.internal(*it);
                attribute.is_some_and(|it| it.values().into_iter().nth(1).is_some())
            })
        }
        Concern::Empty(type_id) => {
            let mut numbers = view.catalog.schema.numbers_of(*type_id).iter();
            numbers.any(|it| {
                let attribute = entry.internal(*it);
                attribute.is_some_and(|it| it.values().into_iter().any(<[u8]>::is_empty))
            })
        }
        Concern::Disallowed(oid) => {
            let number = view.catalog.known.object_class.number;
            let Some(classes) = entry.internal(number) else {
                return true;
            };
            let mut classes = classes.values().into_iter();
            !classes.any(|class| {
                let class = std::str::from_utf8(class).ok();
                let class = class.and_then(|it| next.object_class(it));
                class.is_some_and(|it| {
                    let class = next.class_of(it);
                    let everything = class.name().eq_ignore_ascii_case("extensibleObject");
                    everything
                        || oids(next, &class.all_must).contains(&oid.as_str())
                        || oids(next, &class.all_may).contains(&oid.as_str())
                })
            })
        }
    }
}
