//! Attributes that are not stored but computed from the entry when they are read.

use super::dynamic::Described;
use super::entry::VisibleEntry;
use crate::done;
use crate::index_progress;
use crate::progress::Progress;
use crate::stop::Stop;
use crate::time;
use schema::TypeId;
use std::cell::Cell;
use std::ops::ControlFlow;
use store::EntryId;

/// Hexadecimal digits of an etag.
const ETAG_DIGITS: usize = 16;

impl VisibleEntry<'_, '_> {
    /// Calls `test` for the values of a computed attribute until it returns true. `None` if the
    /// entry has no such attribute. The caller checks access; filters are checked by
    /// `View::narrow`.
    pub fn computed_values(
        &self,
        type_id: TypeId,
        test: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Result<Progress<Option<bool>>, Stop> {
        let catalog = self.view.catalog;
        if type_id == catalog.computed.collective_attribute_subentries {
            let names = self.lender_names()?;
            let mut values = names.iter().map(|it| it.as_bytes());
            let found = (!names.is_empty()).then(|| values.any(test));
            return Ok(Progress::Done(found));
        }
        let Some(reach) = self.view.reach_of(type_id) else {
            let found = self.computed(type_id)?.map(|value| test(&value));
            return Ok(Progress::Done(found));
        };
        if !self.view.knows_groups() {
            return Ok(Progress::Done(None));
        }
        let groups = done!(self.view.groups_of(self.id, reach)?);
        let mut names = groups.iter().map(|it| it.spelled.as_bytes());
        let found = (!groups.is_empty()).then(|| names.any(test));
        Ok(Progress::Done(found))
    }

    /// Like `computed_values`, for a response: a dynamic group also shows its members.
    pub fn shown_values(
        &self,
        type_id: TypeId,
        test: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Result<Progress<()>, Stop> {
        if self.conceals(type_id) {
            return Ok(Progress::Done(()));
        }
        if type_id != self.view.catalog.computed.member {
            done!(self.computed_values(type_id, test)?);
        } else if let Some(mut described) = self.description()? {
            // Runs in one piece, so only for few members; a search returns many in slices, as
            // `Large`.
            let (mut looked, over) = (0, Cell::new(false));
            let each = &mut |found: Option<EntryId>| {
                looked += 1;
                self.view.pace.require_whole(looked)?;
                if let Some(id) = found {
                    over.set(test(self.view.spelled_name(id)?.as_bytes()));
                }
                Ok(Progress::Done(match over.get() {
                    true => ControlFlow::Break(()),
                    false => ControlFlow::Continue(()),
                }))
            };
            while !self.view.walk_described(&mut described, each)? && !over.get() {}
        }
        Ok(Progress::Done(()))
    }

    /// An iterator over the members of a dynamic group; `None` if the entry is no such group.
    pub fn description(&self) -> Result<Option<Described>, Stop> {
        match self.id.is_entry() && self.has_class(crate::knowledge::DYNAMIC_GROUP_CLASS) {
            true => self.view.described_by(self.id),
            false => Ok(None),
        }
    }

    /// All values that [`shown_values`](Self::shown_values) yields.
    pub fn all_shown_values(&self, type_id: TypeId) -> Result<Progress<Vec<Vec<u8>>>, Stop> {
        let mut values = Vec::new();
        let shown = self.shown_values(type_id, &mut |value| {
            values.push(value.to_vec());
            false
        })?;
        Ok(shown.map(|()| values))
    }

    /// The value of a single-valued computed attribute; `None` if the entry has none.
    fn computed(&self, type_id: TypeId) -> Result<Option<Vec<u8>>, Stop> {
        let computed = &self.view.catalog.computed;
        if type_id == computed.entry_dn {
            let mut out = Vec::with_capacity(64);
            self.write_name(&mut out)?;
            Ok(Some(out))
        } else if type_id == computed.subschema_subentry {
            Ok(Some(crate::catalog::SUBSCHEMA_NAME.into()))
        } else if computed.counts_subordinates(type_id) && !self.shows_children()? {
            Ok(None)
        } else if type_id == computed.has_subordinates {
            Ok(Some(if self.child_count()? > 0 {
                b"TRUE".to_vec()
            } else {
                b"FALSE".to_vec()
            }))
        } else if type_id == computed.num_subordinates {
            Ok(Some(self.child_count()?.to_string().into_bytes()))
        } else if type_id == computed.index_state {
            self.index_state()
        } else if type_id == computed.context_csn && self.row.parent().0 == 0 {
            Ok(Some(self.view.newest()?.to_csn().into_bytes()))
        } else if type_id == computed.etag {
            Ok(self.etag())
        } else if type_id == computed.entry_ttl {
            Ok(self.time_to_live())
        } else {
            Ok(None)
        }
    }

    /// Whether the subject may have every entry directly below this one returned, so that their
    /// number tells it nothing new.
    fn shows_children(&self) -> Result<bool, Stop> {
        if !self.view.is_ruled() {
            return Ok(true);
        }
        Ok(self
            .name()
            .is_some_and(|it| self.view.returns_children(&it)))
    }

    /// Remaining lifetime of a dynamic entry in seconds (RFC 2589 §5); `None` if the entry is not
    /// dynamic.
    fn time_to_live(&self) -> Option<Vec<u8>> {
        let catalog = self.view.catalog;
        let number = catalog
            .schema
            .numbers_of(catalog.computed.entry_end)
            .first()?;
        let end = self.internal(*number)?.values().into_iter().next()?;
        let end_us = time::seconds_of(end)?.saturating_mul(1_000_000);
        // Whole seconds: the end was rounded up to one, so that the requested time is read back at
        // once.
        let left_us = end_us.saturating_sub(self.view.pace.served?.now_us());
        Some((left_us / 1_000_000).to_string().into_bytes())
    }

    /// A short form of `entryCSN`, which differs for any two changes. The entry's digest is not
    /// used because it would confirm guesses about hidden values.
    fn etag(&self) -> Option<Vec<u8>> {
        let number = self.view.catalog.known.entry_csn.number;
        let csn = self.internal(number)?.values().into_iter().next()?;
        Some(
            blake3::hash(csn).to_hex()[..ETAG_DIGITS]
                .as_bytes()
                .to_vec(),
        )
    }

    /// Progress of the index that this entry defines; `None` if it defines none.
    fn index_state(&self) -> Result<Option<Vec<u8>>, Stop> {
        let Some(attribute) = self.internal(self.view.catalog.known.index_attribute.number) else {
            return Ok(None);
        };
        let Some(attribute) = attribute.values().into_iter().next() else {
            return Ok(None);
        };
        // The definition may use another name of the attribute type, or its OID.
        let schema = &self.view.catalog.schema;
        let given = std::str::from_utf8(attribute).unwrap_or_default();
        let known = schema.attribute_type(given);
        let name = known.map_or(given, |it| schema.type_of(it).name());
        let states = self.view.snapshot.index_states()?;
        let state = states.iter().find(|it| it.attribute == name);
        let text = match state {
            None => "unknown".to_owned(),
            Some(it) => index_progress::text(it, self.view.snapshot.last_id()?.0),
        };
        Ok(Some(text.into_bytes()))
    }
}
