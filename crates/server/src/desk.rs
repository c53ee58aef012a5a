//! Buffers and service of one serving thread, which its connections use in turns.

use crate::link::Link;
use crate::round::Round;
use crate::service::Service;

/// The service and the buffers that the connections of a thread use in turns.
pub struct Desk<S: Service> {
    /// Executes messages.
    pub service: S,
    /// Bytes just read from a socket.
    pub input: Box<[u8]>,
    /// The plaintext of `input` on a connection with TLS.
    pub plain: Vec<u8>,
    /// Responses about to be written.
    pub out: Vec<u8>,
    /// Requests about to be executed.
    pub round: Round<Link<S>>,
    /// Whether the server is stopping.
    pub stopping: bool,
}
