//! Where entries come from: files and streams, or whatever makes pieces of entries.

mod ber;
mod files;
mod lanes;
mod open;

pub(crate) use ber::{BerPiece, BerPieces};
pub(crate) use ber::{after_element, read_request};
pub use files::Files;

use crate::import::Meter;
use protocol::ldif::LdifChunk;
use state::stop::Failure;
use std::sync::Arc;

/// What a stream of entries holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// The first byte says which of the others.
    Detect,
    /// LDIF content records (RFC 2849).
    Ldif,
    /// Concatenated LDAPMessages with add requests (RFC 4511 §4.7).
    Ber,
    /// Concatenated bare AddRequests.
    BareBer,
}

/// Gives out pieces of whole entries, which several threads work on at once. Only the giving out
/// is done one piece at a time, so it should be cheap.
pub trait Source: Send {
    /// The next piece; `None` at the end.
    ///
    /// # Errors
    /// The input cannot be read.
    fn next(&mut self, meter: &Meter) -> Result<Option<Piece>, Failure>;

    /// What this source is made of, if another one of the same gives the same pieces: then an
    /// import can go on where it was interrupted. Otherwise why not, as a sentence.
    ///
    /// # Errors
    /// It cannot be read again.
    fn repeatable(&self) -> Result<String, String> {
        Err("this input cannot be read again from its beginning".to_owned())
    }
}

/// A piece of the input.
pub struct Piece {
    /// Where it comes from, for messages: a file name, mostly.
    pub origin: Arc<str>,
    /// What it holds.
    pub content: Content,
}

/// What a piece holds.
pub enum Content {
    /// LDIF content records.
    Ldif(LdifChunk),
    /// Add requests.
    Ber {
        /// One after the other.
        requests: Vec<u8>,
        /// Number of the first one in its stream, from 1.
        first: u64,
        /// Where that one begins in its stream, if that is of use to a reader of rejects.
        offset: Option<u64>,
        /// Without an LDAPMessage around each.
        bare: bool,
    },
    /// A stream of add requests cannot be read on, which ends it, and it alone.
    Broken {
        /// Number of the request that cannot be read, from 1.
        number: u64,
        /// Where that one begins in its stream.
        offset: u64,
        /// Why.
        reason: String,
    },
    /// Entries made by the thread that works on the piece.
    Made {
        /// Makes them.
        make: Make,
        /// Number of the first one, from 1.
        first: u64,
    },
}

impl Content {
    /// Bytes of memory that it takes, roughly.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Content::Ldif(chunk) => chunk.text.len(),
            Content::Ber { requests, .. } => requests.len(),
            Content::Broken { .. } | Content::Made { .. } => 0,
        }
    }
}

/// Makes entries and gives them to the sink; an error says why that is impossible.
pub type Make = Box<dyn FnOnce(&mut dyn EntrySink) -> Result<(), String> + Send>;

/// Takes made entries.
pub trait EntrySink {
    /// Begins an entry of this name.
    fn begin(&mut self, dn: &str);
    /// Adds a value to it.
    fn value(&mut self, description: &str, value: &[u8]);
    /// Ends it.
    ///
    /// # Errors
    /// No more are wanted.
    fn end(&mut self) -> Result<(), String>;
}
