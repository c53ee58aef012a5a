//! The old server's attribute types and object classes that the node does not have.

use super::entry::Entry;
use super::remote::{Remote, everything};
use super::trouble::Trouble;
use crate::channel::Channel;
use crate::report::{Problem, note};
use crate::schema::{SchemaFile, add_file};
use policy::{Secrets, looks_secret};
use protocol::{ChangeOperation, Request, Response, ResponseMessage, Scope};
use schema::{
    AttributeTypeDefinition, Definition, DefinitionKind, Schema, SchemaError, Syntax, Usage,
    parse_definition,
};
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
    let here = own_schema(channel).map_err(Trouble::here)?;
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

/// The node's schema, made from what it publishes.
fn own_schema(channel: &mut Channel) -> Result<Schema, Problem> {
    let wanted = [
        "attributeTypes",
        "objectClasses",
        "ldapSyntaxes",
        "matchingRules",
    ];
    let request = Request::Search(everything("cn=Subschema", Scope::BaseObject, &wanted));
    let mut all = Vec::new();
    for answer in channel.call(&request)? {
        let message = ResponseMessage::decode(&answer).map_err(Problem::failed)?;
        if let Response::SearchEntry { name, attributes } = message.response {
            all.extend(definitions(&Entry::of(name, &attributes), false));
        }
    }
    let standard = Schema::standard();
    match standard.extended_keeping(&all) {
        Ok((schema, _)) => Ok(schema),
        Err(error) => Err(Problem::failed(format_args!("the node's schema: {error}"))),
    }
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

/// Whether the node should have it and does not.
fn is_missing(here: &Schema, definition: &Definition, loud: bool) -> bool {
    let oid = definition.identifier();
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
    if of_the_server || configures || known(&oid) {
        return false;
    }
    if known(&label) {
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
fn extend(
    mut schema: Schema,
    mut missing: Vec<Definition>,
    loud: bool,
) -> (Schema, Vec<Definition>) {
    let mut taken = Vec::new();
    let mut reasons;
    loop {
        let before = missing.len();
        reasons = Vec::new();
        let mut left = Vec::new();
        for definition in missing {
            match extended(&schema, definition) {
                Ok((larger, definition)) => {
                    schema = larger;
                    taken.push(definition);
                }
                Err(refused) => {
                    left.push(refused.0);
                    reasons.push(refused.1);
                }
            }
        }
        missing = left;
        if missing.is_empty() || missing.len() == before {
            break;
        }
    }
    for (definition, reason) in missing.iter().zip(reasons).filter(|_| loud) {
        note(format_args!(
            "schema: {} is not taken over: {reason}",
            definition.label()
        ));
    }
    taken.iter().for_each(say_if_weaker);
    say("attribute types", &taken, DefinitionKind::AttributeType);
    say("object classes", &taken, DefinitionKind::ObjectClass);
    (schema, taken)
}

/// The schema with one more definition, without the matching rules that nobody here knows.
fn extended(
    schema: &Schema,
    mut definition: Definition,
) -> Result<(Schema, Definition), Box<(Definition, SchemaError)>> {
    // Three rules of a type can be unknown, each is found on its own.
    for _ in 0..4 {
        match schema.extended(std::slice::from_ref(&definition)) {
            Ok(larger) => return Ok((larger, definition)),
            Err(SchemaError::Unknown { role, name, .. }) if role.ends_with(" rule") => {
                let Definition::AttributeType(it) = &mut definition else {
                    break;
                };
                note(format_args!(
                    "schema: {}: taken over without its {role} {name}, which is not known here",
                    it.names.first().unwrap_or(&it.oid)
                ));
                forget_rule(it, role);
            }
            Err(error) => return Err(Box::new((definition, error))),
        }
    }
    let error = SchemaError::Contradiction {
        definition: definition.label(),
        rule: "it names matching rules that are not known here",
    };
    Err(Box::new((definition, error)))
}

fn forget_rule(it: &mut AttributeTypeDefinition, role: &str) {
    match role {
        "equality rule" => it.equality = None,
        "ordering rule" => it.ordering = None,
        _ => it.substring = None,
    }
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

fn say(what: &str, taken: &[Definition], kind: DefinitionKind) {
    let names: Vec<String> = taken
        .iter()
        .filter(|it| it.kind() == kind)
        .map(Definition::label)
        .collect();
    if names.is_empty() {
        return;
    }
    let more = match names.len().saturating_sub(NAMES_SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let shown: Vec<&str> = names.iter().take(NAMES_SHOWN).map(String::as_str).collect();
    note(format_args!(
        "schema: {} {what} taken over: {}{more}",
        names.len(),
        shown.join(", ")
    ));
}

/// Writes the definitions into the node's configuration, in an order in which each is known
/// before it is used.
fn store(channel: &mut Channel, taken: &[Definition]) -> Result<(), Problem> {
    if taken.is_empty() {
        return Ok(());
    }
    let texts = |kind: DefinitionKind| {
        let of_kind = taken.iter().filter(|it| it.kind() == kind);
        of_kind.map(Definition::to_string).collect()
    };
    let file = SchemaFile {
        name: FILE.to_owned(),
        attribute_types: texts(DefinitionKind::AttributeType),
        object_classes: texts(DefinitionKind::ObjectClass),
    };
    add_file(channel, &file, ChangeOperation::Add)
        .map_err(|problem| Problem::failed(format_args!("schema: {}", problem.text())))
}
