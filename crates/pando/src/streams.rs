//! Standard input and output for long work.

use crate::report::Problem;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::os::fd::AsFd;
use transfer::Meter;

/// Path that means standard input.
pub const STANDARD_INPUT: &str = "-";
/// Path that means standard output.
pub const STANDARD_OUTPUT: &str = "-";

/// Interval of checks for cancellation while waiting for input.
const LOOK: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 100_000_000,
};

/// Refuses to write binary output to a terminal.
pub fn refuse_terminal(what: &str) -> Result<(), Problem> {
    match io::stdout().is_terminal() {
        true => Err(Problem::usage(format_args!(
            "expected a file or a pipe as standard output: {what} does not go to a terminal"
        ))),
        false => Ok(()),
    }
}

/// Standard input, of which no byte has been read.
pub struct StandardInput(File);

impl StandardInput {
    /// Name of the input in errors.
    pub const NAME: &'static str = "standard input";

    /// Opens standard input; refuses a terminal.
    pub fn open(expected: &str) -> Result<StandardInput, Problem> {
        let input = io::stdin();
        if input.is_terminal() {
            return Err(Problem::usage(format_args!(
                "standard input: expected {expected}, got a terminal"
            )));
        }
        let input = input.as_fd().try_clone_to_owned();
        let input = input.map_err(|error| Problem::failed(format_args!("standard input: {error}")));
        Ok(StandardInput(File::from(input?)))
    }

    /// A reader of standard input that stops when the work is cancelled.
    pub fn heeding<'i>(&'i self, meter: &'i Meter) -> impl Read + 'i {
        Heeding {
            input: &self.0,
            meter,
        }
    }
}

struct Heeding<'i> {
    input: &'i File,
    meter: &'i Meter,
}

impl Read for Heeding<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            self.meter
                .check()
                .map_err(|failure| io::Error::other(failure.to_string()))?;
            let mut waited = [PollFd::new(self.input, PollFlags::IN)];
            match poll(&mut waited, Some(&LOOK)) {
                Ok(0) | Err(rustix::io::Errno::INTR) => {}
                // Files, and streams that have ended, are always ready.
                Ok(_) => return self.input.read(buffer),
                Err(error) => return Err(error.into()),
            }
        }
    }
}
