//! One connection with its socket: reads, executes, writes, waits.
//!
//! Read and output buffers belong to the thread and serve all its connections in turn; a connection
//! owns bytes only while its client does not take them. So an idle connection costs its structure
//! only, and a request at depth one costs one read and one write. Short requests are left to the
//! thread's round, which executes those of all connections together.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::io;
use std::ops::Range;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use directory::{Completion, Worker};
use tokio::time::{Sleep, sleep};

use crate::admission::Ticket;
use crate::connection::Connection;
use crate::desk::Desk;
use crate::linger::Linger;
use crate::shared::Shared;
use crate::socket::Socket;
use crate::tls::{Received, Tls};

/// Maximum number of reads in one turn.
const ROUNDS: usize = 4;
/// Length of input in bytes from which on it is executed at once instead of in a round: it has
/// enough requests to use the processor's caches.
const JOINING_BYTES_MAX: usize = 4 << 10;

/// Purpose of a connection's deadline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    /// No deadline.
    Nothing,
    /// End of the TLS handshake and the first message.
    FirstMessage,
    /// End of the current message.
    Message,
    /// Taking responses.
    Write,
    /// The next request.
    Idle,
}

/// One connection on one serving thread.
pub struct Link {
    /// Number of the connection on its thread.
    pub id: u64,
    /// Whether the thread's round has requests of it.
    pub in_round: Cell<bool>,
    /// Its place among the connections that wait for a turn.
    place: Cell<Place>,
    state: RefCell<State>,
}

struct State {
    socket: Socket,
    connection: Connection,
    tls: Option<Box<Tls>>,
    /// Output that the socket has not taken, from `sent` on. Usually empty.
    unsent: Vec<u8>,
    sent: usize,
    /// Output behind `unsent` that is held for a bundle.
    held: Option<Box<Held>>,
    /// Wakes the connection's task.
    waker: Option<Waker>,
    /// Whether the task is woken when the socket has input.
    reading: bool,
    /// Whether a close_notify is queued.
    closing: bool,
    /// Whether the client has ended its output.
    ended: bool,
    /// State of closing the connection after all output was sent.
    linger: Option<Box<Linger>>,
    /// The purpose of the present deadline, and whether there was progress since it was set.
    due: Due,
    moved: bool,
    /// Number of messages received when it was set, and whether the client was anonymous at the
    /// last input.
    heard: u32,
    anonymous: bool,
    /// Whether the deadline has passed.
    expired: bool,
    /// Whether it has its turn, so that long work may continue.
    given: bool,
    /// Whether its last requests used up a turn and more are waiting.
    tired: bool,
    /// Whether its buffers are counted.
    counted: bool,
    /// Whether it waits for its turn.
    waits_for_turn: bool,
    _ticket: Ticket,
}

/// Output that is held, and until when.
struct Held {
    bytes: Vec<u8>,
    until: Pin<Box<Sleep>>,
}

/// State of a connection with regard to turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// The connection needs no turn.
    None,
    /// The connection is to be queued for a turn.
    Wished,
    /// The connection is queued.
    Waiting,
    /// The connection has its turn.
    Given,
}

/// Result of one step of the connection's task.
enum Turn {
    /// There may be more work.
    Again,
    /// There is more work, but other connections come first.
    Yield,
    /// An event will wake the task.
    Wait,
    /// The connection is closed.
    Closed,
}

impl Link {
    /// A new connection.
    pub fn new(
        id: u64,
        socket: Socket,
        connection: Connection,
        tls: Option<Box<Tls>>,
        ticket: Ticket,
    ) -> Self {
        Link {
            id,
            in_round: Cell::new(false),
            place: Cell::new(Place::None),
            state: RefCell::new(State {
                socket,
                connection,
                tls,
                unsent: Vec::new(),
                sent: 0,
                held: None,
                waker: None,
                reading: false,
                closing: false,
                ended: false,
                linger: None,
                due: Due::Nothing,
                moved: true,
                heard: 0,
                anonymous: true,
                expired: false,
                given: false,
                tired: false,
                counted: false,
                waits_for_turn: false,
                _ticket: ticket,
            }),
        }
    }

    /// Runs the connection's task. Ready when the connection is closed.
    pub fn poll(&self, desk: &mut Desk, shared: &Shared, cx: &mut Context<'_>) -> Poll<()> {
        let state = &mut *self.state.borrow_mut();
        if !state
            .waker
            .as_ref()
            .is_some_and(|it| it.will_wake(cx.waker()))
        {
            state.waker = Some(cx.waker().clone());
        }
        state.given = self.place.get() == Place::Given;
        if state.given {
            self.place.set(Place::None);
        }
        let mut wishes = true;
        for _ in 0..ROUNDS {
            match state.turn(desk, shared, cx) {
                Turn::Again => {}
                Turn::Yield => break,
                Turn::Wait => {
                    wishes = state.waits_for_turn;
                    break;
                }
                Turn::Closed => {
                    state.connection.abort(&mut desk.worker);
                    return Poll::Ready(());
                }
            }
        }
        if let Poll::Ready(()) = state.count_buffers(desk, cx) {
            return Poll::Ready(());
        }
        if wishes && self.place.get() == Place::None {
            self.place.set(Place::Wished);
        }
        Poll::Pending
    }

    /// The purse to queue the connection under; `None` if it needs no turn.
    #[inline]
    pub fn wish(&self, worker: &Worker) -> Option<u64> {
        if self.place.get() != Place::Wished {
            return None;
        }
        self.place.set(Place::Waiting);
        Some(self.state.borrow().connection.purse(worker))
    }

    /// Gives the connection its turn.
    pub fn give_turn(&self) {
        self.place.set(Place::Given);
        self.state.borrow().wake();
    }

    /// Appends the responses of completions and sends them at once. Wakes the connection's task
    /// only if work is left for it.
    pub fn complete(&self, desk: &mut Desk, completions: &mut dyn Iterator<Item = Completion>) {
        let state = &mut *self.state.borrow_mut();
        if state.linger.is_some() {
            return completions.for_each(|it| desk.worker.lost(&it));
        }
        desk.out.clear();
        for completion in completions {
            state
                .connection
                .complete(&mut desk.worker, completion, &mut desk.out);
        }
        state.moved = true;
        desk.worker.moved(0, desk.out.len());
        let sent = state.encrypt(&mut desk.out).and_then(|()| {
            if state.hold(&mut desk.out) {
                return Ok(());
            }
            state.send_now(&mut desk.out)
        });
        state.settle(sent, desk);
    }

    /// Executes the requests of this connection in the round, appending to `desk.out`.
    pub fn execute(&self, desk: &mut Desk, shared: &Shared, bytes: &[u8]) {
        self.in_round.set(false);
        let state = &mut *self.state.borrow_mut();
        state.moved = true;
        let Desk { worker, out, .. } = desk;
        state.connection.receive(worker, &shared.rules, bytes, out);
        state.anonymous = state.connection.is_anonymous();
        state.tired = state.connection.can_proceed();
    }

    /// Sends a part of `desk.out`, the responses to those requests.
    pub fn deliver(&self, desk: &mut Desk, part: Range<usize>) {
        let state = &mut *self.state.borrow_mut();
        let length = part.len();
        let sent = if state.held.is_none() && state.connection.patience(length).is_none() {
            state.send_part(&desk.out[part])
        } else {
            let mut out = desk.out[part].to_vec();
            match state.hold(&mut out) {
                true => Ok(()),
                false => state.send_now(&mut out),
            }
        };
        state.settle(sent, desk);
    }

    /// The purpose of the deadline from now on; `None` if the present one remains.
    pub fn due(&self, idle_timeout: bool) -> Option<Due> {
        let state = &mut *self.state.borrow_mut();
        let handshaking = state.tls.as_ref().is_some_and(|it| it.is_handshaking());
        let due = if !state.unsent.is_empty() {
            Due::Write
        } else if handshaking || state.connection.heard() == 0 {
            Due::FirstMessage
        } else if state.connection.owes_rest() {
            Due::Message
        } else if idle_timeout && state.connection.is_quiet() && !state.connection.is_following() {
            Due::Idle
        } else {
            Due::Nothing
        };
        let moved = std::mem::take(&mut state.moved);
        let same = due == std::mem::replace(&mut state.due, due);
        let heard = state.connection.heard();
        let same_message = heard == std::mem::replace(&mut state.heard, heard);
        match due {
            _ if !same => Some(due),
            // The time for the first message continues, however little the client sends.
            Due::Nothing | Due::FirstMessage => None,
            // So does the time for each message of an anonymous client, which could otherwise keep
            // parts of long messages in memory.
            Due::Message if state.anonymous && same_message => None,
            Due::Message | Due::Write | Due::Idle => moved.then_some(due),
        }
    }

    /// Handles the deadline.
    pub fn expire(&self) {
        let state = &mut *self.state.borrow_mut();
        tracing::debug!(connection = self.id, waited_for = ?state.due, "connection timed out");
        state.expired = true;
        state.wake();
    }

    /// Stops executing requests, because the server stops.
    pub fn stop(&self) {
        let state = &mut *self.state.borrow_mut();
        state.connection.stop_executing();
        state.wake();
    }
}

impl State {
    /// Counts the buffers; ready if they exceed the limit, so that the connection is to be closed
    /// at once.
    #[inline]
    fn count_buffers(&mut self, desk: &mut Desk, cx: &mut Context<'_>) -> Poll<()> {
        let output = self.unsent.capacity();
        let kept = self.connection.input_bytes() + output > 0;
        if !kept && !self.counted {
            return Poll::Pending;
        }
        self.counted = kept;
        desk.out.clear();
        let closed = self.connection.is_closed();
        self.connection
            .count_buffers(&mut desk.worker, output, &mut desk.out);
        if closed || !self.connection.is_closed() {
            return Poll::Pending;
        }
        self.send(desk, cx);
        self.wake();
        match output {
            0 => Poll::Pending,
            _ => Poll::Ready(()),
        }
    }

    /// Wakes the task after sending outside of it, if work is left for it.
    fn settle(&mut self, sent: io::Result<()>, desk: &mut Desk) {
        if sent.is_err() {
            self.connection.abort(&mut desk.worker);
        }
        let connection = &self.connection;
        // Only the task can wait for the time of held output.
        let idle = self.unsent.is_empty()
            && self.held.is_none()
            && !connection.can_proceed()
            && !connection.is_closed()
            && !connection.starts_tls()
            && (self.reading || !connection.wants_input(true));
        if !idle || desk.stopping {
            self.wake();
        }
    }

    fn wake(&self) {
        if let Some(waker) = &self.waker {
            waker.wake_by_ref();
        }
    }

    fn turn(&mut self, desk: &mut Desk, shared: &Shared, cx: &mut Context<'_>) -> Turn {
        if self.expired && (self.due != Due::Idle || !self.unsent.is_empty()) {
            return Turn::Closed;
        }
        self.reading = false;
        self.waits_for_turn = false;
        if let Some(linger) = &mut self.linger {
            return match linger.poll(&mut self.socket, &mut desk.input, cx) {
                Poll::Ready(()) => Turn::Closed,
                Poll::Pending => Turn::Wait,
            };
        }
        if self.held.is_some() {
            self.release(cx);
        }
        let drained = match self.poll_flush(cx) {
            Poll::Ready(Ok(())) => true,
            Poll::Ready(Err(_)) => return Turn::Closed,
            Poll::Pending => false,
        };
        if drained && let Some(turn) = self.go_on(desk, shared, cx) {
            return turn;
        }
        if !self.connection.wants_input(drained) {
            return Turn::Wait;
        }
        match self.socket.poll_read(cx, &mut desk.input) {
            Poll::Pending => {
                self.reading = true;
                Turn::Wait
            }
            Poll::Ready(Err(_)) => Turn::Closed,
            Poll::Ready(Ok(0)) => {
                self.ended = true;
                self.connection.end_of_input(&mut desk.worker);
                Turn::Again
            }
            Poll::Ready(Ok(length)) => self.receive(desk, shared, length, cx),
        }
    }

    /// The next step when all output has been sent; `None` if more input is needed.
    fn go_on(&mut self, desk: &mut Desk, shared: &Shared, cx: &mut Context<'_>) -> Option<Turn> {
        desk.out.clear();
        if (desk.stopping || self.expired)
            && self.connection.is_quiet()
            && self.connection.may_say_farewell()
        {
            let why = if desk.stopping {
                "the server is stopping"
            } else {
                "idle for too long"
            };
            self.connection
                .farewell(&mut desk.worker, why, &mut desk.out);
            return Some(self.send(desk, cx));
        }
        if self.connection.is_closed() {
            if let (Some(tls), false) = (&mut self.tls, self.closing) {
                self.closing = true;
                tls.close();
                return Some(self.send(desk, cx));
            }
            if self.ended || self.socket.end_output().is_err() {
                return Some(Turn::Closed);
            }
            self.connection.abort(&mut desk.worker);
            self.linger = Some(Box::new(Linger::begin()));
            return Some(Turn::Again);
        }
        if self.connection.starts_tls() {
            let Some(Ok(tls)) = shared.certificate.as_ref().map(|it| it.session()) else {
                return Some(Turn::Closed);
            };
            self.tls = Some(Box::new(tls));
            self.connection.secured();
            return Some(Turn::Again);
        }
        if !self.connection.can_proceed() {
            return None;
        }
        if (self.tired || self.connection.is_long()) && !std::mem::take(&mut self.given) {
            // Other connections come first; an Abandon may arrive meanwhile.
            self.waits_for_turn = true;
            return None;
        }
        desk.worker.release_snapshot();
        self.connection
            .proceed(&mut desk.worker, &shared.rules, &mut desk.out);
        self.tired = self.connection.can_proceed();
        desk.worker.moved(0, desk.out.len());
        Some(self.send(desk, cx))
    }

    fn receive(
        &mut self,
        desk: &mut Desk,
        shared: &Shared,
        length: usize,
        cx: &mut Context<'_>,
    ) -> Turn {
        if self.may_join(desk, length, cx) {
            desk.round.join(&desk.input[..length]);
            self.reading = true;
            return Turn::Wait;
        }
        self.moved = true;
        desk.out.clear();
        let Desk {
            worker,
            input,
            plain,
            out,
            ..
        } = desk;
        let bytes = &input[..length];
        worker.release_snapshot();
        match &mut self.tls {
            None => {
                self.connection.receive(worker, &shared.rules, bytes, out);
                worker.moved(bytes.len(), out.len());
            }
            Some(tls) => {
                plain.clear();
                let received = tls.decrypt(bytes, plain);
                self.connection.receive(worker, &shared.rules, plain, out);
                worker.moved(plain.len(), out.len());
                match received {
                    Ok(Received::Plain) => {}
                    Ok(Received::Closed) => self.connection.end_of_input(worker),
                    Err(error) => {
                        tracing::debug!(%error, "TLS failed");
                        self.connection.abort(worker);
                    }
                }
            }
        }
        self.anonymous = self.connection.is_anonymous();
        self.tired = self.connection.can_proceed();
        // A full buffer means that more input waits: other connections come first.
        let full = length == desk.input.len();
        match self.send(desk, cx) {
            Turn::Again if full => Turn::Yield,
            turn => turn,
        }
    }

    /// Whether the input just read can be executed in a round with that of other connections.
    fn may_join(&self, desk: &Desk, length: usize, cx: &mut Context<'_>) -> bool {
        length <= JOINING_BYTES_MAX
            && self.tls.is_none()
            && !desk.stopping
            && !self.expired
            && self.connection.takes_requests()
            && self.socket.is_empty(cx)
    }

    /// Sends `desk.out`; keeps the bytes that the socket does not take.
    fn send(&mut self, desk: &mut Desk, cx: &mut Context<'_>) -> Turn {
        if self.encrypt(&mut desk.out).is_err() {
            return Turn::Closed;
        }
        if self.hold(&mut desk.out) {
            return Turn::Again;
        }
        let mut sent = 0;
        if self.unsent.is_empty() {
            while sent < desk.out.len() {
                match self.socket.poll_write(cx, &desk.out[sent..]) {
                    Poll::Ready(Ok(0)) | Poll::Ready(Err(_)) => return Turn::Closed,
                    Poll::Ready(Ok(count)) => sent += count,
                    Poll::Pending => break,
                }
            }
        }
        self.keep(&mut desk.out, sent);
        Turn::Again
    }

    /// Holds output if the client waits for more responses; else moves held output in front of the
    /// new output.
    fn hold(&mut self, out: &mut Vec<u8>) -> bool {
        let bytes = self.held.as_ref().map_or(0, |it| it.bytes.len()) + out.len();
        match self.connection.patience(bytes) {
            Some(delay) if bytes > 0 => {
                let held = self.held.get_or_insert_with(|| {
                    Box::new(Held {
                        bytes: Vec::new(),
                        until: Box::pin(sleep(delay)),
                    })
                });
                held.bytes.append(out);
                true
            }
            _ => {
                if let Some(mut held) = self.held.take() {
                    held.bytes.append(out);
                    *out = held.bytes;
                }
                false
            }
        }
    }

    /// Releases held output when its time is over or no more responses are expected.
    fn release(&mut self, cx: &mut Context<'_>) {
        let Some(held) = &mut self.held else {
            return;
        };
        let over = held.until.as_mut().poll(cx).is_ready();
        if over {
            self.connection.end_bundle();
        }
        if over || self.expired || self.connection.patience(held.bytes.len()).is_none() {
            self.unsent.append(&mut held.bytes);
            self.held = None;
        }
    }

    /// Like `send`, outside the connection's task.
    fn send_now(&mut self, out: &mut Vec<u8>) -> io::Result<()> {
        let sent = self.try_send(out)?;
        self.keep(out, sent);
        Ok(())
    }

    /// Like `send_now`, for a part of a shared buffer.
    fn send_part(&mut self, out: &[u8]) -> io::Result<()> {
        let sent = self.try_send(out)?;
        if sent < out.len() {
            self.moved = true;
            self.unsent.extend_from_slice(&out[sent..]);
        }
        Ok(())
    }

    /// Sends bytes that the socket takes at once, unless earlier output is unsent; returns their
    /// number.
    #[inline]
    fn try_send(&self, out: &[u8]) -> io::Result<usize> {
        let mut sent = 0;
        while self.unsent.is_empty() && sent < out.len() {
            match self.socket.try_write(&out[sent..]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => sent += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        Ok(sent)
    }

    /// Keeps the unsent bytes of `out`.
    fn keep(&mut self, out: &mut Vec<u8>, sent: usize) {
        if sent == out.len() {
            return;
        }
        self.moved = true;
        if self.unsent.is_empty() && (out.len() - sent) * 2 > out.capacity() {
            // Most of the buffer is unsent, so the connection takes the buffer itself.
            self.sent = sent;
            self.unsent = std::mem::take(out);
        } else {
            self.unsent.extend_from_slice(&out[sent..]);
        }
    }

    fn encrypt(&mut self, out: &mut Vec<u8>) -> io::Result<()> {
        match &mut self.tls {
            None => Ok(()),
            Some(tls) => tls.encrypt(out),
        }
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.sent < self.unsent.len() {
            match self.socket.poll_write(cx, &self.unsent[self.sent..]) {
                Poll::Ready(Ok(0)) => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                Poll::Ready(Ok(count)) => {
                    self.sent += count;
                    self.moved = true;
                }
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending => return Poll::Pending,
            }
        }
        if !self.unsent.is_empty() {
            (self.unsent, self.sent) = (Vec::new(), 0);
        }
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A hundred thousand connections are as many of these structures. Each also costs its task and
    /// its place in the event queue (some 600 bytes), and memory bound to it.
    #[test]
    fn a_connection_takes_less_than_a_kilobyte() {
        let bytes = size_of::<Link>();
        assert!(bytes <= 512, "{bytes} bytes");
    }
}
