//! `pando import`: entries from files or a template into a node that is not running.

use crate::cli::{self, Import};
use crate::cluster::NextGeneration;
use crate::estimate;
use crate::generate::{Reading, generator, interrupted};
use crate::node_folder::{data_folder, data_folder_alone};
use crate::progress::{Progress, Standing};
use crate::report::{Problem, note};
use crate::room;
use crate::secret;
use directory::Failure;
use load::template::{Entry, GenerateError, Generator};
use policy::password::Scheme;
use protocol::counted;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;
use transfer::Meter;
use transfer::import::{
    Content, EntrySink, Files, Format, ImportOptions, Imported, Piece, Source, can_resume,
    interrupted_rejects,
};

/// Name of the rejects file in the node's folder.
pub const REJECTS_FILE: &str = "pando-rejects.ldif";
/// Number of rejected entries named on standard error.
const REASONS_SHOWN: usize = 3;
/// Sorting takes one part in this many of the memory; the tables being written use most of the
/// rest.
const MEMORY_SHARE: u64 = 4;
/// Number of template entries that one thread makes at once.
const MADE_ENTRIES: u64 = 256;

/// Runs the import; exit status 1 if entries were rejected.
pub fn import(it: &Import) -> Result<(), Problem> {
    let data = data_of(it)?;
    let rejects = rejects_file(it, &data)?;
    let options = ImportOptions {
        check_schema: !it.no_schema_check,
        create_superiors: !it.no_create_superiors,
        create_contexts: it.create_suffix,
        file_urls: it.file_urls,
        hash_passwords: it.hash_passwords.then_some(Scheme::Argon2id),
        memory: it
            .memory
            .unwrap_or_else(|| server::memory_bytes() / MEMORY_SHARE) as usize,
        temporary: it.temporary.clone(),
        checkpoint: Some(it.checkpoint).filter(|it| !it.is_zero()),
        resume: it.resume,
        ..ImportOptions::new(rejects.clone())
    };
    let (source, total, size): (Box<dyn Source>, _, _) = match &it.template {
        Some(template) => {
            let reading = Reading {
                defines: &it.define,
                seed: it.seed,
                slamd_compat: it.slamd_compat,
                file_urls: it.file_urls,
            };
            let generator = generator(template, &reading)?;
            let total = generator.total_entries();
            let about = about(it, template)?;
            let size = estimate::of_template(&generator);
            let made = Made::new(template, generator, about);
            (Box::new(made), Some(total), size)
        }
        None => {
            let files = Files::new(it.files.clone(), format(it.format)).at_once(it.at_once.get());
            let size = estimate::of_files(&it.files);
            (Box::new(files), bytes_of(&it.files), size)
        }
    };
    let options = ImportOptions {
        input_bytes: size,
        ..options
    };
    // Files of an interrupted import already have their room.
    if let Some(size) = size.filter(|_| !it.resume) {
        estimate::require_room(&data, size)?;
    }
    let next = next_generation(it)?;
    let options = ImportOptions {
        begins: next.as_ref().map(|it| it.mark),
        ..options
    };
    let started = Instant::now();
    let imported = run(&data, source, &options, total, it.template.is_some());
    if let (Err(_), Some(next)) = (&imported, &next) {
        next.tell_failed(&it.dir);
    }
    let reported = report(&it.dir, &imported?, &rejects, started);
    if let Some(next) = &next {
        next.tell_imported(&it.dir);
    }
    reported
}

/// The data folder, for options that go together.
fn data_of(it: &Import) -> Result<PathBuf, Problem> {
    let data = match it.new_generation {
        true => data_folder(&it.dir)?,
        false => data_folder_alone(&it.dir)?,
    };
    // The parser cannot check this, because files and a template exclude each other.
    if !it.define.is_empty() && it.template.is_none() {
        return Err(Problem::usage(
            "--define sets a define of a template: give --template, or leave it out",
        ));
    }
    if it.resume && !can_resume(&data) {
        return Err(Problem::usage(format_args!(
            "--resume: {} has no interrupted import; leave the option out",
            it.dir.display()
        )));
    }
    Ok(data)
}

/// Prepares the generation that the import begins; `None` if it begins none.
fn next_generation(it: &Import) -> Result<Option<NextGeneration>, Problem> {
    if !it.new_generation {
        return Ok(None);
    }
    // Before the nodes of a cluster stop taking writes for it.
    let files = it.files.iter().filter(|it| it.as_os_str() != "-");
    for file in files {
        std::fs::metadata(file).map_err(|error| Problem::file(file, error))?;
    }
    NextGeneration::prepare(&it.dir).map(Some)
}

/// Path of a new file for rejected entries. The rejected entries of an earlier import may still be
/// needed.
fn rejects_file(it: &Import, data: &Path) -> Result<PathBuf, Problem> {
    let resumed = it.resume.then(|| interrupted_rejects(data)).flatten();
    match (&it.rejects, resumed) {
        (Some(wanted), resumed) => {
            if resumed.as_ref() != Some(wanted) {
                refuse_used(wanted)?;
            }
            Ok(wanted.clone())
        }
        (None, Some(resumed)) => Ok(resumed),
        (None, None) => Ok(unused_rejects(&it.dir)),
    }
}

/// Refuses to overwrite a file with rejected entries, which may still be needed.
pub fn refuse_used(rejects: &Path) -> Result<(), Problem> {
    if !rejects.is_file() {
        return Ok(());
    }
    Err(Problem::usage(format_args!(
        "--rejects {}: expected a new file, got one that is there",
        rejects.display()
    )))
}

/// The first of `pando-rejects.ldif`, `pando-rejects-2.ldif` … that does not exist in a folder.
pub fn unused_rejects(dir: &Path) -> PathBuf {
    let mut path = dir.join(REJECTS_FILE);
    let mut number = 1;
    while path.symlink_metadata().is_ok() {
        number += 1;
        path = dir.join(format!("pando-rejects-{number}.ldif"));
    }
    path
}

/// Runs the import, showing progress and handling interrupts.
pub fn run(
    data: &Path,
    source: Box<dyn Source>,
    options: &ImportOptions,
    total: Option<u64>,
    counts_entries: bool,
) -> Result<Imported, Problem> {
    let meter = Arc::new(Meter::default());
    let interrupts = {
        let meter = Arc::clone(&meter);
        interrupted(move || meter.cancel())?
    };
    let progress = {
        let meter = Arc::clone(&meter);
        let look = move || Standing {
            entries: meter.entries() + meter.kept_entries(),
            bytes: meter.bytes(),
            done: if counts_entries {
                meter.entries()
            } else {
                meter.bytes()
            },
            total,
            finishing: meter.finishing(),
        };
        Progress::show("sorting and writing indexes", Arc::new(look))
    };
    let room = room::free(data);
    let imported = transfer::import::import(data, source, options, &meter);
    drop(progress);
    drop(interrupts);
    if imported.is_err() && can_resume(data) {
        note(
            "pando: the import can go on from its last checkpoint, with the same command and \
             --resume; starting the server or another import gives it up",
        );
    }
    imported.map_err(|failure| match failure {
        Failure::Store(store::Error::Locked { .. }) => Problem::failed(format_args!(
            "{failure}; stop the server first, or add entries over LDAP"
        )),
        failure if failure.is_full() => {
            let done = match counts_entries {
                true => meter.entries(),
                false => meter.bytes(),
            };
            let is_sorted = meter.finishing() || options.temporary.is_some();
            let more = total.filter(|_| !is_sorted);
            no_space(data, more.and_then(|total| needed(room.ok()?, done, total)))
        }
        failure => Problem::failed(failure),
    })
}

/// Estimated number of additional bytes needed, if `done` of `total` input bytes used up `free`
/// bytes; `None` if unknown.
fn needed(free: u64, done: u64, total: u64) -> Option<u64> {
    let left = u128::from(total.checked_sub(done)?);
    let needed = u128::from(free) * left / u128::from(std::num::NonZero::new(done)?.get());
    u64::try_from(needed).ok()
}

fn no_space(data: &Path, needed: Option<u64>) -> Problem {
    let needed = match needed {
        Some(bytes) => format!("about {} more are needed", indicatif::HumanBytes(bytes)),
        None => "more is needed".to_owned(),
    };
    let way_out = match can_resume(data) {
        true => "make room and go on with --resume",
        false => "make room, or sort elsewhere with --temporary, and import again",
    };
    Problem::failed(format_args!(
        "no space left on {}, {needed}; {way_out}; the database is unchanged",
        data.display()
    ))
}

/// Description of a template import: an equal one makes equal entries. Template, defines and seed.
fn about(it: &Import, template: &Path) -> Result<String, Problem> {
    let text = std::fs::read_to_string(template).map_err(|error| Problem::file(template, error))?;
    let (define, seed, slamd) = (&it.define, it.seed, it.slamd_compat);
    Ok(format!(
        "template {}, {define:?}, seed {seed}, SLAMD's counters {slamd}\n{text}",
        template.display()
    ))
}

fn format(format: cli::Format) -> Format {
    match format {
        cli::Format::Detect => Format::Detect,
        cli::Format::Ldif => Format::Ldif,
        cli::Format::Ber => Format::Ber,
        cli::Format::BareBer => Format::BareBer,
    }
}

/// Total length of all files in bytes; `None` if one of them has no known length.
fn bytes_of(files: &[PathBuf]) -> Option<u64> {
    files
        .iter()
        .map(|path| {
            std::fs::metadata(path)
                .ok()
                .filter(|it| it.is_file())
                .map(|it| it.len())
        })
        .sum()
}

/// Prints the result of an import; a problem if entries were rejected.
pub fn report(
    dir: &Path,
    imported: &Imported,
    rejects: &Path,
    started: Instant,
) -> Result<(), Problem> {
    let seconds = started.elapsed().as_secs_f64();
    let mut line = format!(
        "{} imported in {seconds:.1} s ({} entries/s)",
        counted(imported.entries, "entry"),
        indicatif::HumanCount((imported.entries as f64 / seconds.max(0.001)) as u64)
    );
    if imported.created > 0 {
        line.push_str(&format!(", {} created above them", imported.created));
    }
    for context in &imported.contexts {
        line.push_str(&format!(", new naming context {context}"));
    }
    line.push_str(&format!(
        "; {}, {}, digest {}",
        counted(imported.total, "entry"),
        indicatif::HumanBytes(imported.bytes),
        imported.digest
    ));
    note(line);
    for broken in &imported.broken {
        note(format_args!("pando: {broken}"));
    }
    for missing in &imported.missing_contexts {
        note(format_args!("pando: {missing}"));
    }
    secret::warn(dir, &imported.look_alikes);
    if imported.rejected == 0 {
        return Ok(());
    }
    for reason in first_reasons(rejects) {
        note(format_args!("pando: rejected: {reason}"));
    }
    note(format_args!(
        "pando: {} rejected; {} has the reasons: correct it and import it",
        counted(imported.rejected, "entry"),
        rejects.display()
    ));
    Err(Problem::Reported)
}

/// Places and reasons of the first entries in a rejects file; empty if it cannot be read, which is
/// reported where the file is named.
fn first_reasons(rejects: &Path) -> Vec<String> {
    let Ok(file) = File::open(rejects) else {
        return Vec::new();
    };
    let lines = BufReader::new(file).lines().map_while(Result::ok);
    let reasons = lines.filter_map(|line| Some(line.strip_prefix("# ")?.to_owned()));
    reasons.take(REASONS_SHOWN).collect()
}

/// Entries of a template, made by the threads that import them.
pub struct Made {
    origin: Arc<str>,
    /// Description of the source; an equal one makes equal entries.
    about: String,
    generator: Generator,
    next: u64,
}

impl Made {
    /// All entries of a template.
    pub fn new(template: &Path, generator: Generator, about: String) -> Made {
        Made {
            about,
            origin: template.display().to_string().into(),
            generator,
            next: 0,
        }
    }
}

impl Source for Made {
    fn next(&mut self, _: &Meter) -> Result<Option<Piece>, Failure> {
        let (from, total) = (self.next, self.generator.total_entries());
        if from >= total {
            return Ok(None);
        }
        let to = (from + MADE_ENTRIES).min(total);
        self.next = to;
        let generator = self.generator.clone();
        let make = Box::new(move |sink: &mut dyn EntrySink| {
            let made = generator.generate_range(from, to, |entry| give(entry, sink));
            made.map_err(|Impossible(reason)| reason)
        });
        let content = Content::Made {
            make,
            first: from + 1,
        };
        Ok(Some(Piece {
            origin: Arc::clone(&self.origin),
            content,
        }))
    }

    fn repeatable(&self) -> Result<String, String> {
        Ok(self.about.clone())
    }
}

struct Impossible(String);

impl From<GenerateError> for Impossible {
    fn from(error: GenerateError) -> Impossible {
        Impossible(error.to_string())
    }
}

fn give(entry: &Entry<'_>, sink: &mut dyn EntrySink) -> Result<(), Impossible> {
    sink.begin(entry.dn());
    for attribute in entry.attributes() {
        let description = attribute.description();
        match attribute.slices() {
            Some(values) => values.for_each(|value| sink.value(description, value)),
            None => attribute.for_each(|value| sink.value(description, value)),
        }
    }
    sink.end().map_err(Impossible)
}
