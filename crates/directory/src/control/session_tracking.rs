//! Session tracking (draft-wahl-ldap-session-03): a client names the session for which it acts, and
//! the server logs it.

use crate::pace::Pace;
use crate::session::Session;
use answers::request_words::clip;
use protocol::Message;
use protocol::control::SessionTracking;
use std::time::Instant;

/// Maximum number of controls logged per second, for all clients together.
static LOGGED: Pace = Pace::new(10);

/// Logs the control of a request. Its texts come from the client and are quoted, so that they
/// cannot imitate messages of the server.
#[cold]
pub(crate) fn log(session: &Session, message: &Message<'_>, client: &SessionTracking<'_>) {
    if !tracing::enabled!(tracing::Level::INFO) {
        return;
    }
    let Some(left_out) = LOGGED.admit(Instant::now()) else {
        return;
    };
    tracing::info!(
        connection = session.id,
        message = message.id,
        operation = message.request.name(),
        subject = ?session.bound_name(),
        source_address = ?clip(client.source_address),
        source_name = ?clip(client.source_name),
        format = clip(client.format),
        identifier = ?clip(client.identifier),
        left_out = (left_out > 0).then_some(left_out),
        "session tracked"
    );
}
