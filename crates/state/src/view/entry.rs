//! An entry as one subject sees it: its name, its stored attributes, and the values that a filter
//! tests.

use super::{Place, Reach, View};
use crate::catalog::Catalog;
use crate::history::Moment;
use crate::stop::Stop;
use crate::time;
use schema::{
    AttributeNumber, ExtensibleAssertion, Membership, Name, Selector, TypeId, ValueSource,
};
use store::{EntryId, EntryView};

/// An entry narrowed to what one subject may see.
pub struct VisibleEntry<'c, 'a> {
    /// The id of the entry; the highest number for one that is not stored.
    pub id: EntryId,
    pub(super) view: EntryView<'a>,
    pub(super) context: &'c View<'a>,
}

impl<'c, 'a> VisibleEntry<'c, 'a> {
    /// The catalog the entry is read under.
    #[inline]
    pub fn catalog(&self) -> &'c Catalog {
        self.context.catalog
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
        self.context.catalog.schema.resolve_name(&spelled).ok()
    }

    /// The entryUUID; `None` if the entry has none.
    pub fn uuid(&self) -> Option<[u8; 16]> {
        let uuid = self.internal(self.context.catalog.known.entry_uuid.number)?;
        time::parse_uuid(uuid.values().into_iter().next()?)
    }

    /// Moment of the last change; `None` if a server of another kind made it.
    pub fn changed_at(&self) -> Option<Moment> {
        let csn = self.internal(self.context.catalog.known.entry_csn.number)?;
        Moment::from_csn(std::str::from_utf8(csn.values().into_iter().next()?).ok()?)
    }

    /// Whether the stored row is longer than `bytes`.
    #[inline]
    pub fn is_longer_than(&self, bytes: usize) -> bool {
        self.view.bytes().len() > bytes
    }

    /// The log position of its last change.
    #[inline]
    pub fn position(&self) -> u64 {
        self.view.position()
    }

    /// The entry above it; the root for a naming context.
    #[inline]
    pub fn superior(&self) -> EntryId {
        self.view.parent()
    }

    /// The DN as spelled, appended to `out`.
    #[inline]
    pub fn write_name(&self, out: &mut Vec<u8>) -> Result<(), Stop> {
        Ok(self.context.snapshot.write_name(&self.view, out)?)
    }

    /// Whether the subject may see the attribute.
    #[inline]
    pub fn shows(&self, number: AttributeNumber) -> bool {
        self.context.shows(number)
    }

    /// Appends the user attributes that the subject may see, as they go on the wire.
    #[inline]
    pub fn write_user_attributes(&self, out: &mut Vec<u8>) {
        self.view.write_user_attributes(self.context.hidden, out);
    }

    /// The stored attributes that the subject may see.
    pub fn attributes(&self) -> impl Iterator<Item = store::StoredAttribute<'a>> + use<'_, 'c, 'a> {
        self.view
            .attributes()
            .filter(|attribute| self.shows(attribute.number))
    }

    /// A stored attribute, if the subject may see it.
    #[inline]
    pub fn attribute(&self, number: AttributeNumber) -> Option<store::StoredAttribute<'a>> {
        self.view.attribute(number).filter(|_| self.shows(number))
    }

    /// A stored attribute that the operation itself needs, whatever the subject may see:
    /// passwords to verify, classes that make an entry an alias or a referral.
    #[inline]
    pub fn internal(&self, number: AttributeNumber) -> Option<store::StoredAttribute<'a>> {
        self.view.attribute(number)
    }

    /// Whether the entry has this object class (by its canonical name, any case).
    #[inline]
    pub fn has_class(&self, class: &str) -> bool {
        self.internal(self.context.catalog.known.object_class.number)
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
            self.internal(self.context.catalog.known.referral.number)?
                .values(),
        )
    }

    /// Number of entries directly below this one.
    pub fn child_count(&self) -> Result<u64, Stop> {
        Ok(self.context.snapshot.child_count(self.id)?)
    }

    /// Whether links of an attribute lead from the entry to a name.
    fn leads_to(&self, selector: &Selector, target: &Name) -> Result<bool, Stop> {
        let context = self.context;
        let reach = match context.reach_of(selector.type_id) {
            None => return context.leads_to(self.id, selector, target),
            Some(Reach::Everything) => Reach::Everything,
            Some(_) => Reach::Nested,
        };
        let Place::Found(target) = context.find(target)? else {
            return Ok(false);
        };
        let groups = context.groups_of(self.id, reach)?;
        Ok(groups.iter().any(|it| it.id == target))
    }
}

impl ValueSource for VisibleEntry<'_, '_> {
    #[inline]
    fn any_value(
        &self,
        number: AttributeNumber,
        test: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Option<bool> {
        if !self.shows(number) {
            return None;
        }
        match self.view.any_value(number, test) {
            None if self.has_links() => match self.any_linked(number, test) {
                None if self.context.catalog.has_collective => self.any_lent(number, test),
                linked => linked,
            },
            None if self.context.catalog.has_collective => self.any_lent(number, test),
            stored => stored,
        }
    }

    #[inline]
    fn equal_value(
        &self,
        number: AttributeNumber,
        normal: &[u8],
        test: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Option<bool> {
        if self.has_links()
            && let Ok(Some(set)) = self.linked_set(number)
        {
            return self.has_linked(&set, normal).ok();
        }
        self.any_value(number, test)
    }

    fn finds_values(&self, number: AttributeNumber) -> bool {
        self.has_links() && matches!(self.linked_set(number), Ok(Some(_)))
    }

    fn any_virtual(&self, type_id: TypeId, test: &mut dyn FnMut(&[u8]) -> bool) -> Option<bool> {
        match self.computed_values(type_id, test) {
            Ok(found) => found,
            Err(stop) => {
                self.context.stop_filter(stop);
                None
            }
        }
    }

    fn spelled_name(&self) -> Option<String> {
        let mut spelled = Vec::with_capacity(64);
        self.write_name(&mut spelled).ok()?;
        String::from_utf8(spelled).ok()
    }

    fn id(&self) -> Option<u64> {
        Some(self.id.0)
    }

    fn is_member(&self, group: &Membership) -> Option<bool> {
        let snapshot = self.context.snapshot;
        // Reads the current set: all members may have been replaced since the search began.
        match snapshot
            .linked_set(EntryId(group.group), group.number)
            .ok()?
        {
            Some(set) if snapshot.has_member(set.set, self.id).ok()? => Some(true),
            // The set may hold the entry's name as a text, if the entry moved to that name with its
            // superior.
            Some(set) => {
                let text = snapshot.text_id(self.name()?.bytes()).ok()?;
                text.map_or(Some(false), |it| snapshot.has_member(set.set, it).ok())
            }
            None => Some(false),
        }
    }

    fn in_chain(&self, assertion: &ExtensibleAssertion) -> Option<bool> {
        let target = Name::from_bytes(&assertion.normal);
        let found = (assertion.selectors.iter())
            .map(|it| self.leads_to(it, &target))
            .find(|it| !matches!(it, Ok(false)));
        match found {
            None => Some(false),
            Some(Ok(leads)) => Some(leads),
            Some(Err(stop)) => {
                self.context.stop_filter(stop);
                Some(false)
            }
        }
    }
}
