//! Many connections beside few, in one run: rate, p99, memory for each connection, and a burst of
//! new ones.
//!
//! Without `--connections` as many as the limit of open files allows, less 500 for what a server
//! opens besides. Every connection is bound and has searched once before memory is looked at. With
//! `--record` or `--output` the table is kept.

use std::env::temp_dir;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;
use load::bench::{JobKind, Mix, Options, Report, burst, run};
use pando_benches::arguments::Tables;
use pando_benches::journal::Journal;
use pando_benches::process::{Server, beside, raise_open_files};
use pando_benches::row::{Data, Extent};
use pando_benches::subject::{Folder, PASSWORD, Subject};
use pando_benches::table::{self, Sum};

/// Files that a server opens beside connections, rounded up generously.
const OTHER_FILES: u64 = 500;
/// New connections at once.
const BURST: usize = 10_000;
const MB: f64 = 1e6;

/// Measures many connections beside few.
#[derive(Parser)]
struct Arguments {
    /// Connections; by default the limit of open files less 500.
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    connections: usize,
    /// Connections of the other measurement.
    #[arg(long, value_name = "N", default_value_t = 200)]
    few: usize,
    /// Users in the databases.
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    entries: u64,
    /// Seconds of each measurement.
    #[arg(long, value_name = "S", default_value_t = 5.0)]
    seconds: f64,
    /// Measurements of each server.
    #[arg(long, value_name = "N", default_value_t = 3)]
    rounds: usize,
    /// Serving threads of Pando.
    #[arg(long, value_name = "N", default_value_t = 2)]
    threads: usize,
    /// Folder for databases.
    #[arg(long, value_name = "FOLDER", default_value_os_t = temp_dir().join("pando-connections"))]
    folder: PathBuf,
    /// The program `pando`.
    #[arg(long, value_name = "FILE", default_value_os_t = beside("pando"))]
    pando: PathBuf,
    /// The only server to measure.
    #[arg(long, value_parser = ["pando", "slapd", "null"])]
    only: Option<String>,
    #[command(flatten)]
    tables: Tables,
}

fn main() -> io::Result<()> {
    let mut arguments = Arguments::parse();
    let most = raise_open_files(101_000)?
        .saturating_sub(OTHER_FILES)
        .max(1) as usize;
    if arguments.connections == 0 {
        arguments.connections = most;
    }
    let folder = Folder::made(&arguments.folder, &arguments.pando)?;
    let (few, many) = (arguments.few, arguments.connections);
    let mut journal = Journal::default();
    journal.line(&format!("# {many} connections beside {few}\n"))?;
    journal.line(&table::facts("connections", Some(&arguments.pando))?)?;
    folder.make_entries(arguments.extent())?;
    journal.line(&format!(
        "| server | ops/s, {few} | p99 ms | ops/s, {many} | p99 ms | rate, % \
         | CPU us, {few} | {many} \
         | MB, 1 | MB, {many} idle | MB, {many} busy | KB each, idle | busy \
         | {BURST} new ones: each s |"
    ))?;
    journal.line("|---|---|---|---|---|---|---|---|---|---|---|---|---|---|")?;
    for subject in [Subject::Slapd, Subject::Pando, Subject::Null] {
        let name = subject.name().to_lowercase();
        if arguments.only.as_ref().is_some_and(|only| *only != name) {
            continue;
        }
        folder.prepare(subject)?;
        folder.import(subject)?;
        let server = folder.start(subject)?;
        let measured = measure(&arguments, &server)?;
        journal.line(&measured.line(subject, &arguments))?;
    }
    arguments.tables.keep(&journal, "connections")
}

impl Arguments {
    /// The size of the measurement.
    fn extent(&self) -> Extent {
        Extent {
            data: Data::Small,
            entries: self.entries,
            seconds: self.seconds,
        }
    }
}

/// Results of one server.
#[derive(Default)]
struct Measured {
    few: Sum,
    many: Sum,
    /// Memory that is no file, in bytes: with one connection, with all of them idle, and busy.
    alone: u64,
    idle: u64,
    busy: u64,
    burst: Duration,
}

fn measure(arguments: &Arguments, server: &Server) -> io::Result<Measured> {
    // Memory first: what load has grown is not given back. The burst before anything else that
    // ends, so that nobody is busy with seeing thousands off.
    let alone = idle_memory(arguments, server, 1)?;
    let connections = BURST.min(arguments.connections);
    let burst = burst(&server.url, connections).map_err(io::Error::other)?;
    let mut measured = Measured {
        alone,
        burst: burst.mul_f64(BURST as f64 / connections as f64),
        idle: idle_memory(arguments, server, arguments.connections)?,
        ..Measured::default()
    };
    for _ in 0..arguments.rounds {
        let few = searches(arguments, server, arguments.few)?;
        let many = searches(arguments, server, arguments.connections)?;
        measured.few.add(&few);
        measured.many.add(&many);
        let memory = many.server.map_or(0, |server| server.anonymous_bytes);
        measured.busy = measured.busy.max(memory);
    }
    Ok(measured)
}

/// Memory that is no file while so many connections are open, bound, and have searched once.
fn idle_memory(arguments: &Arguments, server: &Server, connections: usize) -> io::Result<u64> {
    let mut options = options(arguments, server, connections);
    options.duration = None;
    options.operations = Some(connections as u64);
    options.warm_up = Duration::ZERO;
    let report = checked(&options)?;
    Ok(report.server.map_or(0, |server| server.anonymous_bytes))
}

fn searches(arguments: &Arguments, server: &Server, connections: usize) -> io::Result<Report> {
    let mut options = options(arguments, server, connections);
    let seconds = arguments.seconds;
    options.duration = Some(Duration::from_secs_f64(seconds));
    options.warm_up = Duration::from_secs_f64((seconds / 5.0).min(2.0));
    checked(&options)
}

fn options(arguments: &Arguments, server: &Server, connections: usize) -> Options {
    let Extent { data, entries, .. } = arguments.extent();
    let mut options = Options::new(&server.url, Mix::only(JobKind::Search));
    options.search.base = data.base().to_owned();
    options.search.filter = format!("(uid=user.[1-{entries}])");
    options.bind_as = Some((format!("uid=user.1,{}", data.base()), PASSWORD.to_owned()));
    options.connections = connections;
    options.threads = arguments.threads;
    options.server_pid = Some(server.pid());
    options
}

/// A figure is worth nothing when answers were wrong or connections missing.
fn checked(options: &Options) -> io::Result<Report> {
    let report = run(options, &mut |_| {}).map_err(io::Error::other)?;
    if report.is_clean() && report.notes.is_empty() {
        return Ok(report);
    }
    Err(io::Error::other(report.text()))
}

impl Measured {
    fn line(&self, subject: Subject, arguments: &Arguments) -> String {
        let (few, many) = (&self.few, &self.many);
        let more = arguments.connections.saturating_sub(1).max(1) as f64;
        let each = |bytes: u64| bytes.saturating_sub(self.alone) as f64 / more / 1e3;
        format!(
            "| {} | {:.0} | {:.1} | {:.0} | {:.1} | {:.0} | {:.1} | {:.1} | {:.1} | {:.1} | {:.1} \
             | {:.2} | {:.2} | {:.0} |",
            subject.name(),
            few.rate(),
            few.p99_us() / 1e3,
            many.rate(),
            many.p99_us() / 1e3,
            100.0 * many.rate() / few.rate(),
            few.cpu(),
            many.cpu(),
            self.alone as f64 / MB,
            self.idle as f64 / MB,
            self.busy as f64 / MB,
            each(self.idle),
            each(self.busy),
            BURST as f64 / self.burst.as_secs_f64(),
        )
    }
}
