//! `pando access test` and `explain`: decisions of rules in a file about entries in a file.

pub(super) mod line;
pub(super) mod text;
pub(super) mod world;

use super::ground::{Ground, RuleFile};
use super::live;
use super::node::connect;
use crate::cli::{AccessExplain, AccessTest};
use crate::report::{Problem, note, say};
use line::Line;
use policy::access::compile::RuleSet;
use policy::access::decide::{Ruling, SubjectRules};
use protocol::counted;
use std::collections::HashSet;
use std::path::Path;
use text::{Case, Reader, Test};
use world::World;

/// Runs the tests of a file.
pub fn test(it: &AccessTest) -> Result<(), Problem> {
    let file = RuleFile::read(&it.rules)?;
    let mut world = World::new(Ground::of_folder(it.schema.as_deref())?);
    let tests = Reader::new(&mut world).read(&it.tests)?;
    // Filters find only attributes that the entries have, so the entries come first.
    let set = file.compile(world.ground())?;
    let (mut failed, mut deciding) = (0, HashSet::new());
    for test in &tests {
        let subject = set.of_subject(test.case.asker.clone(), &world);
        let wrong = wrong_decisions(test, &subject, &world, &mut deciding);
        failed += u64::from(!wrong.is_empty());
        for line in wrong {
            say(format_args!("{}:{}: {line}", it.tests.display(), test.line))?;
        }
    }
    let mut reported = file.note_findings(&set.findings(&world.ground().secrets));
    for (number, places) in file.text.places.iter().enumerate() {
        if !deciding.contains(&number) {
            let (line, name) = (places.rule.line, &file.text.rules[number].name);
            note(format_args!(
                "pando: {}:{line}: rule {name} decides no test",
                file.name
            ));
            reported = true;
        }
    }
    let count = tests.len() as u64;
    say(format_args!("{}: {failed} failed", counted(count, "test")))?;
    match failed > 0 || (reported && it.strict) {
        true => Err(Problem::Reported),
        false => Ok(()),
    }
}

/// Explains how a question is decided: by the rules in a file, or by those of a node or a server.
pub fn explain(it: &AccessExplain) -> Result<(), Problem> {
    let (of, question) = match (it.what.as_slice(), &it.remote.url) {
        ([question], Some(_)) => (None, question),
        ([of, question], None) => (Some(Path::new(of)), question),
        _ => {
            return Err(Problem::usage(
                "expected a file of rules or a node's folder, and a question, or --url and the \
                 question, as in `pando access explain DIR 'anonymous, read, \"dc=com\", entry'`",
            ));
        }
    };
    match of {
        Some(rules) if !rules.is_dir() => explain_by_file(it, rules, question),
        dir => live::explain(
            &mut connect(dir, &it.remote)?,
            question,
            it.facts.as_deref(),
        ),
    }
}

/// Explains how the rules in a file decide a question.
fn explain_by_file(it: &AccessExplain, rules: &Path, question: &str) -> Result<(), Problem> {
    let file = RuleFile::read(rules)?;
    let mut world = World::new(Ground::of_folder(it.schema.as_deref())?);
    let mut reader = Reader::new(&mut world);
    if let Some(facts) = &it.facts {
        reader.read(facts)?;
    }
    let case = reader.question(&mut Line::alone(question))?;
    let set = file.compile(world.ground())?;
    let subject = set.of_subject(case.asker.clone(), &world);
    let entry = world.entry(&case.entry);
    for asked in &case.asked {
        let shown = subject.explain(&entry, &world, asked.question(), asked.right);
        say(shown.to_string().trim_end())?;
    }
    Ok(())
}

/// The decisions of a test that are not as expected, one line each. The rules that decide are added
/// to `deciding`, by number.
fn wrong_decisions(
    test: &Test,
    subject: &SubjectRules,
    world: &World,
    deciding: &mut HashSet<usize>,
) -> Vec<String> {
    let Case { entry, asked, .. } = &test.case;
    let facts = world.entry(entry);
    let mut wrong = Vec::new();
    for one in asked {
        let ruling = subject.decide(&facts, one.question(), one.right);
        deciding.extend(ruling.place.map(|it| it.rule));
        let rule = ruling
            .place
            .and_then(|it| subject.set().rules().nth(it.rule));
        let by_other = test.by.as_ref().is_some_and(|by| {
            let name = rule.map(|it| it.name.as_str());
            name != Some(by.as_str())
        });
        if ruling.allowed != test.allowed || by_other {
            let by = test.by.as_ref().map(|it| format!(" by rule {it}"));
            wrong.push(format!(
                "{} of {} of \"{entry}\": expected {}{}, got {}",
                one.right,
                one.spelled,
                verdict(test.allowed),
                by.unwrap_or_default(),
                told(ruling, subject.set())
            ));
        }
    }
    wrong
}

fn verdict(allowed: bool) -> &'static str {
    if allowed { "allowed" } else { "refused" }
}

/// A decision with the rule and the clause that made it.
fn told(ruling: Ruling, set: &RuleSet) -> String {
    let verdict = verdict(ruling.allowed);
    let rule = ruling.place.and_then(|it| set.rules().nth(it.rule));
    let (Some(place), Some(rule)) = (ruling.place, rule) else {
        return format!("{verdict}: no rule is about it");
    };
    match place.clause.and_then(|it| rule.clauses.get(it)) {
        Some(clause) => format!("{verdict} by rule {}: {clause}", rule.name),
        None => format!(
            "{verdict} by rule {}, which has no clause for it",
            rule.name
        ),
    }
}
