//! What the old database has of the names in the input, when an import writes into that database:
//! its entries are not read one by one then, so each worker looks up the names in its pieces.

use schema::Name;
use store::{EntryId, Lookup, Snapshot};

/// Names that were found in the old database.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// Entries, by the hashes of their names.
    pub entries: Vec<(u128, EntryId)>,
    /// Texts that are members of groups, by the hashes of the names that they would be.
    pub texts: Vec<(u128, EntryId)>,
}

/// Normal forms of values that may name entries, with the hashes of the names.
#[derive(Debug, Default)]
pub(super) struct Forms {
    bytes: Vec<u8>,
    /// Where each form ends, and its hash.
    ends: Vec<(usize, u128)>,
}

impl Forms {
    /// Adds a form.
    pub fn add(&mut self, form: &[u8], hash: u128) {
        self.bytes.extend_from_slice(form);
        self.ends.push((self.bytes.len(), hash));
    }
}

impl Known {
    /// Looks up the name of an entry of the input, or of the one above it.
    pub fn look_up(
        &mut self,
        snapshot: &Snapshot<'_>,
        name: &Name,
        hash: u128,
    ) -> Result<(), store::Error> {
        match snapshot.find(name)? {
            Lookup::Found(id) => self.entries.push((hash, id)),
            Lookup::Missing { .. } => {
                let text = snapshot.text_id(name.bytes())?;
                self.texts.extend(text.map(|text| (hash, text)));
            }
        }
        Ok(())
    }

    /// Looks up what members name, in the order of names: neighbours stand in the same pages.
    pub fn look_up_all(
        &mut self,
        snapshot: &Snapshot<'_>,
        forms: Forms,
    ) -> Result<(), store::Error> {
        let Forms { bytes, ends } = forms;
        let mut start = 0;
        let all = ends.into_iter().map(|(end, hash)| {
            let form = &bytes[start..end];
            start = end;
            (form, hash)
        });
        let mut all: Vec<(&[u8], u128)> = all.collect();
        all.sort_unstable();
        for (form, hash) in all {
            if let Lookup::Found(id) = snapshot.find(&Name::from_bytes(form))? {
                self.entries.push((hash, id));
            }
        }
        Ok(())
    }
}
