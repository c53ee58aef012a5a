//! Transactions (RFC 5805): their start, their updates, and their end.
//!
//! An update is resolved when it is received, so that errors are reported at once, and waits in the
//! session. The end hands all updates of the transaction to the writer as one unit.

use crate::account::check::PasswordChange;
use crate::call::Call;
use crate::completion::Settled;
use crate::control::{Controls, proxy};
use crate::operation::extended::write_success;
use crate::reply::{Reply, write_response};
use crate::request_writes::RequestWrites;
use crate::session::Session;
use policy::Subject;
use protocol::extended::{EndTransactionRequest, EndTransactionResponse, UpdateControls};
use protocol::{
    Control, LdapResult, MessageId, OwnedControl, ResultCode, ResultKind, oid, response,
};
use state::stop::Stop;
use state::write::Write;
use std::rc::Rc;

/// Handles Start Transaction (RFC 5805 §2.1). A value is the identifier that the client chose.
pub(crate) fn start(
    session: &mut Session,
    subject: &Rc<Subject>,
    id: MessageId,
    chosen: Option<&[u8]>,
    out: &mut Vec<u8>,
) -> Result<(), Stop> {
    let limits = *session.limits;
    let identifier = match chosen {
        Some(chosen) => {
            let started = session
                .transactions
                .made()
                .start_chosen(chosen, subject, &limits);
            started.map(|()| chosen.into())?
        }
        None => session.transactions.made().start(subject, &limits)?,
    };
    write_success(out, id, None, Some(&identifier));
    Ok(())
}

/// The subject of a transaction's updates. The first update with an identifier chosen by the client
/// begins its transaction.
pub(crate) fn subject(session: &mut Session, identifier: &[u8]) -> Result<Rc<Subject>, Stop> {
    let limits = *session.limits;
    let own = Rc::clone(&session.subject);
    let transaction = session
        .transactions
        .made()
        .of_update(identifier, &own, &limits)?;
    Ok(Rc::clone(&transaction.subject))
}

/// Adds an update to its transaction and writes the response.
pub(crate) fn queue(
    session: &mut Session,
    identifier: &[u8],
    id: MessageId,
    update: (ResultKind, Write, &Reply),
    out: &mut Vec<u8>,
) -> Result<(), Stop> {
    let limits = *session.limits;
    let (kind, write, reply) = update;
    refuse_rehearsal(&write)?;
    session
        .transactions
        .made()
        .add(identifier, id, Some(write), &limits, &session.buffers)?;
    write_response(out, id, kind, &LdapResult::success().into(), reply);
    Ok(())
}

/// Reserves the place of a Password Modify whose old password must be verified first.
pub(crate) fn queue_unchecked(
    session: &mut Session,
    identifier: &[u8],
    id: MessageId,
    change: &mut PasswordChange,
) -> Result<(), Stop> {
    let limits = *session.limits;
    refuse_rehearsal(&change.write)?;
    session
        .transactions
        .made()
        .add(identifier, id, None, &limits, &session.buffers)?;
    change.transaction = Some(identifier.into());
    Ok(())
}

/// Refuses a no-op update: a transaction's updates are all executed or none.
fn refuse_rehearsal(write: &Write) -> Result<(), Stop> {
    if write.is_rehearsal() {
        return Stop::refuse(
            ResultCode::UNWILLING_TO_PERFORM,
            "an update of a transaction cannot be a no-op",
        );
    }
    Ok(())
}

/// Handles End Transaction (RFC 5805 §2.3). Returns whether the writer has to be waited for.
pub(crate) fn end(
    call: &Call<'_>,
    session: &mut Session,
    id: MessageId,
    request: &EndTransactionRequest<'_>,
    controls: &Controls<'_>,
    out: &mut Vec<u8>,
) -> Result<bool, Stop> {
    let own = Rc::clone(&session.subject);
    let may = |acting: &Subject| match request.commit {
        true => proxy::require_still(call, &own, acting),
        false => Ok(()),
    };
    let (writes, ids) = session.transactions.made().end(request.identifier, may)?;
    if !request.commit || writes.is_empty() {
        // Nothing is written, so the result has no position.
        response::write_result(out, id, ResultKind::Extended, &LdapResult::success(), &[]);
        return Ok(false);
    }
    let writes = Box::new(RequestWrites::Transaction { writes, ids });
    let mut reply = Reply::default();
    controls.ask(&mut reply);
    call.submit(session, id, ResultKind::Extended, writes, reply)?;
    Ok(true)
}

/// Writes the response of an executed transaction: the refused update, or the response controls of
/// the updates (RFC 5805 §2.3).
pub(crate) fn write_end(out: &mut Vec<u8>, id: MessageId, settled: &Settled) {
    let Settled {
        result,
        failed,
        controls,
        own,
    } = settled;
    let updates = controls.iter().filter(|(_, controls)| !controls.is_empty());
    let response = EndTransactionResponse {
        message_id: *failed,
        updates_controls: updates
            .map(|(message_id, controls)| UpdateControls {
                message_id: *message_id,
                controls: controls.iter().map(OwnedControl::as_control).collect(),
            })
            .collect(),
    };
    let mut value = Vec::new();
    let is_empty = response == EndTransactionResponse::default();
    if !is_empty {
        response.encode(&mut value);
    }
    let value = (!is_empty).then_some(value.as_slice());
    response::write_extended_result(out, id, result, None, value, own);
}

/// Aborts the transaction that a refused request names: a client that does not wait for responses
/// must not commit a part of its updates.
pub(crate) fn refused(
    session: &mut Session,
    controls: &[Control<'_>],
    why: &LdapResult,
    out: &mut Vec<u8>,
) {
    for control in controls {
        if control.oid == oid::TRANSACTION_SPECIFICATION {
            let identifier = control.value.unwrap_or_default();
            session.transactions.made().abort(identifier, why, out);
        }
    }
}

/// Refuses to cancel an update that waits in a transaction (RFC 3909 §2.2).
pub(crate) fn refuse_cancel(session: &Session, target: MessageId) -> Result<(), Stop> {
    let transactions = session.transactions.get();
    if transactions.is_some_and(|it| it.holds(target)) {
        return Stop::refuse(
            ResultCode::CANNOT_CANCEL,
            "the operation is part of an open transaction: abort the transaction instead",
        );
    }
    Ok(())
}
