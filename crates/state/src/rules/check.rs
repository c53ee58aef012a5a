//! Checks that no two entries share a unique value. Writes ensure it; imports without checks and
//! entries from before the rule may not.

use super::{RULES_NAME, Unique};
use crate::catalog::Catalog;
use crate::execute::other_match;
use crate::stop::{Failure, Stop};
use crate::view::View;
use policy::Subject;
use protocol::Filter;
use schema::KnownAttribute;
use store::{EntryId, EntryView, Lookup, Region, RegionScope, Snapshot};

/// Looks up every value of every rule, and reports values with two holders to `problem`.
///
/// # Errors
/// The database cannot be read.
pub fn check(
    snapshot: &Snapshot<'_>,
    catalog: &Catalog,
    problem: &mut dyn FnMut(String),
) -> Result<(), Failure> {
    let server = Subject::server();
    let view = View::new(snapshot, catalog, &server);
    for rule in &catalog.rules.unique {
        let bases = rule.bases(snapshot)?;
        for found in snapshot.entries_after(EntryId::ROOT) {
            let (id, row) = match found {
                // The comparison of rows reports damaged entries.
                Err(store::Error::DamagedEntry { .. }) => continue,
                found => found?,
            };
            if !is_below(snapshot, &bases, id, &row)? {
                continue;
            }
            for pair in shared(&view, rule, &bases, id, &row).map_err(failure)? {
                let name = |id| view.spelled_name(id).map_err(failure);
                let (own, other) = (name(id)?, name(pair.other)?);
                problem(format!(
                    "{}: \"{own}\" and \"{other}\" share the value \"{}\", which a rule in \
                     {RULES_NAME} says is unique",
                    pair.attribute, pair.value
                ));
            }
        }
    }
    Ok(())
}

fn is_below(
    snapshot: &Snapshot<'_>,
    bases: &[EntryId],
    id: EntryId,
    row: &EntryView<'_>,
) -> Result<bool, Failure> {
    for base in bases {
        let region = Region {
            base: *base,
            scope: RegionScope::Subtree,
        };
        if snapshot.is_within(id, row, &region)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// A value with two holders.
struct Pair {
    attribute: String,
    value: String,
    other: EntryId,
}

/// Returns the values that an entry shares with one of a greater id.
fn shared(
    view: &View<'_>,
    rule: &Unique,
    bases: &[EntryId],
    id: EntryId,
    row: &EntryView<'_>,
) -> Result<Vec<Pair>, Stop> {
    let schema = &view.catalog.schema;
    let mut pairs = Vec::new();
    for stored in row.attributes() {
        let covers = |known: &KnownAttribute| {
            let mut types = rule.types.iter();
            types.any(|it| schema.is_subtype(known.type_id, *it))
        };
        if !schema.known(stored.number).is_some_and(covers) {
            continue;
        }
        for value in stored.values() {
            for of in &rule.types {
                let attribute = schema.type_of(*of).name();
                let filter = schema.resolve_filter(&Filter::Equality { attribute, value });
                let other = other_match(view, &filter, bases, Some(id))?;
                pairs.extend(other.filter(|other| *other > id).map(|other| Pair {
                    attribute: attribute.to_owned(),
                    value: String::from_utf8_lossy(value).into_owned(),
                    other,
                }));
            }
        }
    }
    Ok(pairs)
}

/// Returns a refusal as a failure, because there is no client.
fn failure(stop: Stop) -> Failure {
    match stop {
        Stop::Failed(failure) => failure,
        Stop::Refused(refusal) => Failure::Configuration(refusal.diagnostic),
    }
}

impl Unique {
    /// Returns the ids of the existing entries at the top of the rule's subtrees.
    pub fn bases(&self, snapshot: &Snapshot<'_>) -> Result<Vec<EntryId>, store::Error> {
        if self.place.0.is_empty() {
            return Ok(vec![EntryId::ROOT]);
        }
        let mut bases = Vec::with_capacity(self.place.0.len());
        for name in &self.place.0 {
            if let Lookup::Found(id) = snapshot.find(name)? {
                bases.push(id);
            }
        }
        Ok(bases)
    }
}
