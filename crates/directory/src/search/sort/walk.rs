//! Sorts by walking along an ordering index.

use crate::context::Context;
use crate::search::call::SearchCall;
use crate::search::limits::End;
use crate::search::slice::Slice;
use crate::search::sort::keys::TooMany;
use crate::search::sort::state::{Goal, Phase, PhaseStep, Sorted, Walk};
use crate::search::state::Search;
use crate::search::unindexed;
use protocol::ResultCode;
use schema::AttributeNumber;
use state::done;
use state::progress::Progress;
use state::stop::Stop;
use store::{Candidates, EntryId, IndexKind, OrderRow, OrderStart, is_linked_type, order_form};

impl Walk {
    /// Records the last row looked at.
    fn pass(&mut self, row: OrderRow<'_>) {
        if row.form != self.form {
            self.form.clear();
            self.form.extend_from_slice(row.form);
        }
        self.id = Some(row.id);
    }

    /// Collects the candidates for one slice; true when all are collected. Refuses with `busy` if
    /// the index was dropped.
    fn gather(&mut self, context: &Context<'_>, sorted: &Sorted) -> Result<bool, Stop> {
        if base(context, sorted) != Some(self.base) {
            return Stop::refuse(
                ResultCode::BUSY,
                "the ordering index that this sorted search went along was dropped meanwhile; \
                 search again",
            );
        }
        match &mut self.candidates {
            Some(candidates) => context.gather(candidates),
            None => Ok(true),
        }
    }
}

/// The walk that yields the requested order; `None` if no index has that order or sorting the
/// candidates probably looks at fewer entries. A view call all entries before it shows the first;
/// sorting reads them in stored order, which for a million entries takes a third of a walk's work.
pub(crate) fn plan(
    context: &Context<'_>,
    call: &SearchCall<'_>,
    search: &mut Search,
    sorted: &Sorted,
    wanted: Option<u64>,
) -> Result<Option<Walk>, Stop> {
    let ([region], Some(base)) = (&sorted.regions[..], base(context, sorted)) else {
        return Ok(None);
    };
    let plan = context.plan(&search.criteria.filter, region)?;
    let matching = plan.estimate().max(1);
    let entries = context.entry_count()?.max(1);
    // Assumes that matching entries are spread evenly over the index.
    let walked = match wanted {
        Some(wanted) => wanted.min(matching).saturating_mul(entries) / matching,
        None => entries,
    };
    let limit = search.limits.sort_entries_max;
    let cannot_sort = limit != 0 && wanted.unwrap_or(matching).min(matching) > limit;
    let is_view = matches!(sorted.goal, Goal::View(_));
    if (is_view || walked > matching) && !cannot_sort {
        return Ok(None);
    }
    // Without an index for the filter, the walk looks at every entry it meets.
    if plan.is_unindexed() {
        unindexed::admit(context, call, search)?;
    }
    let candidates = match plan.is_scan() {
        true => None,
        false => Some(context.begin_candidates(&plan, EntryId(0))?),
    };
    let mut walk = Walk {
        base,
        start: None,
        candidates,
        form: Vec::new(),
        id: None,
    };
    if let Goal::Page(page) = &sorted.goal
        && let Some(value) = sorted.order.first_value(&page.after)
    {
        let mut form = Vec::with_capacity(value.len().min(64) + 2);
        order_form(&value, &mut form);
        let id = sorted.order.id_of(&page.after);
        let row = OrderRow { form: &form, id };
        // Entries with equal forms are ordered by id if there is no further sort key.
        if sorted.order.is_single() && row.is_whole() {
            (walk.form, walk.id) = (form, Some(id));
        } else {
            walk.start = Some(form);
        }
    }
    Ok(Some(walk))
}

/// The attribute whose ordering index holds all values of the first sort key, in the requested
/// order and visible to the subject; `None` if there is none.
fn base(context: &Context<'_>, sorted: &Sorted) -> Option<AttributeNumber> {
    let schema = &context.catalog.schema;
    let type_id = sorted.order.indexed_type(schema)?;
    let numbers = sorted.order.first_numbers();
    let base = schema.known(*numbers.first()?)?.base;
    let one = numbers.iter().all(|number| {
        schema.known(*number).is_some_and(|it| it.base == base) && context.shows_everywhere(*number)
    });
    let ready = context
        .catalog
        .indexes
        .is_ready(type_id, IndexKind::Ordering);
    // Links are in no ordering index.
    (one && ready && !is_linked_type(schema, type_id)).then_some(base)
}

/// Result of delivering the entries of one form.
enum Flushed {
    All,
    Ended(End),
    /// A large entry is being sent; these keys follow it.
    Begun(std::vec::IntoIter<Box<[u8]>>),
}

/// Runs one slice of a walk.
pub(crate) fn walk(
    context: &Context<'_>,
    search: &mut Search,
    sorted: &mut Sorted,
    mut it: Walk,
    slice: &mut Slice,
    out: &mut Vec<u8>,
) -> Result<PhaseStep, Stop> {
    let is_gathered = it.gather(context, sorted)?;
    let candidates = it.candidates.as_ref().map_or(0, Candidates::bytes);
    sorted.count_memory(candidates)?;
    if !is_gathered {
        return Ok(PhaseStep::Paused(Phase::Walk(it)));
    }
    let start = match (&it.id, &it.start) {
        (Some(id), _) => OrderStart::Behind(&it.form, *id),
        (None, Some(form)) => OrderStart::At(form),
        (None, None) => OrderStart::End,
    };
    let backwards = sorted.order.is_reverse();
    for row in context.order_rows(it.base, start, backwards)? {
        let row = row?;
        if row.form != it.form {
            match flush(context, search, sorted, out)? {
                Flushed::All => {}
                Flushed::Ended(end) => return Ok(PhaseStep::Ended(end)),
                Flushed::Begun(rest) => {
                    sorted.phases.push_front(Phase::Walk(it));
                    return Ok(PhaseStep::Paused(Phase::Send(rest)));
                }
            }
        }
        if slice.is_full(out) || slice.is_over() || context.is_tired() {
            return Ok(PhaseStep::Paused(Phase::Walk(it)));
        }
        let counts = counts(context, search, row.id)?;
        if let Some(end) = search.candidate_limit().filter(|_| counts) {
            return Ok(PhaseStep::Ended(end));
        }
        slice.turn();
        if (it.candidates.as_ref()).is_some_and(|all| !all.contains(row.id)) {
            it.pass(row);
            continue;
        }
        let Progress::Done(key) = look(context, search, sorted, counts, row)? else {
            return Ok(PhaseStep::Paused(Phase::Walk(it)));
        };
        it.pass(row);
        let Some(key) = key else {
            continue;
        };
        if sorted.order.is_single() && row.is_whole() {
            // No later row can sort before this key.
            match send_all(context, search, sorted, vec![key].into_iter(), out)? {
                Flushed::All => {}
                Flushed::Ended(end) => return Ok(PhaseStep::Ended(end)),
                Flushed::Begun(rest) => {
                    sorted.phases.push_front(Phase::Walk(it));
                    return Ok(PhaseStep::Paused(Phase::Send(rest)));
                }
            }
        } else if sorted.keys.push(key) == Err(TooMany) {
            return Ok(PhaseStep::Ended(End::SortLimit));
        }
    }
    Ok(match flush(context, search, sorted, out)? {
        Flushed::All => PhaseStep::Done,
        Flushed::Ended(end) => PhaseStep::Ended(end),
        Flushed::Begun(rest) => PhaseStep::Paused(Phase::Send(rest)),
    })
}

/// Whether a row counts against the limit on entries looked at; rows of hidden entries do not.
fn counts(context: &Context<'_>, search: &Search, id: EntryId) -> Result<bool, Stop> {
    let is_limited = search.limits.candidates_max != 0 && !context.sees_everything();
    Ok(!is_limited || context.entry(id)?.is_some())
}

/// The key of the next row's entry; `None` if the search does not want it. `counts` tells whether
/// the row counts against the limit on entries looked at. Yields if the slice is over and the next
/// one begins with this row.
fn look(
    context: &Context<'_>,
    search: &mut Search,
    sorted: &mut Sorted,
    counts: bool,
    row: OrderRow<'_>,
) -> Result<Progress<Option<Box<[u8]>>>, Stop> {
    search.limits.examined += u64::from(counts);
    let key = key_of(context, search, sorted, row)?;
    if let Progress::Yield = key {
        context.leave_unfinished(row.id);
        search.limits.examined -= u64::from(counts);
    }
    Ok(key)
}

/// The key of a row's entry; `None` if the search does not want the entry at this row.
fn key_of(
    context: &Context<'_>,
    search: &mut Search,
    sorted: &mut Sorted,
    row: OrderRow<'_>,
) -> Result<Progress<Option<Box<[u8]>>>, Stop> {
    let Some(entry) = context.reached(row.id)? else {
        return Ok(Progress::Done(None));
    };
    let region = sorted.regions[0];
    if !context.in_region(&entry, &region)?
        || !done!(search.accepts(context, region.base, &entry)?)
    {
        return Ok(Progress::Done(None));
    }
    // An entry with several values is sorted by the least.
    search.buffer.clear();
    match sorted.order.first_of(&entry, &mut sorted.scratch)? {
        Some(least) => order_form(least, &mut search.buffer),
        None => return Ok(Progress::Done(None)),
    }
    if search.buffer != row.form {
        return Ok(Progress::Done(None));
    }
    let key = sorted.order.key_of_entry(&entry, &mut sorted.scratch)?;
    Ok(Progress::Done(sorted.is_due(&key).then_some(key)))
}

/// Delivers the entries whose rows have one form.
fn flush(
    context: &Context<'_>,
    search: &mut Search,
    sorted: &mut Sorted,
    out: &mut Vec<u8>,
) -> Result<Flushed, Stop> {
    if sorted.keys.is_empty() {
        return Ok(Flushed::All);
    }
    let keys = sorted.keys.take().into_iter();
    send_all(context, search, sorted, keys, out)
}

/// Delivers the entries of these keys, until one is large or the slice is over.
fn send_all(
    context: &Context<'_>,
    search: &mut Search,
    sorted: &mut Sorted,
    mut keys: std::vec::IntoIter<Box<[u8]>>,
    out: &mut Vec<u8>,
) -> Result<Flushed, Stop> {
    while let Some(key) = keys.as_slice().first() {
        let id = sorted.order.id_of(key);
        match sorted.deliver(context, search, key, out)? {
            Progress::Done(None) => drop(keys.next()),
            Progress::Done(Some(end)) => return Ok(Flushed::Ended(end)),
            Progress::Yield => {
                context.leave_unfinished(id);
                return Ok(Flushed::Begun(keys));
            }
        }
        if sorted.then.large().is_some() {
            return Ok(Flushed::Begun(keys));
        }
    }
    Ok(Flushed::All)
}
