//! Searches and compares that wait for earlier writes of their connection, while later writes pass
//! them.
//!
//! Invariants:
//! - a read is executed when all writes requested before it have ended, so that a client reads its
//!   own writes;
//! - reads are executed in the order of their requests;
//! - while a read is held that may be executed, no other request of the connection is executed. So
//!   the number of operations begun, which begins anew when none is unfinished, never goes back for
//!   a read that still waits for one of them.

use std::collections::VecDeque;
use std::time::Instant;

use protocol::{Message, MessageId, Request};

use super::unfinished::Unfinished;
use crate::input::Input;

/// Maximum number of reads held. The next one waits in the input, with all that follows it.
const READS_MAX: usize = 1_024;
/// Bytes that a read takes beside its message.
const READ_BYTES: usize = size_of::<HeldRead>() + 16;
/// Maximum bytes of the reads held.
const BYTES_MAX: usize = 256 << 10;

/// The reads held. Most connections have none, and then this owns no memory.
#[derive(Debug, Default)]
pub struct HeldReads {
    present: Option<Box<Present>>,
}

#[derive(Debug, Default)]
struct Present {
    reads: VecDeque<HeldRead>,
    /// Bytes of all reads.
    bytes: usize,
    aside: Vec<u8>,
}

/// One read.
#[derive(Debug)]
pub struct HeldRead {
    /// Number of operations begun before it, all of which must have ended.
    after: u64,
    id: MessageId,
    /// The whole message.
    pub bytes: Input,
    /// When the message was read; `None` if operations are not logged.
    pub received: Option<Instant>,
}

impl HeldReads {
    /// Whether the message may be held: whether it is a read, and there is room.
    pub fn accept(&self, message: &Message<'_>, bytes: &[u8]) -> bool {
        let is_read = matches!(message.request, Request::Search(_) | Request::Compare(_));
        let has_room = self.present.as_ref().is_none_or(|it| {
            it.reads.len() < READS_MAX && it.bytes + bytes.len() + READ_BYTES <= BYTES_MAX
        });
        is_read && has_room
    }

    /// Holds a read until all operations begun so far have ended.
    pub fn hold(
        &mut self,
        id: MessageId,
        bytes: &[u8],
        received: Option<Instant>,
        unfinished: &Unfinished,
    ) {
        let present = self.present.get_or_insert_default();
        present.bytes += bytes.len() + READ_BYTES;
        present.reads.push_back(HeldRead {
            after: unfinished.begun(),
            id,
            bytes: Input::of(bytes),
            received,
        });
    }

    /// Whether the first read can be executed.
    pub fn are_ready(&self, unfinished: &Unfinished) -> bool {
        let first = self.present.as_ref().and_then(|it| it.reads.front());
        first.is_some_and(|it| unfinished.have_ended(it.after))
    }

    /// Takes out the first read if it can be executed.
    pub fn next(&mut self, unfinished: &Unfinished) -> Option<HeldRead> {
        if !self.are_ready(unfinished) {
            return None;
        }
        let present = self.present.as_mut()?;
        let first = present.reads.pop_front()?;
        present.bytes -= first.bytes.len() + READ_BYTES;
        self.shrink();
        Some(first)
    }

    /// Returns a read that was postponed, until all operations begun so far have ended.
    pub fn give_back(&mut self, read: HeldRead, unfinished: &Unfinished) {
        let present = self.present.get_or_insert_default();
        present.bytes += read.bytes.len() + READ_BYTES;
        present.reads.push_front(HeldRead {
            after: unfinished.begun(),
            ..read
        });
    }

    /// Drops the read with this message id; false if there is none.
    pub fn remove(&mut self, id: MessageId) -> bool {
        let Some(present) = &mut self.present else {
            return false;
        };
        let found = present.reads.iter().position(|it| it.id == id);
        let removed = found.and_then(|at| present.reads.remove(at));
        if let Some(read) = &removed {
            present.bytes -= read.bytes.len() + READ_BYTES;
            self.shrink();
        }
        removed.is_some()
    }

    /// Buffer for responses of writes that end while a read is inside a message that it sends.
    pub fn aside(&mut self) -> &mut Vec<u8> {
        &mut self.present.get_or_insert_default().aside
    }

    /// Appends the responses put aside, after the message.
    pub fn append_aside(&mut self, out: &mut Vec<u8>) {
        if let Some(present) = &mut self.present {
            out.append(&mut present.aside);
            self.shrink();
        }
    }

    /// Drops all of them, but keeps the responses put aside.
    pub fn end(&mut self) {
        if let Some(present) = &mut self.present {
            present.reads = VecDeque::new();
            present.bytes = 0;
            self.shrink();
        }
    }

    /// Drops all of them.
    pub fn clear(&mut self) {
        self.present = None;
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.present.as_ref().is_none_or(|it| it.reads.is_empty())
    }

    /// Bytes of all reads held and of the responses put aside.
    pub fn bytes(&self) -> usize {
        let present = self.present.as_ref();
        present.map_or(0, |it| it.bytes + it.aside.len())
    }

    /// Gives the memory back when nothing is held.
    fn shrink(&mut self) {
        let present = self.present.as_ref();
        if present.is_some_and(|it| it.reads.is_empty() && it.aside.is_empty()) {
            self.present = None;
        }
    }
}
