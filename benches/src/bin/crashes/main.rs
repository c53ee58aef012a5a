//! `kill -9` at random during an import, an index build, a compaction, a backup, and while all
//! members of a group are replaced: nothing acknowledged is lost, nothing half-done is visible, and
//! `pando check` finds nothing.
//!
//! ```text
//! crashes [--members 100000] [--rounds 6] [--only import|index|compaction|backup|replace]
//!         [--seed N] [--folder F] [--pando P] [--output FILE]
//! ```
//!
//! Every work is done once without being killed, to know how long it takes. Then its length is cut
//! into as many parts as there are rounds, and in each round the process that does it is killed at
//! a random moment of its part. While the server works a client writes, and what was acknowledged
//! to it must be there. The folder is made anew, and removed at the end.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use pando_benches::crash::{Moments, Node, Wrote};
use pando_benches::journal::Journal;
use pando_benches::process::beside;
use pando_benches::subject::Folder;
use pando_benches::table;

mod replace;
mod works;

/// Arguments of the command line.
struct Arguments {
    members: u64,
    rounds: u32,
    only: Option<String>,
    seed: u64,
    folder: PathBuf,
    pando: PathBuf,
    output: Option<PathBuf>,
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
    let arguments = Arguments::read()?;
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
    match &arguments.output {
        Some(place) => journal.record(Some(place), ""),
        None => Ok(()),
    }
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

impl Arguments {
    fn read() -> io::Result<Arguments> {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let mut arguments = Arguments {
            members: 100_000,
            rounds: 6,
            only: None,
            seed: now.map_or(1, |it| it.as_nanos() as u64),
            folder: std::env::temp_dir().join("pando-crashes"),
            pando: beside("pando").unwrap_or_default(),
            output: None,
        };
        let mut words = std::env::args().skip(1);
        while let Some(word) = words.next() {
            let value = words
                .next()
                .ok_or_else(|| usage(&format!("{word} needs a value")))?;
            let wrong = || usage(&format!("{word}: {value} is not what was expected"));
            match word.as_str() {
                "--members" => arguments.members = value.parse().map_err(|_| wrong())?,
                "--rounds" => arguments.rounds = value.parse().map_err(|_| wrong())?,
                "--seed" => arguments.seed = value.parse().map_err(|_| wrong())?,
                "--only" => {
                    let known = WORKS.iter().any(|(name, _)| *name == value);
                    arguments.only = Some(value.clone()).filter(|_| known);
                    arguments.only.as_ref().ok_or_else(wrong)?;
                }
                "--folder" => arguments.folder = PathBuf::from(value),
                "--pando" => arguments.pando = fs::canonicalize(Path::new(&value))?,
                "--output" => arguments.output = Some(PathBuf::from(value)),
                _ => return Err(usage(&format!("there is no {word}"))),
            }
        }
        Ok(arguments)
    }
}

fn usage(problem: &str) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidInput,
        format!("{problem}; see the top of crashes.rs"),
    )
}
