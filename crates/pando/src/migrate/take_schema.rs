//! The old server's attribute types and object classes that the node does not have.

use super::entry::Entry;
use super::remote::Remote;
use super::trouble::Trouble;
use crate::channel::Channel;
use crate::report::{Problem, note};
use crate::schema::accept::accept;
use crate::schema::kept::{Kept, published};
use policy::{Secrets, looks_secret};
use protocol::counted;
use schema::{Definition, DefinitionKind, Schema, Syntax, Usage, parse_definition};
use std::collections::HashSet;

/// What the node calls the definitions that were taken over.
const FILE: &str = "migrated";
/// Definitions of slapd's own: its configuration and the class of its root DSE.
const OF_SLAPD: [&str; 2] = ["1.3.6.1.4.1.4203.1.12.", "1.3.6.1.4.1.4203.1.4.1"];
/// Names listed in one line of output.
const NAMES_SHOWN: usize = 12;

/// What came of it.
pub struct Taken {
    /// The node's schema, as it is now.
    pub schema: Schema,
    /// Names in lower case of the old server's operational attributes.
    pub operational: HashSet<String>,
    /// Attribute types that came with this run, by name, that look like secrets and are not.
    pub look_alikes: Vec<String>,
}

/// Takes over what is missing and says so; `loud`: also what is not, which stays so the next time.
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

/// The definitions of a subschema; what is none is said and left out.
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

/// Whether the node should have it and may not.
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
    // What an operational attribute is for, each server knows for itself.
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

/// Adds what can be added, whatever the order, and says what cannot.
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

/// Says that values of a type cannot be checked here.
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

/// What the definitions of one kind are called.
fn of_kind(taken: &[Definition], kind: DefinitionKind) -> Vec<String> {
    let chosen = taken.iter().filter(|it| it.kind() == kind);
    chosen.map(Definition::label).collect()
}

/// Names definitions, and what was done with them.
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

/// Writes the definitions into the node's configuration.
fn store(channel: &mut Channel, taken: &[Definition]) -> Result<(), Problem> {
    let taken: Vec<&Definition> = taken.iter().collect();
    Kept::add(channel, FILE, &taken)
        .map_err(|problem| Problem::failed(format_args!("schema: {}", problem.text())))
}
