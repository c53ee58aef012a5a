//! Looks up names of the input in the old database, for an import that adds to that database. Such
//! an import does not read all old entries; each worker looks up the names in its pieces.

use schema::Name;
use store::{EntryId, Lookup, Snapshot};

/// Names found in the old database.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// Entries, with the hashes of their names.
    pub entries: Vec<(u128, EntryId)>,
    /// Members of groups that are stored as text, with the hashes of the names in the texts.
    pub texts: Vec<(u128, EntryId)>,
}

/// Normal forms of values that may name entries, with hashes of the names.
#[derive(Debug, Default)]
pub(super) struct Forms {
    bytes: Vec<u8>,
    /// End of each form in bytes, and its hash.
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
    /// Looks up the name of an input entry, or of its superior.
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

    /// Looks up the names of members in sorted order, because neighbouring names are in one page.
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
