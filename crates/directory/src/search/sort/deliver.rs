//! Collects sort keys, and delivers them in order: sends their entries, or adds them to a list.

use crate::context::{Context, VisibleEntry};
use crate::search::limits::End;
use crate::search::sort::keys::TooMany;
use crate::search::sort::pages;
use crate::search::sort::state::{Goal, Sorted};
use crate::search::state::Search;
use state::done;
use state::progress::Progress;
use state::stop::Stop;
use store::EntryId;

impl Sorted {
    /// Collects the key of an entry that matches. `Some` if there are more keys than may be sorted.
    pub fn collect(&mut self, entry: &VisibleEntry<'_, '_>) -> Result<Option<End>, Stop> {
        let key = self.order.key_of_entry(entry, &mut self.scratch)?;
        let meant = !self.absent_only || self.order.first_value(&key).is_none();
        let fits = !meant || !self.is_due(&key) || self.take(key)?;
        Ok((!fits).then_some(End::SortLimit))
    }

    /// Adds a key to be sorted; false if there are more than the limit.
    fn take(&mut self, key: Box<[u8]>) -> Result<bool, Stop> {
        match &mut self.sorter {
            Some(sorter) => sorter.push(key),
            None => Ok(self.keys.push(key) != Err(TooMany)),
        }
    }

    /// Whether a key comes after the previous page. A list takes all keys.
    pub fn is_due(&self, key: &[u8]) -> bool {
        match &self.goal {
            Goal::Page(page) if self.listing.is_none() => key > &*page.after,
            _ => true,
        }
    }

    /// Delivers the next key in order: adds it to the list, or sends its entry. If this yields, the
    /// next slice delivers the key again.
    pub fn deliver(
        &mut self,
        context: &Context<'_>,
        search: &mut Search,
        key: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Progress<Option<End>>, Stop> {
        if let Some(listing) = &mut self.listing {
            listing.append(key)?;
            return Ok(Progress::Done(None));
        }
        let is_full = |page: &pages::Page| search.sent >= u64::from(page.size);
        if matches!(&self.goal, Goal::Page(page) if is_full(page)) {
            let end = self.limit(search).unwrap_or(End::PageFull);
            return Ok(Progress::Done(Some(end)));
        }
        let end = done!(self.offer(context, search, self.order.id_of(key), out)?);
        if let Goal::Page(page) = &mut self.goal {
            page.after = key.into();
        }
        Ok(Progress::Done(end))
    }

    /// Sends an entry that matched when it was tested, or begins one that is sent in parts.
    fn offer(
        &mut self,
        context: &Context<'_>,
        search: &mut Search,
        id: EntryId,
        out: &mut Vec<u8>,
    ) -> Result<Progress<Option<End>>, Stop> {
        let Some(entry) = context.reached(id)? else {
            return Ok(Progress::Done(None));
        };
        if context.version() != self.version {
            // The directory has changed since, so the entry is tested again.
            let mut accepted = false;
            for region in &self.regions {
                accepted |= context.in_region(&entry, region)?
                    && done!(search.accepts(context, region.base, &entry)?);
            }
            if !accepted {
                return Ok(Progress::Done(None));
            }
        }
        if let Some(end) = self.limit(search) {
            return Ok(Progress::Done(Some(end)));
        }
        done!(self.then.put(context, search, &entry, out)?);
        Ok(Progress::Done(None))
    }

    /// The limit on entries, or on those of all pages; `None` if neither is reached.
    fn limit(&self, search: &Search) -> Option<End> {
        let paged = || match &self.goal {
            Goal::Page(_) => search.paged_limit(),
            _ => None,
        };
        search.size_limit().or_else(paged)
    }
}
