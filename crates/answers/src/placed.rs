//! Refuses definitions in entries that are not directly below their container in `cn=config`: they
//! would be stored, answered with success, and have no effect.

use protocol::ResultCode;
use schema::{Name, TypeId};
use state::access_rules::ACCESS_NAME;
use state::candidate::CANDIDATE_NAME;
use state::catalog::Catalog;
use state::config::{IDENTITIES_NAME, INDEXES_NAME, SCHEMA_NAME};
use state::rules::RULES_NAME;
use state::stop::Stop;

/// Containers, and the attributes read from the entries directly below each; and the candidate,
/// whose own attributes are read.
const DEFINING: [(&str, &[&str]); 6] = [
    (CANDIDATE_NAME, &["pandoCandidateText"]),
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
    (ACCESS_NAME, &["pandoAccessText", "pandoAccessOrder"]),
    (
        IDENTITIES_NAME,
        &["pandoIdentityText", "pandoIdentityOrder"],
    ),
    (INDEXES_NAME, &["pandoIndexAttribute", "pandoIndexKind"]),
    (
        RULES_NAME,
        &["pandoUniqueAttribute", "pandoNumberAttribute"],
    ),
];

/// Refuses values of defining attributes in an entry from which they are not read.
///
/// # Errors
/// The refusal, with the place where the attribute belongs.
pub fn refuse_misplaced(
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
        let below = usize::from(*container != CANDIDATE_NAME);
        let is_read = name.is_within(&resolved) && name.depth() == resolved.depth() + below;
        (!is_read).then_some((text, *container))
    });
    let Some((text, container)) = misplaced else {
        return Ok(());
    };
    let command = match container {
        SCHEMA_NAME => " (pando schema add FILE)",
        _ => "",
    };
    let place = match container {
        CANDIDATE_NAME => "the entry",
        _ => "an entry directly below",
    };
    Stop::refuse(
        ResultCode::UNWILLING_TO_PERFORM,
        format!("{text} would do nothing here: put it into {place} {container}{command}"),
    )
}
