//! Definitions are read from entries directly below their container. Anywhere else below
//! `cn=config` they would be stored and do nothing, which an answer of success must not hide.

use protocol::ResultCode;
use schema::{Name, TypeId};
use state::catalog::Catalog;
use state::config::{INDEXES_NAME, SCHEMA_NAME};
use state::rules::RULES_NAME;
use state::stop::Stop;

/// What is read from the entries directly below a container.
const DEFINING: [(&str, &[&str]); 3] = [
    (
        SCHEMA_NAME,
        &[
            "attributeTypes",
            "objectClasses",
            "ldapSyntaxes",
            "matchingRules",
            "dITContentRules",
            "nameForms",
            "dITStructureRules",
        ],
    ),
    (INDEXES_NAME, &["pandoIndexAttribute", "pandoIndexKind"]),
    (
        RULES_NAME,
        &["pandoUniqueAttribute", "pandoNumberAttribute"],
    ),
];

/// Refuses values that define something in an entry that nothing is read from.
pub(crate) fn refuse_misplaced(
    catalog: &Catalog,
    name: &Name,
    mut types: impl Iterator<Item = TypeId>,
) -> Result<(), Stop> {
    if !name.is_within(&catalog.config) {
        return Ok(());
    }
    let schema = &catalog.schema;
    let misplaced = types.find_map(|type_id| {
        let text = schema.type_of(type_id).name();
        let of_container = |(_, defining): &&(&str, &[&str])| defining.contains(&text);
        let (container, _) = DEFINING.iter().find(of_container)?;
        let resolved = schema.resolve_name(container).ok()?;
        let is_read = name.is_within(&resolved) && name.depth() == resolved.depth() + 1;
        (!is_read).then_some((text, *container))
    });
    let Some((text, container)) = misplaced else {
        return Ok(());
    };
    let command = match container {
        SCHEMA_NAME => " (pando schema add FILE)",
        _ => "",
    };
    Stop::refuse(
        ResultCode::UNWILLING_TO_PERFORM,
        format!(
            "{text} would do nothing here: put it into an entry directly below \
             {container}{command}"
        ),
    )
}
