//! Definitions that a node keeps below `cn=schema,cn=config`, one entry for each file, and the
//! schema that the node publishes.

use crate::channel::{Channel, refused};
use crate::report::Problem;
use protocol::{
    AddRequest, Change, ChangeOperation, LdapResult, ModifyRequest, OwnedAttribute, Request,
    Response, ResponseMessage, ResultCode, SearchRequest,
};
use schema::{Definition, DefinitionKind, Schema, parse_definition};

/// The kinds of definitions that a directory keeps.
const STORED_KINDS: [DefinitionKind; 2] =
    [DefinitionKind::AttributeType, DefinitionKind::ObjectClass];

/// The definitions that a directory keeps of one file, with their texts.
pub struct StoredDefinitions(Vec<(String, Definition)>);

impl StoredDefinitions {
    /// The definitions kept under a name; none if there is no entry of it.
    pub fn read(channel: &mut Channel, name: &str) -> Result<StoredDefinitions, Problem> {
        let kept = definitions(
            channel,
            &entry_name(name),
            &STORED_KINDS.map(DefinitionKind::attribute),
        )?;
        Ok(StoredDefinitions(kept))
    }

    /// The definition with kind and OID of `wanted`, with its text; `None` if there is none.
    pub fn find(&self, wanted: &Definition) -> Option<&(String, Definition)> {
        let same =
            |it: &Definition| it.kind() == wanted.kind() && it.identifier() == wanted.identifier();
        self.0.iter().find(|(_, it)| same(it))
    }

    /// Adds definitions to those of a file; does nothing without definitions.
    pub fn add(
        channel: &mut Channel,
        name: &str,
        definitions: &[&Definition],
    ) -> Result<(), Problem> {
        if definitions.is_empty() {
            return Ok(());
        }
        let result = StoredDefinitions::create(channel, name, definitions)?;
        match result.code {
            ResultCode::SUCCESS => Ok(()),
            ResultCode::ENTRY_ALREADY_EXISTS => {
                let texts = definitions.iter().map(|it| (*it, it.to_string()));
                let changes: Vec<_> = texts
                    .map(|(it, text)| (ChangeOperation::Add, it.kind(), text))
                    .collect();
                StoredDefinitions::change(channel, name, &changes)
            }
            _ => Err(refused(&result)),
        }
    }

    /// Replaces definitions of a file, given with their texts before.
    pub fn replace(
        channel: &mut Channel,
        name: &str,
        changed: &[(String, Definition)],
    ) -> Result<(), Problem> {
        let mut changes = Vec::new();
        for (before, definition) in changed {
            let kind = definition.kind();
            changes.push((ChangeOperation::Delete, kind, before.clone()));
            changes.push((ChangeOperation::Add, kind, definition.to_string()));
        }
        match changes.is_empty() {
            true => Ok(()),
            false => StoredDefinitions::change(channel, name, &changes),
        }
    }

    /// Asks for a new entry with definitions.
    fn create(
        channel: &mut Channel,
        name: &str,
        definitions: &[&Definition],
    ) -> Result<LdapResult, Problem> {
        let mut attributes = vec![
            OwnedAttribute::new("objectClass", ["pandoSchema"]),
            OwnedAttribute::new("cn", [name]),
        ];
        for kind in STORED_KINDS {
            let of_kind = definitions.iter().filter(|it| it.kind() == kind);
            let texts: Vec<String> = of_kind.map(|it| it.to_string()).collect();
            if !texts.is_empty() {
                attributes.push(OwnedAttribute::new(kind.attribute(), &texts));
            }
        }
        channel.result(&Request::Add(AddRequest {
            entry: &entry_name(name),
            attributes: attributes.iter().map(OwnedAttribute::as_partial).collect(),
        }))
    }

    /// Changes the definitions of an entry that is there.
    fn change(
        channel: &mut Channel,
        name: &str,
        changes: &[(ChangeOperation, DefinitionKind, String)],
    ) -> Result<(), Problem> {
        let attributes: Vec<OwnedAttribute> = (changes.iter())
            .map(|(_, kind, text)| OwnedAttribute::new(kind.attribute(), [text]))
            .collect();
        let changes = changes
            .iter()
            .zip(&attributes)
            .map(|(it, attribute)| Change {
                operation: it.0,
                attribute: attribute.as_partial(),
            });
        channel.succeed(&Request::Modify(ModifyRequest {
            object: &entry_name(name),
            changes: changes.collect(),
        }))
    }
}

/// The entry that keeps the definitions of a file.
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

/// The definitions in attributes of an entry, with their texts; none if there is no such entry.
fn definitions(
    channel: &mut Channel,
    base: &str,
    attributes: &[&str],
) -> Result<Vec<(String, Definition)>, Problem> {
    let mut all = Vec::new();
    for answer in channel.call(&Request::Search(SearchRequest {
        attributes: attributes.to_vec(),
        ..SearchRequest::of_entry(base)
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
