//! Planning assertions about values that are stored as links.
//!
//! Equality is looked up from the member's side. For other assertions the owners of sets of the
//! attribute are candidates, beside those that an index finds among the values in rows.

use schema::{AttributeNumber, KnownAttribute, Name, Selector};
use xxhash_rust::xxh3::xxh3_64;

use super::costs::OWNERS_COUNTED_MAX;
use super::planner::{Bases, Planner};
use super::step::{Step, Why, found, union};
use crate::error::Error;
use crate::id::EntryId;
use crate::index::equality;
use crate::index_set::IndexKind;
use crate::link::{SetId, TEXT_MARK, is_linked_type, make_member_form, rows};
use crate::snapshot::{Lookup, Snapshot};

impl Planner<'_> {
    /// Returns whether an assertion covers a type whose values may be links.
    #[inline]
    pub(super) fn covers_links(&self, selector: &Selector) -> bool {
        let schema = &self.indexes.schema;
        is_linked_type(schema, selector.type_id)
            || (selector.numbers.len() > 1
                && (selector.numbers.iter().filter_map(|it| schema.known(*it)))
                    .any(|known| is_linked_type(schema, known.type_id)))
    }

    /// The selected attributes whose values may be links.
    fn linked_attributes(&self, selector: &Selector) -> impl Iterator<Item = &KnownAttribute> {
        let schema = &self.indexes.schema;
        let known = selector.numbers.iter().filter_map(|it| schema.known(*it));
        known.filter(|it| it.base == it.number && is_linked_type(schema, it.type_id))
    }

    /// Returns the step of the owners of sets of these attributes.
    pub(super) fn owners(&self, selector: &Selector) -> Result<Step, Error> {
        let mut steps = Vec::new();
        for known in self.linked_attributes(selector) {
            let mut looked_at = 0;
            let mut estimate = 0;
            self.snapshot
                .each_owner(known.number, EntryId::ROOT, |_, owns| {
                    looked_at += 1;
                    estimate += u64::from(owns);
                    looked_at < OWNERS_COUNTED_MAX
                })?;
            if looked_at == OWNERS_COUNTED_MAX {
                // The number is unknown; a third of all entries is the customary guess.
                estimate = estimate.max(self.snapshot.entry_count()? / 3);
            }
            if estimate > 0 {
                steps.push(Step::Owners {
                    base: known.number,
                    type_id: known.type_id,
                    estimate,
                });
            }
        }
        Ok(union(steps))
    }

    /// Returns whether it is known, without an index made for it, that no row has a value of these
    /// attributes: all values are links, and the equality indexes are empty.
    pub(super) fn only_links(&self, selector: &Selector) -> Result<bool, Error> {
        let linked: Vec<AttributeNumber> = (self.linked_attributes(selector))
            .map(|it| it.number)
            .collect();
        if linked.len() != selector.numbers.len() {
            return Ok(false);
        }
        let Some(bases) = self.bases(selector, IndexKind::Equality) else {
            return Ok(false);
        };
        for (base, _) in bases {
            let prefix = equality::prefix(IndexKind::Equality, base);
            for table in [self.snapshot.tables.index, self.snapshot.tables.posting] {
                let mut cursor = self.snapshot.transaction.cursor(table)?;
                let row = cursor.seek(&prefix)?;
                if row.is_some_and(|(key, _)| key.starts_with(&prefix)) {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Returns the holders of a name, as a link or in the row.
    pub(super) fn linked(&self, normal: &[u8], bases: &Bases) -> Result<Step, Error> {
        let mut steps = Vec::new();
        for (base, type_id) in bases {
            let hash = xxh3_64(normal);
            steps.push(self.hashed(IndexKind::Equality, *base, *type_id, hash)?);
        }
        let mut ids = Vec::new();
        let schema = &self.indexes.schema;
        for (base, type_id) in bases {
            if !is_linked_type(schema, *type_id) {
                continue;
            }
            let mut form = normal.to_vec();
            make_member_form(schema, *type_id, &mut form);
            for member in self.snapshot.members_named(&form)? {
                let holders = self.snapshot.holders_of(member)?.into_iter();
                ids.extend(holders.filter(|it| it.number == *base).map(|it| it.id));
            }
        }
        ids.sort_unstable();
        ids.dedup();
        steps.push(found(Why::Links, ids));
        Ok(union(steps))
    }
}

impl Snapshot<'_> {
    /// Returns the members that a normalised name may stand for: the entry of the name, and a text
    /// that was given while there was none. A set may have both.
    ///
    /// # Errors
    /// Errors of LMDB.
    pub fn members_named(
        &self,
        normal: &[u8],
    ) -> Result<impl Iterator<Item = EntryId> + use<>, Error> {
        let entry = self.entry_named(normal)?;
        let text = self.text_id(normal)?;
        Ok(entry.into_iter().chain(text))
    }

    fn entry_named(&self, normal: &[u8]) -> Result<Option<EntryId>, Error> {
        if !is_name(normal) {
            return Ok(None);
        }
        Ok(match self.find(&Name::from_bytes(normal))? {
            Lookup::Found(id) if id.is_entry() => Some(id),
            _ => None,
        })
    }

    /// Returns the entry that a text names. It got its name when a superior was moved or renamed,
    /// which changes no subordinate; an entry that is added takes the place of the text.
    ///
    /// # Errors
    /// Errors of LMDB.
    pub fn named_by(&self, text: EntryId) -> Result<Option<EntryId>, Error> {
        match self.stored_text(text)? {
            Some((_, normal)) => self.entry_named(normal),
            None => Ok(None),
        }
    }

    /// Returns whether some set has a text as member.
    pub(super) fn has_texts(&self) -> Result<bool, Error> {
        let mut cursor = self.transaction.cursor(self.tables.linkset)?;
        let row = cursor.seek(&rows::text_key(EntryId::ROOT))?;
        Ok(row.is_some_and(|(key, _)| rows::of_text_key(key).is_some()))
    }

    /// Returns the entry that a member is, or that it names if it is a text; the root if there is
    /// none.
    pub(super) fn entry_of_member(&self, member: EntryId) -> Result<EntryId, Error> {
        if self.stored_entry(member)?.is_some() {
            return Ok(member);
        }
        Ok(self.named_by(member)?.unwrap_or_default())
    }

    /// Returns whether a text in a set names an entry that the set has as well: one value, held
    /// twice.
    ///
    /// # Errors
    /// Errors of LMDB.
    pub fn is_repeated(&self, set: SetId, text: EntryId) -> Result<bool, Error> {
        match self.named_by(text)? {
            Some(entry) => self.has_member(set, entry),
            None => Ok(false),
        }
    }

    /// Passes to `each`, in the order of entry ids from `from` on, the owner of each set and
    /// whether it is a set of this attribute, until `each` returns false.
    pub(crate) fn each_owner(
        &self,
        number: AttributeNumber,
        from: EntryId,
        mut each: impl FnMut(EntryId, bool) -> bool,
    ) -> Result<(), Error> {
        let mut cursor = self.transaction.cursor(self.tables.linkset)?;
        let mut row = cursor.seek(&rows::owned_prefix(from))?;
        while let Some((key, value)) = row
            && let Some((id, set)) = rows::of_owned(key, value)?
        {
            if !each(id, set.number == number) {
                break;
            }
            row = cursor.next()?;
        }
        Ok(())
    }
}

/// Returns whether a normal form is a name without a bit string, which would stand behind `00 03`
/// (RFC 4517 §3.3.21).
fn is_name(normal: &[u8]) -> bool {
    if normal.first() == Some(&TEXT_MARK) {
        return false;
    }
    let mut at = 0;
    while at + 1 < normal.len() {
        match normal[at..at + 2] {
            [0, 3] => return false,
            [0, _] => at += 2,
            _ => at += 1,
        }
    }
    true
}
