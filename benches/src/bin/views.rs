//! Virtual list views and sorted pages: processor time of the first one and of each further one,
//! without an ordering index and with one.
//!
//! Accounts of `examples/accounts.template`, or of another template with its defines and branch,
//! sorted by `sn`. A million take 1.1 GB. A node that an interrupted run has left in the folder is
//! used again; the folder is removed at the end. The administrator may sort any number of entries
//! there: a million is the most otherwise.

use std::env::temp_dir;
use std::fs;
use std::io::{self};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use clap::Parser;
use load::bench::cpu_ns;
use pando_benches::arguments::Tables;
use pando_benches::client::{Client, decoded};
use pando_benches::journal::Journal;
use pando_benches::process::{Server, beside};
use pando_benches::subject::{Folder, Subject};
use protocol::control::{
    PagedResults, SortKey, SortRequest, ViewTarget, VirtualListViewRequest, VirtualListViewResponse,
};
use protocol::{Filter, OwnedControl, Request, Scope, SearchRequest, oid};

const ACCOUNTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/accounts.template");
const BASE: &str = "cn=users,dc=com";
/// Entries in a window, and in a page.
const WINDOW: u32 = 20;
const PAGE: u32 = 100;
/// How long an index may take until it is complete.
const BUILD_TIME_MAX: Duration = Duration::from_secs(1800);
/// Starts of names that views go to by value.
const NAMES: [&str; 8] = ["a", "br", "d", "Har", "k", "Mo", "sm", "w"];

/// Measures windows on sorted lists and sorted pages.
#[derive(Parser)]
struct Arguments {
    /// Accounts.
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    entries: u64,
    /// Windows and pages in each measurement.
    #[arg(long, value_name = "N", default_value_t = 1000)]
    windows: u32,
    /// Folder for databases.
    #[arg(long, value_name = "FOLDER", default_value_os_t = temp_dir().join("pando-views"))]
    folder: PathBuf,
    /// The program `pando`.
    #[arg(long, value_name = "FILE", default_value_os_t = beside("pando"))]
    pando: PathBuf,
    /// Template of the accounts.
    #[arg(long, value_name = "FILE", default_value = ACCOUNTS)]
    template: PathBuf,
    #[command(flatten)]
    tables: Tables,
}

fn main() -> io::Result<()> {
    let arguments = Arguments::parse();
    let folder = Folder::made(&arguments.folder, &arguments.pando)?;
    let mut journal = Journal::default();
    journal.line(
        "| accounts | ordering index | what | number | server's CPU, ms each | elapsed, ms each |",
    )?;
    journal.line("|---|---|---|---|---|---|")?;
    if !folder.database(Subject::Pando).exists() {
        load(&folder, &arguments)?;
    }
    for index in ["none", "sn"] {
        if index == "sn" {
            run(&arguments, &["index", "add", "NODE", "sn", "ordering"])?;
        }
        folder.warm(Subject::Pando)?;
        let server = folder.start(Subject::Pando)?;
        wait_for_indexes(&arguments)?;
        let measured = measure(&server, arguments.windows)?;
        for row in measured {
            let Row {
                what,
                count,
                cpu_ns,
                elapsed_ns,
            } = row;
            let each = |ns: u64| ns as f64 / 1e6 / f64::from(count);
            let line = format!(
                "| {} | {index} | {what} | {count} | {:.3} | {:.3} |",
                arguments.entries,
                each(cpu_ns),
                each(elapsed_ns)
            );
            journal.line(&line)?;
        }
    }
    arguments.tables.keep(&journal, "views")?;
    fs::remove_dir_all(&arguments.folder)
}

/// Imports the accounts.
fn load(folder: &Folder, arguments: &Arguments) -> io::Result<()> {
    folder.prepare(Subject::Pando)?;
    let settings = folder.database(Subject::Pando).join("pando.toml");
    let text = fs::read_to_string(&settings)?;
    let unlimited = text.replace("#sort_entries_max = 1000000", "sort_entries_max = 0");
    fs::write(&settings, unlimited)?;
    let accounts = format!("Accounts={}", arguments.entries);
    let template = arguments.template.to_string_lossy();
    run(
        arguments,
        &[
            "import",
            "NODE",
            "--template",
            &template,
            "--define",
            "suffix=dc=com",
            "--define",
            &accounts,
        ],
    )
}

/// Waits until no index is being built: a list is shared while the database is as it was.
fn wait_for_indexes(arguments: &Arguments) -> io::Result<()> {
    let begin = Instant::now();
    loop {
        let mut command = command(arguments, &["index", "status", "NODE"]);
        let status = command.stderr(Stdio::inherit()).output()?;
        let text = String::from_utf8_lossy(&status.stdout);
        let is_ready = |line: &str| line.trim_end().ends_with("ready");
        if status.status.success() && text.lines().skip(1).all(is_ready) {
            return Ok(());
        }
        if begin.elapsed() > BUILD_TIME_MAX {
            return Err(io::Error::other(format!("no end of building:\n{text}")));
        }
        // Nothing tells from outside when an index is complete.
        thread::park_timeout(Duration::from_millis(200));
    }
}

/// Runs a subcommand of the program, with the node in the place of `NODE`.
fn run(arguments: &Arguments, words: &[&str]) -> io::Result<()> {
    let mut command = command(arguments, words);
    let status = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()?;
    match status.success() {
        true => Ok(()),
        false => Err(io::Error::other(format!("{command:?}: {status}"))),
    }
}

fn command(arguments: &Arguments, words: &[&str]) -> Command {
    let folder = Folder {
        path: arguments.folder.clone(),
        pando: arguments.pando.clone(),
    };
    let node = folder.database(Subject::Pando);
    let mut command = Command::new(&arguments.pando);
    for word in words {
        match *word {
            "NODE" => command.arg(&node),
            word => command.arg(word),
        };
    }
    command
}

/// One kind of request.
struct Row {
    what: &'static str,
    count: u32,
    cpu_ns: u64,
    elapsed_ns: u64,
}

/// The target of a view.
#[derive(Clone, Copy)]
enum Place {
    Offset(u32),
    Value(&'static str),
}

/// A client that scrolls.
struct Console<'s> {
    server: &'s Server,
    client: Client,
    /// The list's id and length, as the server said last.
    context: Vec<u8>,
    length: u32,
    /// Where the next page begins.
    cookie: Vec<u8>,
    /// Whether the greatest name comes first.
    reverse: bool,
    /// Entries with this attribute are searched for.
    present: &'static str,
    rows: Vec<Row>,
}

fn measure(server: &Server, windows: u32) -> io::Result<Vec<Row>> {
    let mut console = Console {
        server,
        client: Client::bound(&server.url)?,
        context: Vec::new(),
        length: 0,
        cookie: Vec::new(),
        reverse: false,
        present: "objectClass",
        rows: Vec::new(),
    };
    console.timed("first view", 1, |it, _| it.view(Place::Offset(1), false))?;
    // Any offset: multiples of a large prime, so that neighbours are far apart.
    let offset = |at: u32, length: u32| {
        let place = u64::from(at + 1) * 2_147_483_647 % u64::from(length.max(1));
        Place::Offset(place as u32 + 1)
    };
    console.timed("window at an offset", windows, |it, at| {
        it.view(offset(at, it.length), true)
    })?;
    console.timed("window by value", windows, |it, at| {
        it.view(Place::Value(NAMES[at as usize % NAMES.len()]), true)
    })?;
    console.timed("window at an offset, no context id", windows, |it, at| {
        it.view(offset(at, it.length), false)
    })?;
    // Another filter, or the page would be one of the list of the views.
    console.present = "uid";
    console.timed("first page", 1, |it, _| it.page())?;
    console.timed("further page", windows, |it, _| it.page())?;
    (console.cookie, console.reverse) = (Vec::new(), true);
    console.timed("first page, greatest first", 1, |it, _| it.page())?;
    Ok(console.rows)
}

impl Console<'_> {
    /// Does something so many times, and notes the processor time of the server.
    fn timed(
        &mut self,
        what: &'static str,
        count: u32,
        mut act: impl FnMut(&mut Self, u32) -> io::Result<()>,
    ) -> io::Result<()> {
        let cpu = || cpu_ns(self.server.pid()).ok_or_else(|| io::Error::other("no server"));
        let (before, begin) = (cpu()?, Instant::now());
        for at in 0..count {
            act(self, at)?;
        }
        let after = cpu_ns(self.server.pid()).ok_or_else(|| io::Error::other("no server"))?;
        self.rows.push(Row {
            what,
            count,
            cpu_ns: after.saturating_sub(before),
            elapsed_ns: begin.elapsed().as_nanos() as u64,
        });
        Ok(())
    }

    /// A window, which is checked for its size and its place.
    fn view(&mut self, place: Place, with_context: bool) -> io::Result<()> {
        let context = self.context.clone();
        let target = match place {
            Place::Offset(offset) => ViewTarget::ByOffset {
                offset,
                content_count: self.length,
            },
            Place::Value(value) => ViewTarget::GreaterThanOrEqual(value.as_bytes()),
        };
        let view = VirtualListViewRequest {
            before_count: 0,
            after_count: WINDOW - 1,
            target,
            context_id: with_context.then_some(context.as_slice()),
        };
        let mut value = Vec::new();
        view.encode(&mut value);
        let controls = [
            self.sorting(),
            control(oid::VIRTUAL_LIST_VIEW_REQUEST, value),
        ];
        let answers = self.client.call(&search(self.present), &controls)?;
        let response = value_of(&answers, oid::VIRTUAL_LIST_VIEW_RESPONSE)?;
        let seen = VirtualListViewResponse::decode(&response).map_err(unreadable)?;
        self.length = seen.content_count;
        self.context = seen.context_id.unwrap_or_default().to_vec();
        let left = (seen.content_count + 1).saturating_sub(seen.target_position);
        let got = answers.len() - 1;
        if got != left.min(WINDOW) as usize {
            return Err(io::Error::other(format!("{got} entries, {left} are left")));
        }
        Ok(())
    }

    fn sorting(&self) -> OwnedControl {
        let mut value = Vec::new();
        let keys = vec![SortKey {
            attribute: "sn",
            ordering_rule: None,
            reverse: self.reverse,
        }];
        SortRequest { keys }.encode(&mut value);
        control(oid::SORT_REQUEST, value)
    }

    fn page(&mut self) -> io::Result<()> {
        let mut value = Vec::new();
        let page = PagedResults {
            size: PAGE,
            cookie: &self.cookie,
        };
        page.encode(&mut value);
        let controls = [self.sorting(), control(oid::PAGED_RESULTS, value)];
        let answers = self.client.call(&search(self.present), &controls)?;
        let response = value_of(&answers, oid::PAGED_RESULTS)?;
        let page = PagedResults::decode(&response).map_err(unreadable)?;
        self.cookie = page.cookie.to_vec();
        match answers.len() - 1 {
            count if count == PAGE as usize => Ok(()),
            count => Err(io::Error::other(format!("{count} entries in a page"))),
        }
    }
}

fn search(present: &'static str) -> Request<'static> {
    Request::Search(SearchRequest {
        attributes: vec!["uid", "sn", "cn"],
        ..SearchRequest::new(BASE, Scope::SingleLevel, Filter::Present(present))
    })
}

fn control(oid: &'static str, value: Vec<u8>) -> OwnedControl {
    OwnedControl {
        oid: oid.into(),
        critical: true,
        value: Some(value),
    }
}

/// The value of a control of the last answer.
fn value_of(answers: &[Vec<u8>], wanted: &str) -> io::Result<Vec<u8>> {
    let last = answers
        .last()
        .ok_or_else(|| io::Error::other("no answer"))?;
    let message = decoded(last)?;
    let mut controls = message.controls.iter();
    let found = controls.find(|it| it.oid == wanted);
    let value = found.and_then(|it| it.value.map(<[u8]>::to_vec));
    value.ok_or_else(|| io::Error::other(format!("no response control {wanted}")))
}

fn unreadable(error: protocol::DecodeError) -> io::Error {
    io::Error::other(error.to_string())
}
