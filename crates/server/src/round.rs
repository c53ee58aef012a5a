//! Executes requests of several connections in rounds.
//!
//! When several sockets have input, all are read first, then all requests are executed, then all
//! responses are written, so that each of the three phases finds its code and tables in the
//! processor's caches. Measured with 32 and 200 connections that look up one name each, this takes
//! a seventh less processor time than reading, executing and writing in turn.

use std::rc::Rc;

use crate::link::Link;

/// Connections in a full round.
const LINKS_MAX: usize = 64;

/// Input read from one connection.
pub struct Read {
    pub link: Rc<Link>,
    /// End of the input among the bytes of the round.
    pub end: usize,
    /// End of its responses among those of the round.
    pub responses_end: usize,
}

/// Requests to be executed together.
#[derive(Default)]
pub struct Round {
    /// The inputs, concatenated.
    pub bytes: Vec<u8>,
    pub reads: Vec<Read>,
    /// Whether bytes were added whose connection is not recorded yet.
    joined: bool,
}

impl Round {
    /// Adds input of a connection, which [`Round::admit`] then records.
    pub fn join(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        self.joined = true;
    }

    /// Records the connection of the bytes just added; false if it added none.
    pub fn admit(&mut self, link: &Rc<Link>) -> bool {
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

    /// Whether the round has no input.
    pub fn is_empty(&self) -> bool {
        self.reads.is_empty()
    }

    /// Whether the round should be executed before more input is added.
    pub fn is_full(&self) -> bool {
        self.reads.len() >= LINKS_MAX
    }

    /// Removes all input and keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.reads.clear();
    }
}
