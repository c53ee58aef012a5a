//! One LDAP connection as a state machine without I/O: bytes in, requests executed in order,
//! responses out.
//!
//! The caller reads and writes the socket, gives bytes to [`Connection::receive`], writes what was
//! appended to the output, and asks [`Connection::wants_input`] and [`Connection::can_proceed`]
//! what to do next.
//!
//! Invariants:
//! - requests are executed in the order received, with two exceptions, both of RFC 4511:
//!   Abandon, Cancel and Unbind are looked for behind a parked search; writes may be submitted
//!   while earlier ones wait for their place in the order, and while reads wait for these;
//! - a following search blocks no other request: it has a turn when the output is sent and there is
//!   news, except that other requests wait while it sends a message in parts;
//! - one call appends at most [`OUTPUT_BYTES_MAX`] and the output of one message;
//! - an idle connection owns no buffer.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use directory::{ClientCertificate, Completion, Cursor, Flow, Followed, Follower, Session, Worker};
use policy::Limit;
use protocol::{
    DecodeError, DecodeLimits, LdapResult, MessageId, ResultCode, frame,
    write_notice_of_disconnection,
};

use sasl::ChannelBindings;

use crate::bundle::Bundle;
use crate::followers::Followers;
use crate::input::Input;
use crate::settings::Origins;
use held_reads::HeldReads;
use stall::Stall;
use turn::Turn;
use unfinished::Unfinished;

mod execution;
mod held_reads;
mod look_ahead;
mod refusal;
mod stall;
#[cfg(test)]
mod tests;
mod turn;
mod unfinished;

/// Bytes of unsent output beyond which a connection executes no requests.
pub const OUTPUT_BYTES_MAX: usize = 1 << 20;
/// Maximum time that one connection may use its thread for requests received together.
pub const TURN_TIME_MAX: Duration = Duration::from_millis(2);
/// Maximum bytes of input kept while looking for an Abandon behind a parked search.
pub const LOOK_AHEAD_BYTES_MAX: usize = 64 << 10;

/// Rules for every connection of a server.
#[derive(Debug, Clone)]
pub struct Rules {
    /// Decoding limits of a message.
    pub limits: DecodeLimits,
    /// Maximum length of a message in bytes while the client is anonymous.
    pub anonymous_message_bytes_max: usize,
    /// Whether passwords are accepted over connections that can be read on the way.
    pub allow_cleartext_binds: bool,
    /// Where the administrator may bind from.
    pub administrator_from: Origins,
    /// Whether TCP connections from this machine are safe without TLS, and local.
    pub trust_local: bool,
    /// Maximum time that one connection may use its thread for requests received together.
    pub turn_time_max: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Requests are executed.
    Open,
    /// No requests are executed; unfinished operations are completed, then the connection closes.
    Ending,
    /// The output is flushed, then TLS begins.
    StartTls,
    /// The output is flushed, then the connection closes.
    Closed,
}

/// One connection.
pub struct Connection {
    session: Session,
    /// Bytes received and not yet executed.
    input: Input,
    /// The parked search, if there is one.
    parked: Option<Box<Cursor>>,
    /// Offset in `input` of the first message not examined by look-ahead; 0 while no search is
    /// parked.
    scanned: usize,
    /// Following searches, which run beside other operations.
    followers: Followers<Box<Follower>>,
    unfinished: Unfinished,
    held_reads: HeldReads,
    state: State,
    stall: Stall,
    /// Whether `input` may begin with a whole message.
    more: bool,
    /// Whether the socket is on this machine or TLS is established.
    confidential: bool,
    /// Number of whole messages received, which wraps around.
    heard: u32,
    /// Responses that the client waits for together.
    bundle: Bundle,
}

impl Connection {
    /// A new connection. `confidential` says that it cannot be read on the way.
    pub fn new(session: Session, confidential: bool) -> Self {
        Connection {
            session,
            input: Input::default(),
            parked: None,
            scanned: 0,
            followers: Followers::default(),
            unfinished: Unfinished::default(),
            held_reads: HeldReads::default(),
            state: State::Open,
            stall: Stall::None,
            more: false,
            confidential,
            heard: 0,
            bundle: Bundle::default(),
        }
    }

    /// Sets when the bytes that are received next were read, for the operations log. While whole
    /// messages wait in the input, the time of the oldest stays.
    pub fn read_at(&mut self, read: Option<Instant>) {
        if !self.more || read.is_none() {
            self.session.set_received(read);
        }
    }

    /// Executes the whole messages in the input, to which `bytes` are added, until one must wait or
    /// the turn is over; appends responses to `out`.
    pub fn receive(&mut self, worker: &mut Worker, rules: &Rules, bytes: &[u8], out: &mut Vec<u8>) {
        if self.state == State::Closed {
            return;
        }
        let mut input = std::mem::take(&mut self.input);
        if !input.is_empty() {
            input.append(bytes);
        }
        // Most messages come whole, and are executed where they are.
        let bytes = if input.is_empty() { bytes } else { &input };
        let (mut taken, mut turn) = (0, Turn::default());
        self.more = false;
        self.execute_held(worker, rules, &mut turn, out);
        while matches!(self.state, State::Open | State::Ending) && taken < bytes.len() {
            if !self.is_free()
                || out.len() >= OUTPUT_BYTES_MAX
                || taken > 0 && turn.is_over(rules.turn_time_max)
            {
                self.more = true;
                break;
            }
            self.scanned = 0;
            let rest = &bytes[taken..];
            match frame(rest, self.message_bytes_max(rules)) {
                Ok(None) => break,
                Ok(Some(length)) => {
                    if self.execute(worker, rules, &rest[..length], out) {
                        taken += length;
                    }
                }
                Err(error) => {
                    self.count_length(rules, &error);
                    self.disconnect(ResultCode::PROTOCOL_ERROR, &error.to_string(), out);
                }
            }
        }
        // RFC 4511 §4.14.1: no request may follow StartTLS before its response. Executing it after
        // the handshake would let an attacker inject requests into the protected session.
        if self.state == State::StartTls && taken < bytes.len() {
            self.disconnect(ResultCode::PROTOCOL_ERROR, "requests behind StartTLS", out);
        }
        if self.state != State::Closed && taken < bytes.len() {
            self.input = match input.is_empty() {
                true => Input::of(&bytes[taken..]),
                false => {
                    input.remove(0, taken);
                    input
                }
            };
        }
        self.look_ahead(worker, rules, out);
    }

    /// Continues a parked search or the messages left in the input. To be called when the output
    /// has been sent and [`Connection::can_proceed`] is true.
    pub fn proceed(&mut self, worker: &mut Worker, rules: &Rules, out: &mut Vec<u8>) {
        if self.followers.is_inside() {
            self.tell_news(worker, out);
            if self.followers.is_inside() || self.state == State::Closed {
                return;
            }
            out.extend(std::mem::take(self.followers.aside()));
        }
        if let Some(cursor) = self.parked.take() {
            let id = cursor.message_id();
            let flow = worker.resume(&mut self.session, cursor, out);
            self.follow(id, flow);
        }
        if self.is_inside_message() || self.state == State::Closed {
            return;
        }
        self.held_reads.append_aside(out);
        self.look_ahead(worker, rules, out);
        self.tell_news(worker, out);
        if self.parked.is_none() && !self.followers.is_inside() && self.has_requests() {
            self.receive(worker, rules, &[], out);
        }
    }

    /// Appends the response of a completion. Messages that waited for it are left to
    /// [`Connection::proceed`].
    pub fn complete(&mut self, worker: &mut Worker, completion: Completion, out: &mut Vec<u8>) {
        if let Some(id) = completion.news() {
            self.followers.news(id);
            return;
        }
        let id = completion.message_id();
        if self.state == State::Closed {
            // It may have been closed inside a message, which nothing may follow.
            self.unfinished.end(id);
            return worker.lost(&completion);
        }
        let out = if self.followers.is_inside() {
            self.followers.aside()
        } else if self.parked_is_inside() {
            self.held_reads.aside()
        } else {
            out
        };
        let flow = worker.complete(&mut self.session, completion, out);
        if matches!(flow, Flow::Waiting) {
            return;
        }
        self.unfinished.end(id);
        // A completion never parks a search: it belongs to a write, a bind, a compare or an
        // extended operation.
        self.follow(id, flow);
        if self.unfinished.is_empty() {
            self.stall = self.stall.over();
        }
    }

    /// Handles the end of input: unfinished operations are completed and answered, then the
    /// connection closes.
    pub fn end_of_input(&mut self, worker: &mut Worker) {
        if self.input.is_empty() {
            worker.heard_all(&self.session);
        }
        self.bundle.end();
        if self.state == State::Open && (!self.unfinished.is_empty() || self.can_proceed()) {
            self.state = State::Ending;
        } else if self.state != State::Ending {
            self.state = State::Closed;
        }
    }

    /// Stops executing requests; unfinished operations are completed. [`Connection::farewell`] is
    /// to be called once [`Connection::is_quiet`] is true.
    pub fn stop_executing(&mut self) {
        if self.state == State::Open || self.state == State::StartTls {
            self.state = State::Ending;
            self.followers.end();
            self.input = Input::default();
            self.held_reads.end();
            self.stall = Stall::None;
            self.more = false;
        }
    }

    /// Appends a Notice of Disconnection with the reason (RFC 4511 §4.4.1), and closes the
    /// connection.
    pub fn farewell(&mut self, worker: &mut Worker, why: &str, out: &mut Vec<u8>) {
        let inside = self.is_inside_message();
        self.drop_parked(worker);
        if inside {
            // A notice inside a message would become part of that message.
            self.state = State::Closed;
        } else if self.state != State::Closed {
            self.disconnect(ResultCode::UNAVAILABLE, why, out);
        }
    }

    /// Judges the account of the client, which is in doubt; if it does not hold, drops all
    /// operations and closes the connection with a notice.
    pub fn judge(&mut self, worker: &mut Worker, out: &mut Vec<u8>) {
        let (begin, inside) = (out.len(), self.is_inside_message());
        if self.state == State::Closed || worker.still_holds(&mut self.session, out) {
            return;
        }
        self.abort(worker);
        self.input = Input::default();
        if inside {
            // A notice inside a message would become part of that message.
            out.truncate(begin);
        }
    }

    /// Whether a notice can still be sent.
    pub fn may_say_farewell(&self) -> bool {
        self.state != State::Closed
    }

    /// Records that TLS is established.
    pub fn secured(&mut self) {
        self.session.secured();
        self.confidential = true;
        if self.state == State::StartTls {
            self.state = State::Open;
        }
    }

    /// Sets the bindings to the TLS channel, whose handshake is finished.
    pub fn bind_channel(&mut self, bindings: ChannelBindings) {
        self.session.bind_channel(bindings);
    }

    /// Records the certificate that the client has shown in its TLS handshake.
    pub fn identified(&mut self, certificate: Arc<ClientCertificate>) {
        self.session.identified(certificate);
    }

    /// The client's address; `None` for a Unix socket.
    pub fn address(&self) -> Option<IpAddr> {
        self.session.address()
    }

    /// Drops all operations; no more output can be sent.
    pub fn abort(&mut self, worker: &mut Worker) {
        self.drop_parked(worker);
        worker.forget(&mut self.session);
        self.followers.clear();
        self.held_reads.clear();
        self.state = State::Closed;
    }

    /// How long output of this length may be held; `None` if it must be sent.
    pub fn patience(&self, bytes: usize) -> Option<Duration> {
        match self.state {
            State::Open => self.bundle.patience(bytes),
            State::Ending | State::StartTls | State::Closed => None,
        }
    }

    /// Ends the bundle, because output was held long enough.
    pub fn end_bundle(&mut self) {
        self.bundle.end();
    }

    /// Whether new requests would be executed at once.
    pub fn takes_requests(&self) -> bool {
        self.state == State::Open && self.is_free() && !self.more && self.input.is_empty()
    }

    /// Whether the next request of the input can be executed.
    fn is_free(&self) -> bool {
        self.parked.is_none()
            && !self.stall.holds()
            && !self.followers.is_inside()
            && !self.reads_are_ready()
    }

    /// Whether there are requests that need wait for no other operation.
    fn has_requests(&self) -> bool {
        (self.more && !self.stall.holds()) || self.reads_are_ready()
    }

    /// Whether a held read can be executed.
    fn reads_are_ready(&self) -> bool {
        !self.stall.holds_reads() && self.held_reads.are_ready(&self.unfinished)
    }

    /// Whether more bytes should be read, given whether all output has been sent.
    pub fn wants_input(&self, drained: bool) -> bool {
        match (self.state, &self.parked) {
            (State::Open, Some(_)) => self.input.len() < LOOK_AHEAD_BYTES_MAX,
            (State::Open, None) => {
                drained && !self.stall.holds() && !self.more && !self.unfinished.is_full()
            }
            (State::Ending | State::StartTls | State::Closed, _) => false,
        }
    }

    /// Whether [`Connection::proceed`] has something to do.
    pub fn can_proceed(&self) -> bool {
        if self.state == State::Closed || self.state == State::StartTls {
            return false;
        }
        self.parked.is_some() || self.has_requests() || self.followers.are_behind()
    }

    /// Whether [`Connection::proceed`] would continue work that has had a slice already.
    pub fn is_long(&self) -> bool {
        self.parked.is_some() || self.followers.are_behind()
    }

    /// Counts the kept bytes and `output` bytes. Above the limit no more input is wanted until an
    /// unfinished operation has ended; if there is none, closes the connection, with a notice if no
    /// output is waiting.
    pub fn count_buffers(&mut self, worker: &mut Worker, output: usize, out: &mut Vec<u8>) {
        let bytes = self.kept_bytes() + output;
        if self.state == State::Closed {
            return;
        }
        let counted = self.session.count_buffers(bytes);
        self.unfinished.set_full(counted.is_err());
        if let Err(refusal) = counted
            && !self.unfinished.is_full()
        {
            let inside = self.is_inside_message();
            self.abort(worker);
            self.input = Input::default();
            // At once: the connection lingers, and others have room as soon as it is refused.
            self.give_back();
            if !inside && output == 0 {
                write_notice_of_disconnection(out, &refusal);
            }
        }
    }

    /// Whether bytes are counted in the budget of memory.
    #[inline]
    pub fn is_counted(&self) -> bool {
        self.session.is_counted()
    }

    /// Counts no bytes any more.
    pub fn give_back(&mut self) {
        // Counting less is never refused.
        self.session.count_buffers(0).ok();
    }

    /// Bytes of the kept input, and of the requests that wait to be executed.
    pub fn kept_bytes(&self) -> usize {
        self.input.capacity() + self.held_reads.bytes() + self.unfinished.bytes()
    }

    /// The purse to which the connection's work counts.
    pub fn purse(&self, worker: &Worker) -> u64 {
        worker.purse(&self.session)
    }

    /// Whether there are following searches, so that an idle client is expected.
    pub fn is_following(&self) -> bool {
        !self.followers.is_empty()
    }

    /// Whether no operation is unfinished.
    pub fn is_quiet(&self) -> bool {
        self.parked.is_none()
            && self.unfinished.is_empty()
            && self.held_reads.is_empty()
            && !self.followers.is_inside()
    }

    /// Whether the connection closes when all output has been sent.
    pub fn is_closed(&self) -> bool {
        match self.state {
            State::Closed => true,
            State::Ending => self.is_quiet() && !self.can_proceed(),
            State::Open | State::StartTls => false,
        }
    }

    /// Whether TLS begins when all output has been sent.
    pub fn starts_tls(&self) -> bool {
        self.state == State::StartTls
    }

    /// Number of whole messages received, which wraps around; 0 only before the first.
    pub fn heard(&self) -> u32 {
        self.heard
    }

    /// Whether the client is anonymous.
    pub fn is_anonymous(&self) -> bool {
        self.session.is_anonymous()
    }

    /// Whether the input ends inside a message.
    pub fn owes_rest(&self) -> bool {
        !self.input.is_empty() && self.is_quiet() && !self.more
    }

    fn message_bytes_max(&self, rules: &Rules) -> usize {
        if rules.anonymous_message_bytes_max < rules.limits.message_bytes_max
            && self.session.is_anonymous()
        {
            rules.anonymous_message_bytes_max
        } else {
            rules.limits.message_bytes_max
        }
    }

    /// Counts the limit on the length of a message, if a message was too long.
    #[cold]
    fn count_length(&self, rules: &Rules, error: &DecodeError) {
        let is_lower = self.message_bytes_max(rules) < rules.limits.message_bytes_max;
        match error {
            DecodeError::LengthBeyondLimit { .. } if is_lower => {
                Limit::AnonymousMessageBytes.count();
            }
            DecodeError::LengthBeyondLimit { .. } => Limit::MessageBytes.count(),
            _ => {}
        }
    }

    /// Gives one following search its turn.
    fn tell_news(&mut self, worker: &mut Worker, out: &mut Vec<u8>) {
        let Some((id, mut follower)) = self.followers.take_turn() else {
            return;
        };
        match worker.follow(&mut self.session, &mut follower, out) {
            Followed::Ended => self.bundle.answered(),
            Followed::More => self.followers.give_back(id, follower, true),
            Followed::Inside => self.followers.give_back_inside(id, follower),
            Followed::CaughtUp => self.followers.give_back(id, follower, false),
            Followed::Broken => self.state = State::Closed,
        }
    }

    /// Records what follows an operation, or a slice of one.
    fn follow(&mut self, id: MessageId, flow: Flow) {
        match flow {
            Flow::Done => self.bundle.answered(),
            Flow::Waiting => self.unfinished.begin(id),
            // The message is still in the input.
            Flow::Later => {}
            Flow::More(cursor) => self.parked = Some(cursor),
            Flow::Follow(follower) => self.followers.add(id, follower),
            Flow::Close => self.state = State::Closed,
            Flow::StartTls => {
                if self.state == State::Open {
                    self.state = State::StartTls;
                }
            }
        }
    }

    /// Whether a part of a message is in the output, so that no other bytes may follow before the
    /// rest.
    fn is_inside_message(&self) -> bool {
        self.followers.is_inside() || self.parked_is_inside()
    }

    fn parked_is_inside(&self) -> bool {
        let parked = self.parked.as_ref();
        parked.is_some_and(|it| it.is_inside_message())
    }

    fn drop_parked(&mut self, worker: &mut Worker) {
        if let Some(cursor) = self.parked.take() {
            worker.abandon(&self.session, cursor);
        }
    }

    fn disconnect(&mut self, code: ResultCode, diagnostic: &str, out: &mut Vec<u8>) {
        write_notice_of_disconnection(out, &LdapResult::new(code, diagnostic));
        self.state = State::Closed;
        self.input = Input::default();
    }
}
