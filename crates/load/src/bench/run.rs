//! A run: connections, threads, the clock, and the report at the end.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicI64};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use super::client::{Client, Run};
use super::connect::{Address, Stream, raise_file_limit};
use super::job::Jobs;
use super::measure::{Gathering, Message, ThreadEnd, latency_of};
use super::member::Member;
use super::process::{CpuSample, Memory};
use super::report::{Report, Second, ServerUse};
use super::{BenchError, JobKind, Options};

/// Runs a job. `progress` hears of every second that has ended.
///
/// Fails when the settings make no sense, when a connection or the bind before the run fails, or
/// when every connection was lost; wrong answers are no failure, they are counted.
pub fn run(options: &Options, progress: &mut dyn FnMut(&Second)) -> Result<Report, BenchError> {
    let jobs = Jobs::new(options)?;
    check(options)?;
    raise_file_limit();
    let threads = options.threads.clamp(1, options.connections);
    let mut members: Vec<Vec<Member>> = (0..threads).map(|_| Vec::new()).collect();
    let depth = depth(options);
    for number in 0..options.connections {
        members[number % threads].push(member(options, number, depth)?);
    }
    let duration = options.duration.map_or(i64::MAX, |it| it.as_nanos() as i64);
    let run = Run {
        begin: Instant::now() + options.warm_up,
        jobs,
        duration_ns: duration,
        drain_ns: options.drain.as_nanos() as i64,
        budget: options.operations.map(|count| AtomicI64::new(count as i64)),
        failed: AtomicBool::new(false),
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
}

/// Whether a server answers at `url` and lets this identity in.
pub fn can_bind(url: &str, dn: &str, password: &str) -> bool {
    let stream = Address::parse(url)
        .ok()
        .and_then(|address| address.connect(0).ok());
    stream.is_some_and(|stream| stream.bind(dn, password).is_ok())
}

fn check(options: &Options) -> Result<(), BenchError> {
    if options.connections == 0 || options.depth == 0 {
        return Err(BenchError::new(
            "expected at least one connection and one request in flight",
        ));
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
    if let Some(pid) = options.server_pid
        && CpuSample::take(pid).is_none()
    {
        return Err(BenchError::new(format!("there is no process {pid}")));
    }
    Ok(())
}

/// Requests in flight for each connection: binds alone are never pipelined.
fn depth(options: &Options) -> usize {
    if options.mix.has(|kind| kind != JobKind::Bind) {
        options.depth
    } else {
        1
    }
}

fn member(options: &Options, number: usize, depth: usize) -> Result<Member, BenchError> {
    let address = Address::parse(&options.url)?;
    let binds = options
        .mix
        .has(|kind| matches!(kind, JobKind::Bind | JobKind::Auth));
    let others = options.mix.has(|kind| kind != JobKind::Bind);
    let open = |number: usize| -> Result<Stream, BenchError> {
        let url = &options.url;
        address
            .connect(number)
            .map_err(|error| BenchError::new(format!("connection {number} to {url}: {error}")))
    };
    let main = if others {
        let stream = open(number)?;
        if let Some((dn, password)) = &options.bind_as {
            stream.bind(dn, password)?;
        }
        Some(stream)
    } else {
        None
    };
    let binder = if binds {
        Some(open(number + options.connections)?)
    } else {
        None
    };
    Ok(Member::new(main, binder, depth))
}

/// The main thread during the run: gathers seconds and samples the server.
fn watch(
    options: &Options,
    run: &Run,
    messages: &Receiver<Message>,
    threads: usize,
    progress: &mut dyn FnMut(&Second),
) -> Result<Report, BenchError> {
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
            Err(RecvTimeoutError::Timeout) => server.tick(&mut gathering.cores),
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
    /// When to look next.
    next: Instant,
    /// The second that begins then.
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
            next: begin - options.warm_up + to_full,
            second: -whole,
            end: options.duration.map(|duration| begin + duration),
            begin,
            last: None,
            first_measured: None,
            last_measured: None,
        }
    }

    fn tick(&mut self, cores: &mut BTreeMap<i64, f64>) {
        let at_end = self.end.is_some_and(|end| self.next >= end);
        if let Some(sample) = self.pid.and_then(CpuSample::take) {
            let now = Instant::now();
            if let Some((then, before)) = &self.last {
                let elapsed = (now - *then).as_secs_f64().max(1e-9);
                cores.insert(
                    self.second - 1,
                    sample.ns_since(before) as f64 / 1e9 / elapsed,
                );
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

    /// The run has ended, perhaps before its time.
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
) -> Result<Report, BenchError> {
    let mut surprises = BTreeMap::<String, u64>::new();
    let (mut cpu_ns, mut lost, mut never_started, mut last_ns) = (0, 0, 0, 0);
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
    }
    let operations = gathering.totals.iter().map(|count| count.operations).sum();
    // A job that ran out of work ended with its last answer.
    let ended_early = last_ns < run.duration_ns.saturating_sub(1_000_000_000);
    let elapsed_ns = if ended_early {
        last_ns
    } else {
        run.duration_ns
    };
    let elapsed_s = elapsed_ns.max(1) as f64 / 1e9;
    let mut surprises: Vec<_> = surprises.into_iter().collect();
    surprises.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    Ok(Report {
        title: options.mix.to_string(),
        settings: settings(options),
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
    })
}

/// What a reader must know to repeat the run; never a password.
fn settings(options: &Options) -> Vec<(String, String)> {
    let mut out: Vec<(String, String)> = Vec::new();
    let mut add = |name: &str, value: String| out.push((name.to_owned(), value));
    add("url", options.url.clone());
    add("job", options.mix.to_string());
    add("connections", options.connections.to_string());
    add("in flight", depth(options).to_string());
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
    if options
        .mix
        .has(|kind| matches!(kind, JobKind::Compare | JobKind::Modify))
    {
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
