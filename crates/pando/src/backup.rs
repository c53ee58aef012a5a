//! `pando backup`, `pando restore` and `pando verify`.

use crate::channel::Channel;
use crate::cli::{Backup, Restore, Verify};
use crate::generate::interrupted;
use crate::init::data_folder;
use crate::progress::{Progress, Standing};
use crate::report::{Problem, note, say};
use directory::Failure;
use directory::backup::{
    Manifest, Source, restore as restore_database, settings_of, time_now, verify as verify_backup,
};
use directory::import::Meter;
use server::settings::FILE_NAME;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// Letters of the name of a backup in a folder of backups, a GeneralizedTime to the second.
const NAME_LETTERS: usize = 15;

/// Makes a backup of a node, served or not.
pub fn backup(it: &Backup) -> Result<(), Problem> {
    let data = data_folder(&it.dir)?;
    let served = Channel::is_served(&it.dir);
    let source = Source::open(&data, served).map_err(Problem::failed)?;
    if it.incremental {
        return extend(&source, &it.to);
    }
    let bytes = source.bytes().map_err(Problem::failed)?;
    let settings = it.dir.join(FILE_NAME);
    if it.single {
        return as_one_file(&source, (it.to.as_path(), bytes), &settings);
    }
    let to = match it.keep {
        None => it.to.clone(),
        Some(_) => it.to.join(time_now()),
    };
    let above = above(&to);
    fs::create_dir_all(above).map_err(|error| Problem::file(above, error))?;
    if it.keep.is_some() {
        remove_interrupted(&it.to)?;
    }
    require_room(above, bytes, "backup")?;
    let started = Instant::now();
    let manifest = watched(bytes, "", |meter| source.write(&to, Some(&settings), meter))?;
    note_backed_up(started, &manifest);
    say(to.display())?;
    match it.keep {
        Some(keep) => rotate(&it.to, keep.get()),
        None => Ok(()),
    }
}

/// Makes a backup that is one file, or goes to standard output.
fn as_one_file(source: &Source, (to, bytes): (&Path, u64), settings: &Path) -> Result<(), Problem> {
    let started = Instant::now();
    let settings = Some(settings);
    if to == Path::new("-") {
        let out = io::stdout().lock();
        let (_, manifest) = watched(bytes, "", |meter| source.write_to(out, to, settings, meter))?;
        note_backed_up(started, &manifest);
        return Ok(());
    }
    let above = above(to);
    fs::create_dir_all(above).map_err(|error| Problem::file(above, error))?;
    require_room(above, bytes, "backup")?;
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

/// Adds what changed since to a backup.
fn extend(source: &Source, backup: &Path) -> Result<(), Problem> {
    let bytes = source.increment_bytes(backup).map_err(Problem::failed)?;
    require_room(backup, bytes, "increment")?;
    let started = Instant::now();
    let Some(added) = watched(0, "", |meter| source.extend(backup, meter))? else {
        note("nothing has changed since");
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

/// Makes a node out of a backup.
pub fn restore(it: &Restore) -> Result<(), Problem> {
    let manifest = Manifest::read(&it.backup).map_err(Problem::failed)?;
    let data = it.dir.join("data");
    let existed = it.dir.exists();
    fs::create_dir_all(&it.dir).map_err(|error| Problem::file(&it.dir, error))?;
    let started = Instant::now();
    let restored = require_room(&it.dir, manifest.database.bytes, "database").and_then(|()| {
        let bytes = manifest.database.bytes;
        watched(bytes, "", |meter| {
            restore_database(&it.backup, it.changes.as_deref(), it.until, &data, meter)
        })
    });
    let restored = restored.inspect_err(|_| {
        // Only what was made here goes away: a folder with something in it stays.
        let _ = fs::remove_dir(&data);
        if !existed {
            let _ = fs::remove_dir(&it.dir);
        }
    })?;
    let settings = it.dir.join(FILE_NAME);
    if !settings.exists() {
        let kept = kept_settings(&it.backup)?;
        let written = fs::write(&settings, kept);
        written.map_err(|error| Problem::file(&settings, error))?;
    }
    note(format_args!(
        "{} restored in {}; {} changes executed: position {}, as of {}\n\
         start it with: pando serve {}",
        indicatif::HumanBytes(manifest.database.bytes),
        pace(started, &manifest),
        restored.records,
        restored.position,
        restored.time,
        it.dir.display()
    ));
    Ok(())
}

/// The settings in a backup; those that a node begins with if it has none.
fn kept_settings(backup: &Path) -> Result<Vec<u8>, Problem> {
    let kept = backup.join(FILE_NAME);
    let settings = match backup.is_file() {
        true => settings_of(backup).map_err(Problem::failed)?,
        false if kept.is_file() => fs::read(&kept).map_err(|error| Problem::file(&kept, error))?,
        false => Vec::new(),
    };
    match settings.is_empty() {
        true => Ok(server::settings::sample().into()),
        false => Ok(settings),
    }
}

/// Restores a backup into a temporary folder, checks it, and removes it again.
pub fn verify(it: &Verify) -> Result<(), Problem> {
    let manifest = Manifest::read(&it.backup).map_err(Problem::failed)?;
    let within = it.within.as_deref().unwrap_or(above(&it.backup));
    let bytes = manifest.database.bytes;
    require_room(within, bytes, "database")?;
    let (restored, report) = watched(bytes, "checking", |meter| {
        verify_backup(&it.backup, within, meter)
    })?;
    for problem in &report.problems {
        note(problem);
    }
    if report.problem_count == 0 {
        return say(format_args!(
            "{}, digest {}, position {}, as of {}: no problem found",
            entries(report.entries),
            report.digest,
            restored.position,
            restored.time
        ));
    }
    note(format_args!(
        "pando: {} problems in {}",
        report.problem_count,
        entries(report.entries)
    ));
    Err(Problem::Reported)
}

fn entries(count: u64) -> String {
    format!("{count} entries")
}

fn pace(started: Instant, manifest: &Manifest) -> String {
    let seconds = started.elapsed().as_secs_f64();
    let rate = manifest.database.bytes as f64 / seconds.max(0.001);
    format!("{seconds:.1} s ({}/s)", indicatif::HumanBytes(rate as u64))
}

/// Runs a long work with a progress bar; an interrupt cancels it.
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
    done.map_err(Problem::failed)
}

/// Refuses before anything is written when the file system has not enough room.
pub fn require_room(folder: &Path, bytes: u64, what: &str) -> Result<(), Problem> {
    let found = rustix::fs::statvfs(folder);
    let found = found.map_err(|error| Problem::file(folder, io::Error::from(error)))?;
    let room = found.f_bavail * found.f_frsize;
    if room >= bytes {
        return Ok(());
    }
    Err(Problem::failed(format_args!(
        "{}: the {what} may take {}, and {} are free",
        folder.display(),
        indicatif::HumanBytes(bytes),
        indicatif::HumanBytes(room)
    )))
}

fn above(path: &Path) -> &Path {
    let above = path.parent().filter(|it| !it.as_os_str().is_empty());
    above.unwrap_or(Path::new("."))
}

/// Whether a folder of backups holds this one by rotation: nothing else is ever removed.
fn is_name(name: &str) -> bool {
    let (digits, end) = name.split_at_checked(NAME_LETTERS - 1).unwrap_or_default();
    end == "Z" && digits.bytes().all(|it| it.is_ascii_digit())
}

/// What stands in a folder of backups and has a name that passes a test.
fn named(folder: &Path, test: impl Fn(&str) -> bool) -> Result<Vec<PathBuf>, Problem> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(|error| Problem::file(folder, error))? {
        let path = entry?.path();
        let name = path.file_name().and_then(|it| it.to_str()).unwrap_or("");
        if test(name) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// Removes what interrupted backups left, before the next one asks for room.
fn remove_interrupted(folder: &Path) -> Result<(), Problem> {
    for path in named(folder, |it| {
        it.strip_suffix(".partial").is_some_and(is_name)
    })? {
        fs::remove_dir_all(&path).map_err(|error| Problem::file(&path, error))?;
    }
    Ok(())
}

/// Removes the oldest backups.
fn rotate(folder: &Path, keep: usize) -> Result<(), Problem> {
    let whole = named(folder, is_name)?;
    for path in whole.iter().take(whole.len().saturating_sub(keep)) {
        fs::remove_dir_all(path).map_err(|error| Problem::file(path, error))?;
        note(format_args!("{} removed", path.display()));
    }
    Ok(())
}
