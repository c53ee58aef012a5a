//! `pando index`: show, add, rebuild and drop indexes. Definitions are entries below
//! `cn=indexes,cn=config`; the server builds new ones in the background.

mod advise;

use crate::channel::Channel;
use crate::cli::IndexAction;
use crate::init::parse_kinds;
use crate::report::{Problem, say};
use protocol::{
    AddRequest, Change, ChangeOperation, DeleteRequest, DerefAliases, Filter, ModifyRequest,
    PartialAttribute, Request, Response, ResponseMessage, ResultCode, Scope, SearchRequest,
    put_partial_attribute,
};
use std::path::Path;
use std::time::SystemTime;
use store::IndexKinds;

/// Runs the action.
pub fn index(action: &IndexAction) -> Result<(), Problem> {
    match action {
        IndexAction::Status { dir } => status(dir),
        IndexAction::Add {
            dir,
            attribute,
            kinds,
        } => add(dir, attribute, kinds),
        IndexAction::Advise { dir, format } => advise::advise(dir, *format),
        IndexAction::Rebuild { dir, attribute } => rebuild(dir, attribute),
        IndexAction::Drop { dir, attribute } => drop_from(&mut Channel::open(dir)?, attribute),
    }
}

fn entry_name(attribute: &str) -> String {
    format!("cn={attribute},cn=indexes,cn=config")
}

fn add(dir: &Path, attribute: &str, kinds: &[String]) -> Result<(), Problem> {
    let kinds = parse_kinds(kinds.iter().map(String::as_str))?;
    add_to(&mut Channel::open(dir)?, attribute, kinds)
}

fn drop_from(channel: &mut Channel, attribute: &str) -> Result<(), Problem> {
    let entry = entry_name(attribute);
    channel.succeed(&Request::Delete(DeleteRequest { entry: &entry }))
}

/// Gives the definition another mark: the index is built anew as it stands.
fn rebuild(dir: &Path, attribute: &str) -> Result<(), Problem> {
    let mut channel = Channel::open(dir)?;
    let found = definitions(&mut channel)?;
    let own = found
        .iter()
        .find(|it| it[0].eq_ignore_ascii_case(attribute));
    if own.is_none() {
        return Err(Problem::failed(format_args!(
            "{attribute}: expected an attribute that has an index; pando index status shows them"
        )));
    }
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let mark = now.unwrap_or_default().as_micros().to_string();
    let encoded = encode("pandoIndexRebuild", &[mark.as_bytes()]);
    replace(&mut channel, &entry_name(attribute), &encoded)
}

/// Adds an index, or gives the one there is these kinds.
pub fn add_to(channel: &mut Channel, attribute: &str, kinds: IndexKinds) -> Result<(), Problem> {
    let names: Vec<&[u8]> = kinds.iter().map(|kind| kind.name().as_bytes()).collect();
    let encoded = [
        encode("objectClass", &[b"pandoIndex"]),
        encode("cn", &[attribute.as_bytes()]),
        encode("pandoIndexAttribute", &[attribute.as_bytes()]),
        encode("pandoIndexKind", &names),
    ];
    let attributes: Vec<PartialAttribute<'_>> = encoded
        .iter()
        .filter_map(|it| PartialAttribute::from_checked(it))
        .collect();
    let entry = entry_name(attribute);
    let result = channel.result(&Request::Add(AddRequest {
        entry: &entry,
        attributes,
    }))?;
    match result.code {
        ResultCode::SUCCESS => Ok(()),
        ResultCode::ENTRY_ALREADY_EXISTS => replace(channel, &entry, &encoded[3]),
        _ => Err(crate::channel::refused(&result)),
    }
}

/// Replaces an attribute of a definition.
fn replace(channel: &mut Channel, entry: &str, encoded: &[u8]) -> Result<(), Problem> {
    let attributes = PartialAttribute::from_checked(encoded).into_iter();
    let changes = attributes.map(|attribute| Change {
        operation: ChangeOperation::Replace,
        attribute,
    });
    channel.succeed(&Request::Modify(ModifyRequest {
        object: entry,
        changes: changes.collect(),
    }))
}

fn encode(attribute: &str, values: &[&[u8]]) -> Vec<u8> {
    let mut out = Vec::new();
    put_partial_attribute(&mut out, attribute, values.iter().copied());
    out
}

fn status(dir: &Path) -> Result<(), Problem> {
    let found = definitions(&mut Channel::open(dir)?)?;
    let heads = ["ATTRIBUTE", "KINDS", "STATE"].map(str::to_owned);
    for [attribute, kinds, state] in std::iter::once(&heads).chain(&found) {
        say(format_args!("{attribute:<28} {kinds:<32} {state}"))?;
    }
    Ok(())
}

/// The attribute of each index, its kinds with commas between them, and its state.
fn definitions(channel: &mut Channel) -> Result<Vec<[String; 3]>, Problem> {
    let wanted = ["pandoIndexAttribute", "pandoIndexKind", "pandoIndexState"];
    let answers = channel.call(&Request::Search(SearchRequest {
        base: "cn=indexes,cn=config",
        scope: Scope::SingleLevel,
        deref_aliases: DerefAliases::Never,
        size_limit: 0,
        time_limit_s: 0,
        types_only: false,
        filter: Filter::Present("objectClass"),
        attributes: wanted.to_vec(),
    }))?;
    let mut found = Vec::new();
    for answer in &answers {
        let message = ResponseMessage::decode(answer).map_err(Problem::failed)?;
        let Response::SearchEntry { attributes, .. } = message.response else {
            continue;
        };
        let values = |name: &str| {
            let found = attributes
                .iter()
                .find(|it| it.description.eq_ignore_ascii_case(name));
            let texts = found.map(|it| {
                it.values
                    .into_iter()
                    .map(|value| String::from_utf8_lossy(value).into_owned())
            });
            texts
                .map(|it| it.collect::<Vec<_>>().join(","))
                .unwrap_or_default()
        };
        found.push(wanted.map(values));
    }
    Ok(found)
}
