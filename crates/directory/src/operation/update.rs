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
    let tries = std::mem::take(&mut session.tries);
    let kind = ResultKind::of(request.tag()).expect("every write has a response");
    if let Some(identifier) = controls.transaction {
        let update = (kind, write, &Reply::default());
        transaction::queue(session, identifier, id, update, out)?;
        return Ok(Flow::Done);
    }
    let writes = Box::new(RequestWrites::One(write));
    let mut reply = Reply::default();
    controls.ask(&mut reply);
    let first_wins = |it: &Write| call.catalog.first_writer_wins(it.name());
    if context.decided_by_entry() && !writes.all().iter().any(first_wins) {
        let message = envelope.encoded.to_vec();
        reply.again = Some(Arc::new(Again { message, tries }));
    }
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
    if context.decided_by_entry() {
        // The decision is good while the entry is as it is.
        let seen = context.position()?;
        write.options.get_or_insert_default().seen = Some(seen);
    }
    Ok(Some(write))
}
