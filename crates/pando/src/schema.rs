//! `pando schema`: show, extend and check the schema.

pub mod accept;
mod add;
pub mod stored;

use crate::channel::Channel;
use crate::cli::SchemaAction;
use crate::report::{Problem, say};
use protocol::{Request, Response, ResponseMessage, SearchRequest};

/// Runs the action.
pub fn schema(action: &SchemaAction) -> Result<(), Problem> {
    match action {
        SchemaAction::Show { dir, text } => show(dir, text.as_deref()),
        SchemaAction::Add { dir, files, strict } => add::add(dir, files, *strict),
        SchemaAction::Secret { dir, attributes } => crate::secret::mark(dir, attributes),
        SchemaAction::Check { files } => add::check(files),
    }
}

fn show(dir: &std::path::Path, text: Option<&str>) -> Result<(), Problem> {
    let mut channel = Channel::open(dir)?;
    let answers = channel.call(&Request::Search(SearchRequest {
        attributes: vec!["attributeTypes", "objectClasses"],
        ..SearchRequest::of_entry("cn=Subschema")
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
