//! Access rules that judge requests beside those in force, `cn=candidate,cn=config`. They decide
//! nothing.

use crate::knowledge::texts_of;
use crate::stop::Failure;
use policy::Secrets;
use policy::access::candidate::Candidate;
use policy::access::compile::RuleSet;
use schema::Schema;
use std::sync::Arc;
use store::{Lookup, Snapshot};

/// The entry that keeps the candidate.
pub const CANDIDATE_NAME: &str = "cn=candidate,cn=config";

/// Reads the candidate; `None` if there is none.
///
/// # Errors
/// `Failure::Configuration` for a text that cannot be read or means nothing under the schema.
pub fn load(
    snapshot: &Snapshot<'_>,
    schema: &Schema,
    secrets: &Secrets,
    in_force: Option<&RuleSet>,
) -> Result<Option<Arc<Candidate>>, Failure> {
    let name = schema.resolve_name(CANDIDATE_NAME);
    let name = name.expect("the standard schema resolves the names of this program");
    let Lookup::Found(id) = snapshot.find(&name)? else {
        return Ok(None);
    };
    let Some(view) = snapshot.entry(id)? else {
        return Ok(None);
    };
    let text = |attribute| texts_of(schema, &view, attribute).into_iter().next();
    let rules = text("pandoCandidateText").unwrap_or_default();
    let share = text("pandoCandidateShare");
    let candidate = Candidate::read(schema, secrets, &rules, share.as_deref(), in_force);
    let wrong = |why| Failure::Configuration(format!("{CANDIDATE_NAME}: {why}"));
    Ok(Some(Arc::new(candidate.map_err(wrong)?)))
}
