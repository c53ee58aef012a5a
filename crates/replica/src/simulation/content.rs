//! Content of a store, in the form of the model.

use super::model::{Attributes, Entry};
use state::catalog::Catalog;
use state::time::{parse_uuid, seconds_of};
use std::collections::BTreeMap;
use store::{EntryId, EntryView, Snapshot};

/// The visible entries outside of the configuration, by name.
pub(super) fn entries(snapshot: &Snapshot<'_>, catalog: &Catalog) -> BTreeMap<String, Entry> {
    let mut entries = BTreeMap::new();
    for found in snapshot.entries_after(EntryId::ROOT) {
        let (_, view) = found.expect("readable");
        let mut name = Vec::new();
        snapshot.write_name(&view, &mut name).expect("readable");
        let name = String::from_utf8_lossy(&name).to_ascii_lowercase();
        if !name.ends_with("cn=config") {
            entries.insert(name, entry(&view, catalog));
        }
    }
    entries
}

fn entry(view: &EntryView<'_>, catalog: &Catalog) -> Entry {
    let mut entry = Entry {
        uuid: [0; 16],
        attributes: Attributes::new(),
        modified: String::new(),
        end_s: None,
    };
    for attribute in view.attributes() {
        let known = catalog.schema.known(attribute.number).expect("a number");
        let name = known.text.to_ascii_lowercase();
        let mut values = attribute.values().into_iter();
        match name.as_str() {
            "entryuuid" => entry.uuid = values.next().and_then(parse_uuid).expect("a UUID"),
            "entryexpiretimestamp" => entry.end_s = values.next().and_then(seconds_of),
            "modifytimestamp" => {
                let value = values.next().expect("a value");
                entry.modified = String::from_utf8_lossy(value).into_owned();
            }
            _ if known.operational => {}
            _ => {
                let texts = values.map(|it| String::from_utf8_lossy(it).to_ascii_lowercase());
                entry.attributes.insert(name, texts.collect());
            }
        }
    }
    entry
}

/// Positions in the history, oldest first, with the number of changes of each.
pub(super) fn history(snapshot: &Snapshot<'_>) -> Vec<(u64, u32)> {
    let rows = snapshot.history_from(0);
    let header = |row: &[u8]| {
        // Version, ordinal, position, count: docs/formats/database.md.
        let position = u64::from_le_bytes(row[9..17].try_into().expect("eight bytes"));
        let count = u32::from_le_bytes(row[17..21].try_into().expect("four bytes"));
        (position, count)
    };
    rows.map(|it| header(it.expect("readable").1)).collect()
}
