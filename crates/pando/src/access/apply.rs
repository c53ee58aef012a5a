//! `pando access apply` and `undo`.

use super::ground::{Ground, RuleFile};
use super::node::{connect, connect_to};
use super::replace::replace;
use super::stored::Stored;
use crate::channel::Channel;
use crate::cli::{AccessApply, AccessNode, Remote};
use crate::report::{Problem, say};
use policy::access::analysis::Finding;
use policy::access::sets;
use std::path::{Path, PathBuf};

/// Replaces the rules of a node by those of a file, once they are checked.
pub fn apply(it: &AccessApply) -> Result<(), Problem> {
    let usage = "expected a node's folder and a file of rules, or --url and the file, as in `pando \
                 access apply DIR rules`; --default or --none stand for a file";
    let (dir, path) = places(&it.what, &it.remote, it.default || it.none, usage)?;
    let file = match path {
        Some(path) => RuleFile::read(path)?,
        None if it.none => RuleFile::of_text("no rules", "")?,
        None => RuleFile::of_text("the default rules", sets::DEFAULT)?,
    };
    if file.text.rules.is_empty() && !it.none {
        return Err(Problem::failed(format_args!(
            "{}: expected access rules, got none; --none removes all",
            file.name
        )));
    }
    let mut channel = connect(dir, &it.remote)?;
    let stored = Stored::read(&mut channel)?;
    if !it.none {
        refuse_bad(it.force, &mut channel, &file)?;
        if !it.force {
            stored.refuse_loss(&file.text.rules)?;
        }
    }
    let replaced = replace(&mut channel, &stored, &file.text.rules)
        .map_err(|problem| problem.about(&file.name))?;
    say(replaced)
}

/// Brings back the rules before the last change.
pub fn undo(it: &AccessNode) -> Result<(), Problem> {
    let mut channel = connect_to(it)?;
    let stored = Stored::read(&mut channel)?;
    let file = RuleFile::of_text("the former rules", stored.former()?)?;
    file.compile(&Ground::of(&mut channel)?)?;
    say(replace(&mut channel, &stored, &file.text.rules)?)
}

/// The rules of a new directory: `built-in` (none of its own), `default`, or those of a file.
///
/// # Errors
/// The file's rules cannot be read, mean nothing under the standard schema, or open secrets.
pub fn new_rules(named: &str) -> Result<Option<RuleFile>, Problem> {
    let file = match named {
        "built-in" => return Ok(None),
        "default" => RuleFile::of_text("the default rules", sets::DEFAULT)?,
        path => RuleFile::read(Path::new(path))?,
    };
    if file.text.rules.is_empty() {
        return Err(Problem::failed(format_args!(
            "{}: expected access rules, got none; --access built-in needs none",
            file.name
        )));
    }
    match opens_secrets(&file, &Ground::of_folder(None)?)? {
        false => Ok(Some(file)),
        true => Err(Problem::failed(
            "nothing was made, as anonymous clients could use secrets by these rules",
        )),
    }
}

/// Makes rules the first ones of a new node, which is not served.
pub fn begin_with(dir: &Path, file: Option<&RuleFile>) -> Result<(), Problem> {
    let Some(file) = file else {
        return Ok(());
    };
    let mut channel = Channel::open(dir)?;
    let stored = Stored::read(&mut channel)?;
    let replaced = replace(&mut channel, &stored, &file.text.rules);
    replaced
        .map(drop)
        .map_err(|problem| problem.about(&file.name))
}

/// The folder of the node and the file of rules in the arguments; `is_named` says that an option
/// stands for the file.
///
/// # Errors
/// `usage`, if there are more places or fewer.
pub fn places<'a>(
    what: &'a [PathBuf],
    remote: &Remote,
    is_named: bool,
    usage: &str,
) -> Result<(Option<&'a Path>, Option<&'a Path>), Problem> {
    let mut places = what.iter().map(PathBuf::as_path);
    let dir = match remote.url {
        Some(_) => None,
        None => places.next(),
    };
    let file = places.next();
    let missing = dir.is_none() && remote.url.is_none();
    if missing || file.is_some() == is_named || places.next().is_some() {
        return Err(Problem::usage(usage));
    }
    Ok((dir, file))
}

/// Refuses rules that mean nothing under the server's schema, and unless forced those that open
/// secrets. The server refuses rules by which their author could write none any more.
pub fn refuse_bad(forced: bool, channel: &mut Channel, file: &RuleFile) -> Result<(), Problem> {
    let ground = Ground::of(channel)?;
    match opens_secrets(file, &ground)? && !forced {
        false => Ok(()),
        true => Err(Problem::failed(
            "nothing was applied, as anonymous clients could use secrets by these rules; \
             --force applies them",
        )),
    }
}

/// Whether anonymous clients could use secrets by the rules of a file. Prints what is suspicious.
///
/// # Errors
/// The rules mean nothing under the schema.
fn opens_secrets(file: &RuleFile, ground: &Ground) -> Result<bool, Problem> {
    let set = file.compile(ground)?;
    let findings = set.findings(&ground.secrets);
    file.note_findings(&findings);
    let opens = |it: &Finding| matches!(it, Finding::OpenSecrets { .. });
    Ok(findings.iter().any(opens))
}
