//! Imports of the entries of appendix C beside slapadd: from a template, from LDIF and from four
//! FIFOs of add requests that are written meanwhile.
//!
//! The folder is a new one and is removed at the end. Every database is removed before the next
//! one is made; the program refuses to begin when there is not enough room. A row counts until the
//! program ends; what then takes until everything is on the disk stands beside it, since
//! `slapadd -q` leaves that to the system. What is imported is read out again: all imports must
//! give the same entries. With `--record` or `--output` the table is kept.

use std::env::temp_dir;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use clap::Parser;
use pando_benches::arguments::Tables;
use pando_benches::journal::Journal;
use pando_benches::process::beside;
use pando_benches::subject::{Folder, Subject};
use pando_benches::table;
use pando_benches::timed::{Cost, Timed};
use protocol::ldif::{LdifChunks, split_records};

const TEMPLATE: &str = include_str!("../../../examples/oid-appendix-c.template");
const TEMPLATE_FILE: &str = "entries.template";
const FIFOS: [&str; 4] = ["1", "2", "3", "4"];
/// The suffix and the branch above the users.
const ABOVE: u64 = 2;
/// Bytes of an entry as LDIF, and in the larger of the databases, rounded up.
const LDIF_BYTES: u64 = 2_900;
const DATABASE_BYTES: u64 = 4_600;
/// Bytes needed beside the LDIF and the databases.
const OTHER_BYTES: u64 = 200_000_000;
/// Bytes of LDIF that are parsed at once.
const CHUNK_BYTES: usize = 1 << 20;
/// Goals: entries a second from the template, and times slapadd's rate from LDIF.
const TEMPLATE_RATE: f64 = 100_000.0;
const LDIF_RATIO: f64 = 4.0;

/// Measures imports beside slapadd.
#[derive(Parser)]
struct Arguments {
    /// Entries of each import.
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    entries: u64,
    /// Folder for databases, which must not exist; by default a temporary one.
    #[arg(long, value_name = "FOLDER", default_value_os_t = own_folder())]
    folder: PathBuf,
    /// The program `pando`.
    #[arg(long, value_name = "FILE", default_value_os_t = beside("pando"))]
    pando: PathBuf,
    /// Whether slapd is left out.
    #[arg(long)]
    without_slapd: bool,
    #[command(flatten)]
    tables: Tables,
}

fn main() -> io::Result<()> {
    let arguments = Arguments::parse();
    let mut bench = Bench::begin(&arguments)?;
    bench.head(&arguments)?;
    bench.make_ldif()?;
    if !arguments.without_slapd {
        bench.slapadd()?;
    }
    bench.import("LDIF", &["entries.ldif"])?;
    fs::remove_file(bench.folder.ldif())?;
    let define = bench.define();
    bench.import(
        "template",
        &["--template", TEMPLATE_FILE, "--define", &define],
    )?;
    bench.fifos()?;
    arguments.tables.keep(&bench.journal, "imports")
}

/// State of the measurement, and the lines about it.
struct Bench {
    journal: Journal,
    entries: u64,
    folder: Folder,
    /// The entries of the first import, without regard to their order.
    content: Option<Content>,
    /// Seconds of slapadd.
    slapadd: Option<f64>,
}

/// How many entries there are, and the sum of their hashes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Content {
    entries: u64,
    sum: u64,
}

impl Drop for Bench {
    fn drop(&mut self) {
        // It is the program's own folder; what cannot be removed is seen by whoever looks.
        let _ = fs::remove_dir_all(&self.folder.path);
    }
}

impl Bench {
    fn begin(arguments: &Arguments) -> io::Result<Bench> {
        let path = &arguments.folder;
        if path.exists() {
            let path = path.display();
            return Err(io::Error::other(format!("expected {path} not to exist")));
        }
        fs::create_dir_all(path)?;
        let bench = Bench {
            journal: Journal::default(),
            entries: arguments.entries,
            folder: Folder {
                path: fs::canonicalize(path)?,
                pando: arguments.pando.clone(),
            },
            content: None,
            slapadd: None,
        };
        bench.check_room()?;
        // The suffix is made too: slapadd wants it.
        let template = TEMPLATE.replacen("branch:", "branch: [suffix]\n\nbranch:", 1);
        fs::write(bench.folder.path.join(TEMPLATE_FILE), template)?;
        Ok(bench)
    }

    /// The LDIF and one database are there at the same time.
    fn check_room(&self) -> io::Result<()> {
        let needed = self.entries * (LDIF_BYTES + DATABASE_BYTES) + OTHER_BYTES;
        let found = rustix::fs::statvfs(&self.folder.path)?;
        let free = found.f_bavail * found.f_frsize;
        match free >= needed {
            true => Ok(()),
            false => Err(io::Error::other(format!(
                "expected {:.1} GB of room in {}, there are {:.1}",
                needed as f64 / 1e9,
                self.folder.path.display(),
                free as f64 / 1e9
            ))),
        }
    }

    fn head(&mut self, arguments: &Arguments) -> io::Result<()> {
        let title = format!("# Imports of {} entries of appendix C\n", self.entries);
        self.journal.line(&title)?;
        let facts = table::facts("imports", Some(&arguments.pando))?;
        self.journal.line(&facts)?;
        self.journal.line(
            "| what | s | s to sync | processor s | memory MB | entries/s | database MB \
             | times slapadd | must reach | reached |",
        )?;
        self.journal
            .line("|---|---|---|---|---|---|---|---|---|---|")
    }

    fn define(&self) -> String {
        format!("NumUsers={}", self.entries)
    }

    /// A command in the folder that runs.
    fn start(&self, name: &str, program: &Path, arguments: &[&str]) -> io::Result<Timed> {
        Timed::start(&self.folder.path, name, program, arguments, false)
    }

    fn make_ldif(&mut self) -> io::Result<()> {
        let define = self.define();
        let words = [
            "generate",
            TEMPLATE_FILE,
            "--define",
            &define,
            "-o",
            "entries.ldif",
        ];
        let cost = self.start("generate", &self.folder.pando, &words)?.end()?;
        self.row("(writing the LDIF)", cost, None, None)
    }

    fn slapadd(&mut self) -> io::Result<()> {
        self.folder.prepare(Subject::Slapd)?;
        self.settle()?;
        let settings = self.folder.slapd_configuration();
        let settings = settings.to_string_lossy();
        let words = ["-q", "-f", &settings, "-l", "entries.ldif"];
        let cost = self.start("slapadd", Path::new("/usr/sbin/slapadd"), &words)?;
        let cost = cost.end()?;
        self.slapadd = Some(cost.seconds);
        self.row("slapadd -q, LDIF", cost, Some(Subject::Slapd), None)?;
        let words = ["-f", &settings];
        let found = self.read_out("slapcat", Path::new("/usr/sbin/slapcat"), &words)?;
        self.expect_all(found)?;
        fs::remove_dir_all(self.folder.database(Subject::Slapd))
    }

    fn import(&mut self, from: &str, inputs: &[&str]) -> io::Result<()> {
        self.folder.prepare(Subject::Pando)?;
        self.settle()?;
        let cost = self.start_import(inputs)?.end()?;
        self.imported(from, cost)
    }

    fn start_import(&self, inputs: &[&str]) -> io::Result<Timed> {
        let node = self.folder.database(Subject::Pando);
        let node = node.to_string_lossy();
        let words = [&["import", &node], inputs].concat();
        self.start("import", &self.folder.pando, &words)
    }

    /// Measures an import from FIFOs. The program that writes the requests takes its part of the
    /// processors.
    fn fifos(&mut self) -> io::Result<()> {
        let made = Command::new("mkfifo")
            .args(FIFOS)
            .current_dir(&self.folder.path)
            .status()?;
        if !made.success() {
            return Err(io::Error::other(format!("mkfifo: {made}")));
        }
        self.folder.prepare(Subject::Pando)?;
        self.settle()?;
        let define = self.define();
        let mut words = vec!["generate", TEMPLATE_FILE, "--define", &define];
        words.extend(["--format", "ber"]);
        words.extend(FIFOS.iter().flat_map(|it| ["-o", *it]));
        let writer = self.start("generate", &self.folder.pando, &words)?;
        let cost = self.start_import(&FIFOS)?.end()?;
        let writing = writer.end()?;
        self.imported("4 FIFOs of add requests", cost)?;
        self.row("(writing into the FIFOs)", writing, None, None)
    }

    /// A row of an import of Pando's, and whether it holds what it should.
    fn imported(&mut self, from: &str, cost: Cost) -> io::Result<()> {
        let rate = self.entries as f64 / cost.seconds;
        let ratio = self.slapadd.map(|it| it / cost.seconds);
        let goal = match from {
            "template" => Some((format!("{TEMPLATE_RATE}/s"), rate >= TEMPLATE_RATE)),
            "LDIF" => ratio.map(|it| (format!("{LDIF_RATIO} x slapadd"), it >= LDIF_RATIO)),
            _ => None,
        };
        let name = format!("pando import, {from}");
        self.row(&name, cost, Some(Subject::Pando), goal)?;
        let node = self.folder.database(Subject::Pando);
        let words = ["export", &node.to_string_lossy(), "--no-operational"];
        let found = self.read_out("export", &self.folder.pando, &words)?;
        self.expect_all(found)?;
        let first = *self.content.get_or_insert(found);
        if first != found {
            return Err(io::Error::other(format!(
                "{name}: expected the entries of the first import, {first:?}, came {found:?}"
            )));
        }
        fs::remove_dir_all(node)
    }

    fn expect_all(&self, found: Content) -> io::Result<()> {
        let expected = self.entries + ABOVE;
        match found.entries == expected {
            true => Ok(()),
            false => Err(io::Error::other(format!(
                "expected {expected} entries, came {}",
                found.entries
            ))),
        }
    }

    /// The entries that a command writes as LDIF.
    fn read_out(&self, name: &str, program: &Path, arguments: &[&str]) -> io::Result<Content> {
        let mut timed = Timed::start(&self.folder.path, name, program, arguments, true)?;
        let mut chunks = LdifChunks::new(timed.output()?, CHUNK_BYTES);
        let mut content = Content::default();
        while let Some(chunk) = chunks.next_chunk().map_err(io::Error::other)? {
            for record in split_records(&chunk.text, chunk.first_line) {
                let mut hasher = DefaultHasher::new();
                hasher.write(record.text);
                content.entries += 1;
                content.sum = content.sum.wrapping_add(hasher.finish());
            }
        }
        timed.end()?;
        Ok(content)
    }

    /// Everything is on the disk, and as much of the LDIF in memory as there is room for.
    fn settle(&self) -> io::Result<()> {
        self.sync()?;
        match File::open(self.folder.ldif()) {
            Ok(mut file) => io::copy(&mut file, &mut io::sink()).map(|_| ()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn sync(&self) -> io::Result<()> {
        Ok(rustix::fs::syncfs(File::open(&self.folder.path)?)?)
    }

    fn row(
        &mut self,
        name: &str,
        cost: Cost,
        database: Option<Subject>,
        goal: Option<(String, bool)>,
    ) -> io::Result<()> {
        let begin = Instant::now();
        self.sync()?;
        let sync = begin.elapsed().as_secs_f64();
        let size = match database {
            Some(subject) => format!("{:.0}", self.folder.size(subject)? as f64 / 1e6),
            None => String::new(),
        };
        let ratio = self.slapadd.filter(|_| database.is_some());
        let ratio = ratio.map_or(String::new(), |it| format!("{:.2}", it / cost.seconds));
        let (goal, reached) = match goal {
            Some((goal, true)) => (goal, "yes"),
            Some((goal, false)) => (goal, "no"),
            None => (String::new(), ""),
        };
        self.journal.line(&format!(
            "| {name} | {:.1} | {sync:.1} | {:.1} | {:.0} | {:.0} | {size} | {ratio} | {goal} \
             | {reached} |",
            cost.seconds,
            cost.processor_seconds,
            cost.memory_mb,
            self.entries as f64 / cost.seconds,
        ))
    }
}

/// A folder that no other run of this program uses.
fn own_folder() -> PathBuf {
    temp_dir().join(format!("pando-imports-{}", std::process::id()))
}
