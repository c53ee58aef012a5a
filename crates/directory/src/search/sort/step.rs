//! Runs slices of a sorted search.

use crate::context::{Context, VisibleEntry};
use crate::search::area::{Area, AreaKind};
use crate::search::call::{SearchCall, Step};
use crate::search::cursor::Cursor;
use crate::search::end::{candidate_limit, park, write_done};
use crate::search::offer::is_wanted;
use crate::search::slice::Slice;
use crate::search::sort::key::{Order, Unsorted};
use crate::search::sort::outcome::Failure;
use crate::search::sort::state::{Collect, Ended, Goal, Phase, PhaseStep, Sorted};
use crate::search::sort::{outcome, walk};
use crate::search::view::NoView;
use crate::search::{limits, page, unindexed};
use protocol::ResultCode;
use spool::list::{Merge, Sorter};
use state::progress::Progress;
use state::stop::Stop;
use store::{Candidates, EntryId, Region};

/// Runs one slice. `sorted` was taken out of the cursor. `None` if only candidates without an order
/// are left.
pub(crate) fn step(
    context: &Context<'_>,
    call: &SearchCall<'_>,
    cursor: &mut Cursor,
    mut sorted: Box<Sorted>,
    out: &mut Vec<u8>,
) -> Result<Option<Step>, Stop> {
    let mut slice = Slice::new(out);
    loop {
        let Some(phase) = sorted.phases.pop_front() else {
            if let Some(listing) = sorted.listing.take() {
                if let Err(none) = sorted.show(listing.keep()?, call, cursor)? {
                    Failure::no_view(none).write(cursor.id, out);
                    return Ok(Some(Step::Finished));
                }
                continue;
            }
            cursor.slice_ends(call.lent.clock);
            finish(cursor, &sorted, None);
            // Only references are left, which have no order.
            return Ok(None);
        };
        let progress = match phase {
            Phase::Collect(it) => sorted.collect(context, call, cursor, it, &mut slice)?,
            Phase::Walk(it) => walk::walk(context, cursor, &mut sorted, it, &mut slice, out)?,
            Phase::Send(it) => sorted.send(context, cursor, it, &slice, out)?,
            Phase::Merge(it) => sorted.merge(context, cursor, it, &mut slice, out)?,
            Phase::Show(it) => sorted.send_part(context, cursor, it, &slice, out)?,
        };
        match progress {
            PhaseStep::Done => {}
            PhaseStep::Then(phase) => sorted.phases.push_front(phase),
            PhaseStep::Paused(phase) => {
                cursor.slice_ends(call.lent.clock);
                sorted.phases.push_front(phase);
                sorted.count_memory()?;
                cursor.extras.get_or_insert_default().sorted = Some(sorted);
                return park(call, cursor, out).map(Some);
            }
            PhaseStep::Ended(ended) => {
                cursor.slice_ends(call.lent.clock);
                return sorted.end(context, call, cursor, ended, out);
            }
        }
    }
}

impl Collect {
    /// The candidates of a region; `None` while they are being collected.
    fn candidates(
        &mut self,
        context: &Context<'_>,
        call: &SearchCall<'_>,
        cursor: &mut Cursor,
        region: &Region,
    ) -> Result<Option<Candidates>, Stop> {
        let mut candidates = match self.candidates.take() {
            Some(candidates) => candidates,
            None => {
                let plan = context.plan(&cursor.filter, region)?;
                // Each page looks at all entries again, whatever the filter.
                if plan.is_scan() || plan.is_unindexed() {
                    unindexed::admit(context, call, cursor)?;
                }
                context.begin_walk(&plan, self.after)?
            }
        };
        if context.gather(&mut candidates)? {
            return Ok(Some(candidates));
        }
        self.candidates = Some(candidates);
        Ok(None)
    }
}

impl Sorted {
    /// Updates the memory counted for keys.
    fn count_memory(&mut self) -> Result<(), Stop> {
        let sorter = self.sorter.as_ref().map_or(0, Sorter::bytes);
        self.memory.grow((self.kept.bytes() + sorter) as u64)
    }

    fn collect(
        &mut self,
        context: &Context<'_>,
        call: &SearchCall<'_>,
        cursor: &mut Cursor,
        mut it: Collect,
        slice: &mut Slice,
    ) -> Result<PhaseStep, Stop> {
        while let Some(region) = self.regions.get(it.region).copied() {
            if slice.is_over() {
                return Ok(PhaseStep::Paused(Phase::Collect(it)));
            }
            let Some(candidates) = it.candidates(context, call, cursor, &region)? else {
                return Ok(PhaseStep::Paused(Phase::Collect(it)));
            };
            let mut over = false;
            for met in context.met(&candidates, it.after)? {
                let met = met?;
                let counts =
                    cursor.limits.candidates_max == 0 || !context.hides(met.entry.as_ref())?;
                if let Some(end) = candidate_limit(cursor).filter(|_| counts) {
                    return Ok(PhaseStep::Ended(Ended::Limit(end)));
                }
                if slice.is_over() {
                    over = true;
                    break;
                }
                slice.turn();
                it.after = met.id;
                let Some(entry) = met.entry else {
                    continue;
                };
                cursor.limits.examined += u64::from(counts);
                match wants(context, cursor, &region, &entry)? {
                    Progress::Done(true) => {}
                    Progress::Done(false) => continue,
                    Progress::Yield => {
                        context.leave_unfinished(met.id);
                        cursor.limits.examined -= 1;
                        (it.after, over) = (EntryId(met.id.0 - 1), true);
                        break;
                    }
                }
                let key = self.order.key_of_entry(&entry, &mut self.scratch)?;
                let meant = !it.absent_only || self.order.first_value(&key).is_none();
                if meant && self.is_due(&key) && !self.take(key)? {
                    return Ok(PhaseStep::Ended(Ended::TooMany));
                }
                if context.is_tired() {
                    over = true;
                    break;
                }
            }
            if over {
                it.candidates = Some(candidates);
                return Ok(PhaseStep::Paused(Phase::Collect(it)));
            }
            slice.turn();
            it.region += 1;
            it.after = EntryId(0);
        }
        Ok(PhaseStep::Then(match self.sorter.take() {
            Some(sorter) => Phase::Merge(sorter.merge()?),
            None => Phase::Send(self.kept.take().into_iter()),
        }))
    }

    fn send(
        &mut self,
        context: &Context<'_>,
        cursor: &mut Cursor,
        mut keys: std::vec::IntoIter<Box<[u8]>>,
        slice: &Slice,
        out: &mut Vec<u8>,
    ) -> Result<PhaseStep, Stop> {
        while !slice.is_full(out) && cursor.large.is_none() && !context.is_tired() {
            let Some(key) = keys.as_slice().first() else {
                return Ok(PhaseStep::Done);
            };
            let id = self.order.id_of(key);
            match self.deliver(context, cursor, key, out)? {
                Progress::Done(None) => drop(keys.next()),
                Progress::Done(Some(ended)) => return Ok(PhaseStep::Ended(ended)),
                Progress::Yield => {
                    context.leave_unfinished(id);
                    break;
                }
            }
        }
        Ok(PhaseStep::Paused(Phase::Send(keys)))
    }

    /// Delivers the collected keys until the slice ends.
    fn merge(
        &mut self,
        context: &Context<'_>,
        cursor: &mut Cursor,
        mut keys: Merge,
        slice: &mut Slice,
        out: &mut Vec<u8>,
    ) -> Result<PhaseStep, Stop> {
        while slice.step(out) && cursor.large.is_none() && !context.is_tired() {
            let Some(key) = keys.first() else {
                return Ok(PhaseStep::Done);
            };
            let id = self.order.id_of(key);
            match self.deliver(context, cursor, key, out)? {
                Progress::Done(None) => keys.advance()?,
                Progress::Done(Some(ended)) => return Ok(PhaseStep::Ended(ended)),
                Progress::Yield => {
                    context.leave_unfinished(id);
                    break;
                }
            }
        }
        Ok(PhaseStep::Paused(Phase::Merge(keys)))
    }

    fn end(
        &self,
        context: &Context<'_>,
        call: &SearchCall<'_>,
        cursor: &mut Cursor,
        ended: Ended,
        out: &mut Vec<u8>,
    ) -> Result<Option<Step>, Stop> {
        match ended {
            Ended::Limit(end) => return end.write(context, call, cursor, out).map(Some),
            Ended::PageFull => {
                let Goal::Page(page) = &self.goal else {
                    unreachable!("only a page can be full")
                };
                let cookie = page.cookie(call.cookie_key, cursor.sent);
                finish(cursor, self, Some(&cookie));
                write_done(cursor, out);
            }
            Ended::TooMany => {
                let unsorted = too_many(context, call, cursor, &self.order);
                if let Goal::View(_) = self.goal {
                    let none = NoView::new(unsorted.code, unsorted.text);
                    Failure::no_view(none).write(cursor.id, out);
                } else if cursor.sent > 0 || self.critical || matches!(self.goal, Goal::Page(_)) {
                    Failure::unsorted(&unsorted, cursor.sent).write(cursor.id, out);
                } else {
                    // RFC 2891 §2, case 4: all results, in any order.
                    for region in self.regions.iter().rev() {
                        let area = Area {
                            region: *region,
                            kind: AreaKind::Entries,
                        };
                        cursor.areas.insert(0, area);
                    }
                    let extras = cursor.extras.get_or_insert_default();
                    extras.done.push(unsorted.control());
                    return Ok(None);
                }
            }
        }
        Ok(Some(Step::Finished))
    }
}

/// Whether a sorted search wants an entry.
fn wants(
    context: &Context<'_>,
    cursor: &mut Cursor,
    region: &Region,
    entry: &VisibleEntry<'_, '_>,
) -> Result<Progress<bool>, Stop> {
    match context.in_region(entry, region)? {
        true => is_wanted(context, cursor, region.base, entry),
        false => Ok(Progress::Done(false)),
    }
}

/// Adds the response controls of a sorted search to its result. Without an entry there is no sort
/// result (RFC 2891 §2, case 6).
fn finish(cursor: &mut Cursor, sorted: &Sorted, cookie: Option<&[u8]>) {
    let sent = cursor.sent;
    let done = &mut cursor.extras.get_or_insert_default().done;
    if sent > 0 {
        done.push(outcome::sorted_control());
    }
    if let Goal::Page(_) = sorted.goal {
        done.push(page::response(cookie.unwrap_or_default()));
    }
}

fn too_many(
    context: &Context<'_>,
    call: &SearchCall<'_>,
    cursor: &Cursor,
    order: &Order,
) -> Unsorted {
    let schema = &context.catalog.schema;
    let attribute = order
        .first_type()
        .map_or_else(String::new, |it| schema.type_of(it).name().to_owned());
    Unsorted {
        code: ResultCode::ADMIN_LIMIT_EXCEEDED,
        text: limits::sort_text(&cursor.limits, &call.catalog.limits, &attribute),
        attribute,
    }
}
