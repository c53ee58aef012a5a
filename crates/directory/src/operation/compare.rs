//! Compare (RFC 4511 §4.10). A compare on a hashed password verifies it, as RFC 3112 §3 does.

use super::controls::Controls;
use super::{assertion, bind, referral, values};
use crate::config::DYNAMIC_GROUP_CLASS;
use crate::context::{Context, Place};
use crate::flow::CheckPurpose;
use crate::hashing::PasswordJob;
use crate::stop::Stop;
use policy::password::{self, Cost};
use policy::{Right, VerifiedCache};
use protocol::{CompareRequest, ResultCode};
use schema::{Name, Truth, ValueSource};

/// How a compare goes on.
pub(crate) enum Outcome {
    True,
    False,
    /// The password's hash is slow: check it elsewhere, then come back.
    Check(PasswordJob),
}

/// Decides a compare request.
pub(crate) fn compare(
    context: &Context<'_>,
    verified: &VerifiedCache,
    now_ms: u64,
    request: &CompareRequest<'_>,
    controls: &Controls<'_>,
) -> Result<Outcome, Stop> {
    let catalog = context.catalog;
    let name = super::resolve_name(&catalog.schema, request.entry)?;
    let description = values::describe(&catalog.schema, request.attribute)?;
    let refers = catalog.has_referrals && !controls.manage_dsa_it;
    let id = match context.find(&name)? {
        Place::Found(id) => {
            if refers {
                referral::refuse_if_referral(context, id, request.entry, None)?;
            }
            id
        }
        Place::Missing { matched, depth } => {
            if let Some(above) = matched.filter(|_| refers) {
                referral::refuse_if_referral(context, above, request.entry, Some(depth))?;
            }
            return Err(context.no_such_object(matched)?.into());
        }
    };
    context.require(Right::Compare, &name, Some(description.type_id))?;
    if let Some(condition) = controls.assertion {
        assertion::require(context, id, condition)?;
    }
    if description.type_id == catalog.known.user_password.type_id {
        return compare_password(context, verified, now_ms, id, request.value);
    }
    let Some(entry) = context.entry(id)? else {
        return Err(context.no_such_object(None)?.into());
    };
    if context.reach_of(description.type_id).is_some() {
        context.require_groups(request.attribute)?;
    }
    let filter = catalog.schema.resolve_filter(&protocol::Filter::Equality {
        attribute: request.attribute,
        value: request.value,
    });
    if let schema::Filter::Undefined(reason) = &filter {
        return Stop::refuse(ResultCode::INAPPROPRIATE_MATCHING, reason.clone());
    }
    let mut exists = false;
    for number in catalog.schema.selected_numbers(&description) {
        exists |= entry.any_value(number, &mut |_| true).is_some();
    }
    exists |= entry
        .any_virtual(description.type_id, &mut |_| true)
        .is_some();
    if !exists
        && description.type_id == catalog.computed.member
        && entry.has_class(DYNAMIC_GROUP_CLASS)
        && let schema::Filter::Equality(member) = &filter
    {
        return compare_member(context, id, &Name::from_bytes(&member.normal));
    }
    if !exists {
        return Stop::refuse(
            ResultCode::NO_SUCH_ATTRIBUTE,
            format!("the entry has no {}", request.attribute),
        );
    }
    let mut scratch = Vec::new();
    Ok(
        match filter.evaluate(&catalog.schema, &entry, &mut scratch) {
            Truth::True => Outcome::True,
            _ => Outcome::False,
        },
    )
}

/// A dynamic group has the members it shows.
fn compare_member(
    context: &Context<'_>,
    group: store::EntryId,
    member: &Name,
) -> Result<Outcome, Stop> {
    let is_member = match context.find(member)? {
        Place::Found(id) => context.is_dynamic_member(group, id)?,
        Place::Missing { .. } => false,
    };
    Ok(if is_member {
        Outcome::True
    } else {
        Outcome::False
    })
}

fn compare_password(
    context: &Context<'_>,
    verified: &VerifiedCache,
    now_ms: u64,
    id: store::EntryId,
    given: &[u8],
) -> Result<Outcome, Stop> {
    let stored = bind::stored_passwords(context, id)?;
    if stored.is_empty() {
        return Stop::refuse(
            ResultCode::NO_SUCH_ATTRIBUTE,
            "the entry has no userPassword",
        );
    }
    let mut slow = Vec::new();
    for value in stored {
        let tag = || verified.tag(id.0, value, given);
        match password::cost(value) {
            _ if value == given => return Ok(Outcome::True),
            Cost::Fast if password::verify(value, given) => return Ok(Outcome::True),
            Cost::Fast => {}
            Cost::Slow if verified.contains(tag(), now_ms) => return Ok(Outcome::True),
            Cost::Slow => slow.push(value.to_vec()),
        }
    }
    if slow.is_empty() {
        return Ok(Outcome::False);
    }
    Ok(Outcome::Check(PasswordJob {
        entry: id.0,
        stored: slow,
        given: given.to_vec(),
        purpose: CheckPurpose::Compare,
    }))
}
