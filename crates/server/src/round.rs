//! Requests of several connections that came at once.
//!
//! When several sockets have something to say, all are read first, then all requests are executed,
//! then all responses are written. Each of the three then finds its code and tables in the
//! processor's caches. Measured with 32 and with 200 connections that ask for one name each: a
//! seventh less processor time than reading, executing and writing in turn.

use std::rc::Rc;

/// Connections in a full round.
const LINKS_MAX: usize = 64;

/// The requests of one connection `L` in a round.
pub struct Read<L> {
    /// The connection.
    pub link: Rc<L>,
    /// Where its requests end among the bytes of the round.
    pub end: usize,
    /// Where its responses end among those of the round.
    pub responses_end: usize,
}

/// Requests of connections `L` that are about to be executed together.
pub struct Round<L> {
    /// The requests of all connections, one after the other.
    pub bytes: Vec<u8>,
    /// The connections, in the order of their requests.
    pub reads: Vec<Read<L>>,
    /// Whether bytes have joined whose connection is not known yet.
    joined: bool,
}

impl<L> Default for Round<L> {
    fn default() -> Self {
        Round {
            bytes: Vec::new(),
            reads: Vec::new(),
            joined: false,
        }
    }
}

impl<L> Round<L> {
    /// Adds bytes read from a connection; the call of [`Round::admit`] that follows names it.
    pub fn join(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        self.joined = true;
    }

    /// Puts the connection in the round if it has joined bytes since the last call; says whether.
    pub fn admit(&mut self, link: &Rc<L>) -> bool {
        if !std::mem::take(&mut self.joined) {
            return false;
        }
        self.reads.push(Read {
            link: Rc::clone(link),
            end: self.bytes.len(),
            responses_end: 0,
        });
        true
    }

    /// Whether no connection is in the round.
    pub fn is_empty(&self) -> bool {
        self.reads.is_empty()
    }

    /// Whether the round should be executed before other connections join.
    pub fn is_full(&self) -> bool {
        self.reads.len() >= LINKS_MAX
    }

    /// Empties the round and keeps its memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.reads.clear();
    }
}
