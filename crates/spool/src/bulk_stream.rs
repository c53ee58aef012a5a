//! The stream of bulk updates (RFC 4373) of one connection.

use protocol::ResultCode;
use state::stop::Stop;

/// Maximum number of requests of a stream at the writer; the next request is read when all are
/// done.
const UNFINISHED_MAX: u32 = 16;
/// The greatest sequence number, after which 1 follows (RFC 4373 §5.3.1).
const SEQUENCE_MAX: u32 = i32::MAX as u32;

/// The stream of one connection.
#[derive(Debug)]
pub struct BulkStream {
    /// Sequence number of the next request.
    pub next: u32,
    /// Number of requests submitted and not yet answered.
    pub unfinished: u32,
}

impl BulkStream {
    /// Whether the next request may be executed while earlier ones wait.
    pub fn has_room(&self) -> bool {
        self.unfinished < UNFINISHED_MAX
    }

    /// Counts one request as answered.
    pub fn finished(&mut self) {
        self.unfinished = self.unfinished.saturating_sub(1);
    }

    /// Expects the next sequence number.
    pub fn advance(&mut self) {
        self.next = if self.next == SEQUENCE_MAX {
            1
        } else {
            self.next + 1
        };
    }

    /// Refuses a request out of order: on one connection, requests and the end arrive as they were
    /// sent.
    pub fn refuse_out_of_order(&self, number: u32) -> Result<(), Stop> {
        if number == self.next {
            return Ok(());
        }
        let expected = self.next;
        Stop::refuse(
            ResultCode::PROTOCOL_ERROR,
            format!("expected sequence number {expected}, got {number}"),
        )
    }
}
