//! Sends the entries that a search finds.

use crate::context::{Context, VisibleEntry};
use crate::search::extras::Extras;
use crate::search::large;
use crate::search::large::{Gone, Large};
use crate::search::state::Search;
use protocol::{MessageId, response};
use state::done;
use state::matched_values::MatchedValues;
use state::progress::Progress;
use state::projection::Projection;
use state::stop::Stop;

/// The parts of each entry that are sent, and the entry that is being sent in slices.
#[derive(Debug, Default)]
pub(crate) struct Sending {
    pub projection: Projection,
    /// Values and controls that controls of the request ask for; `None` without such controls.
    pub extras: Option<Box<Extras>>,
    pub large: Option<Box<Large>>,
}

impl Sending {
    /// Appends an entry to the output, or begins one that is sent in parts; no other entry can be
    /// sent before its end. Yields, and appends nothing, if the slice is over before the entry is
    /// complete.
    #[inline]
    pub fn send(
        &mut self,
        context: &Context<'_>,
        search: &mut Search,
        entry: &VisibleEntry<'_, '_>,
        out: &mut Vec<u8>,
    ) -> Result<Progress<()>, Stop> {
        if entry.has_links() || context.catalog.has_dynamic_groups {
            self.large = done!(self.begin_large(context, search.id, entry)?);
            if self.large.is_some() {
                return Ok(Progress::Done(()));
            }
        }
        let catalog = context.catalog;
        search.buffer.clear();
        entry.write_name(&mut search.buffer)?;
        let mark = response::begin_search_entry(out, search.id, &search.buffer);
        match &self.extras {
            None => {
                let written = self.projection.write(catalog, entry, None, out);
                done!(whole(written, mark.start(), out)?);
                response::finish_search_entry(out, mark, &[]);
            }
            Some(extras) => {
                let matched = extras.matched.as_ref();
                let written = self.projection.write(catalog, entry, matched, out);
                done!(whole(written, mark.start(), out)?);
                extras.write_rights(context, entry, out);
                let controls = extras.controls_of(context, entry);
                let controls = done!(whole(controls, mark.start(), out)?);
                response::finish_search_entry(out, mark, &controls);
            }
        }
        search.sent += 1;
        context.count_entry();
        Ok(Progress::Done(()))
    }

    /// Begins a large entry; `None` if the entry is not large.
    fn begin_large(
        &self,
        context: &Context<'_>,
        id: MessageId,
        entry: &VisibleEntry<'_, '_>,
    ) -> Result<Progress<Option<Box<Large>>>, Stop> {
        let (spools, matched) = (context.spools(), self.matched());
        let large = large::selected(spools, entry, id, &self.projection, matched)?;
        let Some(mut large) = done!(large) else {
            return Ok(Progress::Done(None));
        };
        if let Some(extras) = &self.extras {
            extras.write_rights(context, entry, &mut large.attributes);
            large.controls = done!(extras.controls_of(context, entry)?);
        }
        Ok(Progress::Done(Some(large)))
    }

    /// Continues the large entry for one slice, if there is one; false if more slices are needed.
    pub fn continue_large(
        &mut self,
        context: &Context<'_>,
        search: &mut Search,
        out: &mut Vec<u8>,
    ) -> Result<bool, Stop> {
        let Some(mut large) = self.large.take() else {
            return Ok(true);
        };
        match large.step(context, self.matched(), out)? {
            Gone::Sent => {
                search.sent += 1;
                context.count_entry();
                Ok(true)
            }
            Gone::Vanished => Ok(true),
            Gone::NotYet => {
                self.large = Some(large);
                Ok(false)
            }
        }
    }

    /// The matched values filter of the search; `None` if it has none.
    fn matched(&self) -> Option<&MatchedValues> {
        self.extras.as_ref()?.matched.as_ref()
    }
}

/// Passes `written` on; unless it is done, first removes the incomplete entry from the output.
#[inline(always)]
fn whole<T>(
    written: Result<Progress<T>, Stop>,
    start: usize,
    out: &mut Vec<u8>,
) -> Result<Progress<T>, Stop> {
    if !matches!(written, Ok(Progress::Done(_))) {
        out.truncate(start);
    }
    written
}
