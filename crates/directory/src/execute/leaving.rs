//! What becomes of values that name an entry which is deleted: as its id, or as a text that it came
//! to be named by when something above it was moved.

use super::Execution;
use crate::operation::values::normal;
use crate::stop::{Refusal, Stop};
use protocol::ResultCode;
use store::EntryId;

impl Execution<'_, '_> {
    /// What happens to the values that name an entry which is deleted. `was_seen` until now: one of
    /// a large subtree has been out of sight, and values of its name may be newer.
    pub(super) fn leave_groups(
        &mut self,
        id: EntryId,
        spelled: &str,
        was_seen: bool,
    ) -> Result<(), Stop> {
        let form = self.member_name(spelled);
        let holders = match self.catalog.deleted_members {
            DeletedMembers::Keep => {
                if self.batch.snapshot().holders_of(id)?.is_empty() {
                    return Ok(());
                }
                // An entry may bear the name again when a large subtree is cleared away.
                let mut named = self.batch.snapshot().members_named(&form)?;
                let heir = match named.find(|it| *it != id) {
                    Some(known) => known,
                    None => self.batch.text_member(spelled.as_bytes(), &form)?,
                };
                self.batch.replace_member(id, Some(heir))?;
                return Ok(());
            }
            DeletedMembers::Remove | DeletedMembers::Refuse => {
                let mut holders = self.batch.replace_member(id, None)?;
                let text = self.batch.snapshot().text_id(&form)?;
                if let Some(text) = text.filter(|_| was_seen) {
                    holders.extend(self.batch.replace_member(text, None)?);
                }
                holders
            }
        };
        self.changed_groups.extend(holders.iter().map(|it| it.id));
        Ok(())
    }

    /// Refuses to delete an entry, or something below it, that groups beside it name, if the
    /// setting says so.
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
        let mut outside = None;
        let mut holders = snapshot.holders_of(id)?;
        let form = self.member_name(&self.spelled_name(id)?);
        if let Some(text) = snapshot.text_id(&form)? {
            holders.extend(snapshot.holders_of(text)?);
        }
        for holder in holders {
            let Some(group) = snapshot.entry(holder.id)? else {
                continue;
            };
            if holder.id != top && !snapshot.is_at_or_below(group.parent(), top)? {
                outside = Some(holder);
            }
        }
        let Some(holder) = outside else {
            return Ok(());
        };
        let text = format!(
            "\"{}\" is a member of \"{}\", and pandoDeletedMember keeps members from being \
             deleted",
            self.spelled_name(id)?,
            self.spelled_name(holder.id)?
        );
        Err(Refusal::new(ResultCode::CONSTRAINT_VIOLATION, text).into())
    }

    /// The form under which an entry of this name is a member.
    fn member_name(&self, spelled: &str) -> Vec<u8> {
        let mut form = Vec::new();
        let member = self.catalog.computed.member;
        normal(&self.schema, member, spelled.as_bytes(), &mut form);
        form
    }
}

/// What becomes of values that name an entry which is deleted: `pandoDeletedMember`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum DeletedMembers {
    /// They go with it.
    #[default]
    Remove,
    /// They stay, as text.
    Keep,
    /// The entry is not deleted.
    Refuse,
}
