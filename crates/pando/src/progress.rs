//! Progress of long work: a bar on a terminal, a plain line every few seconds elsewhere. Both go
//! to standard error, so that results can be piped.

use crate::report::note;
use indicatif::{HumanBytes, HumanCount, ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Between two looks at the work, on a terminal.
const REDRAW: Duration = Duration::from_millis(200);
/// Between two plain lines.
const LINE_EVERY: Duration = Duration::from_secs(5);

/// How far a work is.
#[derive(Debug, Clone, Copy, Default)]
pub struct Standing {
    /// Entries done.
    pub entries: u64,
    /// Bytes read or written.
    pub bytes: u64,
    /// Done of `total`, in its unit.
    pub done: u64,
    /// All there is to do, if that is known.
    pub total: Option<u64>,
    /// Only work without measure is left.
    pub finishing: bool,
}

/// Shows progress until dropped.
pub struct Progress {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Progress {
    /// Shows what `look` says. `finishing` is what the last part of the work is called.
    pub fn show(
        finishing: &'static str,
        look: Arc<dyn Fn() -> Standing + Send + Sync>,
    ) -> Progress {
        let (stop, stopped) = channel::<()>();
        let is_terminal = std::io::stderr().is_terminal();
        let thread = std::thread::spawn(move || {
            let started = Instant::now();
            let mut bar = None;
            let every = if is_terminal { REDRAW } else { LINE_EVERY };
            while stopped.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
                let standing = look();
                if is_terminal {
                    let bar = bar.get_or_insert_with(|| new_bar(standing.total));
                    redraw(bar, &standing, finishing, started.elapsed());
                } else {
                    note(line(&standing, finishing, started.elapsed()));
                }
            }
            if let Some(bar) = bar {
                bar.finish_and_clear();
            }
        });
        Progress {
            stop: Some(stop),
            thread: Some(thread),
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A display that failed is no reason to fail.
            let _ = thread.join();
        }
    }
}

fn new_bar(total: Option<u64>) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::stderr());
    let template = match total {
        Some(_) => "{wide_bar} {percent:>3} %  {msg}  {eta} left",
        None => "{spinner} {msg}  {elapsed}",
    };
    // The templates are constants, so the usual look stands in for one that cannot be read.
    let style = ProgressStyle::with_template(template);
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar
}

/// What was done, and how fast.
fn counts(standing: &Standing, elapsed: Duration) -> String {
    let each_second = |count: u64| (count as f64 / elapsed.as_secs_f64().max(0.001)) as u64;
    let bytes = HumanBytes(standing.bytes);
    match standing.entries {
        // Not all work goes by entries.
        0 => format!("{bytes}, {}/s", HumanBytes(each_second(standing.bytes))),
        entries => format!(
            "{} entries, {bytes}, {} entries/s",
            HumanCount(entries),
            HumanCount(each_second(entries))
        ),
    }
}

fn redraw(bar: &ProgressBar, standing: &Standing, finishing: &str, elapsed: Duration) {
    let message = match standing.finishing {
        true => format!("{}, {finishing}", counts(standing, elapsed)),
        false => counts(standing, elapsed),
    };
    bar.set_message(message);
    match standing.total {
        Some(total) => bar.set_position(standing.done.min(total)),
        None => bar.tick(),
    }
}

fn line(standing: &Standing, finishing: &str, elapsed: Duration) -> String {
    let mut line = counts(standing, elapsed);
    if standing.finishing {
        line.push_str(&format!(", {finishing}"));
    } else if let Some(total) = standing.total.filter(|total| *total > 0) {
        line.push_str(&format!(", {} %", standing.done.min(total) * 100 / total));
    }
    line
}
