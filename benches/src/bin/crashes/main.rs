//! `kill -9` at random during an import, an index build, a compaction, a backup, and while all
//! members of a group are replaced: nothing acknowledged is lost, nothing half-done is visible, and
//! `pando check` finds nothing.
//!
//! Every work is done once without being killed, to know how long it takes. Then its length is cut
//! into as many parts as there are rounds, and in each round the process that does it is killed at
//! a random moment of its part. While the server works a client writes, and what was acknowledged
//! to it must be there. The folder is made anew, and removed at the end.

use std::env::temp_dir;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

use clap::Parser;
use pando_benches::arguments::Tables;
use pando_benches::crash::{Moments, Node, Wrote};
use pando_benches::journal::Journal;
use pando_benches::process::beside;
use pando_benches::subject::Folder;
use pando_benches::table;

mod replace;
mod works;

/// Kills works of Pando at random moments.
#[derive(Parser)]
struct Arguments {
    /// Members of the group, and people.
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    members: u64,
    /// Kills of each work.
    #[arg(long, value_name = "N", default_value_t = 6)]
    rounds: u32,
    /// The only work to kill.
    #[arg(long, value_parser = WORKS.map(|(name, _)| name))]
    only: Option<String>,
    /// Seed of the moments; by default the time.
    #[arg(long, value_name = "N", default_value_t = now_ns())]
    seed: u64,
    /// Folder for databases.
    #[arg(long, value_name = "FOLDER", default_value_os_t = temp_dir().join("pando-crashes"))]
    folder: PathBuf,
    /// The program `pando`.
    #[arg(long, value_name = "FILE", default_value_os_t = beside("pando"))]
    pando: PathBuf,
    #[command(flatten)]
    tables: Tables,
}

/// The node and the progress that all works use.
struct Site {
    node: Node,
    moments: Moments,
    rounds: u32,
    /// The last number that the writing client has in the database.
    last: u64,
    /// Writes acknowledged so far, all of which were found.
    acknowledged: u64,
}

/// Result of one work.
#[derive(Default)]
struct Tally {
    whole: Duration,
    /// Kills that left the old state, a part that goes on, and the new state.
    old: u32,
    part: u32,
    new: u32,
}

type Work = fn(&mut Site) -> io::Result<Tally>;

const WORKS: [(&str, Work); 5] = [
    ("import", works::import),
    ("replace", replace::replace),
    ("backup", works::backup),
    ("index", works::index),
    ("compaction", works::compaction),
];

fn main() -> io::Result<()> {
    let arguments = Arguments::parse();
    if arguments.folder.exists() {
        fs::remove_dir_all(&arguments.folder)?;
    }
    fs::create_dir_all(&arguments.folder)?;
    let done = run(&arguments);
    match &done {
        Ok(()) => fs::remove_dir_all(&arguments.folder)?,
        // The node is left as it was, for whoever looks for the reason.
        Err(_) => eprintln!("left in {}", arguments.folder.display()),
    }
    done
}

fn run(arguments: &Arguments) -> io::Result<()> {
    let (members, rounds, seed) = (arguments.members, arguments.rounds, arguments.seed);
    let mut site = Site {
        node: Node {
            folder: Folder {
                path: fs::canonicalize(&arguments.folder)?,
                pando: arguments.pando.clone(),
            },
            people: members,
        },
        moments: Moments::new(seed, rounds),
        rounds,
        last: 0,
        acknowledged: 0,
    };
    let mut journal = Journal::default();
    journal.line(&format!(
        "# {rounds} crashes of each work, {members} members\n"
    ))?;
    journal.line(&table::facts("crashes", Some(&arguments.pando))?)?;
    journal.line(&format!("- seed: {seed}\n"))?;
    journal.line("| work | whole, s | killed | old state | goes on | new state | all took, s |")?;
    journal.line("|---|---|---|---|---|---|---|")?;
    site.node.write_people()?;
    for (name, work) in WORKS {
        // The others need what the import leaves.
        if name != "import" && arguments.only.as_ref().is_some_and(|only| only != name) {
            continue;
        }
        let begin = Instant::now();
        let rounds = match arguments.only.as_deref() {
            Some(only) if only != name => 0,
            _ => rounds,
        };
        site.rounds = rounds;
        let tally = work(&mut site)?;
        journal.line(&format!(
            "| {name} | {:.1} | {rounds} | {} | {} | {} | {:.0} |",
            tally.whole.as_secs_f64(),
            tally.old,
            tally.part,
            tally.new,
            begin.elapsed().as_secs_f64()
        ))?;
    }
    let acknowledged = site.acknowledged;
    journal.line(&format!(
        "\n{acknowledged} writes were acknowledged meanwhile, and all of them found. After each \
         kill `pando check` found no problem."
    ))?;
    arguments.tables.keep(&journal, "crashes")
}

impl Site {
    /// The moment of a round.
    fn moment(&mut self, round: u32, whole: Duration) -> Duration {
        self.moments.of(round, whole)
    }

    /// After a crash: every table agrees, and what was acknowledged is there. Returns the entries.
    fn recover(&mut self, wrote: Wrote) -> io::Result<u64> {
        let entries = self.node.check()?;
        let server = self.node.serve()?;
        let last = wrote.verify(&server)?;
        self.acknowledged += wrote.acknowledged - self.last;
        self.last = last;
        drop(server);
        Ok(entries)
    }
}

/// An error with what is wrong.
fn wrong<T>(text: String) -> io::Result<T> {
    Err(io::Error::other(text))
}

/// The time in nanoseconds of Unix time, modulo 2^64.
fn now_ns() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    now.map_or(1, |it| it.as_nanos() as u64)
}
