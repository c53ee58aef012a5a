//! State of the server and the connection that a bind needs.

use crate::account::check::TriedPassword;
use crate::call::Call;
use crate::feed::Feed;
use crate::peer::Peer;
use crate::ticket::Ticket;
use policy::{Guesses, Limit, PasswordSettings, Scheme, Trial, VerifiedCache};
use protocol::ResultCode;
use replica::Replica;
use spool::cookie::CookieKey;
use state::stop::Stop;
use std::time::Duration;

/// State of the server and the connection that a bind needs.
pub(crate) struct BindState<'d> {
    pub peer: &'d Peer,
    pub verified: &'d VerifiedCache,
    /// Cache of wrong passwords that were counted within the last day.
    pub wrong: &'d VerifiedCache,
    /// Limits on wrong passwords.
    pub guesses: &'d Guesses,
    pub replica: &'d Replica<Ticket>,
    pub feed: &'d Feed,
    /// Treatment of passwords.
    pub passwords: PasswordSettings,
    /// Scheme of the keys that are stored beside the hash of a new password; `None` for none.
    pub verifiers: Option<Scheme>,
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
            guesses: &call.shared.guesses,
            replica: &call.shared.replica,
            feed: &call.shared.feed,
            passwords: call.catalog.passwords,
            verifiers: call.catalog.verifiers(),
            cookie_key: call.cookie_key,
            now_us: call.lent.clock.now_us(),
        }
    }

    /// Begins to try a password for an account, given by any name of its own.
    ///
    /// # Errors
    /// `busy`: too many wrong passwords were tried on it, or from the client's address.
    pub fn trial(&self, account: &[u8]) -> Result<Trial, Stop> {
        let (address, now_ms) = (self.peer.address, self.now_us / 1_000);
        self.guesses
            .trial(account, address, now_ms)
            .or_else(throttled)
    }

    /// Asks once more for a trial that took some time, before its password is verified.
    ///
    /// # Errors
    /// As for [`BindState::trial`].
    pub fn again(&self, trial: &mut Trial) -> Result<(), Stop> {
        let asked = self.guesses.again(trial, self.now_us / 1_000);
        asked.or_else(throttled)
    }

    /// Counts a password of a compare or a change of the password, which is right or wrong.
    pub fn settle(&self, tried: &TriedPassword, right: bool) {
        match right {
            true => self.was_right(&tried.trial),
            false => self.was_wrong(&tried.trial, &tried.given),
        }
    }

    /// Counts a right password.
    #[inline]
    pub fn was_right(&self, trial: &Trial) {
        self.guesses.succeeded(trial, self.now_us / 1_000);
    }

    /// Counts a wrong password. One that was counted within a day is not counted again: programs
    /// that have an old password try it again and again.
    #[cold]
    pub fn was_wrong(&self, trial: &Trial, given: &[u8]) {
        let now_ms = self.now_us / 1_000;
        let tag = self.wrong.tag(trial.pair(), b"counted", given);
        if !self.wrong.contains(tag, now_ms) {
            self.wrong.insert(tag, now_ms);
            self.guesses.failed(trial, now_ms);
        }
    }
}

#[cold]
fn throttled<T>(wait: Duration) -> Result<T, Stop> {
    Limit::WrongPasswords.count();
    let seconds = wait.as_millis().div_ceil(1_000);
    Stop::refuse(
        ResultCode::BUSY,
        format!("too many wrong passwords: expected the next one in {seconds} s or later"),
    )
}
