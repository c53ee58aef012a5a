//! Backups in one file: the compressed database, followed by the other files of a backup's folder.
//!
//! The end is a skippable frame of zstd, so that `zstd -d` makes the database of the file. The
//! frame holds the manifest, the settings, the lengths of both (4 bytes each, little-endian) and a
//! mark.

use super::copying::file;
use super::manifest::{Manifest, wrong};
use state::stop::Failure;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

/// First bytes of a skippable frame, before the length of its content.
const FRAME: [u8; 4] = 0x184D_2A50_u32.to_le_bytes();
/// Last bytes of a backup.
const MARK: &[u8; 8] = b"pandobk2";
/// Bytes of the lengths and the mark.
const TAIL_BYTES: usize = 16;
/// Maximum bytes of the manifest, and of the settings.
const PART_BYTES_MAX: u32 = 16 << 20;

/// The content behind the database.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct End {
    pub manifest: String,
    pub settings: Vec<u8>,
}

impl End {
    /// Parses the content of the frame at the end of a backup; `None` if the bytes are another
    /// content.
    pub fn parse(content: &[u8]) -> Option<End> {
        let (rest, tail) = content.split_at_checked(content.len().checked_sub(TAIL_BYTES)?)?;
        let [manifest, settings] = lengths(tail.try_into().ok()?)?;
        if rest.len() != manifest + settings {
            return None;
        }
        let (manifest, settings) = rest.split_at(manifest);
        Some(End {
            manifest: String::from_utf8(manifest.to_vec()).ok()?,
            settings: settings.to_vec(),
        })
    }

    /// The manifest; `name` appears in errors.
    pub(super) fn manifest(&self, name: &Path) -> Result<Manifest, Failure> {
        let manifest = Manifest::parse(&self.manifest);
        let manifest = manifest.map_err(|error| wrong(name, &error))?;
        manifest.require_settings(name, &self.settings)?;
        Ok(manifest)
    }

    /// The content of the frame.
    pub fn content(&self) -> Vec<u8> {
        let lengths = [self.manifest.len() as u32, self.settings.len() as u32];
        let mut content = self.manifest.as_bytes().to_vec();
        content.extend_from_slice(&self.settings);
        lengths
            .iter()
            .for_each(|it| content.extend_from_slice(&it.to_le_bytes()));
        content.extend_from_slice(MARK);
        content
    }

    /// A frame with this content, which zstd skips.
    pub fn frame(content: &[u8]) -> Vec<u8> {
        let mut frame = FRAME.to_vec();
        frame.extend_from_slice(&(content.len() as u32).to_le_bytes());
        frame.extend_from_slice(content);
        frame
    }

    /// Reads the content behind the database from a stream, which must end there.
    pub fn read(from: &mut impl Read, name: &Path) -> Result<End, Failure> {
        let expected = |what: &str, came: &str| {
            let name = name.display();
            Failure::Input(format!("{name}: expected {what}, got {came}"))
        };
        let ended = |error: io::Error| match error.kind() {
            io::ErrorKind::UnexpectedEof => expected("the end of a backup", "no more"),
            _ => file(name)(error),
        };
        let other = || expected("the end of a backup", "something else");
        let mut head = [0; 8];
        from.read_exact(&mut head).map_err(ended)?;
        let [a, b, c, d, length @ ..] = head;
        let length = u32::from_le_bytes(length);
        if [a, b, c, d] != FRAME || length > 2 * PART_BYTES_MAX + TAIL_BYTES as u32 {
            return Err(other());
        }
        let mut content = vec![0; length as usize];
        from.read_exact(&mut content).map_err(ended)?;
        let end = End::parse(&content).ok_or_else(other)?;
        // One more byte proves that the stream does not end here; the length of the rest is
        // unknown.
        let more = io::copy(&mut from.take(1), &mut io::sink());
        match more.map_err(file(name))? {
            0 => Ok(end),
            _ => Err(expected("nothing behind the backup", "more")),
        }
    }
}

/// Lengths of manifest and settings, from the last bytes of a backup; `None` without the mark.
fn lengths(tail: [u8; TAIL_BYTES]) -> Option<[usize; 2]> {
    let [a, b, c, d, e, f, g, h, mark @ ..] = tail;
    let lengths = [[a, b, c, d], [e, f, g, h]].map(u32::from_le_bytes);
    let is_ours = mark == *MARK && lengths.iter().all(|it| *it <= PART_BYTES_MAX);
    is_ours.then(|| lengths.map(|it| it as usize))
}

/// Writes the content behind the database.
pub(crate) fn write_end(
    manifest: &Manifest,
    settings: &[u8],
    out: &mut impl Write,
    name: &Path,
) -> Result<(), Failure> {
    let end = End {
        manifest: manifest.text(name)?,
        settings: settings.to_vec(),
    };
    let written = out
        .write_all(&End::frame(&end.content()))
        .and_then(|()| out.flush());
    written.map_err(file(name))
}

/// The manifest of a backup of one file.
pub(super) fn manifest_of(backup: &Path) -> Result<Manifest, Failure> {
    read_end(backup)?.manifest(backup)
}

/// The settings in a backup of one file; empty if there are none.
///
/// # Errors
/// The file is no backup, or cannot be read.
pub fn settings_of(backup: &Path) -> Result<Vec<u8>, Failure> {
    Ok(read_end(backup)?.settings)
}

fn read_end(backup: &Path) -> Result<End, Failure> {
    let wrong = || {
        Failure::Input(format!(
            "{} is not a Pando backup, or its end is missing",
            backup.display()
        ))
    };
    let mut from = File::open(backup).map_err(file(backup))?;
    end_of(&mut from).map_err(file(backup))?.ok_or_else(wrong)
}

/// The content at the end of a backup of one file; `None` if the file is no backup.
pub(crate) fn end_of(from: &mut (impl Read + Seek)) -> io::Result<Option<End>> {
    let length = from.seek(SeekFrom::End(0))?;
    let Some(tail_at) = length.checked_sub(TAIL_BYTES as u64) else {
        return Ok(None);
    };
    let mut tail = [0; TAIL_BYTES];
    from.seek(SeekFrom::Start(tail_at))?;
    from.read_exact(&mut tail)?;
    let Some([manifest, settings]) = lengths(tail) else {
        return Ok(None);
    };
    let Some(begin) = tail_at.checked_sub((manifest + settings) as u64) else {
        return Ok(None);
    };
    let mut content = vec![0; manifest + settings + TAIL_BYTES];
    from.seek(SeekFrom::Start(begin))?;
    from.read_exact(&mut content)?;
    Ok(End::parse(&content))
}
