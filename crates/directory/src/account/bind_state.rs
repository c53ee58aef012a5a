//! State of the server and the connection that a bind needs.

use crate::call::Call;
use crate::peer::Peer;
use crate::ticket::Ticket;
use policy::VerifiedCache;
use policy::password::Scheme;
use replica::Replica;
use spool::cookie::CookieKey;

/// State of the server and the connection that a bind needs.
pub(crate) struct BindState<'d> {
    pub peer: &'d Peer,
    pub verified: &'d VerifiedCache,
    /// Cache of wrong passwords that were counted within the last day.
    pub wrong: &'d VerifiedCache,
    pub replica: &'d Replica<Ticket>,
    /// Scheme under which new passwords are stored.
    pub scheme: Scheme,
    /// Setting `passwords.tell_locked`: whether clients learn that an account is locked.
    pub tells_locks: bool,
    pub cookie_key: &'d CookieKey,
    pub now_us: u64,
}

impl<'d> BindState<'d> {
    /// The state for a bind of this peer.
    pub fn of(call: &'d Call<'d>, peer: &'d Peer) -> BindState<'d> {
        BindState {
            peer,
            verified: call.verified,
            wrong: &call.shared.wrong,
            replica: &call.shared.replica,
            scheme: call.shared.scheme,
            tells_locks: call.shared.tells_locks,
            cookie_key: call.cookie_key,
            now_us: call.lent.clock.now_us(),
        }
    }
}
