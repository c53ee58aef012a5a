//! Buffers and worker of one serving thread, which its connections use in turns.

use directory::Worker;

use crate::input::wipe;
use crate::round::Round;

/// The worker and the buffers that the connections of a thread use in turns.
pub struct Desk {
    /// Executes messages.
    pub worker: Worker,
    /// Bytes just read from a socket.
    pub input: Box<[u8]>,
    /// Length of the part of it that has bytes of clients.
    pub input_used: usize,
    /// Responses about to be written.
    pub out: Vec<u8>,
    /// Responses encrypted for the connection they are about to be written to.
    pub sealed: Vec<u8>,
    /// Requests about to be executed.
    pub round: Round,
    /// Whether the server is stopping.
    pub stopping: bool,
}

impl Desk {
    /// Wipes the bytes read from sockets, which are executed or kept elsewhere.
    pub fn wipe_input(&mut self) {
        wipe(&mut self.input[..self.input_used]);
        self.input_used = 0;
    }
}
