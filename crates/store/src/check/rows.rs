//! Entries as other tables refer to them: whether an entry has a row, and which name row leads to
//! an entry.

use schema::Schema;

use crate::entry::EntryView;
use crate::error::Error;
use crate::id::EntryId;
use crate::snapshot::Snapshot;
use crate::tables::NameKey;

/// Returns whether an entry has a row; a damaged row counts.
pub(super) fn is_stored(snapshot: &Snapshot<'_>, id: EntryId) -> Result<bool, Error> {
    match snapshot.stored_entry(id) {
        Ok(stored) => Ok(stored.is_some()),
        Err(Error::DamagedEntry { .. }) => Ok(true),
        Err(error) => Err(error),
    }
}

/// The key of the name row that leads to an entry; `None` when the schema cannot resolve the name.
pub(super) fn name_key(schema: &Schema, id: EntryId, view: &EntryView<'_>) -> Option<NameKey> {
    if view.parent() == EntryId::DETACHED {
        return Some(NameKey::new(view.parent(), &id.packed()));
    }
    if view.parent().is_root() {
        let name = schema.resolve_name(view.rdn()).ok()?;
        return Some(NameKey::new(EntryId::ROOT, name.bytes()));
    }
    let rdn = schema.resolve_rdn(view.rdn()).ok()?;
    Some(NameKey::new(view.parent(), &rdn.normal))
}
