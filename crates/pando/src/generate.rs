//! `pando generate`: the entries that a template describes, as LDIF, BER or lists.

use crate::cli::{Generate, GenerateFormat};
use crate::progress::{Progress, Standing};
use crate::report::{Problem, note};
use load::output::{FilterKind, Format, Outputs, write_range};
use load::template::{Defines, Generator, ParseOptions, Template};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;

/// Columns after which generated LDIF is folded: never, since it is mostly read by programs.
const FOLD_COLUMNS: usize = 0;

/// Writes the entries.
pub fn generate(it: &Generate) -> Result<(), Problem> {
    let generator = generator(&it.template, &it.define, it.seed)?;
    let to = it.to.unwrap_or(u64::MAX).min(generator.total_entries());
    let naming = naming_attribute(&generator, it.from)?;
    let mut output: Box<dyn Write> = match &it.output {
        Some(path) => {
            let file = File::create(path).map_err(|error| Problem::file(path, error))?;
            Box::new(BufWriter::with_capacity(1 << 16, file))
        }
        None => Box::new(std::io::stdout().lock()),
    };
    let done = Arc::new(AtomicU64::new(0));
    let progress = {
        let done = Arc::clone(&done);
        let total = Some(to.saturating_sub(it.from));
        let look = move || {
            let entries = done.load(Ordering::Relaxed);
            Standing {
                entries,
                done: entries,
                total,
                ..Standing::default()
            }
        };
        Progress::show("", Arc::new(look))
    };
    let mut outputs = Outputs::default();
    let writer = &mut *output;
    match it.format {
        GenerateFormat::Ldif => {
            outputs.entries = Some((
                Format::Ldif {
                    fold_columns: FOLD_COLUMNS,
                },
                writer,
            ));
        }
        GenerateFormat::Ber => outputs.entries = Some((Format::BerMessages, writer)),
        GenerateFormat::BareBer => outputs.entries = Some((Format::BerRequests, writer)),
        GenerateFormat::Dns => outputs.names = Some(writer),
        GenerateFormat::Binds => outputs.binds = Some(writer),
        GenerateFormat::Filters => {
            outputs.filters = Some((naming, FilterKind::Equality, writer));
        }
    }
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut count = |entries| done.store(entries, Ordering::Relaxed);
    let written = write_range(&generator, it.from, to, threads, outputs, &mut count);
    drop(progress);
    match written {
        Err(error) if it.output.is_some() => Err(Problem::file(
            it.output.as_deref().unwrap_or(Path::new("-")),
            error,
        )),
        other => Ok(other?),
    }
}

/// Reads a template.
pub fn generator(path: &Path, defines: &[String], seed: u64) -> Result<Generator, Problem> {
    let text = std::fs::read_to_string(path).map_err(|error| Problem::file(path, error))?;
    let mut names = Defines::new();
    for define in defines {
        names
            .add(define)
            .map_err(|error| Problem::usage(format_args!("--define: {error}")))?;
    }
    let beside = path.parent().map_or_else(PathBuf::new, Path::to_path_buf);
    let options = ParseOptions {
        folders: vec![beside],
        ..ParseOptions::default()
    };
    let template = Template::parse_with(&text, &names, &options);
    let template = template.map_err(|error| Problem::file(path, error))?;
    for unused in template.unused_defines() {
        note(format_args!(
            "pando: {}: nothing is called {unused}",
            path.display()
        ));
    }
    Ok(Generator::new(template, seed))
}

/// The attribute type in the RDN of the last entry: what its siblings are searched by.
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

/// Calls `act` when the process is told to end, until dropped. A second signal ends it at once.
pub struct Interrupts {
    handle: signal_hook::iterator::Handle,
    thread: Option<JoinHandle<()>>,
}

/// See [`Interrupts`].
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
