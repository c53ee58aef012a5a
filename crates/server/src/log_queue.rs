//! Log lines on their way to standard error: a bounded queue and one thread that writes, so that a
//! slow terminal, pipe or disk delays no client. Lines for which there is no room are counted.

use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tracing::{Level, Metadata};
use tracing_subscriber::fmt::MakeWriter;

/// Maximum number of waiting lines. A line has a few hundred octets, and 10 KiB at most.
const LINES_MAX: usize = 4096;
/// Maximum time for which the end of the process waits for lines to be written.
const PATIENCE: Duration = Duration::from_secs(2);

/// The queue of this process; its value is `None` if there is no thread.
static QUEUE: OnceLock<Option<Queue>> = OnceLock::new();

enum Item {
    Line(Vec<u8>),
    /// Reports when all earlier lines are written.
    Flush(SyncSender<()>),
}

struct Queue {
    sender: SyncSender<Item>,
    dropped: Arc<AtomicU64>,
}

/// Makes the writer for one event. Warnings and errors are few and are written at once, because the
/// process may be about to end; events that clients can cause wait in the queue.
#[derive(Debug, Clone, Copy)]
pub struct Writers;

/// Destination of one event.
#[derive(Debug)]
pub enum Writer {
    Direct(io::Stderr),
    Queued,
}

impl<'w> MakeWriter<'w> for Writers {
    type Writer = Writer;

    fn make_writer(&'w self) -> Writer {
        Writer::Direct(io::stderr())
    }

    fn make_writer_for(&'w self, event: &Metadata<'_>) -> Writer {
        let is_rare = *event.level() <= Level::WARN;
        match is_rare && event.target() != directory::operations_log::TARGET {
            true => self.make_writer(),
            false => Writer::Queued,
        }
    }
}

impl Write for Writer {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        match self {
            Writer::Direct(stderr) => stderr.write(line),
            Writer::Queued => {
                match QUEUE.get_or_init(Queue::start) {
                    Some(queue) => queue.put(line),
                    None => io::stderr().write_all(line)?,
                }
                Ok(line.len())
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Writer::Direct(stderr) => stderr.flush(),
            Writer::Queued => Ok(()),
        }
    }
}

impl Queue {
    /// Starts the thread; `None` if the system gives none.
    fn start() -> Option<Queue> {
        let (sender, receiver) = sync_channel(LINES_MAX);
        let dropped = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&dropped);
        std::thread::Builder::new()
            .name("log".to_owned())
            .spawn(move || write_all(&receiver, &mut io::stderr(), &counted))
            .ok()?;
        Some(Queue { sender, dropped })
    }

    fn put(&self, line: &[u8]) {
        if let Err(TrySendError::Full(_)) = self.sender.try_send(Item::Line(line.to_vec())) {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Writes lines until all senders are dropped.
fn write_all(receiver: &Receiver<Item>, to: &mut impl Write, dropped: &AtomicU64) {
    for item in receiver {
        match item {
            // If standard error is closed, lines are lost.
            Item::Line(line) => drop(to.write_all(&line)),
            Item::Flush(done) => drop(done.try_send(())),
        }
        let lines = dropped.swap(0, Ordering::Relaxed);
        if lines > 0 {
            tracing::warn!(
                lines,
                "log lines left out: standard error takes them too slowly"
            );
        }
    }
}

/// Waits until the queued lines are written, for at most two seconds.
pub fn flush() {
    if let Some(Some(queue)) = QUEUE.get() {
        let (done, ended) = sync_channel(1);
        if queue.sender.try_send(Item::Flush(done)).is_ok() {
            // If that takes longer, the lines are lost.
            let _ = ended.recv_timeout(PATIENCE);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_queue_drops_and_counts() {
        let (sender, receiver) = sync_channel(2);
        let dropped = Arc::new(AtomicU64::new(0));
        let queue = Queue { sender, dropped };
        for line in ["a\n", "b\n", "c\n", "d\n"] {
            queue.put(line.as_bytes());
        }
        assert_eq!(queue.dropped.load(Ordering::Relaxed), 2);
        let Queue { sender, dropped } = queue;
        drop(sender);
        let mut written = Vec::new();
        write_all(&receiver, &mut written, &dropped);
        assert_eq!(written, b"a\nb\n");
        assert_eq!(dropped.load(Ordering::Relaxed), 0);
    }
}
