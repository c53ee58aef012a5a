//! Walking over the index rows of a step.

use schema::AttributeNumber;

use super::step::Step;
use crate::error::Error;
use crate::id::EntryId;
use crate::index::order;
use crate::snapshot::Snapshot;

impl Step {
    /// Passes to `take` the key and the id of each row of a slow step, from behind the row with the
    /// key `behind`, until `take` returns false. Other steps have no rows.
    pub(super) fn walk(
        &self,
        snapshot: &Snapshot<'_>,
        behind: &[u8],
        mut take: impl FnMut(&[u8], EntryId) -> bool,
    ) -> Result<(), Error> {
        match self {
            Step::Members { group, number, .. } => {
                let last = behind.try_into().map_or(0, u64::from_be_bytes);
                let has_texts = snapshot.has_texts()?;
                for member in snapshot.members_of(*group, *number, EntryId(last))? {
                    let member = member?;
                    let id = match has_texts {
                        true => snapshot.entry_of_member(member)?,
                        false => member,
                    };
                    if !take(&member.0.to_be_bytes(), id) {
                        break;
                    }
                }
                Ok(())
            }
            Step::Children { parent, .. } => snapshot.walk_children(*parent, behind, take),
            Step::Owners { base, .. } => {
                // The walk begins at the last owner again, which may have other sets.
                let from = EntryId(behind.try_into().map_or(0, u64::from_be_bytes));
                snapshot.each_owner(*base, from, |id, owns| {
                    // A set of another attribute costs as much, and its owner is no candidate.
                    let found = if owns { id } else { EntryId::ROOT };
                    take(&id.0.to_be_bytes(), found)
                })
            }
            Step::Order {
                base, normal, side, ..
            } => {
                let (transaction, table) = (snapshot.transaction, snapshot.tables.order);
                let base = AttributeNumber(*base);
                order::walk_behind(transaction, table, base, normal, *side, behind, take)
            }
            _ => Ok(()),
        }
    }
}
