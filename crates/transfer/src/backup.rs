//! Backups: the whole database as one compressed file, with a manifest that describes it.
//!
//! A backup is a folder with `pando.mdb.zst`, `manifest.toml`, and `pando.toml` if the node has
//! settings. It is made under a temporary name and renamed when it is complete and synced, so a
//! folder with the right name is a complete backup. Increments are further files, which count once
//! the manifest names them. A backup may also be one file, which ends in its manifest
//! (`single.rs`), and a stream (`stream.rs`).

mod copying;
mod hashing;
mod increment;
pub(crate) mod manifest;
mod restore;
mod room;
pub(crate) mod single;
mod stream;
mod verify;

pub use copying::time_now;
pub use manifest::{Increment, Manifest};
pub use restore::{Restored, restore, restore_stream};
pub use room::bytes_to_restore;
pub use single::settings_of;
pub use stream::BackupStream;
pub use verify::{remove_stale_verifications, verify, verify_stream};

use crate::damage::require_sound;
use crate::meter::Meter;
use copying::{CONTENT_FILE, ZSTD_LEVEL, copy, file};
use hashing::{Hashed, HashingReader, HashingWriter};
use manifest::Place;
use replica::partial::Partial;
use replica::recover;
use state::stop::Failure;
use std::fs;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::path::Path;
use store::private;
use store::{Error, Store};

/// A node's database, opened for a backup, with or without a server.
pub struct Source(Store);

impl Source {
    /// Opens the database in a data folder. A database that was not closed is recovered first. If
    /// it is `served`, the backup reads beside the server.
    ///
    /// # Errors
    /// There is no database, it cannot be read, or a process that does not serve it has it open.
    pub fn open(data: &Path, served: bool) -> Result<Source, Failure> {
        Ok(Source(recover::open_to_read(data, served)?))
    }

    /// Maximum size of the backup in bytes.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn bytes(&self) -> Result<u64, Failure> {
        Ok(self.0.sizes()?.0)
    }

    /// Writes the backup into the new folder `to`; `settings` is a file to include, if it exists.
    /// The meter counts bytes of the database.
    ///
    /// # Errors
    /// A file cannot be read or written; [`Failure::Cancelled`]. Nothing is left behind.
    pub fn write(
        &self,
        to: &Path,
        settings: Option<&Path>,
        meter: &Meter,
    ) -> Result<Manifest, Failure> {
        let partial = Partial::folder(to)?;
        require_missing(to, "folder")?;
        let manifest = self.fill(partial.path(), settings, meter)?;
        partial.take_name()?;
        Ok(manifest)
    }

    /// Writes the backup as one file or stream; `settings` is a file to include, if it exists. The
    /// meter counts bytes of the database.
    ///
    /// # Errors
    /// A file cannot be read or written; [`Failure::Cancelled`]. Output written so far is useless.
    pub fn write_to<W: Write>(
        &self,
        to: W,
        name: &Path,
        settings: Option<&Path>,
        meter: &Meter,
    ) -> Result<(W, Manifest), Failure> {
        let made = time_now();
        let place = Place::newest(&self.0)?;
        let (mut to, (database, stored)) = self.compress(to, name, meter)?;
        let mut manifest = Manifest::new(made, place, database, stored);
        let settings = match settings.filter(|it| it.is_file()) {
            Some(settings) => fs::read(settings).map_err(file(settings))?,
            None => Vec::new(),
        };
        manifest.settings = Some(Hashed::of(&settings));
        single::write_end(&manifest, &settings, &mut to, name)?;
        Ok((to, manifest))
    }

    /// Like [`Source::write_to`], into a new file that gets its name when it is complete.
    ///
    /// # Errors
    /// The errors of [`Source::write_to`]. Nothing is left behind.
    pub fn write_file(
        &self,
        to: &Path,
        settings: Option<&Path>,
        meter: &Meter,
    ) -> Result<Manifest, Failure> {
        let partial = Partial::file(to)?;
        require_missing(to, "file")?;
        let content = partial.content();
        let (_, manifest) = self.write_to(content, partial.path(), settings, meter)?;
        partial.take_name()?;
        Ok(manifest)
    }

    /// Maximum number of bytes that [`Source::extend`] adds to a backup.
    ///
    /// # Errors
    /// The folder is no backup, or the kept changes cannot be read.
    pub fn increment_bytes(&self, backup: &Path) -> Result<u64, Failure> {
        increment::bytes(&self.0, backup)
    }

    /// Adds the changes since the last increment to a backup of this node; `None` if there are no
    /// changes.
    ///
    /// # Errors
    /// A file cannot be read or written; [`Failure::Input`] if the folder is no backup of this node
    /// or changes since are missing; [`Failure::Cancelled`]. The backup is then unchanged.
    pub fn extend(&self, backup: &Path, meter: &Meter) -> Result<Option<Increment>, Failure> {
        increment::extend(&self.0, backup, meter)
    }

    /// Writes and syncs the files of a backup.
    fn fill(
        &self,
        folder: &Path,
        settings: Option<&Path>,
        meter: &Meter,
    ) -> Result<Manifest, Failure> {
        let made = time_now();
        // Read before the copy begins, so the copy holds at least this position.
        let place = Place::newest(&self.0)?;
        let path = folder.join(CONTENT_FILE);
        let content = private::create(&path).map_err(file(&path))?;
        let (content, (database, stored)) = self.compress(content, &path, meter)?;
        content.sync_all().map_err(file(&path))?;
        if let Some(settings) = settings.filter(|it| it.is_file()) {
            let name = settings.file_name().unwrap_or_default();
            let copy = folder.join(name);
            let copied = fs::read(settings).and_then(|text| {
                let mut file = private::create(&copy)?;
                file.write_all(&text)?;
                file.sync_all()
            });
            copied.map_err(file(settings))?;
        }
        let manifest = Manifest::new(made, place, database, stored);
        manifest.write(folder)?;
        Ok(manifest)
    }

    /// Compresses the database, which is copied through a pipe.
    fn compress<W: Write>(
        &self,
        content: W,
        path: &Path,
        meter: &Meter,
    ) -> Result<(W, (Hashed, Hashed)), Failure> {
        let (from, into) = io::pipe().map_err(file(path))?;
        std::thread::scope(|scope| {
            let copying = scope.spawn(move || self.0.copy_to(into.as_fd()));
            let reading = scope.spawn(|| require_sound(&self.0, meter));
            let compressed = compress(from, content, path, meter);
            // This end of the pipe is closed by now, so the copying thread ends too.
            let copied = copying.join().map_err(|_| ended("copying"));
            let sound = reading.join().unwrap_or_else(|_| Err(ended("reading")));
            match (compressed, copied) {
                // A broken pipe only follows from an error at the other end.
                (Err(failure), _) | (_, Err(failure)) => Err(failure),
                (_, Ok(Err(error))) => Err(error.into()),
                (Ok(compressed), Ok(Ok(()))) => {
                    self.0.require_same_holder()?;
                    sound.map(|()| compressed)
                }
            }
        })
    }
}

/// The failure for a thread that panicked.
fn ended(doing: &str) -> Failure {
    Failure::Store(Error::Conflict {
        detail: format!("the {doing} thread ended early"),
    })
}

fn compress<W: Write>(
    from: impl Read,
    content: W,
    path: &Path,
    meter: &Meter,
) -> Result<(W, (Hashed, Hashed)), Failure> {
    let mut from = HashingReader::new(from);
    let output = HashingWriter::new(content);
    let mut encoder = zstd::Encoder::new(output, ZSTD_LEVEL).map_err(file(path))?;
    encoder.include_checksum(true).map_err(file(path))?;
    copy(&mut from, &mut encoder, path, path, meter)?;
    let output = encoder.finish().map_err(file(path))?;
    let (content, stored) = output.finish();
    Ok((content, (from.finish(), stored)))
}

fn require_missing(to: &Path, what: &str) -> Result<(), Failure> {
    match to.exists() {
        true => Err(Failure::Input(format!(
            "{}: expected a {what} that does not exist yet",
            to.display()
        ))),
        false => Ok(()),
    }
}
