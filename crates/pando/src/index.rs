//! `pando index`: show, add, rebuild and drop indexes. Definitions are entries below
//! `cn=indexes,cn=config`; the server builds new ones in the background.

mod advise;

use crate::channel::Channel;
use crate::cli::IndexAction;
use crate::init::parse_kinds;
use crate::report::{Problem, say};
use protocol::{
    AddRequest, Change, ChangeOperation, DeleteRequest, DerefAliases, Filter, ModifyRequest,
    PartialAttribute, Request, Response, ResponseMessage, Scope, SearchRequest,
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
        IndexAction::Drop {
            dir,
            attribute,
            kinds,
        } => drop_from(dir, attribute, kinds),
    }
}

fn entry_name(attribute: &str) -> String {
    format!("cn={attribute},cn=indexes,cn=config")
}

fn add(dir: &Path, attribute: &str, kinds: &[String]) -> Result<(), Problem> {
    let kinds = parse_kinds(kinds.iter().map(String::as_str))?;
    add_to(&mut Channel::open(dir)?, attribute, kinds)
}

fn drop_from(dir: &Path, attribute: &str, kinds: &[String]) -> Result<(), Problem> {
    let dropped = parse_kinds(kinds.iter().map(String::as_str))?;
    let mut channel = Channel::open(dir)?;
    let found = existing(&mut channel, attribute)?;
    let kinds = found.kinds()?;
    if let Some(missing) = dropped.iter().find(|it| !kinds.contains(*it)) {
        return Err(Problem::failed(format_args!(
            "{attribute}: no {} index to drop; it has: {}",
            missing.name(),
            found.shown[1]
        )));
    }
    let left = kinds - dropped;
    if dropped.is_empty() || left.is_empty() {
        let entry = &found.name;
        return channel.succeed(&Request::Delete(DeleteRequest { entry }));
    }
    replace(&mut channel, &found.name, &encode_kinds(left))
}

/// Changes `pandoIndexRebuild` in the definition, so that the index is rebuilt.
fn rebuild(dir: &Path, attribute: &str) -> Result<(), Problem> {
    let mut channel = Channel::open(dir)?;
    let entry = existing(&mut channel, attribute)?.name;
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let mark = now.unwrap_or_default().as_micros().to_string();
    let encoded = encode("pandoIndexRebuild", &[mark.as_bytes()]);
    replace(&mut channel, &entry, &encoded)
}

/// The definition of an attribute's index, under any name of the attribute.
fn existing(channel: &mut Channel, attribute: &str) -> Result<Definition, Problem> {
    find(channel, attribute)?.ok_or_else(|| {
        Problem::failed(format_args!(
            "{attribute}: expected an attribute that has an index; pando index status shows them"
        ))
    })
}

fn find(channel: &mut Channel, attribute: &str) -> Result<Option<Definition>, Problem> {
    let mut found = definitions(channel)?.into_iter();
    Ok(found.find(|it| it.shown[0].eq_ignore_ascii_case(attribute)))
}

/// Adds an index, or adds kinds to an existing one.
pub fn add_to(channel: &mut Channel, attribute: &str, kinds: IndexKinds) -> Result<(), Problem> {
    if let Some(found) = find(channel, attribute)? {
        let kinds = found.kinds()? | kinds;
        return replace(channel, &found.name, &encode_kinds(kinds));
    }
    let encoded = [
        encode("objectClass", &[b"pandoIndex"]),
        encode("cn", &[attribute.as_bytes()]),
        encode("pandoIndexAttribute", &[attribute.as_bytes()]),
        encode_kinds(kinds),
    ];
    let attributes: Vec<PartialAttribute<'_>> = encoded
        .iter()
        .filter_map(|it| PartialAttribute::from_checked(it))
        .collect();
    let entry = entry_name(attribute);
    channel.succeed(&Request::Add(AddRequest {
        entry: &entry,
        attributes,
    }))
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

fn encode_kinds(kinds: IndexKinds) -> Vec<u8> {
    let names: Vec<&[u8]> = kinds.iter().map(|kind| kind.name().as_bytes()).collect();
    encode("pandoIndexKind", &names)
}

fn encode(attribute: &str, values: &[&[u8]]) -> Vec<u8> {
    let mut out = Vec::new();
    put_partial_attribute(&mut out, attribute, values.iter().copied());
    out
}

fn status(dir: &Path) -> Result<(), Problem> {
    let found = definitions(&mut Channel::open(dir)?)?;
    let heads = ["ATTRIBUTE", "KINDS", "STATE"].map(str::to_owned);
    let shown = found.iter().map(|it| &it.shown);
    for [attribute, kinds, state] in std::iter::once(&heads).chain(shown) {
        say(format_args!("{attribute:<28} {kinds:<32} {state}"))?;
    }
    Ok(())
}

/// The definition of an index.
struct Definition {
    /// DN of its entry.
    name: String,
    /// The attribute, its kinds separated by commas, and its state.
    shown: [String; 3],
}

impl Definition {
    fn kinds(&self) -> Result<IndexKinds, Problem> {
        let names = self.shown[1].split(',');
        parse_kinds(names.filter(|it| !it.is_empty()))
    }
}

/// All indexes.
fn definitions(channel: &mut Channel) -> Result<Vec<Definition>, Problem> {
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
        let Response::SearchEntry { name, attributes } = message.response else {
            continue;
        };
        let values = |wanted: &str| {
            let found = attributes
                .iter()
                .find(|it| it.description.eq_ignore_ascii_case(wanted));
            let texts = found.map(|it| {
                it.values
                    .into_iter()
                    .map(|value| String::from_utf8_lossy(value).into_owned())
            });
            texts
                .map(|it| it.collect::<Vec<_>>().join(","))
                .unwrap_or_default()
        };
        found.push(Definition {
            name: name.to_owned(),
            shown: wanted.map(values),
        });
    }
    Ok(found)
}
