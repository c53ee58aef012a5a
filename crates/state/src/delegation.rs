//! Writes of access rules by others than the administrator: rules within the part of the directory
//! that was handed over to them.
//!
//! Such a write is allowed if the rule before and the rule after are within areas about which the
//! subject may write rules, if the rule after gives rights that the subject has, and if the subject
//! can still write rules there when the change is made. Entries of rules keep their names, and have
//! no attributes but those of a rule: an entry below `cn=config` with a password would be an
//! identity.

use crate::access_rules::{self, PlacedRule};
use crate::grant::Grant;
use crate::stop::Stop;
use crate::view::View;
use crate::write::{Given, Modification, Write};
use policy::Right;
use policy::access::delegation::{RULES_MAX, TEXT_MAX};
use policy::access::rules::Rule;
use protocol::{ChangeOperation, ResultCode};
use schema::{Name, ResolvedRdn, Schema};
use store::EntryId;

/// Attributes that a rule's entry may be given.
const GIVEN: [&str; 5] = ["objectClass", "cn", TEXT, ORDER, "description"];
/// Attributes of a rule's entry that may be changed.
const CHANGED: [&str; 3] = [TEXT, ORDER, "description"];
const TEXT: &str = "pandoAccessText";
const ORDER: &str = "pandoAccessOrder";

/// Permission to add an entry with a rule.
///
/// # Errors
/// `insufficientAccessRights` with what goes beyond the subject's rights.
pub fn of_addition(
    view: &View<'_>,
    name: Name,
    rdn: &ResolvedRdn,
    attributes: &[Given],
) -> Result<Grant, Stop> {
    if !view.own_rules().is_some_and(|it| it.may_administer()) {
        return refuse_hidden(view, &name);
    }
    let schema = &view.catalog.schema;
    require_plain(view, &GIVEN, attributes.iter())?;
    let [(of_rdn, own)] = rdn.values.as_slice() else {
        return refuse("expected a name with one value of cn, got more");
    };
    let own = String::from_utf8_lossy(own).to_lowercase();
    let is_own = |it: &Vec<u8>| String::from_utf8_lossy(it).to_lowercase() == own;
    let values = |attribute| values_of(schema, attribute, attributes.iter());
    let is_class = |it: &Vec<u8>| {
        it.eq_ignore_ascii_case(b"pandoAccessRule") || it.eq_ignore_ascii_case(b"top")
    };
    let named_by = schema.type_of(of_rdn.type_id).name();
    if named_by != "cn" || !of_rdn.options.is_empty() || !values("cn").all(is_own) {
        return refuse("expected one value of cn, which names the entry, got another");
    }
    if !values("objectClass").all(is_class) {
        return refuse("expected the object class pandoAccessRule alone, got another");
    }
    let (Some(rule), Some(order)) = (one_rule(values(TEXT))?, one_order(values(ORDER))?) else {
        return refuse("expected a value of pandoAccessText and one of pandoAccessOrder");
    };
    let mut after = view.placed_rules()?;
    let governs = |it: &&PlacedRule| {
        let rules = view.own_rules();
        rules.is_some_and(|own| own.governed(&it.rule).is_some())
    };
    if after.iter().filter(governs).count() >= RULES_MAX {
        return refuse(&format!(
            "expected at most {RULES_MAX} rules within areas that were handed over to you, got more"
        ));
    }
    after.push(PlacedRule {
        id: EntryId(u64::MAX),
        order,
        names: vec![own],
        rule: rule.clone(),
    });
    require_allowed(view, None, Some(&rule), after)?;
    Ok(Grant::of_handed_over(view, name, &rule))
}

/// Permission to change the rule of an entry.
///
/// # Errors
/// `insufficientAccessRights` with what goes beyond the subject's rights.
pub fn of_changes(view: &View<'_>, name: Name, changes: &[Modification]) -> Result<Grant, Stop> {
    let Some(before) = view.governed_rule(&name)? else {
        return refuse_hidden(view, &name);
    };
    require_plain(view, &CHANGED, changes.iter().map(|it| &it.given))?;
    let schema = &view.catalog.schema;
    let added = |attribute| {
        let put = changes.iter();
        let put = put.filter(|it| it.operation != ChangeOperation::Delete);
        values_of(schema, attribute, put.map(|it| &it.given))
    };
    if changes
        .iter()
        .any(|it| it.operation == ChangeOperation::Increment)
    {
        return refuse("expected values to add, delete or replace, got an increment");
    }
    let now = PlacedRule {
        rule: one_rule(added(TEXT))?.unwrap_or_else(|| before.rule.clone()),
        order: one_order(added(ORDER))?.unwrap_or(before.order),
        ..before.clone()
    };
    let rule = now.rule.clone();
    let mut after = view.placed_rules()?;
    after.retain(|it| it.id != before.id);
    after.push(now);
    require_allowed(view, Some(&before.rule), Some(&rule), after)?;
    Ok(Grant::of_handed_over(view, name, &rule))
}

/// Permission to delete the entry of a rule.
///
/// # Errors
/// `insufficientAccessRights`, also if the subject could write no rules there any more.
pub fn of_deletion(view: &View<'_>, name: Name) -> Result<Grant, Stop> {
    let Some(before) = view.governed_rule(&name)? else {
        return refuse_hidden(view, &name);
    };
    let mut after = view.placed_rules()?;
    after.retain(|it| it.id != before.id);
    require_allowed(view, Some(&before.rule), None, after)?;
    Ok(Grant::of_handed_over(view, name, &before.rule))
}

/// Makes a write of a rule that was handed over fail if its entry changes before the write is
/// executed, since the decision was made about the rule as it is now.
///
/// # Errors
/// The database cannot be read.
pub fn guard(view: &View<'_>, write: &mut Write) -> Result<(), Stop> {
    if view.keeps_handed_over(write.name()) {
        let options = write.options.get_or_insert_default();
        options.seen = Some(view.position()?);
    }
    Ok(())
}

/// Checks the rule after the change, and that the subject may still write rules within the areas
/// of both when all rules are those of `after`.
fn require_allowed(
    view: &View<'_>,
    before: Option<&Rule>,
    now: Option<&Rule>,
    after: Vec<PlacedRule>,
) -> Result<(), Stop> {
    let catalog = view.catalog;
    let secrets = catalog.access.secrets();
    let (Some(own), Some(lasting)) = (view.own_rules(), view.lasting_rules()) else {
        return refuse("no access rules are in force");
    };
    if let Some(rule) = now
        && let Err(why) = own.require_writable(&lasting, secrets, rule)
    {
        return refuse(&format!("access rule {}: {why}", rule.name));
    }
    let set = access_rules::compile(&catalog.schema, secrets, after, catalog.level);
    let set = match set {
        Ok(Some(set)) => set,
        Ok(None) => return refuse("expected rules that are left, got none"),
        Err(crate::stop::Failure::Configuration(why)) => {
            return Stop::refuse(ResultCode::CONSTRAINT_VIOLATION, why);
        }
        Err(failure) => return Err(failure.into()),
    };
    let later = view.under(&set);
    for rule in before.iter().chain(&now) {
        if later.governed(rule).is_none() {
            let area = rule.within.as_deref().unwrap_or_default();
            return refuse(&format!(
                "you could write no rules within \"{area}\" any more after this change"
            ));
        }
    }
    Ok(())
}

/// Checks that attributes are some of those that a rule's entry may have, without options.
fn require_plain<'g>(
    view: &View<'_>,
    allowed: &[&str],
    mut given: impl Iterator<Item = &'g Given>,
) -> Result<(), Stop> {
    let schema = &view.catalog.schema;
    let is_other = |it: &&Given| {
        let name = schema.type_of(it.description.type_id).name();
        !it.description.options.is_empty() || !allowed.contains(&name)
    };
    match given.find(is_other) {
        None => Ok(()),
        Some(other) => refuse(&format!(
            "expected no other attributes of a rule's entry than {}, got {}",
            allowed.join(", "),
            schema.spelled(&other.description)
        )),
    }
}

/// The given values of an attribute.
fn values_of<'g>(
    schema: &'g Schema,
    attribute: &'static str,
    given: impl Iterator<Item = &'g Given> + 'g,
) -> impl Iterator<Item = &'g Vec<u8>> {
    let is_it = move |it: &&Given| schema.type_of(it.description.type_id).name() == attribute;
    given.filter(is_it).flat_map(|it| &it.values)
}

/// The rule among given values; `None` if no value is given.
fn one_rule<'v>(values: impl Iterator<Item = &'v Vec<u8>>) -> Result<Option<Rule>, Stop> {
    let Some(text) = one_text(TEXT, values)? else {
        return Ok(None);
    };
    if text.len() > TEXT_MAX {
        let given = text.len();
        return refuse(&format!(
            "{TEXT}: expected {TEXT_MAX} octets at most, got {given}"
        ));
    }
    match access_rules::one_rule(text) {
        Ok(rule) => Ok(Some(rule)),
        Err(why) => Stop::refuse(ResultCode::CONSTRAINT_VIOLATION, why),
    }
}

/// The place among given values; `None` if no value is given.
fn one_order<'v>(values: impl Iterator<Item = &'v Vec<u8>>) -> Result<Option<i64>, Stop> {
    let Some(text) = one_text(ORDER, values)? else {
        return Ok(None);
    };
    match access_rules::parse_order(text) {
        Ok(order) => Ok(Some(order)),
        Err(why) => Stop::refuse(ResultCode::CONSTRAINT_VIOLATION, why),
    }
}

fn one_text<'v>(
    attribute: &str,
    mut values: impl Iterator<Item = &'v Vec<u8>>,
) -> Result<Option<&'v str>, Stop> {
    let Some(value) = values.next() else {
        return Ok(None);
    };
    match (std::str::from_utf8(value), values.next()) {
        (Ok(text), None) => Ok(Some(text)),
        (Err(_), _) => refuse(&format!("{attribute}: expected UTF-8")),
        (_, Some(_)) => refuse(&format!("{attribute}: expected one value, got more")),
    }
}

/// Refuses a write of an entry of the configuration that the subject does not see, as every other
/// write there.
fn refuse_hidden<T>(view: &View<'_>, name: &Name) -> Result<T, Stop> {
    view.require(Right::Manage, name, None)?;
    refuse("this entry is the administrator's")
}

fn refuse<T>(text: &str) -> Result<T, Stop> {
    Stop::refuse(ResultCode::INSUFFICIENT_ACCESS_RIGHTS, text)
}
