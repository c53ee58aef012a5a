//! An entry as one subject sees it: its name and its stored attributes.

use super::View;
use super::sights::Sight;
use crate::catalog::Catalog;
use crate::history::Moment;
use crate::progress::Progress;
use crate::stop::Stop;
use crate::time;
use schema::{AttributeNumber, Name, TypeId};
use std::collections::HashSet;
use store::{Candidates, EntryId, EntryView, Region};

/// An entry narrowed to what one subject may see.
pub struct VisibleEntry<'c, 'a> {
    /// The id of the entry; the highest number for one that is not stored.
    pub id: EntryId,
    pub(super) row: EntryView<'a>,
    pub(super) view: &'c View<'a>,
    /// The subject's rights to see the entry; `None` if the built-in rules hold.
    sight: Option<&'c Sight>,
}

impl<'c, 'a> VisibleEntry<'c, 'a> {
    /// The catalog the entry is read under.
    #[inline]
    pub fn catalog(&self) -> &'c Catalog {
        self.view.catalog
    }

    /// Runs work on the entry in one piece, like [`PlainView::whole`](super::PlainView::whole).
    #[inline]
    pub fn whole<T>(&self, work: impl FnOnce() -> Result<Progress<T>, Stop>) -> Result<T, Stop> {
        self.view.whole(work)
    }

    /// The DN as spelled.
    pub fn spelled_name(&self) -> Result<String, Stop> {
        let mut out = Vec::with_capacity(64);
        self.write_name(&mut out)?;
        Ok(String::from_utf8_lossy(&out).into_owned())
    }

    /// The resolved DN; `None` if it cannot be resolved.
    pub fn name(&self) -> Option<Name> {
        let spelled = self.spelled_name().ok()?;
        self.view.catalog.schema.resolve_name(&spelled).ok()
    }

    /// The entryUUID; `None` if the entry has none.
    pub fn uuid(&self) -> Option<[u8; 16]> {
        let uuid = self.internal(self.view.catalog.known.entry_uuid.number)?;
        time::parse_uuid(uuid.values().into_iter().next()?)
    }

    /// Moment of the last change; `None` if a server of another kind made it.
    pub fn changed_at(&self) -> Option<Moment> {
        let csn = self.internal(self.view.catalog.known.entry_csn.number)?;
        Moment::from_csn(std::str::from_utf8(csn.values().into_iter().next()?).ok()?)
    }

    /// Whether the stored row is longer than `bytes`.
    #[inline]
    pub fn is_longer_than(&self, bytes: usize) -> bool {
        self.row.bytes().len() > bytes
    }

    /// The log position of its last change.
    #[inline]
    pub fn position(&self) -> u64 {
        self.row.position()
    }

    /// The entry above it; the root for a naming context.
    #[inline]
    pub fn superior(&self) -> EntryId {
        self.row.parent()
    }

    /// The DN as spelled, appended to `out`.
    #[inline]
    pub fn write_name(&self, out: &mut Vec<u8>) -> Result<(), Stop> {
        Ok(self.view.snapshot.write_name(&self.row, out)?)
    }

    /// Whether the subject may see the attribute.
    #[inline]
    pub fn shows(&self, number: AttributeNumber) -> bool {
        match self.sight {
            None => !self.view.hidden.contains(number) || self.shows_to_owner(number),
            Some(sight) => !sight.unread.contains(number),
        }
    }

    /// Whether a hidden attribute is shown because the entry is the subject's own.
    #[cold]
    fn shows_to_owner(&self, number: AttributeNumber) -> bool {
        let view = self.view;
        view.catalog.shown_to_owner.contains(number) && view.own_entry() == Some(self.id)
    }

    /// Whether the subject may find the entry by the attribute.
    #[inline]
    pub(super) fn is_found_by(&self, number: AttributeNumber) -> bool {
        match self.sight {
            None => !self.view.hidden.contains(number),
            Some(sight) => sight.searches_number(number),
        }
    }

    /// Whether the subject may find the entry by values of a type that are computed.
    pub(super) fn is_found_by_type(&self, type_id: TypeId) -> bool {
        self.sight.is_none_or(|it| it.searches(type_id))
    }

    /// Whether values of an attribute type are kept from the subject.
    pub(super) fn conceals(&self, type_id: TypeId) -> bool {
        match self.sight {
            None => self.view.conceals(type_id),
            Some(sight) => !sight.reads(type_id),
        }
    }

    /// Whether the subject may have the entry returned, as far as rules of the directory say.
    fn is_returned(&self) -> bool {
        self.sight.is_none_or(|it| it.returns)
    }

    /// Appends the user attributes that the subject may see, as they go on the wire.
    #[inline]
    pub fn write_user_attributes(&self, out: &mut Vec<u8>) {
        let hidden = match self.sight {
            None => self.view.hidden,
            Some(sight) => &sight.unread,
        };
        self.row.write_user_attributes(hidden, out);
    }

    /// The stored attributes that the subject may see.
    pub fn attributes(&self) -> impl Iterator<Item = store::StoredAttribute<'a>> + use<'_, 'c, 'a> {
        self.row
            .attributes()
            .filter(|attribute| self.shows(attribute.number))
    }

    /// A stored attribute, if the subject may see it.
    #[inline]
    pub fn attribute(&self, number: AttributeNumber) -> Option<store::StoredAttribute<'a>> {
        self.row.attribute(number).filter(|_| self.shows(number))
    }

    /// A stored attribute that the operation itself needs, whatever the subject may see:
    /// passwords to verify, classes that make an entry an alias or a referral.
    #[inline]
    pub fn internal(&self, number: AttributeNumber) -> Option<store::StoredAttribute<'a>> {
        self.row.attribute(number)
    }

    /// Whether the entry has this object class (by its canonical name, any case).
    #[inline]
    pub fn has_class(&self, class: &str) -> bool {
        self.internal(self.view.catalog.known.object_class.number)
            .is_some_and(|classes| {
                classes
                    .values()
                    .into_iter()
                    .any(|it| it.eq_ignore_ascii_case(class.as_bytes()))
            })
    }

    /// The values of `ref` (RFC 3296 §2.1).
    pub fn internal_values_of_ref(&self) -> Option<protocol::ber::Values<'a>> {
        Some(
            self.internal(self.view.catalog.known.referral.number)?
                .values(),
        )
    }

    /// Number of entries directly below this one.
    pub fn child_count(&self) -> Result<u64, Stop> {
        Ok(self.view.snapshot.child_count(self.id)?)
    }
}

impl<'a> View<'a> {
    /// The entry with this id; `None` if there is none or the subject may not know of it.
    #[inline]
    pub fn entry<'c>(&'c self, id: EntryId) -> Result<Option<VisibleEntry<'c, 'a>>, Stop> {
        let entry = self.reached(id)?;
        match entry {
            Some(entry) if self.has_rules => Ok(match entry.sight.is_none_or(|it| it.discloses) {
                true => Some(entry),
                false => None,
            }),
            Some(entry) if !self.sees_config && self.is_configuration(id, &entry.row)? => Ok(None),
            entry => Ok(entry),
        }
    }

    /// The entry with an id that came from `View::find` or from a search that asks
    /// [`View::in_region`], both of which have checked access already. Ids from elsewhere go to
    /// [`View::entry`]. `None` if there is no such entry.
    #[inline]
    pub fn reached<'c>(&'c self, id: EntryId) -> Result<Option<VisibleEntry<'c, 'a>>, Stop> {
        let Some(row) = self.snapshot.entry(id)? else {
            return Ok(None);
        };
        self.seen(id, row).map(Some)
    }

    /// A row as the subject may see it.
    #[inline(always)]
    pub(super) fn seen<'c, 'r>(
        &'c self,
        id: EntryId,
        row: EntryView<'r>,
    ) -> Result<VisibleEntry<'c, 'r>, Stop>
    where
        'a: 'r,
    {
        let sight = self.sight(id, &row)?;
        Ok(VisibleEntry {
            id,
            row,
            view: self,
            sight,
        })
    }

    /// Wraps a row that is not, or not yet, stored as an entry of this view.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn unstored<'c>(&'c self, row: EntryView<'a>) -> Result<VisibleEntry<'c, 'a>, Stop> {
        self.seen(EntryId(u64::MAX), row)
    }

    /// The candidate entries with ids greater than `after`, in id order.
    pub fn entries<'c>(
        &'c self,
        candidates: &'c Candidates,
        after: EntryId,
    ) -> impl Iterator<Item = Result<VisibleEntry<'c, 'c>, Stop>> {
        candidates
            .entries_after(*self.snapshot, after)
            .map(move |found| {
                let (id, row) = found?;
                self.seen(id, row)
            })
    }

    /// Whether an entry lies in the region of a search and in the part of the tree that the subject
    /// may search.
    #[inline]
    pub fn in_region(&self, entry: &VisibleEntry<'_, '_>, region: &Region) -> Result<bool, Stop> {
        let inside = self.snapshot.is_within(entry.id, &entry.row, region)?;
        if !entry.is_returned() {
            return Ok(false);
        }
        if !inside || self.sees_config || region.base.0 != 0 {
            return Ok(inside);
        }
        // A search over all naming contexts must not return the configuration.
        Ok(!self.is_configuration(entry.id, &entry.row)?)
    }

    /// Whether the subject may not learn that this candidate exists.
    #[inline]
    pub fn hides(&self, entry: Option<&VisibleEntry<'_, '_>>) -> Result<bool, Stop> {
        match entry {
            Some(entry) if self.has_rules => Ok(!entry.is_returned()),
            Some(entry) if !self.sees_config => self.is_configuration(entry.id, &entry.row),
            _ => Ok(false),
        }
    }

    /// Whether one of `superiors` stands above an entry.
    pub fn is_below_any(
        &self,
        entry: &VisibleEntry<'_, '_>,
        superiors: &HashSet<EntryId>,
    ) -> Result<bool, Stop> {
        let parent = entry.row.parent();
        Ok(self.snapshot.is_at_or_below_any(parent, superiors)?)
    }
}
