//! Updates: add, delete, modify and modify DN, alone, in a transaction or in a stream of bulk
//! updates.

use crate::account::new_password;
use crate::call::Call;
use crate::context::Context;
use crate::control::{Controls, Envelope};
use crate::flow::Flow;
use crate::operation::{add, delete, modify, modify_dn, transaction};
use crate::peer::Peer;
use crate::reply::{Again, Reply};
use crate::request_writes::RequestWrites;
use crate::session::Session;
use protocol::{Request, ResultKind};
use state::rules::ready;
use state::stop::Stop;
use state::write::Write;
use state::{assertion, delegation, read_entry, values};
use std::sync::Arc;
use zeroize::Zeroizing;

/// Submits an update, or keeps it for the end of its transaction.
#[inline]
pub(crate) fn begin(
    call: &Call<'_>,
    context: &Context<'_>,
    session: &mut Session,
    request: &Request<'_>,
    envelope: &Envelope<'_>,
    out: &mut Vec<u8>,
) -> Result<Flow, Stop> {
    let Envelope { id, controls, .. } = *envelope;
    let write = resolve(call, context, &session.peer, request, controls)?;
    let write = write.expect("these are the updates");
    let kind = ResultKind::of(request.tag()).expect("every write has a response");
    let again = may_decide_again(context, session, &write, envelope);
    if let Some(identifier) = controls.transaction {
        let update = (kind, write, &Reply::default());
        transaction::queue(session, identifier, id, update, out)?;
        return Ok(Flow::Done);
    }
    let writes = Box::new(RequestWrites::One(write));
    let mut reply = Reply::default();
    controls.ask(&mut reply);
    reply.again = again;
    call.submit(session, id, kind, writes, reply)?;
    Ok(Flow::Waiting)
}

/// Resolves an update; `None` if the request is no update.
pub(crate) fn resolve(
    call: &Call<'_>,
    context: &Context<'_>,
    peer: &Peer,
    request: &Request<'_>,
    controls: &Controls<'_>,
) -> Result<Option<Write>, Stop> {
    let mut write = match request {
        Request::Modify(it) => modify::resolve(context, it, controls)?,
        Request::Add(it) => add::resolve(context, it, controls, call.lent.clock)?,
        Request::Delete(it) => delete::resolve(context, it, controls)?,
        Request::ModifyDn(it) => modify_dn::resolve(context, it, controls)?,
        _ => return Ok(None),
    };
    delegation::guard(context, &mut write)?;
    values::refuse_new_options(context, &write)?;
    values::refuse_later_types(context, &write)?;
    ready::require_indexes(context.catalog, &write)?;
    assertion::require_indexes(context, &write)?;
    read_entry::refuse_large(context, &write)?;
    new_password::check(call, context, peer, &mut write, None)?;
    keep_to_decision(context, &mut write)?;
    Ok(Some(write))
}

/// Lets a write be executed only while its entry is as it was when values of it decided about
/// access.
pub(crate) fn keep_to_decision(context: &Context<'_>, write: &mut Write) -> Result<(), Stop> {
    if context.decided_by_entry() {
        let seen = context.position()?;
        write.options.get_or_insert_default().seen = Some(seen);
    }
    Ok(())
}

/// The request, if it is decided again where its write comes too late.
pub(crate) fn may_decide_again(
    context: &Context<'_>,
    session: &mut Session,
    write: &Write,
    envelope: &Envelope<'_>,
) -> Option<Arc<Again>> {
    let tries = std::mem::take(&mut session.tries);
    // Where the first writer wins, the client has to decide.
    let is_silent = !context.catalog.first_writer_wins(write.name());
    (context.decided_by_entry() && is_silent).then(|| {
        let message = Zeroizing::new(envelope.encoded.to_vec());
        Arc::new(Again { message, tries })
    })
}
