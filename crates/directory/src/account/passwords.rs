//! Checks of passwords in any request: the connection they may come over, their number, their
//! length, and the work of verifying them. Policies are checked elsewhere.

use crate::context::{Context, VisibleEntry};
use crate::peer::Peer;
use policy::password;
use protocol::{ChangeOperation, ResultCode};
use schema::TypeId;
use state::passwords::refuse_many;
use state::stop::Stop;
use state::write::{Change, Given, Write};
use store::EntryId;

/// Refuses a password that others on the network could read, unless the settings allow it.
pub(crate) fn refuse_exposed(peer: &Peer) -> Result<(), Stop> {
    match peer.exposed {
        true => Stop::refuse(
            ResultCode::CONFIDENTIALITY_REQUIRED,
            "expected TLS before a password; use StartTLS or ldaps://",
        ),
        false => Ok(()),
    }
}

/// Refuses a write with passwords over an unprotected connection or of a form that must not be
/// stored, and makes execution check their number in the entry.
pub(crate) fn check(
    peer: &Peer,
    administrator: bool,
    write: &mut Write,
    password_type: TypeId,
) -> Result<(), Stop> {
    let (mut touched, mut new) = (false, 0);
    for (stored, given) in given(&write.change) {
        if given.description.type_id != password_type {
            continue;
        }
        touched = true;
        if !given.values.is_empty() {
            refuse_exposed(peer)?;
        }
        if !stored {
            continue;
        }
        new += given.values.len();
        refuse_many(new)?;
        for value in &given.values {
            if let Err(excess) = password::check(value) {
                let text = format!("userPassword: {excess}");
                return Stop::refuse(ResultCode::CONSTRAINT_VIOLATION, text);
            }
        }
    }
    if touched {
        let options = write.options.get_or_insert_default();
        options.administrator = administrator;
        options.counts_passwords = true;
    }
    Ok(())
}

/// The values a change brings, and whether they are to be stored.
fn given(change: &Change) -> Box<dyn Iterator<Item = (bool, &Given)> + '_> {
    match change {
        Change::Add(addition) => Box::new(addition.attributes.iter().map(|it| (true, it))),
        Change::Modify(changes) => Box::new(
            changes
                .iter()
                .map(|it| (it.operation != ChangeOperation::Delete, &it.given)),
        ),
        Change::Delete
        | Change::Rename(_)
        | Change::Reclaim(_)
        | Change::Attempts(_)
        | Change::Level(_)
        | Change::Audit(_) => Box::new(std::iter::empty()),
    }
}

/// The stored values of userPassword; empty if there is none.
pub(crate) fn stored_passwords<'c>(
    context: &'c Context<'_>,
    id: EntryId,
) -> Result<Vec<&'c [u8]>, Stop> {
    let entry = context.reached(id)?;
    Ok(entry.map_or_else(Vec::new, |it| passwords_of(&it)))
}

pub(crate) fn passwords_of<'c>(entry: &VisibleEntry<'_, 'c>) -> Vec<&'c [u8]> {
    let attribute = entry.internal(entry.catalog().known.user_password.number);
    attribute.map_or_else(Vec::new, |it| it.values().into_iter().collect())
}
