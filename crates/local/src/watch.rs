//! Searches that follow the directory (RFC 4533, draft-ietf-ldapext-psearch-03).

use crate::{Answer, LocalClient, LocalError};
use directory::{Followed, Follower};
use protocol::{MessageId, OwnedControl, Request, SearchRequest};
use std::time::{Duration, Instant};

/// A search that follows the directory. Dropping it ends the search.
#[derive(Debug)]
pub struct Watch {
    follower: Box<Follower>,
    /// How the last slice ended; `More` before the first.
    followed: Followed,
}

/// Messages of a search that follows the directory.
#[derive(Debug)]
pub struct News {
    /// The messages; empty if no change was reported in time.
    pub answer: Answer,
    /// `CaughtUp`, or `Ended` with the result in the answer, or `Broken` when the client is closed.
    pub followed: Followed,
}

impl Watch {
    pub(super) fn new(follower: Box<Follower>) -> Watch {
        Watch {
            follower,
            followed: Followed::More,
        }
    }

    fn id(&self) -> MessageId {
        self.follower.message_id()
    }
}

impl LocalClient {
    /// Begins a search that follows the directory, with the control that asks for it, and returns
    /// the content of its refresh. The watch is `None` if the search has ended, with its result in
    /// the answer: it was refused, or refreshes only.
    ///
    /// # Errors
    /// The errors of [`request`](Self::request).
    pub fn follow(
        &mut self,
        request: SearchRequest<'_>,
        controls: &[OwnedControl],
    ) -> Result<(Option<Watch>, Answer), LocalError> {
        let mut call = self.begin(&Request::Search(request), controls)?;
        self.finish(&mut call)?;
        let mut watch = call.take_watch();
        let mut responses = call.into_responses();
        if let Some(begun) = &mut watch
            && self.catch_up(begun, &mut responses) != Followed::CaughtUp
        {
            watch = None;
        }
        Ok((watch, Answer::decode(&responses)?))
    }

    /// The next messages of a search that follows the directory, for which it waits at most
    /// `within`. `Duration::ZERO` returns the messages for changes so far.
    ///
    /// # Errors
    /// `Closed` if the client is closed, and `Response`.
    pub fn news(&mut self, watch: &mut Watch, within: Duration) -> Result<News, LocalError> {
        let deadline = Instant::now().checked_add(within);
        let (id, mut responses) = (watch.id(), Vec::new());
        loop {
            if self.closed {
                return Err(LocalError::Closed);
            }
            // Calls that have arrived are about commits that the next snapshot contains.
            self.inbox.retain(|it| it.news() != Some(id));
            let followed = self.catch_up(watch, &mut responses);
            let waits = followed == Followed::CaughtUp && responses.is_empty();
            if !waits || !self.inbox.wait(deadline, |it| it.news() == Some(id)) {
                let answer = Answer::decode(&responses)?;
                return Ok(News { answer, followed });
            }
        }
    }

    /// Runs slices of a search that follows the directory until everything is sent or the search
    /// has ended, and appends its messages to `responses`.
    pub fn catch_up(&mut self, watch: &mut Watch, responses: &mut Vec<u8>) -> Followed {
        loop {
            let followed = self.follow_slice(watch, responses);
            if !matches!(followed, Followed::More | Followed::Inside) {
                return followed;
            }
        }
    }

    /// Runs the next slice of a search that follows the directory, and appends its messages to
    /// `responses`. Does nothing if the search has ended.
    pub fn follow_slice(&mut self, watch: &mut Watch, responses: &mut Vec<u8>) -> Followed {
        if !matches!(watch.followed, Followed::Ended | Followed::Broken) {
            let follower = &mut watch.follower;
            watch.followed = self.worker.follow(&mut self.session, follower, responses);
            self.worker.release_snapshot();
            self.closed |= watch.followed == Followed::Broken;
        }
        watch.followed
    }
}
