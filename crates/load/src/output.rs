//! Generated entries as LDIF or BER AddRequests, and lists for clients: DNs, binds, filters.
//!
//! Threads make runs of entries in turns and pass on pieces of bounded size, which are written in
//! order. So the output does not depend on the number of threads, nor memory on the size of an
//! entry, even a group of ten million members.

pub(crate) mod encode;
pub(crate) mod piece;
#[cfg(test)]
mod tests;

use std::io::{self, Write};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use crate::template::{GenerateError, Generator};
use encode::Encoder;
pub use piece::{FilterKind, Format};
use piece::{Piece, Stop, Wanted};

/// Number of entries that a thread makes in one turn.
const RUN_ENTRIES: u64 = 256;
/// Number of pieces that a thread may be ahead of the writer.
const PIECES_AHEAD: usize = 4;

/// Destinations of the entries of one run, all optional.
#[derive(Default)]
pub struct Outputs<'a> {
    /// The entries themselves.
    pub entries: Option<(Format, &'a mut dyn Write)>,
    /// A list with one DN on each line.
    pub names: Option<&'a mut dyn Write>,
    /// A list of `DN TAB password` for entries with a `userPassword`.
    pub binds: Option<&'a mut dyn Write>,
    /// A list of `value TAB password` for entries with this attribute and a `userPassword`.
    pub logins: Option<(String, &'a mut dyn Write)>,
    /// A list of one filter on each line, for every value of the attribute.
    pub filters: Option<(String, FilterKind, &'a mut dyn Write)>,
}

/// Makes the entries `from..to` with `threads` threads and writes them in order.
///
/// `progress` is called with the number of entries written, after every few hundred. An entry that
/// the template cannot make is an error of kind `InvalidData` with a [`GenerateError`].
pub fn write_range(
    generator: &Generator,
    from: u64,
    to: u64,
    threads: usize,
    mut outputs: Outputs<'_>,
    progress: &mut dyn FnMut(u64),
) -> io::Result<()> {
    let to = to.min(generator.total_entries());
    let runs = to.saturating_sub(from).div_ceil(RUN_ENTRIES);
    let threads = (threads.max(1) as u64).min(runs.max(1));
    let wanted = outputs.wanted();
    thread::scope(|scope| {
        let receivers: Vec<Receiver<_>> = (0..threads)
            .map(|thread| {
                let (sender, receiver) = sync_channel(PIECES_AHEAD);
                let wanted = wanted.clone();
                scope.spawn(move || {
                    for run in (thread..runs).step_by(threads as usize) {
                        let start = from + run * RUN_ENTRIES;
                        let end = (start + RUN_ENTRIES).min(to);
                        if !make_run(generator, start, end, &wanted, &sender) {
                            return;
                        }
                    }
                });
                receiver
            })
            .collect();
        let mut written = 0;
        for run in 0..runs {
            let receiver = &receivers[(run % threads) as usize];
            loop {
                let piece = receiver
                    .recv()
                    .map_err(|_| io::Error::other("a thread ended"))?;
                let piece =
                    piece.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
                outputs.write(&piece)?;
                written += piece.entries;
                if piece.last {
                    break;
                }
            }
            progress(written);
        }
        outputs.flush()
    })
}

type Pieces = SyncSender<Result<Piece, GenerateError>>;

/// Makes one run of entries; `false` when no more runs are wanted.
fn make_run(generator: &Generator, from: u64, to: u64, wanted: &Wanted, pieces: &Pieces) -> bool {
    let mut encoder = Encoder::new(wanted, |piece| pieces.send(Ok(piece)).is_ok());
    let made = generator.generate_range(from, to, |entry| encoder.entry(entry));
    match made {
        Ok(()) => encoder.finish(),
        Err(Stop::Unwanted) => false,
        Err(Stop::Impossible(error)) => {
            // If the writer has ended as well, no thread reads the error.
            let _ = pieces.send(Err(error));
            false
        }
    }
}

impl Outputs<'_> {
    fn wanted(&self) -> Wanted {
        Wanted {
            entries: self.entries.as_ref().map(|(format, _)| *format),
            names: self.names.is_some(),
            binds: self.binds.is_some(),
            logins: self.logins.as_ref().map(|(attribute, _)| attribute.clone()),
            filters: self
                .filters
                .as_ref()
                .map(|(attribute, kind, _)| (attribute.clone(), *kind)),
        }
    }

    fn each(
        &mut self,
        mut visit: impl FnMut(usize, &mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        if let Some((_, writer)) = &mut self.entries {
            visit(0, writer)?;
        }
        if let Some(writer) = &mut self.names {
            visit(1, writer)?;
        }
        if let Some(writer) = &mut self.binds {
            visit(2, writer)?;
        }
        if let Some((_, writer)) = &mut self.logins {
            visit(3, writer)?;
        }
        if let Some((_, _, writer)) = &mut self.filters {
            visit(4, writer)?;
        }
        Ok(())
    }

    fn write(&mut self, piece: &Piece) -> io::Result<()> {
        self.each(|position, writer| writer.write_all(&piece.octets[position]))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.each(|_, writer| writer.flush())
    }
}
