//! Delivers sorted keys: sends their entries, or adds them to a list.

use crate::context::Context;
use crate::search::cursor::Cursor;
use crate::search::end::{paged_limit, size_limit};
use crate::search::limits::End;
use crate::search::offer::{is_wanted, send};
use crate::search::sort::kept::TooMany;
use crate::search::sort::pages;
use crate::search::sort::state::{Ended, Goal, Sorted};
use state::done;
use state::progress::Progress;
use state::stop::Stop;
use store::EntryId;

impl Sorted {
    /// Adds a key to be sorted; false if there are more than the limit.
    pub fn take(&mut self, key: Box<[u8]>) -> Result<bool, Stop> {
        match &mut self.sorter {
            Some(sorter) => sorter.push(key),
            None => Ok(self.kept.push(key) != Err(TooMany)),
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
        cursor: &mut Cursor,
        key: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Progress<Option<Ended>>, Stop> {
        if let Some(listing) = &mut self.listing {
            listing.append(key)?;
            return Ok(Progress::Done(None));
        }
        let is_full = |page: &pages::Page| cursor.sent >= u64::from(page.size);
        if matches!(&self.goal, Goal::Page(page) if is_full(page)) {
            let limit = self.limit(cursor).map(Ended::Limit);
            return Ok(Progress::Done(Some(limit.unwrap_or(Ended::PageFull))));
        }
        let end = done!(self.offer(context, cursor, self.order.id_of(key), out)?);
        if let Goal::Page(page) = &mut self.goal {
            page.after = key.into();
        }
        Ok(Progress::Done(end.map(Ended::Limit)))
    }

    /// Sends an entry that matched when it was tested, or begins one that is sent in parts.
    fn offer(
        &self,
        context: &Context<'_>,
        cursor: &mut Cursor,
        id: EntryId,
        out: &mut Vec<u8>,
    ) -> Result<Progress<Option<End>>, Stop> {
        let Some(entry) = context.reached(id)? else {
            return Ok(Progress::Done(None));
        };
        if context.version() != self.version {
            // The directory has changed since, so the entry is tested again.
            let mut wanted = false;
            for region in &self.regions {
                wanted |= context.in_region(&entry, region)?
                    && done!(is_wanted(context, cursor, region.base, &entry)?);
            }
            if !wanted {
                return Ok(Progress::Done(None));
            }
        }
        if let Some(end) = self.limit(cursor) {
            return Ok(Progress::Done(Some(end)));
        }
        done!(send(context, cursor, &entry, out)?);
        Ok(Progress::Done(None))
    }

    /// The limit on entries, or on those of all pages; `None` if neither is reached.
    pub fn limit(&self, cursor: &Cursor) -> Option<End> {
        let paged = || match &self.goal {
            Goal::Page(_) => paged_limit(cursor),
            _ => None,
        };
        size_limit(cursor).or_else(paged)
    }
}
