//! Measurements of each thread by second, and their sums.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;

use super::outcomes::Fates;
use super::process::ServerSecond;
use super::report::{JobReport, Latency, Second};
use super::timeline::Timeline;
use super::{BenchError, JobKind};

/// Range of latencies recorded to three digits; longer ones count as the longest.
const LATENCY_NS_MIN: u64 = 100;
const LATENCY_NS_MAX: u64 = 3_600_000_000_000;
const NS_PER_SECOND: i64 = 1_000_000_000;

pub(crate) fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(LATENCY_NS_MIN, LATENCY_NS_MAX, 3)
        .expect("the bounds are constants the histogram accepts")
}

/// Counts and latencies of one kind of operation, in one second or in all.
#[derive(Clone, Debug)]
pub(crate) struct Count {
    pub latency: Histogram<u64>,
    pub operations: u64,
    pub failures: u64,
    pub entries: u64,
}

impl Count {
    fn new() -> Count {
        Count {
            latency: histogram(),
            operations: 0,
            failures: 0,
            entries: 0,
        }
    }

    fn add(&mut self, other: &Count) {
        self.operations += other.operations;
        self.failures += other.failures;
        self.entries += other.entries;
        self.latency
            .add(&other.latency)
            .expect("all histograms have the same bounds");
    }
}

/// A message from a client thread to the main thread.
pub(crate) enum Message {
    /// A second has ended, with or without operations.
    Second {
        thread: usize,
        second: i64,
        counts: Vec<Option<Count>>,
    },
    End(ThreadEnd),
}

#[derive(Debug, Default)]
pub(crate) struct ThreadEnd {
    pub thread: usize,
    /// CPU time of the thread in the measured part, in nanoseconds.
    pub cpu_ns: u64,
    pub lost: u64,
    pub never_started: u64,
    pub surprises: BTreeMap<String, u64>,
    /// Fates of all operations, those outside the measured part included.
    pub fates: Fates,
    /// Moments at which operations were carried out.
    pub timeline: Timeline,
    /// Number of connections made again.
    pub reconnections: u64,
    /// Time of the last answer, in the measured part or not, from the beginning of that part.
    pub last_answer_ns: i64,
    /// End of the last operation, in nanoseconds from the beginning of the measured part.
    pub last_ns: i64,
    pub error: Option<BenchError>,
}

/// Counters of the current second of one thread.
pub(crate) struct Recorder {
    second: i64,
    counts: Vec<Option<Count>>,
}

impl Recorder {
    pub fn new(kinds: usize, now_ns: i64) -> Recorder {
        Recorder {
            second: now_ns.div_euclid(NS_PER_SECOND),
            counts: vec![None; kinds],
        }
    }

    /// Returns the seconds that have ended by `now_ns`, each with number and counts.
    pub fn roll(&mut self, now_ns: i64) -> Option<(i64, Vec<Option<Count>>)> {
        let current = now_ns.div_euclid(NS_PER_SECOND);
        if current == self.second {
            return None;
        }
        let second = std::mem::replace(&mut self.second, current);
        let empty = vec![None; self.counts.len()];
        Some((second, std::mem::replace(&mut self.counts, empty)))
    }

    /// Returns the last, incomplete second.
    pub fn finish(self) -> (i64, Vec<Option<Count>>) {
        (self.second, self.counts)
    }

    /// Counts an operation that never got an answer.
    pub fn fail(&mut self, kind: usize) {
        let count = self.counts[kind].get_or_insert_with(Count::new);
        count.operations += 1;
        count.failures += 1;
    }

    #[inline]
    pub fn record(&mut self, kind: usize, latency_ns: u64, entries: u64, failed: bool) {
        let count = self.counts[kind].get_or_insert_with(Count::new);
        count.operations += 1;
        count.failures += u64::from(failed);
        count.entries += entries;
        count.latency.saturating_record(latency_ns.max(1));
    }
}

/// Sums up the seconds of all threads.
pub(crate) struct Gathering {
    pub totals: Vec<Count>,
    /// Seconds that some thread has not reported yet.
    open: BTreeMap<i64, (Histogram<u64>, Second)>,
    /// The last second that each thread has reported.
    told: Vec<i64>,
    /// CPU cores that the server used, by second.
    pub server: BTreeMap<i64, ServerSecond>,
    /// First second after the measured part, so that empty seconds are not shown.
    over: i64,
    pub seconds: Vec<Second>,
}

impl Gathering {
    pub fn new(kinds: usize, threads: usize, duration_ns: i64) -> Gathering {
        Gathering {
            totals: (0..kinds).map(|_| Count::new()).collect(),
            open: BTreeMap::new(),
            told: vec![i64::MIN; threads],
            server: BTreeMap::new(),
            over: duration_ns.saturating_add(NS_PER_SECOND - 1) / NS_PER_SECOND,
            seconds: Vec::new(),
        }
    }

    pub fn add(
        &mut self,
        thread: usize,
        second: i64,
        counts: &[Option<Count>],
        progress: &mut dyn FnMut(&Second),
    ) {
        let (latency, sum) = self.open.entry(second).or_insert_with(|| {
            let warm_up = second < 0;
            (
                histogram(),
                Second {
                    second,
                    warm_up,
                    ..Second::default()
                },
            )
        });
        for (kind, count) in counts.iter().enumerate() {
            let Some(count) = count else { continue };
            sum.operations += count.operations;
            sum.failures += count.failures;
            latency
                .add(&count.latency)
                .expect("all histograms have the same bounds");
            if second >= 0 {
                self.totals[kind].add(count);
            }
        }
        self.told[thread] = second;
        let complete = self.told.iter().copied().min().unwrap_or(i64::MAX);
        self.close(complete, progress);
    }

    /// Records that a thread has reported all its seconds.
    pub fn told_all(&mut self, thread: usize) {
        self.told[thread] = i64::MAX;
    }

    /// Closes all seconds up to and including `last`.
    pub fn close(&mut self, last: i64, progress: &mut dyn FnMut(&Second)) {
        while let Some(entry) = self.open.first_entry().filter(|entry| *entry.key() <= last) {
            let (latency, mut sum) = entry.remove();
            if sum.second >= self.over && sum.operations == 0 {
                continue;
            }
            sum.p50_us = at_quantile(&latency, 0.5);
            sum.p99_us = at_quantile(&latency, 0.99);
            // A late sample is missing here; the previous one is about equal.
            let seen = self.server.range(..=sum.second).next_back();
            let server = seen.map(|(_, it)| *it).unwrap_or_default();
            sum.server_cores = server.cores;
            sum.server_anonymous_bytes = server.anonymous_bytes;
            sum.file_bytes = server.file_bytes;
            progress(&sum);
            self.seconds.push(sum);
        }
    }

    /// Returns the sums over all kinds.
    pub fn latency(&self) -> Histogram<u64> {
        let mut sum = histogram();
        for count in &self.totals {
            sum.add(&count.latency)
                .expect("all histograms have the same bounds");
        }
        sum
    }

    pub fn jobs(&self, kinds: &[JobKind]) -> Vec<JobReport> {
        let job = |(kind, count): (&JobKind, &Count)| JobReport {
            kind: *kind,
            operations: count.operations,
            failures: count.failures,
            entries: count.entries,
            latency: latency_of(&count.latency),
            curve: curve(&count.latency),
        };
        kinds.iter().zip(&self.totals).map(job).collect()
    }
}

fn at_quantile(histogram: &Histogram<u64>, quantile: f64) -> f64 {
    if histogram.is_empty() {
        0.0
    } else {
        histogram.value_at_quantile(quantile) as f64 / 1e3
    }
}

pub(crate) fn latency_of(histogram: &Histogram<u64>) -> Latency {
    if histogram.is_empty() {
        return Latency::default();
    }
    Latency {
        min_us: histogram.min() as f64 / 1e3,
        mean_us: histogram.mean() / 1e3,
        p50_us: at_quantile(histogram, 0.5),
        p90_us: at_quantile(histogram, 0.9),
        p99_us: at_quantile(histogram, 0.99),
        p999_us: at_quantile(histogram, 0.999),
        p9999_us: at_quantile(histogram, 0.9999),
        max_us: histogram.max() as f64 / 1e3,
    }
}

/// Returns pairs of a share of operations and the latency in microseconds that they exceed: ten
/// points for each factor of ten.
fn curve(histogram: &Histogram<u64>) -> Vec<(f64, f64)> {
    let count = histogram.len() as f64;
    let mut points = Vec::new();
    let mut slower = 1.0f64;
    while slower * count >= 1.0 {
        points.push((slower, at_quantile(histogram, 1.0 - slower)));
        slower /= 10f64.powf(0.1);
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_close_when_every_thread_has_spoken() {
        let mut gathering = Gathering::new(2, 2, i64::MAX);
        let mut shown = Vec::new();
        let mut one = Recorder::new(2, -NS_PER_SECOND);
        one.record(0, 5_000, 1, false);
        let (second, counts) = one.roll(0).unwrap();
        gathering.add(0, second, &counts, &mut |second| shown.push(*second));
        assert!(shown.is_empty() && one.roll(1).is_none());
        one.record(1, 1_000_000, 2, true);
        one.record(1, 3_000_000, 2, false);
        let (second, counts) = one.finish();
        gathering.add(0, second, &counts, &mut |second| shown.push(*second));
        gathering.add(1, -1, &[None, None], &mut |second| shown.push(*second));
        assert_eq!(
            (shown.len(), shown[0].warm_up, shown[0].operations),
            (1, true, 1)
        );
        gathering.close(i64::MAX, &mut |second| shown.push(*second));
        assert_eq!(
            (shown[1].second, shown[1].operations, shown[1].failures),
            (0, 2, 1)
        );
        let jobs = gathering.jobs(&[JobKind::Search, JobKind::Bind]);
        assert_eq!(
            (jobs[0].operations, jobs[1].operations, jobs[1].entries),
            (0, 2, 4)
        );
        assert!(
            (jobs[1].latency.max_us - 3_000.0).abs() < 5.0,
            "{:?}",
            jobs[1].latency
        );
        assert_eq!(gathering.latency().len(), 2);
    }
}
