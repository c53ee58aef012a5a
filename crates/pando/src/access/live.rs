//! `pando access explain` of a node or a server: decisions of the rules in force, about entries as
//! they are.

use super::ground::Ground;
use super::trial::line::Line;
use super::trial::text::{Asked, Case, Reader};
use super::trial::world::World;
use crate::channel::{Channel, refused};
use crate::report::{Problem, say};
use policy::access::facts::{Identity, Origin};
use policy::access::words::Way;
use protocol::control::{AccessExplanation, AccessQuestion};
use protocol::{OwnedControl, Request, Response, ResponseMessage, SearchRequest, oid};
use schema::Truth;
use std::fmt::Write;
use std::path::Path;

/// Explains how a server decides a question; words that it uses may stand in a file of tests.
pub fn explain(channel: &mut Channel, question: &str, facts: Option<&Path>) -> Result<(), Problem> {
    let mut world = World::new(Ground::of(channel)?);
    let mut reader = Reader::new(&mut world);
    if let Some(facts) = facts {
        reader.read(facts)?;
    }
    let case = reader.question(&mut Line::alone(question))?;
    for asked in &case.asked {
        say(explained(channel, &case, asked)?.trim_end())?;
    }
    Ok(())
}

/// The explanation of one decision, as text.
fn explained(channel: &mut Channel, case: &Case, asked: &Asked) -> Result<String, Problem> {
    let asker = &case.asker;
    let subject = authorization_identity(channel, &asker.acting)?;
    let real = match asker.real == asker.acting {
        true => None,
        false => Some(authorization_identity(channel, &asker.real)?),
    };
    let address = match asker.origin {
        Origin::Unknown => None,
        Origin::Socket => Some("local".to_owned()),
        Origin::Address(address) => Some(address.to_string()),
    };
    let ways = Way::ALL.into_iter();
    let ways = ways.filter(|it| asker.ways.truth(*it) == Truth::True && *it != Way::Proxied);
    let ways: Vec<&str> = ways.map(Way::word).collect();
    let question = AccessQuestion {
        subject: &subject,
        right: asked.right.word(),
        object: &asked.spelled,
        value: asked.question().value,
        real: real.as_deref(),
        address: address.as_deref(),
        ways: (!ways.is_empty()).then_some(ways),
        minute: asker.minute.map(|it| u32::from(it.minutes())),
    };
    let control = OwnedControl::with_value(oid::ACCESS_EXPLANATION, true, |out| {
        question.encode(out);
    });
    let base = case.entry.to_string();
    let request = Request::Search(SearchRequest::of_entry(&base));
    let answers = channel.call_with(&request, &[control])?;
    let last = answers.last().map(Vec::as_slice).unwrap_or_default();
    let message = ResponseMessage::decode(last).map_err(Problem::failed)?;
    let Response::SearchDone(result) = &message.response else {
        return Err(Problem::failed(
            "the server's last response has no result code",
        ));
    };
    let mut controls = message.controls.iter();
    let control = controls.find(|it| it.oid == oid::ACCESS_EXPLANATION);
    let Some(value) = control.and_then(|it| it.value) else {
        return Err(refused(result).about(&base));
    };
    let explanation = AccessExplanation::decode(value).map_err(Problem::failed)?;
    text(&base, asked, &explanation).map_err(Problem::failed)
}

/// The authzId (RFC 4513 §5.2.1.8) of an identity.
fn authorization_identity(channel: &mut Channel, of: &Identity) -> Result<String, Problem> {
    Ok(match of {
        Identity::Anonymous | Identity::Unknown => String::new(),
        Identity::Entry(name) => format!("dn:{name}"),
        Identity::Administrator(_) => {
            let place = ("cn=administrator,cn=config", "pandoAdministratorName");
            let name = channel.first_value(place.0, place.1)?;
            let name = name.ok_or_else(|| {
                Problem::failed("the administrator's name is hidden: give it in quotation marks")
            })?;
            format!("dn:{name}")
        }
    })
}

fn text(base: &str, asked: &Asked, it: &AccessExplanation<'_>) -> Result<String, std::fmt::Error> {
    let verdict = if it.allowed { "allowed" } else { "refused" };
    let mut out = String::new();
    writeln!(
        out,
        "{} of {} of \"{base}\": {verdict}",
        asked.right, asked.spelled
    )?;
    for reason in &it.reasons {
        let clause = match reason.clause {
            "" => String::new(),
            clause => format!(", {clause}"),
        };
        let decides =
            !reason.clause.is_empty() && (reason.rule, reason.clause) == (it.rule, it.clause);
        let mark = if decides { "  <- decides" } else { "" };
        let rule = match reason.rule {
            "" => String::new(),
            rule => format!("rule {rule}{clause}: "),
        };
        writeln!(out, "  {rule}{}{mark}", reason.why)?;
    }
    for change in &it.changes {
        writeln!(out, "would be different if {change}")?;
    }
    Ok(out)
}
