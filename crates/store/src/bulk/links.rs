//! Links in a bulk load: the sets of members, collected until they can be written in the order of
//! their tables.

pub(super) mod load;

use std::path::Path;

use super::keys::Keys;
use super::runs::Runs;
use crate::error::Error;
use crate::id::EntryId;
use crate::link::{SetId, rows};
use crate::private;

/// Bits of a word that hold the set's index in `sets`; the rest hold the member.
const PLACE_BITS: u32 = 28;
const PLACE_MASK: u64 = (1 << PLACE_BITS) - 1;

/// Links collected until they are written in the order of their tables: 8 bytes for each link and
/// some 150 for each set, which go to files beyond the memory limit, and member texts, which stay
/// in memory.
#[derive(Debug, Default)]
pub(super) struct Links {
    /// Set ids; other fields refer to a set by its index here.
    sets: Vec<SetId>,
    /// Member and set index of each link as one number, in the order of rows of `linked`.
    reverse: Vec<u64>,
    /// Links moved to files, in the form of `reverse`.
    reverse_runs: Runs,
    /// Rows of `linkset` that name the owners of sets.
    rows: Keys,
    texts: Texts,
}

/// Texts that are members; there may be many millions of them.
#[derive(Debug, Default)]
struct Texts {
    /// Ids of the texts, ascending, and the ends of their rows in `rows`.
    ends: Vec<(EntryId, usize)>,
    rows: Vec<u8>,
    /// Keys that lead from a normal form to a text.
    hashes: Vec<rows::HashKey>,
}

impl Links {
    /// Bytes of memory that can be moved to files.
    pub(super) fn memory(&self) -> usize {
        self.reverse.capacity() * size_of::<u64>() + self.rows.0.memory()
    }

    fn put_row(&mut self, key: &[u8], value: &[u8]) {
        let rows = &mut self.rows.0;
        rows.add(0, &[key, value], key.len(), 0);
    }

    /// Moves sets and links into sorted files of `folder`.
    pub(super) fn spill(&mut self, folder: &Path) -> Result<(), Error> {
        private::create_folders(folder).map_err(Error::system("making a folder for sorting"))?;
        let Links {
            reverse,
            reverse_runs,
            rows: (rows, row_runs),
            ..
        } = self;
        rows.sort();
        rows.spill(row_runs, folder, "sets")?;
        let mut reverse = std::mem::take(reverse);
        if reverse.is_empty() {
            return Ok(());
        }
        reverse.sort_unstable();
        reverse_runs.add(folder, "links", |out| {
            let mut links = reverse.iter();
            links.try_for_each(|it| out.put(&it.to_be_bytes(), &[]))
        })
    }
}
