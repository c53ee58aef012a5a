//! The difference between an entry before a write and after it, for the audit.

use super::Execution;
use super::draft::Draft;
use super::links::Edit;
use crate::stop::Stop;
use crate::time;
use audit::{Change, Values};
use schema::AttributeNumber;
use std::collections::HashSet;
use store::{EntryId, EntryView, Snapshot};

/// Maximum number of links that are named when a set of links vanishes as a whole; the others are
/// counted, since a group may have millions.
const LINKS_SHOWN_MAX: usize = 1_000;

/// An entry before and after a change.
pub(super) struct Difference<'d> {
    pub id: EntryId,
    /// The row before; `None` for a new entry.
    pub before: Option<EntryView<'d>>,
    /// The row afterwards; `None` for a deleted entry.
    pub after: Option<EntryView<'d>>,
    /// Changes of sets of links.
    pub edits: &'d [Edit],
}

impl Execution<'_, '_> {
    /// The differences that a draft, encoded as `after`, makes in a stored entry; empty while
    /// changes are not audited.
    pub(super) fn drafted(
        &self,
        id: EntryId,
        before: &EntryView<'_>,
        draft: &Draft<'_>,
        after: &[u8],
    ) -> Result<Vec<Change>, Stop> {
        if !self.trail.is_on {
            return Ok(Vec::new());
        }
        self.differences(&Difference {
            id,
            before: Some(*before),
            after: Some(EntryView::new(after)?),
            edits: &draft.links,
        })
    }

    /// All values of a new entry, as added ones; empty while changes are not audited.
    pub(super) fn new_values(
        &self,
        id: EntryId,
        after: &[u8],
        edits: &[Edit],
    ) -> Result<Vec<Change>, Stop> {
        if !self.trail.is_on {
            return Ok(Vec::new());
        }
        self.differences(&Difference {
            id,
            before: None,
            after: Some(EntryView::new(after)?),
            edits,
        })
    }

    /// All values of a stored entry, as deleted ones; empty while changes are not audited.
    pub(super) fn vanishing(&self, id: EntryId) -> Result<Vec<Change>, Stop> {
        if !self.trail.is_on {
            return Ok(Vec::new());
        }
        let snapshot = self.batch.snapshot();
        let Some(view) = snapshot.stored_entry(id)? else {
            return Err(super::missing_row(id));
        };
        let mut changes = self.differences(&Difference {
            id,
            before: Some(view),
            after: None,
            edits: &[],
        })?;
        if view.has_links() {
            for set in snapshot.linked_sets(id)? {
                let deleted = self.whole_set(&snapshot, id, set.number)?;
                let of_set = self.redacted(set.number, deleted, Values::default());
                changes.extend(of_set);
            }
        }
        Ok(changes)
    }

    /// The attributes that differ, in the order in which they are stored, and then links.
    pub(super) fn differences(&self, it: &Difference<'_>) -> Result<Vec<Change>, Stop> {
        let mut changes = Vec::new();
        for old in it.before.iter().flat_map(EntryView::attributes) {
            let new = it.after.and_then(|view| view.attribute(old.number));
            if new.is_some_and(|new| new.encoded == old.encoded) {
                continue;
            }
            let new: Vec<&[u8]> = new.map_or_else(Vec::new, |it| it.values().into_iter().collect());
            let old_values: Vec<&[u8]> = old.values().into_iter().collect();
            if !(it.after.is_some() && self.is_own_stamp(old.number, &new)) {
                let (gone, come) = (without(&old_values, &new), without(&new, &old_values));
                changes.extend(self.redacted(old.number, gone, come));
            }
        }
        for new in it.after.iter().flat_map(EntryView::attributes) {
            if it
                .before
                .is_some_and(|view| view.attribute(new.number).is_some())
            {
                continue;
            }
            let values: Vec<&[u8]> = new.values().into_iter().collect();
            if !self.is_own_stamp(new.number, &values) {
                let come = without(&values, &[]);
                changes.extend(self.redacted(new.number, Values::default(), come));
            }
        }
        let snapshot = self.batch.snapshot();
        for edit in it.edits {
            let (deleted, added) = self.edited(&snapshot, it.id, edit)?;
            self.add_links(&mut changes, edit.number, deleted, added);
        }
        Ok(changes)
    }

    /// Whether the values are those that the record itself stamps: position, time and author of the
    /// line tell them.
    fn is_own_stamp(&self, number: AttributeNumber, values: &[&[u8]]) -> bool {
        let known = &self.catalog.known;
        let [value] = values else {
            return false;
        };
        if number == known.modify_timestamp.number || number == known.create_timestamp.number {
            return *value == self.timestamp.as_bytes();
        }
        if number == known.modifiers_name.number || number == known.creators_name.number {
            return *value == self.trail.by.as_bytes();
        }
        let own = time::change_sequence_number(self.time_us, 0, 0);
        let second = own.split('#').next().unwrap_or_default();
        number == known.entry_csn.number && value.starts_with(second.as_bytes())
    }

    /// The links that an edit removes and adds.
    fn edited(
        &self,
        snapshot: &Snapshot<'_>,
        id: EntryId,
        edit: &Edit,
    ) -> Result<(Values, Values), Stop> {
        let mut deleted = match edit.replaces() {
            true => self.whole_set(snapshot, id, edit.number)?,
            false => Values::default(),
        };
        let mut added = Values::default();
        for (member, stays) in edit.members() {
            let value = member_value(snapshot, *member)?;
            match stays {
                true => added.shown.push(value),
                false => deleted.shown.push(value),
            }
        }
        let mut texts: Vec<Vec<u8>> = edit.texts().map(<[u8]>::to_vec).collect();
        texts.sort_unstable();
        added.shown.append(&mut texts);
        Ok((deleted, added))
    }

    /// Adds the difference of a set to that of the row, from which values may have moved into the
    /// set.
    fn add_links(
        &self,
        changes: &mut Vec<Change>,
        number: AttributeNumber,
        mut deleted: Values,
        mut added: Values,
    ) {
        let text = self.schema.known(number).map(|it| it.text.as_str());
        if let Some(at) = changes
            .iter()
            .position(|it| Some(it.attribute.as_str()) == text)
        {
            let of_row = changes.remove(at);
            deleted.shown.splice(0..0, of_row.deleted.shown);
            added.shown.splice(0..0, of_row.added.shown);
        }
        let old: HashSet<Vec<u8>> = deleted.shown.iter().cloned().collect();
        let new: HashSet<Vec<u8>> = added.shown.iter().cloned().collect();
        deleted.shown.retain(|it| !new.contains(it));
        added.shown.retain(|it| !old.contains(it));
        changes.extend(self.redacted(number, deleted, added));
    }

    /// The values of a set, as many as are shown.
    fn whole_set(
        &self,
        snapshot: &Snapshot<'_>,
        id: EntryId,
        number: AttributeNumber,
    ) -> Result<Values, Stop> {
        let mut values = Values::default();
        if let Some(set) = snapshot.linked_set(id, number)? {
            let members = snapshot.members_after(set.set, EntryId::ROOT)?;
            for member in members.take(LINKS_SHOWN_MAX) {
                values.shown.push(member_value(snapshot, member?)?);
            }
            values.more = set.count.saturating_sub(values.shown.len() as u64);
        }
        Ok(values)
    }

    /// The change of an attribute; `None` if no value differs. Secret values are counted only.
    fn redacted(&self, number: AttributeNumber, deleted: Values, added: Values) -> Option<Change> {
        if deleted.is_empty() && added.is_empty() {
            return None;
        }
        let known = self.schema.known(number)?;
        let is_secret = self.catalog.access.secrets().contains(known.type_id);
        let (deleted, added) = match is_secret {
            true => (hidden(deleted), hidden(added)),
            false => (deleted, added),
        };
        Some(Change {
            attribute: known.text.to_string(),
            is_secret,
            deleted,
            added,
        })
    }
}

/// The values that `others` lacks.
fn without(values: &[&[u8]], others: &[&[u8]]) -> Values {
    let others: HashSet<&[u8]> = others.iter().copied().collect();
    let left = values.iter().filter(|it| !others.contains(*it));
    Values {
        shown: left.map(|it| it.to_vec()).collect(),
        more: 0,
    }
}

/// The number of values, without the values.
fn hidden(values: Values) -> Values {
    Values {
        more: values.more + values.shown.len() as u64,
        shown: Vec::new(),
    }
}

/// The name of an entry that is a member, or a text.
fn member_value(snapshot: &Snapshot<'_>, member: EntryId) -> Result<Vec<u8>, Stop> {
    if let Some(view) = snapshot.stored_entry(member)? {
        let mut name = Vec::new();
        snapshot.write_name(&view, &mut name)?;
        return Ok(name);
    }
    Ok(snapshot.text(member)?.unwrap_or_default().to_vec())
}
