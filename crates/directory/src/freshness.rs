//! Requests that wait until this node shows as much as their client asks for: every write that any
//! node of the cluster acknowledged (Don't Use Copy, RFC 6171), a position, or what another node
//! has shown in a search that goes on here by a cookie.
//!
//! A request that has to wait is executed anew afterwards, from its beginning. A node alone shows
//! every acknowledged write at once, so none of its requests waits.

use crate::arrival::Arrival;
use crate::completion::{Completion, Finished, Mailbox};
use crate::directory_state::DirectoryState;
use crate::session::Session;
use protocol::control::{PagedResults, Position, SyncRequest, VirtualListViewRequest};
use protocol::{Message, Request, ResultCode, oid};
use replica::Arrived;
use state::history;
use state::history::sync_cookie::{self, Held};
use state::stop::Stop;
use std::sync::Arc;
use std::time::{Duration, Instant};
use store::Snapshot;

/// Time that a request waits at most; a search with a shorter time limit waits that long.
const WAIT_MAX: Duration = Duration::from_secs(5);

/// Whether a request may have to wait because of a control.
pub(crate) fn may_wait_for(shared: &DirectoryState, control: &str) -> bool {
    match control {
        oid::DONT_USE_COPY | oid::POSITION => true,
        oid::PAGED_RESULTS | oid::SYNC_REQUEST | oid::VIRTUAL_LIST_VIEW_REQUEST => {
            shared.replica.is_of_cluster()
        }
        _ => false,
    }
}

/// Whether the request has to wait. Then a completion is delivered at the end of the wait, and the
/// request is executed again. `newest` is the newest snapshot of this node.
///
/// # Errors
/// The wait has ended in vain, and the client insists on Don't Use Copy or goes on by a cookie. The
/// database cannot be read.
pub(crate) fn postpone(
    shared: &DirectoryState,
    mailbox: &Arc<dyn Mailbox>,
    newest: &Snapshot<'_>,
    session: &mut Session,
    message: &Message<'_>,
) -> Result<bool, Stop> {
    let asks_for = |oid| message.controls.iter().find(|it| it.oid == oid);
    if !shared.replica.is_of_cluster() {
        return Ok(false);
    }
    let no_copy = asks_for(oid::DONT_USE_COPY);
    let ahead = ahead(shared, newest, message)?;
    if let Some(arrival) = session.arrival.take().filter(|it| it.id == message.id) {
        let insists = no_copy.is_some_and(|it| it.critical);
        return match (arrival.outcome, ahead) {
            (Err(reason), _) if insists => Stop::refuse(ResultCode::UNAVAILABLE, reason),
            (Err(reason), Some(_)) => Stop::refuse(
                ResultCode::UNAVAILABLE,
                format!("the cookie is of a state that this server has yet to reach: {reason}"),
            ),
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
    match ahead {
        Some(Ahead::Moment) => {
            shared.replica.fence(until, told(mailbox, session, message));
            return Ok(true);
        }
        Some(Ahead::Position(position)) => {
            let then = told(mailbox, session, message);
            shared.replica.wait_for(position, until, then);
            return Ok(true);
        }
        None => {}
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

/// A state ahead of this node's, from which a cookie is to go on.
enum Ahead {
    /// A moment, as a synchronisation cookie has it. Only the end of the log tells whether this
    /// node will come to it.
    Moment,
    /// A position.
    Position(u64),
}

/// The state from which the request is to go on, if this node has yet to reach it. Cookies that are
/// malformed, or none of this directory, are left to the search.
fn ahead(
    shared: &DirectoryState,
    newest: &Snapshot<'_>,
    message: &Message<'_>,
) -> Result<Option<Ahead>, Stop> {
    if !matches!(message.request, Request::Search(_)) {
        return Ok(None);
    }
    for control in &message.controls {
        let Some(value) = control.value else { continue };
        let seen = match control.oid {
            oid::SYNC_REQUEST => {
                let asked = SyncRequest::decode(value).ok();
                if let Some((Held::Moment(held), _)) = asked.map(|it| sync_cookie::parse(it.cookie))
                    && held > history::newest(newest)?
                {
                    return Ok(Some(Ahead::Moment));
                }
                None
            }
            oid::PAGED_RESULTS => {
                let asked = PagedResults::decode(value).ok();
                asked.and_then(|it| shared.cookie_key.position_of(it.cookie))
            }
            oid::VIRTUAL_LIST_VIEW_REQUEST => {
                let asked = VirtualListViewRequest::decode(value).ok();
                let context = asked.and_then(|it| it.context_id);
                context.and_then(|it| shared.cookie_key.position_of(it))
            }
            _ => None,
        };
        if let Some(position) = seen
            && position > newest.position()?
        {
            return Ok(Some(Ahead::Position(position)));
        }
    }
    Ok(None)
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
