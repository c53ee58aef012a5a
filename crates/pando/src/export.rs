//! `pando export`: entries of a node, served or not, as LDIF.

use crate::channel::Channel;
use crate::cli::{self, Export};
use crate::generate::interrupted;
use crate::node_folder::data_folder;
use crate::progress::{Progress, Standing};
use crate::report::{Problem, note};
use crate::streams::{STANDARD_OUTPUT, refuse_terminal};
use protocol::counted;
use replica::partial::Partial;
use std::ffi::OsStr;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;
use store::private;
use transfer::Meter;
use transfer::export::{
    ChangesOptions, Compression, ExportFormat, ExportOptions, export as export_entries,
    export_changes,
};

/// Writes the entries.
pub fn export(it: &Export) -> Result<(), Problem> {
    let data = data_folder(&it.dir)?;
    let output = it.output.as_deref();
    let output = output.filter(|it| *it != Path::new(STANDARD_OUTPUT));
    let compression = compression(it, output)?;
    let served = Channel::is_served(&it.dir);
    if let Some(since) = it.changes_since {
        let options = ChangesOptions {
            since,
            fold_columns: it.fold,
            compression,
            served,
        };
        return into(output, |output| changes(&data, &options, output));
    }
    if let Some(base) = &it.base {
        protocol::parse_name(base)
            .map_err(|error| Problem::usage(format_args!("base {base}: {error}")))?;
    }
    if let Some(filter) = &it.filter {
        protocol::parse_filter(filter)
            .map_err(|error| Problem::usage(format_args!("filter {filter}: {error}")))?;
    }
    let options = ExportOptions {
        base: it.base.clone(),
        filter: it.filter.clone(),
        attributes: it.attributes.clone(),
        operational: !it.no_operational,
        format: match it.format {
            cli::ExportFormat::Ldif => ExportFormat::Ldif,
            cli::ExportFormat::Ber => ExportFormat::Ber,
            cli::ExportFormat::BareBer => ExportFormat::BareBer,
        },
        fold_columns: it.fold,
        compression,
        threads: 0,
        served,
        salvage: it.salvage,
    };
    let lost = into(output, |output| run(&data, &options, output))?;
    for line in &lost {
        note(line);
    }
    match lost.len() {
        0 => Ok(()),
        lost => {
            note(format_args!(
                "pando: left out because unreadable: {}",
                counted(lost as u64, "entry")
            ));
            Err(Problem::Reported)
        }
    }
}

/// Writes to a file, or to standard output.
fn into<T>(
    output: Option<&Path>,
    write: impl FnOnce(&mut dyn Write) -> Result<T, Problem>,
) -> Result<T, Problem> {
    let Some(path) = output else {
        return write(&mut io::stdout().lock());
    };
    if path.exists() && !path.is_file() {
        let mut file = private::create(path).map_err(|error| Problem::file(path, error))?;
        return write(&mut file);
    }
    // Under a temporary name until complete, so that an incomplete export is not mistaken for a
    // complete one.
    let partial = Partial::file(path).map_err(Problem::failed)?;
    let written = write(&mut partial.content())?;
    partial.take_name().map_err(Problem::failed)?;
    Ok(written)
}

/// The compression requested by option, or implied by the file name.
fn compression(it: &Export, output: Option<&Path>) -> Result<Compression, Problem> {
    let Some(compress) = it.compress else {
        let ending = output.and_then(Path::extension).and_then(OsStr::to_str);
        return Ok(match ending {
            Some("gz") => Compression::Gzip,
            Some("zst") => Compression::Zstd,
            _ => Compression::Plain,
        });
    };
    let compression = match compress {
        cli::Compress::None => Compression::Plain,
        cli::Compress::Gzip => Compression::Gzip,
        cli::Compress::Zstd => Compression::Zstd,
    };
    if output.is_none() && compression != Compression::Plain {
        refuse_terminal("a compressed export")?;
    }
    Ok(compression)
}

/// Writes the kept changes after a point.
fn changes(data: &Path, options: &ChangesOptions, output: &mut dyn Write) -> Result<(), Problem> {
    let meter = Arc::new(Meter::default());
    let cancelled = Arc::clone(&meter);
    let interrupts = interrupted(move || cancelled.cancel())?;
    let exported = export_changes(data, options, output, &meter);
    drop(interrupts);
    let (exported, position) = exported.map_err(Problem::of)?;
    note(format_args!(
        "{} exported, the last at position {position}",
        counted(exported.entries, "change")
    ));
    Ok(())
}

/// Exports the entries; returns a line for each entry that could not be read.
fn run(
    data: &Path,
    options: &ExportOptions,
    output: &mut dyn Write,
) -> Result<Vec<String>, Problem> {
    let meter = Arc::new(Meter::default());
    let interrupts = {
        let meter = Arc::clone(&meter);
        interrupted(move || meter.cancel())?
    };
    let progress = {
        let meter = Arc::clone(&meter);
        let look = move || Standing {
            entries: meter.entries(),
            bytes: meter.bytes(),
            done: meter.entries(),
            total: Some(meter.expected_entries()).filter(|it| *it > 0),
            finishing: false,
        };
        Progress::show("", Arc::new(look))
    };
    let started = Instant::now();
    let exported = export_entries(data, options, output, &meter);
    drop(progress);
    drop(interrupts);
    let exported = exported.map_err(Problem::of)?;
    let seconds = started.elapsed().as_secs_f64();
    note(format_args!(
        "{} exported in {seconds:.1} s ({} entries/s), {}",
        counted(exported.entries, "entry"),
        indicatif::HumanCount((exported.entries as f64 / seconds.max(0.001)) as u64),
        indicatif::HumanBytes(exported.bytes)
    ));
    Ok(exported.lost)
}
