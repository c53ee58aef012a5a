//! Requests that wait until this node shows as much as their client asks for: every write that any
//! node of the cluster acknowledged (Don't Use Copy, RFC 6171), or a position.
//!
//! A request that has to wait is executed anew afterwards, from its beginning. A node alone shows
//! every acknowledged write at once, so none of its requests waits.

use crate::arrival::Arrival;
use crate::completion::{Completion, Finished, Mailbox};
use crate::directory_state::DirectoryState;
use crate::session::Session;
use protocol::control::Position;
use protocol::{Message, Request, ResultCode, oid};
use replica::Arrived;
use state::stop::Stop;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Time that a request waits at most; a search with a shorter time limit waits that long.
const WAIT_MAX: Duration = Duration::from_secs(5);

/// Whether the request has to wait. Then a completion is delivered at the end of the wait, and the
/// request is executed again.
///
/// # Errors
/// The wait has ended in vain, and the client insists on Don't Use Copy.
pub(crate) fn postpone(
    shared: &DirectoryState,
    mailbox: &Arc<dyn Mailbox>,
    session: &mut Session,
    message: &Message<'_>,
) -> Result<bool, Stop> {
    let asks_for = |oid| message.controls.iter().find(|it| it.oid == oid);
    if !shared.replica.is_of_cluster() {
        return Ok(false);
    }
    let no_copy = asks_for(oid::DONT_USE_COPY);
    if let Some(arrival) = session.arrival.take().filter(|it| it.id == message.id) {
        let insists = no_copy.is_some_and(|it| it.critical);
        return match arrival.outcome {
            Err(reason) if insists => Stop::refuse(ResultCode::UNAVAILABLE, reason),
            // A position that was not reached is refused by its control.
            _ => Ok(false),
        };
    }
    let until = Instant::now() + patience(&message.request);
    if let Some(control) = no_copy {
        // Who merely wishes for it gets the copy at once where nothing else is to be had.
        if !control.critical && shared.replica.is_log_silent() {
            return Ok(false);
        }
        shared.replica.fence(until, told(mailbox, session, message));
        return Ok(true);
    }
    let value = asks_for(oid::POSITION).and_then(|it| it.value);
    match value.map(Position::decode) {
        Some(Ok(it)) if it.log == shared.log => {
            let then = told(mailbox, session, message);
            shared.replica.wait_for(it.position, until, then);
            Ok(true)
        }
        // The control itself refuses a value that is malformed or of another directory.
        _ => Ok(false),
    }
}

fn patience(request: &Request<'_>) -> Duration {
    let limit = match request {
        Request::Search(it) if it.time_limit_s > 0 => u64::from(it.time_limit_s),
        _ => return WAIT_MAX,
    };
    Duration::from_secs(limit).min(WAIT_MAX)
}

/// Delivers the end of the wait to the serving thread of the session.
fn told(mailbox: &Arc<dyn Mailbox>, session: &Session, message: &Message<'_>) -> Arrived {
    let (mailbox, session, id) = (Arc::clone(mailbox), session.id, message.id);
    Box::new(move |outcome| {
        let arrival = Box::new(Arrival { id, outcome });
        mailbox.deliver(vec![Completion {
            session,
            id,
            what: Finished::Arrived(arrival),
        }]);
    })
}
