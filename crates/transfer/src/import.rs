//! Bulk import: entries from files or a generator into a node's data folder, without a server.
//!
//! The new database is built beside the old one and replaces it by one rename, so a crash at any
//! moment leaves the old one untouched or the new one complete. The old database's entries,
//! `cn=config` included, go through the same pipeline first. An import that is small beside the old
//! database is added to it by one transaction instead, see `target.rs`.
//!
//! ```text
//! source ─pieces─▶ workers: parse, check, encode, index ─in input order─▶ sequencer ─▶ store
//! ```
//!
//! Invariants:
//! - ids follow the order of the input, parents before children, for any number of threads;
//! - memory does not grow with the input, except for 20 to 40 bytes an entry to recognise names;
//!   sorted rows, and entries that wait for their superiors, go to files.

mod aside;
mod attributes;
pub(crate) mod checkpoint;
mod contexts;
mod entry;
mod finish;
mod grouping;
mod holders;
mod import_state;
mod intake;
mod known;
mod links;
mod members;
mod names;
mod options;
mod pipeline;
mod plan;
mod rejects;
mod rulebook;
mod sequencer;
mod source;
mod stamps;
mod table;
mod target;
mod urls;
mod verdict;
mod work;
mod worker;

use replica::leftovers::{NEW_FOLDER, TEMPORARY_NAME, TEMPORARY_NOTE, remove_leftovers};
use replica::recover;
use state::stop::Failure;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use store::private;

use crate::meter::Meter;
pub use contexts::MissingContext;
pub use finish::Imported;
pub use options::{ImportOptions, WrittenTo};
pub(crate) use source::{BerPiece, BerPieces, after_element, read_request};
pub use source::{Content, EntrySink, Files, Format, Piece, Source};

/// Imports the entries of the source into the database in `data`.
///
/// # Errors
/// There is no database, or a server has it open; the source cannot be read; the disk is full; or
/// the import was cancelled. The old database is then unchanged.
pub fn import(
    data: &Path,
    source: Box<dyn Source>,
    options: &ImportOptions,
    meter: &Meter,
) -> Result<Imported, Failure> {
    // The old database stays open until the end: it holds the folder's lock, and readers stream its
    // entries. It has no log now, so that none remains when the new database replaces it.
    let (old, _) = recover::open_store(data)?;
    let folder = data.join(NEW_FOLDER);
    let mut plan = plan::Plan::new(&old, options)?;
    let about = source.repeatable();
    let about = about.map(|source| checkpoint::about(&plan, &source));
    let saved = saved(&folder, options, about.as_deref())?;
    if saved.is_none() {
        remove_leftovers(data)?;
    }
    let keeps_old = saved.is_none() && plan.keeps_old(&old)?;
    if keeps_old {
        private::create_folders(&folder)
            .map_err(|error| Failure::file("making a folder", error))?;
    }
    if let Some(saved) = &saved {
        plan.set_time(saved.time_us);
    }
    let mut temporary = match saved.as_ref().map(|it| it.temporary.clone()) {
        Some(again) => again.map(Temporary::again),
        None => options
            .temporary
            .as_deref()
            .map(|within| Temporary::new(within, &folder))
            .transpose()?,
    };
    let own = temporary.as_ref().map(|it| it.folder.clone());
    let site = pipeline::Site {
        folder: &folder,
        temporary: own.as_deref(),
        about: about
            .as_deref()
            .ok()
            .filter(|_| options.checkpoint.is_some() && !keeps_old),
        keeps_old,
    };
    let done = pipeline::run(&plan, &old, source, &site, saved.as_ref(), meter)
        .and_then(|(outcome, written)| finish::finish(&plan, &old, outcome, written))
        .and_then(|imported| {
            match keeps_old {
                // The folder is empty; if it remains, the next start removes it.
                true => drop(std::fs::remove_dir_all(&folder)),
                false => swap(data, &folder)?,
            }
            Ok(imported)
        });
    let done = done.map_err(|failure| match failure {
        Failure::Store(error) => Failure::Store(store::Store::tell_full(&folder, error)),
        failure => failure,
    });
    if done.is_err() && can_resume(data) {
        temporary.iter_mut().for_each(|it| it.keep = true);
    } else if done.is_err() {
        // The next start removes what remains.
        let _ = std::fs::remove_dir_all(&folder);
    }
    done
}

/// Rejects file of an interrupted import; `None` if there is no import to resume.
pub fn interrupted_rejects(data: &Path) -> Option<PathBuf> {
    let saved = checkpoint::Saved::read(&data.join(NEW_FOLDER)).ok()??;
    checkpoint::rejects_of(&saved.about).map(PathBuf::from)
}

/// Whether an import into the database in `data` was interrupted and can go on.
pub fn can_resume(data: &Path) -> bool {
    checkpoint::exists(&data.join(NEW_FOLDER))
}

/// The checkpoint to resume from; `None` if the options do not resume, or there is none. `about`
/// describes the present import, or says why its source cannot be read again.
fn saved(
    folder: &Path,
    options: &ImportOptions,
    about: Result<&str, &String>,
) -> Result<Option<checkpoint::Saved>, Failure> {
    if !options.resume {
        return Ok(None);
    }
    let about =
        about.map_err(|reason| Failure::Input(format!("{reason}; it cannot be resumed")))?;
    let Some(saved) = checkpoint::Saved::read(folder)? else {
        return Ok(None);
    };
    if !checkpoint::exists(folder) {
        return Err(Failure::Input(
            "the interrupted import had come to its end: its entries are in the database"
                .to_owned(),
        ));
    }
    if saved.about != about {
        return Err(Failure::Input(format!(
            "the interrupted import was another one; expected\n{}\ncame\n{about}\nImport without \
             --resume to give it up",
            saved.about.trim_end()
        )));
    }
    Ok(Some(saved))
}

/// A folder of this import inside a folder shared with others; removed on drop.
struct Temporary {
    folder: PathBuf,
    /// Whether the folder is kept, for resuming the import.
    keep: bool,
}

impl Temporary {
    /// Creates the folder and records its path in the new database's folder, so that abandoning the
    /// import removes both.
    fn new(within: &Path, new: &Path) -> Result<Temporary, Failure> {
        let made = make_temporary(within).and_then(|own| {
            private::create_folders(new)?;
            private::write(&new.join(TEMPORARY_NOTE), own.as_os_str().as_bytes())?;
            Ok(own)
        });
        let failed =
            |error| Failure::file(format!("making a folder in {}", within.display()), error);
        Ok(Temporary::again(made.map_err(failed)?))
    }

    /// The folder of an interrupted import.
    fn again(folder: PathBuf) -> Temporary {
        Temporary {
            folder,
            keep: false,
        }
    }
}

/// Creates a folder with an unused name: process ids recur, in containers frequently.
fn make_temporary(within: &Path) -> std::io::Result<PathBuf> {
    private::create_folders(within)?;
    let within = std::path::absolute(within)?;
    let mut number = 0_u64;
    loop {
        let own = within.join(format!("{TEMPORARY_NAME}{}-{number}", std::process::id()));
        match private::create_folder(&own) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => number += 1,
            made => return made.map(|()| own),
        }
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // A folder that cannot be removed does no harm, and the import's result is decided already.
        if !self.keep {
            let _ = std::fs::remove_dir_all(&self.folder);
        }
    }
}

/// Replaces the old database by the new one.
fn swap(data: &Path, folder: &Path) -> Result<(), Failure> {
    let (new, old) = (
        folder.join(store::DATABASE_FILE),
        data.join(store::DATABASE_FILE),
    );
    let swapped = std::fs::rename(new, old)
        .and_then(|()| std::fs::File::open(data))
        .and_then(|folder| folder.sync_all());
    swapped.map_err(|error| Failure::file("putting the new database in place", error))?;
    // The database is in place; if the empty folder remains, the next start removes it.
    let _ = std::fs::remove_dir_all(folder);
    Ok(())
}
