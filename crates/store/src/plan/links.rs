//! Planning assertions about values that are kept as links.

use schema::{Name, Selector};
use xxhash_rust::xxh3::xxh3_64;

use super::estimate::{Bases, Planner, found, union};
use super::{Step, Why};
use crate::error::Error;
use crate::id::EntryId;
use crate::index_set::IndexKind;
use crate::link::is_linked_type;
use crate::snapshot::Lookup;

impl Planner<'_> {
    /// Whether an assertion covers a type whose values may be links.
    #[inline]
    pub(super) fn covers_links(&self, selector: &Selector) -> bool {
        let schema = &self.indexes.schema;
        is_linked_type(schema, selector.type_id)
            || (selector.numbers.len() > 1
                && (selector.numbers.iter().filter_map(|it| schema.known(*it)))
                    .any(|known| is_linked_type(schema, known.type_id)))
    }

    /// The same where there are links at all: indexes do not know their values.
    pub(super) fn has_links(&self, selector: &Selector) -> Result<bool, Error> {
        Ok(self.covers_links(selector) && self.snapshot.has_any_links()?)
    }

    /// The holders of a name, as a link or in the row.
    pub(super) fn linked(&self, normal: &[u8], bases: &Bases) -> Result<Step, Error> {
        let mut steps = Vec::new();
        for (base, type_id) in bases {
            let hash = xxh3_64(normal);
            steps.push(self.hashed(IndexKind::Equality, *base, *type_id, hash)?);
        }
        let mut ids = Vec::new();
        for member in self.snapshot.members_named(normal)? {
            let holders = self.snapshot.holders_of(member)?.into_iter();
            let wanted = holders.filter(|it| bases.iter().any(|(base, _)| *base == it.number));
            ids.extend(wanted.map(|it| it.id));
        }
        ids.sort_unstable();
        ids.dedup();
        steps.push(found(Why::Links, ids));
        Ok(union(steps))
    }
}

impl crate::snapshot::Snapshot<'_> {
    /// What a normalised name may stand for as a member: the entry of the name, and a text that
    /// was given while there was none.
    ///
    /// # Errors
    /// What LMDB says.
    pub fn members_named(
        &self,
        normal: &[u8],
    ) -> Result<impl Iterator<Item = EntryId> + use<>, Error> {
        let entry = match is_name(normal) {
            true => match self.find(&Name::from_bytes(normal))? {
                Lookup::Found(id) if id.is_entry() => Some(id),
                _ => None,
            },
            false => None,
        };
        let text = self.text_id(normal)?;
        Ok(entry.into_iter().chain(text))
    }

    /// Whether there are links at all.
    ///
    /// # Errors
    /// What LMDB says.
    pub fn has_any_links(&self) -> Result<bool, Error> {
        let mut cursor = self.transaction.cursor(self.tables.linkset)?;
        Ok(cursor.next()?.is_some())
    }
}

/// Whether a normal form is a name without a bit string behind it, which stands after `00 03`
/// (RFC 4517 §3.3.21).
fn is_name(normal: &[u8]) -> bool {
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
