//! `pando index`: show, add and drop indexes. Definitions are entries below
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
        IndexAction::Drop { dir, attribute } => {
            let entry = entry_name(attribute);
            Channel::open(dir)?.succeed(&Request::Delete(DeleteRequest { entry: &entry }))
        }
    }
}

fn entry_name(attribute: &str) -> String {
    format!("cn={attribute},cn=indexes,cn=config")
}

fn add(dir: &Path, attribute: &str, kinds: &[String]) -> Result<(), Problem> {
    let kinds = parse_kinds(kinds.iter().map(String::as_str))?;
    add_to(&mut Channel::open(dir)?, attribute, kinds)
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
    let change = attributes[3];
    let result = channel.result(&Request::Add(AddRequest {
        entry: &entry,
        attributes,
    }))?;
    match result.code {
        ResultCode::SUCCESS => Ok(()),
        ResultCode::ENTRY_ALREADY_EXISTS => {
            let change = Change {
                operation: ChangeOperation::Replace,
                attribute: change,
            };
            let changes = vec![change];
            channel.succeed(&Request::Modify(ModifyRequest {
                object: &entry,
                changes,
            }))
        }
        _ => Err(crate::channel::refused(&result)),
    }
}

fn encode(attribute: &str, values: &[&[u8]]) -> Vec<u8> {
    let mut out = Vec::new();
    put_partial_attribute(&mut out, attribute, values.iter().copied());
    out
}

fn status(dir: &Path) -> Result<(), Problem> {
    let mut channel = Channel::open(dir)?;
    let answers = channel.call(&Request::Search(SearchRequest {
        base: "cn=indexes,cn=config",
        scope: Scope::SingleLevel,
        deref_aliases: DerefAliases::Never,
        size_limit: 0,
        time_limit_s: 0,
        types_only: false,
        filter: Filter::Present("objectClass"),
        attributes: vec!["pandoIndexAttribute", "pandoIndexKind", "pandoIndexState"],
    }))?;
    say(format_args!(
        "{:<28} {:<32} {}",
        "ATTRIBUTE", "KINDS", "STATE"
    ))?;
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
        say(format_args!(
            "{:<28} {:<32} {}",
            values("pandoIndexAttribute"),
            values("pandoIndexKind"),
            values("pandoIndexState")
        ))?;
    }
    Ok(())
}
