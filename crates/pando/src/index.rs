//! `pando index`: show, add, rebuild and drop indexes. Definitions are entries below
//! `cn=indexes,cn=config`; the server builds new ones in the background.

mod advise;

use crate::channel::Channel;
use crate::cli::IndexAction;
use crate::init::parse_kinds;
use crate::report::{Problem, say};
use protocol::{
    AddRequest, ChangeOperation, DeleteRequest, DerefAliases, Filter, OwnedAttribute, Request,
    Response, ResponseMessage, Scope, SearchRequest,
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
    channel.must_modify(
        &found.name,
        ChangeOperation::Replace,
        &kinds_attribute(left),
    )
}

/// Changes `pandoIndexRebuild` in the definition, so that the index is rebuilt.
fn rebuild(dir: &Path, attribute: &str) -> Result<(), Problem> {
    let mut channel = Channel::open(dir)?;
    let entry = existing(&mut channel, attribute)?.name;
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let mark = now.unwrap_or_default().as_micros().to_string();
    let attribute = OwnedAttribute::new("pandoIndexRebuild", [mark]);
    channel.must_modify(&entry, ChangeOperation::Replace, &attribute)
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
        return channel.must_modify(
            &found.name,
            ChangeOperation::Replace,
            &kinds_attribute(kinds),
        );
    }
    let attributes = [
        OwnedAttribute::new("objectClass", ["pandoIndex"]),
        OwnedAttribute::new("cn", [attribute]),
        OwnedAttribute::new("pandoIndexAttribute", [attribute]),
        kinds_attribute(kinds),
    ];
    let entry = entry_name(attribute);
    channel.succeed(&Request::Add(AddRequest {
        entry: &entry,
        attributes: attributes.iter().map(OwnedAttribute::as_partial).collect(),
    }))
}

fn kinds_attribute(kinds: IndexKinds) -> OwnedAttribute {
    OwnedAttribute::new("pandoIndexKind", kinds.iter().map(|kind| kind.name()))
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
