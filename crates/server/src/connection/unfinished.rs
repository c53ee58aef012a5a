//! Operations of a connection whose completions have not arrived.

use std::collections::VecDeque;

use protocol::MessageId;

/// The operations, in the order of their requests. Most connections have none, and then this owns
/// no memory.
#[derive(Debug, Default)]
pub struct Unfinished {
    present: Option<Box<Present>>,
}

#[derive(Debug, Default)]
struct Present {
    operations: VecDeque<Operation>,
    /// Number of operations begun since there was none.
    begun: u64,
    /// Bytes of the requests that these operations keep in memory.
    bytes: usize,
    /// Whether there is no memory for more input before one of them has ended.
    full: bool,
    /// Whether one of them decides who the client is, so that no other request may begin.
    alone: bool,
}

#[derive(Debug)]
struct Operation {
    /// Place among the operations begun since there was none, from 1 on.
    place: u64,
    id: MessageId,
    bytes: usize,
}

impl Unfinished {
    /// Records that an operation waits for its completion.
    pub fn begin(&mut self, id: MessageId) {
        let present = self.present.get_or_insert_default();
        present.begun += 1;
        let place = present.begun;
        let bytes = 0;
        present.operations.push_back(Operation { place, id, bytes });
    }

    /// Records the completion of an operation.
    pub fn end(&mut self, id: MessageId) {
        let Some(present) = &mut self.present else {
            return;
        };
        let operations = &mut present.operations;
        // Most completions come in the order of the requests.
        let at = operations.iter().position(|it| it.id == id);
        if let Some(ended) = at.and_then(|at| operations.remove(at)) {
            present.bytes -= ended.bytes;
            present.full = false;
        }
        if operations.is_empty() {
            self.present = None;
        }
    }

    /// Records that the operation begun last keeps its request, of so many bytes, in memory.
    pub fn keep(&mut self, bytes: usize) {
        if let Some(present) = &mut self.present
            && let Some(last) = present.operations.back_mut()
        {
            present.bytes += bytes;
            last.bytes = bytes;
        }
    }

    /// Bytes of the requests that the operations keep in memory.
    pub fn bytes(&self) -> usize {
        self.present.as_ref().map_or(0, |it| it.bytes)
    }

    /// Sets whether there is no memory for more input before an operation has ended.
    pub fn set_full(&mut self, full: bool) {
        if let Some(present) = &mut self.present {
            present.full = full;
        }
    }

    /// Whether there is no memory for more input before an operation has ended; `false` if all have
    /// ended.
    pub fn is_full(&self) -> bool {
        self.present.as_ref().is_some_and(|it| it.full)
    }

    /// Records that no other request may begin before the operations have ended (RFC 4511 §4.2.1).
    pub fn set_alone(&mut self) {
        if let Some(present) = &mut self.present {
            present.alone = true;
        }
    }

    /// Whether no other request may begin.
    pub fn is_alone(&self) -> bool {
        self.present.as_ref().is_some_and(|it| it.alone)
    }

    /// Number of operations that wait.
    pub fn len(&self) -> usize {
        self.present.as_ref().map_or(0, |it| it.operations.len())
    }

    /// Whether no operation waits.
    pub fn is_empty(&self) -> bool {
        self.present.is_none()
    }

    /// Number of operations begun since there was none, for [`Unfinished::have_ended`].
    pub fn begun(&self) -> u64 {
        self.present.as_ref().map_or(0, |it| it.begun)
    }

    /// Whether all operations have ended that were begun when their number was `begun`.
    pub fn have_ended(&self, begun: u64) -> bool {
        let present = self.present.as_ref();
        let first = present.and_then(|it| it.operations.front());
        first.is_none_or(|it| it.place > begun)
    }
}
