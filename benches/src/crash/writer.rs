//! A client that writes without a pause, and what must be there of it after a crash.
//!
//! It writes the numbers 1, 2, 3 … to a thousand entries in turn, sixteen requests at a time. They
//! are executed in this order, so whatever number is found last, each entry must have the greatest
//! number up to that one that was meant for it; and that last number lies between the last
//! acknowledged and the last sent.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use protocol::{
    Change, ChangeOperation, ModifyRequest, OwnedAttribute, Request, Response, SearchRequest,
};

use super::node::{SPARES, spare};
use crate::client::{Client, decoded};
use crate::process::Server;

const IN_FLIGHT: u64 = 16;

/// Writes as numbers counted up.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wrote {
    /// The last one sent.
    pub sent: u64,
    /// The last one acknowledged.
    pub acknowledged: u64,
}

/// A client at work.
pub struct Writer {
    thread: JoinHandle<io::Result<Wrote>>,
    enough: Arc<AtomicBool>,
}

impl Writer {
    /// Goes on behind the last number.
    pub fn start(server: &Server, last: u64) -> io::Result<Writer> {
        let mut client = Client::bound(&server.url)?;
        let enough = Arc::new(AtomicBool::new(false));
        let stop = Arc::clone(&enough);
        let thread = thread::spawn(move || write(&mut client, last, &stop));
        Ok(Writer { thread, enough })
    }

    /// Stops writing; returns the writes, also when the server is gone.
    pub fn end(self) -> io::Result<Wrote> {
        self.enough.store(true, Ordering::Relaxed);
        let joined = self.thread.join();
        joined.unwrap_or_else(|_| Err(io::Error::other("the writer ended")))
    }
}

fn write(client: &mut Client, last: u64, stop: &AtomicBool) -> io::Result<Wrote> {
    let mut wrote = Wrote {
        sent: last,
        acknowledged: last,
    };
    loop {
        let stopping = stop.load(Ordering::Relaxed);
        if stopping && wrote.acknowledged == wrote.sent {
            return Ok(wrote);
        }
        if !stopping && wrote.sent - wrote.acknowledged < IN_FLIGHT {
            wrote.sent += 1;
            if put(client, wrote.sent).is_err() {
                return Ok(wrote);
            }
            continue;
        }
        match client.acknowledged() {
            Ok(()) => wrote.acknowledged += 1,
            // A lost connection is a crash, and ends the writes; a refusal is an error.
            Err(error) if error.to_string().starts_with("refused") => return Err(error),
            Err(_) => return Ok(wrote),
        }
    }
}

fn put(client: &mut Client, number: u64) -> io::Result<()> {
    let text = number.to_string();
    let attribute = OwnedAttribute::new("description", [text]);
    let change = Change {
        operation: ChangeOperation::Replace,
        attribute: attribute.as_partial(),
    };
    let object = spare(number);
    client.send(
        &Request::Modify(ModifyRequest {
            object: &object,
            changes: vec![change],
        }),
        &[],
    )
}

impl Wrote {
    /// Compares with what a server has; the last number it has.
    pub fn verify(&self, server: &Server) -> io::Result<u64> {
        let mut client = Client::bound(&server.url)?;
        let found: Vec<u64> = (0..SPARES)
            .map(|at| number_of(&mut client, &spare(at)))
            .collect::<io::Result<_>>()?;
        let last = found.iter().copied().max().unwrap_or(0);
        let Wrote { sent, acknowledged } = *self;
        if last < acknowledged || last > sent {
            let text = format!("{acknowledged} acknowledged, {sent} sent, {last} found");
            return Err(io::Error::other(text));
        }
        for (at, number) in (0..).zip(found) {
            let behind = (last + SPARES - at) % SPARES;
            let expected = last.saturating_sub(behind);
            if number != expected {
                let text = format!("{}: expected {expected}, found {number}", spare(at));
                return Err(io::Error::other(text));
            }
        }
        Ok(last)
    }
}

/// The number in an entry; 0 for none.
fn number_of(client: &mut Client, name: &str) -> io::Result<u64> {
    let answers = client.call(
        &Request::Search(SearchRequest {
            attributes: vec!["description"],
            ..SearchRequest::of_entry(name)
        }),
        &[],
    )?;
    let Some(entry) = answers.first() else {
        return Err(io::Error::other("expected an entry"));
    };
    let message = decoded(entry)?;
    let Response::SearchEntry { attributes, .. } = &message.response else {
        return Err(io::Error::other(format!("expected the entry {name}")));
    };
    let value = attributes.first().and_then(|it| it.values.iter().next());
    let text = value.map_or(Ok("0"), std::str::from_utf8);
    let number = text.ok().and_then(|it| it.parse().ok());
    number.ok_or_else(|| io::Error::other(format!("{name} has no number")))
}
