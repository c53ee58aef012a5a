//! Executes requests of several connections in rounds.
//!
//! When several sockets have input, all are read first, then all requests are executed, then all
//! responses are written, so that each of the three phases finds its code and tables in the
//! processor's caches. Measured with 32 and 200 connections that look up one name each, this takes
//! a seventh less processor time than reading, executing and writing in turn.

use std::rc::Rc;
use std::time::Instant;

use directory::operations_log;

use crate::input::wipe;
use crate::socket_connection::SocketConnection;
use crate::tls::Received;

/// Connections in a full round.
const CONNECTIONS_MAX: usize = 64;

/// Input read from one connection.
pub struct Read {
    pub connection: Rc<SocketConnection>,
    /// End of the input among the bytes of the round.
    pub end: usize,
    /// How the input ended.
    pub received: Received,
    /// End of its responses among those of the round.
    pub responses_end: usize,
}

/// Requests to be executed together.
#[derive(Default)]
pub struct Round {
    /// The inputs, concatenated, without TLS.
    pub bytes: Vec<u8>,
    pub reads: Vec<Read>,
    /// When the first input was read; `None` if operations are not logged.
    pub began: Option<Instant>,
}

/// Length of memory for input in bytes, which is not moved and left behind while there is less. Of
/// more than that, a copy may be left where the memory was.
const BYTES: usize = 256 << 10;

impl Round {
    /// A round with memory for its input.
    pub fn new() -> Round {
        Round {
            bytes: Vec::with_capacity(BYTES),
            ..Round::default()
        }
    }

    /// Records the connection of the bytes that were added last, and how its input ended.
    pub fn admit(&mut self, connection: &Rc<SocketConnection>, received: Received) {
        if self.reads.is_empty() {
            self.began = operations_log::is_on().then(Instant::now);
        }
        self.reads.push(Read {
            connection: Rc::clone(connection),
            end: self.bytes.len(),
            received,
            responses_end: 0,
        });
    }

    /// Whether the round has no input.
    pub fn is_empty(&self) -> bool {
        self.reads.is_empty()
    }

    /// Whether the round should be executed before more input is added.
    pub fn is_full(&self) -> bool {
        self.reads.len() >= CONNECTIONS_MAX
    }

    /// Wipes and removes all input, and keeps the memory.
    pub fn clear(&mut self) {
        wipe(&mut self.bytes);
        self.bytes.clear();
        self.reads.clear();
    }
}
