//! What a connection needs from the directory, as a trait: the state machine is then testable
//! with a service of twenty lines.

use directory::{Completion, Cursor, Flow, Followed, Follower, Peer, Session, Worker};
use protocol::{LdapResult, Message, MessageId, Request};

/// What happens next after a message was executed. `directory::Flow` without its types.
#[derive(Debug)]
pub enum Step<C, F> {
    /// Everything there is to say is in the output.
    Done,
    /// A completion will come to the thread's inbox.
    Waiting,
    /// A search has more to say: resume it when the client can take more.
    More(C),
    /// A search that stays has begun: let it say what it has to say now, and when news came.
    Follow(F),
    /// Flush the output, then close the connection.
    Close,
    /// Flush the output, then begin the TLS handshake.
    StartTls,
}

/// Executes messages on one serving thread. It is never shared between threads.
pub trait Service: 'static {
    /// What lives between the operations of one connection.
    type Session: 'static;
    /// Where a search goes on.
    type Cursor: 'static;
    /// A search that stays after its entries are sent.
    type Follower: 'static;
    /// The end of work that another thread did, or news for a search that stays.
    type Completion: Send + 'static;

    /// Begins a session. `id` comes back in its completions.
    fn open_session(&mut self, id: u64, peer: Peer) -> Self::Session;

    /// Requests that have been read by now are about to be executed: they see what was acknowledged
    /// before. A thread that never waits has only this to learn of what others did.
    fn look_anew(&mut self);

    /// Executes one message and appends what there is to say to `out`.
    fn execute(
        &mut self,
        session: &mut Self::Session,
        message: &Message<'_>,
        out: &mut Vec<u8>,
    ) -> Step<Self::Cursor, Self::Follower>;

    /// A request was answered with a refusal without being executed; `message` may be malformed.
    fn refused(
        &mut self,
        session: &mut Self::Session,
        message: &[u8],
        why: &LdapResult,
        out: &mut Vec<u8>,
    );

    /// Appends the next part of a search.
    fn resume(
        &mut self,
        session: &mut Self::Session,
        cursor: Self::Cursor,
        out: &mut Vec<u8>,
    ) -> Step<Self::Cursor, Self::Follower>;

    /// Appends the response of finished work.
    fn complete(
        &mut self,
        session: &mut Self::Session,
        completion: Self::Completion,
        out: &mut Vec<u8>,
    ) -> Step<Self::Cursor, Self::Follower>;

    /// Bytes of requests came and bytes of responses are about to go, both without TLS.
    fn moved(&mut self, received: usize, sent: usize);

    /// Takes finished work whose client is gone.
    fn lost(&mut self, completion: Self::Completion);

    /// The client of a session sends nothing more: it has closed the connection, or its side of it.
    fn heard_all(&mut self, session: &Self::Session);

    /// The server stops: what has not begun need not.
    fn stop(&mut self);

    /// The client of a session is gone, and nothing of it goes on.
    fn forget(&mut self, session: &mut Self::Session);

    /// Whether a search has put a part of a message into the output, so that nothing else may go
    /// there before it is resumed.
    fn is_inside_message(cursor: &Self::Cursor) -> bool;

    /// Gives up a search that its client no longer wants.
    fn abandon(&mut self, session: &mut Self::Session, cursor: Self::Cursor);

    /// Appends what a search that stays has to say.
    fn follow(
        &mut self,
        session: &mut Self::Session,
        follower: &mut Self::Follower,
        out: &mut Vec<u8>,
    ) -> Followed;

    /// Ends a search that stays, and answers the Cancel operation that asked for it.
    fn cancel_following(&mut self, follower: Self::Follower, id: MessageId, out: &mut Vec<u8>);

    /// The connection is protected by TLS from now on.
    fn secured(&mut self, session: &mut Self::Session);

    /// Operations that the session may have waiting before the next is answered `busy`; 0 for no
    /// limit.
    fn pending_operations_max(&self, session: &Self::Session) -> u32;

    /// Whether a request may be executed while earlier operations of the session wait.
    fn may_overlap(&self, session: &Self::Session, request: &Request<'_>) -> bool;

    /// Whether the turn of a connection has lasted long enough, so that others have theirs. Asked
    /// now and then while more of its requests wait, at first with `begins`.
    fn turn_is_over(&mut self, begins: bool) -> bool;

    /// Whether nobody is authenticated on the session.
    fn is_anonymous(&self, session: &Self::Session) -> bool;

    /// Whose share of the thread the session's work counts to: sessions of the same identity have
    /// the same number, and sometimes those of others.
    fn purse(&self, session: &Self::Session) -> u64;

    /// Counts the bytes of input and output that the session's connection keeps.
    ///
    /// # Errors
    /// Why it must not keep so many.
    fn count_buffers(
        &mut self,
        session: &mut Self::Session,
        bytes: usize,
    ) -> Result<(), LdapResult>;

    /// The session that `completion` belongs to.
    fn session_of(completion: &Self::Completion) -> u64;

    /// The search that `completion` is news for; `None` for the end of an operation.
    fn news(completion: &Self::Completion) -> Option<MessageId>;

    /// Called once before the thread waits for events: lets go of what others wait for.
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

    fn execute(
        &mut self,
        session: &mut Session,
        message: &Message<'_>,
        out: &mut Vec<u8>,
    ) -> Step<Box<Cursor>, Box<Follower>> {
        Worker::execute(self, session, message, out).into()
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

    fn resume(
        &mut self,
        session: &mut Session,
        cursor: Box<Cursor>,
        out: &mut Vec<u8>,
    ) -> Step<Box<Cursor>, Box<Follower>> {
        Worker::resume(self, session, cursor, out).into()
    }

    fn complete(
        &mut self,
        session: &mut Session,
        completion: Completion,
        out: &mut Vec<u8>,
    ) -> Step<Box<Cursor>, Box<Follower>> {
        Worker::complete(self, session, completion, out).into()
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

impl From<Flow> for Step<Box<Cursor>, Box<Follower>> {
    fn from(flow: Flow) -> Self {
        match flow {
            Flow::Done => Step::Done,
            Flow::Waiting => Step::Waiting,
            Flow::More(cursor) => Step::More(cursor),
            Flow::Follow(follower) => Step::Follow(follower),
            Flow::Close => Step::Close,
            Flow::StartTls => Step::StartTls,
        }
    }
}
