//! A burst of new connections, to measure how fast a server accepts them.

use std::io;
use std::time::{Duration, Instant};

use super::BenchError;
use super::connect::{ANSWER_TIME_MAX, Address, NotBound, raise_file_limit};

/// Opens `connections` connections without waiting for the server, sends an anonymous bind on each,
/// and waits for all responses. Returns the time taken.
///
/// # Errors
/// A connection could not be opened, or was not answered.
pub fn burst(url: &str, connections: usize) -> Result<Duration, BenchError> {
    let address = Address::parse(url)?;
    raise_file_limit();
    let failed = |number: usize| {
        move |error: io::Error| BenchError::new(format!("connection {number}: {error}"))
    };
    let begin = Instant::now();
    let mut streams = Vec::with_capacity(connections);
    for number in 0..connections {
        let stream = address.connect(number, ANSWER_TIME_MAX);
        let stream = stream.map_err(failed(number))?;
        let sent = stream.send_bind("", "", ANSWER_TIME_MAX);
        sent.map_err(failed(number))?;
        streams.push(stream);
    }
    for stream in &streams {
        stream.bound("").map_err(|it| match it {
            NotBound::Failed(error) => error,
            NotBound::Refused(said) => BenchError::new(said),
        })?;
    }
    Ok(begin.elapsed())
}
