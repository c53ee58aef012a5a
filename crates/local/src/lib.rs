//! A client in the process of its directory: requests go to a serving thread's [`Worker`], and
//! typed answers come back, without a socket.
//!
//! The program uses it for nodes that are not served, and benches and tests use it in place of
//! clients. It has two layers. [`LocalClient::begin`], [`step`](LocalClient::step) and
//! [`finish`](LocalClient::finish) execute requests and return encoded responses;
//! [`request`](LocalClient::request) and the methods named after operations return what the
//! responses contain.
//!
//! Invariants:
//! - no snapshot is held between two calls;
//! - the client waits for completions only, and for each no longer than its patience;
//! - after an operation that did not end within the client's patience, the client is closed: a late
//!   bind would change the subject of later requests.

mod answer;
mod error;
mod inbox;
mod operations;
mod transaction;
mod watch;

pub use answer::{Answer, Attribute, Entry, Intermediate};
pub use error::LocalError;
pub use transaction::Transaction;
pub use watch::{News, Watch};

use directory::{Completion, Directory, Flow, Mailbox, Peer, Session, Worker};
use inbox::Inbox;
use protocol::{DecodeLimits, Message, MessageId, OwnedControl, Request, write_request};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The id of the only session of a client's worker.
const SESSION: u64 = 1;

/// One client of a directory: a worker with one session. Used on the thread that opened it.
pub struct LocalClient {
    worker: Worker,
    session: Session,
    inbox: Arc<Inbox>,
    patience: Duration,
    last_id: MessageId,
    /// States of calls that are to be continued, by message id.
    early: HashMap<MessageId, Early>,
    closed: bool,
}

/// State of a call after a completion that arrived while another call was waited for.
struct Early {
    flow: Flow,
    responses: Vec<u8>,
}

/// A request under way, and its responses so far.
#[derive(Debug)]
pub struct LocalCall {
    id: MessageId,
    flow: Flow,
    responses: Vec<u8>,
}

impl LocalCall {
    /// Message id of the request.
    pub fn id(&self) -> MessageId {
        self.id
    }

    /// Whether the request is a search that waits for its next slice.
    pub fn is_parked(&self) -> bool {
        matches!(self.flow, Flow::More(_))
    }

    /// Whether the request waits for the writer or for a hashing thread.
    pub fn waits(&self) -> bool {
        matches!(self.flow, Flow::Waiting)
    }

    /// Encoded responses so far, one message after the other. The last one may be incomplete while
    /// the search is parked.
    pub fn responses(&self) -> &[u8] {
        &self.responses
    }

    /// Encoded responses so far.
    pub fn into_responses(self) -> Vec<u8> {
        self.responses
    }

    /// The search that stays to follow the directory. `None` for other requests, and after the
    /// search was taken.
    pub fn take_watch(&mut self) -> Option<Watch> {
        match std::mem::replace(&mut self.flow, Flow::Done) {
            Flow::Follow(follower) => Some(Watch::new(follower)),
            flow => {
                self.flow = flow;
                None
            }
        }
    }
}

impl LocalClient {
    /// An anonymous client with the properties of `peer`. It waits for each completion, of the
    /// writer or of a hashing thread, at most `patience`; `Duration::MAX` sets no limit.
    ///
    /// # Errors
    /// `Failed`: no more read transactions are available.
    pub fn open(
        directory: &Directory,
        peer: Peer,
        patience: Duration,
    ) -> Result<LocalClient, LocalError> {
        let inbox = Arc::new(Inbox::default());
        let mailbox = Arc::clone(&inbox) as Arc<dyn Mailbox>;
        let mut worker = directory.worker(mailbox).map_err(LocalError::Failed)?;
        let session = worker.open_session(SESSION, peer);
        Ok(LocalClient {
            worker,
            session,
            inbox,
            patience,
            last_id: 0,
            early: HashMap::new(),
            closed: false,
        })
    }

    /// Executes a request up to where it waits.
    ///
    /// # Errors
    /// `Request` if the request is beyond the limits on messages, `Closed` if the client is closed.
    pub fn begin(
        &mut self,
        request: &Request<'_>,
        controls: &[OwnedControl],
    ) -> Result<LocalCall, LocalError> {
        // 1 to 2^31-1 (RFC 4511 §4.1.1.1).
        self.last_id = self.last_id.checked_add(1).unwrap_or(1);
        let (mut message, mut responses) = (Vec::new(), Vec::new());
        write_request(&mut message, self.last_id, request, controls);
        let (id, flow) = self.start(&message, &mut responses)?;
        Ok(LocalCall {
            id,
            flow,
            responses,
        })
    }

    /// Continues a call that is parked, by a slice, or that waits, by one completion. Does nothing
    /// with other calls.
    ///
    /// # Errors
    /// `NotInTime` if no completion arrives within the client's patience; the client is closed
    /// then.
    pub fn step(&mut self, call: &mut LocalCall) -> Result<(), LocalError> {
        let flow = std::mem::replace(&mut call.flow, Flow::Done);
        call.flow = self.continued(call.id, flow, &mut call.responses)?;
        Ok(())
    }

    /// Continues a call until it neither is parked nor waits.
    ///
    /// # Errors
    /// The errors of [`step`](Self::step).
    pub fn finish(&mut self, call: &mut LocalCall) -> Result<(), LocalError> {
        while call.is_parked() || call.waits() {
            self.step(call)?;
        }
        Ok(())
    }

    /// Executes one encoded message to its end and appends its responses to `responses`. Its
    /// message id must not be that of a call under way. A search that follows the directory ends
    /// without a result when its first slice is over.
    ///
    /// # Errors
    /// The errors of [`begin`](Self::begin) and [`step`](Self::step).
    #[inline]
    pub fn execute(&mut self, message: &[u8], responses: &mut Vec<u8>) -> Result<(), LocalError> {
        let (id, mut flow) = self.start(message, responses)?;
        while matches!(flow, Flow::Waiting | Flow::More(_)) {
            flow = self.continued(id, flow, responses)?;
        }
        Ok(())
    }

    /// Waits until a completion of an operation has arrived, and does not take it.
    ///
    /// # Errors
    /// `NotInTime` if none arrives within the client's patience; the client is closed then.
    pub fn await_completion(&mut self) -> Result<(), LocalError> {
        let deadline = self.deadline();
        if self.inbox.wait(deadline, ends_operation) {
            return Ok(());
        }
        self.closed = true;
        Err(LocalError::NotInTime)
    }

    #[inline]
    fn start(
        &mut self,
        message: &[u8],
        responses: &mut Vec<u8>,
    ) -> Result<(MessageId, Flow), LocalError> {
        if self.closed {
            return Err(LocalError::Closed);
        }
        let message =
            Message::decode(message, &DecodeLimits::DEFAULT).map_err(LocalError::Request)?;
        loop {
            let flow = self.worker.execute(&mut self.session, &message, responses);
            match self.rested(flow) {
                Flow::Later => self.completed(message.id, responses)?,
                flow => return Ok((message.id, flow)),
            };
        }
    }

    /// The next flow of an operation, after its next slice or completion.
    fn continued(
        &mut self,
        id: MessageId,
        flow: Flow,
        responses: &mut Vec<u8>,
    ) -> Result<Flow, LocalError> {
        match flow {
            Flow::Waiting => self.completed(id, responses),
            Flow::More(cursor) => {
                let flow = self.worker.resume(&mut self.session, cursor, responses);
                Ok(self.rested(flow))
            }
            ended => Ok(ended),
        }
    }

    /// Takes completions until one belongs to the operation `id`.
    fn completed(&mut self, id: MessageId, responses: &mut Vec<u8>) -> Result<Flow, LocalError> {
        let deadline = self.deadline();
        loop {
            if let Some(early) = self.early.remove(&id) {
                responses.extend_from_slice(&early.responses);
                return Ok(early.flow);
            }
            let Some(completion) = self.inbox.take(deadline, ends_operation) else {
                self.closed = true;
                return Err(LocalError::NotInTime);
            };
            let of = completion.message_id();
            let mut said = Vec::new();
            let flow = self
                .worker
                .complete(&mut self.session, completion, &mut said);
            let flow = self.rested(flow);
            let early = self.early.entry(of).or_insert(Early {
                flow: Flow::Waiting,
                responses: Vec::new(),
            });
            early.flow = flow;
            early.responses.append(&mut said);
        }
    }

    /// Releases the snapshot after a step, and notes whether the session has ended.
    #[inline]
    fn rested(&mut self, flow: Flow) -> Flow {
        self.worker.release_snapshot();
        self.closed |= matches!(flow, Flow::Close);
        flow
    }

    /// The end of a wait that begins now; `None` if there is no limit.
    fn deadline(&self) -> Option<Instant> {
        Instant::now().checked_add(self.patience)
    }
}

impl Drop for LocalClient {
    fn drop(&mut self) {
        self.worker.forget(&mut self.session);
    }
}

/// Whether a completion belongs to an operation, not to a search that follows the directory.
fn ends_operation(completion: &Completion) -> bool {
    completion.news().is_none()
}
