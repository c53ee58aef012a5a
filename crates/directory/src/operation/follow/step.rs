//! Runs slices of a following search.

use crate::account::authentication;
use crate::call::Call;
use crate::context::Context;
use crate::control::proxy;
use crate::operation::follow::follower::{Followed, Follower, Stage};
use crate::search::call::SearchCall;
use crate::search::large::Gone;
use crate::search::slice::Slice;
use crate::session::Session;
use policy::Limit;
use protocol::ResultCode;
use state::progress::Progress;
use state::stop::Stop;
use store::Candidates;

/// Runs the next slice of a search that follows the directory.
pub(crate) fn follow(
    call: &Call<'_>,
    session: &Session,
    follower: &mut Follower,
    out: &mut Vec<u8>,
) -> Result<Followed, Stop> {
    let subject = follower.subject(session);
    authentication::require(call.catalog, session, &subject, None)?;
    proxy::require_still(call, &session.subject, &subject)?;
    let context = call.context(&subject);
    // A follower looked up its own limits when it began.
    let call = &SearchCall {
        call,
        session,
        limits: session.limits,
    };
    follower.step(&context, call, out)
}

impl Follower {
    /// Runs one slice, and counts the memory that is kept until the next.
    fn step(
        &mut self,
        context: &Context<'_>,
        call: &SearchCall<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Followed, Stop> {
        let followed = self.run(context, call, out)?;
        if followed != Followed::Ended {
            self.count_memory()?;
        }
        Ok(followed)
    }

    fn count_memory(&mut self) -> Result<(), Stop> {
        let candidates = match &self.stage {
            Stage::Scan(scan) => scan.candidates.as_ref(),
            Stage::Delta { .. } | Stage::Persist => None,
        };
        let candidates = candidates.map_or(0, Candidates::bytes);
        let members = self.members.serialized_size() as u64;
        self.memory.set(members + candidates)
    }

    /// Runs one slice.
    fn run(
        &mut self,
        context: &Context<'_>,
        call: &SearchCall<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Followed, Stop> {
        if let Some(followed) = self.send_large(context, call, out)? {
            return Ok(followed);
        }
        if !self.asked.schema.is_same(&context.catalog.schema)
            && let Progress::Yield = self.resolve_again(context, call)?
        {
            return Ok(Followed::More);
        }
        let mut slice = Slice::new(out);
        loop {
            let done = match self.stage {
                Stage::Scan(_) => self.scan(context, &mut slice, out)?,
                Stage::Delta { .. } => self.delta(context, &mut slice, out)?,
                Stage::Persist => return self.persist(context, &mut slice, out),
            };
            if let Some(ended) = done {
                return Ok(ended);
            }
            if self.large.is_some() || slice.is_over() || slice.is_full(out) {
                self.check_time(call)?;
                return Ok(Followed::More);
            }
        }
    }

    /// Continues an entry that is sent in parts; `None` if there is none.
    fn send_large(
        &mut self,
        context: &Context<'_>,
        call: &SearchCall<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Option<Followed>, Stop> {
        let Some(mut large) = self.large.take() else {
            return Ok(None);
        };
        match large.step(context, None, out)? {
            Gone::NotYet => {}
            Gone::Sent => {
                self.sent += 1;
                return Ok(None);
            }
            // The deletion is reported at its own change.
            Gone::Vanished => return Ok(None),
        }
        let inside = large.is_inside();
        self.large = Some(large);
        if inside {
            return Ok(Some(Followed::Inside));
        }
        if !self.is_persisting() {
            self.check_time(call)?;
        }
        Ok(Some(Followed::More))
    }

    /// The time limit applies to the refresh (RFC 4533 §3.5.4).
    fn check_time(&mut self, call: &SearchCall<'_>) -> Result<(), Stop> {
        let now = call.lent.clock.now_us();
        let began = *self.began_us.get_or_insert(now);
        let limit = self.time_ms_max;
        if limit != 0 && now.saturating_sub(began) > limit * 1_000 {
            Limit::SearchTime.count();
            return Stop::refuse(
                ResultCode::TIME_LIMIT_EXCEEDED,
                format!("the time limit of {limit} ms is used up before the refresh has ended"),
            );
        }
        Ok(())
    }
}
