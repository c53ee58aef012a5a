//! `pando schema`: show, extend and check the schema.

pub mod accept;
mod add;

use crate::channel::Channel;
use crate::cli::SchemaAction;
use crate::report::{Problem, say};
use protocol::{
    AddRequest, Change, ChangeOperation, DerefAliases, Filter, LdapResult, ModifyRequest,
    PartialAttribute, Request, Response, ResponseMessage, Scope, SearchRequest,
    put_partial_attribute,
};
use schema::{Definition, DefinitionKind, Schema, parse_definition};

/// Runs the action.
pub fn schema(action: &SchemaAction) -> Result<(), Problem> {
    match action {
        SchemaAction::Show { dir, text } => show(dir, text.as_deref()),
        SchemaAction::Add { dir, files, strict } => add::add(dir, files, *strict),
        SchemaAction::Secret { dir, attributes } => crate::secret::mark(dir, attributes),
        SchemaAction::Check { files } => add::check(files),
    }
}

/// The kinds of definitions that are stored.
const KEPT: [DefinitionKind; 2] = [DefinitionKind::AttributeType, DefinitionKind::ObjectClass];

/// The definitions that are stored for a file, with their texts.
pub struct Kept(Vec<(String, Definition)>);

impl Kept {
    /// The definitions in an entry; empty if there is no such entry.
    fn read(channel: &mut Channel, name: &str) -> Result<Kept, Problem> {
        let kept = definitions(
            channel,
            &entry_name(name),
            &KEPT.map(DefinitionKind::attribute),
        )?;
        Ok(Kept(kept))
    }

    /// The definition with this kind and OID, and its text; `None` if there is none.
    fn find(&self, wanted: &Definition) -> Option<&(String, Definition)> {
        let same =
            |it: &Definition| it.kind() == wanted.kind() && it.identifier() == wanted.identifier();
        self.0.iter().find(|(_, it)| same(it))
    }

    /// Adds an entry with definitions.
    fn create(
        channel: &mut Channel,
        name: &str,
        definitions: &[&Definition],
    ) -> Result<LdapResult, Problem> {
        let mut encoded = vec![
            encode("objectClass", &["pandoSchema".to_owned()]),
            encode("cn", &[name.to_owned()]),
        ];
        for kind in KEPT {
            let of_kind = definitions.iter().filter(|it| it.kind() == kind);
            let texts: Vec<String> = of_kind.map(|it| it.to_string()).collect();
            if !texts.is_empty() {
                encoded.push(encode(kind.attribute(), &texts));
            }
        }
        let decoded = encoded
            .iter()
            .filter_map(|it| PartialAttribute::from_checked(it));
        channel.result(&Request::Add(AddRequest {
            entry: &entry_name(name),
            attributes: decoded.collect(),
        }))
    }

    /// Changes the definitions of an existing entry.
    fn change(
        channel: &mut Channel,
        name: &str,
        changes: &[(ChangeOperation, DefinitionKind, String)],
    ) -> Result<(), Problem> {
        let encoded: Vec<Vec<u8>> = (changes.iter())
            .map(|(_, kind, text)| encode(kind.attribute(), std::slice::from_ref(text)))
            .collect();
        let changes = changes.iter().zip(&encoded).filter_map(|(it, encoded)| {
            Some(Change {
                operation: it.0,
                attribute: PartialAttribute::from_checked(encoded)?,
            })
        });
        channel.succeed(&Request::Modify(ModifyRequest {
            object: &entry_name(name),
            changes: changes.collect(),
        }))
    }
}

/// DN of the entry for the definitions of a file.
fn entry_name(name: &str) -> String {
    let mut entry = String::from("cn=");
    protocol::escape_value(&mut entry, name.as_bytes());
    entry.push_str(",cn=schema,cn=config");
    entry
}

/// The node's schema, made from its subschema subentry.
pub fn published(channel: &mut Channel) -> Result<Schema, Problem> {
    let wanted = [
        DefinitionKind::Syntax,
        DefinitionKind::MatchingRule,
        DefinitionKind::AttributeType,
        DefinitionKind::ObjectClass,
    ];
    let all = definitions(
        channel,
        "cn=Subschema",
        &wanted.map(DefinitionKind::attribute),
    )?;
    let all: Vec<Definition> = all.into_iter().map(|(_, it)| it).collect();
    match Schema::standard().extended_keeping(&all) {
        Ok((schema, _)) => Ok(schema),
        Err(error) => Err(Problem::failed(format_args!("the node's schema: {error}"))),
    }
}

/// The definitions in attributes of an entry, with their texts; empty if there is no such entry.
fn definitions(
    channel: &mut Channel,
    base: &str,
    attributes: &[&str],
) -> Result<Vec<(String, Definition)>, Problem> {
    let mut all = Vec::new();
    for answer in channel.call(&Request::Search(SearchRequest {
        base,
        scope: Scope::BaseObject,
        deref_aliases: DerefAliases::Never,
        size_limit: 0,
        time_limit_s: 0,
        types_only: false,
        filter: Filter::Present("objectClass"),
        attributes: attributes.to_vec(),
    }))? {
        let message = ResponseMessage::decode(&answer).map_err(Problem::failed)?;
        let Response::SearchEntry { attributes, .. } = message.response else {
            continue;
        };
        for attribute in attributes {
            let Some(kind) = DefinitionKind::of_attribute(attribute.description) else {
                continue;
            };
            for value in attribute.values {
                let text = String::from_utf8_lossy(value).into_owned();
                if let Ok(definition) = parse_definition(kind, &text) {
                    all.push((text, definition));
                }
            }
        }
    }
    Ok(all)
}

fn encode(attribute: &str, values: &[String]) -> Vec<u8> {
    let mut out = Vec::new();
    put_partial_attribute(&mut out, attribute, values.iter().map(String::as_bytes));
    out
}

fn show(dir: &std::path::Path, text: Option<&str>) -> Result<(), Problem> {
    let mut channel = Channel::open(dir)?;
    let answers = channel.call(&Request::Search(SearchRequest {
        base: "cn=Subschema",
        scope: Scope::BaseObject,
        deref_aliases: DerefAliases::Never,
        size_limit: 0,
        time_limit_s: 0,
        types_only: false,
        filter: Filter::Present("objectClass"),
        attributes: vec!["attributeTypes", "objectClasses"],
    }))?;
    let wanted = text.unwrap_or_default().to_lowercase();
    let mut shown = 0;
    for answer in &answers {
        let message = ResponseMessage::decode(answer).map_err(Problem::failed)?;
        let Response::SearchEntry { attributes, .. } = message.response else {
            continue;
        };
        for attribute in attributes {
            for value in attribute.values {
                let value = String::from_utf8_lossy(value);
                if value.to_lowercase().contains(&wanted) {
                    say(format_args!("{}: {value}", attribute.description))?;
                    shown += 1;
                }
            }
        }
    }
    if shown == 0 {
        return Err(Problem::failed(format_args!(
            "no definition contains \"{}\"",
            text.unwrap_or_default()
        )));
    }
    Ok(())
}
