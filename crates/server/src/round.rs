//! Requests of several connections that came at once.
//!
//! When several sockets have something to say, all are read first, then all requests are executed,
//! then all responses are written. Each of the three then finds its code and tables in the
//! processor's caches. Measured with 32 and with 200 connections that ask for one name each: a
//! seventh less processor time than reading, executing and writing in turn.

use std::rc::Rc;

use crate::link::Link;
use crate::service::Service;

/// So many connections make a round full.
const LINKS_MAX: usize = 64;

/// What was read from one connection.
pub struct Read<S: Service> {
    pub link: Rc<Link<S>>,
    /// Where it ends among the bytes of the round.
    pub end: usize,
    /// Where its responses end among those of the round.
    pub responses_end: usize,
}

/// Requests that are about to be executed together.
pub struct Round<S: Service> {
    /// What was read, one after the other.
    pub bytes: Vec<u8>,
    pub reads: Vec<Read<S>>,
    /// Bytes have joined whose connection is not known yet.
    joined: bool,
}

impl<S: Service> Default for Round<S> {
    fn default() -> Self {
        Round {
            bytes: Vec::new(),
            reads: Vec::new(),
            joined: false,
        }
    }
}

impl<S: Service> Round<S> {
    /// Adds what was read from a connection; [`Round::admit`] says from which.
    pub fn join(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        self.joined = true;
    }

    /// Whether this connection has joined in its turn.
    pub fn admit(&mut self, link: &Rc<Link<S>>) -> bool {
        if !std::mem::take(&mut self.joined) {
            return false;
        }
        link.in_round.set(true);
        self.reads.push(Read {
            link: Rc::clone(link),
            end: self.bytes.len(),
            responses_end: 0,
        });
        true
    }

    /// Whether nobody is in it.
    pub fn is_empty(&self) -> bool {
        self.reads.is_empty()
    }

    /// Whether it should be executed before others join.
    pub fn is_full(&self) -> bool {
        self.reads.len() >= LINKS_MAX
    }

    /// Empties it and keeps its memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.reads.clear();
    }
}
