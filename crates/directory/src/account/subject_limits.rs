//! The limits of a subject.

use crate::call::Call;
use crate::context::{Context, Place};
use policy::{Subject, SubjectLimits};
use schema::{Name, Truth};
use state::stop::Stop;

/// The limits of a subject that has just authenticated. Membership in groups is read here and not
/// by each operation: a new member gets its limits with its next bind.
pub(crate) fn of(call: &Call<'_>, subject: &Subject) -> Result<SubjectLimits, Stop> {
    let settings = &call.catalog.limits;
    if settings.rules.is_empty() {
        // The usual case, which needs no second context.
        return settings.of(subject, |_| Ok(false));
    }
    // Limits do not depend on which groups the subject sees.
    let server = Subject::server();
    let context = Context::new(call.snapshot, call.catalog, &server);
    settings.of(subject, |group| is_member(&context, group, &subject.dn))
}

/// Whether a group names an entry as a member.
fn is_member(context: &Context<'_>, group: &Name, member: &str) -> Result<bool, Stop> {
    let Place::Found(id) = context.find(group)? else {
        return Ok(false);
    };
    let Some(entry) = context.reached(id)? else {
        return Ok(false);
    };
    let schema = &context.catalog.schema;
    let mut scratch = Vec::new();
    for attribute in ["member", "uniqueMember"] {
        let named = schema.resolve_assertion(attribute, member.as_bytes());
        if entry.evaluate(&named, &mut scratch)? == Truth::True {
            return Ok(true);
        }
    }
    Ok(false)
}
