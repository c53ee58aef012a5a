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

/// Bits of a set's place in the load; the rest of a word holds the member.
const PLACE_BITS: u32 = 28;
const PLACE_MASK: u64 = (1 << PLACE_BITS) - 1;

/// Links collected until they can be written in the order of their tables: 8 bytes for each link
/// and some 150 for each set, which go to files beyond the limit of memory, and texts, which stay
/// in memory.
#[derive(Debug, Default)]
pub(super) struct Links {
    /// By their places.
    sets: Vec<SetId>,
    /// Member and place of the set, as one number in the order of rows.
    reverse: Vec<u64>,
    /// The same in files.
    reverse_runs: Runs,
    /// Rows of `linkset` that say whose sets are.
    rows: Keys,
    texts: Texts,
}

/// Texts that are members: there may be many millions.
#[derive(Debug, Default)]
struct Texts {
    /// Their ids, ascending, and where their rows end.
    ends: Vec<(EntryId, usize)>,
    rows: Vec<u8>,
    /// The keys that lead to them.
    hashes: Vec<rows::HashKey>,
}

impl Links {
    /// Bytes of memory of what can go to files.
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
