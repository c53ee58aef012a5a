//! Delete (RFC 4511 §4.8): resolves the request into a [`Write`].

use crate::context::Context;
use crate::control::Controls;
use protocol::{DeleteRequest, ResultCode};
use state::permit;
use state::stop::Stop;
use state::write::{Change, Write};

/// Resolves a delete request; whether the entry is a leaf is left to execution.
pub(crate) fn resolve(
    context: &Context<'_>,
    request: &DeleteRequest<'_>,
    controls: &Controls<'_>,
) -> Result<Write, Stop> {
    let name = super::resolve_name(&context.catalog.schema, request.entry)?;
    if name.depth() == 0 {
        return Stop::refuse(
            ResultCode::UNWILLING_TO_PERFORM,
            "the root DSE cannot be deleted",
        );
    }
    super::refuse_unheld(context.catalog, &name, request.entry)?;
    controls.require_rights(context, &name)?;
    let options = controls.write_options(context, &name)?;
    Ok(Write {
        grant: permit::of_deletion(context, name)?,
        spelled: request.entry.to_owned(),
        manage_dsa_it: controls.manage_dsa_it,
        options,
        change: Change::Delete,
    })
}
