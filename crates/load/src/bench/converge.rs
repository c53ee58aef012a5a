//! Waits after a load until all servers have the same content.

use std::fmt;
use std::thread;
use std::time::{Duration, Instant};

use protocol::counted;
use serde::Serialize;

use super::content::{Content, Differing, Reader};
use super::target::Targets;
use super::{BenchError, Mix, Options};

/// Rest between two rounds of reads: as long as the last round took, since full reads slow servers
/// that still have to catch up, but within these bounds.
const REST_MIN: Duration = Duration::from_millis(20);
const REST_MAX: Duration = Duration::from_millis(500);

/// How to wait until all servers are equal.
#[derive(Clone, Debug)]
pub struct Converge {
    /// Entry to read below; `None` for all naming contexts of each server.
    pub base: Option<String>,
    /// Time after the last answer within which they have to become equal.
    pub within: Duration,
}

/// Whether and when all servers became equal.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Convergence {
    /// Whether full reads of all servers agreed in time.
    pub equal: bool,
    /// Number of servers read.
    pub servers: usize,
    /// Number of entries in each of them; in the first one when they differ.
    pub entries: u64,
    /// Accepted changes for each second until full reads agreed; 0 when they never did.
    pub rate: f64,
    /// Time from the first request until the end of the reads that agreed, or until nobody waited
    /// any longer.
    pub elapsed_s: f64,
    /// Time from the last answer until the last moment at which an entry was read that differed
    /// between servers; 0 when none ever did.
    pub unequal_s: f64,
    /// Time from the last answer until the beginning of the reads that agreed, or until nobody
    /// waited any longer; 0 when the first reads agreed.
    pub equal_after_s: f64,
    /// Time that the last reads of all servers took.
    pub reads_s: f64,
    /// Number of reads of each server.
    pub rounds: u64,
    /// Number of entries that the first reads found to differ, summed over the servers but the
    /// first.
    pub differing: u64,
    /// Reason why the last reads did not agree: an error, or the number of differing entries.
    pub reason: Option<String>,
}

/// The load before the wait.
pub(crate) struct Load {
    /// Moment of the first request.
    pub begin: Instant,
    /// Moment of the last answer.
    pub last_answer: Instant,
    /// Number of accepted changes.
    pub accepted: u64,
}

impl fmt::Display for Convergence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unequal, equal_after) = (self.unequal_s, self.equal_after_s);
        if !self.equal {
            let reason = self.reason.as_deref().unwrap_or_default();
            return write!(
                f,
                "not equal {equal_after:.1} s after the last answer: {reason}"
            );
        }
        write!(
            f,
            "converged: {:.0} changes/s in {:.2} s; {} servers with {} each, read in {:.2} s",
            self.rate,
            self.elapsed_s,
            self.servers,
            counted(self.entries, "entry"),
            self.reads_s
        )?;
        if self.differing > 0 {
            write!(
                f,
                "; {} differed at first, the last {unequal:.2} s after the last answer; equal \
                 {equal_after:.2} s after it",
                counted(self.differing, "entry")
            )?;
        }
        Ok(())
    }
}

/// Waits at most `within` until full reads of all these servers agree, as somebody who binds as
/// this DN with this password. Returns the result without a load before it.
///
/// # Errors
/// The URLs are none.
pub fn read_equal(
    urls: &[String],
    bind_as: Option<(String, String)>,
    converge: &Converge,
) -> Result<Convergence, BenchError> {
    let mut options = Options::new("", Mix { shares: Vec::new() });
    options.urls = urls.to_vec();
    options.bind_as = bind_as;
    let now = Instant::now();
    let load = Load {
        begin: now,
        last_answer: now,
        accepted: 0,
    };
    wait(&Targets::new(&options)?, converge, &load)
}

/// Reads all servers until they agree, or until nobody waits any longer.
pub(crate) fn wait(
    targets: &Targets,
    converge: &Converge,
    load: &Load,
) -> Result<Convergence, BenchError> {
    let mut readers: Vec<Option<Reader>> = (0..targets.count()).map(|_| None).collect();
    let mut result = Convergence {
        servers: targets.count(),
        ..Convergence::default()
    };
    loop {
        let begin = Instant::now();
        let contents = read_all(targets, converge.base.as_deref(), &mut readers);
        let (end, first) = (Instant::now(), result.rounds == 0);
        result.rounds += 1;
        result.reads_s = (end - begin).as_secs_f64();
        result.elapsed_s = (end - load.begin).as_secs_f64();
        let after = begin
            .saturating_duration_since(load.last_answer)
            .as_secs_f64();
        match contents {
            Ok(contents) => {
                let Differing { count, last_ms } = differing(&contents);
                result.entries = contents.first().map_or(0, Content::count);
                if first {
                    result.differing = count;
                }
                if count == 0 {
                    result.equal = true;
                    result.reason = None;
                    result.rate = load.accepted as f64 / result.elapsed_s.max(1e-9);
                    result.equal_after_s = if first { 0.0 } else { after };
                    return Ok(result);
                }
                result.unequal_s = after + f64::from(last_ms) / 1e3;
                let entries = counted(count, "entry");
                result.reason = Some(format!("{entries} differ from those of the first server"));
            }
            Err(error) => result.reason = Some(error.message),
        }
        result.equal_after_s = end
            .saturating_duration_since(load.last_answer)
            .as_secs_f64();
        if end >= load.last_answer + converge.within {
            return Ok(result);
        }
        rest_until(end + (end - begin).clamp(REST_MIN, REST_MAX));
    }
}

/// Lets time pass. The readers' ends wake this thread, so that one call to wait is not enough.
fn rest_until(moment: Instant) {
    loop {
        let left = moment.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        thread::park_timeout(left);
    }
}

/// Reads all servers at the same time, each over its own connection.
fn read_all(
    targets: &Targets,
    base: Option<&str>,
    readers: &mut [Option<Reader>],
) -> Result<Vec<Content>, BenchError> {
    let begin = Instant::now();
    thread::scope(|scope| {
        let reads: Vec<_> = readers
            .iter_mut()
            .enumerate()
            .map(|(target, reader)| scope.spawn(move || read(targets, target, base, reader, begin)))
            .collect();
        let contents = reads.into_iter().enumerate().map(|(target, read)| {
            let content = read
                .join()
                .map_err(|_| BenchError::new("a reader ended without a result"))?;
            content.map_err(|error| {
                BenchError::new(format!("{}: {}", targets.url(target), error.message))
            })
        });
        contents.collect()
    })
}

/// Reads one server; its connection is kept for the next time unless it has failed.
fn read(
    targets: &Targets,
    target: usize,
    base: Option<&str>,
    kept: &mut Option<Reader>,
    begin: Instant,
) -> Result<Content, BenchError> {
    let mut reader = match kept.take() {
        Some(reader) => reader,
        None => Reader::open(targets, target, base)?,
    };
    let content = reader.read(begin)?;
    *kept = Some(reader);
    Ok(content)
}

fn differing(contents: &[Content]) -> Differing {
    let Some((first, others)) = contents.split_first() else {
        return Differing::default();
    };
    let each = others.iter().map(|it| first.differing(it));
    each.fold(Differing::default(), Differing::and)
}
