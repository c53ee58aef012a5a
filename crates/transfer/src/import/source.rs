//! Sources of entries: files and streams, or generators.

mod ber;
mod files;
mod lanes;
mod open;

pub(super) use ber::values_of;
pub(crate) use ber::{BerPiece, BerPieces};
pub(crate) use ber::{after_element, read_request};
pub use files::Files;

use crate::meter::Meter;
use protocol::ldif::LdifChunk;
use state::stop::Failure;
use std::sync::Arc;

/// Format of a stream of entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Recognised by the first byte.
    Detect,
    /// LDIF content records (RFC 2849).
    Ldif,
    /// Concatenated LDAPMessages with add requests (RFC 4511 §4.7).
    Ber,
    /// Concatenated bare AddRequests.
    BareBer,
}

/// Gives out pieces of whole entries, on which several threads work at once. Only one thread calls
/// the source at a time, so its work should be cheap.
pub trait Source: Send {
    /// The next piece; `None` at the end.
    ///
    /// # Errors
    /// The input cannot be read.
    fn next(&mut self, meter: &Meter) -> Result<Option<Piece>, Failure>;

    /// Description of the source. Sources with equal descriptions give equal pieces, so that an
    /// interrupted import can resume.
    ///
    /// # Errors
    /// The reason why the source cannot be read again from its beginning.
    fn repeatable(&self) -> Result<String, String> {
        Err("this input cannot be read again from its beginning".to_owned())
    }
}

/// A piece of the input.
pub struct Piece {
    /// Origin of the piece, for messages: usually a file name.
    pub origin: Arc<str>,
    /// The entries.
    pub content: Content,
}

/// Content of a piece.
pub enum Content {
    /// LDIF content records.
    Ldif(LdifChunk),
    /// Add requests.
    Ber {
        /// The concatenated requests.
        requests: Vec<u8>,
        /// Number of the first request in its stream, from 1.
        first: u64,
        /// Offset of the first request in its stream; `None` if the stream cannot be read again.
        offset: Option<u64>,
        /// Whether the requests are bare, without LDAPMessages.
        bare: bool,
    },
    /// A stream of add requests cannot be read on; other streams continue.
    Broken {
        /// Number of the unreadable request, from 1.
        number: u64,
        /// Offset of that request in its stream.
        offset: u64,
        /// The reason.
        reason: String,
    },
    /// Entries made by the thread that imports them.
    Made {
        /// Makes the entries.
        make: Make,
        /// Number of the first entry, from 1.
        first: u64,
    },
}

impl Content {
    /// Approximate memory in bytes.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Content::Ldif(chunk) => chunk.text.len(),
            Content::Ber { requests, .. } => requests.len(),
            Content::Broken { .. } | Content::Made { .. } => 0,
        }
    }
}

/// Makes entries and passes them to the sink; an error says why that is impossible.
pub type Make = Box<dyn FnOnce(&mut dyn EntrySink) -> Result<(), String> + Send>;

/// Receiver of made entries.
pub trait EntrySink {
    /// Begins an entry of this name.
    fn begin(&mut self, dn: &str);
    /// Adds a value to the current entry.
    fn value(&mut self, description: &str, value: &[u8]);
    /// Ends the current entry.
    ///
    /// # Errors
    /// No more entries are wanted.
    fn end(&mut self) -> Result<(), String>;
}
