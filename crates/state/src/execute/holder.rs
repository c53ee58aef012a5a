//! Search for the holder of a value in the state at this position of the order.

use super::Execution;
use crate::stop::Stop;
use crate::view::View;
use policy::Subject;
use schema::{Filter, Truth};
use store::{EntryId, Region, RegionScope};

impl Execution<'_, '_> {
    /// Tests a filter like [`other_match`], without access rules.
    pub(super) fn other_match(
        &self,
        filter: &Filter,
        bases: &[EntryId],
        own: Option<EntryId>,
    ) -> Result<Option<EntryId>, Stop> {
        let catalog = self.catalog_now();
        let (snapshot, server) = (self.batch.snapshot(), Subject::server());
        let view = View::new(&snapshot, &catalog, &server);
        other_match(&view, filter, bases, own)
    }
}

/// Returns an entry other than this one that matches the filter, at or below one of the bases;
/// `None` if there is none.
pub fn other_match(
    view: &View<'_>,
    filter: &Filter,
    bases: &[EntryId],
    own: Option<EntryId>,
) -> Result<Option<EntryId>, Stop> {
    let mut scratch = Vec::new();
    for base in bases {
        let region = Region {
            base: *base,
            scope: RegionScope::Subtree,
        };
        let plan = view.plan(filter, &region)?;
        let candidates = view.candidates(&plan, EntryId::ROOT)?;
        for entry in view.entries(&candidates, EntryId::ROOT) {
            let entry = entry?;
            if Some(entry.id) != own
                && entry.evaluate(filter, &mut scratch)? == Truth::True
                && view.in_region(&entry, &region)?
            {
                return Ok(Some(entry.id));
            }
        }
    }
    Ok(None)
}
