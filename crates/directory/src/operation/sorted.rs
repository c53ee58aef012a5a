//! Sorted searches (RFC 2891): complete, in pages, or as a view.
//!
//! There are two ways to sort, with equal results: *collecting* tests every candidate and sorts the
//! keys; *walking* follows an ordering index and tests entries in its order, so it keeps no keys
//! and stops when the page is full. Entries without a value are in no index and are collected
//! before or after the walk.
//!
//! A view, and a page that is not walked to, is a part of a list that is kept for later views and
//! pages (`list.rs`).

use crate::context::Context;
use crate::cursor::{Area, AreaKind, Cursor};
use crate::memory::Hold;
use crate::operation::controls::{Controls, SearchControls};
use crate::operation::kept::{Kept, TooMany};
use crate::operation::list::{ListWriter, Merge, Origin, Sorter};
use crate::operation::search::{self, End, Needs, Step};
use crate::operation::slice::Slice;
use crate::operation::sort_key::{Order, Scratch, Unsorted};
use crate::operation::sort_list::Part;
use crate::operation::sort_result::{Asked, Failure};
use crate::operation::sort_walk::{self, Walk};
use crate::operation::view::{NoView, View};
use crate::operation::{explain, limits, page, sort_pages, sort_result, unindexed};
use protocol::{ResultCode, SearchRequest};
use state::stop::Stop;
use std::collections::VecDeque;
use store::{Candidates, EntryId, Region};

/// State of a sorted search between two slices.
#[derive(Debug)]
pub(crate) struct Sorted {
    pub(super) order: Order,
    /// Whether the sort control is critical: without an order, no entries are sent.
    critical: bool,
    pub(super) regions: Vec<Region>,
    pub(super) goal: Goal,
    pub(super) phases: VecDeque<Phase>,
    pub(super) kept: Kept,
    /// Sorter for the collected keys, if all of them are needed; else they are in `kept`.
    sorter: Option<Sorter>,
    /// The list being made, if a part of one is to be sent: keys go into it instead of entries to
    /// the client.
    pub(super) listing: Option<ListWriter>,
    /// Memory used for keys.
    memory: Hold,
    pub(super) scratch: Scratch,
    /// Snapshot version at the beginning. While it is unchanged, entries found to match still
    /// match.
    pub(super) version: u64,
}

/// Part of the sorted entries that the client wants.
#[derive(Debug)]
pub(crate) enum Goal {
    All,
    Page(sort_pages::Page),
    View(View),
}

/// A step of a sorted search.
#[derive(Debug)]
pub(super) enum Phase {
    Collect(Collect),
    Walk(Walk),
    /// Send the entries of these sorted keys.
    Send(std::vec::IntoIter<Box<[u8]>>),
    /// Deliver the collected keys in order.
    Merge(Merge),
    /// Send a part of a list.
    Show(Part),
}

/// Progress of testing every candidate.
#[derive(Debug, Default)]
pub(super) struct Collect {
    /// Whether only entries without a value are collected.
    absent_only: bool,
    region: usize,
    candidates: Option<Candidates>,
    after: EntryId,
}

/// Result of one slice of a phase.
pub(super) enum Progress {
    Done,
    /// This phase comes next.
    Then(Phase),
    /// The slice is over; this phase is left.
    Paused(Phase),
    Ended(Ended),
}

/// Reason why a sorted search ends early.
pub(super) enum Ended {
    Limit(End),
    PageFull,
    TooMany,
}

/// Result of beginning a search with a sort control.
pub(crate) enum Begun {
    /// The answer is in the output.
    Answered,
    /// The search continues unsorted; its result reports why.
    Unsorted,
    Sorted,
}

/// Begins a sorted search on a cursor whose areas are known.
pub(crate) fn begin(
    context: &Context<'_>,
    needs: &Needs<'_>,
    request: &SearchRequest<'_>,
    (controls, asked): (&Controls<'_>, &SearchControls<'_>),
    cursor: &mut Cursor,
    out: &mut Vec<u8>,
) -> Result<Begun, Stop> {
    let schema = &context.catalog.schema;
    let (order, sort) = match sort_result::order_of(schema, asked, controls.page.is_some())? {
        Asked::Order(order, sort) => (order, sort),
        Asked::Unsorted(control) => {
            cursor.extras.get_or_insert_default().done.push(control);
            return Ok(Begun::Unsorted);
        }
        Asked::Failed(failure) => {
            failure.write(cursor.id, out);
            return Ok(Begun::Answered);
        }
    };
    let fingerprint = page::fingerprint(request, controls, context.subject, Some(sort));
    let goal = match goal_of(context, needs, (controls, asked), &order, fingerprint)? {
        Ok(Some(goal)) => goal,
        Ok(None) => {
            let extras = cursor.extras.get_or_insert_default();
            extras.done.push(page::response(&[]));
            search::write_done(cursor, out);
            return Ok(Begun::Answered);
        }
        Err(none) => {
            Failure::no_view(none).write(cursor.id, out);
            return Ok(Begun::Answered);
        }
    };
    if let Goal::Page(page) = &goal {
        cursor.limits.sent_before = page.sent_before;
    }
    let is_entries = |kind| kind == AreaKind::Entries;
    let regions = cursor.areas.iter().filter(|it| is_entries(it.kind));
    let regions: Vec<Region> = regions.map(|it| it.region).collect();
    cursor.areas.retain(|it| !is_entries(it.kind));
    let origin = Origin::of(context, needs, fingerprint);
    let mut sorted = Sorted {
        order,
        critical: asked.sort_critical,
        regions,
        kept: Kept::new(None, 0),
        sorter: None,
        listing: None,
        memory: needs.memory.beside(),
        goal,
        phases: VecDeque::new(),
        scratch: Scratch::default(),
        version: origin.version,
    };
    if let Some(list) = sorted.kept_list(needs, &origin) {
        if let Err(none) = sorted.show(list, needs, cursor)? {
            Failure::no_view(none).write(cursor.id, out);
            return Ok(Begun::Answered);
        }
    } else {
        sorted.plan(context, needs, cursor, origin)?;
    }
    explain::note_order(cursor, || sorted.words(context));
    cursor.extras.get_or_insert_default().sorted = Some(Box::new(sorted));
    Ok(Begun::Sorted)
}

/// The part that the client wants; `None` if it abandons its paged search.
fn goal_of(
    context: &Context<'_>,
    needs: &Needs<'_>,
    (controls, asked): (&Controls<'_>, &SearchControls<'_>),
    order: &Order,
    fingerprint: u64,
) -> Result<Result<Option<Goal>, NoView>, Stop> {
    if let Some(view) = &asked.view {
        let schema = &context.catalog.schema;
        let view = View::of(schema, order, view, needs.key, fingerprint);
        return Ok(view.map(|it| Some(Goal::View(it))));
    }
    let Some(paged) = &controls.page else {
        return Ok(Ok(Some(Goal::All)));
    };
    let size_max = needs.limits.0.page_entries_max;
    let page = sort_pages::begin(needs.key, fingerprint, paged, size_max)?;
    Ok(Ok(page.map(Goal::Page)))
}

/// Runs one slice. `sorted` was taken out of the cursor.
pub(crate) fn step(
    context: &Context<'_>,
    needs: &Needs<'_>,
    cursor: &mut Cursor,
    mut sorted: Box<Sorted>,
    out: &mut Vec<u8>,
) -> Result<Step, Stop> {
    let mut slice = Slice::new(out);
    loop {
        let Some(phase) = sorted.phases.pop_front() else {
            if let Some(listing) = sorted.listing.take() {
                if let Err(none) = sorted.show(listing.keep()?, needs, cursor)? {
                    Failure::no_view(none).write(cursor.id, out);
                    return Ok(Step::Finished);
                }
                continue;
            }
            explain::slice_ends(cursor, needs.clock);
            finish(cursor, &sorted, None);
            // Only references are left, which have no order.
            return search::step(context, needs, cursor, out);
        };
        let progress = match phase {
            Phase::Collect(it) => sorted.collect(context, needs, cursor, it, &mut slice)?,
            Phase::Walk(it) => sort_walk::walk(context, cursor, &mut sorted, it, &mut slice, out)?,
            Phase::Send(it) => sorted.send(context, cursor, it, &slice, out)?,
            Phase::Merge(it) => sorted.merge(context, cursor, it, &mut slice, out)?,
            Phase::Show(it) => sorted.send_part(context, cursor, it, &slice, out)?,
        };
        match progress {
            Progress::Done => {}
            Progress::Then(phase) => sorted.phases.push_front(phase),
            Progress::Paused(phase) => {
                explain::slice_ends(cursor, needs.clock);
                sorted.phases.push_front(phase);
                sorted.count_memory()?;
                cursor.extras.get_or_insert_default().sorted = Some(sorted);
                return search::park(needs, cursor, out);
            }
            Progress::Ended(ended) => {
                explain::slice_ends(cursor, needs.clock);
                return sorted.end(context, needs, cursor, ended, out);
            }
        }
    }
}

impl Collect {
    /// The candidates of a region; `None` while they are being collected.
    fn candidates(
        &mut self,
        context: &Context<'_>,
        needs: &Needs<'_>,
        cursor: &mut Cursor,
        region: &Region,
    ) -> Result<Option<Candidates>, Stop> {
        let mut candidates = match self.candidates.take() {
            Some(candidates) => candidates,
            None => {
                let plan = context.plan(&cursor.filter, region)?;
                // Each page looks at all entries again, whatever the filter.
                if plan.is_scan() || plan.is_unindexed() {
                    unindexed::admit(context, needs, cursor)?;
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
    /// Chooses between walking and collecting.
    fn plan(
        &mut self,
        context: &Context<'_>,
        needs: &Needs<'_>,
        cursor: &mut Cursor,
        origin: Origin,
    ) -> Result<(), Stop> {
        let wanted = self.wanted(cursor);
        self.kept = Kept::new(
            wanted.map(|it| usize::try_from(it).unwrap_or(usize::MAX)),
            usize::try_from(cursor.limits.sort_entries_max).unwrap_or(usize::MAX),
        );
        let walk = sort_walk::plan(context, needs, cursor, self, wanted)?;
        let lists = &needs.shared.lists;
        let is_part = match self.goal {
            Goal::View(_) => true,
            // Without room for a list, each page tests all entries and keeps only its own keys.
            Goal::Page(_) => walk.is_none() && lists.spools.has_room(),
            Goal::All => false,
        };
        self.listing = is_part.then(|| ListWriter::new(lists, origin));
        if is_part || wanted.is_none() {
            let keys_max = match self.goal {
                Goal::Page(_) => 0,
                _ => cursor.limits.sort_entries_max,
            };
            self.sorter = Some(Sorter::new(&lists.spools, keys_max));
        }
        let Some(walk) = walk else {
            self.phases.push_back(Phase::Collect(Collect::default()));
            return Ok(());
        };
        let absent = Phase::Collect(Collect {
            absent_only: true,
            ..Collect::default()
        });
        // A later page skips the phases that earlier pages finished.
        let (walks, collects) = match &self.goal {
            Goal::Page(page) if !page.after.is_empty() => {
                let present = self.order.first_value(&page.after).is_some();
                let reverse = self.order.is_reverse();
                (present || reverse, !present || !reverse)
            }
            _ => (true, true),
        };
        let phases = [(walks, Phase::Walk(walk)), (collects, absent)];
        let mut phases: VecDeque<Phase> = phases
            .into_iter()
            .filter_map(|(due, phase)| due.then_some(phase))
            .collect();
        if self.order.is_reverse() {
            phases = phases.into_iter().rev().collect();
        }
        self.phases = phases;
        Ok(())
    }

    /// Updates the memory counted for keys.
    fn count_memory(&mut self) -> Result<(), Stop> {
        let sorter = self.sorter.as_ref().map_or(0, Sorter::bytes);
        self.memory.grow((self.kept.bytes() + sorter) as u64)
    }

    /// How the entries are sorted, in words, for the explain control.
    fn words(&self, context: &Context<'_>) -> String {
        let schema = &context.catalog.schema;
        let first = self.order.first_type().map(|it| schema.type_of(it).name());
        let first = first.unwrap_or_default();
        match self.phases.front() {
            Some(Phase::Show(_)) => format!("part of a list sorted by {first} that was kept"),
            _ if self.phases.iter().any(|it| matches!(it, Phase::Walk(_))) => {
                format!("in the order of the ordering index of {first}")
            }
            _ => format!("sorted by {first}"),
        }
    }

    /// Number of least keys needed, one more than are sent; `None` for all.
    fn wanted(&self, cursor: &Cursor) -> Option<u64> {
        let limit = cursor.limits.entries_max;
        match &self.goal {
            Goal::View(_) => None,
            Goal::Page(page) => Some(u64::from(page.size) + 1),
            Goal::All if limit != 0 => Some(limit.saturating_add(1)),
            Goal::All => None,
        }
    }

    fn collect(
        &mut self,
        context: &Context<'_>,
        needs: &Needs<'_>,
        cursor: &mut Cursor,
        mut it: Collect,
        slice: &mut Slice,
    ) -> Result<Progress, Stop> {
        while let Some(region) = self.regions.get(it.region).copied() {
            if slice.is_over() {
                return Ok(Progress::Paused(Phase::Collect(it)));
            }
            let Some(candidates) = it.candidates(context, needs, cursor, &region)? else {
                return Ok(Progress::Paused(Phase::Collect(it)));
            };
            let mut over = false;
            for met in context.met(&candidates, it.after)? {
                let met = met?;
                let counts =
                    cursor.limits.candidates_max == 0 || !context.hides(met.entry.as_ref())?;
                if let Some(end) = search::candidate_limit(cursor).filter(|_| counts) {
                    return Ok(Progress::Ended(Ended::Limit(end)));
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
                match search::wants(context, cursor, &region, (met.id, &entry))? {
                    Some(true) => {}
                    Some(false) => continue,
                    None => {
                        (it.after, over) = (EntryId(met.id.0 - 1), true);
                        break;
                    }
                }
                let schema = &context.catalog.schema;
                let key = (self.order).key_of(schema, &entry, entry.id, &mut self.scratch);
                let meant = !it.absent_only || self.order.first_value(&key).is_none();
                if meant && self.is_due(&key) && !self.take(key)? {
                    return Ok(Progress::Ended(Ended::TooMany));
                }
            }
            if over {
                it.candidates = Some(candidates);
                return Ok(Progress::Paused(Phase::Collect(it)));
            }
            slice.turn();
            it.region += 1;
            it.after = EntryId(0);
        }
        Ok(Progress::Then(match self.sorter.take() {
            Some(sorter) => Phase::Merge(sorter.merge()?),
            None => Phase::Send(self.kept.take().into_iter()),
        }))
    }

    /// Adds a key to be sorted; false if there are more than the limit.
    fn take(&mut self, key: Box<[u8]>) -> Result<bool, Stop> {
        match &mut self.sorter {
            Some(sorter) => sorter.push(key),
            None => Ok(self.kept.push(key) != Err(TooMany)),
        }
    }

    /// Whether a key comes after the previous page. A list takes all keys.
    pub(super) fn is_due(&self, key: &[u8]) -> bool {
        match &self.goal {
            Goal::Page(page) if self.listing.is_none() => key > &*page.after,
            _ => true,
        }
    }

    fn send(
        &mut self,
        context: &Context<'_>,
        cursor: &mut Cursor,
        mut keys: std::vec::IntoIter<Box<[u8]>>,
        slice: &Slice,
        out: &mut Vec<u8>,
    ) -> Result<Progress, Stop> {
        while !slice.is_full(out) && cursor.large.is_none() && !context.is_tired() {
            let Some(key) = keys.as_slice().first() else {
                return Ok(Progress::Done);
            };
            let id = self.order.id_of(key);
            match self.deliver(context, cursor, key, out) {
                Ok(None) => drop(keys.next()),
                Ok(Some(ended)) => return Ok(Progress::Ended(ended)),
                Err(stop) => {
                    leave_for_later(context, id, stop)?;
                    break;
                }
            }
        }
        Ok(Progress::Paused(Phase::Send(keys)))
    }

    /// Delivers the collected keys until the slice ends.
    fn merge(
        &mut self,
        context: &Context<'_>,
        cursor: &mut Cursor,
        mut keys: Merge,
        slice: &mut Slice,
        out: &mut Vec<u8>,
    ) -> Result<Progress, Stop> {
        while slice.step(out) && cursor.large.is_none() && !context.is_tired() {
            let Some(key) = keys.first() else {
                return Ok(Progress::Done);
            };
            let id = self.order.id_of(key);
            match self.deliver(context, cursor, key, out) {
                Ok(None) => keys.advance()?,
                Ok(Some(ended)) => return Ok(Progress::Ended(ended)),
                Err(stop) => {
                    leave_for_later(context, id, stop)?;
                    break;
                }
            }
        }
        Ok(Progress::Paused(Phase::Merge(keys)))
    }

    /// Delivers the next key in order: adds it to the list, or sends its entry. If this stops
    /// because the slice is over, the next slice delivers the key again.
    pub(super) fn deliver(
        &mut self,
        context: &Context<'_>,
        cursor: &mut Cursor,
        key: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Option<Ended>, Stop> {
        if let Some(listing) = &mut self.listing {
            listing.append(key)?;
            return Ok(None);
        }
        let is_full = |page: &sort_pages::Page| cursor.sent >= u64::from(page.size);
        if matches!(&self.goal, Goal::Page(page) if is_full(page)) {
            let limit = self.limit(cursor).map(Ended::Limit);
            return Ok(Some(limit.unwrap_or(Ended::PageFull)));
        }
        let end = self.offer(context, cursor, self.order.id_of(key), out)?;
        if let Goal::Page(page) = &mut self.goal {
            page.after = key.into();
        }
        Ok(end.map(Ended::Limit))
    }

    /// Sends an entry that matched when it was tested, or begins one that is sent in parts.
    fn offer(
        &self,
        context: &Context<'_>,
        cursor: &mut Cursor,
        id: EntryId,
        out: &mut Vec<u8>,
    ) -> Result<Option<End>, Stop> {
        let Some(entry) = context.reached(id)? else {
            return Ok(None);
        };
        if context.version() != self.version {
            // The directory has changed since, so the entry is tested again.
            let mut wanted = false;
            for region in &self.regions {
                wanted |= context.in_region(&entry, region)?
                    && search::is_wanted(context, cursor, region.base, &entry)?;
            }
            if !wanted {
                return Ok(None);
            }
        }
        if let Some(end) = self.limit(cursor) {
            return Ok(Some(end));
        }
        search::send(context, cursor, &entry, out)?;
        Ok(None)
    }

    /// The limit on entries, or on those of all pages; `None` if neither is reached.
    fn limit(&self, cursor: &Cursor) -> Option<End> {
        let paged = || match &self.goal {
            Goal::Page(_) => search::paged_limit(cursor),
            _ => None,
        };
        search::size_limit(cursor).or_else(paged)
    }

    fn end(
        &self,
        context: &Context<'_>,
        needs: &Needs<'_>,
        cursor: &mut Cursor,
        ended: Ended,
        out: &mut Vec<u8>,
    ) -> Result<Step, Stop> {
        match ended {
            Ended::Limit(end) => return end.write(context, needs, cursor, out),
            Ended::PageFull => {
                let Goal::Page(page) = &self.goal else {
                    unreachable!("only a page can be full")
                };
                let cookie = page.cookie(needs.key, cursor.sent);
                finish(cursor, self, Some(&cookie));
                search::write_done(cursor, out);
            }
            Ended::TooMany => {
                let unsorted = too_many(context, needs, cursor, &self.order);
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
                    return search::step(context, needs, cursor, out);
                }
            }
        }
        Ok(Step::Finished)
    }
}

/// Leaves an entry to the next slice if it is unfinished; passes on other errors.
#[cold]
pub(super) fn leave_for_later(context: &Context<'_>, id: EntryId, stop: Stop) -> Result<(), Stop> {
    if !stop.is_unfinished() {
        return Err(stop);
    }
    context.leave_unfinished(id);
    Ok(())
}

/// Adds the response controls of a sorted search to its result. Without an entry there is no sort
/// result (RFC 2891 §2, case 6).
fn finish(cursor: &mut Cursor, sorted: &Sorted, cookie: Option<&[u8]>) {
    let sent = cursor.sent;
    let done = &mut cursor.extras.get_or_insert_default().done;
    if sent > 0 {
        done.push(sort_result::sorted_control());
    }
    if let Goal::Page(_) = sorted.goal {
        done.push(page::response(cookie.unwrap_or_default()));
    }
}

fn too_many(context: &Context<'_>, needs: &Needs<'_>, cursor: &Cursor, order: &Order) -> Unsorted {
    let schema = &context.catalog.schema;
    let attribute = order
        .first_type()
        .map_or_else(String::new, |it| schema.type_of(it).name().to_owned());
    Unsorted {
        code: ResultCode::ADMIN_LIMIT_EXCEEDED,
        text: limits::sort_text(&cursor.limits, needs.settings, &attribute),
        attribute,
    }
}
