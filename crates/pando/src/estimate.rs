//! Estimates the size of an import before it begins.

use crate::report::{Problem, note};
use crate::room;
use indicatif::HumanBytes;
use load::template::{Attribute, GenerateError, Generator};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Number of places in a template's entries that are sampled, and number of entries at each.
const PLACES: u64 = 8;
const LOOKED_AT: u64 = 8;
/// Approximate bytes of an entry's row and index keys besides its name and values, such as
/// `entryUUID`.
const ENTRY_BYTES: u64 = 400;
/// Approximate bytes of a value of a `<loop>`, usually a member.
const LOOPED_BYTES: u64 = 16;
/// Entries may take less than estimated, large groups above all, but at least this part.
const LEAST_PART: u64 = 4;

/// First octets of gzip and zstd files, whose lengths say nothing about their contents.
const PACKED: [&[u8]; 2] = [&[0x1F, 0x8B], &[0x28, 0xB5, 0x2F, 0xFD]];

/// Approximate bytes of a template's entries in a database; `None` if no entry can be made.
pub fn of_template(generator: &Generator) -> Option<u64> {
    let total = generator.total_entries();
    let (mut entries, mut bytes) = (0_u64, 0_u64);
    for place in 0..PLACES {
        let from = (u128::from(total) * u128::from(place) / u128::from(PLACES)) as u64;
        let to = (from + LOOKED_AT).min(total);
        let looked = generator.generate_range(from, to, |entry| -> Result<(), GenerateError> {
            entries += 1;
            bytes += ENTRY_BYTES + entry.dn().len() as u64;
            bytes += entry.attributes().map(|it| bytes_of(&it)).sum::<u64>();
            Ok(())
        });
        looked.ok()?;
    }
    let each = bytes.checked_div(entries)?;
    Some(each.saturating_mul(total))
}

fn bytes_of(attribute: &Attribute<'_>) -> u64 {
    let value = attribute.first().map_or(LOOPED_BYTES, |it| it.len() as u64);
    value.saturating_mul(attribute.value_count())
}

/// Approximate bytes of the files' entries in a database: the length of the files. `None` for FIFOs
/// and compressed files, whose contents are unknown.
pub fn of_files(files: &[PathBuf]) -> Option<u64> {
    files.iter().map(|path| plain_bytes(path)).sum()
}

fn plain_bytes(path: &Path) -> Option<u64> {
    let found = std::fs::metadata(path).ok().filter(|it| it.is_file())?;
    let mut begin = Vec::new();
    let longest = PACKED.iter().map(|it| it.len()).max().unwrap_or(0);
    let file = File::open(path).ok()?;
    file.take(longest as u64).read_to_end(&mut begin).ok()?;
    let is_packed = PACKED.iter().any(|it| begin.starts_with(it));
    (!is_packed).then_some(found.len())
}

/// Compares the size of the new database with the free room: refuses an import that cannot fit, and
/// warns of one that may not. The new database is built beside the old one and includes its
/// entries.
pub fn require_room(data: &Path, entries: u64) -> Result<(), Problem> {
    let old = std::fs::metadata(data.join(store::DATABASE_FILE)).map_or(0, |it| it.len());
    let (needed, free) = (entries.saturating_add(old), room::free(data)?);
    if needed <= free {
        return Ok(());
    }
    let said = format!(
        "{}: the import needs about {}, {} are free",
        data.display(),
        HumanBytes(needed),
        HumanBytes(free)
    );
    if entries / LEAST_PART > free {
        return Err(Problem::failed(format_args!(
            "{said}; the import was not begun"
        )));
    }
    note(format_args!(
        "pando: {said}; the import continues until the disk is full"
    ));
    Ok(())
}
