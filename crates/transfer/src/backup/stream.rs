//! Reads a backup of one file from a stream, whose manifest comes at the end.

use super::copying::{copy, file};
use super::hashing::{HashingReader, HashingWriter};
use super::manifest::Manifest;
use super::single::End;
use crate::meter::Meter;
use state::stop::Failure;
use std::io::{self, BufRead, ErrorKind, Write};
use std::path::Path;
use store::{PageWriter, private};

/// A stream with a backup of one file.
pub struct BackupStream<'n, R> {
    /// The stream, which ends with the backup.
    pub from: R,
    /// Name of the stream in errors.
    pub name: &'n Path,
}

/// First bytes of a compressed database.
const MAGIC: [u8; 4] = 0xFD2F_B528_u32.to_le_bytes();
/// Bytes left free on the file system, because the length of the stream is unknown.
const SPARE_BYTES: u64 = 64 << 20;

/// Decompresses the database in a stream into a file, and compares it with the manifest at the end
/// of the stream. Returns the manifest and the settings.
///
/// # Errors
/// Reading or writing fails; [`Failure::Input`] if the stream is no backup, is incomplete, or has
/// bytes behind its end. The written file is then useless.
pub(super) fn unpack(
    mut from: impl BufRead,
    name: &Path,
    target: &Path,
    meter: &Meter,
) -> Result<(Manifest, Vec<u8>), Failure> {
    require_backup(&mut from, name)?;
    let stored = HashingReader::new(from);
    let decoder = zstd::Decoder::with_buffer(stored).map_err(file(name))?;
    let mut decoder = decoder.single_frame();
    let output = Spared::create(target).map_err(file(target))?;
    let mut output = HashingWriter::new(output);
    copy(&mut decoder, &mut output, name, target, meter).map_err(|failure| match failure {
        Failure::File { source, .. } if source.kind() == ErrorKind::UnexpectedEof => {
            expected(name, "a whole backup", "an early end")
        }
        failure => failure,
    })?;
    let (mut from, stored) = decoder.finish().into_parts();
    let (output, database) = output.finish();
    let end = End::read(&mut from, name)?;
    let manifest = end.manifest(name)?;
    manifest.require(name, stored, database)?;
    output.file.sync().map_err(file(target))?;
    Ok((manifest, end.settings))
}

/// Refuses a stream that does not begin as a compressed database, before anything is written.
fn require_backup(from: &mut impl BufRead, name: &Path) -> Result<(), Failure> {
    let head = from.fill_buf().map_err(file(name))?;
    // A pipe may have delivered fewer bytes; errors in the remaining bytes are found later.
    let came = head.len().min(MAGIC.len());
    match head.get(..came) {
        Some([]) | None => Err(expected(name, "a backup", "nothing")),
        Some(head) if *head != MAGIC[..came] => {
            Err(expected(name, "a backup as one file", "something else"))
        }
        Some(_) => Ok(()),
    }
}

fn expected(name: &Path, what: &str, came: &str) -> Failure {
    Failure::Input(format!("{}: expected {what}, got {came}", name.display()))
}

/// A file that stops growing when the file system is nearly full.
struct Spared {
    file: PageWriter,
}

impl Spared {
    fn create(path: &Path) -> io::Result<Spared> {
        Ok(Spared {
            file: PageWriter::new(private::create(path)?),
        })
    }
}

impl Write for Spared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let found = rustix::fs::fstatvfs(self.file.file())?;
        let room = found.f_bavail.saturating_mul(found.f_frsize);
        if room < SPARE_BYTES + bytes.len() as u64 {
            let text = format!(
                "expected space for the database and a reserve of {} MiB, got {} MiB",
                SPARE_BYTES >> 20,
                room >> 20
            );
            return Err(io::Error::new(ErrorKind::StorageFull, text));
        }
        self.file.write_all(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}
