//! The next step after an operation, or a slice of one.

use crate::operation::follow::Follower;
use crate::search::cursor::Cursor;

/// The next step of the caller after `Worker::execute`, `resume` or `complete`.
#[derive(Debug)]
pub enum Flow {
    /// The complete response is in the output.
    Done,
    /// A completion for this session will be delivered to the mailbox.
    Waiting,
    /// Nothing was executed: execute the message again after a completion for this session was
    /// delivered to the mailbox.
    Later,
    /// A search continues: call `Worker::resume` when the client can take more.
    More(Box<Cursor>),
    /// A following search has begun: call `Worker::follow` now, and whenever news for its message
    /// id is delivered.
    Follow(Box<Follower>),
    /// Flush the output, then close the connection.
    Close,
    /// The response is in the output: flush it, then begin the TLS handshake.
    StartTls,
}
