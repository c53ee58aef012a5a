//! Checks of passwords in any request: the connection they may come over, their number, their
//! length, and the work of verifying them. Policies are checked elsewhere.

use crate::session::Peer;
use crate::stop::Stop;
use crate::write::{Change, Given, Write};
use policy::password;
use protocol::{ChangeOperation, ResultCode};
use schema::{ResolvedRdn, TypeId};

/// Maximum number of values of userPassword in one entry, with options included, and of new ones in
/// one request. Each may need a verification of its own at a bind.
pub(crate) const VALUES_MAX: usize = 8;

/// Refuses a password over a connection that could be read on the way, unless the settings allow
/// it.
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

/// Refuses a password in an RDN: names are public, and their values are stored as spelled, neither
/// checked nor hashed.
pub(crate) fn refuse_in_name(rdn: &ResolvedRdn, password_type: TypeId) -> Result<(), Stop> {
    let mut types = rdn.values.iter().map(|(it, _)| it.type_id);
    match types.any(|it| it == password_type) {
        false => Ok(()),
        true => Stop::refuse(
            ResultCode::NAMING_VIOLATION,
            "userPassword: expected another attribute in a name, which everybody may read",
        ),
    }
}

/// Refuses more than [`VALUES_MAX`] values.
pub(crate) fn refuse_many(count: usize) -> Result<(), Stop> {
    if count <= VALUES_MAX {
        return Ok(());
    }
    Stop::refuse(
        ResultCode::CONSTRAINT_VIOLATION,
        format!("userPassword: expected at most {VALUES_MAX} values, got {count}"),
    )
}

/// The values of a change, and whether they are to be stored.
fn given(change: &Change) -> Box<dyn Iterator<Item = (bool, &Given)> + '_> {
    match change {
        Change::Add(addition) => Box::new(addition.attributes.iter().map(|it| (true, it))),
        Change::Modify(changes) => Box::new(
            changes
                .iter()
                .map(|it| (it.operation != ChangeOperation::Delete, &it.given)),
        ),
        Change::Delete | Change::Rename(_) | Change::Reclaim(_) | Change::Attempts(_) => {
            Box::new(std::iter::empty())
        }
    }
}
