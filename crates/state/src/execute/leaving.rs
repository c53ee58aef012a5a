//! Treatment of values that name a deleted entry: members with its id, and texts that became its
//! name when a superior was moved.

use super::Execution;
use crate::catalog::DeletedMembers;
use crate::stop::{Refusal, Stop};
use crate::stored_form::normal;
use protocol::ResultCode;
use store::{EntryId, SetId};

/// The id before the first set of a member.
const FIRST: SetId = SetId(EntryId::ROOT);

impl Execution<'_, '_> {
    /// Returns whether entries are, together, in more sets of groups than one write may change.
    pub(super) fn are_in_many_groups(
        &self,
        ids: impl Iterator<Item = EntryId>,
    ) -> Result<bool, Stop> {
        let mut sets = 0;
        for id in ids {
            let (holders, more) =
                self.batch
                    .snapshot()
                    .holders_after(id, FIRST, self.catalog.bounds.left_groups)?;
            sets += holders.len();
            if more.is_some() || sets >= self.catalog.bounds.left_groups {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Removes a deleted entry from at most `most` groups, or leaves its name there as text.
    /// Returns their number, and whether the entry may be in more.
    pub(super) fn leave_groups(
        &mut self,
        id: EntryId,
        spelled: &str,
        most: usize,
    ) -> Result<(usize, bool), Stop> {
        let heir = match self.catalog.deleted_members {
            DeletedMembers::Keep => self.heir(id, spelled, most)?,
            DeletedMembers::Remove | DeletedMembers::Refuse => None,
        };
        let (holders, more) = self.batch.replace_member(id, heir, most)?;
        if heir.is_none() {
            self.changed_groups.extend(holders.iter().map(|it| it.id));
        }
        Ok((holders.len(), more))
    }

    /// Returns the member that replaces a deleted entry in the next of its groups, depending on the
    /// setting; `None` if the entry is just removed.
    fn heir(&mut self, id: EntryId, spelled: &str, most: usize) -> Result<Option<EntryId>, Stop> {
        let (holders, _) = self.batch.snapshot().holders_after(id, FIRST, most)?;
        if holders.is_empty() {
            return Ok(None);
        }
        let form = self.member_name(spelled);
        // While a detached entry is reclaimed, another entry may have its name.
        let mut named = self.batch.snapshot().members_named(&form)?;
        Ok(Some(match named.find(|it| *it != id) {
            Some(known) => known,
            None => self.batch.text_member(spelled.as_bytes(), &form)?,
        }))
    }

    /// Removes from groups the text that equals a deleted entry's name, which the entry got when a
    /// superior was moved.
    pub(super) fn leave_texts(&mut self, spelled: &str) -> Result<(), Stop> {
        if self.catalog.deleted_members == DeletedMembers::Keep {
            return Ok(());
        }
        let form = self.member_name(spelled);
        let Some(text) = self.batch.snapshot().text_id(&form)? else {
            return Ok(());
        };
        let (holders, _) = self.batch.replace_member(text, None, usize::MAX)?;
        self.changed_groups.extend(holders.iter().map(|it| it.id));
        Ok(())
    }

    /// Refuses, if the setting says so, to delete an entry that is a member of another group, or
    /// has such a subordinate.
    pub(super) fn refuse_members(&self, top: EntryId, tree: bool) -> Result<(), Stop> {
        if self.catalog.deleted_members != DeletedMembers::Refuse {
            return Ok(());
        }
        let mut waiting = vec![top];
        while let Some(id) = waiting.pop() {
            self.refuse_member(id, top)?;
            if tree {
                for child in self.batch.snapshot().children(id) {
                    waiting.push(child?);
                }
            }
        }
        Ok(())
    }

    fn refuse_member(&self, id: EntryId, top: EntryId) -> Result<(), Stop> {
        let snapshot = self.batch.snapshot();
        let form = self.member_name(&self.spelled_name(id)?);
        let text = snapshot.text_id(&form)?;
        for member in std::iter::once(id).chain(text) {
            let mut after = FIRST;
            loop {
                let (holders, last) =
                    snapshot.holders_after(member, after, self.catalog.bounds.left_groups)?;
                for holder in holders {
                    self.refuse_member_of(holder.id, id, top)?;
                }
                match last {
                    Some(last) => after = last,
                    None => break,
                }
            }
        }
        Ok(())
    }

    /// Refuses to delete an entry that is a member of a group which is not deleted with it.
    fn refuse_member_of(&self, group: EntryId, id: EntryId, top: EntryId) -> Result<(), Stop> {
        let snapshot = self.batch.snapshot();
        let Some(view) = snapshot.entry(group)? else {
            return Ok(());
        };
        if group == top || snapshot.is_at_or_below(view.parent(), top)? {
            return Ok(());
        }
        let text = format!(
            "\"{}\" is a member of \"{}\", and pandoDeletedMember keeps members from being \
             deleted",
            self.spelled_name(id)?,
            self.spelled_name(group)?
        );
        Err(Refusal::new(ResultCode::CONSTRAINT_VIOLATION, text).into())
    }

    /// Returns the normal form of an entry's name as a member.
    fn member_name(&self, spelled: &str) -> Vec<u8> {
        let mut form = Vec::new();
        let member = self.catalog.computed.member;
        normal(&self.schema, member, spelled.as_bytes(), &mut form);
        form
    }
}
