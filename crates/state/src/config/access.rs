//! The access rules below `cn=access,cn=config`.

use crate::config::{ACCESS_NAME, children, well_known};
use crate::knowledge::texts_of;
use crate::stop::Failure;
use policy::Secrets;
use policy::access::compile::RuleSet;
use policy::access::parse::parse;
use policy::access::rules::Rule;
use schema::Schema;
use store::Snapshot;

/// Reads the rules in their order; `None` if there are none.
///
/// # Errors
/// `Failure::Configuration` names the entry whose rule cannot be read, or means nothing under the
/// schema.
pub(super) fn load(
    snapshot: &Snapshot<'_>,
    schema: &Schema,
    secrets: &Secrets,
) -> Result<Option<RuleSet>, Failure> {
    let mut placed = Vec::new();
    for (id, view) in children(snapshot, &well_known(schema, ACCESS_NAME))? {
        let text = |attribute| texts_of(schema, &view, attribute).into_iter().next();
        let wrong =
            |why: String| Failure::Configuration(format!("{},{ACCESS_NAME}: {why}", view.rdn()));
        let (Some(rule), Some(order)) = (text("pandoAccessText"), text("pandoAccessOrder")) else {
            let why = "expected pandoAccessText and pandoAccessOrder".to_owned();
            return Err(wrong(why));
        };
        let order: i64 = order.parse().map_err(|_| {
            wrong(format!(
                "pandoAccessOrder: expected an integer, got {order}"
            ))
        })?;
        placed.push((order, id, one_rule(&rule).map_err(wrong)?));
    }
    if placed.is_empty() {
        return Ok(None);
    }
    placed.sort_by_key(|(order, id, _)| (*order, *id));
    let rules: Vec<Rule> = placed.into_iter().map(|(_, _, rule)| rule).collect();
    let set = RuleSet::compile(schema, secrets, &rules)
        .map_err(|error| Failure::Configuration(format!("{ACCESS_NAME}: {error}")))?;
    Ok(Some(set))
}

/// Reads the text of exactly one rule.
fn one_rule(text: &str) -> Result<Rule, String> {
    let read = parse(text).map_err(|error| format!("pandoAccessText: {error}"))?;
    let count = read.rules.len();
    let mut rules = read.rules.into_iter();
    match (rules.next(), rules.next()) {
        (Some(rule), None) => Ok(rule),
        _ => Err(format!("pandoAccessText: expected one rule, got {count}")),
    }
}
