//! State of the server and the connection that a bind needs.

use crate::call::Call;
use crate::peer::Peer;
use crate::ticket::Ticket;
use policy::{PasswordSettings, VerifiedCache};
use replica::Replica;
use spool::cookie::CookieKey;

/// State of the server and the connection that a bind needs.
pub(crate) struct BindState<'d> {
    pub peer: &'d Peer,
    pub verified: &'d VerifiedCache,
    /// Cache of wrong passwords that were counted within the last day.
    pub wrong: &'d VerifiedCache,
    pub replica: &'d Replica<Ticket>,
    /// Treatment of passwords.
    pub passwords: PasswordSettings,
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
            passwords: call.catalog.passwords,
            cookie_key: call.cookie_key,
            now_us: call.lent.clock.now_us(),
        }
    }
}
