//! A run: connections, threads, the clock, and the report at the end.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicI64};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use super::bundle::Announcement;
use super::client::Client;
use super::connect::{ANSWER_TIME_MAX, Address};
use super::converge;
use super::job::Jobs;
use super::measure::{Gathering, Message, ThreadEnd, latency_of};
use super::open::{Opened, depth, open};
use super::outcomes::Outcomes;
use super::process::{CpuSample, Memory, ServerSecond};
use super::report::{Report, Second, ServerUse};
use super::shared::Run;
use super::target::Targets;
use super::timeline::Timeline;
use super::{BenchError, JobKind, Options};

/// Runs a job. `progress` is called with every second that has ended.
///
/// Fails if the options are invalid, if a connection or the bind before the run fails, or if every
/// connection is lost. Unexpected results are counted instead.
pub fn run(options: &Options, progress: &mut dyn FnMut(&Second)) -> Result<Report, BenchError> {
    let jobs = Jobs::new(options)?;
    check(options)?;
    let targets = Targets::new(options)?;
    let threads = options.threads.clamp(1, options.connections);
    let depth = depth(options);
    let Opened {
        members,
        count,
        fewer,
    } = open(options, &targets, threads)?;
    let duration = options.duration.map_or(i64::MAX, |it| it.as_nanos() as i64);
    let run = Run {
        begin: Instant::now() + options.warm_up,
        jobs,
        warm_up_ns: options.warm_up.as_nanos() as i64,
        duration_ns: duration,
        drain_ns: options.drain.as_nanos() as i64,
        budget: options.operations.map(|count| AtomicI64::new(count as i64)),
        failed: AtomicBool::new(false),
        announcement: Announcement::new(options.queue_length),
        failover: options.failover.then(|| targets.clone()),
        interval_ns: options.rate.map(|rate| threads as f64 * 1e9 / rate),
    };
    let (sender, receiver) = channel();
    let mut clients = Vec::new();
    for (thread, members) in members.into_iter().enumerate() {
        let client = Client::new(&run, thread, sender.clone(), members, depth, options.seed);
        clients.push(client.map_err(|error| BenchError::new(format!("epoll: {error}")))?);
    }
    drop(sender);
    thread::scope(|scope| {
        for client in clients {
            scope.spawn(|| client.work());
        }
        watch(options, &run, &receiver, threads, progress)
    })
    .and_then(|watched| {
        let Watched { report, load } = watched;
        let converged = match &options.converge {
            Some(until) => Some(converge::wait(&targets, until, &load)?),
            None => None,
        };
        Ok(Report {
            settings: settings(options, count),
            connections: count,
            notes: fewer.into_iter().collect(),
            converged,
            ..report
        })
    })
}

/// What is known when the load is over.
struct Watched {
    report: Report,
    load: converge::Load,
}

/// Checks that a server answers at `url` and accepts this identity.
pub fn can_bind(url: &str, dn: &str, password: &str) -> bool {
    let address = Address::parse(url).ok();
    let stream = address.and_then(|it| it.connect(0, ANSWER_TIME_MAX).ok());
    stream.is_some_and(|stream| stream.bind(dn, password, ANSWER_TIME_MAX).is_ok())
}

fn check(options: &Options) -> Result<(), BenchError> {
    if options.connections == 0 || options.depth == 0 {
        return Err(BenchError::new(
            "expected at least one connection and one request in flight",
        ));
    }
    // With more requests, the server would delay each bundle until its time limit.
    if options.queue_length as usize > options.depth {
        return Err(BenchError::new(format!(
            "expected a queue length of at most the {} requests in flight on a connection",
            options.depth
        )));
    }
    if options.duration.is_none() && options.operations.is_none() {
        return Err(BenchError::new(
            "expected a duration or a number of operations",
        ));
    }
    if options
        .rate
        .is_some_and(|rate| !rate.is_finite() || rate <= 0.0)
    {
        return Err(BenchError::new("expected a rate above 0"));
    }
    if options.converge.is_some() && options.urls.len() < 2 {
        return Err(BenchError::new(
            "expected at least two URLs, of servers that are to become equal",
        ));
    }
    if let Some(pid) = options.server_pid
        && CpuSample::take(pid).is_none()
    {
        return Err(BenchError::new(format!("there is no process {pid}")));
    }
    Ok(())
}

/// State of the main thread during the run, which collects seconds and samples the server.
fn watch(
    options: &Options,
    run: &Run,
    messages: &Receiver<Message>,
    threads: usize,
    progress: &mut dyn FnMut(&Second),
) -> Result<Watched, BenchError> {
    let mut gathering = Gathering::new(run.jobs.kinds.len(), threads, run.duration_ns);
    let mut server = ServerWatch::new(options, run);
    let mut ends = Vec::new();
    while ends.len() < threads {
        let wait = server.next.saturating_duration_since(Instant::now());
        match messages.recv_timeout(wait) {
            Ok(Message::Second {
                thread,
                second,
                counts,
            }) => {
                gathering.add(thread, second, &counts, progress);
            }
            Ok(Message::End(end)) => {
                gathering.told_all(end.thread);
                ends.push(end);
            }
            Err(RecvTimeoutError::Timeout) => server.tick(&mut gathering.server),
            Err(RecvTimeoutError::Disconnected) => {
                return Err(BenchError::new("a client thread ended without a report"));
            }
        }
    }
    server.finish();
    gathering.close(i64::MAX, progress);
    report(options, run, gathering, &server, ends)
}

/// Samples of the server's process, at full seconds and at the ends of the measured part.
struct ServerWatch {
    pid: Option<u32>,
    file: Option<PathBuf>,
    /// Time of the next sample.
    next: Instant,
    /// Number of the second that begins at the next sample.
    second: i64,
    end: Option<Instant>,
    begin: Instant,
    last: Option<(Instant, CpuSample)>,
    first_measured: Option<CpuSample>,
    last_measured: Option<(CpuSample, Memory)>,
}

impl ServerWatch {
    fn new(options: &Options, run: &Run) -> ServerWatch {
        let whole = options.warm_up.as_secs() as i64;
        let to_full = options.warm_up - Duration::from_secs(whole as u64);
        let begin = run.begin;
        ServerWatch {
            pid: options.server_pid,
            file: options.watched_file.clone(),
            next: begin - options.warm_up + to_full,
            second: -whole,
            end: options.duration.map(|duration| begin + duration),
            begin,
            last: None,
            first_measured: None,
            last_measured: None,
        }
    }

    fn tick(&mut self, seconds: &mut BTreeMap<i64, ServerSecond>) {
        let at_end = self.end.is_some_and(|end| self.next >= end);
        if let Some(sample) = self.pid.and_then(CpuSample::take) {
            let now = Instant::now();
            if let Some((then, before)) = &self.last {
                let elapsed = (now - *then).as_secs_f64().max(1e-9);
                let memory = self.pid.and_then(Memory::of).unwrap_or_default();
                let file = self.file.as_ref().and_then(|it| std::fs::metadata(it).ok());
                let second = ServerSecond {
                    cores: sample.ns_since(before) as f64 / 1e9 / elapsed,
                    anonymous_bytes: memory.anonymous_bytes,
                    file_bytes: file.map_or(0, |it| it.len()),
                };
                seconds.insert(self.second - 1, second);
            }
            if self.next >= self.begin && self.first_measured.is_none() {
                self.first_measured = Some(sample.clone());
            }
            if at_end {
                self.measured_until(&sample);
            }
            self.last = Some((now, sample));
        }
        self.second += 1;
        let full = self.begin + Duration::from_secs(self.second.max(0) as u64);
        let before = Duration::from_secs(self.second.min(0).unsigned_abs());
        self.next = full - before;
        if let Some(end) = self.end.filter(|_| !at_end) {
            self.next = self.next.min(end);
        }
    }

    fn measured_until(&mut self, sample: &CpuSample) {
        let memory = self.pid.and_then(Memory::of).unwrap_or_default();
        if self.last_measured.is_none() {
            self.last_measured = Some((sample.clone(), memory));
        }
    }

    /// Ends the run, perhaps before its time.
    fn finish(&mut self) {
        if let Some(sample) = self.pid.and_then(CpuSample::take) {
            self.measured_until(&sample);
        }
    }

    fn used(&self, operations: u64) -> Option<ServerUse> {
        let (first, (last, memory)) = (self.first_measured.as_ref()?, self.last_measured.as_ref()?);
        let cpu_us = last.ns_since(first) as f64 / 1e3;
        Some(ServerUse {
            cpu_us,
            us_per_operation: cpu_us / operations.max(1) as f64,
            system_share: last.system_share_since(first),
            resident_bytes: memory.resident_bytes,
            anonymous_bytes: memory.anonymous_bytes,
        })
    }
}

fn report(
    options: &Options,
    run: &Run,
    gathering: Gathering,
    server: &ServerWatch,
    ends: Vec<ThreadEnd>,
) -> Result<Watched, BenchError> {
    let mut surprises = BTreeMap::<String, u64>::new();
    let (mut cpu_ns, mut lost, mut never_started, mut last_ns) = (0, 0, 0, 0);
    let (mut outcomes, mut timeline) = (Outcomes::default(), Timeline::default());
    let (mut reconnections, mut last_answer_ns) = (0, -run.warm_up_ns);
    for end in ends {
        if let Some(error) = end.error {
            return Err(error);
        }
        for (what, count) in end.surprises {
            *surprises.entry(what).or_default() += count;
        }
        cpu_ns += end.cpu_ns;
        lost += end.lost;
        never_started += end.never_started;
        last_ns = last_ns.max(end.last_ns);
        end.fates.add_to(&mut outcomes);
        timeline.merge(&end.timeline);
        reconnections += end.reconnections;
        last_answer_ns = last_answer_ns.max(end.last_answer_ns);
    }
    let operations = gathering.totals.iter().map(|count| count.operations).sum();
    // A job that has no work left ended with its last response.
    let ended_early = last_ns < run.duration_ns.saturating_sub(1_000_000_000);
    let elapsed_ns = if ended_early {
        last_ns
    } else {
        run.duration_ns
    };
    let elapsed_s = elapsed_ns.max(1) as f64 / 1e9;
    let mut surprises: Vec<_> = surprises.into_iter().collect();
    surprises.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    // Nanoseconds since the beginning of the load, and its end: an answer after it closes no gap.
    let since_begin =
        |ns: i64| Duration::from_nanos(ns.saturating_add(run.warm_up_ns).max(0) as u64);
    let gap = timeline.longest_gap(since_begin(elapsed_ns));
    let load = converge::Load {
        begin: run.begin - options.warm_up,
        last_answer: run.begin - options.warm_up + since_begin(last_answer_ns),
        accepted: outcomes.accepted,
    };
    let report = Report {
        title: options.mix.to_string(),
        settings: Vec::new(),
        connections: options.connections,
        notes: Vec::new(),
        elapsed_s,
        operations,
        failures: gathering.totals.iter().map(|count| count.failures).sum(),
        lost,
        never_started,
        rate: operations as f64 / elapsed_s,
        latency: latency_of(&gathering.latency()),
        jobs: gathering.jobs(&run.jobs.kinds),
        seconds: gathering.seconds,
        surprises,
        client_us_per_operation: cpu_ns as f64 / 1e3 / operations.max(1) as f64,
        server: server.used(operations),
        outcomes,
        longest_gap_s: gap.as_secs_f64(),
        reconnections,
        converged: None,
    };
    Ok(Watched { report, load })
}

/// Returns the options that a reader needs to repeat the run, without passwords.
fn settings(options: &Options, connections: usize) -> Vec<(String, String)> {
    let mut out: Vec<(String, String)> = Vec::new();
    let mut add = |name: &str, value: String| out.push((name.to_owned(), value));
    add("url", options.urls.join(" "));
    if options.failover {
        add("failover", "to the next url".to_owned());
    }
    add("job", options.mix.to_string());
    add("connections", connections.to_string());
    add("in flight", depth(options).to_string());
    if options.queue_length > 1 {
        add("queue length", options.queue_length.to_string());
    }
    add("client threads", options.threads.to_string());
    if let Some(rate) = options.rate {
        add("rate", format!("{rate}/s, open loop"));
    }
    if let Some(duration) = options.duration {
        add("duration", format!("{} s", duration.as_secs_f64()));
    }
    if let Some(operations) = options.operations {
        add("operations", operations.to_string());
    }
    add("warm-up", format!("{} s", options.warm_up.as_secs_f64()));
    if options
        .mix
        .has(|kind| matches!(kind, JobKind::Search | JobKind::Auth))
    {
        let search = &options.search;
        add("base", search.base.clone());
        add("scope", format!("{:?}", search.scope).to_lowercase());
        add("filter", search.filter.clone());
        add("attributes", search.attributes.join(" "));
    }
    if options
        .mix
        .has(|kind| !matches!(kind, JobKind::Search | JobKind::Auth | JobKind::Add))
    {
        add("dn", options.dn.clone());
    }
    if options.mix.has(uses_value) {
        add("attribute", options.attribute.clone());
    }
    add(
        "bound as",
        options
            .bind_as
            .as_ref()
            .map_or("anonymous", |(dn, _)| dn)
            .to_owned(),
    );
    add("seed", options.seed.to_string());
    out
}

/// Returns whether a kind of operation writes or asserts `attribute` and `value`.
fn uses_value(kind: JobKind) -> bool {
    matches!(
        kind,
        JobKind::Compare | JobKind::Modify | JobKind::AddValue | JobKind::DeleteValue
    )
}
