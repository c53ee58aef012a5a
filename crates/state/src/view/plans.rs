//! Plans of searches and their candidates.

use super::lenders;
use super::plain::PlainView;
use crate::stop::Stop;
use schema::{AttributeNumber, Filter};
use std::borrow::Cow;
use store::{Advice, Candidates, EntryId, FilterPart, OrderRows, OrderStart, Plan, Region};

impl<'a> PlainView<'a> {
    /// The cheapest way to the candidates of a filter in a region.
    pub fn plan(&self, filter: &Filter, region: &Region) -> Result<Plan, Stop> {
        let filter = self.with_lent(filter)?;
        Ok(store::plan(
            self.snapshot,
            &self.catalog.indexes,
            &filter,
            region,
        )?)
    }

    /// Plan and estimated number of entries for each part of a filter by itself.
    #[cold]
    pub fn filter_parts(&self, filter: &Filter) -> Result<Vec<FilterPart>, Stop> {
        let filter = self.with_lent(filter)?;
        let indexes = &self.catalog.indexes;
        Ok(store::filter_parts(self.snapshot, indexes, &filter)?)
    }

    /// The indexes that would help a filter.
    #[cold]
    pub fn advise(&self, filter: &Filter) -> Result<Advice, Stop> {
        let filter = self.with_lent(filter)?;
        let secrets = self.catalog.access.secrets();
        let may_index =
            |type_id| !self.catalog.computed.is_computed(type_id) && !secrets.contains(type_id);
        Ok(store::advise(&self.catalog.indexes, &filter, &may_index))
    }

    /// All candidates of a plan with ids after this one.
    pub fn candidates(&self, plan: &Plan, after: EntryId) -> Result<Candidates, Stop> {
        Ok(self.snapshot.candidates(plan, after)?)
    }

    /// Candidates with ids greater than `after` for a search in slices that needs them in id order.
    /// The caller first calls `gather` until all are collected.
    pub fn begin_candidates(&self, plan: &Plan, after: EntryId) -> Result<Candidates, Stop> {
        Ok(self.snapshot.begin_candidates(plan, after)?)
    }

    /// Like `begin_candidates`, for a caller that only iterates: members of a group are
    /// read lazily.
    #[inline]
    pub fn begin_walk(&self, plan: &Plan, after: EntryId) -> Result<Candidates, Stop> {
        Ok(self.snapshot.begin_walk(plan, after)?)
    }

    /// Like `begin_candidates`, for a caller that stops after `wanted` matching entries.
    #[inline]
    pub fn begin_page(&self, plan: &Plan, after: EntryId, wanted: u64) -> Result<Candidates, Stop> {
        Ok(self.snapshot.begin_page(plan, after, wanted)?)
    }

    /// Collects candidates for one slice; returns true when all are collected.
    pub fn gather(&self, candidates: &mut Candidates) -> Result<bool, Stop> {
        if !candidates.are_indexed(&self.catalog.indexes) {
            // The index that the candidates were to come from is being removed: any entry may
            // match.
            *candidates = Candidates::Scan;
            return Ok(true);
        }
        Ok(self.snapshot.gather(candidates)?)
    }

    /// The rows of an ordering index from `start` on.
    pub fn order_rows(
        &self,
        base: AttributeNumber,
        start: OrderStart<'_>,
        backwards: bool,
    ) -> Result<OrderRows<'a>, Stop> {
        Ok(self.snapshot.order_rows(base, start, backwards)?)
    }

    /// The filter to plan with, for assertions that lent values may satisfy. No index holds lent
    /// values, so if a lender's values satisfy an assertion, the entries of its subtree become
    /// candidates.
    #[inline(always)]
    fn with_lent<'f>(&self, filter: &'f Filter) -> Result<Cow<'f, Filter>, Stop> {
        if !self.catalog.has_collective {
            return Ok(Cow::Borrowed(filter));
        }
        self.widened(filter).map(Cow::Owned)
    }

    #[cold]
    fn widened(&self, filter: &Filter) -> Result<Filter, Stop> {
        let lenders = self.lenders()?;
        let mut widened = filter.clone();
        lenders::widen(self.snapshot, self.catalog, lenders, &mut widened)?;
        Ok(widened)
    }
}
