//! One connection with its socket: what its task does next, and how its output is sent.
//!
//! Read and output buffers belong to the thread and serve all its connections in turn; a connection
//! owns bytes only while its client does not take them. So an idle connection costs its structure
//! only, and a request at depth one costs one read and one write. Input goes to the thread's round,
//! which executes requests; every output goes through [`State::send`].

use std::cell::{Cell, RefCell};
use std::io;
use std::ops::Range;
use std::task::{Context, Poll, Waker};

use directory::{Completion, Worker};

use crate::admission::Ticket;
use crate::connection::Connection;
use crate::connection_settings::ConnectionSettings;
use crate::deadline::{Deadline, Due, Missed};
use crate::desk::Desk;
use crate::linger::Linger;
use crate::output::Output;
use crate::settings::{ClientCertificates, Connections};
use crate::socket::Socket;
use crate::tls::{Received, Tls};

/// Length of input in bytes from which on it is executed at once instead of in a round with that of
/// others: it has enough requests to use the processor's caches.
const JOINING_BYTES_MAX: usize = 4 << 10;

/// One connection on one serving thread.
pub struct SocketConnection {
    /// Number of the connection on its thread.
    pub id: u64,
    /// Whether the thread's round has requests of it.
    pub in_round: Cell<bool>,
    /// Its place among the connections that wait for a turn.
    place: Cell<Place>,
    /// Borrowed by one function at a time, never across a wait.
    pub state: RefCell<State>,
}

/// State of a connection.
pub struct State {
    /// The state machine, which executes requests.
    pub machine: Connection,
    socket: Socket,
    tls: Option<Box<Tls>>,
    /// The certificate that a TLS handshake asks of the client; `None`: as the settings say.
    asked: Option<ClientCertificates>,
    output: Output,
    deadline: Deadline,
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
    /// Whether it has its turn, so that long work may continue.
    given: bool,
    /// Whether its last requests used up a turn and more are waiting.
    tired: bool,
    /// Whether it waits for its turn.
    waits_for_turn: bool,
    ticket: Ticket,
}

/// TLS of a new connection.
pub struct Secured {
    /// The session; `None` before TLS begins.
    pub tls: Option<Box<Tls>>,
    /// The certificate that the handshake asks of the client; `None`: as the settings say.
    pub asked: Option<ClientCertificates>,
}

/// State of a connection with regard to turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// The connection needs no turn.
    None,
    /// The connection is queued.
    Waiting,
    /// The connection has its turn.
    Given,
}

/// Result of one step of the connection's task.
pub enum Next {
    /// There may be more work.
    Again,
    /// Input is in the round; it is to be executed with that of other connections.
    Joined,
    /// Input is in the round; it is to be executed at once.
    Execute {
        /// How the input ended.
        received: Received,
        /// Whether more input waits, so that other connections come first afterwards.
        more: bool,
    },
    /// An event will wake the task.
    Wait,
    /// More work waits for a turn.
    WaitForTurn,
    /// The connection is closed.
    Closed,
}

impl SocketConnection {
    /// A new connection.
    pub fn new(
        id: u64,
        socket: Socket,
        machine: Connection,
        secured: Secured,
        ticket: Ticket,
    ) -> Self {
        SocketConnection {
            id,
            in_round: Cell::new(false),
            place: Cell::new(Place::None),
            state: RefCell::new(State {
                machine,
                socket,
                tls: secured.tls,
                asked: secured.asked,
                output: Output::default(),
                deadline: Deadline::default(),
                waker: None,
                reading: false,
                closing: false,
                ended: false,
                linger: None,
                given: false,
                tired: false,
                waits_for_turn: false,
                ticket,
            }),
        }
    }

    /// Prepares for the steps of the connection's task, which `cx` wakes.
    pub fn begin(&self, cx: &Context<'_>) {
        let state = &mut *self.state.borrow_mut();
        let waker = state.waker.as_ref();
        if !waker.is_some_and(|it| it.will_wake(cx.waker())) {
            state.waker = Some(cx.waker().clone());
        }
        state.given = self.place.get() == Place::Given;
        if state.given {
            self.place.set(Place::None);
        }
    }

    /// The purse to queue the connection under, so that it has a turn; `None` if it is queued.
    pub fn wish(&self, worker: &Worker) -> Option<u64> {
        if self.place.get() != Place::None {
            return None;
        }
        self.place.set(Place::Waiting);
        Some(self.state.borrow().machine.purse(worker))
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
                .machine
                .complete(&mut desk.worker, completion, &mut desk.out);
        }
        state.deadline.note_progress();
        let all = 0..desk.out.len();
        desk.worker.moved(0, all.len());
        state.deliver(desk, all);
        state.wake_for_rest(desk);
    }

    /// Judges the account of the client, which is in doubt; closes the connection if it does not
    /// hold.
    pub fn judge(&self, desk: &mut Desk) {
        let state = &mut *self.state.borrow_mut();
        if state.linger.is_some() {
            return;
        }
        desk.out.clear();
        state.machine.judge(&mut desk.worker, &mut desk.out);
        let all = 0..desk.out.len();
        desk.worker.moved(0, all.len());
        state.deliver(desk, all);
        state.wake_for_rest(desk);
    }

    /// The purpose of the deadline from now on; `None` if the present one remains.
    pub fn due(&self, idle_timeout: bool) -> Option<Due> {
        let state = &mut *self.state.borrow_mut();
        let machine = &state.machine;
        let due = if !state.output.is_sent() {
            Due::Write
        } else if state.is_handshaking() || machine.heard() == 0 {
            Due::FirstMessage
        } else if machine.owes_rest() {
            Due::Message
        } else if idle_timeout && machine.is_quiet() && !machine.is_following() {
            Due::Idle
        } else {
            Due::Nothing
        };
        let renewed = state.deadline.renew(due, state.machine.heard());
        renewed.then_some(due)
    }

    /// Handles the end of the deadline's time. Returns the ticks of another window for a client
    /// that was fast enough; `None` if the connection ends.
    pub fn pass_deadline(&self, limits: &Connections) -> Option<u64> {
        let state = &mut *self.state.borrow_mut();
        let waiting = state.output.waiting_bytes();
        if waiting > 0 {
            state.output.offer(&state.socket);
            state.note_sent(waiting);
        }
        // Also where all output is sent now: the task goes on.
        state.wake();
        let missed = match state.deadline.pass(limits) {
            Ok(ticks) => return Some(ticks),
            Err(missed) => missed,
        };
        // A connection that lingers was ended for another reason.
        if state.linger.is_none() {
            missed.limit().count();
            match missed {
                Missed::Request => tracing::debug!(connection = self.id, "{missed}"),
                slow => state.ticket.cut(&slow, state.machine.address()),
            }
        }
        None
    }

    /// Stops executing requests, because the server stops.
    pub fn stop(&self) {
        let state = &mut *self.state.borrow_mut();
        state.machine.stop_executing();
        state.wake();
    }
}

impl State {
    /// Records that the round has executed input of this connection. `received` says how the input
    /// ended.
    pub fn has_executed(&mut self, worker: &mut Worker, received: Received) {
        match received {
            Received::Plain => {}
            Received::Closed => self.machine.end_of_input(worker),
            Received::Broken => self.machine.abort(worker),
        }
        self.deadline.note_input(self.machine.is_anonymous());
        self.tired = self.machine.can_proceed();
    }

    /// Sends a part of `desk.out`.
    pub fn deliver(&mut self, desk: &mut Desk, part: Range<usize>) {
        if self.send(desk, part).is_err() {
            self.machine.abort(&mut desk.worker);
        }
    }

    /// Wakes the connection's task if work is left for it after output was sent outside of it, and
    /// gives memory back if nothing is kept.
    pub fn wake_for_rest(&mut self, desk: &Desk) {
        self.give_back();
        let machine = &self.machine;
        // Only the task can wait for the time of held output.
        let idle = self.output.is_sent()
            && !self.output.holds()
            && !machine.can_proceed()
            && !machine.is_closed()
            && !machine.starts_tls()
            && (self.reading || !machine.wants_input(true));
        if !idle || desk.stopping {
            self.wake();
        }
    }

    /// Sends a part of `desk.out`: encrypted under TLS, held if the client waits for more
    /// responses.
    #[inline]
    fn send(&mut self, desk: &mut Desk, part: Range<usize>) -> io::Result<()> {
        let Desk { out, sealed, .. } = desk;
        let mut bytes = &out[part];
        if let Some(tls) = &mut self.tls {
            sealed.clear();
            tls.encrypt(bytes, sealed)?;
            bytes = sealed;
        }
        let length = self.output.held_bytes() + bytes.len();
        match self.machine.patience(length) {
            Some(delay) if length > 0 => self.output.hold(bytes, delay),
            _ => self.output.send(&self.socket, bytes)?,
        }
        Ok(())
    }

    fn is_handshaking(&self) -> bool {
        self.tls.as_ref().is_some_and(|it| it.is_handshaking())
    }

    /// Tells the deadline how many of the bytes that waited for the client were sent.
    fn note_sent(&mut self, waited: usize) {
        match waited - self.output.waiting_bytes() {
            0 => {}
            sent => self.deadline.note_sent(sent),
        }
    }

    /// Whether the client, which has missed its deadline, can still be told so.
    fn can_be_told(&self) -> bool {
        self.deadline.due() != Due::Write && self.output.is_sent() && !self.is_handshaking()
    }

    fn wake(&self) {
        if let Some(waker) = &self.waker {
            waker.wake_by_ref();
        }
    }

    /// Runs one step of the connection's task.
    pub fn step(
        &mut self,
        desk: &mut Desk,
        shared: &ConnectionSettings,
        cx: &mut Context<'_>,
    ) -> Next {
        if self.deadline.missed().is_some() && !self.can_be_told() {
            return Next::Closed;
        }
        self.reading = false;
        self.waits_for_turn = false;
        if let Some(linger) = &mut self.linger {
            return match linger.poll(&mut self.socket, &mut desk.input, cx) {
                Poll::Ready(()) => Next::Closed,
                Poll::Pending => Next::Wait,
            };
        }
        self.release(cx);
        let waiting = self.output.waiting_bytes();
        let flushed = self.output.poll_flush(&mut self.socket, cx);
        self.note_sent(waiting);
        let drained = match flushed {
            Poll::Ready(Ok(())) => true,
            Poll::Ready(Err(_)) => return Next::Closed,
            Poll::Pending => false,
        };
        if drained && let Some(next) = self.go_on(desk, shared) {
            return next;
        }
        if !self.machine.wants_input(drained) {
            return self.wait();
        }
        match self.socket.poll_read(cx, &mut desk.input) {
            Poll::Pending => {
                self.reading = true;
                self.wait()
            }
            Poll::Ready(Err(_)) => Next::Closed,
            Poll::Ready(Ok(0)) => {
                self.ended = true;
                self.machine.end_of_input(&mut desk.worker);
                Next::Again
            }
            Poll::Ready(Ok(length)) => self.join(desk, length, cx),
        }
    }

    fn wait(&self) -> Next {
        match self.waits_for_turn {
            true => Next::WaitForTurn,
            false => Next::Wait,
        }
    }

    /// Adds the input just read to the round.
    fn join(&mut self, desk: &mut Desk, length: usize, cx: &mut Context<'_>) -> Next {
        self.deadline.note_received(length);
        desk.input_used = desk.input_used.max(length);
        let bytes = &desk.input[..length];
        let round = &mut desk.round;
        let received = match &mut self.tls {
            None => {
                round.bytes.extend_from_slice(bytes);
                Received::Plain
            }
            Some(tls) => {
                let received = tls.decrypt(bytes, &mut round.bytes);
                if let Some(bindings) = tls.take_bindings() {
                    self.machine.bind_channel(bindings);
                }
                if let Some(certificate) = tls.take_certificate() {
                    self.machine.identified(certificate);
                }
                if let Some(why) = tls.take_complaint() {
                    self.ticket.complain(&why, self.machine.address());
                }
                received
            }
        };
        // Short input may wait for that of other connections, and more input wakes the task.
        self.reading = length <= JOINING_BYTES_MAX
            && self.tls.is_none()
            && !desk.stopping
            && self.deadline.missed().is_none()
            && self.machine.takes_requests()
            && self.socket.is_empty(cx);
        match self.reading {
            true => Next::Joined,
            false => Next::Execute {
                received,
                // A full buffer means that more input waits.
                more: length == desk.input.len(),
            },
        }
    }

    /// The next step when all output has been sent; `None` if more input is needed.
    fn go_on(&mut self, desk: &mut Desk, shared: &ConnectionSettings) -> Option<Next> {
        desk.out.clear();
        let why = match self.deadline.missed() {
            _ if desk.stopping => Some("the server is stopping".to_owned()),
            missed => missed.map(|it| it.to_string()),
        };
        if let Some(why) = why
            && self.machine.is_quiet()
            && self.machine.may_say_farewell()
        {
            self.machine.farewell(&mut desk.worker, &why, &mut desk.out);
            return Some(self.send_all(desk));
        }
        if self.machine.is_closed() {
            return Some(self.close(desk));
        }
        if self.machine.starts_tls() {
            let asked = self.asked;
            let Some(Ok(tls)) = shared.certificate.as_ref().map(|it| it.session(asked)) else {
                return Some(Next::Closed);
            };
            self.tls = Some(Box::new(tls));
            self.machine.secured();
            return Some(Next::Again);
        }
        if !self.machine.can_proceed() {
            return None;
        }
        if (self.tired || self.machine.is_long()) && !std::mem::take(&mut self.given) {
            // Other connections come first; an Abandon may arrive meanwhile.
            self.waits_for_turn = true;
            return None;
        }
        desk.worker.release_snapshot();
        self.machine
            .proceed(&mut desk.worker, &shared.rules, &mut desk.out);
        self.tired = self.machine.can_proceed();
        desk.worker.moved(0, desk.out.len());
        Some(self.send_all(desk))
    }

    /// Closes the connection, of which all output was sent.
    fn close(&mut self, desk: &mut Desk) -> Next {
        if let (Some(tls), false) = (&mut self.tls, self.closing) {
            self.closing = true;
            tls.close();
            return self.send_all(desk);
        }
        if self.ended || self.socket.end_output().is_err() {
            return Next::Closed;
        }
        self.machine.abort(&mut desk.worker);
        self.linger = Some(Box::new(Linger::begin()));
        Next::Again
    }

    /// Sends `desk.out` in the connection's task.
    fn send_all(&mut self, desk: &mut Desk) -> Next {
        let all = 0..desk.out.len();
        match self.send(desk, all) {
            Ok(()) => Next::Again,
            Err(_) => Next::Closed,
        }
    }

    /// Releases held output when its time is over or no more responses are expected.
    fn release(&mut self, cx: &mut Context<'_>) {
        if !self.output.holds() {
            return;
        }
        let over = self.output.was_held_long_enough(cx);
        if over {
            self.machine.end_bundle();
        }
        let patience = self.machine.patience(self.output.held_bytes());
        if over || self.deadline.missed().is_some() || patience.is_none() {
            self.output.release();
        }
    }

    /// Gives counted memory back where nothing is kept any more.
    fn give_back(&mut self) {
        if self.machine.is_counted() && self.machine.kept_bytes() + self.output.capacity() == 0 {
            self.machine.give_back();
        }
    }

    /// Counts the buffers; false if they exceed the limit, so that the connection is to be closed
    /// at once.
    #[inline]
    pub fn count_buffers(&mut self, desk: &mut Desk) -> bool {
        let output = self.output.capacity();
        let kept = self.machine.kept_bytes() + output > 0;
        if !kept && !self.machine.is_counted() {
            return true;
        }
        desk.out.clear();
        let closed = self.machine.is_closed();
        self.machine
            .count_buffers(&mut desk.worker, output, &mut desk.out);
        if closed || !self.machine.is_closed() {
            return true;
        }
        self.send_all(desk);
        self.wake();
        output == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A hundred thousand connections are as many of these structures. Each also costs its task and
    /// its place in the event queue (some 600 bytes), and memory bound to it.
    #[test]
    fn a_connection_takes_less_than_a_kilobyte() {
        let bytes = size_of::<SocketConnection>();
        assert!(bytes <= 560, "{bytes} bytes");
    }
}
