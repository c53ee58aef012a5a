//! A backup as one file: the compressed database, then what a folder has beside it.
//!
//! The end is a skippable frame of zstd, so that `zstd -d` makes the database of the file. It holds
//! the manifest, the settings, the lengths of both (4 bytes each, little-endian) and a mark.

use super::file;
use super::manifest::Manifest;
use crate::stop::Failure;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

/// What a skippable frame begins with, before the length of its content.
const FRAME: [u8; 4] = 0x184D_2A50_u32.to_le_bytes();
/// The last bytes of a backup.
const MARK: &[u8; 8] = b"pandobk2";
/// Lengths and mark.
const TAIL_BYTES: usize = 16;
/// More than manifest and settings take.
const PART_BYTES_MAX: u32 = 16 << 20;

/// What stands behind the database.
pub(super) struct End {
    pub manifest: String,
    pub settings: Vec<u8>,
}

/// Writes what stands behind the database.
pub(super) fn write_end(
    manifest: &Manifest,
    settings: &[u8],
    out: &mut impl Write,
    name: &Path,
) -> Result<(), Failure> {
    let manifest = manifest.text(name)?;
    let lengths = [manifest.len() as u32, settings.len() as u32];
    let content = manifest.len() + settings.len() + TAIL_BYTES;
    let mut end = Vec::with_capacity(content + 8);
    end.extend_from_slice(&FRAME);
    end.extend_from_slice(&(content as u32).to_le_bytes());
    end.extend_from_slice(manifest.as_bytes());
    end.extend_from_slice(settings);
    lengths
        .iter()
        .for_each(|it| end.extend_from_slice(&it.to_le_bytes()));
    end.extend_from_slice(MARK);
    let written = out.write_all(&end).and_then(|()| out.flush());
    written.map_err(file(name))
}

/// The manifest of a backup that is one file.
pub(super) fn manifest_of(backup: &Path) -> Result<String, Failure> {
    Ok(read_end(backup)?.manifest)
}

/// The settings in a backup that is one file; empty when there are none.
///
/// # Errors
/// It is no such file, or cannot be read.
pub fn settings_of(backup: &Path) -> Result<Vec<u8>, Failure> {
    Ok(read_end(backup)?.settings)
}

fn read_end(backup: &Path) -> Result<End, Failure> {
    let wrong = || {
        Failure::Input(format!(
            "{}: expected a backup: the end of the file is none of one",
            backup.display()
        ))
    };
    let mut from = File::open(backup).map_err(file(backup))?;
    end_of(&mut from).map_err(file(backup))?.ok_or_else(wrong)
}

/// What stands at the end; `None` when that is none of a backup.
pub(super) fn end_of(from: &mut (impl Read + Seek)) -> io::Result<Option<End>> {
    let length = from.seek(SeekFrom::End(0))?;
    let Some(tail_at) = length.checked_sub(TAIL_BYTES as u64) else {
        return Ok(None);
    };
    let mut tail = [0; TAIL_BYTES];
    from.seek(SeekFrom::Start(tail_at))?;
    from.read_exact(&mut tail)?;
    let [a, b, c, d, e, f, g, h, mark @ ..] = tail;
    let lengths = [[a, b, c, d], [e, f, g, h]].map(u32::from_le_bytes);
    if mark != *MARK || lengths.iter().any(|it| *it > PART_BYTES_MAX) {
        return Ok(None);
    }
    let [manifest, settings] = lengths.map(|it| it as usize);
    let Some(begin) = tail_at.checked_sub((manifest + settings) as u64) else {
        return Ok(None);
    };
    let mut content = vec![0; manifest + settings];
    from.seek(SeekFrom::Start(begin))?;
    from.read_exact(&mut content)?;
    let settings = content.split_off(manifest);
    let manifest = String::from_utf8(content).ok();
    Ok(manifest.map(|manifest| End { manifest, settings }))
}
