//! When two definitions of one thing say the same, so that loading a file twice, or one that
//! repeats standard definitions in other words, is no conflict.

use crate::definition::{AttributeTypeDefinition, ObjectClassDefinition};
use crate::matching::MatchingRule;

/// Whether a definition says nothing that the existing one does not say.
pub(crate) fn same_type(
    existing: &AttributeTypeDefinition,
    given: &AttributeTypeDefinition,
) -> bool {
    existing.oid.eq_ignore_ascii_case(&given.oid)
        && names_within(&given.names, &existing.names)
        && same_name(&existing.superior, &given.superior)
        && same_rule(&existing.equality, &given.equality)
        && same_rule(&existing.ordering, &given.ordering)
        && same_rule(&existing.substring, &given.substring)
        && existing.syntax == given.syntax
        && existing.single_value == given.single_value
        && existing.collective == given.collective
        && existing.no_user_modification == given.no_user_modification
        && existing.usage == given.usage
}

pub(crate) fn same_class(existing: &ObjectClassDefinition, given: &ObjectClassDefinition) -> bool {
    existing.oid.eq_ignore_ascii_case(&given.oid)
        && names_within(&given.names, &existing.names)
        && existing.kind == given.kind
        && same_set(&existing.superiors, &given.superiors)
        && same_set(&existing.must, &given.must)
        && same_set(&existing.may, &given.may)
}

fn names_within(given: &[String], existing: &[String]) -> bool {
    given
        .iter()
        .all(|name| existing.iter().any(|own| own.eq_ignore_ascii_case(name)))
}

fn same_set(one: &[String], other: &[String]) -> bool {
    names_within(one, other) && names_within(other, one)
}

fn same_name(one: &Option<String>, other: &Option<String>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => one.eq_ignore_ascii_case(other),
        (None, None) => true,
        _ => false,
    }
}

/// A rule may be given by name here and by OID there; not to give one is to say nothing, as RFCs do
/// of types whose rules servers have long agreed on.
fn same_rule(existing: &Option<String>, given: &Option<String>) -> bool {
    let oid = |name: &Option<String>| {
        name.as_deref()
            .and_then(MatchingRule::by_name)
            .map(|rule| rule.oid)
    };
    given.is_none()
        || same_name(existing, given)
        || (oid(existing).is_some() && oid(existing) == oid(given))
}
