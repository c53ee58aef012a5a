//! The state of a search between two of its slices. Holds no snapshot: the search resumes on a new
//! one, after the last id.

use crate::context::Walks;
use crate::search::sink::Sink;
use crate::search::state::Search;
use policy::Subject;
use protocol::MessageId;
use std::rc::Rc;

/// A search that continues in another slice.
#[derive(Debug)]
pub struct Cursor {
    pub(crate) id: MessageId,
    /// Subject of proxied authorization (RFC 4370); `None` for the session's own.
    pub(crate) subject: Option<Rc<Subject>>,
    /// Walks over groups that continue in the next slice.
    pub(crate) walks: Option<Box<Walks>>,
    pub(crate) stage: Stage,
}

/// The next slice of a search.
#[derive(Debug)]
pub(crate) enum Stage {
    /// Begins the search again: walks over groups used up the slice before its source was known.
    Again(Again),
    /// Continues with candidates.
    Running(Box<Running>),
}

/// A search that begins again.
#[derive(Debug)]
pub(crate) struct Again {
    /// The encoded request.
    pub request: Box<[u8]>,
    /// First beginning of the search, in microseconds.
    pub began_us: u64,
}

/// A search that has begun: it passes the entries that its source finds and its criteria accept to
/// its sink.
#[derive(Debug)]
pub(crate) struct Running {
    pub search: Search,
    pub sink: Sink,
}

impl Cursor {
    /// The message id of the search request.
    pub fn message_id(&self) -> MessageId {
        self.id
    }

    /// Whether a part of a message may have been sent, so that no other message may be sent on the
    /// connection before the rest.
    pub fn is_inside_message(&self) -> bool {
        match &self.stage {
            Stage::Again(_) => false,
            Stage::Running(running) => running.sink.large().is_some_and(|it| it.is_inside()),
        }
    }
}
