//! `pando export`: entries of a node, served or not, as LDIF.

use crate::channel::Channel;
use crate::cli::{self, Export};
use crate::generate::interrupted;
use crate::init::data_folder;
use crate::progress::{Progress, Standing};
use crate::report::{Problem, note};
use directory::Failure;
use directory::export::{
    ChangesOptions, Compression, ExportFormat, ExportOptions, export as export_entries,
    export_changes,
};
use directory::import::Meter;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// Writes the entries.
pub fn export(it: &Export) -> Result<(), Problem> {
    let data = data_folder(&it.dir)?;
    let compression = it.output.as_deref().map_or(Compression::Plain, compression);
    let served = Channel::is_served(&it.dir);
    if let Some(since) = it.changes_since {
        let options = ChangesOptions {
            since,
            fold_columns: it.fold,
            compression,
            served,
        };
        return into(it.output.as_deref(), |output| {
            changes(&data, &options, output)
        });
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
    };
    into(it.output.as_deref(), |output| run(&data, &options, output))
}

/// Writes into a file, or where output goes.
fn into(
    output: Option<&Path>,
    write: impl FnOnce(&mut dyn Write) -> Result<(), Problem>,
) -> Result<(), Problem> {
    let Some(path) = output else {
        return write(&mut io::stdout().lock());
    };
    // Under another name until it is whole, so that nobody takes half an export for one.
    let is_file = !path.exists() || path.is_file();
    let mut partial = path.as_os_str().to_owned();
    partial.push(".partial");
    let target = if is_file { Path::new(&partial) } else { path };
    let mut file = File::create(target).map_err(|error| Problem::file(target, error))?;
    let done = write(&mut file).and_then(|()| {
        if !is_file {
            return Ok(());
        }
        let kept = file.sync_all().and_then(|()| std::fs::rename(target, path));
        kept.map_err(|error| Problem::file(path, error))
    });
    if done.is_err() && is_file {
        // Whatever went wrong is reported; what is left of the file is of no use.
        let _ = std::fs::remove_file(target);
    }
    done
}

/// What a file name asks for.
fn compression(path: &Path) -> Compression {
    match path.extension().and_then(|it| it.to_str()) {
        Some("gz") => Compression::Gzip,
        Some("zst") => Compression::Zstd,
        _ => Compression::Plain,
    }
}

/// Writes the kept changes after a point.
fn changes(data: &Path, options: &ChangesOptions, output: &mut dyn Write) -> Result<(), Problem> {
    let meter = Arc::new(Meter::default());
    let cancelled = Arc::clone(&meter);
    let interrupts = interrupted(move || cancelled.cancel())?;
    let exported = export_changes(data, options, output, &meter);
    drop(interrupts);
    let (exported, position) = exported.map_err(problem)?;
    note(format_args!(
        "{} changes exported, the last at position {position}",
        exported.entries
    ));
    Ok(())
}

fn run(data: &Path, options: &ExportOptions, output: &mut dyn Write) -> Result<(), Problem> {
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
    let exported = exported.map_err(problem)?;
    let seconds = started.elapsed().as_secs_f64();
    note(format_args!(
        "{} entries exported in {seconds:.1} s ({:.0} entries/s), {}",
        exported.entries,
        exported.entries as f64 / seconds.max(0.001),
        indicatif::HumanBytes(exported.bytes)
    ));
    Ok(())
}

fn problem(failure: Failure) -> Problem {
    match failure {
        Failure::File { source, .. } if source.kind() == io::ErrorKind::BrokenPipe => {
            Problem::OutputClosed
        }
        failure => Problem::failed(failure),
    }
}
