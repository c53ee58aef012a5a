//! Judging one request by two sets of rules.

use crate::asked::{self, Asked, AskedRight};
use crate::differences::{Difference, Differences, Differing};
use crate::waiting::{Kept, KeptRequest};
use policy::Subject;
use policy::access::candidate::Candidate;
use policy::access::compile::RuleSet;
use policy::access::decide::Ruling;
use policy::access::facts::{Asker, Identity, Origin};
use policy::access::objects::Object;
use policy::access::right::Right;
use policy::access::words::Way;
use protocol::{DecodeLimits, Message};
use schema::{Schema, Truth};
use state::stop::Stop;
use state::view::{Claim, View};

/// Octets of a name in an example at most.
const NAME_BYTES_MAX: usize = 512;

/// Judges a request by the rules in force and by the candidate, and counts where they differ. The
/// view is that of the request's subject; `left_out` is the number of requests that were not judged
/// before it. What cannot be read is not judged, and what no rule is asked about is not counted.
pub fn judge(
    view: &View<'_>,
    candidate: &Candidate,
    kept: &Kept,
    left_out: u64,
    differences: &Differences,
) {
    let found = match &kept.request {
        KeptRequest::Bind(name) => {
            let asked = asked::of_bind(view.catalog, name);
            compared(view, candidate, "bind", &asked)
        }
        KeptRequest::Message(encoded) => of_message(view, candidate, encoded),
    };
    differences.note(candidate.pair, left_out, found.unwrap_or_default());
}

fn of_message(
    view: &View<'_>,
    candidate: &Candidate,
    encoded: &[u8],
) -> Result<Option<Differing>, Stop> {
    let Ok(message) = Message::decode(encoded, &DecodeLimits::DEFAULT) else {
        return Ok(None);
    };
    let server = Subject::server();
    let asked = asked::of_message(&view.of_server(&server), &message)?;
    compared(view, candidate, message.request.name(), &asked)
}

/// The kinds of differences in the answers, each with its first example; `None` if nothing is
/// asked.
fn compared(
    view: &View<'_>,
    candidate: &Candidate,
    operation: &'static str,
    asked: &[Asked<'_>],
) -> Result<Option<Differing>, Stop> {
    if asked.is_empty() {
        return Ok(None);
    }
    let in_force = view.under(&candidate.in_force);
    let later = view.under(&candidate.rules);
    let mut found = Differing::new();
    let mut is_disclosed = false;
    for of_entry in asked {
        if of_entry.if_hidden && is_disclosed {
            continue;
        }
        for it in &of_entry.claims {
            let claim = Claim {
                right: it.right,
                object: it.object,
                value: it.value.as_deref(),
            };
            let one = view.ruling_under(&in_force, &of_entry.name, &claim)?;
            let other = view.ruling_under(&later, &of_entry.name, &claim)?;
            let (Some(one), Some(other)) = (one, other) else {
                continue;
            };
            if it.right == Right::Disclose {
                is_disclosed = one.allowed && other.allowed;
            }
            if one.allowed == other.allowed {
                continue;
            }
            let difference = Difference {
                operation,
                subject: kind(view.subject, of_entry),
                right: it.right.word(),
                allowed: one.allowed,
                rule: place(&candidate.in_force, one),
                candidate: place(&candidate.rules, other),
            };
            if !found.iter().any(|it| it.0 == difference) {
                let asker = in_force.asker();
                let example = example(&view.catalog.schema, asker, view.subject, of_entry, it);
                found.push((difference, example));
            }
        }
    }
    Ok(Some(found))
}

fn kind(subject: &Subject, asked: &Asked<'_>) -> &'static str {
    match () {
        () if subject.is_anonymous() => "anonymous",
        () if subject.is_self(&asked.name) => "self",
        () => "users",
    }
}

/// The place in a set that made a decision, such as `rule "people" clause 2`.
fn place(set: &RuleSet, ruling: Ruling) -> String {
    let rule = ruling.place.and_then(|it| set.rules().nth(it.rule));
    let (Some(place), Some(rule)) = (ruling.place, rule) else {
        return "no rule".to_owned();
    };
    match place.clause {
        Some(clause) => format!("rule \"{}\" clause {}", rule.name, clause + 1),
        None => format!("rule \"{}\", no clause", rule.name),
    }
}

/// The question as `pando access explain` takes it. Values are not shown.
fn example(
    schema: &Schema,
    asker: &Asker,
    subject: &Subject,
    asked: &Asked<'_>,
    right: &AskedRight<'_>,
) -> String {
    let mut who = match subject.dn.as_str() {
        "" => "anonymous".to_owned(),
        dn => quoted(dn),
    };
    let ways = Way::ALL.into_iter();
    let ways = ways.filter(|it| asker.ways.truth(*it) == Truth::True && *it != Way::Proxied);
    let ways: Vec<&str> = ways.map(Way::word).collect();
    if !ways.is_empty() {
        who = format!("{who} via {}", ways.join(" "));
    }
    match asker.origin {
        Origin::Unknown => {}
        Origin::Socket => who.push_str(" from local"),
        Origin::Address(address) => who = format!("{who} from {}", address.to_canonical()),
    }
    if asker.real != asker.acting
        && let Identity::Entry(real) = &asker.real
    {
        who = format!("{who} real {}", quoted(&real.to_string()));
    }
    let thing = match right.object {
        Object::Entry => "entry",
        Object::Children => "children",
        Object::Attribute(id) => schema.type_of(id).name(),
        Object::Use(it) => it.word(),
    };
    let entry = quoted(&asked.spelled);
    format!("{who}, {}, {entry}, {thing}", right.right.word())
}

/// A name in quotation marks, cut to the maximum.
fn quoted(name: &str) -> String {
    let most = name.len().min(NAME_BYTES_MAX);
    let end = (0..=most).rev().find(|it| name.is_char_boundary(*it));
    let name = &name[..end.unwrap_or_default()];
    format!("\"{}\"", name.replace('"', "\"\""))
}
