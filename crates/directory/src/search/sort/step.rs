//! Runs slices of a sorted search.

use crate::context::Context;
use crate::search::area::{Area, AreaKind, Source};
use crate::search::call::{SearchCall, Step};
use crate::search::end::{park, write_done};
use crate::search::limits::End;
use crate::search::sink::Sink;
use crate::search::slice::Slice;
use crate::search::sort::outcome::Failure;
use crate::search::sort::state::{Goal, Phase, PhaseStep, Sorted};
use crate::search::sort::walk;
use crate::search::source::{Ran, run};
use crate::search::state::Search;
use crate::search::view::NoView;
use crate::search::{limits, page};
use answers::sort_key::{self, Order, Unsorted};
use protocol::ResultCode;
use spool::list::{Merge, Sorter};
use state::progress::Progress;
use state::stop::Stop;

/// Runs one slice of a search whose sink sorts. `None` if only areas without an order are left: the
/// sink behind takes their entries.
pub(crate) fn step(
    context: &Context<'_>,
    call: &SearchCall<'_>,
    search: &mut Search,
    sink: &mut Sink,
    out: &mut Vec<u8>,
) -> Result<Option<Step>, Stop> {
    let mut slice = Slice::new(out);
    while let Sink::Sort(sorted) = sink {
        let Some(phase) = sorted.phases.pop_front() else {
            if let Some(listing) = sorted.listing.take() {
                if let Err(none) = sorted.show(listing.keep()?, call, search)? {
                    Failure::no_view(none).write(search.id, out);
                    return Ok(Some(Step::Finished));
                }
                continue;
            }
            sorted.then.slice_ends(call.lent.clock);
            finish(search, &sorted.goal, None);
            // Only references are left, which have no order.
            search.source = Source::new(std::mem::take(&mut sorted.references));
            let then = std::mem::take(&mut sorted.then);
            *sink = then;
            return Ok(None);
        };
        let step = match phase {
            Phase::Collect => collect(context, call, search, sink, &mut slice, out)?,
            Phase::Walk(it) => walk::walk(context, search, sorted, it, &mut slice, out)?,
            Phase::Send(it) => sorted.send(context, search, it, &slice, out)?,
            Phase::Merge(it) => sorted.merge(context, search, it, &mut slice, out)?,
            Phase::Show(it) => sorted.send_part(context, search, it, &slice, out)?,
        };
        let Sink::Sort(sorted) = sink else {
            break;
        };
        match step {
            PhaseStep::Done => {}
            PhaseStep::Then(phase) => sorted.phases.push_front(phase),
            PhaseStep::Paused(phase) => {
                sorted.then.slice_ends(call.lent.clock);
                sorted.phases.push_front(phase);
                sorted.count_memory(0)?;
                return park(call, search, sink, out).map(Some);
            }
            PhaseStep::Ended(end) => {
                sorted.then.slice_ends(call.lent.clock);
                return finish_early(context, call, search, sink, end, out);
            }
        }
    }
    Ok(None)
}

/// Collects the keys of the entries that the source finds.
fn collect(
    context: &Context<'_>,
    call: &SearchCall<'_>,
    search: &mut Search,
    sink: &mut Sink,
    slice: &mut Slice,
    out: &mut Vec<u8>,
) -> Result<PhaseStep, Stop> {
    match run(context, call, search, sink, slice, out)? {
        Ran::Paused => Ok(PhaseStep::Paused(Phase::Collect)),
        Ran::Ended(end) => Ok(PhaseStep::Ended(end)),
        Ran::Done => match sink {
            Sink::Sort(sorted) => sorted.collected().map(PhaseStep::Then),
            _ => Ok(PhaseStep::Done),
        },
    }
}

/// Ends a sorted search before its last entry. `None` if it goes on with all entries in any order.
fn finish_early(
    context: &Context<'_>,
    call: &SearchCall<'_>,
    search: &mut Search,
    sink: &mut Sink,
    end: End,
    out: &mut Vec<u8>,
) -> Result<Option<Step>, Stop> {
    let Sink::Sort(sorted) = sink else {
        return end.write(context, call, search, sink, out).map(Some);
    };
    match (end, &sorted.goal) {
        (End::PageFull, Goal::Page(page)) => {
            let cookie = call.sent_cookie(page.cookie(call.cookie_key, search.sent))?;
            finish(search, &sorted.goal, Some(&cookie));
            write_done(search, sink, out);
        }
        (End::SortLimit, goal) => {
            let unsorted = too_many(context, call, search, &sorted.order);
            if let Goal::View(_) = goal {
                let none = NoView::new(unsorted.code, unsorted.text);
                Failure::no_view(none).write(search.id, out);
            } else if search.sent > 0 || sorted.critical || matches!(goal, Goal::Page(_)) {
                Failure::unsorted(&unsorted, search.sent).write(search.id, out);
            } else {
                // RFC 2891 §2, case 4: all results, in any order.
                let entries = sorted.regions.iter().map(|region| Area {
                    region: *region,
                    kind: AreaKind::Entries,
                });
                let references = std::mem::take(&mut sorted.references);
                search.source = Source::new(entries.chain(references).collect());
                search.add_control(unsorted.control());
                let then = std::mem::take(&mut sorted.then);
                *sink = then;
                return Ok(None);
            }
        }
        (end, _) => return end.write(context, call, search, sink, out).map(Some),
    }
    Ok(Some(Step::Finished))
}

impl Sorted {
    /// Updates the memory counted for keys, and for the candidates of a walk, which take so many
    /// bytes.
    pub(super) fn count_memory(&mut self, candidates: u64) -> Result<(), Stop> {
        let sorter = self.sorter.as_ref().map_or(0, Sorter::bytes);
        let keys = (self.keys.bytes() + sorter) as u64;
        self.memory.grow(keys + candidates)
    }

    /// The phase that delivers the collected keys.
    fn collected(&mut self) -> Result<Phase, Stop> {
        Ok(match self.sorter.take() {
            Some(sorter) => Phase::Merge(sorter.merge()?),
            None => Phase::Send(self.keys.take().into_iter()),
        })
    }

    /// Sends the entries of these keys until the slice ends.
    fn send(
        &mut self,
        context: &Context<'_>,
        search: &mut Search,
        mut keys: std::vec::IntoIter<Box<[u8]>>,
        slice: &Slice,
        out: &mut Vec<u8>,
    ) -> Result<PhaseStep, Stop> {
        while !slice.is_full(out) && self.then.large().is_none() && !context.is_tired() {
            let Some(key) = keys.as_slice().first() else {
                return Ok(PhaseStep::Done);
            };
            let id = self.order.id_of(key);
            match self.deliver(context, search, key, out)? {
                Progress::Done(None) => drop(keys.next()),
                Progress::Done(Some(end)) => return Ok(PhaseStep::Ended(end)),
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
        search: &mut Search,
        mut keys: Merge,
        slice: &mut Slice,
        out: &mut Vec<u8>,
    ) -> Result<PhaseStep, Stop> {
        while slice.step(out) && self.then.large().is_none() && !context.is_tired() {
            let Some(key) = keys.first() else {
                return Ok(PhaseStep::Done);
            };
            let id = self.order.id_of(key);
            match self.deliver(context, search, key, out)? {
                Progress::Done(None) => keys.advance()?,
                Progress::Done(Some(end)) => return Ok(PhaseStep::Ended(end)),
                Progress::Yield => {
                    context.leave_unfinished(id);
                    break;
                }
            }
        }
        Ok(PhaseStep::Paused(Phase::Merge(keys)))
    }
}

/// Adds the response controls of a sorted search to its result. Without an entry there is no sort
/// result (RFC 2891 §2, case 6).
fn finish(search: &mut Search, goal: &Goal, cookie: Option<&[u8]>) {
    if search.sent > 0 {
        search.add_control(sort_key::sorted_control());
    }
    if let Goal::Page(_) = goal {
        search.add_control(page::response(cookie.unwrap_or_default()));
    }
}

fn too_many(
    context: &Context<'_>,
    call: &SearchCall<'_>,
    search: &Search,
    order: &Order,
) -> Unsorted {
    let schema = &context.catalog.schema;
    let attribute = order
        .first_type()
        .map_or_else(String::new, |it| schema.type_of(it).name().to_owned());
    Unsorted {
        code: ResultCode::ADMIN_LIMIT_EXCEEDED,
        text: limits::sort_text(&search.limits, &call.catalog.limits, &attribute),
        attribute,
    }
}
