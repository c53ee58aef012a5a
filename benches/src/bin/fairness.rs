//! Effect of one client on the others: searches without an index beside short ones of somebody
//! else, and requests that ask for very much, each with the server's memory.
//!
//! The server has one serving thread unless `--serving` says otherwise, so that all clients share
//! it. Several programs are measured in turns. With `--record` or `--output` the tables are kept.

use std::env::temp_dir;
use std::fs;
use std::io;
use std::net::Shutdown;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use clap::Parser;
use pando_benches::arguments::Tables;
use pando_benches::client::Client;
use pando_benches::journal::Journal;
use pando_benches::process::{Server, beside};
use pando_benches::row::{Data, Extent};
use pando_benches::subject::{ADMINISTRATOR, Folder, PASSWORD, Subject};
use pando_benches::table;
use protocol::ber::Reader;
use protocol::control::{DereferenceRequest, DereferenceSpecification};
use protocol::{
    AddRequest, Authentication, BindRequest, Change, ChangeOperation, Filter, ModifyRequest,
    OwnedControl, PartialAttribute, Request, Scope, SearchRequest, oid, parse_filter,
    put_partial_attribute,
};

/// Nobody waits longer for an answer.
const PATIENCE: Duration = Duration::from_secs(20);
/// Between an answer and the next search of the bystander.
const PAUSE: Duration = Duration::from_millis(1);
/// Answers of the bystander before the others begin.
const ANSWERS_BEFORE: u64 = 500;
/// Members of the group that is asked for.
const MEMBERS: usize = 2_000;
/// How often something is named in one request: as often as a search may name attributes.
const NAMED: usize = 4_000;
/// How deep filters here are.
const DEPTH_MAX: u8 = 8;
/// Selects no attribute, without controls.
const NOTHING: (&[&str], &[OwnedControl]) = (&["1.1"], &[]);
/// A hash whose password nobody knows.
const SHA512_CRYPT: &str = "{CRYPT}$6$rounds=5000$saltsalt$x";

/// Measures the effect of one client on the others.
#[derive(Parser)]
struct Arguments {
    /// Name and file of a program to measure; by default `pando` beside this program. Repeatable.
    #[arg(long = "program", value_name = "NAME=FILE", value_parser = named)]
    programs: Vec<(String, PathBuf)>,
    /// Users in the databases.
    #[arg(long, value_name = "N", default_value_t = 50_000)]
    entries: u64,
    /// Seconds of each measurement.
    #[arg(long, value_name = "S", default_value_t = 5.0)]
    seconds: f64,
    /// Measurements of each program.
    #[arg(long, value_name = "N", default_value_t = 3)]
    rounds: usize,
    /// Numbers of searches without an index beside the short ones.
    #[arg(
        long,
        value_name = "N,N...",
        value_delimiter = ',',
        default_value = "10,30"
    )]
    greedy: Vec<usize>,
    /// Serving threads.
    #[arg(long, value_name = "N", default_value_t = 1)]
    serving: usize,
    /// Folder for databases.
    #[arg(long, value_name = "FOLDER", default_value_os_t = temp_dir().join("pando-fairness"))]
    folder: PathBuf,
    /// The only part to measure.
    #[arg(long, value_parser = ["fairness", "hostile"])]
    only: Option<String>,
    #[command(flatten)]
    tables: Tables,
}

fn main() -> io::Result<()> {
    let mut arguments = Arguments::parse();
    if arguments.programs.is_empty() {
        let program = fs::canonicalize(beside("pando"))?;
        arguments.programs = vec![("now".to_owned(), program)];
    }
    let mut journal = Journal::default();
    journal.line("# One client beside others\n")?;
    let program = arguments.programs.last().map(|it| it.1.as_path());
    journal.line(&table::facts("fairness", program)?)?;
    let nodes = arguments.nodes()?;
    let wants = |what: &str| arguments.only.as_deref().is_none_or(|it| it == what);
    if wants("fairness") {
        fairness(&arguments, &nodes, &mut journal)?;
    }
    if wants("hostile") {
        hostile(&arguments, &nodes, &mut journal)?;
    }
    arguments.tables.keep(&journal, "fairness")
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

    /// Fills a node with each program.
    fn nodes(&self) -> io::Result<Vec<Folder>> {
        let node = |(name, pando): &(String, PathBuf)| {
            let folder = Folder::made(&self.folder.join(name), pando)?;
            folder.make_entries(self.extent())?;
            folder.prepare(Subject::Pando)?;
            folder.import(Subject::Pando)?;
            let settings = format!("[threads]\nserving = {}\n", self.serving);
            fs::write(folder.database(Subject::Pando).join("pando.toml"), settings)?;
            Ok(folder)
        };
        self.programs.iter().map(node).collect()
    }
}

/// Parses the name and the file of a program.
fn named(text: &str) -> io::Result<(String, PathBuf)> {
    let (name, file) = text
        .split_once('=')
        .ok_or_else(|| io::Error::other("expected NAME=FILE"))?;
    Ok((name.to_owned(), fs::canonicalize(file)?))
}

fn user(number: u64) -> String {
    format!("uid=user.{number},{}", Data::Small.base())
}

/// How long each answer took.
#[derive(Default)]
struct Waits(Vec<Duration>);

impl Waits {
    fn quantile(&mut self, part: f64) -> Duration {
        self.0.sort_unstable();
        let at = (self.0.len() as f64 * part) as usize;
        let last = self.0.len().saturating_sub(1);
        self.0.get(at.min(last)).copied().unwrap_or_default()
    }

    fn text(&mut self, part: f64) -> String {
        let waited = self.quantile(part);
        match waited >= PATIENCE {
            true => format!("> {}", PATIENCE.as_millis()),
            false => format!("{:.2}", waited.as_secs_f64() * 1e3),
        }
    }
}

/// An operation that a bystander repeats.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Habit {
    /// Finds an entry by an index.
    Searches,
    /// Binds with a wrong password whose check is slow.
    Binds,
}

/// Asks until it is told to stop, or an answer does not come in time.
fn stand_by(
    url: &str,
    habit: Habit,
    (answers, stop): (&AtomicU64, &AtomicBool),
) -> io::Result<Waits> {
    let mut client = Client::bound_as(url, &user(2), PASSWORD)?;
    client.wait_at_most(PATIENCE)?;
    let mut waits = Waits::default();
    while !stop.load(Ordering::Relaxed) {
        let began = Instant::now();
        let number = waits.0.len() as u64 % 1_000 + 1;
        let answered = match habit {
            Habit::Searches => {
                let filter = format!("(uid=user.{number})");
                search(&mut client, "dc=com", &filter, NOTHING)
            }
            Habit::Binds => {
                let name = user(8);
                let wrong = Request::Bind(BindRequest {
                    version: 3,
                    name: &name,
                    authentication: Authentication::Simple(b"wrong"),
                });
                client.send(&wrong, &[])?;
                client.receive().map(drop)
            }
        };
        waits.0.push(began.elapsed());
        answers.fetch_add(1, Ordering::Relaxed);
        if answered.is_err() {
            break;
        }
        if habit == Habit::Searches {
            thread::park_timeout(PAUSE);
        }
    }
    Ok(waits)
}

/// Searches the subtree of `base`.
fn search(
    client: &mut Client,
    base: &str,
    filter: &str,
    (select, controls): (&[&str], &[OwnedControl]),
) -> io::Result<()> {
    let wrong = |error: &dyn std::fmt::Display| io::Error::other(error.to_string());
    let encoded = parse_filter(filter).map_err(|error| wrong(&error))?;
    let filter = Filter::decode(&mut Reader::new(&encoded), DEPTH_MAX);
    let request = Request::Search(SearchRequest {
        attributes: select.to_vec(),
        ..SearchRequest::new(
            base,
            Scope::WholeSubtree,
            filter.map_err(|error| wrong(&error))?,
        )
    });
    client.call(&request, controls).map(drop)
}

/// A bystander alone, and beside so many connections of one account whose searches no index helps.
fn fairness(arguments: &Arguments, nodes: &[Folder], journal: &mut Journal) -> io::Result<()> {
    journal.line(
        "## Searches without an index beside short ones\n\n\
         | program | connections | answers/s | p50 ms | p99 ms | longest ms | p99, times quiet \
         | scans/s |\n|---|---|---|---|---|---|---|---|",
    )?;
    for (node, (name, _)) in nodes.iter().zip(&arguments.programs) {
        let server = node.start(Subject::Pando)?;
        let mut all: Vec<(usize, Waits, u64)> = Vec::new();
        for _ in 0..arguments.rounds {
            for (at, greedy) in [0].iter().chain(&arguments.greedy).enumerate() {
                if all.len() <= at {
                    all.push((*greedy, Waits::default(), 0));
                }
                let (waits, scans) = beside_greedy(arguments, &server, *greedy)?;
                all[at].1.0.extend(waits.0);
                all[at].2 += scans;
            }
        }
        let quiet = all[0].1.quantile(0.99).as_secs_f64();
        let seconds = arguments.seconds * arguments.rounds as f64;
        for (greedy, mut waits, scans) in all {
            let (p50, p99, longest) = (waits.text(0.5), waits.text(0.99), waits.text(1.0));
            let times = waits.quantile(0.99).as_secs_f64() / quiet;
            let rate = waits.0.len() as f64 / seconds;
            let scans = scans as f64 / seconds;
            journal.line(&format!(
                "| {name} | {greedy} | {rate:.0} | {p50} | {p99} | {longest} | {times:.1} \
                 | {scans:.1} |"
            ))?;
        }
    }
    journal.line("")
}

/// One round: what the bystander waited, and how many scans were done.
fn beside_greedy(
    arguments: &Arguments,
    server: &Server,
    greedy: usize,
) -> io::Result<(Waits, u64)> {
    let (stop, scans, answers) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
    let name = user(1);
    thread::scope(|scope| {
        let crowd: Vec<_> = (0..greedy)
            .map(|_| scope.spawn(|| scan(&server.url, &name, &scans, &stop)))
            .collect();
        let bystander = scope.spawn(|| stand_by(&server.url, Habit::Searches, (&answers, &stop)));
        let end = Instant::now() + Duration::from_secs_f64(arguments.seconds);
        // The end of a thread wakes this one.
        while Instant::now() < end {
            thread::park_timeout(end.saturating_duration_since(Instant::now()));
        }
        stop.store(true, Ordering::Relaxed);
        for one in crowd {
            joined(one)?;
        }
        Ok((joined(bystander)?, scans.load(Ordering::Relaxed)))
    })
}

fn joined<T>(thread: thread::ScopedJoinHandle<'_, io::Result<T>>) -> io::Result<T> {
    let ended = thread.join();
    ended.map_err(|_| io::Error::other("a client panicked"))?
}

/// Searches without an index until it is told to stop. One that is refused is tried again.
fn scan(url: &str, name: &str, scans: &AtomicU64, stop: &AtomicBool) -> io::Result<()> {
    let mut client = Client::bound_as(url, name, PASSWORD)?;
    while !stop.load(Ordering::Relaxed) {
        if search(&mut client, "dc=com", "(carLicense=none)", NOTHING).is_ok() {
            scans.fetch_add(1, Ordering::Relaxed);
        }
    }
    Ok(())
}

/// A request that asks for very much.
struct Case {
    name: &'static str,
    /// Whom the bystander is like.
    habit: Habit,
    send: fn(&mut Client) -> io::Result<()>,
}

const CASES: [Case; 6] = [
    Case {
        name: "dereference of a group of 2,000, one attribute named 4,000 times",
        habit: Habit::Searches,
        send: dereferences,
    },
    Case {
        name: "4,000 ranges of a group of 2,000",
        habit: Habit::Searches,
        send: ranges,
    },
    Case {
        name: "1,000 substrings on every entry",
        habit: Habit::Searches,
        send: substrings,
    },
    Case {
        name: "`@person` named 4,000 times, every entry",
        habit: Habit::Searches,
        send: classes,
    },
    Case {
        name: "bind with a password of 200 KB, {CRYPT}$6$",
        habit: Habit::Binds,
        send: long_password,
    },
    Case {
        name: "4,000 options of userPassword on one's own entry",
        habit: Habit::Searches,
        send: options,
    },
];

fn hostile(arguments: &Arguments, nodes: &[Folder], journal: &mut Journal) -> io::Result<()> {
    journal.line(
        "## Requests that ask for very much\n\n\
         | request | program | answered after ms | memory more, MB | bystander, quiet p99 ms \
         | longest ms |\n|---|---|---|---|---|---|",
    )?;
    for node in nodes {
        let server = node.start(Subject::Pando)?;
        set_up(&server)?;
    }
    for case in &CASES {
        for (node, (name, _)) in nodes.iter().zip(&arguments.programs) {
            let line = one_case(node, case)?;
            journal.line(&format!("| {} | {name} {line}", case.name))?;
        }
    }
    Ok(())
}

/// Adds the group, and the account whose password is slow to check.
fn set_up(server: &Server) -> io::Result<()> {
    let mut admin = Client::bound_as(&server.url, ADMINISTRATOR, PASSWORD)?;
    let members: Vec<String> = (1..=MEMBERS).map(|it| user(it as u64)).collect();
    let members: Vec<&[u8]> = members.iter().map(String::as_bytes).collect();
    let attributes = [
        encoded("objectClass", &[b"groupOfNames"]),
        encoded("cn", &[b"crowd"]),
        encoded("member", &members),
    ];
    let attributes: io::Result<Vec<_>> = attributes.iter().map(|it| decoded(it)).collect();
    let add = AddRequest {
        entry: "cn=crowd,dc=com",
        attributes: attributes?,
    };
    admin.call(&Request::Add(add), &[])?;
    for number in [7, 8] {
        let slow = encoded("userPassword", &[SHA512_CRYPT.as_bytes()]);
        let name = user(number);
        admin.call(&modify(&name, ChangeOperation::Replace, &[slow])?, &[])?;
    }
    Ok(())
}

fn encoded(name: &str, values: &[&[u8]]) -> Vec<u8> {
    let mut out = Vec::new();
    put_partial_attribute(&mut out, name, values.iter().copied());
    out
}

fn decoded(attribute: &[u8]) -> io::Result<PartialAttribute<'_>> {
    let decoded = PartialAttribute::decode(&mut Reader::new(attribute));
    decoded.map_err(|error| io::Error::other(error.to_string()))
}

fn modify<'r>(
    entry: &'r str,
    operation: ChangeOperation,
    attributes: &'r [Vec<u8>],
) -> io::Result<Request<'r>> {
    let change = |it: &'r Vec<u8>| {
        let attribute = decoded(it)?;
        Ok(Change {
            operation,
            attribute,
        })
    };
    let changes: io::Result<Vec<_>> = attributes.iter().map(change).collect();
    Ok(Request::Modify(ModifyRequest {
        object: entry,
        changes: changes?,
    }))
}

/// The rest of a row: on a server just started, beside a bystander.
fn one_case(node: &Folder, case: &Case) -> io::Result<String> {
    let server = node.start(Subject::Pando)?;
    let (stop, answers) = (AtomicBool::new(false), AtomicU64::new(0));
    let enough = match case.habit {
        Habit::Searches => ANSWERS_BEFORE,
        Habit::Binds => ANSWERS_BEFORE / 25,
    };
    thread::scope(|scope| {
        let bystander = scope.spawn(|| stand_by(&server.url, case.habit, (&answers, &stop)));
        // Once through everything, so that memory for the file is there.
        let mut client = Client::bound_as(&server.url, &user(9), PASSWORD)?;
        search(&mut client, "dc=com", "(carLicense=none)", NOTHING)?;
        while answers.load(Ordering::Relaxed) < enough && !bystander.is_finished() {
            thread::park_timeout(Duration::from_millis(5));
        }
        let quiet = answers.load(Ordering::Relaxed) as usize;
        let memory = peak_memory_kib(&server)?;
        client.wait_at_most(PATIENCE)?;
        let began = Instant::now();
        // Refused, or not answered in time.
        let _ = (case.send)(&mut client);
        let took = began.elapsed();
        stop.store(true, Ordering::Relaxed);
        let more = peak_memory_kib(&server)?.saturating_sub(memory);
        let waits = joined(bystander)?.0;
        let (before, during) = waits.split_at(quiet.min(waits.len()));
        let (mut before, mut during) = (Waits(before.to_vec()), Waits(during.to_vec()));
        let took = Waits(vec![took]).text(1.0);
        let (quiet, longest) = (before.text(0.99), during.text(1.0));
        client.stream().shutdown(Shutdown::Both).ok();
        let megabytes = more as f64 * 1024.0 / 1e6;
        Ok(format!("| {took} | {megabytes:.0} | {quiet} | {longest} |"))
    })
    .and_then(|line| server.kill().map(|()| line))
}

/// The most memory that the server has had.
fn peak_memory_kib(server: &Server) -> io::Result<u64> {
    let status = fs::read_to_string(format!("/proc/{}/status", server.pid()))?;
    let line = status.lines().find_map(|it| it.strip_prefix("VmHWM:"));
    let number = line.and_then(|it| it.split_whitespace().next()?.parse().ok());
    number.ok_or_else(|| io::Error::other("expected VmHWM in the status of the process"))
}

fn dereferences(client: &mut Client) -> io::Result<()> {
    let request = DereferenceRequest {
        specifications: vec![DereferenceSpecification {
            attribute: "member",
            wanted: vec!["cn"; NAMED],
        }],
    };
    let control = OwnedControl::with_value(oid::DEREFERENCE, true, |out| request.encode(out));
    search(
        client,
        "cn=crowd,dc=com",
        "(objectClass=*)",
        (&["cn"], &[control]),
    )
}

fn ranges(client: &mut Client) -> io::Result<()> {
    let ranges: Vec<String> = (0..NAMED)
        .map(|it| format!("member;range=0-{}", MEMBERS + it))
        .collect();
    let ranges: Vec<&str> = ranges.iter().map(String::as_str).collect();
    search(client, "cn=crowd,dc=com", "(objectClass=*)", (&ranges, &[]))
}

fn substrings(client: &mut Client) -> io::Result<()> {
    let parts: String = (0..1_000)
        .map(|it| format!("(carLicense=*{it}nothing*)"))
        .collect();
    search(client, "dc=com", &format!("(|{parts})"), NOTHING)
}

fn classes(client: &mut Client) -> io::Result<()> {
    search(
        client,
        "dc=com",
        "(objectClass=*)",
        (&["@person"; NAMED], &[]),
    )
}

fn long_password(client: &mut Client) -> io::Result<()> {
    let (name, password) = (user(7), vec![b'x'; 200_000]);
    let bind = Request::Bind(BindRequest {
        version: 3,
        name: &name,
        authentication: Authentication::Simple(&password),
    });
    client.call(&bind, &[]).map(drop)
}

fn options(client: &mut Client) -> io::Result<()> {
    let values: Vec<Vec<u8>> = (0..NAMED)
        .map(|it| encoded(&format!("userPassword;x-{it}"), &[b"{SSHA}AAAA"]))
        .collect();
    let name = user(9);
    client
        .call(&modify(&name, ChangeOperation::Add, &values)?, &[])
        .map(drop)
}
