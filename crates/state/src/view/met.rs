//! The candidates of a search, one by one.

use super::View;
use super::entry::VisibleEntry;
use crate::stop::Stop;
use schema::AttributeNumber;
use store::{CandidateEntries, Candidates, EntryId, EntryView, Members, SetId, Snapshot};

/// A candidate of a search.
pub struct Met<'c, 'a> {
    /// The id of the candidate.
    pub id: EntryId,
    /// The candidate's entry. `None` if the entry was deleted with its subtree, or if the candidate
    /// is a text (a member name without an entry of that name). If an entry has come to the name of
    /// the text, this is that entry, while `id` remains the id of the text.
    pub entry: Option<VisibleEntry<'c, 'a>>,
}

/// Iterator over the candidates of a search, made by [`View::met`].
pub struct MetEntries<'c> {
    view: &'c View<'c>,
    stored: CandidateEntries<'c>,
    how: Meeting<'c>,
}

/// Preparation of [`MetEntries`], made by [`View::meeting`].
pub struct Meeting<'c> {
    hides_some: bool,
    /// The group's set and its members, if the candidates are the members of one group.
    members: Option<Box<(SetId, Members<'c>)>>,
}

impl<'c> MetEntries<'c> {
    #[inline(always)]
    fn meet(&self, id: EntryId, row: EntryView<'c>) -> Result<Met<'c, 'c>, Stop> {
        let view = self.view;
        let entry = match self.how.hides_some && view.snapshot.is_detached(&row)? {
            true => None,
            false => Some(view.seen(id, row)?),
        };
        Ok(Met { id, entry })
    }

    #[cold]
    fn next_member(&mut self) -> Result<Option<Met<'c, 'c>>, Stop> {
        let view = self.view;
        let snapshot = view.snapshot;
        let Some((set, members)) = self.how.members.as_deref_mut() else {
            return Ok(None);
        };
        let Some(id) = members.next().transpose()? else {
            return Ok(None);
        };
        let set = *set;
        if let Some(row) = snapshot.stored_entry(id)? {
            return self.meet(id, row).map(Some);
        }
        // A text may have become the name of an entry that moved there together with its superior.
        let mut entry = None;
        if let Some(named) = snapshot.named_by(id)?
            && !snapshot.has_member(set, named)?
        {
            let row = snapshot.entry(named)?;
            let id = named;
            entry = row.map(|row| view.seen(id, row)).transpose()?;
        }
        Ok(Some(Met { id, entry }))
    }
}

impl<'c> Iterator for MetEntries<'c> {
    type Item = Result<Met<'c, 'c>, Stop>;

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        if self.how.members.is_some() {
            return self.next_member().transpose();
        }
        match self.stored.next()? {
            Ok((id, row)) => Some(self.meet(id, row)),
            Err(error) => Some(Err(error.into())),
        }
    }
}

impl View<'_> {
    /// The candidates with ids greater than `after`, for searches in slices. Unlike
    /// [`View::entries`] it also yields, without an entry, deleted entries that are still stored
    /// and texts among the members of a group, so that each of them counts against the slice.
    pub fn met<'c>(
        &'c self,
        candidates: &'c Candidates,
        after: EntryId,
    ) -> Result<MetEntries<'c>, Stop> {
        let how = self.meeting(candidates, after)?;
        Ok(self.meet_all(candidates, after, how))
    }

    /// Second half of [`View::met`]: cannot fail, and is separate because its result is too
    /// large for a `Result`.
    #[inline(always)]
    pub fn meet_all<'c>(
        &'c self,
        candidates: &'c Candidates,
        after: EntryId,
        how: Meeting<'c>,
    ) -> MetEntries<'c> {
        MetEntries {
            view: self,
            stored: candidates.stored_after(*self.snapshot, after),
            how,
        }
    }

    /// First half of [`View::met`]: everything that can fail.
    #[inline(always)]
    pub fn meeting<'c>(
        &'c self,
        candidates: &Candidates,
        after: EntryId,
    ) -> Result<Meeting<'c>, Stop> {
        let members = match candidates {
            Candidates::Members { group, number } => self.met_members(*group, *number, after)?,
            _ => None,
        };
        let hides_some = self.snapshot.hides_some()?;
        Ok(Meeting {
            hides_some,
            members,
        })
    }

    #[cold]
    fn met_members<'c>(
        &'c self,
        group: EntryId,
        number: AttributeNumber,
        after: EntryId,
    ) -> Result<Option<Box<(SetId, Members<'c>)>>, Stop> {
        let snapshot: &'c Snapshot<'c> = self.snapshot;
        let Some(set) = snapshot.linked_set(group, number)? else {
            return Ok(None);
        };
        let members = snapshot.members_after(set.set, after)?;
        Ok(Some(Box::new((set.set, members))))
    }
}
