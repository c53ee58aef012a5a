//! `pando access cost`: how much a set of rules needs to know of each entry.

use super::ground::{Ground, RuleFile};
use super::node::{built_in_note, connect};
use super::stored::Stored;
use crate::cli::AccessCost;
use crate::report::{Problem, say};
use policy::access::cost::{Pace, PartCost, RuleCost};
use protocol::counted;
use serde_json::{Value, json};
use std::fmt::Write;

/// Shows the cost of each rule of a file, a node or a server.
pub fn cost(it: &AccessCost) -> Result<(), Problem> {
    let (file, ground) = match (it.what.as_deref(), &it.remote.url) {
        (Some(path), None) if !path.is_dir() => (
            RuleFile::read(path)?,
            Ground::of_folder(it.schema.as_deref())?,
        ),
        (dir, _) => {
            let mut channel = connect(dir, &it.remote)?;
            let stored = Stored::read(&mut channel)?;
            if stored.is_empty() {
                built_in_note();
            }
            let file = RuleFile::of_text("the applied rules", &stored.text()?)?;
            (file, Ground::of(&mut channel)?)
        }
    };
    let costs = file.compile(&ground)?.costs();
    match it.json {
        true => say(as_json(&costs)),
        false => say(text(&costs).map_err(Problem::failed)?.trim_end()),
    }
}

fn steps(costs: &[RuleCost]) -> usize {
    costs.iter().map(RuleCost::steps).sum()
}

fn text(costs: &[RuleCost]) -> Result<String, std::fmt::Error> {
    let mut out = String::new();
    for cost in costs {
        let steps = counted(cost.steps() as u64, "step");
        writeln!(out, "rule {}: at most {steps}", cost.rule)?;
        for part in std::iter::once(&cost.target).chain(&cost.clauses) {
            writeln!(out, "  {}: {}", part.text, needed(part))?;
        }
    }
    let rules = counted(costs.len() as u64, "rule");
    let steps = counted(steps(costs) as u64, "step");
    writeln!(out, "{rules}: at most {steps} for a right to one entry")?;
    for cost in costs.iter().filter(|it| it.divides_all) {
        writeln!(
            out,
            "rule {} is about every entry and depends on entries: no search has one answer for \
             all of them",
            cost.rule
        )?;
    }
    Ok(out)
}

/// The facts that a part needs, and how often they are found out.
fn needed(part: &PartCost) -> String {
    let words = |pace: Pace| -> Option<String> {
        let needs = part.needs.iter().filter(|it| it.pace() == pace);
        let words: Vec<&str> = needs.map(|it| it.words()).collect();
        (!words.is_empty()).then(|| format!("{} ({})", often(pace), words.join(", ")))
    };
    let paces = [Pace::Entry, Pace::Region, Pace::Subject];
    let parts: Vec<String> = paces.into_iter().filter_map(words).collect();
    match parts.is_empty() {
        true => "asks nothing".to_owned(),
        false => parts.join("; "),
    }
}

fn often(pace: Pace) -> &'static str {
    match pace {
        Pace::Subject => "once for a subject",
        Pace::Region => "once for all entries directly below a name",
        Pace::Entry => "for each entry",
    }
}

fn as_json(costs: &[RuleCost]) -> Value {
    let part = |it: &PartCost| {
        let needs = it.needs.iter().map(|need| {
            let pace = match need.pace() {
                Pace::Subject => "subject",
                Pace::Region => "region",
                Pace::Entry => "entry",
            };
            json!({ "fact": need.words(), "once_for": pace })
        });
        json!({
            "text": it.text,
            "steps": it.steps,
            "needs": needs.collect::<Vec<_>>(),
        })
    };
    let rules = costs.iter().map(|it| {
        json!({
            "rule": it.rule,
            "steps": it.steps(),
            "target": part(&it.target),
            "clauses": it.clauses.iter().map(part).collect::<Vec<_>>(),
            "divides_every_search": it.divides_all,
        })
    });
    json!({ "steps": steps(costs), "rules": rules.collect::<Vec<_>>() })
}
