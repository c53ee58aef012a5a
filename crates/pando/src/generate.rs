//! `pando generate`: the entries that a template describes, as LDIF, BER or lists.

use crate::cli::{self, Generate, GenerateFormat};
use crate::progress::{Progress, Standing};
use crate::report::{Problem, note};
use load::output::{FilterKind, Format, Outputs, write_range};
use load::template::{Defines, Generator, ParseOptions, Template};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use store::private;

/// Column at which generated LDIF is folded: never, because it is mostly read by programs.
const FOLD_COLUMNS: usize = 0;

/// Writes the entries.
pub fn generate(it: &Generate) -> Result<(), Problem> {
    let reading = Reading {
        defines: &it.define,
        seed: it.seed,
        slamd_compat: it.slamd_compat,
        file_urls: it.file_urls,
    };
    let generator = generator(&it.template, &reading)?;
    let to = it.to.unwrap_or(u64::MAX).min(generator.total_entries());
    let count = to.saturating_sub(it.from);
    let job = Job {
        attribute: list_attribute(it, &generator)?,
        filter_kind: filter_kind(it)?,
        generator,
        format: it.format,
        done: AtomicU64::new(0),
    };
    let job = Arc::new(job);
    let progress = {
        let job = Arc::clone(&job);
        let look = move || {
            let entries = job.done.load(Ordering::Relaxed);
            Standing {
                entries,
                done: entries,
                total: Some(count),
                ..Standing::default()
            }
        };
        Progress::show("", Arc::new(look))
    };
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let done = match it.output.as_slice() {
        [] => {
            let written = job.write(it.from, to, processors, &mut std::io::stdout().lock());
            written.map_err(Problem::from)
        }
        paths => {
            let parts = paths.len() as u64;
            let end = |part: u64| {
                it.from + (u128::from(count) * u128::from(part) / u128::from(parts)) as u64
            };
            let threads = processors.div_ceil(paths.len());
            std::thread::scope(|scope| {
                let writers: Vec<_> = (0_u64..)
                    .zip(paths)
                    .map(|(part, path)| {
                        let (job, from, to) = (&job, end(part), end(part + 1));
                        scope.spawn(move || job.write_file(from, to, threads, path))
                    })
                    .collect();
                let written = writers.into_iter().map(|it| match it.join() {
                    Ok(written) => written,
                    Err(panic) => std::panic::resume_unwind(panic),
                });
                // Waits for all threads and reports the first problem.
                written.collect::<Vec<_>>().into_iter().collect()
            })
        }
    };
    drop(progress);
    done
}

/// Kind of the output.
struct Job {
    generator: Generator,
    /// Attribute whose values are listed.
    attribute: String,
    filter_kind: FilterKind,
    format: GenerateFormat,
    /// Number of entries written.
    done: AtomicU64,
}

impl Job {
    fn write_file(&self, from: u64, to: u64, threads: usize, path: &Path) -> Result<(), Problem> {
        let written = private::create(path).and_then(|file| {
            let mut output = BufWriter::with_capacity(1 << 16, file);
            self.write(from, to, threads, &mut output)
        });
        written.map_err(|error| Problem::file(path, error))
    }

    fn write(
        &self,
        from: u64,
        to: u64,
        threads: usize,
        writer: &mut dyn Write,
    ) -> std::io::Result<()> {
        let mut outputs = Outputs::default();
        let format = match self.format {
            GenerateFormat::Ldif => Some(Format::Ldif {
                fold_columns: FOLD_COLUMNS,
            }),
            GenerateFormat::Ber => Some(Format::BerMessages),
            GenerateFormat::BareBer => Some(Format::BerRequests),
            _ => None,
        };
        match self.format {
            GenerateFormat::Dns => outputs.names = Some(writer),
            GenerateFormat::Binds => outputs.binds = Some(writer),
            GenerateFormat::Logins => outputs.logins = Some((self.attribute.clone(), writer)),
            GenerateFormat::Filters => {
                outputs.filters = Some((self.attribute.clone(), self.filter_kind, writer));
            }
            _ => outputs.entries = format.map(|format| (format, writer)),
        }
        let mut before = 0;
        let mut count = |written| {
            self.done.fetch_add(written - before, Ordering::Relaxed);
            before = written;
        };
        write_range(&self.generator, from, to, threads, outputs, &mut count)
    }
}

/// Options for reading a template.
#[derive(Debug, Clone, Copy)]
pub struct Reading<'a> {
    /// Definitions `NAME=VALUE`.
    pub defines: &'a [String],
    pub seed: u64,
    pub slamd_compat: bool,
    pub file_urls: bool,
}

/// Reads a template.
pub fn generator(path: &Path, reading: &Reading<'_>) -> Result<Generator, Problem> {
    let text = std::fs::read_to_string(path).map_err(|error| Problem::file(path, error))?;
    let mut names = Defines::new();
    for define in reading.defines {
        names
            .add(define)
            .map_err(|error| Problem::usage(format_args!("--define: {error}")))?;
    }
    let beside = path.parent().map_or_else(PathBuf::new, Path::to_path_buf);
    let options = ParseOptions {
        folders: vec![beside],
        file_urls: reading.file_urls,
        slamd_counters: reading.slamd_compat,
    };
    let template = Template::parse_with(&text, &names, &options);
    let template = template.map_err(|error| Problem::file(path, error))?;
    if let [unused, ..] = template.unused_defines() {
        let known = template.known_names().join(", ");
        return Err(Problem::usage(format_args!(
            "--define {unused}: expected a name that {} defines ({known}), got another one",
            path.display()
        )));
    }
    Ok(Generator::new(template, reading.seed))
}

/// The attribute whose values are listed.
fn list_attribute(it: &Generate, generator: &Generator) -> Result<String, Problem> {
    let Some(wanted) = &it.attribute else {
        return naming_attribute(generator, it.from);
    };
    if !matches!(it.format, GenerateFormat::Logins | GenerateFormat::Filters) {
        let text = "--attribute: expected --format logins or filters beside it";
        return Err(Problem::usage(text));
    }
    let known = generator.template().attributes();
    if !known.iter().any(|(_, it)| it.eq_ignore_ascii_case(wanted)) {
        let path = it.template.display();
        return Err(Problem::usage(format_args!(
            "--attribute: {path} gives no entry a value of {wanted}"
        )));
    }
    Ok(wanted.clone())
}

fn filter_kind(it: &Generate) -> Result<FilterKind, Problem> {
    if it.filter_kind.is_some() && it.format != GenerateFormat::Filters {
        let text = "--filter-kind: expected --format filters beside it";
        return Err(Problem::usage(text));
    }
    Ok(match it.filter_kind {
        None | Some(cli::FilterKind::Equality) => FilterKind::Equality,
        Some(cli::FilterKind::Presence) => FilterKind::Presence,
        Some(cli::FilterKind::Initial) => FilterKind::Initial,
        Some(cli::FilterKind::Any) => FilterKind::Any,
        Some(cli::FilterKind::Final) => FilterKind::Final,
        Some(cli::FilterKind::GreaterOrEqual) => FilterKind::GreaterOrEqual,
        Some(cli::FilterKind::LessOrEqual) => FilterKind::LessOrEqual,
    })
}

/// The attribute type in the RDN of the last entry, by which its siblings are searched.
fn naming_attribute(generator: &Generator, from: u64) -> Result<String, Problem> {
    let last = generator.total_entries().saturating_sub(1).max(from);
    let mut name = String::new();
    let made = generator.generate_range(last, last + 1, |entry| {
        name = entry.dn().split('=').next().unwrap_or_default().to_owned();
        Ok::<(), load::template::GenerateError>(())
    });
    made.map_err(Problem::failed)?;
    Ok(name)
}

/// Calls `act` when the process is told to end, until dropped. A second signal ends the process at
/// once.
pub struct Interrupts {
    handle: signal_hook::iterator::Handle,
    thread: Option<JoinHandle<()>>,
}

/// Returns an [`Interrupts`] that calls `act`.
pub fn interrupted(act: impl Fn() + Send + 'static) -> Result<Interrupts, Problem> {
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    let handle = signals.handle();
    let thread = std::thread::spawn(move || {
        for (count, signal) in signals.forever().enumerate() {
            if count > 0 {
                std::process::exit(128 + signal);
            }
            note("pando: stopping; again to stop at once");
            act();
        }
    });
    Ok(Interrupts {
        handle,
        thread: Some(thread),
    })
}

impl Drop for Interrupts {
    fn drop(&mut self) {
        self.handle.close();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
