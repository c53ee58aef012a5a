//! Values that are links: members of a set as attribute values, either names of entries or texts
//! (names without an entry).
//!
//! Detached members are deleted for every reader and are left out. With `pandoDeletedMember: keep`
//! their former names are returned until reclaiming turns them into texts. A text whose entry is
//! also in the set is left out too: an entry that moves to a name together with its superior does
//! not replace texts, because a move does not touch the entries below.

use super::plain::PlainView;
use crate::catalog::Catalog;
use crate::catalog::DeletedMembers;
use crate::done;
use crate::progress::Progress;
use crate::stop::Stop;
use crate::stored_form::normal;
use schema::Name;
use std::ops::ControlFlow;
use store::{EntryId, LinkedSet, Lookup, SetId, Snapshot};

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
    set: SetId,
    member: EntryId,
    out: &mut Vec<u8>,
) -> Result<bool, store::Error> {
    if let Some(view) = snapshot.entry(member)? {
        snapshot.write_name(&view, out)?;
        return Ok(true);
    }
    let Some(text) = snapshot.text(member)? else {
        return match catalog.deleted_members {
            DeletedMembers::Keep => write_former(snapshot, catalog, set, member, out),
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
    set: SetId,
    member: EntryId,
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

impl PlainView<'_> {
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
    ) -> Result<Progress<bool>, Stop> {
        let (mut value, mut looked) = (Vec::with_capacity(96), 0);
        for member in self.snapshot.members_after(set, *last)? {
            let member = member?;
            done!(self.pace.look(1));
            looked += 1;
            self.pace.require_short(looked)?;
            value.clear();
            let some = write_member(self.snapshot, self.catalog, set, member, &mut value)?;
            if some && each(&value) {
                return Ok(Progress::Done(true));
            }
            *last = member;
        }
        Ok(Progress::Done(false))
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
            let some = write_member(self.snapshot, self.catalog, set, member, &mut value)?;
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
            self.pace.note_look();
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
