//! One serving thread: its runtime, its connections, and their turns.
//!
//! A thread owns a [`Worker`] and its connections. Threads share no part of a connection, only the
//! [`Inbox`]. Requests cost no timer, no lock and no switch of threads.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::io;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use directory::{Completion, Peer, Worker};
use policy::Limit;
use policy::pressure::Pressure;
use tokio::net::{TcpStream, UnixStream};
use tokio::runtime::{Builder, LocalOptions};
use tokio::sync::Notify;
use tokio::task::{spawn_local, yield_now};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use crate::admission::Ticket;
use crate::connection::{Connection, OUTPUT_BYTES_MAX};
use crate::connection_settings::ConnectionSettings;
use crate::desk::Desk;
use crate::inbox::{Accepted, Contents, Inbox, Security};
use crate::load::Load;
use crate::proxied;
use crate::round::{Read, Round};
use crate::slots::{Slots, TICKS_PER_S};
use crate::socket::Socket;
use crate::socket_connection::{Next, Secured, SocketConnection};
use crate::tls::Received;
use crate::turns::Turns;

/// Bytes read from a socket at once. One buffer serves all connections of a thread.
const READ_BYTES: usize = 64 << 10;
/// Number of turns before sockets are polled again, for which a request of another connection may
/// wait. Tokio's default is 61, for tasks that take microseconds.
const TURNS_BETWEEN_LOOKS: u32 = 16;
/// Maximum number of steps of a connection before others come.
const STEPS_MAX: usize = 4;
/// Bytes of responses after which they are sent before more requests are executed.
const ROUND_BYTES_MAX: usize = 64 << 10;

/// Number of sessions judged before other connections have their turn.
const JUDGED_AT_ONCE: usize = 32;
/// Time between two looks for sessions in doubt: of many changes of accounts, and where the time of
/// a session comes within the second.
const JUDGE_PAUSE: Duration = Duration::from_millis(50);
/// Longest wait for the time of a session.
const JUDGE_WAIT_MAX: Duration = Duration::from_secs(10);

struct Thread {
    desk: RefCell<Desk>,
    connections: RefCell<Slots<SocketConnection>>,
    /// Connections that wait for a turn.
    turns: RefCell<Turns<Rc<SocketConnection>>>,
    /// Signalled when a connection is added to `turns`.
    wished: Notify,
    shared: RefCell<Arc<ConnectionSettings>>,
    /// Number of ticks of half a second in which some connection had a deadline.
    tick: Cell<u64>,
    /// Signalled when there is a deadline, so that ticks are needed.
    timed: Notify,
    /// Signalled when a connection is closed.
    gone: Notify,
    /// Signalled when sessions may be in doubt.
    doubt: Notify,
    load: RefCell<Load>,
    /// Signalled when a probe of the load begins.
    probed: Notify,
}

thread_local! {
    /// Called before the thread waits. Separate, because the runtime's hook must be `Send` and the
    /// thread is not.
    static BEFORE_WAITING: RefCell<Option<Box<dyn Fn()>>> = const { RefCell::new(None) };
}

/// Serves until the inbox says stop; returns when all operations are completed or dropped.
///
/// # Errors
/// The thread's event loop could not be created.
pub fn serve(worker: Worker, inbox: &Inbox, shared: Arc<ConnectionSettings>) -> io::Result<()> {
    let runtime = Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .event_interval(TURNS_BETWEEN_LOOKS)
        .on_thread_park(|| {
            BEFORE_WAITING.with_borrow(|it| {
                if let Some(before) = it {
                    before();
                }
            });
        })
        .build_local(LocalOptions::default())?;
    let desk = Desk {
        worker,
        input: vec![0; READ_BYTES].into_boxed_slice(),
        out: Vec::new(),
        sealed: Vec::new(),
        input_used: 0,
        round: Round::new(),
        stopping: false,
    };
    let thread = Rc::new(Thread {
        desk: RefCell::new(desk),
        connections: RefCell::new(Slots::default()),
        turns: RefCell::default(),
        wished: Notify::new(),
        shared: RefCell::new(shared),
        tick: Cell::new(1),
        timed: Notify::new(),
        gone: Notify::new(),
        doubt: Notify::new(),
        load: RefCell::default(),
        probed: Notify::new(),
    });
    let before = Rc::clone(&thread);
    BEFORE_WAITING.set(Some(Box::new(move || before.before_waiting())));
    runtime.block_on(async {
        let ticker = spawn_local(Rc::clone(&thread).tick());
        let giver = spawn_local(Rc::clone(&thread).give_turns());
        let judge = spawn_local(Rc::clone(&thread).judge());
        let measure = spawn_local(Rc::clone(&thread).measure());
        Rc::clone(&thread).attend(inbox).await;
        ticker.abort();
        giver.abort();
        judge.abort();
        measure.abort();
    });
    BEFORE_WAITING.set(None);
    Ok(())
}

impl Thread {
    /// Handles the items of the inbox until it says stop, then closes all connections.
    async fn attend(self: Rc<Self>, inbox: &Inbox) {
        let mut stopping_until = None;
        loop {
            let contents = match stopping_until {
                None => inbox.take().await,
                Some(_) if self.connections.borrow().is_empty() => return,
                Some(until) => {
                    let gone = self.gone.notified();
                    tokio::select! {
                        contents = inbox.take() => contents,
                        () = gone => continue,
                        () = sleep_until(until) => return,
                    }
                }
            };
            let Contents {
                sockets,
                completions,
                stop,
                shared,
                called: _,
                doubt,
            } = contents;
            if doubt {
                self.doubt.notify_one();
            }
            if let Some(shared) = shared {
                self.shared.replace(shared);
            }
            self.execute_round(&mut self.desk.borrow_mut());
            self.complete(completions);
            if stopping_until.is_none() {
                for accepted in sockets {
                    if let Err(error) = self.open(accepted) {
                        tracing::debug!(%error, "connection lost before it was served");
                    }
                }
            }
            if stop && stopping_until.is_none() {
                let timeout = self.shared.borrow().connections.stop_timeout;
                stopping_until = Some(Instant::now() + timeout);
                let mut desk = self.desk.borrow_mut();
                desk.stopping = true;
                desk.worker.stop();
                drop(desk);
                let connections = self.connections.borrow().all();
                connections.iter().for_each(|it| it.stop());
            }
        }
    }

    /// Passes completions to their connections, those for one connection together.
    fn complete(&self, mut completions: Vec<Completion>) {
        // Stable, so that responses of one connection stay in order.
        completions.sort_by_key(|it| it.session);
        let mut completions = completions.into_iter().peekable();
        while let Some(id) = completions.peek().map(|it| it.session) {
            let mut own = std::iter::from_fn(|| completions.next_if(|it| it.session == id));
            let connection = self.connections.borrow().find(id).cloned();
            match connection {
                Some(connection) => connection.complete(&mut self.desk.borrow_mut(), &mut own),
                // The connection was closed.
                None => own.for_each(|it| self.desk.borrow_mut().worker.lost(&it)),
            }
            // Separate from the condition, which would keep the borrow while the deadline is set.
            let connection = self.connections.borrow().find(id).cloned();
            if let Some(connection) = connection {
                self.watch(&connection);
            }
        }
    }

    /// Begins to serve a socket.
    fn open(self: &Rc<Self>, accepted: Accepted) -> io::Result<()> {
        let Accepted {
            socket,
            unix,
            security,
            proxied,
            peer,
            ticket,
        } = accepted;
        let socket = registered(socket, unix)?;
        if proxied {
            spawn_local(Rc::clone(self).open_proxied(socket, security, peer, ticket));
            return Ok(());
        }
        self.begin(socket, security, peer, ticket)
    }

    /// Begins to serve a socket after its proxy has sent the client's address.
    async fn open_proxied(
        self: Rc<Self>,
        socket: Socket,
        security: Security,
        peer: Peer,
        ticket: Ticket,
    ) {
        let (mut socket, mut peer, mut ticket) = (socket, peer, ticket);
        let message_timeout = self.shared.borrow().connections.message_timeout;
        let header = match message_timeout {
            Duration::ZERO => Ok(proxied::header(&mut socket).await),
            limit => timeout(limit, proxied::header(&mut socket)).await,
        };
        let source = match header {
            Ok(Ok(header)) => header.source,
            Ok(Err(error)) => return ticket.refuse(&error, peer.address),
            Err(_) => {
                Limit::MessageTime.count();
                return ticket.refuse(&"no PROXY header came in time", peer.address);
            }
        };
        // Without a source address it is not known where the client is.
        let address = source.map(|it| it.ip().to_canonical());
        // The client is on this machine only if the proxy is, too.
        peer.local &= address.is_some_and(|it| it.is_loopback());
        if let Some(address) = address {
            peer.address = Some(address);
            if let Err(refused) = ticket.count_from(address) {
                ticket.refuse(&refused, peer.address);
                if !security.at_once {
                    refused.tell(&socket);
                }
                return;
            }
        }
        if let Err(error) = self.begin(socket, security, peer, ticket) {
            tracing::debug!(%error, "connection lost before it was served");
        }
    }

    fn begin(
        self: &Rc<Self>,
        socket: Socket,
        security: Security,
        mut peer: Peer,
        ticket: Ticket,
    ) -> io::Result<()> {
        peer.secure |= security.at_once;
        let asked = security.client_certificates;
        let tls = match (&self.shared.borrow().certificate, security.at_once) {
            (Some(certificate), true) => {
                let session = certificate.session(asked);
                Some(Box::new(session.map_err(io::Error::other)?))
            }
            _ => None,
        };
        let id = self.connections.borrow_mut().next_id();
        let confidential = {
            let shared = self.shared.borrow();
            peer.offers.clone_from(&shared.offers);
            let rules = &shared.rules;
            peer.local &= rules.trust_local || peer.address.is_none();
            let confidential = peer.secure || peer.local;
            peer.exposed = !confidential && !rules.allow_cleartext_binds;
            confidential
        };
        let session = self.desk.borrow_mut().worker.open_session(id, peer);
        let machine = Connection::new(session, confidential);
        let tls = Secured { tls, asked };
        let connection = Rc::new(SocketConnection::new(id, socket, machine, tls, ticket));
        self.connections
            .borrow_mut()
            .fill(id, Rc::clone(&connection));
        spawn_local(Rc::clone(self).run(connection));
        Ok(())
    }

    /// A connection's task.
    async fn run(self: Rc<Self>, connection: Rc<SocketConnection>) {
        poll_fn(|cx| self.poll(&connection, cx)).await;
        self.connections.borrow_mut().remove(connection.id);
        self.gone.notify_one();
    }

    /// Runs a connection's task. Ready when the connection is closed.
    fn poll(&self, connection: &Rc<SocketConnection>, cx: &mut Context<'_>) -> Poll<()> {
        let desk = &mut *self.desk.borrow_mut();
        if connection.in_round.get() {
            self.execute_round(desk);
        }
        connection.begin(cx);
        let mut next = Next::Again;
        for _ in 0..STEPS_MAX {
            let shared = self.shared.borrow();
            next = connection.state.borrow_mut().step(desk, &shared, cx);
            match next {
                Next::Again => {}
                Next::Execute { received, more } => {
                    desk.round.admit(connection, received);
                    self.execute_round(desk);
                    if more {
                        break;
                    }
                }
                Next::Joined => {
                    desk.round.admit(connection, Received::Plain);
                    connection.in_round.set(true);
                    break;
                }
                Next::Wait | Next::WaitForTurn | Next::Closed => break,
            }
        }
        let mut state = connection.state.borrow_mut();
        if matches!(next, Next::Closed) {
            state.machine.abort(&mut desk.worker);
        }
        let is_closed = matches!(next, Next::Closed) || !state.count_buffers(desk);
        drop(state);
        if !matches!(next, Next::Joined) || desk.round.is_full() {
            // Other work has taken time: waiting requests are executed now.
            self.execute_round(desk);
        }
        if is_closed {
            return Poll::Ready(());
        }
        if !matches!(next, Next::Joined | Next::Wait)
            && let Some(purse) = connection.wish(&desk.worker)
        {
            self.turns.borrow_mut().push(purse, Rc::clone(connection));
            self.wished.notify_one();
        }
        if !connection.in_round.get() {
            self.watch(connection);
        }
        Poll::Pending
    }

    /// Gives one connection after the other its turn; before each, sockets are polled and new
    /// requests executed.
    async fn give_turns(self: Rc<Self>) {
        loop {
            // Separate from the condition, which would keep the borrow across the wait.
            let next = self.turns.borrow_mut().pop();
            let Some(connection) = next else {
                self.wished.notified().await;
                continue;
            };
            self.execute_round(&mut self.desk.borrow_mut());
            connection.give_turn();
            // The runtime continues here after polling sockets, when no other task is ready.
            yield_now().await;
        }
    }

    /// Ends connections whose account does not hold any more: after changes of accounts, and when
    /// the time of an account is over. Requests find out by themselves; this is for idle clients.
    async fn judge(self: Rc<Self>) {
        loop {
            // The clock of the node may be set while the thread waits.
            let due = self.desk.borrow().worker.doubts_in_s();
            let wait = due.map(|it| Duration::from_secs(it).min(JUDGE_WAIT_MAX));
            match wait {
                None => self.doubt.notified().await,
                Some(wait) => drop(timeout(wait, self.doubt.notified()).await),
            }
            let sessions = self.desk.borrow_mut().worker.sessions_in_doubt();
            let sessions = Vec::from_iter(sessions);
            for some in sessions.chunks(JUDGED_AT_ONCE) {
                self.execute_round(&mut self.desk.borrow_mut());
                for id in some {
                    let connection = self.connections.borrow().find(*id).cloned();
                    if let Some(connection) = connection {
                        connection.judge(&mut self.desk.borrow_mut());
                        self.watch(&connection);
                    }
                }
                yield_now().await;
            }
            sleep(JUDGE_PAUSE).await;
        }
    }

    /// Measures how long tasks wait that are ready, and sets what is refused.
    async fn measure(self: Rc<Self>) {
        loop {
            self.probed.notified().await;
            let delay_max = self.shared.borrow().connections.queue_delay_max;
            let mut load = self.load.borrow_mut();
            load.end(Instant::now().into_std(), delay_max);
            self.desk.borrow_mut().worker.pressure = load.pressure();
        }
    }

    /// Executes the requests in the round, then sends all responses.
    fn execute_round(&self, desk: &mut Desk) {
        if desk.round.is_empty() {
            return;
        }
        let mut round = std::mem::take(&mut desk.round);
        let shared = self.shared.borrow();
        desk.out.clear();
        desk.worker.release_snapshot();
        let (mut executed, mut sent) = (0, 0);
        for at in 0..round.reads.len() {
            let read = &mut round.reads[at];
            let bytes = &round.bytes[executed..read.end];
            let mut state = read.connection.state.borrow_mut();
            let Desk { worker, out, .. } = desk;
            state.machine.read_at(round.began);
            state.machine.receive(worker, &shared.rules, bytes, out);
            state.has_executed(worker, read.received);
            drop(state);
            (executed, read.responses_end) = (read.end, out.len());
            if out.len() >= ROUND_BYTES_MAX {
                self.deliver(desk, &round.reads[sent..=at]);
                sent = at + 1;
            }
        }
        self.deliver(desk, &round.reads[sent..]);
        desk.worker.moved(round.bytes.len(), 0);
        // Looked at only here: reading the clock would cost each request, and no short queue harms.
        if round.is_full() && self.load.borrow_mut().begin(Instant::now().into_std()) {
            self.probed.notify_one();
        }
        round.clear();
        desk.round = round;
        desk.wipe_input();
    }

    /// Sends the responses in `desk.out` to their connections.
    fn deliver(&self, desk: &mut Desk, reads: &[Read]) {
        desk.worker.moved(0, desk.out.len());
        let mut from = 0;
        for it in reads {
            let part = from..it.responses_end;
            from = part.end;
            let mut state = it.connection.state.borrow_mut();
            state.deliver(desk, part);
            // A connection whose input was executed at once is in its task.
            if it.connection.in_round.replace(false) {
                state.wake_for_rest(desk);
            }
            drop(state);
            self.watch(&it.connection);
        }
        desk.out.clear();
    }

    /// Sets the connection's deadline, if it changes.
    fn watch(&self, connection: &SocketConnection) {
        let limits = &self.shared.borrow().connections;
        let Some(due) = connection.due(!limits.idle_timeout.is_zero()) else {
            return;
        };
        // One more, because the current tick is partly over.
        let deadline = match due.ticks(limits) {
            Some(ticks) => self.tick.get() + ticks + 1,
            None => 0,
        };
        let mut connections = self.connections.borrow_mut();
        let was_timed = connections.is_timed();
        connections.set_deadline(connection.id, deadline);
        if !was_timed && connections.is_timed() {
            self.timed.notify_one();
        }
    }

    /// Counts ticks while some connection has a deadline; an idle thread sleeps.
    async fn tick(self: Rc<Self>) {
        loop {
            while !self.connections.borrow().is_timed() {
                self.timed.notified().await;
            }
            sleep(Duration::from_millis(1000 / TICKS_PER_S)).await;
            self.tick.set(self.tick.get() + 1);
            let expired = self.connections.borrow_mut().expired(self.tick.get());
            for connection in expired {
                let limits = &self.shared.borrow().connections;
                if let Some(ticks) = connection.pass_deadline(limits) {
                    let deadline = self.tick.get() + ticks;
                    let mut connections = self.connections.borrow_mut();
                    connections.set_deadline(connection.id, deadline);
                }
            }
        }
    }

    fn before_waiting(&self) {
        // Never borrowed across a wait; if it were, sleeping later is correct.
        if let Ok(mut desk) = self.desk.try_borrow_mut() {
            self.execute_round(&mut desk);
            desk.worker.release_snapshot();
            self.load.borrow_mut().rest();
            desk.worker.pressure = Pressure::None;
            if desk.out.capacity() > 2 * OUTPUT_BYTES_MAX {
                desk.out = Vec::new();
            }
            if desk.sealed.capacity() > 2 * OUTPUT_BYTES_MAX {
                desk.sealed = Vec::new();
            }
        }
    }
}

fn registered(socket: OwnedFd, unix: bool) -> io::Result<Socket> {
    if unix {
        UnixStream::from_std(socket.into()).map(Socket::Unix)
    } else {
        TcpStream::from_std(socket.into()).map(Socket::Tcp)
    }
}
