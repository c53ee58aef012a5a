//! The access rules below `cn=access,cn=config`, one entry each.
//!
//! Rules `within` an area, which others than the administrator may write, are asked behind all
//! rules of larger areas, whatever their `pandoAccessOrder` says.

use crate::knowledge::texts_of;
use crate::level::DELEGATES;
use crate::stop::Failure;
use policy::Secrets;
use policy::access::compile::RuleSet;
use policy::access::parse::parse;
use policy::access::rules::Rule;
use schema::{Name, Schema};
use store::{EntryId, EntryView, Lookup, Snapshot};

/// The container of access rules.
pub const ACCESS_NAME: &str = "cn=access,cn=config";

/// A rule with its place among the others.
#[derive(Debug, Clone)]
pub struct PlacedRule {
    /// The rule's entry; entries get their ids in the order of adding.
    pub id: EntryId,
    /// The place among rules of areas of the same depth: `pandoAccessOrder`.
    pub order: i64,
    /// The values of `cn`.
    pub names: Vec<String>,
    /// The rule.
    pub rule: Rule,
}

/// Returns the resolved name of the container.
pub fn container(schema: &Schema) -> Name {
    schema
        .resolve_name(ACCESS_NAME)
        .expect("the standard schema resolves the names of this program")
}

/// Reads the rules, in the order of adding.
///
/// # Errors
/// `Failure::Configuration` names the entry whose rule cannot be read.
pub fn read(snapshot: &Snapshot<'_>, schema: &Schema) -> Result<Vec<PlacedRule>, Failure> {
    let Lookup::Found(container) = snapshot.find(&container(schema))? else {
        return Ok(Vec::new());
    };
    let mut placed = Vec::new();
    for id in snapshot.children(container) {
        let id = id?;
        if let Some(view) = snapshot.entry(id)? {
            placed.push(read_entry(schema, id, &view)?);
        }
    }
    placed.sort_by_key(|it| it.id);
    Ok(placed)
}

/// Reads the rule of an entry.
///
/// # Errors
/// `Failure::Configuration` if the entry has none that can be read.
pub fn read_entry(
    schema: &Schema,
    id: EntryId,
    view: &EntryView<'_>,
) -> Result<PlacedRule, Failure> {
    let text = |attribute| texts_of(schema, view, attribute).into_iter().next();
    let wrong =
        |why: String| Failure::Configuration(format!("{},{ACCESS_NAME}: {why}", view.rdn()));
    let (Some(rule), Some(order)) = (text("pandoAccessText"), text("pandoAccessOrder")) else {
        let why = "expected pandoAccessText and pandoAccessOrder".to_owned();
        return Err(wrong(why));
    };
    Ok(PlacedRule {
        id,
        order: parse_order(&order).map_err(wrong)?,
        names: texts_of(schema, view, "cn"),
        rule: one_rule(&rule).map_err(wrong)?,
    })
}

/// Compiles rules in the order in which they are asked; `None` if there are none.
///
/// # Errors
/// `Failure::Configuration` for a rule that means nothing under the schema, or that the format
/// `level` does not have.
pub fn compile(
    schema: &Schema,
    secrets: &Secrets,
    mut placed: Vec<PlacedRule>,
    level: u32,
) -> Result<Option<RuleSet>, Failure> {
    if placed.is_empty() {
        return Ok(None);
    }
    let wrong = |why: &str| Failure::Configuration(format!("{ACCESS_NAME}: {why}"));
    if level < DELEGATES && placed.iter().any(|it| it.rule.within.is_some()) {
        return Err(wrong(&format!(
            "expected rules without \"within\", which needs format level {DELEGATES}, got one with \
             it at level {level}; run `pando cluster upgrade`"
        )));
    }
    require_own_names(&placed).map_err(|why| wrong(&why))?;
    placed.sort_by_key(|it| (depth(schema, &it.rule), it.order, it.id));
    let rules: Vec<Rule> = placed.into_iter().map(|it| it.rule).collect();
    let set =
        RuleSet::compile(schema, secrets, &rules).map_err(|error| wrong(&error.to_string()))?;
    Ok(Some(set))
}

/// Checks that no rule within an area has the name of another rule: explanations and the text of
/// all rules tell rules by their names.
fn require_own_names(placed: &[PlacedRule]) -> Result<(), String> {
    for (at, it) in placed.iter().enumerate() {
        let name = it.rule.name.to_lowercase();
        let is_same = |other: &str| other.to_lowercase() == name;
        let mut others = placed.iter().enumerate().filter(|(other, _)| *other != at);
        let is_taken = others.any(|(_, other)| is_same(&other.rule.name));
        if it.rule.within.is_some() && (is_taken || !it.names.iter().any(|it| is_same(it))) {
            return Err(format!(
                "expected the text of a rule within an area to have the name of its entry, and no \
                 other rule to have it, got rule {}",
                it.rule.name
            ));
        }
    }
    Ok(())
}

/// Returns the number that puts a rule behind those of larger areas.
fn depth(schema: &Schema, rule: &Rule) -> usize {
    let area = rule.within.as_deref().map(|it| schema.resolve_name(it));
    match area {
        Some(Ok(name)) => name.depth() + 1,
        // Compiling says what is wrong with the name.
        None | Some(Err(_)) => 0,
    }
}

/// Reads the value of `pandoAccessOrder`.
///
/// # Errors
/// It is no integer, or too large.
pub fn parse_order(order: &str) -> Result<i64, String> {
    order
        .parse()
        .map_err(|_| format!("pandoAccessOrder: expected an integer, got {order}"))
}

/// Reads the text of exactly one rule.
///
/// # Errors
/// The mistake in the text.
pub fn one_rule(text: &str) -> Result<Rule, String> {
    let read = parse(text).map_err(|error| format!("pandoAccessText: {error}"))?;
    let count = read.rules.len();
    let mut rules = read.rules.into_iter();
    match (rules.next(), rules.next()) {
        (Some(rule), None) => Ok(rule),
        _ => Err(format!("pandoAccessText: expected one rule, got {count}")),
    }
}
