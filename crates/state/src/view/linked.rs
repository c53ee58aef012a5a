//! Values that are links: members of a set as attribute values, either names of entries or texts
//! (names without an entry).
//!
//! Detached members are deleted for every reader and are left out. With `pandoDeletedMember: keep`
//! their former names are returned until reclaiming turns them into texts. A text whose entry is
//! also in the set is left out too: an entry that moves to a name together with its superior does
//! not replace texts, because a move does not touch the entries below.

use super::{View, VisibleEntry};
use crate::catalog::Catalog;
use crate::catalog::DeletedMembers;
use crate::stop::Stop;
use crate::stored_form::normal;
use schema::{AttributeNumber, Name};
use smallvec::SmallVec;
use std::ops::ControlFlow;
use store::{EntryId, LinkedSet, Lookup, Members, SetId, Snapshot};

/// Number of members from which on a group is not listed to test membership.
const LARGE_FROM: u64 = 4_096;

/// Callback for each member and its value (`None` if the member has no value to show); decides
/// whether to go on.
pub type EachMember<'e> = dyn FnMut(EntryId, Option<&[u8]>) -> ControlFlow<()> + 'e;

/// Appends the value of a member: the name of an entry, or a text. Returns false if the member has
/// no value, or repeats the value of another member.
pub fn write_member(
    snapshot: &Snapshot<'_>,
    catalog: &Catalog,
    (set, member): (SetId, EntryId),
    out: &mut Vec<u8>,
) -> Result<bool, store::Error> {
    if let Some(view) = snapshot.entry(member)? {
        snapshot.write_name(&view, out)?;
        return Ok(true);
    }
    let Some(text) = snapshot.text(member)? else {
        return match catalog.deleted_members {
            DeletedMembers::Keep => write_former(snapshot, catalog, (set, member), out),
            DeletedMembers::Remove | DeletedMembers::Refuse => Ok(false),
        };
    };
    if snapshot.is_repeated(set, member)? {
        return Ok(false);
    }
    out.extend_from_slice(text);
    Ok(true)
}

/// Appends the former name of a detached member, which becomes a text when the member is reclaimed.
/// Returns false if the set has another member with that name.
fn write_former(
    snapshot: &Snapshot<'_>,
    catalog: &Catalog,
    (set, member): (SetId, EntryId),
    out: &mut Vec<u8>,
) -> Result<bool, store::Error> {
    let Some(view) = snapshot.stored_entry(member)? else {
        return Ok(false);
    };
    let start = out.len();
    snapshot.write_name(&view, out)?;
    let mut form = Vec::new();
    normal(
        &catalog.schema,
        catalog.computed.member,
        &out[start..],
        &mut form,
    );
    for other in snapshot.members_named(&form)? {
        if snapshot.has_member(set, other)? {
            out.truncate(start);
            return Ok(false);
        }
    }
    Ok(true)
}

impl View<'_> {
    /// The group of this name and its single set of members; `None` unless it has at least
    /// `LARGE_FROM` members and the subject may know them.
    pub fn large_group(&self, name: &Name) -> Result<Option<(EntryId, LinkedSet)>, Stop> {
        let Lookup::Found(id) = self.snapshot.find(name)? else {
            return Ok(None);
        };
        let view = self.snapshot.entry(id)?.filter(|it| it.has_links());
        let Some(view) = view.filter(|_| self.may_know_members(name)) else {
            return Ok(None);
        };
        let followed = self.member_attributes();
        let numbers = || followed.iter().flat_map(|it| it.numbers.iter());
        // Databases from before links may hold members in the row.
        if numbers().any(|it| view.attribute(*it).is_some()) {
            return Ok(None);
        }
        let mut sets = self.snapshot.linked_sets(id)?;
        sets.retain(|set| numbers().any(|it| *it == set.number));
        Ok(match sets.as_slice() {
            [one] if one.count >= LARGE_FROM => Some((id, *one)),
            _ => None,
        })
    }

    /// Calls `each` for the values of members with ids greater than `last` until it returns true,
    /// and updates `last` to the last member done.
    pub(super) fn walk_values(
        &self,
        set: SetId,
        last: &mut EntryId,
        each: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Result<bool, Stop> {
        let (mut value, mut looked) = (Vec::with_capacity(96), 0);
        for member in self.snapshot.members_after(set, *last)? {
            let member = member?;
            self.look(1)?;
            looked += 1;
            self.require_short(looked)?;
            value.clear();
            let some = write_member(self.snapshot, self.catalog, (set, member), &mut value)?;
            if some && each(&value) {
                return Ok(true);
            }
            *last = member;
        }
        Ok(false)
    }

    /// Calls `each` for the members with ids greater than `after`, with their values (`None` if a
    /// member has none), until it breaks.
    pub fn members_after(
        &self,
        set: SetId,
        after: EntryId,
        each: &mut EachMember<'_>,
    ) -> Result<(), Stop> {
        let mut value = Vec::with_capacity(96);
        for member in self.snapshot.members_after(set, after)? {
            let member = member?;
            value.clear();
            let some = write_member(self.snapshot, self.catalog, (set, member), &mut value)?;
            if each(member, some.then_some(value.as_slice())).is_break() {
                break;
            }
        }
        Ok(())
    }

    /// Calls `each` for all values of a set until it breaks, in one piece.
    pub(super) fn each_value(
        &self,
        set: SetId,
        each: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<(), Stop> {
        self.members_after(set, EntryId::ROOT, &mut |_, value| {
            self.note_look();
            value.map_or(ControlFlow::Continue(()), &mut *each)
        })
    }

    /// The member of a set with this normal form; `None` if there is none.
    pub(super) fn member_of_form(
        &self,
        set: &LinkedSet,
        normal: &[u8],
    ) -> Result<Option<EntryId>, Stop> {
        let (snapshot, schema) = (self.snapshot, &self.catalog.schema);
        let mut form = normal.to_vec();
        if let Some(known) = schema.known(set.number) {
            store::make_member_form(schema, known.type_id, &mut form);
        }
        for member in snapshot.members_named(&form)? {
            if snapshot.has_member(set.set, member)? {
                return Ok(Some(member));
            }
        }
        Ok(None)
    }
}

impl VisibleEntry<'_, '_> {
    /// Whether the entry may have values that are links.
    #[inline]
    pub fn has_links(&self) -> bool {
        self.view.has_links() && self.id.is_entry()
    }

    /// The sets of links that the subject may see.
    pub fn linked_sets(&self) -> Result<SmallVec<[LinkedSet; 2]>, Stop> {
        if !self.has_links() {
            return Ok(SmallVec::new());
        }
        let mut sets = self.context.snapshot.linked_sets(self.id)?;
        sets.retain(|it| self.shows(it.number));
        Ok(sets)
    }

    /// The set of an attribute; `None` if its values are not links.
    pub fn linked_set(&self, number: AttributeNumber) -> Result<Option<LinkedSet>, Stop> {
        if !self.has_links() || !self.shows(number) {
            return Ok(None);
        }
        Ok(self.context.snapshot.linked_set(self.id, number)?)
    }

    /// Calls `each` for the values of a set until it breaks.
    pub fn linked_values(
        &self,
        set: SetId,
        each: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<(), Stop> {
        self.context.each_value(set, each)
    }

    /// The members of a set by id, without the first `skip`.
    pub fn members_from(&self, set: SetId, skip: u64) -> Result<Members<'_>, Stop> {
        Ok(self.context.snapshot.members_from(set, skip)?)
    }

    /// Appends the value of a member, as the function [`write_member`].
    pub fn write_member(
        &self,
        set: SetId,
        member: EntryId,
        out: &mut Vec<u8>,
    ) -> Result<bool, Stop> {
        let context = self.context;
        let written = write_member(context.snapshot, context.catalog, (set, member), out);
        Ok(written?)
    }

    /// Whether a set has a value of this normal form.
    pub fn has_linked(&self, set: &LinkedSet, normal: &[u8]) -> Result<bool, Stop> {
        Ok(self.member_of_form(set, normal)?.is_some())
    }

    /// The member of a set with this normal form; `None` if there is none.
    pub fn member_of_form(&self, set: &LinkedSet, normal: &[u8]) -> Result<Option<EntryId>, Stop> {
        self.context.member_of_form(set, normal)
    }

    /// Calls `test` for values that are links, as [`schema::ValueSource::any_value`] does.
    #[inline(never)]
    pub(super) fn any_linked(
        &self,
        number: AttributeNumber,
        test: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Option<bool> {
        let set = self.linked_set(number).ok().flatten()?;
        let mut some = false;
        let each = &mut |value: &[u8]| {
            some = true;
            test(value)
        };
        match self.context.values_once(self.id, set.set, each) {
            Ok(found) => (some || found).then_some(found),
            Err(stop) => {
                self.context.stop_filter(stop);
                None
            }
        }
    }
}
