//! One LDAP connection as a state machine without I/O: bytes in, requests executed in order,
//! responses out.
//!
//! The caller reads and writes the socket, gives bytes to [`Connection::receive`], writes what was
//! appended to the output, and asks [`Connection::wants_input`] and [`Connection::can_proceed`]
//! what to do next.
//!
//! Invariants:
//! - requests are executed in the order in which they came. Two exceptions, both of RFC 4511:
//!   Abandon, Cancel and Unbind are looked for ahead of a parked search; writes may be submitted
//!   while earlier ones wait for their place in the order;
//! - a search that stays holds nothing up: it has a turn when the output is sent and there is news.
//!   Only while it sends a message in parts everything else waits;
//! - one call appends at most [`OUTPUT_BYTES_MAX`] and what one message yields;
//! - an idle connection owns no buffer.

use std::time::Duration;

use directory::Followed;
use protocol::{
    Authentication, DecodeError, DecodeLimits, LdapResult, Message, MessageId, Request, ResultCode,
    ResultKind, decode_header, frame, oid, write_extended_result, write_notice_of_disconnection,
    write_result,
};

use crate::bundle::Bundle;
use crate::followers::Followers;
use crate::service::{Service, Step};
use concern::{Concern, cancel_target, concern, insists, lengths_are_wrong};
use turn::Turn;

mod concern;
#[cfg(test)]
mod tests;
mod turn;

/// Output that has not been sent beyond which a connection executes nothing more.
pub const OUTPUT_BYTES_MAX: usize = 1 << 20;
/// Input kept beside a parked search while looking for its Abandon.
pub const LOOK_AHEAD_BYTES_MAX: usize = 64 << 10;

/// What holds for every connection of a server.
#[derive(Debug, Clone)]
pub struct Rules {
    /// The limits on one message.
    pub limits: DecodeLimits,
    /// The longest message, in bytes, before somebody has authenticated.
    pub anonymous_message_bytes_max: usize,
    /// Accept passwords over connections that anybody on the way can read.
    pub allow_cleartext_binds: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Requests are executed.
    Open,
    /// No more requests are executed; what was begun is finished, then the connection closes.
    Ending,
    /// The output is flushed, then TLS begins.
    StartTls,
    /// The output is flushed, then the connection closes.
    Closed,
}

struct Parked<C> {
    id: MessageId,
    cursor: C,
}

/// One connection.
pub struct Connection<S: Service> {
    session: S::Session,
    /// Bytes received and not executed.
    input: Vec<u8>,
    /// A search that has more to say.
    parked: Option<Parked<S::Cursor>>,
    /// Start of the first message in `input` that look-ahead has not seen; 0 while no search is
    /// parked.
    scanned: usize,
    /// Searches that stay; they run beside everything else.
    followers: Followers<S::Follower>,
    /// Operations whose completions have not come.
    waiting: u32,
    state: State,
    /// The next message must wait until `waiting` is 0.
    stalled: bool,
    /// `input` may begin with a whole message.
    more: bool,
    /// The socket is on this machine, or TLS is established.
    confidential: bool,
    /// Whole messages that have come, counted round.
    heard: u32,
    /// Responses that the client waits for together.
    bundle: Bundle,
}

impl<S: Service> Connection<S> {
    /// A new connection. `confidential` when nobody on the way can read it.
    pub fn new(session: S::Session, confidential: bool) -> Self {
        Connection {
            session,
            input: Vec::new(),
            parked: None,
            scanned: 0,
            followers: Followers::default(),
            waiting: 0,
            state: State::Open,
            stalled: false,
            more: false,
            confidential,
            heard: 0,
            bundle: Bundle::default(),
        }
    }

    /// Executes the whole messages that end in `bytes`, appending responses to `out`.
    pub fn receive(&mut self, service: &mut S, rules: &Rules, bytes: &[u8], out: &mut Vec<u8>) {
        if self.state == State::Closed {
            return;
        }
        if !self.is_free() || !self.input.is_empty() {
            self.input.extend_from_slice(bytes);
            if self.is_free() {
                self.execute_input(service, rules, out);
            } else {
                self.more = true;
            }
        } else {
            let taken = self.execute(service, rules, bytes, out);
            if taken < bytes.len() && self.state != State::Closed {
                self.input.extend_from_slice(&bytes[taken..]);
            }
        }
        self.look_ahead(service, rules, out);
    }

    /// Goes on with a parked search or with messages left in the input. Call it when the output
    /// has been sent and [`Connection::can_proceed`].
    pub fn proceed(&mut self, service: &mut S, rules: &Rules, out: &mut Vec<u8>) {
        if self.followers.is_inside() {
            self.tell_news(service, out);
            if self.followers.is_inside() || self.state == State::Closed {
                return;
            }
            out.extend(std::mem::take(self.followers.aside()));
        }
        if let Some(Parked { id, cursor }) = self.parked.take() {
            let step = service.resume(&mut self.session, cursor, out);
            self.follow(id, step);
        }
        if self.is_inside_message() {
            return;
        }
        self.look_ahead(service, rules, out);
        self.tell_news(service, out);
        if self.is_free() && self.more {
            self.execute_input(service, rules, out);
            self.look_ahead(service, rules, out);
        }
    }

    /// Appends the response of finished work. Messages that waited for it are left to
    /// [`Connection::proceed`].
    pub fn complete(&mut self, service: &mut S, completion: S::Completion, out: &mut Vec<u8>) {
        if let Some(id) = S::news(&completion) {
            self.followers.news(id);
            return;
        }
        // Another search begins when nothing waits, so nothing completes inside its messages.
        debug_assert!(!self.parked_is_inside());
        let out = match self.followers.is_inside() {
            true => self.followers.aside(),
            false => out,
        };
        let step = service.complete(&mut self.session, completion, out);
        self.waiting = self.waiting.saturating_sub(1);
        // A completed search never parks under an id of its own: what completes is a write, a
        // bind, a compare or an extended operation.
        self.follow(0, step);
        if self.waiting == 0 {
            self.stalled = false;
        }
    }

    /// No more bytes will come: what was begun is finished and answered, then the connection
    /// closes.
    pub fn end_of_input(&mut self, service: &mut S) {
        if self.input.is_empty() {
            service.heard_all(&self.session);
        }
        self.bundle.end();
        if self.state == State::Open && (self.waiting > 0 || self.can_proceed()) {
            self.state = State::Ending;
        } else if self.state != State::Ending {
            self.state = State::Closed;
        }
    }

    /// The server stops: no new request is executed, and what was begun is answered.
    /// Call [`Connection::farewell`] once [`Connection::is_quiet`].
    pub fn stop_executing(&mut self) {
        if self.state == State::Open || self.state == State::StartTls {
            self.state = State::Ending;
            self.followers.end();
            self.input = Vec::new();
            self.stalled = false;
            self.more = false;
        }
    }

    /// Appends a Notice of Disconnection that says why (RFC 4511 §4.4.1), and closes.
    pub fn farewell(&mut self, service: &mut S, why: &str, out: &mut Vec<u8>) {
        let inside = self.is_inside_message();
        self.drop_parked(service);
        if inside {
            // The notice would be part of the message.
            self.state = State::Closed;
        } else if self.state != State::Closed {
            self.disconnect(ResultCode::UNAVAILABLE, why, out);
        }
    }

    /// Whether a notice can still be given.
    pub fn may_say_farewell(&self) -> bool {
        self.state != State::Closed
    }

    /// TLS is established.
    pub fn secured(&mut self, service: &mut S) {
        service.secured(&mut self.session);
        self.confidential = true;
        if self.state == State::StartTls {
            self.state = State::Open;
        }
    }

    /// Gives up what was begun; nothing more can be sent.
    pub fn abort(&mut self, service: &mut S) {
        self.drop_parked(service);
        service.forget(&mut self.session);
        self.followers.clear();
        self.state = State::Closed;
    }

    /// How long this much output may wait for more of it; `None`: it must be sent.
    pub fn patience(&self, bytes: usize) -> Option<Duration> {
        match self.state {
            State::Open => self.bundle.patience(bytes),
            State::Ending | State::StartTls | State::Closed => None,
        }
    }

    /// Output has waited long enough.
    pub fn end_bundle(&mut self) {
        self.bundle.end();
    }

    /// Whether requests that come now would be executed at once.
    pub fn takes_requests(&self) -> bool {
        self.state == State::Open && self.is_free() && !self.more && self.input.is_empty()
    }

    /// Whether nothing holds the next request up.
    fn is_free(&self) -> bool {
        self.parked.is_none() && !self.stalled && !self.followers.is_inside()
    }

    /// Whether more bytes should be read, given whether all output has been sent.
    pub fn wants_input(&self, drained: bool) -> bool {
        match (self.state, &self.parked) {
            (State::Open, Some(_)) => self.input.len() < LOOK_AHEAD_BYTES_MAX,
            (State::Open, None) => drained && !self.stalled && !self.more,
            (State::Ending | State::StartTls | State::Closed, _) => false,
        }
    }

    /// Whether [`Connection::proceed`] has something to do.
    pub fn can_proceed(&self) -> bool {
        if self.state == State::Closed || self.state == State::StartTls {
            return false;
        }
        self.parked.is_some() || (self.more && !self.stalled) || self.followers.are_behind()
    }

    /// Whether [`Connection::proceed`] goes on with something that has had a slice already.
    pub fn is_long(&self) -> bool {
        self.parked.is_some() || self.followers.are_behind()
    }

    /// Counts the input it keeps, and so many bytes of output; closes when that is more than it may
    /// keep, and says why if no output is in the way.
    pub fn count_buffers(&mut self, service: &mut S, output: usize, out: &mut Vec<u8>) {
        let bytes = self.input.capacity() + output;
        if self.state != State::Closed
            && let Err(refusal) = service.count_buffers(&mut self.session, bytes)
        {
            let inside = self.is_inside_message();
            self.abort(service);
            self.input = Vec::new();
            if !inside && output == 0 {
                write_notice_of_disconnection(out, &refusal);
            }
        }
    }

    /// How much input it keeps, in bytes.
    pub fn input_bytes(&self) -> usize {
        self.input.capacity()
    }

    /// Whose share of the thread its work counts to.
    pub fn purse(&self, service: &S) -> u64 {
        service.purse(&self.session)
    }

    /// Whether searches stay on this connection, so that its client may well be silent.
    pub fn is_following(&self) -> bool {
        !self.followers.is_empty()
    }

    /// Whether nothing that was begun is unfinished.
    pub fn is_quiet(&self) -> bool {
        self.parked.is_none() && self.waiting == 0 && !self.followers.is_inside()
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

    /// How many whole messages have come, counted round; 0 only before the first.
    pub fn heard(&self) -> u32 {
        self.heard
    }

    /// Whether nobody is authenticated.
    pub fn is_anonymous(&self, service: &S) -> bool {
        service.is_anonymous(&self.session)
    }

    /// Whether the client owes us the rest of a message.
    pub fn owes_rest(&self) -> bool {
        !self.input.is_empty() && self.is_quiet() && !self.more
    }

    fn execute_input(&mut self, service: &mut S, rules: &Rules, out: &mut Vec<u8>) {
        let mut input = std::mem::take(&mut self.input);
        self.scanned = 0;
        let taken = self.execute(service, rules, &input, out);
        if taken < input.len() && self.state != State::Closed {
            input.drain(..taken);
            self.input = input;
        }
    }

    /// Executes messages from `bytes` until one must wait or the turn is over; returns how many
    /// bytes were taken.
    fn execute(
        &mut self,
        service: &mut S,
        rules: &Rules,
        bytes: &[u8],
        out: &mut Vec<u8>,
    ) -> usize {
        let (mut taken, mut turn) = (0, Turn::default());
        self.more = false;
        while matches!(self.state, State::Open | State::Ending) && taken < bytes.len() {
            if self.parked.is_some() || out.len() >= OUTPUT_BYTES_MAX {
                self.more = true;
                break;
            }
            let rest = &bytes[taken..];
            match frame(rest, self.message_bytes_max(service, rules)) {
                Ok(None) => break,
                Ok(Some(length)) => {
                    if !self.execute_message(service, rules, &rest[..length], out) {
                        (self.stalled, self.more) = (true, true);
                        break;
                    }
                    taken += length;
                    if taken < bytes.len() && turn.is_over(service) {
                        self.more = true;
                        break;
                    }
                }
                Err(error) => {
                    self.disconnect(ResultCode::PROTOCOL_ERROR, &error.to_string(), out);
                }
            }
        }
        // RFC 4511 §4.14.1: nothing may follow StartTLS before its response. Executing it after
        // the handshake would let an attacker inject requests into the protected session.
        if self.state == State::StartTls && taken < bytes.len() {
            self.disconnect(ResultCode::PROTOCOL_ERROR, "requests behind StartTLS", out);
        }
        taken
    }

    fn message_bytes_max(&self, service: &S, rules: &Rules) -> usize {
        if rules.anonymous_message_bytes_max < rules.limits.message_bytes_max
            && service.is_anonymous(&self.session)
        {
            rules.anonymous_message_bytes_max
        } else {
            rules.limits.message_bytes_max
        }
    }

    /// Executes one message; false when it must wait for completions.
    fn execute_message(
        &mut self,
        service: &mut S,
        rules: &Rules,
        bytes: &[u8],
        out: &mut Vec<u8>,
    ) -> bool {
        let message = match Message::decode(bytes, &rules.limits) {
            Ok(message) => message,
            Err(error) => {
                self.refuse_malformed(service, bytes, &error, out);
                return true;
            }
        };
        if self.waiting > 0 && !service.may_overlap(&self.session, &message.request) {
            return false;
        }
        self.heard = self.heard.wrapping_add(1).max(1);
        self.bundle.consider(&message);
        if let Some(refusal) = self.refusal(service, rules, &message) {
            match ResultKind::of(message.request.tag()) {
                Some(kind) => {
                    write_result(out, message.id, kind, &refusal, &[]);
                    service.refused(&mut self.session, bytes, &refusal, out);
                }
                None => self.disconnect(refusal.code, &refusal.diagnostic, out),
            }
            self.bundle.answered();
            return true;
        }
        if !self.followers.is_empty() && self.ends_following(service, &message, out) {
            return true;
        }
        let step = service.execute(&mut self.session, &message, out);
        self.follow(message.id, step);
        true
    }

    /// What a request means for searches that stay. True when that is all it means.
    fn ends_following(
        &mut self,
        service: &mut S,
        message: &Message<'_>,
        out: &mut Vec<u8>,
    ) -> bool {
        match &message.request {
            _ if insists(message) && !matches!(message.request, Request::Bind(_)) => false,
            Request::Abandon(target) => self.followers.remove(*target).is_some(),
            // RFC 4511 §4.2.1: nothing goes on under another identity.
            Request::Bind(_) => {
                self.followers.clear();
                false
            }
            Request::Extended(it) => {
                let target = cancel_target(it);
                let Some(follower) = target.and_then(|it| self.followers.remove(it)) else {
                    return false;
                };
                service.cancel_following(follower, message.id, out);
                self.bundle.answered();
                true
            }
            _ => false,
        }
    }

    /// Gives one search that stays its turn.
    fn tell_news(&mut self, service: &mut S, out: &mut Vec<u8>) {
        let Some((id, mut follower)) = self.followers.take_turn() else {
            return;
        };
        match service.follow(&mut self.session, &mut follower, out) {
            Followed::Ended => self.bundle.answered(),
            Followed::More => self.followers.give_back(id, follower, true),
            Followed::Inside => self.followers.give_back_inside(id, follower),
            Followed::CaughtUp => self.followers.give_back(id, follower, false),
            Followed::Broken => self.state = State::Closed,
        }
    }

    /// What the connection itself refuses.
    fn refusal(&self, service: &S, rules: &Rules, message: &Message<'_>) -> Option<LdapResult> {
        // RFC 4511 §4.1.1.1: it could not be told whose responses are whose.
        let is_answered = ResultKind::of(message.request.tag()).is_some();
        if is_answered && self.followers.has(message.id) {
            let text = "the message id is that of a search that has not ended";
            return Some(LdapResult::new(ResultCode::PROTOCOL_ERROR, text));
        }
        if self.waiting > 0 && is_answered {
            let limit = service.pending_operations_max(&self.session);
            if limit > 0 && self.waiting >= limit {
                let diagnostic = format!(
                    "limit of {limit} operations waiting on one connection: read responses first"
                );
                return Some(LdapResult::new(ResultCode::BUSY, diagnostic));
            }
        }
        match &message.request {
            Request::Bind(bind) if !self.confidential && !rules.allow_cleartext_binds => match bind
                .authentication
            {
                Authentication::Simple(password) if !password.is_empty() => Some(LdapResult::new(
                    ResultCode::CONFIDENTIALITY_REQUIRED,
                    "expected TLS before a password; use StartTLS or ldaps://",
                )),
                _ => None,
            },
            // RFC 4511 §4.14.1: no operation may be outstanding.
            Request::Extended(it) if it.name == oid::START_TLS && !self.followers.is_empty() => {
                let text = "a search of this connection has not ended";
                Some(LdapResult::new(ResultCode::OPERATIONS_ERROR, text))
            }
            _ => None,
        }
    }

    /// Answers a whole frame that is not a request: to the request where it can be told which,
    /// otherwise to the connection. Wrong lengths end the session in any case: nothing after them
    /// can be trusted (RFC 4511 §4.1.1).
    fn refuse_malformed(
        &mut self,
        service: &mut S,
        bytes: &[u8],
        error: &DecodeError,
        out: &mut Vec<u8>,
    ) {
        let diagnostic = error.to_string();
        let known = decode_header(bytes).and_then(|(id, tag)| Some((id, ResultKind::of(tag)?)));
        match known {
            Some((id, kind)) if id > 0 && !lengths_are_wrong(error) => {
                self.heard = self.heard.wrapping_add(1).max(1);
                let result = LdapResult::new(ResultCode::PROTOCOL_ERROR, diagnostic);
                write_result(out, id, kind, &result, &[]);
                service.refused(&mut self.session, bytes, &result, out);
                self.bundle.answered();
            }
            _ => self.disconnect(ResultCode::PROTOCOL_ERROR, &diagnostic, out),
        }
    }

    fn follow(&mut self, id: MessageId, step: Step<S::Cursor, S::Follower>) {
        match step {
            Step::Done => self.bundle.answered(),
            Step::Waiting => self.waiting += 1,
            Step::More(cursor) => self.parked = Some(Parked { id, cursor }),
            Step::Follow(follower) => self.followers.add(id, follower),
            Step::Close => self.state = State::Closed,
            Step::StartTls => {
                if self.state == State::Open {
                    self.state = State::StartTls;
                }
            }
        }
    }

    /// Looks for an Abandon or Cancel of the parked search, and for Unbind, in the input behind
    /// it (RFC 4511 §4.3, §4.11; RFC 3909).
    fn look_ahead(&mut self, service: &mut S, rules: &Rules, out: &mut Vec<u8>) {
        while let Some(Parked { id: parked, .. }) = self.parked {
            if self.is_inside_message() {
                return;
            }
            let rest = self.input.get(self.scanned..).unwrap_or_default();
            // Junk is answered in its turn.
            let Ok(Some(length)) = frame(rest, self.message_bytes_max(service, rules)) else {
                return;
            };
            match concern(&rest[..length], parked, &rules.limits) {
                Concern::Other => {
                    self.scanned += length;
                    continue;
                }
                Concern::Unbind => {
                    self.drop_parked(service);
                    self.state = State::Closed;
                    return;
                }
                Concern::Abandon => {}
                Concern::Cancel(id) => {
                    let canceled = LdapResult::new(ResultCode::CANCELED, "");
                    write_result(out, parked, ResultKind::SearchDone, &canceled, &[]);
                    write_extended_result(out, id, &LdapResult::success(), None, None, &[]);
                }
            }
            self.input.drain(self.scanned..self.scanned + length);
            self.drop_parked(service);
            self.bundle.end();
            // What stands before and behind is executed by `proceed`.
            (self.scanned, self.more) = (0, true);
        }
    }

    /// Whether a part of a message is in the output and the rest is still to come: nothing may be
    /// put in between.
    fn is_inside_message(&self) -> bool {
        self.followers.is_inside() || self.parked_is_inside()
    }

    fn parked_is_inside(&self) -> bool {
        let parked = self.parked.as_ref();
        parked.is_some_and(|it| S::is_inside_message(&it.cursor))
    }

    fn drop_parked(&mut self, service: &mut S) {
        if let Some(Parked { cursor, .. }) = self.parked.take() {
            service.abandon(&mut self.session, cursor);
        }
    }

    fn disconnect(&mut self, code: ResultCode, diagnostic: &str, out: &mut Vec<u8>) {
        write_notice_of_disconnection(out, &LdapResult::new(code, diagnostic));
        self.state = State::Closed;
        self.input = Vec::new();
    }
}
