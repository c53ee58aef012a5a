//! `pando schema`: show, extend and check the schema.

use crate::channel::Channel;
use crate::cli::SchemaAction;
use crate::report::{Problem, note, say};
use protocol::{
    AddRequest, Change, ChangeOperation, DerefAliases, Filter, ModifyRequest, PartialAttribute,
    Request, Response, ResponseMessage, ResultCode, Scope, SearchRequest, put_partial_attribute,
};
use schema::{Definition, Schema};
use std::path::{Path, PathBuf};

/// Runs the action.
pub fn schema(action: &SchemaAction) -> Result<(), Problem> {
    match action {
        SchemaAction::Show { dir, text } => show(dir, text.as_deref()),
        SchemaAction::Add { dir, files } => add(dir, files),
        SchemaAction::Secret { dir, attributes } => crate::secret::mark(dir, attributes),
        SchemaAction::Check { files } => check(files),
    }
}

/// The definitions of a file that a directory keeps.
pub struct SchemaFile {
    /// What the directory calls it.
    pub name: String,
    /// `attributeTypes` values.
    pub attribute_types: Vec<String>,
    /// `objectClasses` values.
    pub object_classes: Vec<String>,
}

fn read(path: &Path) -> Result<(SchemaFile, Vec<Definition>), Problem> {
    let text = std::fs::read_to_string(path).map_err(|error| Problem::file(path, error))?;
    let definitions =
        schema::read_schema_file(&text).map_err(|error| Problem::file(path, error))?;
    let stem = path
        .file_stem()
        .map(|it| it.to_string_lossy().into_owned())
        .unwrap_or_default();
    let mut file = SchemaFile {
        name: stem,
        attribute_types: Vec::new(),
        object_classes: Vec::new(),
    };
    let mut used = Vec::new();
    for definition in definitions {
        match &definition {
            Definition::AttributeType(_) => file.attribute_types.push(definition.to_string()),
            Definition::ObjectClass(_) => file.object_classes.push(definition.to_string()),
            other => {
                note(format_args!("{}: left out: {other}", path.display()));
                continue;
            }
        }
        used.push(definition);
    }
    if used.is_empty() {
        return Err(Problem::file(
            path,
            "expected attributetype or objectclass, found neither",
        ));
    }
    Ok((file, used))
}

fn check(files: &[PathBuf]) -> Result<(), Problem> {
    let mut schema = Schema::standard();
    for path in files {
        let (file, definitions) = read(path)?;
        schema = schema
            .extended(&definitions)
            .map_err(|error| Problem::file(path, error))?;
        say(format_args!(
            "{}: {} attribute types and {} object classes can be used",
            path.display(),
            file.attribute_types.len(),
            file.object_classes.len()
        ))?;
    }
    Ok(())
}

fn add(dir: &Path, files: &[PathBuf]) -> Result<(), Problem> {
    let mut channel = Channel::open(dir)?;
    for path in files {
        let (file, _) = read(path)?;
        add_file(&mut channel, &file, ChangeOperation::Replace)?;
        say(format_args!(
            "{}: {} attribute types and {} object classes added",
            path.display(),
            file.attribute_types.len(),
            file.object_classes.len()
        ))?;
    }
    Ok(())
}

/// Adds the definitions. If the directory has a file of this name, they replace what it holds, or
/// are added to it.
pub fn add_file(
    channel: &mut Channel,
    file: &SchemaFile,
    if_present: ChangeOperation,
) -> Result<(), Problem> {
    let mut rdn = String::from("cn=");
    protocol::escape_value(&mut rdn, file.name.as_bytes());
    let entry = format!("{rdn},cn=schema,cn=config");
    let kept = [
        ("attributeTypes", &file.attribute_types),
        ("objectClasses", &file.object_classes),
    ];
    let mut encoded = Vec::new();
    encoded.push(encode("objectClass", &["pandoSchema".to_owned()]));
    encoded.push(encode("cn", std::slice::from_ref(&file.name)));
    for (attribute, values) in kept {
        if !values.is_empty() {
            encoded.push(encode(attribute, values));
        }
    }
    let attributes: Vec<PartialAttribute<'_>> = encoded
        .iter()
        .filter_map(|it| PartialAttribute::from_checked(it))
        .collect();
    let request = Request::Add(AddRequest {
        entry: &entry,
        attributes: attributes.clone(),
    });
    let result = channel.result(&request)?;
    match result.code {
        ResultCode::SUCCESS => Ok(()),
        ResultCode::ENTRY_ALREADY_EXISTS => {
            let changes = attributes
                .into_iter()
                .skip(2)
                .map(|attribute| Change {
                    operation: if_present,
                    attribute,
                })
                .collect();
            channel.succeed(&Request::Modify(ModifyRequest {
                object: &entry,
                changes,
            }))
        }
        _ => Err(crate::channel::refused(&result)),
    }
}

fn encode(attribute: &str, values: &[String]) -> Vec<u8> {
    let mut out = Vec::new();
    put_partial_attribute(&mut out, attribute, values.iter().map(String::as_bytes));
    out
}

fn show(dir: &Path, text: Option<&str>) -> Result<(), Problem> {
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
