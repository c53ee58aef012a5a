//! The call of a search, and its request.

use crate::account::subject_limits;
use crate::call::Call;
use crate::control::Controls;
use crate::session::Session;
use policy::{Subject, SubjectLimits};
use protocol::{Message, SearchRequest};
use state::stop::Stop;
use std::ops::Deref;

/// Maximum size in bytes of the buffer that one search leaves to the next.
const SCRATCH_BYTES_MAX: usize = 64 * 1024;

/// State of a search after a slice.
pub(crate) enum Step {
    /// The final result is in the output.
    Finished,
    /// The search continues in another slice.
    Parked,
}

/// The call of a search: the call, its session and the limits of its subject.
#[derive(Clone, Copy)]
pub(crate) struct SearchCall<'n> {
    pub call: &'n Call<'n>,
    pub session: &'n Session,
    pub limits: SubjectLimits,
}

impl<'n> Deref for SearchCall<'n> {
    type Target = Call<'n>;

    fn deref(&self) -> &Call<'n> {
        self.call
    }
}

/// A search request with its controls.
#[derive(Clone, Copy)]
pub(crate) struct Query<'q> {
    pub message: &'q Message<'q>,
    pub request: &'q SearchRequest<'q>,
    pub controls: &'q Controls<'q>,
    /// First beginning of a search that is begun again, in microseconds; else `None`.
    pub began_us: Option<u64>,
}

impl Query<'_> {
    /// Whether the client asks for pages.
    pub fn is_paged(&self) -> bool {
        self.controls.page.is_some()
    }
}

impl<'n> SearchCall<'n> {
    /// The call of a search that acts as `subject`: by proxied authorization, or as the session's
    /// own subject.
    #[inline(always)]
    pub fn of(
        call: &'n Call<'n>,
        session: &'n Session,
        subject: &Subject,
        is_proxied: bool,
    ) -> Result<SearchCall<'n>, Stop> {
        let limits = match is_proxied {
            false => session.limits,
            true => subject_limits::of(call, subject)?,
        };
        Ok(SearchCall {
            call,
            session,
            limits,
        })
    }

    /// The present time in seconds of Unix time.
    pub fn now_s(&self) -> i64 {
        (self.lent.clock.now_us() / 1_000_000) as i64
    }

    /// A cookie or context id as it is sent: in a cluster, it names the position of the state that
    /// the search has seen.
    pub fn sent_cookie(&self, made: Vec<u8>) -> Result<Vec<u8>, Stop> {
        if !self.shared.replica.is_of_cluster() {
            return Ok(made);
        }
        let position = self.snapshot.position()?;
        Ok(self.cookie_key.positioned(&made, position))
    }

    /// Returns the buffer for the next search, unless it grew too large.
    pub fn give_back(&self, scratch: Vec<u8>) {
        if scratch.capacity() <= SCRATCH_BYTES_MAX {
            self.scratch.replace(scratch);
        }
    }
}
