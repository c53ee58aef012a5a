//! Prepares the node's configuration: it must have the copied naming contexts, and an index for
//! finding entries.

use super::trouble::Trouble;
use crate::channel::{Channel, refused};
use crate::report::{Problem, note};
use protocol::{
    ChangeOperation, OwnedAttribute, Request, Response, ResponseMessage, ResultCode, Scope,
};
use schema::Schema;
use store::{IndexKind, IndexKinds};

const CONFIG: &str = "cn=config";
const CONTEXT: &str = "pandoNamingContext";
const INDEXES: &str = "cn=indexes,cn=config";
const INDEXED: &str = "pandoIndexAttribute";
/// The attribute by which entries are found.
const IDENTIFIER: &str = "entryUUID";

/// Adds a naming context for each base that is in no naming context.
pub fn add_contexts(
    channel: &mut Channel,
    schema: &Schema,
    bases: &[String],
) -> Result<(), Trouble> {
    let mut held = Vec::new();
    let contexts = values(channel, CONFIG, Scope::BaseObject, CONTEXT);
    for context in contexts.map_err(Trouble::here)? {
        held.extend(schema.resolve_name(&context));
    }
    for base in bases {
        let name = schema.resolve_name(base);
        let name = name.map_err(|error| Trouble::refused(format!("{base}: {error}")))?;
        if held.iter().any(|it| name.is_within(it)) {
            continue;
        }
        add(channel, base).map_err(Trouble::Refused)?;
        note(format_args!("new naming context {base}"));
        held.push(name);
    }
    Ok(())
}

/// Adds the index that every change needs, if it is missing.
pub fn add_index(channel: &mut Channel) -> Result<(), Problem> {
    let indexed = values(channel, INDEXES, Scope::SingleLevel, INDEXED)?;
    if indexed.iter().any(|it| it.eq_ignore_ascii_case(IDENTIFIER)) {
        return Ok(());
    }
    note(format_args!(
        "{IDENTIFIER} is indexed from now on: each change is found by it"
    ));
    crate::index::add_to(channel, IDENTIFIER, IndexKinds::of(&[IndexKind::Equality]))
}

/// The values of an attribute of some entries.
fn values(
    channel: &mut Channel,
    base: &str,
    scope: Scope,
    attribute: &str,
) -> Result<Vec<String>, Problem> {
    let request = super::remote::everything(base, scope, &[attribute]);
    let mut all = Vec::new();
    for answer in channel.call(&Request::Search(request))? {
        let message = ResponseMessage::decode(&answer).map_err(Problem::failed)?;
        if let Response::SearchEntry { attributes, .. } = message.response {
            let values = attributes.iter().flat_map(|it| it.values);
            all.extend(values.map(|it| String::from_utf8_lossy(it).into_owned()));
        }
    }
    Ok(all)
}

fn add(channel: &mut Channel, base: &str) -> Result<(), Problem> {
    let attribute = OwnedAttribute::new(CONTEXT, [base]);
    let result = channel.modify(CONFIG, ChangeOperation::Add, &attribute)?;
    match result.code {
        ResultCode::SUCCESS => Ok(()),
        _ => {
            let problem = refused(&result);
            Err(Problem::failed(format_args!(
                "naming context {base}: {}",
                problem.text()
            )))
        }
    }
}
