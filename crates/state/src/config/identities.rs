//! The rules below `cn=identities,cn=config` that map identities of other systems to entries.

use crate::knowledge::texts_of;
use crate::stop::Failure;
use policy::mapping::Mapping;
use schema::Schema;
use std::sync::Arc;
use store::{EntryId, EntryView};

/// The container of rules that map identities of other systems to entries.
pub const IDENTITIES_NAME: &str = "cn=identities,cn=config";

/// Reads the rules, of the entries directly below the container, in their order.
///
/// # Errors
/// `Failure::Configuration` names the entry whose rule cannot be read, or means nothing under the
/// schema.
pub(super) fn load(
    schema: &Schema,
    entries: &[(EntryId, EntryView<'_>)],
) -> Result<Arc<Mapping>, Failure> {
    let mut placed = Vec::new();
    for (id, view) in entries {
        let rdn = view.rdn();
        let text = |attribute| texts_of(schema, view, attribute).into_iter().next();
        let wrong = |why: &str| Failure::Configuration(format!("{rdn},{IDENTITIES_NAME}: {why}"));
        // Below format level 3 the schema has no rules, and whatever else is here is none.
        let Some(rule) = text("pandoIdentityText") else {
            continue;
        };
        let order = text("pandoIdentityOrder").unwrap_or_default();
        let order: i64 = order.parse().map_err(|_| {
            let why = format!("pandoIdentityOrder: expected an integer, got \"{order}\"");
            wrong(&why)
        })?;
        placed.push((order, *id, rdn.to_string(), rule));
    }
    placed.sort_by_key(|(order, id, ..)| (*order, *id));
    let rules = placed
        .iter()
        .map(|(_, _, name, text)| (&name[..], &text[..]));
    let rules: Vec<(&str, &str)> = rules.collect();
    Mapping::compile(schema, &rules)
        .map(Arc::new)
        .map_err(|error| Failure::Configuration(format!("{IDENTITIES_NAME}: {error}")))
}
