//! Extended operation that makes the server read its settings again (docs/reference/oids.md), for
//! the administrator. The value of the response lists the names of changed settings, as text.

use crate::call::Call;
use crate::context::Context;
use crate::operation::extended::write_success;
use policy::access::words::Use;
use protocol::{MessageId, ResultCode, oid};
use schema::Name;
use state::stop::Stop;

/// Asks the listener to read the settings again.
pub(crate) fn reload(
    call: &Call<'_>,
    context: &Context<'_>,
    id: MessageId,
    out: &mut Vec<u8>,
) -> Result<(), Stop> {
    let refused = "only the administrator may have the settings read again";
    context.require_use(Use::Reload, &Name::root(), refused)?;
    let unwilling = ResultCode::UNWILLING_TO_PERFORM;
    let Some(front) = call.shared.monitor.front() else {
        return Stop::refuse(unwilling, "nothing listens for clients here");
    };
    let set_limits = |limits: &_, rules: &[_]| call.shared.set_limits(limits, rules);
    match front.reload(&set_limits) {
        Ok(report) => {
            write_success(out, id, Some(oid::RELOAD), Some(report.as_bytes()));
            Ok(())
        }
        Err(text) => Stop::refuse(unwilling, text),
    }
}
