//! `pando backup`, `pando restore` and `pando verify`.

use crate::channel::Channel;
use crate::cli::{Backup, Restore, Verify};
use crate::generate::interrupted;
use crate::node_folder::data_folder;
use crate::progress::{Progress, Standing};
use crate::report::{Problem, note, say};
use crate::room;
use crate::rotation::Rotation;
use crate::streams::{STANDARD_INPUT, STANDARD_OUTPUT, StandardInput, refuse_terminal};
use directory::Failure;
use protocol::counted;
use replica::partial::Partial;
use server::settings::FILE_NAME;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;
use store::private;
use transfer::Meter;
use transfer::backup::{
    BackupStream, Manifest, Restored, Source, bytes_to_restore, remove_stale_verifications,
    restore as restore_database, restore_stream, settings_of, time_now, verify as verify_backup,
    verify_stream,
};

/// Makes a backup of a node, served or not.
pub fn backup(it: &Backup) -> Result<(), Problem> {
    if it.to == Path::new(STANDARD_OUTPUT) && !it.single {
        let text = "-: expected --single with standard output: a folder is no stream";
        return Err(Problem::usage(text));
    }
    let data = data_folder(&it.dir)?;
    let served = Channel::is_served(&it.dir);
    let source = Source::open(&data, served).map_err(Problem::failed)?;
    if it.incremental {
        return extend(&source, &it.to);
    }
    let bytes = source.bytes().map_err(Problem::failed)?;
    let settings = it.dir.join(FILE_NAME);
    if it.single {
        return as_one_file(&source, it.to.as_path(), bytes, &settings);
    }
    let make = |to: &Path| {
        prepare(to, bytes)?;
        let started = Instant::now();
        let manifest = watched(bytes, "", |meter| source.write(to, Some(&settings), meter))?;
        note_backed_up(started, &manifest);
        say(to.display())
    };
    let Some(keep) = it.keep else {
        return make(&it.to);
    };
    let rotation = Rotation::begin(&it.to)?;
    let to = it.to.join(time_now());
    make(&to)?;
    rotation.end(&to, keep.get())
}

/// Creates the folder that will contain a backup, if it is missing, and checks for room there after
/// removing files left by killed processes.
fn prepare(to: &Path, bytes: u64) -> Result<(), Problem> {
    let above = above(to);
    private::create_folders(above).map_err(|error| Problem::file(above, error))?;
    remove_stale(above);
    Partial::remove_leftover(to).map_err(Problem::failed)?;
    room::require_beside_others(above, bytes, "backup")
}

/// Removes folders left by killed runs of `pando verify`.
fn remove_stale(within: &Path) {
    for path in remove_stale_verifications(within) {
        note(format_args!(
            "{} removed: the process that wrote it has ended",
            path.display()
        ));
    }
}

/// Makes a backup in one file, or on standard output.
fn as_one_file(source: &Source, to: &Path, bytes: u64, settings: &Path) -> Result<(), Problem> {
    let started = Instant::now();
    let settings = Some(settings);
    if to == Path::new(STANDARD_OUTPUT) {
        refuse_terminal("a backup")?;
        let out = io::stdout().lock();
        let (_, manifest) = watched(bytes, "", |meter| source.write_to(out, to, settings, meter))?;
        note_backed_up(started, &manifest);
        return Ok(());
    }
    prepare(to, bytes)?;
    let manifest = watched(bytes, "", |meter| source.write_file(to, settings, meter))?;
    note_backed_up(started, &manifest);
    say(to.display())
}

fn note_backed_up(started: Instant, manifest: &Manifest) {
    note(format_args!(
        "{} backed up as {} in {}",
        indicatif::HumanBytes(manifest.database.bytes),
        indicatif::HumanBytes(manifest.stored.bytes),
        pace(started, manifest),
    ));
}

/// Adds the changes since the last increment to a backup.
fn extend(source: &Source, backup: &Path) -> Result<(), Problem> {
    let bytes = source.increment_bytes(backup).map_err(Problem::failed)?;
    room::require_beside_others(backup, bytes, "increment")?;
    let started = Instant::now();
    let Some(added) = watched(0, "", |meter| source.extend(backup, meter))? else {
        note("no change since the last backup or increment");
        return say(backup.display());
    };
    note(format_args!(
        "changes {} to {} added as {} in {:.1} s",
        added.after + 1,
        added.position,
        indicatif::HumanBytes(added.stored.bytes),
        started.elapsed().as_secs_f64()
    ));
    say(backup.join(&added.file).display())
}

/// Makes a node from a backup.
pub fn restore(it: &Restore) -> Result<(), Problem> {
    let origin = Origin::of(&it.backup)?;
    let existed = it.dir.exists();
    private::create_folders(&it.dir).map_err(|error| Problem::file(&it.dir, error))?;
    let started = Instant::now();
    let data = it.dir.join("data");
    let restored = restore_from(&origin, it, &data).inspect_err(|_| {
        // Removes the folder if this command created it; a folder with contents stays.
        let _ = fs::remove_dir(&data);
        if !existed {
            let _ = fs::remove_dir(&it.dir);
        }
    });
    let (restored, kept) = restored?;
    let settings = it.dir.join(FILE_NAME);
    if !settings.exists() {
        let written = private::write(&settings, settings_to_begin_with(kept));
        written.map_err(|error| Problem::file(&settings, error))?;
    }
    note(format_args!(
        "{} restored in {}; {} executed: position {}, as of {}\n\
         start it with: pando serve {}",
        indicatif::HumanBytes(restored.manifest.database.bytes),
        pace(started, &restored.manifest),
        counted(restored.records, "change"),
        restored.position,
        restored.time,
        it.dir.display()
    ));
    Ok(())
}

/// Origin of a backup.
enum Origin<'b> {
    /// A folder or a file, and its manifest.
    Place(&'b Path, Box<Manifest>),
    /// Standard input, which ends in its manifest.
    Stream(StandardInput),
}

impl Origin<'_> {
    fn of(backup: &Path) -> Result<Origin<'_>, Problem> {
        if backup == Path::new(STANDARD_INPUT) {
            let input = StandardInput::open("a backup, as pando backup DIR - --single writes it")?;
            return Ok(Origin::Stream(input));
        }
        let manifest = Manifest::read(backup).map_err(Problem::failed)?;
        Ok(Origin::Place(backup, Box::new(manifest)))
    }
}

/// Restores the database; also returns the settings in the backup.
fn restore_from(
    origin: &Origin<'_>,
    it: &Restore,
    data: &Path,
) -> Result<(Restored, Vec<u8>), Problem> {
    let (changes, until) = (it.changes.as_deref(), it.until);
    match origin {
        Origin::Place(backup, manifest) => {
            // Files of a killed restore take room.
            Partial::remove_leftover(data).map_err(Problem::failed)?;
            require_room(&it.dir, manifest, changes)?;
            let bytes = manifest.database.bytes;
            let restored = watched(bytes, "", |meter| {
                restore_database(backup, changes, until, data, meter)
            })?;
            Ok((restored, kept_settings(backup)?))
        }
        Origin::Stream(input) => watched(0, "", |meter| {
            restore_stream(stream_of(input, meter), changes, until, data, meter)
        }),
    }
}

/// Standard input as the stream of a backup, which ends when the work is cancelled.
fn stream_of<'i>(
    input: &'i StandardInput,
    meter: &'i Meter,
) -> BackupStream<'i, impl io::Read + 'i> {
    BackupStream {
        from: input.heeding(meter),
        name: Path::new(StandardInput::NAME),
    }
}

/// Checks for room for the database of a backup and the changes after it.
fn require_room(folder: &Path, manifest: &Manifest, kept: Option<&Path>) -> Result<(), Problem> {
    let bytes = bytes_to_restore(manifest, kept).map_err(Problem::failed)?;
    room::require_beside_others(folder, bytes, "database")
}

/// The settings in a backup; empty if it has none.
fn kept_settings(backup: &Path) -> Result<Vec<u8>, Problem> {
    let kept = backup.join(FILE_NAME);
    match backup.is_file() {
        true => settings_of(backup).map_err(Problem::failed),
        false if kept.is_file() => fs::read(&kept).map_err(|error| Problem::file(&kept, error)),
        false => Ok(Vec::new()),
    }
}

/// The settings of the backup, or default ones if it has none.
fn settings_to_begin_with(kept: Vec<u8>) -> Vec<u8> {
    match kept.is_empty() {
        true => server::settings::sample().into(),
        false => kept,
    }
}

/// Restores a backup into a temporary folder, checks it, and removes the folder.
pub fn verify(it: &Verify) -> Result<(), Problem> {
    let origin = Origin::of(&it.backup)?;
    let within = it.within.as_deref().unwrap_or(above(&it.backup));
    remove_stale(within);
    let (restored, report) = match origin {
        Origin::Place(backup, manifest) => {
            require_room(within, &manifest, None)?;
            let bytes = manifest.database.bytes;
            watched(bytes, "checking", |meter| {
                verify_backup(backup, within, meter)
            })?
        }
        Origin::Stream(input) => watched(0, "checking", |meter| {
            verify_stream(stream_of(&input, meter), within, meter)
        })?,
    };
    for problem in &report.problems {
        note(problem);
    }
    if report.problem_count == 0 {
        return say(format_args!(
            "{}, digest {}, position {}, as of {}: no problem found",
            counted(report.entries, "entry"),
            report.digest,
            restored.position,
            restored.time
        ));
    }
    note(format_args!(
        "pando: {} in {}",
        counted(report.problem_count, "problem"),
        counted(report.entries, "entry")
    ));
    Err(Problem::Reported)
}

fn pace(started: Instant, manifest: &Manifest) -> String {
    let seconds = started.elapsed().as_secs_f64();
    let rate = manifest.database.bytes as f64 / seconds.max(0.001);
    format!("{seconds:.1} s ({}/s)", indicatif::HumanBytes(rate as u64))
}

/// Runs long work with a progress bar; an interrupt cancels it.
fn watched<T>(
    total: u64,
    finishing: &'static str,
    work: impl FnOnce(&Meter) -> Result<T, Failure>,
) -> Result<T, Problem> {
    let meter = Arc::new(Meter::default());
    let cancelled = Arc::clone(&meter);
    let interrupts = interrupted(move || cancelled.cancel())?;
    let looked = Arc::clone(&meter);
    let look = move || Standing {
        bytes: looked.bytes(),
        done: looked.bytes(),
        total: Some(total).filter(|it| *it > 0),
        finishing: looked.finishing(),
        ..Standing::default()
    };
    let progress = Progress::show(finishing, Arc::new(look));
    let done = work(&meter);
    drop(progress);
    drop(interrupts);
    done.map_err(Problem::of)
}

fn above(path: &Path) -> &Path {
    let above = path.parent().filter(|it| !it.as_os_str().is_empty());
    above.unwrap_or(Path::new("."))
}
