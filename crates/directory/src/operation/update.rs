//! Resolves updates: add, delete, modify and modify DN, alone or in a stream of bulk updates.

use crate::account::new_password;
use crate::call::Call;
use crate::context::Context;
use crate::control::Controls;
use crate::operation::{add, delete, modify, modify_dn};
use crate::peer::Peer;
use protocol::Request;
use state::rules::ready;
use state::stop::Stop;
use state::write::Write;
use state::{assertion, read_entry, values};

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
    values::refuse_new_options(context, &write)?;
    ready::require_indexes(context.catalog, &write)?;
    assertion::require_indexes(context, &write)?;
    read_entry::refuse_large(context, &write)?;
    new_password::check(call, context, peer, &mut write, false)?;
    Ok(Some(write))
}
