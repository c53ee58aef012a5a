//! `pando access shadow`, `differences` and `activate`: a set of rules that judges requests beside
//! the rules in force, before it takes their place.

use super::apply::{places, refuse_bad};
use super::ground::RuleFile;
use super::node::{connect, connect_to};
use super::replace::{Update, exchange, replace_with};
use super::stored::Stored;
use crate::channel::{Channel, refused};
use crate::cli::{AccessActivate, AccessDifferences, AccessShadow};
use crate::report::{Problem, say};
use policy::access::print::print;
use protocol::{
    ChangeOperation, Filter, OwnedAttribute, Request, Response, ResponseMessage, ResultCode, Scope,
    SearchRequest, counted,
};
use serde_json::{Value, json};
use std::fmt::Write;

/// The entry that keeps the candidate.
const CANDIDATE: &str = "cn=candidate,cn=config";
/// The attribute with the text of the rules.
const TEXT: &str = "pandoCandidateText";
/// The attribute with the share of time, in percent.
const SHARE: &str = "pandoCandidateShare";
/// The entry above what was counted.
const COUNTED: &str = "cn=Candidate,cn=monitor";

/// Text of the candidate of a node.
///
/// # Errors
/// There is none, or it cannot be read.
pub fn text(channel: &mut Channel) -> Result<String, Problem> {
    find(channel)?.ok_or_else(none)
}

fn find(channel: &mut Channel) -> Result<Option<String>, Problem> {
    channel.first_value(CANDIDATE, TEXT)
}

fn none() -> Problem {
    Problem::failed("no candidate here: `pando access shadow DIR FILE` makes a file of rules one")
}

/// Makes the rules of a file the candidate, or removes it.
pub fn shadow(it: &AccessShadow) -> Result<(), Problem> {
    let usage = "expected a node's folder and a file of rules, or --url and the file, as in `pando \
                 access shadow DIR rules`; --off stands for a file";
    let (dir, path) = places(&it.what, &it.remote, it.off, usage)?;
    let file = path.map(RuleFile::read).transpose()?;
    let mut channel = connect(dir, &it.remote)?;
    let before = find(&mut channel)?;
    let Some(file) = file else {
        let before = before.ok_or_else(none)?;
        channel.transaction(&requests(&removal(&before)))?;
        return say("candidate: removed");
    };
    if file.text.rules.is_empty() {
        return Err(Problem::failed(format_args!(
            "{}: expected access rules, got none",
            file.name
        )));
    }
    refuse_bad(it.force, &mut channel, &file)?;
    let (text, share) = (print(&file.text.rules), it.share.to_string());
    let update = match before {
        None => Update::Add(
            CANDIDATE.to_owned(),
            vec![
                OwnedAttribute::new("objectClass", ["pandoCandidate"]),
                OwnedAttribute::new("cn", ["candidate"]),
                OwnedAttribute::new(TEXT, [&text]),
                OwnedAttribute::new(SHARE, [&share]),
            ],
        ),
        Some(before) => {
            let mut changes = Vec::new();
            exchange(&mut changes, TEXT, &before, &text);
            let share = OwnedAttribute::new(SHARE, [&share]);
            changes.push((ChangeOperation::Replace, share));
            Update::Modify(CANDIDATE.to_owned(), changes)
        }
    };
    channel.succeed(&update.as_request())?;
    let rules = counted(file.text.rules.len() as u64, "rule");
    say(format_args!("candidate: {rules}"))
}

/// The updates that remove the candidate, unless it is another one meanwhile.
fn removal(text: &str) -> [Update; 2] {
    let mut same = Vec::new();
    exchange(&mut same, TEXT, text, text);
    [
        Update::Modify(CANDIDATE.to_owned(), same),
        Update::Delete(CANDIDATE.to_owned()),
    ]
}

fn requests(updates: &[Update]) -> Vec<Request<'_>> {
    updates.iter().map(Update::as_request).collect()
}

/// Makes the candidate the rules in force, in one transaction.
pub fn activate(it: &AccessActivate) -> Result<(), Problem> {
    let mut channel = connect_to(&it.node)?;
    let text = text(&mut channel)?;
    let file = RuleFile::of_text("the candidate", &text)?;
    let stored = Stored::read(&mut channel)?;
    refuse_bad(it.force, &mut channel, &file)?;
    if !it.force {
        stored.refuse_loss(&file.text.rules)?;
    }
    say(replace_with(
        &mut channel,
        &stored,
        &file.text.rules,
        removal(&text),
    )?)
}

/// A kind of difference, as a node counts it.
#[derive(Debug, Default)]
struct Counted {
    requests: u64,
    operation: String,
    subject: String,
    right: String,
    decided: String,
    rule: String,
    candidate: String,
    examples: Vec<String>,
}

/// Prints the decisions in which the candidate differs from the rules in force.
pub fn differences(it: &AccessDifferences) -> Result<(), Problem> {
    let mut channel = connect_to(&it.node)?;
    let (numbers, counted) = read(&mut channel)?;
    match it.json {
        true => say(as_json(&numbers, &counted)),
        false => say(as_text(&numbers, &counted)
            .map_err(Problem::failed)?
            .trim_end()),
    }
}

/// The numbers by their names, and the kinds of differences, most frequent first.
type Read = (Vec<(String, u64)>, Vec<Counted>);

fn read(channel: &mut Channel) -> Result<Read, Problem> {
    let (mut numbers, mut kinds) = (Vec::new(), Vec::new());
    let request = SearchRequest {
        attributes: vec!["*", "+"],
        ..SearchRequest::new(COUNTED, Scope::WholeSubtree, Filter::Present("objectClass"))
    };
    for answer in channel.call(&Request::Search(request))? {
        let message = ResponseMessage::decode(&answer).map_err(Problem::failed)?;
        match message.response {
            Response::SearchEntry { attributes, .. } => {
                let values = |wanted: &str| -> Vec<String> {
                    let is_it = |it: &&protocol::ber::PartialAttribute<'_>| {
                        it.description.eq_ignore_ascii_case(wanted)
                    };
                    let values = attributes.iter().filter(is_it).flat_map(|it| it.values);
                    let text = |it: &[u8]| String::from_utf8_lossy(it).into_owned();
                    values.map(text).collect()
                };
                let first = |wanted| values(wanted).into_iter().next().unwrap_or_default();
                let count = first("monitorCounter").parse();
                let operation = first("pandoDifferenceOperation");
                match count {
                    Ok(count) if operation.is_empty() => numbers.push((first("cn"), count)),
                    Ok(requests) => kinds.push(Counted {
                        requests,
                        operation,
                        subject: first("pandoDifferenceSubject"),
                        right: first("pandoDifferenceRight"),
                        decided: first("pandoDifferenceDecided"),
                        rule: first("pandoDifferenceRule"),
                        candidate: first("pandoDifferenceCandidateRule"),
                        examples: values("pandoDifferenceExample"),
                    }),
                    // The container has no number.
                    Err(_) => {}
                }
            }
            Response::SearchDone(result) if result.code == ResultCode::NO_SUCH_OBJECT => {
                return Err(none());
            }
            Response::SearchDone(result) if result.code != ResultCode::SUCCESS => {
                return Err(refused(&result).about(COUNTED));
            }
            _ => {}
        }
    }
    Ok((numbers, kinds))
}

fn as_text(numbers: &[(String, u64)], kinds: &[Counted]) -> Result<String, std::fmt::Error> {
    let mut out = String::new();
    for (name, count) in numbers {
        writeln!(out, "{}: {count}", name.to_lowercase())?;
    }
    for it in kinds {
        let contrary = match it.decided.as_str() {
            "allowed" => "refused",
            _ => "allowed",
        };
        writeln!(
            out,
            "{} of {}: {} {} by {}, would be {contrary} by {}",
            counted(it.requests, &it.operation),
            it.subject,
            it.right,
            it.decided,
            it.rule,
            it.candidate
        )?;
        for example in &it.examples {
            writeln!(out, "  {example}")?;
        }
    }
    Ok(out)
}

fn as_json(numbers: &[(String, u64)], kinds: &[Counted]) -> Value {
    let kinds = kinds.iter().map(|it| {
        json!({
            "requests": it.requests,
            "operation": it.operation,
            "subject": it.subject,
            "right": it.right,
            "decided": it.decided,
            "rule": it.rule,
            "candidate_rule": it.candidate,
            "examples": it.examples,
        })
    });
    let kinds: Vec<Value> = kinds.collect();
    let numbers = numbers.iter();
    let numbers =
        numbers.map(|(name, count)| (name.to_lowercase().replace(' ', "_"), json!(count)));
    let mut all: serde_json::Map<String, Value> = numbers.collect();
    all.insert("differences".to_owned(), json!(kinds));
    Value::Object(all)
}
