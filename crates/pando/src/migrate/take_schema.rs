//! Takes over attribute types and object classes of the old server that the node lacks.

use super::entry::Entry;
use super::remote::Remote;
use super::trouble::Trouble;
use crate::channel::Channel;
use crate::report::{Problem, note};
use crate::schema::accept::accept;
use crate::schema::stored::{StoredDefinitions, published};
use policy::{Secrets, looks_secret};
use protocol::counted;
use schema::{Definition, DefinitionKind, Schema, Syntax, Usage, parse_definition};
use std::collections::HashSet;

/// Name of the node's entry for these definitions.
const FILE: &str = "migrated";
/// OID prefixes of slapd's own definitions: its configuration and the class of its root DSE.
const OF_SLAPD: [&str; 2] = ["1.3.6.1.4.1.4203.1.12.", "1.3.6.1.4.1.4203.1.4.1"];
/// Maximum number of names in one line of output.
const NAMES_SHOWN: usize = 12;

/// Result of taking over definitions.
pub struct Taken {
    /// The node's schema afterwards.
    pub schema: Schema,
    /// Lower-case names of the old server's operational attributes.
    pub operational: HashSet<String>,
    /// Names of attribute types taken over in this run that look like secrets and are not marked as
    /// such.
    pub look_alikes: Vec<String>,
}

/// Takes over missing definitions and prints their names; with `loud`, also of definitions that
/// cannot be taken over, which are printed once.
pub fn take_over(
    remote: &mut Remote,
    subschema: &str,
    channel: &mut Channel,
    loud: bool,
) -> Result<Taken, Trouble> {
    let there = remote.read(subschema, &["attributeTypes", "objectClasses"])?;
    let there = definitions(&there, loud);
    let here = published(channel).map_err(Trouble::here)?;
    let operational = there.iter().filter_map(|it| match it {
        Definition::AttributeType(it) if it.usage != Usage::UserApplications => Some(it),
        _ => None,
    });
    let operational = operational.flat_map(|it| it.names.iter().map(|it| it.to_lowercase()));
    let operational = operational.collect();
    let missing: Vec<Definition> = there
        .into_iter()
        .filter(|it| is_missing(&here, it, loud))
        .collect();
    let (schema, taken) = extend(here, missing, loud);
    store(channel, &taken).map_err(Trouble::Refused)?;
    let secrets = Secrets::of(&schema, &[]);
    let types = taken.iter().filter_map(|it| match it {
        Definition::AttributeType(it) => schema.attribute_type(&it.oid),
        _ => None,
    });
    let public = types.filter(|it| !secrets.contains(*it));
    let public = public.map(|it| schema.type_of(it));
    let look_alikes = public.filter(|it| looks_secret(it));
    Ok(Taken {
        look_alikes: look_alikes.map(|it| it.name().to_owned()).collect(),
        schema,
        operational,
    })
}

/// The definitions of a subschema; malformed ones are printed and left out.
fn definitions(entry: &Entry, loud: bool) -> Vec<Definition> {
    let mut all = Vec::new();
    for (name, values) in &entry.attributes {
        let Some(kind) = DefinitionKind::of_attribute(name) else {
            continue;
        };
        for value in values {
            match parse_definition(kind, &String::from_utf8_lossy(value)) {
                Ok(definition) => all.push(definition),
                Err(_) if !loud => {}
                Err(error) => note(format_args!(
                    "schema: left out, not understood: {}: {error}",
                    String::from_utf8_lossy(value)
                )),
            }
        }
    }
    all
}

/// Whether a definition is missing and can be taken over.
fn is_missing(here: &Schema, definition: &Definition, loud: bool) -> bool {
    let oid = definition.identifier();
    let operates = matches!(definition, Definition::AttributeType(it)
        if it.usage != Usage::UserApplications);
    let known = |name: &str| match definition {
        Definition::AttributeType(_) => here.attribute_type(name).is_some(),
        _ => here.object_class(name).is_some(),
    };
    let of_the_server = match definition {
        Definition::AttributeType(it) => it.usage == Usage::DsaOperation,
        Definition::ObjectClass(_) => false,
        _ => true,
    };
    let label = definition.label();
    let configures =
        OF_SLAPD.iter().any(|it| oid.starts_with(it)) || label.to_lowercase().starts_with("olc");
    // Operational attributes have their meaning on their own server only.
    if of_the_server || configures || (operates && known(&oid)) {
        return false;
    }
    if known(&label) && !known(&oid) {
        if !loud {
            return false;
        }
        note(format_args!(
            "schema: {label} ({oid}): the node has another definition of this name, which stays"
        ));
        return false;
    }
    true
}

/// Adds as many definitions as possible, in any order, and prints those that cannot be added.
fn extend(here: Schema, missing: Vec<Definition>, loud: bool) -> (Schema, Vec<Definition>) {
    let labels: Vec<String> = missing.iter().map(Definition::label).collect();
    let accepted = accept(here, missing);
    for (place, reason) in accepted.refused.iter().filter(|_| loud) {
        note(format_args!(
            "schema: {} is not taken over: {reason}",
            labels[*place]
        ));
    }
    for taken in &accepted.taken {
        for (role, name) in &taken.without {
            note(format_args!(
                "schema: {}: taken over without its {role} {name}, which is not known here",
                taken.definition.label()
            ));
        }
    }
    let of = |widens: bool| -> Vec<Definition> {
        let chosen = accepted.taken.iter().filter(|it| it.widens == widens);
        chosen.map(|it| it.definition.clone()).collect()
    };
    let (new, wider) = (of(false), of(true));
    new.iter().for_each(say_if_weaker);
    for (kind, noun) in [
        (DefinitionKind::AttributeType, "attribute type"),
        (DefinitionKind::ObjectClass, "object class"),
    ] {
        say(noun, "taken over", &of_kind(&new, kind));
        say(noun, "widened", &of_kind(&wider, kind));
    }
    let all = accepted.taken.into_iter().map(|it| it.definition);
    (accepted.schema, all.collect())
}

/// Warns if values of a type cannot be checked here.
fn say_if_weaker(definition: &Definition) {
    let Definition::AttributeType(it) = definition else {
        return;
    };
    let unknown = it
        .syntax
        .as_deref()
        .filter(|oid| Syntax::by_oid(oid).is_none());
    if let Some(oid) = unknown {
        note(format_args!(
            "schema: {}: its syntax {oid} is not known here; values are taken as octet strings",
            definition.label()
        ));
    }
}

/// Names of the definitions of one kind.
fn of_kind(taken: &[Definition], kind: DefinitionKind) -> Vec<String> {
    let chosen = taken.iter().filter(|it| it.kind() == kind);
    chosen.map(Definition::label).collect()
}

/// Prints the names of definitions and the action.
fn say(noun: &str, done: &str, names: &[String]) {
    if names.is_empty() {
        return;
    }
    let more = match names.len().saturating_sub(NAMES_SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let shown: Vec<&str> = names.iter().take(NAMES_SHOWN).map(String::as_str).collect();
    note(format_args!(
        "schema: {} {done}: {}{more}",
        counted(names.len() as u64, noun),
        shown.join(", ")
    ));
}

/// Writes the definitions to the node's configuration.
fn store(channel: &mut Channel, taken: &[Definition]) -> Result<(), Problem> {
    let taken: Vec<&Definition> = taken.iter().collect();
    StoredDefinitions::add(channel, FILE, &taken)
        .map_err(|problem| Problem::failed(format_args!("schema: {}", problem.text())))
}
