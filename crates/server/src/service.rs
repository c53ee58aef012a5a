//! The interface between a connection and the directory, as a trait, so that the state machine can
//! be tested with a small service.

use directory::{Completion, Cursor, Flow, Followed, Follower, Peer, Session, Worker};
use protocol::{LdapResult, Message, MessageId, Request};

/// Executes messages on one serving thread. Never shared between threads.
pub trait Service: 'static {
    /// State between the operations of one connection.
    type Session: 'static;
    /// State of a search between slices.
    type Cursor: 'static;
    /// A search that continues after its entries are sent.
    type Follower: 'static;
    /// The end of another thread's work, or news for a following search.
    type Completion: Send + 'static;

    /// Begins a session. Its completions carry `id`.
    fn open_session(&mut self, id: u64, peer: Peer) -> Self::Session;

    /// Called before requests that have been read are executed: they must see every write
    /// acknowledged before. A thread that never waits has only this call to release its snapshot.
    fn look_anew(&mut self);

    /// Executes one message and appends the response to `out`.
    fn execute(
        &mut self,
        session: &mut Self::Session,
        message: &Message<'_>,
        out: &mut Vec<u8>,
    ) -> Flow<Self::Cursor, Self::Follower>;

    /// Records that a request was refused without being executed; `message` may be malformed.
    fn refused(
        &mut self,
        session: &mut Self::Session,
        message: &[u8],
        why: &LdapResult,
        out: &mut Vec<u8>,
    );

    /// Runs the next slice of a search.
    fn resume(
        &mut self,
        session: &mut Self::Session,
        cursor: Self::Cursor,
        out: &mut Vec<u8>,
    ) -> Flow<Self::Cursor, Self::Follower>;

    /// Appends the response of a completion.
    fn complete(
        &mut self,
        session: &mut Self::Session,
        completion: Self::Completion,
        out: &mut Vec<u8>,
    ) -> Flow<Self::Cursor, Self::Follower>;

    /// Counts bytes of requests received and of responses to be sent, both without TLS.
    fn moved(&mut self, received: usize, sent: usize);

    /// Takes a completion whose connection was closed.
    fn lost(&mut self, completion: Self::Completion);

    /// Records that the client sends nothing more: it closed the connection, or its side of it.
    fn heard_all(&mut self, session: &Self::Session);

    /// Stops waiting work, because the server stops.
    fn stop(&mut self);

    /// Ends a session whose connection was closed.
    fn forget(&mut self, session: &mut Self::Session);

    /// Whether a search has put a part of a message into the output, so that no other bytes may
    /// follow before it is resumed.
    fn is_inside_message(cursor: &Self::Cursor) -> bool;

    /// Drops a search that its client abandoned.
    fn abandon(&mut self, session: &mut Self::Session, cursor: Self::Cursor);

    /// Runs the next slice of a following search.
    fn follow(
        &mut self,
        session: &mut Self::Session,
        follower: &mut Self::Follower,
        out: &mut Vec<u8>,
    ) -> Followed;

    /// Ends a following search, and answers the Cancel operation that named it.
    fn cancel_following(&mut self, follower: Self::Follower, id: MessageId, out: &mut Vec<u8>);

    /// Records that the connection is protected by TLS from now on.
    fn secured(&mut self, session: &mut Self::Session);

    /// Maximum number of waiting operations of the session, beyond which requests are answered
    /// `busy`; 0 for no limit.
    fn pending_operations_max(&self, session: &Self::Session) -> u32;

    /// Whether a request may be executed while earlier operations of the session wait.
    fn may_overlap(&self, session: &Self::Session, request: &Request<'_>) -> bool;

    /// Whether the turn of a connection is over. Called repeatedly while more of its requests wait,
    /// first with `begins`.
    fn turn_is_over(&mut self, begins: bool) -> bool;

    /// Whether the session is anonymous.
    fn is_anonymous(&self, session: &Self::Session) -> bool;

    /// The purse to which the session's work counts: equal for sessions of one identity, and by
    /// chance for others.
    fn purse(&self, session: &Self::Session) -> u64;

    /// Counts the bytes in the connection's input and output buffers.
    ///
    /// # Errors
    /// The result with which to close the connection, if they exceed the limit.
    fn count_buffers(
        &mut self,
        session: &mut Self::Session,
        bytes: usize,
    ) -> Result<(), LdapResult>;

    /// The session that `completion` belongs to.
    fn session_of(completion: &Self::Completion) -> u64;

    /// Message id of the search that `completion` is news for; `None` for the end of an operation.
    fn news(completion: &Self::Completion) -> Option<MessageId>;

    /// Called once before the thread waits for events: releases the snapshot.
    fn sleep(&mut self);
}

impl Service for Worker {
    type Session = Session;
    type Cursor = Box<Cursor>;
    type Follower = Box<Follower>;
    type Completion = Completion;

    fn open_session(&mut self, id: u64, peer: Peer) -> Session {
        Worker::open_session(self, id, peer)
    }

    fn look_anew(&mut self) {
        Worker::sleep(self);
    }

    fn execute(&mut self, session: &mut Session, message: &Message<'_>, out: &mut Vec<u8>) -> Flow {
        Worker::execute(self, session, message, out)
    }

    fn refused(
        &mut self,
        session: &mut Session,
        message: &[u8],
        why: &LdapResult,
        out: &mut Vec<u8>,
    ) {
        Worker::refused(self, session, message, why, out);
    }

    fn resume(&mut self, session: &mut Session, cursor: Box<Cursor>, out: &mut Vec<u8>) -> Flow {
        Worker::resume(self, session, cursor, out)
    }

    fn complete(
        &mut self,
        session: &mut Session,
        completion: Completion,
        out: &mut Vec<u8>,
    ) -> Flow {
        Worker::complete(self, session, completion, out)
    }

    fn moved(&mut self, received: usize, sent: usize) {
        Worker::moved(self, received, sent);
    }

    fn lost(&mut self, completion: Completion) {
        Worker::lost(self, &completion);
    }

    fn heard_all(&mut self, session: &Session) {
        Worker::heard_all(self, session);
    }

    fn stop(&mut self) {
        Worker::stop(self);
    }

    fn forget(&mut self, session: &mut Session) {
        Worker::forget(self, session);
    }

    fn is_inside_message(cursor: &Box<Cursor>) -> bool {
        cursor.is_inside_message()
    }

    fn abandon(&mut self, session: &mut Session, cursor: Box<Cursor>) {
        Worker::abandon(self, session, cursor);
    }

    fn follow(
        &mut self,
        session: &mut Session,
        follower: &mut Box<Follower>,
        out: &mut Vec<u8>,
    ) -> Followed {
        Worker::follow(self, session, follower, out)
    }

    fn cancel_following(&mut self, follower: Box<Follower>, id: MessageId, out: &mut Vec<u8>) {
        Worker::cancel_following(self, follower, id, out);
    }

    fn secured(&mut self, session: &mut Session) {
        session.secured();
    }

    fn pending_operations_max(&self, session: &Session) -> u32 {
        Worker::pending_operations_max(self, session)
    }

    fn may_overlap(&self, session: &Session, request: &Request<'_>) -> bool {
        Worker::may_overlap(self, session, request)
    }

    fn turn_is_over(&mut self, begins: bool) -> bool {
        Worker::turn_is_over(self, begins)
    }

    fn is_anonymous(&self, session: &Session) -> bool {
        session.bound_name().is_empty()
    }

    fn purse(&self, session: &Session) -> u64 {
        Worker::purse(self, session)
    }

    fn count_buffers(&mut self, session: &mut Session, bytes: usize) -> Result<(), LdapResult> {
        Worker::count_buffers(self, session, bytes)
    }

    fn session_of(completion: &Completion) -> u64 {
        completion.session
    }

    fn news(completion: &Completion) -> Option<MessageId> {
        completion.news()
    }

    fn sleep(&mut self) {
        Worker::sleep(self);
    }
}
