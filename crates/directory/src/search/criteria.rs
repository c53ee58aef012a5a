//! The filter between the source and the sink of a search.

use crate::context::{Context, VisibleEntry, whole_bytes_max};
use schema::{Filter, Truth};
use state::done;
use state::progress::Progress;
use state::stop::Stop;
use store::EntryId;

/// Conditions on an entry under which a search finds it.
#[derive(Debug)]
pub(crate) struct Criteria {
    pub filter: Filter,
    /// Maximum length of an entry, in bytes, for evaluating the filter in one piece.
    pub whole_bytes_max: usize,
    /// ManageDsaIT: referral objects are ordinary entries.
    pub manage_dsa_it: bool,
    /// Whether aliases are followed instead of returned.
    pub deref_searching: bool,
    /// Whether subentries are left out.
    pub hides_subentries: bool,
    /// Number of entries tested so far.
    pub tested: u64,
}

impl Criteria {
    /// Criteria of a filter alone.
    pub fn new(filter: Filter) -> Criteria {
        Criteria {
            whole_bytes_max: whole_bytes_max(filter.weight()),
            filter,
            manage_dsa_it: false,
            deref_searching: false,
            hides_subentries: false,
            tested: 0,
        }
    }

    /// Whether an entry of a region with this base matches the filter and is of the kind that the
    /// search returns. Yields when walks over groups use up the slice.
    #[inline]
    pub fn accept(
        &mut self,
        context: &Context<'_>,
        base: EntryId,
        entry: &VisibleEntry<'_, '_>,
        buffer: &mut Vec<u8>,
    ) -> Result<Progress<bool>, Stop> {
        let catalog = context.catalog;
        let of_other_kind =
            (catalog.has_referrals && !self.manage_dsa_it && entry.has_class("referral"))
                || (self.deref_searching
                    && catalog.has_aliases
                    && entry.id != base
                    && entry.has_class("alias"))
                || (self.hides_subentries && entry.has_class("subentry"));
        let accepted = !of_other_kind
            && Truth::True
                == done!(match entry.is_longer_than(self.whole_bytes_max) {
                    false => entry.evaluate_sliced(&self.filter, buffer)?,
                    true => context.evaluate_paced(&self.filter, entry, buffer)?,
                });
        self.tested += 1;
        Ok(Progress::Done(accepted))
    }
}
