//! Connections made again at another server, beside a client thread that goes on meanwhile.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use super::connect::Stream;
use super::target::Targets;

/// Time that a server has to accept a connection, and to answer its bind.
const PATIENCE: Duration = Duration::from_secs(2);
/// Pause when no server could be connected to.
const PAUSE: Duration = Duration::from_millis(20);
/// An attempt that took at least so long was not refused but left without an answer.
const SLOW: Duration = Duration::from_millis(200);
/// Time for which a server that did not answer is left out.
const LEFT_OUT: Duration = Duration::from_secs(5);

/// A connection that has ended, to be made again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ended {
    /// Position of the virtual client in its thread.
    pub member: usize,
    /// Whether it is the connection for binds, which nobody is bound on.
    pub binder: bool,
    /// Position of the server that it was connected to.
    pub target: usize,
}

/// A connection that was made again.
pub(crate) struct Again {
    pub ended: Ended,
    /// Position of the server that it is connected to now.
    pub target: usize,
    pub stream: Stream,
}

/// The way of one client thread to have its connections made again.
pub(crate) struct Failover {
    orders: Sender<Ended>,
    made: Receiver<Again>,
}

impl Failover {
    /// Starts the thread that connects. It ends after this value.
    pub fn start(targets: Targets) -> Failover {
        let (orders, taken) = channel();
        let (sender, made) = channel();
        let connecting = Connecting {
            left_out: vec![None; targets.count()],
            targets,
            orders: taken,
            made: sender,
        };
        thread::spawn(move || connecting.work());
        Failover { orders, made }
    }

    /// Asks for a connection to the next server.
    pub fn ask(&self, ended: Ended) {
        // The thread that connects outlives this value.
        let _ = self.orders.send(ended);
    }

    /// Returns a connection that has been made since.
    pub fn take(&self) -> Option<Again> {
        self.made.try_recv().ok()
    }
}

/// State of the thread that connects.
struct Connecting {
    targets: Targets,
    /// Until when each server is left out.
    left_out: Vec<Option<Instant>>,
    orders: Receiver<Ended>,
    made: Sender<Again>,
}

impl Connecting {
    fn work(mut self) {
        let mut waiting = VecDeque::new();
        let mut pause = Duration::ZERO;
        loop {
            let order = if waiting.is_empty() {
                self.orders
                    .recv()
                    .map_err(|_| RecvTimeoutError::Disconnected)
            } else {
                self.orders.recv_timeout(pause)
            };
            match order {
                Ok(ended) => {
                    waiting.push_back(ended);
                    continue;
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            let Some(ended) = waiting.pop_front() else {
                continue;
            };
            pause = Duration::ZERO;
            match self.connect(ended) {
                Some(again) => {
                    if self.made.send(again).is_err() {
                        return;
                    }
                }
                None => {
                    waiting.push_back(ended);
                    pause = PAUSE;
                }
            }
        }
    }

    /// Tries the servers in turn, from the one after the last; that one itself comes at the end.
    fn connect(&mut self, ended: Ended) -> Option<Again> {
        let count = self.targets.count();
        for step in 1..=count {
            let target = (ended.target + step) % count;
            let begin = Instant::now();
            if self.left_out[target].is_some_and(|until| begin < until) {
                continue;
            }
            let connected = self
                .targets
                .open(target, ended.member, !ended.binder, PATIENCE);
            if let Ok(stream) = connected {
                return Some(Again {
                    ended,
                    target,
                    stream,
                });
            }
            if begin.elapsed() >= SLOW {
                self.left_out[target] = Some(Instant::now() + LEFT_OUT);
            }
        }
        None
    }
}
