//! A burst of new connections: how fast a server takes them in.

use std::io;
use std::time::{Duration, Instant};

use super::BenchError;
use super::connect::{Address, NotBound, raise_file_limit};

/// Opens so many connections one after the other without waiting for the server, asks on each to be
/// bound anonymously, and waits until all have the answer. Returns how long that took.
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
        let stream = address.connect(number).map_err(failed(number))?;
        stream.send_bind("", "").map_err(failed(number))?;
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
