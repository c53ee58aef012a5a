//! Bulk import: entries from files or a generator into a node's data folder, without the server.
//!
//! The new database is built beside the old one and takes its place by one rename, so a crash at
//! any moment leaves the old one untouched or the new one whole. The old database's entries,
//! `cn=config` among them, go through the same pipeline first. What is small beside the old
//! database is added to it by one transaction instead, see `target.rs`.
//!
//! ```text
//! source ─pieces─▶ workers: parse, check, encode, index ─in input order─▶ sequencer ─▶ store
//! ```
//!
//! Invariants:
//! - ids follow the order of the input, parents before children, whatever the number of threads;
//! - memory does not grow with the input, but for 20 to 40 bytes an entry to know names again; what
//!   is sorted, and entries that wait for their superiors, go to files.

mod aside;
mod attributes;
pub(crate) mod checkpoint;
mod contexts;
mod entry;
mod finish;
mod holders;
mod kept;
mod known;
pub(crate) mod line;
mod links;
mod meter;
mod names;
mod pipeline;
mod plan;
mod rejects;
mod rulebook;
mod schema_in_use;
mod sequencer;
mod sink;
mod source;
mod stamps;
mod stored;
mod table;
mod target;
mod urls;
mod verdict;
mod work;
mod worker;

use crate::clock::{Clock, SystemClock};
use crate::recover;
use policy::password::Scheme;
use state::stop::Failure;
use std::ffi::OsStr;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use store::private;

pub use contexts::MissingContext;
pub use meter::Meter;
pub(crate) use source::{BerPiece, BerPieces, after_element, read_request};
pub use source::{Content, EntrySink, Files, Format, Piece, Source};

/// The folder in the data folder where a new database is built.
const NEW_FOLDER: &str = "import";

/// What names of folders for sorting begin with, and the file in the new database's folder that
/// says where this import has one.
const TEMPORARY_NAME: &str = "pando-import-";
const TEMPORARY_NOTE: &str = "temporary";

/// Memory for sorting unless something else is said.
const MEMORY_BYTES: usize = 1 << 30;

/// Where an import writes. The entries are the same afterwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WrittenTo {
    /// Into the database that is there when the input is small beside it, into a new one otherwise.
    #[default]
    Fitting,
    /// Into a new database, which takes the place of the old one.
    New,
    /// Into the database that is there, however large the input is. A new one is made all the same
    /// where values are under rules or an index is not complete.
    Old,
}

/// How entries are imported.
#[derive(Clone)]
pub struct ImportOptions {
    /// Threads that parse and encode; 0: one per core.
    pub threads: usize,
    /// Check values against their syntaxes and entries against their classes.
    pub check_schema: bool,
    /// Create missing entries above the first ones of a naming context.
    pub create_superiors: bool,
    /// Create naming contexts that are not configured, for entries outside those that are.
    pub create_contexts: bool,
    /// Read values that LDIF gives as `file:` URLs. Whoever wrote it chooses which files.
    pub file_urls: bool,
    /// Hash passwords that stand in the clear, under this scheme.
    pub hash_passwords: Option<Scheme>,
    /// Bytes of memory for what has to be sorted; the rest goes to files.
    pub memory: usize,
    /// Time between checkpoints, from which an interrupted import can go on; none without it. Only
    /// imports of files and templates make any.
    pub checkpoint: Option<Duration>,
    /// Go on from the last checkpoint of the same import, if there is one.
    pub resume: bool,
    /// The folder for those files and for entries that wait for their superiors; the data folder
    /// without one.
    pub temporary: Option<PathBuf>,
    /// Where rejected entries go; the file is made when there is one.
    pub rejects: PathBuf,
    /// Where entries are written.
    pub place: WrittenTo,
    /// Bytes of the input, about; `None` when nobody knows.
    pub input_bytes: Option<u64>,
    /// Where time and identifiers come from.
    pub clock: Arc<dyn Clock>,
}

impl ImportOptions {
    /// All cores, everything checked, rejects into this file.
    pub fn new(rejects: PathBuf) -> ImportOptions {
        ImportOptions {
            threads: 0,
            check_schema: true,
            create_superiors: true,
            create_contexts: false,
            file_urls: false,
            hash_passwords: None,
            memory: MEMORY_BYTES,
            checkpoint: None,
            resume: false,
            temporary: None,
            rejects,
            place: WrittenTo::Fitting,
            input_bytes: None,
            clock: Arc::new(SystemClock),
        }
    }
}

/// What an import did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Imported {
    /// Entries of the input that are in the database now.
    pub entries: u64,
    /// Entries of the input that were rejected; the rejects file holds them.
    pub rejected: u64,
    /// Entries that were created above the imported ones.
    pub created: u64,
    /// Streams of add requests that could not be read to their end: where each broke off, and why.
    pub broken: Vec<String>,
    /// Naming contexts added to the configuration.
    pub contexts: Vec<String>,
    /// Naming contexts that rejected entries ask for and the configuration does not list, some at
    /// most.
    pub missing_contexts: Vec<MissingContext>,
    /// Attribute types of the database, by name, that look like secrets and are not marked so.
    pub look_alikes: Vec<String>,
    /// Entries there are now, configuration included.
    pub total: u64,
    /// The state digest, 32 hexadecimal digits.
    pub digest: String,
    /// Bytes of the database file.
    pub bytes: u64,
}

/// Imports what the source holds into the database in `data`.
///
/// # Errors
/// There is no database, or a server has it open; the source cannot be read; the disk is full; or
/// it was cancelled. The old database is untouched then.
pub fn import(
    data: &Path,
    source: Box<dyn Source>,
    options: &ImportOptions,
    meter: &Meter,
) -> Result<Imported, Failure> {
    // Open until the end: it holds the folder's lock, and readers stream the old entries.
    // It needs no log of its own now, so none outlives it when the new one takes its place.
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
        .and_then(|written| finish::finish(&plan, &old, written))
        .and_then(|imported| {
            match keeps_old {
                // Empty, and removed by the next start should it stay.
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
        // What is left is found and removed by the next start.
        let _ = std::fs::remove_dir_all(&folder);
    }
    done
}

/// Where the import that was interrupted puts its rejected entries; `None` if there is none to go
/// on with.
pub fn interrupted_rejects(data: &Path) -> Option<PathBuf> {
    let saved = checkpoint::Saved::read(&data.join(NEW_FOLDER)).ok()??;
    checkpoint::rejects_of(&saved.about).map(PathBuf::from)
}

/// Whether an import into the database in `data` was interrupted and can go on.
pub fn can_resume(data: &Path) -> bool {
    checkpoint::exists(&data.join(NEW_FOLDER))
}

/// The checkpoint to go on from, if that is wanted and there is one.
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

/// A folder of this import's own in a folder that others use too; removed with everything in it.
struct Temporary {
    folder: PathBuf,
    /// It is not removed: an import may go on with it.
    keep: bool,
}

impl Temporary {
    /// Makes one, and notes in the folder of the new database where it is: whoever gives this
    /// import up removes both.
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

    /// The folder of an import that was interrupted.
    fn again(folder: PathBuf) -> Temporary {
        Temporary {
            folder,
            keep: false,
        }
    }
}

/// Makes a folder that nobody else has: process ids come again, in containers all the time.
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
        // What cannot be removed is of no harm, and the import is whole or has failed already.
        if !self.keep {
            let _ = std::fs::remove_dir_all(&self.folder);
        }
    }
}

/// Removes what an import that did not come to its end has left behind.
pub(crate) fn remove_leftovers(data: &Path) -> Result<(), Failure> {
    let folder = data.join(NEW_FOLDER);
    remove_temporary(&folder);
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(Failure::file(
            "removing what an interrupted import left",
            error,
        )),
        _ => Ok(()),
    }
}

/// Removes the folder for sorting that is noted in the folder of a new database.
fn remove_temporary(folder: &Path) {
    let Ok(noted) = std::fs::read(folder.join(TEMPORARY_NOTE)) else {
        return;
    };
    let temporary = Path::new(OsStr::from_bytes(&noted));
    let name = temporary.file_name().unwrap_or_default();
    if !name.as_bytes().starts_with(TEMPORARY_NAME.as_bytes()) {
        return;
    }
    match std::fs::remove_dir_all(temporary) {
        // It takes room where nobody may look for it, and does no other harm.
        Err(error) if error.kind() != ErrorKind::NotFound => {
            let folder = temporary.display();
            tracing::warn!(%folder, %error, "what an interrupted import left cannot be removed");
        }
        _ => {}
    }
}

/// Puts the new database in the old one's place.
fn swap(data: &Path, folder: &Path) -> Result<(), Failure> {
    let (new, old) = (
        folder.join(store::DATABASE_FILE),
        data.join(store::DATABASE_FILE),
    );
    let swapped = std::fs::rename(new, old)
        .and_then(|()| std::fs::File::open(data))
        .and_then(|folder| folder.sync_all());
    swapped.map_err(|error| Failure::file("putting the new database in place", error))?;
    // The database is in place; an empty folder left behind is removed by the next start.
    let _ = std::fs::remove_dir_all(folder);
    Ok(())
}
