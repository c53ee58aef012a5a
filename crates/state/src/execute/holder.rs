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
        let context = View::new(&snapshot, &catalog, &server);
        other_match(&context, filter, bases, own)
    }
}

/// Returns an entry other than this one that matches the filter, at or below one of the bases;
/// `None` if there is none.
pub fn other_match(
    context: &View<'_>,
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
        let plan = context.plan(filter, &region)?;
        let candidates = context.candidates(&plan, EntryId::ROOT)?;
        for entry in context.entries(&candidates, EntryId::ROOT) {
            let entry = entry?;
            if Some(entry.id) != own
                && filter.evaluate(&context.catalog.schema, &entry, &mut scratch) == Truth::True
                && context.in_region(&entry, &region)?
            {
                return Ok(Some(entry.id));
            }
        }
    }
    Ok(None)
}
