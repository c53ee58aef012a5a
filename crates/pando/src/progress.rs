//! Progress of long work: a bar on a terminal, a plain line every few seconds elsewhere. Both go
//! to standard error, so that results can be piped.

use crate::report::note;
use indicatif::{
    HumanBytes, HumanCount, HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle,
};
use protocol::counted;
use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Interval of updates on a terminal.
const REDRAW: Duration = Duration::from_millis(200);
/// Interval of plain lines.
const LINE_EVERY: Duration = Duration::from_secs(5);

/// Progress of a command.
#[derive(Debug, Clone, Copy, Default)]
pub struct Standing {
    /// Number of entries done.
    pub entries: u64,
    /// Number of bytes read or written.
    pub bytes: u64,
    /// Units done of `total`.
    pub done: u64,
    /// Total number of units; `None` if unknown.
    pub total: Option<u64>,
    /// Whether only work of unknown length is left.
    pub finishing: bool,
}

/// Shows progress until dropped.
pub struct Progress {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Progress {
    /// Shows the progress that `look` returns. `finishing` names the last part of the work.
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
            // A failed display must not fail the work.
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
    // The templates are constants; if one cannot be parsed, the default is used.
    let style = ProgressStyle::with_template(template);
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar
}

/// Counts and rates as text.
fn counts(standing: &Standing, elapsed: Duration) -> String {
    let each_second = |count: u64| (count as f64 / elapsed.as_secs_f64().max(0.001)) as u64;
    let bytes = format!(
        "{}, {}/s",
        HumanBytes(standing.bytes),
        HumanBytes(each_second(standing.bytes))
    );
    // Some work has no entries, and some reads or writes no counted bytes.
    if standing.entries == 0 {
        return bytes;
    }
    let entries = counted(standing.entries, "entry");
    let rate = HumanCount(each_second(standing.entries));
    match standing.bytes {
        0 => format!("{entries}, {rate} entries/s"),
        _ => format!("{entries}, {rate} entries/s, {bytes}"),
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
        return line;
    }
    let Some(total) = standing.total.filter(|total| *total > 0) else {
        return line;
    };
    let done = standing.done.min(total);
    line.push_str(&format!(
        ", {} %",
        u128::from(done) * 100 / u128::from(total)
    ));
    if done > 0 {
        let left = elapsed.mul_f64((total - done) as f64 / done as f64);
        line.push_str(&format!(", {} left", HumanDuration(left)));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_say_what_is_known() {
        let minute = Duration::from_secs(60);
        let mut standing = Standing {
            entries: 6000,
            done: 6000,
            total: Some(18_000),
            ..Standing::default()
        };
        let said = line(&standing, "sorting", minute);
        assert_eq!(said, "6,000 entries, 100 entries/s, 33 %, 2 minutes left");
        standing.bytes = 120 << 20;
        standing.total = None;
        let said = line(&standing, "sorting", minute);
        assert_eq!(said, "6,000 entries, 100 entries/s, 120.00 MiB, 2.00 MiB/s");
        standing.finishing = true;
        assert!(line(&standing, "sorting", minute).ends_with(", sorting"));
        let nothing = line(&Standing::default(), "", minute);
        assert_eq!(nothing, "0 B, 0 B/s");
    }
}
