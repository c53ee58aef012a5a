//! Permission for each kind of update of a client: entries of access rules are judged by what the
//! rules say, all others by the rights to them.

use crate::claims;
use crate::delegation;
use crate::grant::Grant;
use crate::stop::Stop;
use crate::view::{Claim, View};
use crate::write::{Given, Modification};
use policy::Right;
use policy::access::right::Right as RuleRight;
use schema::{Name, ResolvedRdn};

/// A decision about an addition before its attributes are read.
#[derive(Debug)]
pub enum Early {
    /// The entry itself may be added.
    Granted(Grant),
    /// The entry would keep an access rule, which is read first.
    OfRule(Name),
}

/// Decides about an addition as far as its name tells.
///
/// # Errors
/// `insufficientAccessRights`, whether or not the entry exists.
pub fn early(view: &View<'_>, name: Name) -> Result<Early, Stop> {
    if view.keeps_handed_over(&name) {
        return Ok(Early::OfRule(name));
    }
    claims::require_below(view, RuleRight::Add, name.parent())?;
    Grant::decide(view, Right::Add, name, None).map(Early::Granted)
}

/// Permission for an addition, whose attributes are given.
///
/// # Errors
/// `insufficientAccessRights`
pub fn of_addition(
    view: &View<'_>,
    early: Early,
    rdn: &ResolvedRdn,
    attributes: &[Given],
) -> Result<Grant, Stop> {
    match early {
        Early::OfRule(name) => delegation::of_addition(view, name, rdn, attributes),
        Early::Granted(grant) => {
            claims::require_values(view, grant.name(), attributes)?;
            Ok(grant)
        }
    }
}

/// Permission for changes of values.
///
/// # Errors
/// `insufficientAccessRights`, whether or not the entry exists.
pub fn of_changes(view: &View<'_>, name: Name, changes: &[Modification]) -> Result<Grant, Stop> {
    if view.keeps_handed_over(&name) {
        return delegation::of_changes(view, name, changes);
    }
    let claims: Vec<Claim<'_>> = changes.iter().flat_map(claims::of_change).collect();
    Grant::of_claims(view, Right::Write, name, &claims)
}

/// Permission for a deletion.
///
/// # Errors
/// `insufficientAccessRights`, whether or not the entry exists.
pub fn of_deletion(view: &View<'_>, name: Name) -> Result<Grant, Stop> {
    if view.keeps_handed_over(&name) {
        return delegation::of_deletion(view, name);
    }
    claims::require_below(view, RuleRight::Delete, name.parent())?;
    Grant::decide(view, Right::Delete, name, None)
}
