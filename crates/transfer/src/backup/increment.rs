//! Increments of a backup: the changes since the backup was made, each range of changes in a file.

use super::copying::{ZSTD_LEVEL, file, time_now};
use super::hashing::{Hashed, HashingReader, HashingWriter};
use super::manifest::{Increment, Manifest, Place, hexadecimal};
use crate::meter::Meter;
use replica::changes::{self, Frame, Reader};
use replica::partial::Partial;
use state::stop::Failure;
use std::fs::{self, File, TryLockError};
use std::io::{BufReader, BufWriter, Write};
use std::path::Path;
use store::Store;

/// Advice in errors about a backup of another node or history.
const ADVICE: &str = ": make a full backup, and add increments to that one";

/// Maximum number of bytes that an increment of a backup takes.
pub(super) fn bytes(store: &Store, backup: &Path) -> Result<u64, Failure> {
    let after = Manifest::read(backup)?.last_position();
    let folder = changes::folder(store.folder());
    changes::bytes_after(&folder, after).map_err(file(&folder))
}

/// Adds the changes since the last increment to a backup; `None` if there are none.
pub(super) fn extend(
    store: &Store,
    backup: &Path,
    meter: &Meter,
) -> Result<Option<Increment>, Failure> {
    if backup.is_file() {
        return Err(Failure::Input(format!(
            "{}: expected a folder: a backup that is one file stays as it is",
            backup.display()
        )));
    }
    let _alone = alone(backup)?;
    let mut manifest = Manifest::read(backup)?;
    remove_leftovers(backup, &manifest)?;
    let after = manifest.last_position();
    let made = time_now();
    let Place { position, digest } = Place::newest(store)?;
    if position < after {
        return Err(Failure::Input(format!(
            "{}: expected a backup of this node: it goes up to position {after}, the node's \
             database only to {position}{ADVICE}",
            backup.display()
        )));
    }
    if position == after {
        require_same_history(backup, &manifest, Some(digest))?;
        return Ok(None);
    }
    let mut reader = Reader::open(&changes::folder(store.folder()), after)?;
    let mut next = || reader.next_up_to(position, store.is_beside());
    let first = next()?;
    let before = first.as_ref().and_then(Frame::digest);
    require_same_history(backup, &manifest, before)?;
    let name = format!("changes-{:020}-{position:020}.zst", after + 1);
    let path = backup.join(&name);
    let partial = Partial::file(&path)?;
    let (bytes, stored) = write(first, next, &partial, meter)?;
    partial.take_name()?;
    let increment = Increment {
        file: name,
        after,
        position,
        digest: Some(digest),
        made,
        bytes: Some(bytes),
        stored,
    };
    manifest.increments.push(increment.clone());
    manifest.write(backup)?;
    Ok(Some(increment))
}

/// Locks a backup until the file is dropped, so that other processes neither add to the backup nor
/// remove the unfinished increment.
fn alone(backup: &Path) -> Result<File, Failure> {
    let folder = File::open(backup).map_err(file(backup))?;
    match folder.try_lock() {
        // Without file locks the increment is made unlocked.
        Ok(()) | Err(TryLockError::Error(_)) => Ok(folder),
        Err(TryLockError::WouldBlock) => Err(Failure::Input(format!(
            "{}: another increment is being added; try again when it has ended",
            backup.display()
        ))),
    }
}

/// Removes files of increments that the manifest does not name: killed processes left them.
fn remove_leftovers(backup: &Path, manifest: &Manifest) -> Result<(), Failure> {
    for entry in fs::read_dir(backup).map_err(file(backup))? {
        let name = entry.map_err(file(backup))?.file_name();
        let Some(name) = name.to_str() else {
            continue;
        };
        let is_increment = name.strip_prefix("changes-").is_some_and(|it| {
            let numbers = it.trim_end_matches(".partial").strip_suffix(".zst");
            numbers.is_some_and(|it| it.bytes().all(|it| it.is_ascii_digit() || it == b'-'))
        });
        let is_named = manifest.increments.iter().any(|it| it.file == name);
        if is_increment && !is_named {
            let path = backup.join(name);
            fs::remove_file(&path).map_err(file(&path))?;
        }
    }
    Ok(())
}

/// Refuses changes of another history: after a restore to an earlier moment, other changes have
/// equal positions. `digest` is the digest of the node's state before the first change; `None` if
/// it is not recorded.
fn require_same_history(
    backup: &Path,
    manifest: &Manifest,
    digest: Option<u128>,
) -> Result<(), Failure> {
    match (manifest.last_digest(), digest) {
        (Some(expected), Some(found)) if expected != found => Err(Failure::Input(format!(
            "{}: expected a backup of what this node has now: at position {} it has the digest {}, \
             the node had {}; the node was restored or its database replaced since, or the backup \
             is another node's{ADVICE}",
            backup.display(),
            manifest.last_position(),
            hexadecimal(expected),
            hexadecimal(found)
        ))),
        _ => Ok(()),
    }
}

/// Writes the first change and the following ones. Returns their length in bytes, and length and
/// hash of the compressed file.
fn write(
    first: Option<Frame>,
    mut next: impl FnMut() -> Result<Option<Frame>, Failure>,
    to: &Partial,
    meter: &Meter,
) -> Result<(u64, Hashed), Failure> {
    let path = to.path();
    let output = HashingWriter::new(to.content());
    let encoder = zstd::Encoder::new(output, ZSTD_LEVEL).map_err(file(path))?;
    let mut encoder = BufWriter::with_capacity(1 << 20, encoder);
    let (mut bytes, mut length) = (Vec::new(), 0);
    let mut coming = first;
    while let Some(frame) = coming {
        meter.check()?;
        bytes.clear();
        Frame::encode(&frame.content, &frame.outcome, &mut bytes);
        encoder.write_all(&bytes).map_err(file(path))?;
        length += bytes.len() as u64;
        meter.add_bytes(bytes.len() as u64);
        coming = next()?;
    }
    let encoder = encoder
        .into_inner()
        .map_err(|it| file(path)(it.into_error()))?;
    let (_, stored) = encoder.finish().map_err(file(path))?.finish();
    Ok((length, stored))
}

/// Reader of the records of an increment. After the last record the file is compared with the
/// manifest.
pub(super) struct Records {
    path: std::path::PathBuf,
    expected: Hashed,
    decoder: Option<zstd::Decoder<'static, BufReader<HashingReader<File>>>>,
}

impl Records {
    pub fn open(backup: &Path, increment: &Increment) -> Result<Records, Failure> {
        let path = backup.join(&increment.file);
        let content = HashingReader::new(File::open(&path).map_err(file(&path))?);
        let decoder = zstd::Decoder::new(content).map_err(file(&path))?;
        Ok(Records {
            path,
            expected: increment.stored,
            decoder: Some(decoder),
        })
    }

    /// The next record; `None` after the last.
    ///
    /// # Errors
    /// The file cannot be read, or differs from the manifest.
    pub fn next(&mut self) -> Result<Option<Frame>, Failure> {
        let Some(decoder) = &mut self.decoder else {
            return Ok(None);
        };
        let frame = Frame::read(decoder).map_err(file(&self.path))?;
        if frame.is_none() {
            self.finish()?;
        }
        Ok(frame)
    }

    fn finish(&mut self) -> Result<(), Failure> {
        let Some(decoder) = self.decoder.take() else {
            return Ok(());
        };
        let mut rest = decoder.finish();
        std::io::copy(&mut rest, &mut std::io::sink()).map_err(file(&self.path))?;
        let found = rest.into_inner().finish();
        if found == self.expected {
            return Ok(());
        }
        Err(Failure::Input(format!(
            "{}: the file is damaged: expected {}, found {found}",
            self.path.display(),
            self.expected
        )))
    }
}
